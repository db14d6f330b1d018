"""A signal that is handed in and that a text can make fail: the query goes on and says so."""

from __future__ import annotations

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


@pytest.mark.parametrize("mode", ["rerank", "drop"])
def test_a_failure_is_evidence_and_lets_nothing_through(mode: str) -> None:
    found = evidence_of("RAISE", mode)["own.detector_error"]
    assert "ValueError: no" in found.reason
    assert found.demotes
