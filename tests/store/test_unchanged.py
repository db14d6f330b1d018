"""Nothing to do is told from stats alone, and whatever may matter makes the whole run."""

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
from codeguard.index.report import IndexReport
from codeguard.index.unchanged import SIGNED_NAME, STATE_FILES, unchanged_report
from codeguard.index.workspace import PERPLEXITY, SEED
from codeguard.trust import MANIFEST_NAME

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
        self.paths, self.trust, self.quarantine = [self.corpus], [self.corpus / "ours"], False

    def index(self) -> IndexReport:
        with CodeGuard.open(settings=self.settings, trust=self.trust) as guard:
            return guard.index(self.paths, quarantine=self.quarantine)

    def unchanged(self) -> IndexReport | None:
        return unchanged_report(self.settings, self.paths, self.trust, self.quarantine)


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


def touched(desk: Desk) -> None:
    os.utime(desk.corpus / "theirs" / "wrong.py", (1, 1))


def vanished(desk: Desk) -> None:
    (desk.corpus / "theirs" / "wrong.py").unlink()


def newly_skipped(desk: Desk) -> None:
    (desk.corpus / "theirs" / "binary.py").write_bytes(b"\0\1\2")


def other_paths(desk: Desk) -> None:
    desk.paths = [desk.corpus / "theirs"]


def other_trust(desk: Desk) -> None:
    desk.trust = []


def other_mode(desk: Desk) -> None:
    desk.quarantine = True


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
        new_file, edited, touched, vanished, newly_skipped, other_paths, other_trust, other_mode, other_settings,
        no_manifest, signed, other_key, no_key, unfinished, index_of_others_meanwhile, garbage, another_accepted,
    ],
)  # fmt: skip
def test_whatever_may_matter_makes_the_whole_run(desk: Desk, change: Callable[[Desk], None]) -> None:
    assert desk.unchanged() is not None
    change(desk)
    assert desk.unchanged() is None


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
