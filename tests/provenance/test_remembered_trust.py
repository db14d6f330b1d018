"""What was trusted once stays trusted until somebody takes it back, and nothing else makes it so."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from trust_bench import make_key

from codeguard.api import CodeGuard
from codeguard.cli import main
from codeguard.config import CATALOG, Settings
from codeguard.index.trusted_paths import TrustedPath, trusted_by_name, trusted_by_path

pytestmark = pytest.mark.ci

FILES = {
    "mine/m.py": "def add(a, b):\n    return a + b\n",
    "mine/sub/s.py": "def double(a):\n    return 2 * a\n",
    "theirs/t.py": "def add(a, b):\n    return a - b\n",
}


class Desk:
    def __init__(self, base: Path) -> None:
        self.base, self.corpus = base, base / "corpus"
        for name, text in FILES.items():
            self.write(name, text)
        self.configuration = Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "config.toml"
        self.configure("")

    def write(self, name: str, text: str) -> None:
        (self.corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (self.corpus / name).write_text(text)

    def configure(self, more: str) -> None:
        self.configuration.write_text(f'embedding = "lexical"\njobs = 1\n{more}')

    def run(self, *words: object, code: int = 0) -> str:
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == code, done.output
        if code:
            assert len(done.output.strip().splitlines()) == 1, done.output
        return done.output

    def trusted(self) -> set[str]:
        said = self.run("query", "add two numbers", "-k", "9", "--format", "json")
        answer = json.loads(said.splitlines()[-1])  # warnings come before it
        return {item["path"] for item in answer["ranking"] if item["trust"] == "trusted"}

    def remembered(self) -> dict[str, tuple[bool, bool, int]]:
        shown = json.loads(self.run("trust", "show", "--format", "json"))
        return {item["name"]: (item["trusted"], item["signed"], item["files"]) for item in shown["paths"]}


MINE = {"mine/m.py", "mine/sub/s.py"}


def index_desk(base: Path) -> None:
    desk = Desk(base)
    with contextlib.chdir(desk.corpus):
        desk.run("index", "mine", "theirs", "--trust", "mine")


@pytest.fixture
def desk(once: Callable[[Callable[[Path], object]], Path], monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(once(index_desk))
    monkeypatch.chdir(made.corpus)
    return made


@pytest.mark.parametrize(
    "words",
    [
        ["mine"],
        ["mine/"],
        ["."],
        ["theirs"],
        ["mine/sub"],
        ["mine/m.py"],
        ["theirs", "mine"],
        ["theirs", "--trust", "theirs/nothing.py"],
        ["{corpus}/mine"],
        ["../link/mine"],
    ],
)
def test_trust_stays_without_being_given_again(desk: Desk, words: list[str]) -> None:
    (desk.base / "link").symlink_to(desk.corpus)
    desk.write("theirs/nothing.py", "x = 1\n")
    report = json.loads(
        desk.run("index", *(word.format(corpus=desk.corpus) for word in words), "--format", "json")
    )
    assert (report["trusted_before"] == ["mine"]) is any("mine" in word or word == "." for word in words)
    assert desk.trusted() - {"theirs/nothing.py"} == MINE
    assert desk.run("index", *(word.format(corpus=desk.corpus) for word in words))
    assert desk.trusted() - {"theirs/nothing.py"} == MINE


def test_new_and_changed_files_under_a_trusted_path_are_trusted(desk: Desk) -> None:
    desk.write("mine/new.py", "def triple(a):\n    return 3 * a\n")
    desk.write("mine/m.py", "def add(a, b):\n    return b + a\n")
    desk.run("index", "mine")
    assert desk.trusted() == {*MINE, "mine/new.py"}


def test_a_deleted_file_under_a_trusted_path_takes_no_trust_from_the_path(desk: Desk) -> None:
    (desk.corpus / "mine" / "m.py").unlink()
    desk.run("index", "mine")
    assert desk.trusted() == {"mine/sub/s.py"}
    desk.write("mine/m.py", FILES["mine/m.py"])
    desk.run("index", "mine")
    assert desk.trusted() == MINE


def test_a_trusted_path_that_vanished_is_refused_and_nothing_is_changed(desk: Desk) -> None:
    shutil.move("mine", desk.base / "elsewhere")
    before = (desk.corpus / ".codeguard" / CATALOG).read_bytes()
    said = desk.run("index", ".", code=2)
    assert f"{desk.corpus}/mine is trusted since" in said
    assert f"--untrust {desk.corpus}/mine" in said
    assert (desk.corpus / ".codeguard" / CATALOG).read_bytes() == before
    desk.run("index", "theirs")  # decides nothing about it
    assert desk.remembered() == {"mine": (True, False, 2)}
    assert desk.trusted() == set()  # what the disk does not have is not served as trusted
    desk.run("index", ".", "--untrust", "mine")
    assert (desk.trusted(), desk.remembered()) == (set(), {})


def test_nothing_stays_of_an_untrusted_path_that_is_not_there(desk: Desk) -> None:
    shutil.move("mine", desk.base / "elsewhere")
    desk.run("index", "theirs", "--untrust", "mine")
    files = {item["path"] for item in json.loads(desk.run("ls", "--format", "json"))["files"]}
    assert files == {"theirs/t.py"}
    desk.run("index")
    assert "no longer there" not in desk.run("status")


def test_a_trusted_path_may_move_with_its_name(desk: Desk) -> None:
    moved = desk.base / "new place" / "mine"
    moved.parent.mkdir()
    shutil.move("mine", moved)
    assert "is no longer there" in desk.run("index", moved, code=2)
    desk.run("index", moved, "--trust", moved)
    assert desk.remembered() == {"mine": (True, False, 2)}
    desk.run("index", moved)
    assert desk.trusted() == MINE


@pytest.mark.parametrize("paths", [[], ["."], [".", "--trust", "mine"], ["--rebuild"]])
def test_a_project_that_moves_away_from_its_state_follows_the_advice(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str]
) -> None:
    state, moved = ("--store", str(tmp_path / "state")), tmp_path / "moved"
    desk.run("index", ".", "--trust", "mine", *state)
    shutil.move(desk.corpus, moved)
    monkeypatch.chdir(moved)
    assert "not on this disk" in desk.run("query", "add", *state)
    said = desk.run("index", *paths, *state, code=2)
    advice = f"codeguard index --rebuild PATH… --trust PATH --untrust {desk.corpus}"
    assert said.rstrip().endswith(advice)
    words = advice.replace("PATH…", ".").replace("--trust PATH", "--trust mine").split()[1:]
    desk.run(*words, *state)
    assert {
        item["path"] for item in json.loads(desk.run("ls", "--trusted", "--format", "json", *state))["files"]
    } == MINE
    assert "not on this disk" not in desk.run("query", "add", *state)
    desk.run("index", ".", *state)


def test_trust_in_one_more_path_takes_none_from_another(desk: Desk) -> None:
    desk.run("index", ".", "--trust", "theirs")
    assert desk.trusted() == {*MINE, "theirs/t.py"}
    desk.run("index", ".")
    assert desk.trusted() == {*MINE, "theirs/t.py"}


@pytest.mark.parametrize(
    ("untrust", "left"),
    [
        ("mine", set()),
        (".", set()),
        ("mine/sub", {"mine/m.py"}),
        ("mine/m.py", {"mine/sub/s.py"}),
        ("{corpus}/mine/sub", {"mine/m.py"}),
    ],
)
def test_untrust_takes_back_what_it_names_and_stays(desk: Desk, untrust: str, left: set[str]) -> None:
    desk.run("index", "theirs", "--untrust", untrust.format(corpus=desk.corpus))
    assert desk.trusted() == left
    desk.run("index", ".")
    assert desk.trusted() == left
    desk.run("index", ".", "--trust", "mine")
    assert desk.trusted() == MINE


EVERY_ROW = "key NOT IN ('head')"


@pytest.mark.parametrize(
    "rows",
    [
        "key = 'unsigned'",
        "key = 'unsigned' OR key = 'trusted_paths'",
        "key = 'unsigned' OR key = 'head'",
        EVERY_ROW,
    ],
)
def test_what_was_untrusted_does_not_come_back_with_old_rows(desk: Desk, rows: str) -> None:
    state, earlier = desk.corpus / ".codeguard", desk.base / "earlier"
    shutil.copytree(state, earlier)
    desk.run("index", "theirs", "--untrust", "mine")
    with contextlib.closing(sqlite3.connect(state / CATALOG)) as db, db:
        db.execute(f"ATTACH '{earlier / CATALOG}' AS earlier")
        db.execute("INSERT OR REPLACE INTO analyses SELECT * FROM earlier.analyses WHERE key = 'unsigned'")
        db.execute(f"INSERT OR REPLACE INTO meta SELECT * FROM earlier.meta WHERE {rows}")
    assert "settings are not of one time" in desk.run("query", "add two numbers", code=2)
    assert "the old index was not believed" in desk.run("index", "--rebuild", ".")
    assert desk.trusted() == set()


def test_untrust_in_the_configuration_and_in_python(desk: Desk) -> None:
    desk.configure('[defense]\nuntrust = ["mine/sub"]\n')
    desk.run("index", ".")
    assert desk.trusted() == {"mine/m.py"}
    desk.run("index", ".")
    assert desk.trusted() == {"mine/m.py"}
    desk.configure("")
    settings = Settings(store=".codeguard", embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings, untrust=["mine"]) as guard:
        guard.index(["."])
        guard.index(["."])
    assert desk.trusted() == set()


def test_a_path_that_nobody_trusts_and_that_is_not_there_is_a_mistake(desk: Desk) -> None:
    assert f"expected one that is trusted: {desk.corpus}/mine" in desk.run(
        "index", ".", "--untrust", "mien", code=2
    )
    assert desk.trusted() == MINE


def test_what_is_trusted_is_shown(desk: Desk) -> None:
    desk.run("index", ".", "--untrust", "mine/sub")
    lines = desk.run("trust", "show").splitlines()
    assert lines[0].startswith(f"{desk.corpus}/mine  unsigned, 1 files, since 2")
    assert lines[1].startswith(f"{desk.corpus}/mine/sub  not trusted, since 2")
    desk.run("index", ".", "--untrust", "mine")
    assert "nothing is trusted" in desk.run("trust", "show")
    assert "no index" in desk.run("trust", "show", "--store", "elsewhere", code=2)


def test_what_another_guard_trusted_meanwhile_counts(desk: Desk) -> None:
    settings = Settings(store=".codeguard", embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings) as first:
        assert [item.name for item in first.workspace.trusted_paths] == ["mine"]
        with CodeGuard.open(settings=settings, trust=["theirs"]) as second:
            second.index(["theirs"])
        assert first.index(["."]).trusted_before == ("mine", "theirs")
    assert desk.trusted() == {*MINE, "theirs/t.py"}


def test_the_index_of_an_older_version_is_made_new_and_loses_no_trust_unsaid(desk: Desk) -> None:
    with contextlib.closing(sqlite3.connect(desk.corpus / ".codeguard" / CATALOG)) as db:
        db.execute("PRAGMA user_version = 3")
    for words in (["query", "add two numbers"], ["index", "."]):
        assert "another version of codeguard; make it new from the files" in desk.run(*words, code=2)
    said = desk.run("index", "--rebuild", ".", "--trust", "mine").splitlines()[0]
    assert "was not believed, nor what it trusted" in said
    assert "another version" in said
    assert desk.trusted() == MINE


def test_the_state_of_another_user_is_not_believed(desk: Desk) -> None:
    key = desk.configuration.parent / "evidence.key"
    key.write_bytes(b"z" * 32)
    assert "not of this installation" in desk.run("query", "add", code=2)
    said = desk.run("index", ".")
    assert "it is set aside" in said.splitlines()[0]
    assert desk.trusted() == set()
    assert desk.remembered() == {}


class TestSigned:
    @pytest.fixture
    def signed(self, desk: Desk) -> Desk:
        key = make_key(desk.base / "keys", "alice")
        desk.configure(
            '[signing]\nroot = "acme/mine"\n'
            f'[[signing.signers]]\nidentity = "alice"\nkeys = ["{key.with_suffix(".pem")}"]\n'
        )
        desk.run("trust", "build", "mine")
        desk.run("trust", "sign", "mine", "--key", key)
        desk.run("index", ".", "--trust", "mine")
        assert desk.remembered() == {"mine": (True, True, 2)}
        return desk

    def test_one_outside_of_the_working_directory_is_verified_by_its_name(
        self, signed: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        signed.run("index", signed.corpus, "--trust", signed.corpus / "mine")
        assert signed.trusted() == {f"corpus/{name}" for name in MINE}
        assert signed.remembered() == {"corpus/mine": (True, True, 2)}

    def test_it_is_verified_anew_each_time(self, signed: Desk) -> None:
        for _ in range(2):
            report = json.loads(signed.run("index", "mine", "--format", "json"))
            assert report["signed_by"] == ["alice"]
        signed.write("mine/m.py", "def add(a, b):\n    return a * b\n")
        assert "is not as it was signed" in signed.run("index", "mine")
        assert signed.trusted() == {"mine/sub/s.py"}

    @pytest.mark.parametrize("words", [["mine"], [".", "--trust", "mine"], ["mine/sub"]])
    def test_it_does_not_become_unsigned_unsaid(self, signed: Desk, words: list[str]) -> None:
        (signed.corpus / "mine" / "codeguard.manifest.json").unlink()
        assert "was trusted by a signed manifest, which is gone" in signed.run("index", *words, code=2)
        signed.run("index", ".", "--untrust", "mine", "--trust", "mine")
        assert signed.remembered() == {"mine": (True, False, 2)}
        assert signed.trusted() == MINE

    def test_a_part_of_it_may_be_untrusted(self, signed: Desk) -> None:
        signed.run("index", ".", "--untrust", "mine/sub")
        assert signed.trusted() == {"mine/m.py"}
        signed.run("index", "theirs", "--untrust", "mine")
        assert signed.trusted() == set()


ROOT = Path("/root of it")
NOW = "2026-01-01T00:00:00+00:00"


def known(*names: str) -> list[TrustedPath]:
    return [
        TrustedPath(str(ROOT / name.lstrip("-")), name.lstrip("-"), NOW, trusted=not name.startswith("-"))
        for name in names
    ]


@pytest.mark.parametrize(
    ("name", "trusted"),
    [
        ("a", True),
        ("a/f.py", True),
        ("a/x/f.py", False),
        ("a/x/y/f.py", True),
        ("ab/f.py", False),
        ("f.py", False),
    ],
)
@pytest.mark.parametrize("ask", [trusted_by_name, lambda name, of: trusted_by_path(ROOT / name, of)])
def test_the_nearest_path_decides(
    name: str, trusted: bool, ask: Callable[[str, list[TrustedPath]], bool]
) -> None:
    assert ask(name, known("a", "-a/x", "a/x/y")) is trusted


def test_what_lies_outside_of_the_working_directory_has_one_name(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    mine = desk.corpus / "mine"
    desk.run("index", desk.corpus, "--trust", mine)
    own = {f"corpus/{name}" for name in MINE}
    assert desk.trusted() == own
    assert desk.remembered() == {"corpus/mine": (True, False, 2)}
    assert json.loads(desk.run("status", "--format", "json"))["trusted_files"] == 2
    desk.run("index", mine)  # a part of it keeps its names
    assert json.loads(desk.run("status", "--format", "json"))["files"] == 3
    desk.run("index", desk.corpus, "--untrust", mine / "sub")
    assert desk.trusted() == {"corpus/mine/m.py"}
    assert json.loads(desk.run("status", "--format", "json"))["trusted_files"] == 1
    assert "corpus/theirs/t.py" in desk.run("rm", desk.corpus / "theirs")
