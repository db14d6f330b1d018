"""A team's policy counts from outside of what is audited, or as it was before the change."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, commit, look, write
from in_process import codeguard

from codeguard.audit.findings import Standing
from codeguard.audit.policy import read_policy
from codeguard.errors import ConfigError
from codeguard.models import Severity

INSECURE = "import os\n\n\ndef run(request):\n    os.system('ls ' + request.args['x'])\n"
LEVEL = '[levels]\n"insecure.command-injection" = "low"\n'
LATER, EARLIER = "2999-01-01", "2000-01-01"


def accepted(digest: str, expires: str) -> str:
    return f'[[accepted]]\ndigest = "{digest}"\nowner = "mara"\nreason = "a checksum"\nexpires = {expires}\n'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def test_levels_paths_and_a_baseline(project: Path, policy: Path) -> None:
    write(project, {"src/m.py": INSECURE, "other/m.py": INSECURE})
    policy.write_text('paths = ["src"]\n' + LEVEL)
    found = look(policy=policy, only=("insecure",)).findings
    assert [(item.path, item.severity) for item in found] == [("src/m.py", Severity.LOW)]
    policy.write_text(LEVEL.replace("low", "off"))
    assert look("src", policy=policy, only=("insecure",)).findings == ()
    known = policy.with_name("known.json")
    words = ("--no-behavior", "--select", "insecure", "--write-baseline", str(known), "--reason", "old")
    codeguard("audit", "src", *words, cwd=project)
    policy.write_text('baseline = "known.json"\n')
    (item,) = look("src", policy=policy, only=("insecure",)).findings
    assert item.standing is Standing.BASELINED


@pytest.mark.parametrize(("expires", "counts"), [(LATER, True), (EARLIER, False)])
def test_an_acceptance_counts_until_its_date(project: Path, policy: Path, expires: str, counts: bool) -> None:
    write(project, {"m.py": INSECURE})
    (item,) = look("m.py", only=("insecure",)).findings
    policy.write_text(accepted(item.digest, expires))
    report = look("m.py", policy=policy, only=("insecure",))
    assert (report.findings[0].standing is Standing.ACCEPTED) is counts
    assert ("mara" in report.findings[0].note) is counts
    assert bool(report.warnings) is not counts


def test_changed_behavior_can_need_an_owner(repository: Path, policy: Path) -> None:
    commit(repository, {"src/m.py": "def add(a: int, b: int):\n    return a + b\n"})
    commit(repository, {"src/m.py": "def add(a: int, b: int):\n    return a - b\n"})
    policy.write_text('[levels]\n"change.behavior" = "medium"\n')
    options = {
        "since": "HEAD~1",
        "trust": (Path("src"),),
        "behavior": True,
        "only": ("change",),
        "policy": policy,
    }
    (item,) = look(**options).failing(Severity.MEDIUM)  # type: ignore[arg-type]
    policy.write_text(policy.read_text() + accepted(item.digest, LATER))
    assert look(**options).failing(Severity.MEDIUM) == ()  # type: ignore[arg-type]


def test_a_change_does_not_write_its_own_policy(repository: Path) -> None:
    commit(repository, {"policy.toml": 'paths = ["."]\n'})
    commit(repository, {"policy.toml": LEVEL, "m.py": INSECURE})
    report = look(policy=Path("policy.toml"), only=("insecure",), since="HEAD~1")
    assert [item.severity for item in report.findings] == [Severity.HIGH]
    commit(repository, {"new.toml": LEVEL})
    with pytest.raises(ConfigError, match="was not there before"):
        look(policy=Path("new.toml"), since="HEAD~1")


def test_a_policy_in_what_is_audited_is_refused(project: Path) -> None:
    write(project, {"m.py": FLAGGED, "policy.toml": 'paths = ["."]\n'})
    for paths in ((), (".",), (project,)):
        with pytest.raises(ConfigError, match="lies in what is audited"):
            look(*paths, policy=Path("policy.toml"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("paths = 1", "paths"),
        ("other = 1", "other"),
        ("[", "no policy"),
        ('[levels]\n"no.such" = "low"', "no such rule"),
        ('[levels]\n"audit" = "off"', "fact"),
        ('[levels]\n"insecure" = "loud"', "loud"),
        (accepted("abc", LATER), "64"),
        (accepted("0" * 64, '"soon"'), "date"),
        (accepted("0" * 64, LATER).replace("mara", " "), "blank"),
        (accepted("0" * 64, LATER).replace("owner", "by"), "owner"),
        ('baseline = "nowhere.json"', "nowhere"),
    ],
)
def test_what_is_no_policy_is_an_error(project: Path, policy: Path, text: str, what: str) -> None:
    write(project, {"m.py": CLEAN})
    policy.write_text(text)
    done = codeguard("audit", "m.py", "--policy", str(policy), "--no-behavior", cwd=project)
    assert done.returncode == 2
    assert what in done.stderr


def test_the_last_day_counts(project: Path, policy: Path) -> None:
    policy.write_text(accepted("0" * 64, "2027-03-31"))
    read = read_policy(policy, None, of_change=False, paths=[project])
    assert read.expired(date(2027, 3, 31)) == ()
    assert len(read.expired(date(2027, 4, 1))) == 1
