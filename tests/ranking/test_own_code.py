"""What own code among the candidates changes: look-alikes stand behind it, what nothing resembles loses little."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.models import (
    DETECTOR_ERROR,
    NOT_FULLY_READ,
    NOT_YET,
    Chunk,
    ChunkKind,
    Evidence,
    Span,
    Trust,
    Verdict,
    text_digest,
)
from codeguard.ranking.own_code import (
    LOOKALIKE,
    RELIEF,
    OwnCode,
    beside_own,
)
from codeguard.ranking.reranking import Ranked, rank

OWN = '''
def retry_delay(attempt, base=0.5, longest=30.0):
    """Return the seconds to wait before another attempt at a request: twice as long each time, up to a limit."""
    return min(longest, base * 2**attempt)
'''
LOOKALIKE_TEXT = '''
def retry_delay(attempt, base=0.5, longest=30.0):
    """Return the seconds to wait before another attempt at a request: twice as long each time, up to a limit."""
    connection = open_connection(base)
    return connection.delay(attempt, longest)
'''
OTHER = '''
def next_attempt_at(job, clock):
    """Schedule the moment of the following attempt of a failed job in the queue's table."""
    row = clock.table.lookup(job)
    return row.planned
'''


def chunk(name: str) -> Chunk:
    return Chunk(f"{name}.py", name, ChunkKind.FUNCTION, Span(3, 4, 0, 9), name, text_digest(name), "python")


def unit(*values: float) -> np.ndarray:
    row = np.asarray(values, dtype=np.float32)
    return row / np.linalg.norm(row)


ALIKE_OWN = OwnCode(0.9, True, "own", "own.py:3")
UNLIKE_OWN = OwnCode(0.2, False, "own", "own.py:3")


@pytest.mark.parametrize(
    ("trust", "own", "verdict", "expected"),
    [
        (Trust.UNLISTED, ALIKE_OWN, None, LOOKALIKE),
        (Trust.UNLISTED, ALIKE_OWN, Verdict.NO_SIGNAL, LOOKALIKE),
        (Trust.UNLISTED, ALIKE_OWN, Verdict.PASS, 0.0),
        (Trust.UNLISTED, ALIKE_OWN, Verdict.DIFFERS, 0.0),
        (Trust.UNLISTED, UNLIKE_OWN, None, -RELIEF),
        (Trust.UNLISTED, UNLIKE_OWN, Verdict.PASS, 0.0),
        (Trust.UNLISTED, None, None, 0.0),
        (Trust.TRUSTED, ALIKE_OWN, None, 0.0),
        (Trust.COPY, ALIKE_OWN, None, 0.0),
        (Trust.MODIFIED, UNLIKE_OWN, None, 0.0),
    ],
)
def test_what_is_added(trust: Trust, own: OwnCode | None, verdict: Verdict | None, expected: float) -> None:
    said = (
        ()
        if verdict is None
        else (Evidence("behavior", "x", 0.0, "", measurements={"verdict": verdict.value}),)
    )
    assert beside_own(chunk("any"), trust, own, said, 1.0) == expected
    assert beside_own(chunk("any"), trust, own, said, None) == 0.0


def test_what_is_convicted_or_demoted_stays_where_that_puts_it() -> None:
    for said in (Evidence("x", "y", 1.0, "", convicts=True), Evidence("x", "y", 1.0, "", demotes=True)):
        assert beside_own(chunk("any"), Trust.UNLISTED, ALIKE_OWN, (said,), 1.0) == 0.0
        assert beside_own(chunk("any"), Trust.UNLISTED, UNLIKE_OWN, (said,), 1.0) == 0.0


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        (ChunkKind.FUNCTION, Evidence("distance", "outlier", 0.3, ""), -RELIEF),
        (ChunkKind.CLASS, Evidence("provenance", "unlisted", 0.5, ""), -RELIEF),
        (ChunkKind.FUNCTION, Evidence("injection", "possible-instruction", 0.1, ""), 0.0),
        (ChunkKind.FUNCTION, Evidence("static", NOT_YET, 0.0, ""), 0.0),
        (ChunkKind.FUNCTION, Evidence("insecure", DETECTOR_ERROR, 0.0, ""), 0.0),
        (ChunkKind.FUNCTION, Evidence("audit", NOT_FULLY_READ, 0.0, ""), 0.0),
        (ChunkKind.LINES, Evidence("provenance", "unlisted", 0.5, ""), 0.0),
    ],
)
def test_only_code_that_nothing_speaks_against_pays_less(
    kind: ChunkKind, said: Evidence, expected: float
) -> None:
    candidate = replace(chunk("any"), kind=kind)
    assert beside_own(candidate, Trust.UNLISTED, UNLIKE_OWN, (said,), 1.0) == pytest.approx(expected)


def test_it_counts_in_the_score_alone() -> None:
    items = [
        Ranked("behind", chunk("behind"), Trust.UNLISTED, 0.1, -1.0, (), LOOKALIKE),
        Ranked("before", chunk("before"), Trust.UNLISTED, 0.2, 0.5, ()),
    ]
    assert [item.id for item in rank(items)[0]] == ["before", "behind"]
    assert [item.id for item in rank(items, order="penalty")[0]] == ["behind", "before"]
    retained, dropped, baseline = rank(items, mode="drop", drop_threshold=0.5)
    assert len(retained) == 2
    assert not dropped
    assert [item.id for item in baseline] == ["behind", "before"]


def test_a_look_alike_stands_behind_own_code_and_another_file_does_not(tmp_path: Path) -> None:
    for name, text in (("own/delays.py", OWN), ("found/a.py", LOOKALIKE_TEXT), ("found/b.py", OTHER)):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    settings = Settings(store=str(tmp_path / "store"), root=str(tmp_path))
    with CodeGuard.open(settings=settings, trust=[tmp_path / "own"]) as guard:
        guard.index([tmp_path])
        ranking = guard.query("seconds to wait before another attempt at a request", 3)
    places = {item.chunk.path: item for item in ranking.ranking}
    like, other = places["found/a.py"], places["found/b.py"]
    assert like.beside_own == LOOKALIKE
    assert other.beside_own == pytest.approx(-RELIEF)
    assert places["own/delays.py"].beside_own == 0.0
    (said,) = [item for item in like.evidence if item.id == "like-own"]
    assert said.penalty == 0.0
    assert "retry_delay (own/delays.py:2)" in said.reason
    assert ranking.results[0].chunk.path == "own/delays.py"
