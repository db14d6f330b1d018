"""What is gone is said, not passed over; what fails leaves nothing behind; a rebuild leaves the old or the new."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from crashing import Countdown, CrashError

from codeguard.api import CodeGuard
from codeguard.cli import main
from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError, NoIndexError
from codeguard.index import swapping
from codeguard.index.maintenance import verify
from codeguard.index.swapping import NEW, READY, WRITING, held
from codeguard.index.workspace import Workspace

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'


class Desk:
    def __init__(self, base: Path) -> None:
        self.base, self.corpus, self.state = base, base / "corpus", base / "corpus" / ".codeguard"
        for name, text in {"ours/m.py": OURS, "theirs/wrong.py": WRONG}.items():
            (self.corpus / name).parent.mkdir(parents=True, exist_ok=True)
            (self.corpus / name).write_text(text)
        configuration = Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "config.toml"
        configuration.write_text('embedding = "lexical"\njobs = 1\n')

    def run(self, *words: str, code: int = 0) -> list[str]:
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == code, done.output
        lines = done.output.strip().splitlines()
        assert code == 0 or len(lines) == 1, done.output
        return lines

    def verdicts(self) -> dict[str, tuple[str, str]]:
        answer = json.loads("".join(self.run("query", "add two numbers", "--format", "json")))
        assert answer["warnings"] == []
        return {item["path"]: (item["trust"], item["verdict"]) for item in answer["ranking"]}

    def settings(self) -> Settings:
        return Settings(store=".codeguard", embedding="lexical", jobs=1)

    def whole(self) -> None:
        assert self.verdicts() == {"ours/m.py": ("trusted", ""), "theirs/wrong.py": ("unlisted", "fail")}
        opened = Workspace(self.settings())
        assert verify(opened, all_vectors=True).clean
        opened.close()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path)
    monkeypatch.chdir(made.corpus)
    return made


def index_desk(base: Path) -> None:
    desk = Desk(base)
    with contextlib.chdir(desk.corpus):
        desk.run("index", ".", "--trust", "ours")
        desk.whole()


@pytest.fixture
def indexed(once: Callable[[Callable[[Path], object]], Path], monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(once(index_desk))
    monkeypatch.chdir(made.corpus)
    return made


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nosuchdir"], 2),
        (["ours", "nosuchdir"], 2),
        (["ours", "--trust", "nosuchdir"], 2),
        (["empty"], 3),
        (["ours", "--trust", "signed"], 2),
        (["ours", "--embedding", "nonesuch"], 2),
    ],
)
def test_a_first_index_that_fails_leaves_nothing(desk: Desk, words: list[str], code: int) -> None:
    (desk.corpus / "empty").mkdir()
    (desk.corpus / "signed").mkdir()
    (desk.corpus / "signed" / "codeguard.manifest.json").write_text("{}")
    desk.run("index", *words, code=code)
    assert not desk.state.exists()
    assert "no index in .codeguard" in desk.run("query", "add", code=2)[0]
    with CodeGuard.open(settings=desk.settings()) as guard:
        with pytest.raises(CodeguardError):
            guard.index(["nosuchdir"])
        with pytest.raises(NoIndexError):
            guard.query("add")
    assert not desk.state.exists()


def test_an_index_whose_making_failed_is_none(desk: Desk) -> None:
    desk.run("index", ".", "--embedding", "nonesuch", code=2)
    assert "no index in .codeguard" in desk.run("query", "add", code=2)[0]
    desk.run("index", ".", "--trust", "ours")
    desk.whole()


def test_an_index_that_has_nothing_yet_is_not_one_whose_making_failed(desk: Desk) -> None:
    Workspace(desk.settings(), create=True).close()  # as a first run leaves it until its first files are read
    assert "its making failed" in desk.run("query", "add", code=2)[0]
    with held(desk.state / WRITING):
        assert "is being made" in desk.run("query", "add", code=2)[0]


@pytest.mark.parametrize("words", [["nosuchdir"], ["ours", "nosuchdir"], ["--rebuild", "nosuchdir"]])
def test_a_later_index_that_fails_loses_nothing(indexed: Desk, words: list[str]) -> None:
    indexed.run("index", *words, code=2)
    indexed.whole()
    assert not (indexed.state / NEW).exists()


def test_a_damaged_catalog_needs_the_paths_and_the_trust_again(indexed: Desk) -> None:
    (indexed.state / CATALOG).write_bytes(b"garbage" * 1000)
    assert "codeguard index --rebuild" in indexed.run("query", "add", code=2)[0]
    assert "codeguard index --rebuild" in indexed.run("index", ".", code=2)[0]
    assert "name it: codeguard index --rebuild PATH" in indexed.run("index", "--rebuild", code=2)[0]
    assert (
        "was not believed, nor what it trusted"
        in indexed.run("index", "--rebuild", ".", "--trust", "ours")[0]
    )
    indexed.whole()


def test_a_rebuild_keeps_trust_and_acceptances_and_takes_more_paths(indexed: Desk) -> None:
    digest = next(
        item["sha256"]
        for item in json.loads("".join(indexed.run("query", "add", "--format", "json")))["ranking"]
        if item["path"] == "theirs/wrong.py"
    )
    indexed.run("accept", digest, "--reason", "looked at")
    more = indexed.base / "more"
    more.mkdir()
    (more / "n.py").write_text("def twice(a):\n    return 2 * a\n")
    indexed.run("index", "--rebuild", str(more))
    assert indexed.verdicts().keys() == {"ours/m.py", "theirs/wrong.py", "more/n.py"}
    assert '"accepted": "accepted by' in "".join(indexed.run("index", "theirs", "--format", "json"))
    (more / "n.py").unlink()
    more.rmdir()
    lines = indexed.run("index", "--rebuild")
    assert f"{more} is no longer there: left out" in lines[0]
    assert "1 files of the old index are not in the new one: more/n.py" in lines[1]
    (indexed.corpus / "ours").rename(indexed.corpus / "away")
    assert "is no longer there" in indexed.run("index", "--rebuild", code=2)[0]


def test_a_rebuild_of_nothing_is_a_mistake(desk: Desk) -> None:
    assert "no index in .codeguard" in desk.run("index", "--rebuild", ".", code=2)[0]
    assert "PATH" in desk.run("index", code=2)[0]


@pytest.mark.parametrize("step", range(6))
def test_a_crash_at_any_step_of_the_swap_leaves_one_whole_index(
    indexed: Desk, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed.corpus / "theirs" / "new.py").write_text("def twice(a):\n    return 2 * a\n")
    counted = Countdown(step)

    with monkeypatch.context() as patch:
        built = swapping.put_in_place

        def swap(state: Path) -> None:
            patch.setattr(Path, "rename", counted(Path.rename))
            patch.setattr(Path, "unlink", counted(Path.unlink))
            patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
            built(state)

        patch.setattr("codeguard.index.maintenance.put_in_place", swap)
        with CodeGuard.open(settings=indexed.settings()) as guard:
            try:
                guard.index(rebuild=True)
            except CrashError:
                assert counted.taken > step
    verdicts = indexed.verdicts()
    verdicts.pop("theirs/new.py", None)  # it is there if the new index is
    assert verdicts == {"ours/m.py": ("trusted", ""), "theirs/wrong.py": ("unlisted", "fail")}
    indexed.run("index", ".")
    assert not {NEW, READY} & {path.name for path in indexed.state.iterdir()}
    opened = Workspace(indexed.settings())
    assert verify(opened, all_vectors=True).clean
    opened.close()


def test_a_rebuild_that_is_killed_leaves_the_old_index(indexed: Desk) -> None:
    code = (
        "import os, signal\nfrom codeguard.index.pipeline import Indexer\nfrom codeguard.cli import main\n"
        "Indexer._remove_vanished = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmain(['index', '--rebuild'])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -9
    assert (indexed.state / NEW).exists()
    indexed.whole()
    indexed.run("index", "--rebuild")
    indexed.whole()
    assert not (indexed.state / NEW).exists()


def test_an_open_guard_goes_on_with_the_rebuilt_index(indexed: Desk) -> None:
    with CodeGuard.open(settings=indexed.settings(), create=False) as reader:
        assert len(reader.query("add two numbers").ranking) == 2
        (indexed.corpus / "theirs" / "new.py").write_text("def twice(a):\n    return 2 * a\n")
        indexed.run("index", "--rebuild")
        assert len(reader.query("add two numbers").ranking) == 3


def test_an_open_guard_says_that_its_index_is_gone_and_goes_on_when_it_is_back(indexed: Desk) -> None:
    elsewhere = indexed.base / "elsewhere"
    with CodeGuard.open(settings=indexed.settings(), create=False) as reader:
        assert len(reader.query("add two numbers").ranking) == 2
        indexed.state.rename(elsewhere)
        with pytest.raises(NoIndexError, match="codeguard index PATH"):
            reader.query("add two numbers")
        assert not indexed.state.exists()
        elsewhere.rename(indexed.state)
        assert len(reader.query("add two numbers").ranking) == 2
