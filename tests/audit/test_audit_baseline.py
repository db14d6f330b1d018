"""A baseline overrules what somebody has looked at, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, look, rules, write
from click.testing import CliRunner
from in_process import codeguard

from codeguard.audit.findings import Standing
from codeguard.audit.policy import baseline_from_text, baseline_text
from codeguard.cli import main
from codeguard.config import Settings
from codeguard.errors import ManifestError
from codeguard.index.trusted_base import of_paths
from codeguard.trust.acceptances import Acceptance

OUTSIDE = Path("../baseline.json")


def entries() -> list[dict[str, object]]:
    return json.loads(OUTSIDE.read_text())["entries"]  # type: ignore[no-any-return]


@pytest.fixture
def known(project: Path) -> Path:
    """A project whose one finding is in a baseline outside of it, with a reason."""
    write(project, {"src/m.py": FLAGGED})
    look("src", baseline=OUTSIDE, update_baseline=True, reason="seen")
    return project


def test_update_writes_an_entry_with_its_reason_and_it_counts_from_then_on(known: Path) -> None:
    (entry,) = entries()
    assert (entry["rule"], entry["path"], entry["count"], entry["reason"]) == (
        "audit.inline-ignore", "src/m.py", 1, "seen",
    )  # fmt: skip
    (finding,) = look("src", baseline=OUTSIDE).findings
    assert (finding.standing, finding.note) == (Standing.BASELINED, "seen")


@pytest.mark.parametrize(
    ("text", "still_open"),
    [
        ("# a new line\n\n" + FLAGGED, 0),
        (FLAGGED.replace("    return", "        return").replace(":\n", ":\n    if number:\n"), 0),
        (FLAGGED.replace("number / 2", "number / 3"), 1),
        (FLAGGED + FLAGGED.replace("half", "again"), 1),
        (FLAGGED.replace("ignore", "IGNORE"), 1),
    ],
    ids=["moved", "indented", "another line", "a new duplicate", "another spelling"],
)
def test_a_moved_line_keeps_its_entry_and_nothing_hides_behind_it(
    known: Path, text: str, still_open: int
) -> None:
    write(known, {"src/m.py": text})
    assert len(look("src", baseline=OUTSIDE).open) == still_open


def test_another_path_is_another_finding(known: Path) -> None:
    write(known, {"src/n.py": FLAGGED})
    assert [item.path for item in look("src", baseline=OUTSIDE).open] == ["src/n.py"]


def test_update_keeps_reasons_and_drops_what_is_gone(known: Path) -> None:
    write(known, {"src/n.py": FLAGGED})
    look("src", baseline=OUTSIDE, update_baseline=True)
    assert {entry["path"]: entry["reason"] for entry in entries()} == {
        "src/m.py": "seen", "src/n.py": "taken over as it was, not reviewed",
    }  # fmt: skip
    write(known, {"src/n.py": CLEAN})
    look("src", baseline=OUTSIDE, update_baseline=True)
    assert [entry["path"] for entry in entries()] == ["src/m.py"]


def test_update_of_a_part_leaves_the_rest(known: Path) -> None:
    write(known, {"lib/n.py": FLAGGED})
    look("lib", baseline=OUTSIDE, update_baseline=True, reason="lib")
    look("src", baseline=OUTSIDE, update_baseline=True, only=("discovery",))
    assert [(entry["path"], entry["reason"]) for entry in entries()] == [
        ("lib/n.py", "lib"),
        ("src/m.py", "seen"),
    ]


def test_a_baseline_in_the_audited_tree_does_not_count_and_is_a_finding(known: Path) -> None:
    inside = known / "src" / "baseline.json"
    inside.write_text(OUTSIDE.read_text())
    found = look("src", baseline=inside)
    assert sorted(rules(found.open)) == ["audit.baseline", "audit.inline-ignore"]


def test_unless_the_verified_manifest_covers_it(known: Path) -> None:
    inside = known / "src" / "baseline.json"
    inside.write_text(OUTSIDE.read_text())
    base = of_paths([inside], Settings(), known)
    assert look("src", baseline=inside, base=base).open == ()
    inside.write_text(inside.read_text() + "\n")
    assert "audit.baseline" in rules(look("src", baseline=inside, base=base).open)


def test_an_entry_without_a_reason_overrules_nothing(known: Path) -> None:
    OUTSIDE.write_text(OUTSIDE.read_text().replace('"seen"', '"  "'))
    assert len(look("src", baseline=OUTSIDE).open) == 1


def test_a_file_is_read_back_as_it_was_written() -> None:
    baseline = [Acceptance("0" * 64, "why\n", rule="a.b", path="p\u202e.py", count=2)]
    assert baseline_from_text(baseline_text(baseline).encode(), "x") == baseline


ROW = '{"rule": "a", "path": "b", "digest": "c", "reason": "d", "count": 1}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^the baseline file is not JSON"),
        ("[]", "^the baseline file has the wrong type, got a list"),
        ("{", "not JSON"),
        ("[" * 100_000, "nests too deeply"),
        ('{"schema": "codeguard.baseline/2", "entries": []}', "got another schema"),
    ]
    + [
        (f'{{"schema": "codeguard.baseline/1", "entries": {entries}}}', message)
        for entries, message in (
            ("null", "^entries of the baseline file has the wrong type, got null"),
            ("[1]", "^item 1 of entries of the baseline file has the wrong type, got an integer"),
            (f"[{ROW}, {ROW}]", "^file has two entries for"),
            (f"[{ROW.replace('1', '0')}]", "count of item 1 of .* is too small, got 0"),
            (f"[{ROW.replace('1', 'true')}]", "count of item 1 of .*, got true or false"),
        )
    ],
)
def test_what_is_no_baseline_is_refused(text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        baseline_from_text(text.encode(), "file")


def test_from_the_command_line(known: Path) -> None:
    assert codeguard("audit", "src", "--no-behavior", cwd=known).returncode == 1
    done = codeguard(
        "audit", "src", "--no-behavior", "--baseline", str(OUTSIDE), "--select", "audit", cwd=known
    )
    assert done.returncode == 0
    assert "baselined: seen" in done.stdout
    assert "--write-baseline" not in done.stdout
    missing = codeguard("audit", "src", "--baseline", "nowhere.json", cwd=known)
    assert (missing.returncode, len(missing.stderr.splitlines())) == (2, 1)


def run(*words: str) -> tuple[int, str]:
    """Run the command line in this process."""
    done = CliRunner().invoke(main, ["audit", "src", "--no-behavior", "--jobs", "1", *words])
    return done.exit_code, done.output


def test_a_first_run_offers_a_baseline_that_holds_what_was_shown(project: Path) -> None:
    write(project, {"src/m.py": FLAGGED + "import requests\n\n\ndef f(url):\n    requests.get(url)\n"})
    code, shown = run()
    assert code == 1
    assert "--write-baseline" in shown
    assert run("--write-baseline", str(OUTSIDE), "--reason", "old")[0] == 0
    assert {(entry["rule"], entry["reason"]) for entry in entries()} == {("audit.inline-ignore", "old")}
    code, shown = run("--baseline", str(OUTSIDE))
    assert code == 0
    assert "--write-baseline" not in shown
    assert run("--write-baseline", str(OUTSIDE), "--all")[0] == 0
    assert "insecure.request-without-timeout" in {entry["rule"] for entry in entries()}
    assert [entry["reason"] for entry in entries() if entry["rule"] == "audit.inline-ignore"] == ["old"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--baseline", "a", "--write-baseline", "b"], "one of them"),
        (["--all", "--min-severity", "low"], "one of them"),
    ],
)
def test_options_that_contradict_each_other_are_refused(known: Path, words: list[str], says: str) -> None:
    code, shown = run(*words)
    assert code == 2
    assert says in shown


def test_what_is_not_shown_fails_the_audit_all_the_same(known: Path) -> None:
    code, shown = run("--min-severity", "critical")
    assert code == 1
    assert "audit.inline-ignore" not in shown
    code, shown = run("--min-severity", "critical", "--format", "json")
    assert (code, json.loads(shown)["findings"], json.loads(shown)["below"]["medium"]) == (1, [], 1)
    assert "audit.inline-ignore" in run("--format", "json")[1]
