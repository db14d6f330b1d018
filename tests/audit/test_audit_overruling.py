"""A comment overrules nothing; an acceptance is by digest, authenticated, and seen ever after."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, GOOD, WRONG, look, rules, write
from in_process import codeguard

from codeguard.audit.findings import Standing
from codeguard.errors import ConfigError
from codeguard.trust.acceptances import ACCEPTED_NAME, accept, load_acceptances


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("# codeguard: ignore[insecure.eval] a template", True),
        ("# Codeguard:  IGNORE", True),
        ("# about codeguard: it may ignore things", False),
    ],
)
def test_a_comment_that_asks_to_be_ignored_is_a_finding_also_in_own_code(
    project: Path, comment: str, found: bool
) -> None:
    write(project, {"m.py": f"{comment}\n{CLEAN}"})
    assert rules(look("m.py", trust=(Path("m.py"),)).open) == ["audit.inline-ignore"] * found


def test_in_a_string_it_is_only_text(project: Path) -> None:
    write(project, {"m.py": 'HELP = "write # codeguard: ignore[rule] reason"\n'})
    assert look("m.py").findings == ()


def test_an_accepted_digest_is_overruled_with_name_and_reason(project: Path) -> None:
    write(project, {"m.py": FLAGGED})
    (finding,) = look("m.py").findings
    done = codeguard("accept", finding.digest, "--reason", "our\ntest", "--by", "Ada", cwd=project)
    assert done.returncode == 0, done.stderr
    (after,) = look("m.py").findings
    assert after.standing is Standing.ACCEPTED
    assert after.note.startswith("accepted by Ada on ")
    assert after.note.endswith(": our test")
    write(project, {"m.py": FLAGGED.replace("2", "3")})
    assert len(look("m.py").open) == 1


@pytest.mark.parametrize("name", ["password", "api_token", "client_secret"])
def test_the_text_shows_the_digest_whatever_a_function_is_called(project: Path, name: str) -> None:
    key = (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # looks like a digest and is none
    )
    text = f"def {name}(number):\n    return number / 2  # codeguard: ignore {name} = '{key}'\n"
    write(project, {"m.py": text})
    (finding,) = (item for item in look("m.py").findings if item.rule == "audit.inline-ignore")
    done = codeguard("audit", "m.py", "--select", "audit", "--all", cwd=project)
    assert f"digest of {name}: {finding.digest}" in done.stdout
    assert key not in done.stdout
    assert codeguard("accept", finding.digest, "--reason", "ours", cwd=project).returncode == 0
    assert look("m.py").open == ()


@pytest.mark.parametrize(
    ("digest", "reason"),
    [
        ("", "why"),
        ("abc", "why"),
        ("G" * 64, "why"),
        ("0" * 64, ""),
        ("0" * 64, " \n"),
        ("0" * 64, "x" * 2001),
    ],
)
def test_an_acceptance_needs_a_digest_and_a_reason(tmp_path: Path, digest: str, reason: str) -> None:
    with pytest.raises(ConfigError):
        accept(tmp_path, digest, reason)


def test_a_reason_may_be_long(tmp_path: Path) -> None:
    assert accept(tmp_path, "0" * 64, "x" * 2000).reason == "x" * 2000


def test_an_account_without_a_name_is_recorded_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert accept(tmp_path, "0" * 64, "why").by == f"user {os.getuid()}"


def test_the_latest_acceptance_of_a_digest_counts(tmp_path: Path) -> None:
    accept(tmp_path, "0" * 64, "first", by="A")
    accept(tmp_path, "0" * 64, "second", by="B")
    entry = load_acceptances(tmp_path).of("0" * 64)
    assert entry is not None
    assert (entry.by, entry.reason) == ("B", "second")


@pytest.mark.parametrize("field", ["digest", "reason", "by", "date", "mac"])
def test_a_list_of_another_hand_accepts_nothing(tmp_path: Path, field: str) -> None:
    accept(tmp_path, "0" * 64, "why", by="A")
    place = tmp_path / ACCEPTED_NAME
    row = json.loads(place.read_text())
    row[field] = "1" * 64
    place.write_text(json.dumps(row) + "\n{\n[]\n")
    known = load_acceptances(tmp_path)
    assert (dict(known.entries), known.refused) == ({}, 3)


def test_an_accepted_conviction_is_shown_and_no_longer_one(project: Path) -> None:
    write(project, {"ours/m.py": GOOD, "theirs/x.py": WRONG})
    words = ("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical")
    first = codeguard(*words, "--format", "json", cwd=project)
    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    (convicted,) = report["convicted"]
    audited = codeguard("audit", "theirs", "--select", "behavior", cwd=project)
    assert (audited.returncode, "1 function checked, 0 of them anew" in audited.stdout) == (1, True), (
        audited.stdout
    )
    codeguard("accept", convicted["sha256"], "--reason", "subtracts on purpose", "--by", "Ada", cwd=project)
    again = json.loads(codeguard(*words, "--format", "json", cwd=project).stdout)
    assert "Ada" in again["convicted"][0]["accepted"]
    answer = json.loads(codeguard("query", "add two numbers", "--format", "json", cwd=project).stdout)
    (found,) = [item for item in answer["ranking"] if item["path"] == "theirs/x.py"]
    assert (found["convicted"], found["penalty"] < 1.0) == (False, True)
    (shown,) = [item for item in found["evidence"] if item["signal"] == "acceptance"]
    assert "accepted by Ada" in shown["reason"]
    assert "subtracts on purpose" in shown["reason"]
    after = codeguard("audit", "theirs", "--select", "behavior", cwd=project)
    assert (after.returncode, "accepted by Ada" in after.stdout) == (0, True)
