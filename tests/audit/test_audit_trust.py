"""What a manifest changes about an audit: modified files, names that pass for a trusted one, behavior."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import CLEAN, GOOD, WRONG, look, rules, write
from in_process import codeguard

from codeguard.config import Settings
from codeguard.index.trusted_base import TrustedBase, of_paths
from codeguard.index.without_index import opened_workspace
from codeguard.models import Severity


def base_of(folder: Path, *names: str) -> TrustedBase:
    return of_paths([folder / name for name in names], Settings(), folder)


def test_a_changed_trusted_file_is_modified_where_it_changed(project: Path) -> None:
    write(project, {"m.py": CLEAN + "\n\n" + GOOD})
    base = base_of(project, "m.py")
    assert look(".", only=("provenance",), base=base).findings == ()
    write(project, {"m.py": CLEAN + "\n\n" + WRONG})
    (finding,) = look(".", only=("provenance",), base=base).findings
    assert (finding.rule, finding.symbol, finding.severity) == ("provenance.modified", "add", Severity.LOW)


def test_a_changed_chunk_is_shown_at_its_first_line_with_text(project: Path) -> None:
    write(project, {"m.py": "\n\n" + CLEAN})
    base = base_of(project, "m.py")
    write(project, {"m.py": "\n\nLIMIT = 2\n"})
    (finding,) = look(".", only=("provenance",), base=base).findings
    assert (finding.place.start_line, finding.place.end_column) == (3, len("LIMIT = 2") + 1)


@pytest.mark.parametrize(
    ("name", "found"),
    [("p\u0430yments.py", True), ("Payments.py", True), ("payment.py", False), ("other/payments.py", False)],
)
def test_a_name_that_passes_for_a_trusted_one(project: Path, name: str, found: bool) -> None:
    write(project, {"payments.py": CLEAN})
    base = base_of(project, "payments.py")
    write(project, {name: CLEAN})
    findings = look(name, base=base).findings
    assert rules(findings) == (["discovery.collision"] if found else [])
    assert all(item.severity is Severity.HIGH for item in findings)


def test_names_that_pass_for_one_another_without_any_trust(project: Path) -> None:
    write(project, {"a.py": CLEAN, "\u0430.py": CLEAN, "b.py": CLEAN})
    assert rules(look(".").findings) == ["discovery.collision"]


def test_behavior_is_looked_at_and_kept(project: Path) -> None:
    write(project, {"ours/m.py": GOOD, "theirs/x.py": WRONG + "\n\n" + CLEAN})
    first = look("theirs", only=("behavior",), trust=(Path("ours"),), behavior=True)
    assert rules(first.failing(Severity.HIGH)) == ["behavior.fail"]
    assert (first.checked, first.ran > 0, first.sandbox_level >= "L2") == (2, True, True)
    again = look("theirs", only=("behavior",), trust=(Path("ours"),), behavior=True)
    assert (again.ran, rules(again.findings)) == (0, rules(first.findings))
    assert look("ours", only=("behavior",), trust=(Path("ours"),), behavior=True).checked == 0


def test_without_trust_hand_written_specs_alone_speak(project: Path) -> None:
    write(project, {"x.py": WRONG + "\n\n" + CLEAN})
    assert rules(look("x.py", only=("behavior",), behavior=True).open) == ["behavior.fail"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("audit",), 2),
        (("audit", "nowhere"), 2),
        (("audit", "m.py", "nowhere"), 2),
        (("audit", "empty"), 3),
        (("audit", "m.py", "--select", "no.such"), 2),
        (("audit", "m.py", "--store", "nowhere"), 2),
        (("audit", "m.py", "--no-behavior"), 0),
        (("audit", "m.py", "--trust", "m.py"), 0),
        (("audit", "m.py", "--trust", ".", "--no-behavior"), 0),
        (("audit", "broken.py", "--trust", "broken.py", "--no-behavior"), 1),
        (("audit", "broken.py", "--no-behavior"), 1),
        (("audit", "broken.py", "--no-behavior", "--fail-on", "high"), 0),
        (("audit", "script.py", "--no-behavior"), 0),
        (("audit", "broken.py", "--no-behavior", "--all", "--fail-on", "info"), 1),
        (("audit", "broken.py", "--no-behavior", "--ignore", "discovery"), 0),
        (("audit", "broken.py", "--no-behavior", "--ignore", "discovery", "--select", "discovery.syntax"), 1),
        (("explain", "audit.baseline"), 0),
        (("explain", "no.such"), 2),
        (("rules",), 0),
        (("accept", "short", "--reason", "x"), 2),
    ],
)
def test_exit_codes(project: Path, words: tuple[str, ...], code: int) -> None:
    script = "import os\nos.system('make clean')\n"
    write(project, {"m.py": CLEAN, "broken.py": "def f(:\n", "script.py": script})
    (project / "empty").mkdir()
    done = codeguard(*words, cwd=project)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if code > 1 else 0)


def test_how_many_files_nobody_looks_at_is_said(project: Path) -> None:
    write(project, {"ours/m.py": CLEAN, "theirs/n.py": CLEAN})
    done = codeguard("audit", "ours", "theirs", "--trust", "ours", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "trusted: 1 of the 2 files" in done.stdout


def test_an_agent_file_that_is_new_or_changed(project: Path) -> None:
    write(project, {"CLAUDE.md": "Use tabs.\n", "m.py": CLEAN})
    base = base_of(project, "CLAUDE.md", "m.py")
    assert look(".", base=base).findings == ()
    write(project, {"CLAUDE.md": "Use spaces.\n", ".mcp.json": "{}\n", "notes.md": "New.\n"})
    found = look(".", base=base).findings
    assert [(item.rule, item.path, item.severity) for item in found] == [
        ("audit.agent-file", ".mcp.json", Severity.MEDIUM),
        ("audit.agent-file", "CLAUDE.md", Severity.MEDIUM),
    ]
    assert look(".").findings == ()


def test_where_evidence_cannot_be_kept_the_audit_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {"file": ""})
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "file"))
    with opened_workspace(Settings(), TrustedBase(project)) as workspace:
        (warning,) = workspace.warnings
        workspace.catalog.set_meta("sandbox_level", "L3")  # it works all the same
    assert warning.startswith("evidence is not kept: ")
