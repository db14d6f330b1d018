"""A signal that is handed in and that a text can make loop or fail: the query goes on and says so."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import ClassVar

import pytest

from codeguard.analysis.rules import Rule
from codeguard.config import DefenseConfig
from codeguard.models import Chunk, ChunkKind, Evidence, SourceFile, Span, text_digest
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.ranking.signals.base import Moment, SignalContext, Subject


class HostileSignal:
    """Does what a chunk's text says."""

    name: ClassVar[str] = "own"
    summary: ClassVar[str] = "sees nothing"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = ()

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        while "'LOOP" in subject.chunk.text:
            pass
        if "'RAISE" in subject.chunk.text:
            raise ValueError("no")
        return ()


def evidence_of(word: str, mode: str = "rerank") -> dict[str, Evidence]:
    text = f"def f(): return '{word}'\n"
    chunk = Chunk(
        f"{word}.py", "f", ChunkKind.FUNCTION, Span(1, 1, 0, len(text)), text, text_digest(text), "python"
    )
    file = SourceFile(chunk.path, text, text_digest(text), "python", (chunk,))
    outcome = DefenseManager(DefenseConfig(mode=mode), signals=[HostileSignal()]).apply(
        [Candidate(word, chunk, file, 0.1)]
    )
    (item,) = outcome.dropped if mode == "drop" else outcome.retained
    return {f"{part.signal}.{part.id}": part for part in item.evidence}


def test_what_computes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.ranking.defense.LOOKING_S", 0.3)
    before = time.process_time()
    found = evidence_of("LOOP")["audit.not-fully-read"]
    assert "own did not finish" in found.reason
    assert (found.penalty, found.demotes) == (0.5, True)
    assert time.process_time() - before < 60  # it ends at all


@pytest.mark.parametrize("mode", ["rerank", "drop"])
def test_a_failure_is_evidence_and_lets_nothing_through(mode: str) -> None:
    found = evidence_of("RAISE", mode)["own.detector_error"]
    assert "ValueError: no" in found.reason
    assert found.demotes
