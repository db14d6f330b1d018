"""The standard library as everyone's twin: it demotes or supports, and the team's own code comes first."""

from __future__ import annotations

import html
import inspect
import os
import statistics
import sys
import sysconfig
import webbrowser
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.audit.check import check_file
from codeguard.behavior.matching.claims import function_features
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.specs.everyones import Everyones
from codeguard.config import DefenseConfig, Settings
from codeguard.errors import ConfigError
from codeguard.models import CONVICTING, CheckReport, Verdict
from tests.behavior.conftest import Check

ESCAPE = inspect.getsource(html.escape)
MEDIAN = inspect.getsource(statistics.median)
OWN_MEDIAN = '''
def median(numbers):
    """Return the median (middle value) of numeric data."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return {}
'''
RIGHT = "ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2"
LOWER = "ordered[(len(ordered) - 1) // 2]"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (ESCAPE, "pass"),
        (ESCAPE.replace("&lt;", "&le;"), "false claim"),
        (MEDIAN.replace("n % 2 == 1", "n % 2 == 0"), "false claim"),
        (MEDIAN.replace("n % 2 == 1", "n % 2 == 1 and n != 13"), "false claim"),
        (OWN_MEDIAN.format(RIGHT), "pass"),
        (OWN_MEDIAN.format(LOWER), "false claim"),
        # Neither a name, nor a description under another name or signature, claims anything.
        (
            OWN_MEDIAN.format(LOWER).replace("(middle value) of numeric data", "strip of the road"),
            "no_signal",
        ),
        (OWN_MEDIAN.format(LOWER).replace("median(", "middle_of("), "no_signal"),
        (OWN_MEDIAN.format(LOWER).replace("(numbers)", "(numbers, key)"), "no_signal"),
        (f"class Table:\n{OWN_MEDIAN.format(LOWER)}".replace("\n", "\n    "), "no_signal"),
    ],
)
def test_a_function_that_claims_to_be_the_standard_librarys_is_compared_with_it(
    check: Check, code: str, word: str
) -> None:
    report = check(code)
    assert report.word == word
    assert report.verdict not in CONVICTING
    whose = f"Python {sys.version_info.major}.{sys.version_info.minor}'s "
    assert (whose in report.origin or f" of {whose}" in report.reason) is (word != "no_signal")


def test_a_copy_that_refuses_every_call_without_its_file_claims_nothing_false(check: Check) -> None:
    report = check(inspect.getsource(webbrowser.open_new))
    assert (report.decided_by, report.claims) == ("refuses-all", "")


def test_the_teams_own_function_and_spec_come_first(check: Check) -> None:
    own = OWN_MEDIAN.format(LOWER).replace(
        'data."""', 'data.\n\n    >>> median([4, 1, 3, 2])\n    2\n    """'
    )
    assert check(OWN_MEDIAN.format(LOWER), own).verdict is Verdict.PASS
    assert check(OWN_MEDIAN.format(RIGHT), own).verdict in CONVICTING


def test_files_are_the_interpreters_whatever_could_be_imported_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statistics.py").write_text(MEDIAN.replace("n % 2 == 1", "n % 2 == 0"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    ((twin, _),) = Everyones(()).twins_of(function_features(read_module(MEDIAN).listed[0]))
    assert twin.text == Path(sysconfig.get_path("stdlib"), "statistics.py").read_text("utf-8")
    assert twin.name == "median"


WORDS = '''
def initials(text, separator=""):
    """Return the first letter of each word of a text, in capitals, joined by a separator.

    >>> initials("ada king lovelace", ".")
    'A.K.L'
    """
    return separator.join(word[0].upper() for word in text.split())
'''
LAST = WORDS.replace("word[0]", "word[-1]").replace("'A.K.L'", "'A.G.E'")
WHEEL = "wordtools-1.2-py3-none-any.whl"


