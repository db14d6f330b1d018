"""A detector that a file can make hang, swell or die: everybody finishes, names it and goes on."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from lexical_settings import lexical_settings

from codeguard import analysis
from codeguard.analysis import Reading, rules
from codeguard.analysis.engine import engine_version
from codeguard.analysis.rules import DetectorContext, FileSignal, Match, Rule
from codeguard.api import CodeGuard
from codeguard.audit.findings import AuditReport
from codeguard.audit.run import AuditOptions, audit
from codeguard.config import CATALOG, Settings
from codeguard.index.file_tasks import chunked
from codeguard.index.report import IndexReport
from codeguard.models import Confidence, Severity
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import ItemBounds

pytestmark = pytest.mark.slow  # seconds of the processor until bounds are met

TESTS = Path(__file__).parent
HOSTILE = ("LOOP", "DEAF", "SWALLOW", "ALLOCATE", "LEAVE", "RAISE")
BOUND = {
    "LOOP": "0.4 s of the processor", "DEAF": "0.4 s of the processor", "SWALLOW": "0.4 s of the processor",
    "ALLOCATE": "memory", "LEAVE": "died", "RAISE": "ValueError: no",
}  # fmt: skip


def inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    """See the word MARK; do what a text says."""
    text = reading.text
    while "'LOOP" in text:
        pass
    while "'DEAF" in text:
        ctypes.CDLL(None).qsort((ctypes.c_char * 8)(), 1 << 40, 0, ctypes.CDLL(None).memcmp)
    while "'SWALLOW" in text:
        with contextlib.suppress(BaseException):
            while True:
                pass
    if "'ALLOCATE" in text:
        bytearray(4 << 30)
    if "'LEAVE" in text:
        os._exit(0)
    if "'RAISE" in text:
        raise ValueError("no")
    if "'MARK" in text:
        yield Match("mark", text.index("MARK"), text.index("MARK") + 4, "seen")


SIGNAL = FileSignal("hostile", "sees MARK", (Rule("mark", "MARK", Severity.MEDIUM, Confidence.LOW),), inspect)


@dataclass(frozen=True)
class Ran:
    """What three pipelines said of the same files, and how often they looked."""

    index: IndexReport
    query: Ranking
    again: Ranking
    drop: Ranking
    audit: AuditReport
    kept: int


def install(site: Path) -> Path:
    """Return a folder with the detector; worker processes find it in a copy of the package."""
    own = Path(rules.__path__[0]).parent
    copy = site / "codeguard"
    shutil.copytree(own, copy / "analysis", ignore=shutil.ignore_patterns("__pycache__"))
    for item in own.parent.iterdir():
        if item.name not in ("analysis", "__pycache__"):
            (copy / item.name).symlink_to(item)
    (copy / "analysis" / "rules" / "hostile.py").write_text("from test_hostile_files import SIGNAL\n")
    return copy / "analysis" / "rules"


def settings_of(root: Path) -> Settings:
    return lexical_settings(root, root / "store")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = tmp_path_factory.mktemp("corpus")
    list(chunked(default_workers(), [("before.py", b"x = 1\n")]))  # a worker that began without the detector
    found_in = install(root / "site")
    (root / "files").mkdir()
    for number, word in enumerate((*HOSTILE, "MARK", "PLAIN")):
        text = f"import json\n\n\ndef load_{number}(path):\n    return json.load(path), '{word}'\n"
        (root / "files" / f"{word.lower()}.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        patch.setattr(sys, "path", [str(root / "site"), str(TESTS), *sys.path])
        patch.setattr(rules, "__path__", [str(found_in)])
        patch.setattr(
            analysis, "__path__", [str(found_in.parent)]
        )  # what workers are asked for is of one version
        engine_version.cache_clear()
        patch.setattr("codeguard.index.file_tasks.OBSERVING", ItemBounds(0.4))
        with CodeGuard.open(settings=settings_of(root)) as guard:
            report = guard.index([root / "files"])
        with sqlite3.connect(root / "store" / CATALOG) as db:
            db.execute("DELETE FROM analyses")
        with CodeGuard.open(settings=settings_of(root)) as guard:
            query = guard.query("load json from a path", k=20)
            kept = len(guard.catalog.analysis_keys("static:"))
        patch.setattr(
            "codeguard.index.file_tasks.OBSERVING", ItemBounds(30.0)
        )  # what is not kept would now take long
        with CodeGuard.open(settings=settings_of(root)) as guard:
            again = guard.query("load json from a path", k=20)
            drop = guard.query("load json from a path", k=20, mode="drop")
        patch.setattr("codeguard.index.file_tasks.OBSERVING", ItemBounds(0.4))
        found = audit([root / "files"], AuditOptions(behavior=False), settings_of(root / "none"))
    engine_version.cache_clear()
    return Ran(report, query, again, drop, found, kept)


def of_file(ranking: Ranking, word: str) -> list[Ranked]:
    return [item for item in ranking.ranking if item.chunk.path == f"files/{word.lower()}.py"]


@pytest.mark.parametrize("word", HOSTILE)
def test_index_names_the_file_and_what_ended_it(ran: Ran, word: str) -> None:
    (note,) = [note for note in ran.index.notes if note.startswith(f"files/{word.lower()}.py: ")]
    assert BOUND[word] in note


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("which", ["query", "again"])
def test_it_weighs_in_the_ranking_for_every_chunk(ran: Ran, word: str, which: str) -> None:
    ranking: Ranking = getattr(ran, which)
    found = of_file(ranking, word)
    assert len(found) == len(of_file(ranking, "PLAIN")) == 2
    for chunk in found:
        (told,) = [item for item in chunk.evidence if item.id in ("not-fully-read", "detector_error")]
        assert BOUND[word] in told.reason
        assert (told.penalty, told.convicts) == (0.5, False)


def test_the_rest_is_looked_at_as_ever(ran: Ran) -> None:
    assert ran.index.files == len(HOSTILE) + 2
    for word in ("MARK", "PLAIN"):
        ids = {item.id for chunk in of_file(ran.query, word) for item in chunk.evidence}
        assert not ids & {"not-fully-read", "detector_error"}
        assert ("mark" in ids) is (word == "MARK")
    assert {note.partition(":")[0] for note in ran.index.notes} == {
        f"files/{word.lower()}.py" for word in HOSTILE
    }


def test_what_ran_into_a_bound_is_kept_and_not_tried_again(ran: Ran) -> None:
    assert ran.kept == len(HOSTILE) + 2


@pytest.mark.parametrize("word", HOSTILE)
def test_nothing_unknown_passes_for_clean_in_mode_drop(ran: Ran, word: str) -> None:
    assert not of_file(ran.drop, word)
    assert of_file(ran.drop, "PLAIN")


@pytest.mark.parametrize("word", HOSTILE)
def test_audit_names_the_file_and_fails(ran: Ran, word: str) -> None:
    found = [item for item in ran.audit.findings if item.path.endswith(f"/{word.lower()}.py")]
    (told,) = [item for item in found if item.rule.startswith("audit.")]
    assert told.rule == ("audit.detector-error" if word == "RAISE" else "audit.not-fully-read")
    assert told.severity is Severity.HIGH
    assert BOUND[word] in told.reason


def test_audit_looks_at_the_rest_as_ever(ran: Ran) -> None:
    assert ran.audit.files == len(HOSTILE) + 2
    found = [item for item in ran.audit.findings if item.path.endswith(("/mark.py", "/plain.py"))]
    assert [item.rule for item in found if item.rule.startswith(("audit.", "hostile."))] == ["hostile.mark"]
