"""Nothing to do is told from stats alone, and whatever may matter makes the whole run."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from lexical_settings import lexical_settings

from codeguard.analysis import engine
from codeguard.api import CodeGuard
from codeguard.behavior import version
from codeguard.config import DefenseConfig
from codeguard.corpus.discovery import FoundFile
from codeguard.corpus.stamps import UNSETTLED
from codeguard.index.catalog import FileState
from codeguard.index.contents import Changes, changes
from codeguard.index.on_disk import is_indexed
from codeguard.index.report import IndexReport
from codeguard.index.unchanged import SIGNED_NAME, STATE_FILES, unchanged_report
from codeguard.index.workspace import PERPLEXITY, SEED
from codeguard.trust.tree import MANIFEST_NAME

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'


class Desk:
    """A corpus with an index, and what a command line would say."""

    def __init__(self, base: Path) -> None:
        self.corpus, self.state = base / "corpus", base / "state"
        for name, text in {"ours/m.py": OURS, "theirs/wrong.py": WRONG}.items():
            (self.corpus / name).parent.mkdir(parents=True, exist_ok=True)
            (self.corpus / name).write_text(text)
        self.settings = lexical_settings(self.corpus, self.state)
        self.paths, self.trust = [self.corpus], [self.corpus / "ours"]

    def index(self) -> IndexReport:
        with CodeGuard.open(settings=self.settings, trust=self.trust) as guard:
            return guard.index(self.paths)

    def unchanged(self) -> IndexReport | None:
        return unchanged_report(self.settings, self.paths, self.trust)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.index()
    return made


def test_the_report_is_that_of_a_whole_run(desk: Desk) -> None:
    short, whole = desk.unchanged(), desk.index()
    assert short is not None
    assert replace(short, seconds=0.0) == replace(whole, seconds=0.0)
    assert short.convicted


def new_file(desk: Desk) -> None:
    (desk.corpus / "theirs" / "new.py").write_text("x = 1\n")


def edited(desk: Desk) -> None:
    (desk.corpus / "theirs" / "wrong.py").write_text(WRONG + "\n")


def edited_behind_the_clock(desk: Desk, name: str, old: str, new: str) -> None:
    """Replace some text by as much other text, and set the time of the content back."""
    path = desk.corpus / name
    before = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def same_size_and_time(desk: Desk) -> None:
    edited_behind_the_clock(desk, "theirs/wrong.py", "a - b", "a * b")


def trusted_with_the_same_size_and_time(desk: Desk) -> None:
    edited_behind_the_clock(desk, "ours/m.py", "return a + b", "return b + a")


def vanished(desk: Desk) -> None:
    (desk.corpus / "theirs" / "wrong.py").unlink()


def newly_skipped(desk: Desk) -> None:
    (desk.corpus / "theirs" / "binary.py").write_bytes(b"\0\1\2")


def other_paths(desk: Desk) -> None:
    desk.paths = [desk.corpus / "theirs"]


def other_trust(desk: Desk) -> None:
    desk.trust = []


def other_settings(desk: Desk) -> None:
    desk.settings = replace(desk.settings, defense=DefenseConfig(enable_behavior=False))


def no_manifest(desk: Desk) -> None:
    (desk.state / "manifest.unsigned.json").unlink()


def signed(desk: Desk) -> None:
    (desk.corpus / MANIFEST_NAME).write_text("{}")
    os.utime(desk.corpus / MANIFEST_NAME, (1, 1))


def other_key(desk: Desk) -> None:
    (Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "evidence.key").write_bytes(b"z" * 32)


def no_key(desk: Desk) -> None:
    (Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "evidence.key").unlink()


def unfinished(desk: Desk) -> None:
    with CodeGuard.open(settings=desk.settings) as guard, guard.catalog.transaction():
        guard.catalog.intend_writes(sorted(guard.catalog.ids())[:1])


def index_of_others_meanwhile(desk: Desk) -> None:
    other = Desk(desk.corpus.parent / "other")
    with CodeGuard.open(settings=desk.settings) as guard:
        guard.index([other.corpus])


def garbage(desk: Desk) -> None:
    (desk.state / "catalog.sqlite3").write_bytes(b"garbage")


def another_accepted(desk: Desk) -> None:
    (desk.state / "accepted.jsonl").write_text("")


@pytest.mark.parametrize(
    "change",
    [
        new_file, edited, same_size_and_time, trusted_with_the_same_size_and_time, vanished, newly_skipped,
        other_paths, other_trust, other_settings, no_manifest, signed, other_key, no_key, unfinished,
        index_of_others_meanwhile, garbage, another_accepted,
    ],
)  # fmt: skip
def test_whatever_may_matter_makes_the_whole_run(desk: Desk, change: Callable[[Desk], None]) -> None:
    assert desk.unchanged() is not None
    change(desk)
    assert desk.unchanged() is None


@pytest.mark.parametrize(
    ("change", "name"),
    [(same_size_and_time, "theirs/wrong.py"), (trusted_with_the_same_size_and_time, "ours/m.py")],
)
def test_an_edit_of_equal_size_and_time_is_seen(
    desk: Desk, change: Callable[[Desk], None], name: str
) -> None:
    change(desk)
    with CodeGuard.open(settings=desk.settings, create=False) as guard:
        assert changes(guard.workspace) == Changes(changed=(name,))
        guard.index(desk.paths)
        assert changes(guard.workspace) == Changes()
        file = guard.catalog.file(name)
        assert file is not None
        assert file.text == (desk.corpus / name).read_text()


@pytest.mark.parametrize(
    ("content", "stamp", "trusted", "same"),
    [
        (b"x = 1\n", "1", False, True),
        (b"x = 1\n", "2", False, True),
        (b"x = 2\n", "2", False, False),
        (b"x = 2\n", "1", False, True),  # a stamp that stands for the content spares reading it
        (b"x = 2\n", "1", True, False),
        (b"x = 2\n", UNSETTLED, False, False),  # in the racy window
        (b"x = 1\n", UNSETTLED, True, True),
        (b"x = 11\n", "2", False, False),
    ],
)
def test_one_rule_says_whether_a_file_is_as_indexed(
    tmp_path: Path, content: bytes, stamp: str, trusted: bool, same: bool
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(content)
    state = FileState(6, stamp and "1", hashlib.sha256(b"x = 1\n").hexdigest())
    assert is_indexed(FoundFile(path, "a.py", len(content), stamp), state, trusted=trusted) is same


def test_a_touched_file_is_the_same(desk: Desk) -> None:
    os.utime(desk.corpus / "theirs" / "wrong.py", (1, 1))
    assert desk.unchanged() is not None


def test_a_run_that_is_cut_off_leaves_no_report(desk: Desk) -> None:
    new_file(desk)
    with pytest.raises(KeyboardInterrupt), CodeGuard.open(settings=desk.settings, trust=desk.trust) as guard:

        def stop(stage: str, done: int, total: int) -> None:
            if stage == "files" and done == total:
                raise KeyboardInterrupt

        guard.index(desk.paths, progress=stop)
    (desk.corpus / "theirs" / "new.py").unlink()
    assert desk.unchanged() is None


def test_the_names_are_those_of_the_state_directory() -> None:
    assert SIGNED_NAME == MANIFEST_NAME
    assert {PERPLEXITY, SEED} <= set(STATE_FILES)


@pytest.mark.slow
def test_the_command_loads_nothing_for_it(desk: Desk) -> None:
    code = (
        "import sys; from codeguard.cli import main\n"
        "try: main(['index', 'theirs', '--embedding', 'lexical'])\nexcept SystemExit: pass\n"
        "print(sorted(set(sys.modules) & {'chromadb', 'numpy', 'tree_sitter', 'codeguard.behavior'}), file=sys.stderr)"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=desk.corpus, capture_output=True, text=True, check=False
        )
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
    assert "this run: 1 file unchanged" in done.stdout


@pytest.mark.parametrize("module", [engine, version])
def test_another_version_of_codeguard_makes_the_whole_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    changed, made = Path(str(module.__file__)), Path.stat

    def stat(path: Path, **given: bool) -> os.stat_result:
        found = made(path, **given)
        return os.stat_result((*found[:6], found.st_size + 1, *found[7:])) if path == changed else found

    monkeypatch.setattr(Path, "stat", stat)
    assert desk.unchanged() is None