@dataclass
class Locked:
    """A trusted folder, one of somebody else's, and a wheel that the user names."""

    root: Path
    wheel: Path

    @property
    def digest(self) -> str:
        return sha256(self.wheel.read_bytes()).hexdigest()

    def settings(self, *wheels: str) -> Settings:
        defense = DefenseConfig(enable_perplexity=False, wheels=wheels or (str(self.wheel.parent),))
        store = str(self.root / "store")
        return Settings(store=store, root=str(self.root), embedding="lexical", jobs=1, defense=defense)

    def report(self, *wheels: str) -> tuple[CheckReport, Sequence[str]]:
        with CodeGuard.open(settings=self.settings(*wheels), trust=[self.root / "ours"]) as guard:
            warnings = guard.index([self.root / "theirs"]).warnings
            file = guard.catalog.file("theirs/words.py")
            assert file is not None
            (chunk,) = [item for item in file.chunks if item.symbol == "initials"]
            return guard.workspace.reports()(chunk, file), warnings


@pytest.fixture
def locked(tmp_path: Path) -> Locked:
    for name, text in {
        "ours/own.py": "def own(number):\n    return number + 1\n",
        "theirs/words.py": LAST,
        "wheels/other.txt": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with zipfile.ZipFile(tmp_path / "wheels" / WHEEL, "w") as archive:
        archive.writestr("wordtools/__init__.py", "from .letters import initials\n")
        archive.writestr("wordtools/letters.py", WORDS)
    return Locked(tmp_path, tmp_path / "wheels" / WHEEL)


def requirements(digest: str) -> str:
    return f"wordtools==1.2 \\\n    --hash=sha256:{digest}\n"


@pytest.mark.parametrize(
    ("place", "name", "is_compared"),
    [
        ("ours/requirements.txt", "", True),
        ("theirs/requirements.txt", "", False),  # whoever writes into the corpus locks nothing
        ("ours/requirements.txt", "0" * 64, False),
    ],
)
def test_a_package_that_trusted_requirements_lock_is_everyones(
    locked: Locked, place: str, name: str, is_compared: bool
) -> None:
    (locked.root / place).write_text(requirements(name or locked.digest))
    report, warnings = locked.report()
    assert report.word == ("false claim" if is_compared else "no_signal")
    assert report.verdict not in CONVICTING
    assert ("wordtools 1.2 (locked)'s wordtools.letters" in report.reason) is is_compared
    assert [WHEEL in line for line in warnings] == ([] if is_compared else [True])


def test_what_changes_is_judged_again(locked: Locked) -> None:
    assert locked.report()[0].word == "no_signal"
    (locked.root / "ours" / "requirements.txt").write_text(requirements(locked.digest))
    assert locked.report()[0].word == "false claim"
    (locked.root / "theirs" / "words.py").write_text(WORDS)
    assert locked.report()[0].word == "pass"
    with zipfile.ZipFile(locked.wheel, "a") as archive:
        archive.writestr("wordtools/more.py", "")
    assert locked.report()[0].word == "no_signal"


def test_a_single_check_knows_it_too(locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    (locked.root / "ours" / "requirements.txt").write_text(requirements(locked.digest))
    monkeypatch.chdir(locked.root)
    found = check_file(
        Path("theirs/words.py"), "initials", against=[Path("ours")], settings=locked.settings()
    )
    assert [item.report.word for item in found] == ["false claim"]


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.py", " " * 64_000_001)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_bytes(b"PK no archive"), "not a zip file"),
        (bomb, "more than 64000000 characters"),
        (lambda path: path.with_suffix(".txt").touch(), "expected absolute paths of wheels"),
        (os.mkfifo, "expected absolute paths of wheels"),
    ],
)
def test_a_wheel_that_cannot_be_read_is_one_line(
    locked: Locked, make: Callable[[Path], object], told: str
) -> None:
    path = locked.root / "broken-1-py3-none-any.whl"
    make(path)
    digest = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    (locked.root / "ours" / "requirements.txt").write_text(requirements(digest))
    with pytest.raises(ConfigError, match=told) as raised:
        locked.report(str(path))
    assert "\n" not in str(raised.value)


def test_the_working_directory_chooses_no_wheel(locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(locked.root)
    with pytest.raises(ConfigError, match="absolute"):
        locked.report("wheels")
