"""A third party's signal about chunks that a text can make hang, swell or die: the query goes on and says so."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from codeguard.analysis.rules import Rule
from codeguard.config import DefenseConfig
from codeguard.models import CheckReport, Chunk, ChunkKind, Evidence, SourceFile, Span, Verdict, text_digest
from codeguard.ranking.defense import Candidate, DefenseManager, DefenseOutcome
from codeguard.ranking.signals.base import Moment, SignalContext, SignalServices, Subject
from codeguard.workers.tasks import ItemBounds

pytestmark = pytest.mark.slow  # seconds of the processor until bounds are met

BOUNDED = {
    "LOOP": "0.7 s of the processor",
    "DEAF": "0.7 s of the processor",
    "ALLOCATE": "memory",
    "LEAVE": "died",
}


class HostileSignal:
    """Does what a chunk's text says, and tells of what it was given."""

    name: ClassVar[str] = "hostile_chunks"
    summary: ClassVar[str] = "sees MARK"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset({"behavior"})
    rules: ClassVar[tuple[Rule, ...]] = ()

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        text = subject.chunk.text
        while "'LOOP" in text:
            pass
        while "'DEAF" in text:
            ctypes.CDLL(None).qsort((ctypes.c_char * 8)(), 1 << 40, 0, ctypes.CDLL(None).memcmp)
        if "'ALLOCATE" in text:
            bytearray(4 << 30)
        if "'LEAVE" in text:
            os._exit(0)
        if "'RAISE" in text:
            raise ValueError("no")
        if "'MARK" in text:
            assert context.services.behavior is not None
            report = context.services.behavior(subject.chunk, subject.file)
            reason = (
                f"{report.verdict} {subject.trust} {subject.distance} {context.weights['perplexity.outlier']}"
            )
            yield Evidence(self.name, "mark", 0.25, reason, span=subject.chunk.span)


SIGNAL = HostileSignal()


def candidate(word: str, distance: float) -> Candidate:
    text = f"def f(): return '{word}'\n"
    chunk = Chunk(
        f"{word}.py", "f", ChunkKind.FUNCTION, Span(1, 1, 0, len(text)), text, text_digest(text), "python"
    )
    file = SourceFile(chunk.path, text, text_digest(text), "python", (chunk,))
    return Candidate(word, chunk, file, distance)


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    site = tmp_path_factory.mktemp("site")
    info = site / "third_party-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[codeguard.signals]\nhostile_chunks = test_hostile_signals:SIGNAL\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(site), str(Path(__file__).parent), *sys.path])
        patch.setattr("codeguard.ranking.signal_tasks.BOUNDS", ItemBounds(0.7))
        yield


@pytest.fixture(scope="module")
def outcome() -> DefenseOutcome:
    words = [*BOUNDED, "RAISE", "MARK", "PLAIN"]

    def behavior(chunk: Chunk, file: SourceFile) -> CheckReport:
        return CheckReport(Verdict.NO_SIGNAL, "", level="")

    manager = DefenseManager(DefenseConfig(), services=SignalServices(behavior=behavior))
    return manager.apply(candidate(word, 0.1 * place) for place, word in enumerate(words))


def evidence_of(outcome: DefenseOutcome, word: str) -> dict[str, Evidence]:
    (item,) = [item for item in outcome.retained if item.chunk.path == f"{word}.py"]
    return {f"{part.signal}.{part.id}": part for part in item.evidence}


@pytest.mark.parametrize("word", BOUNDED)
def test_what_met_a_bound_is_told_and_weighs(outcome: DefenseOutcome, word: str) -> None:
    told = evidence_of(outcome, word)["audit.not-fully-read"]
    assert BOUNDED[word] in told.reason
    assert "hostile_chunks" in told.reason
    assert told.penalty == 0.5


def test_a_failure_is_told(outcome: DefenseOutcome) -> None:
    assert "ValueError: no" in evidence_of(outcome, "RAISE")["hostile_chunks.detector_error"].reason


def test_it_is_given_chunk_services_and_weights(outcome: DefenseOutcome) -> None:
    told = evidence_of(outcome, "MARK")["hostile_chunks.mark"]
    assert (told.reason, told.penalty) == ("no_signal unlisted 0.5 0.5", 0.25)
    assert told.span is not None
    assert not any(name.startswith(("hostile", "audit")) for name in evidence_of(outcome, "PLAIN"))


def test_mode_drop_lets_nothing_through_that_was_not_looked_at() -> None:
    config = DefenseConfig(mode="drop")
    outcome = DefenseManager(config).apply([candidate("LEAVE", 0.1), candidate("PLAIN", 0.2)])
    assert [item.chunk.path for item in outcome.retained] == ["PLAIN.py"]


def test_a_signal_that_is_handed_in_and_computes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.ranking.defense.LOOKING_S", 0.3)
    before = time.process_time()
    signals = [type("Own", (HostileSignal,), {"name": "own"})()]
    outcome = DefenseManager(DefenseConfig(), signals=signals).apply([candidate("LOOP", 0.1)])
    assert "own did not finish" in evidence_of(outcome, "LOOP")["audit.not-fully-read"].reason
    assert time.process_time() - before < 60  # it ends at all
