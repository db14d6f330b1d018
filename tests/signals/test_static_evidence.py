"""Static signals in the ranking: mapped to chunks, weighed, kept, and silent about trusted text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest
from marker import Marker

from codeguard.analysis import Reading
from codeguard.analysis.rules import DetectorContext, Match, Rule
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.index.catalog import Catalog
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import Confidence, Evidence, Severity, SourceFile, Trust
from codeguard.ranking.defense import DefenseManager
from codeguard.ranking.signals.base import Moment, SignalServices, Subject
from codeguard.ranking.signals.base import SignalContext as RankingContext
from codeguard.trust.acceptances import Acceptance, Acceptances
from codeguard.weights import Weights

KEY = b"k" * 32
TEXT = b"import os\n\n\ndef one():\n    return 'MARK MARK'\n\n\ndef two():\n    return 2\n"


class CountingMarker(Marker):
    """Counts how often it is asked."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("mark", "MARK", Severity.HIGH, Confidence.LOW),
        Rule("free", "costs nothing", Severity.LOW, Confidence.LOW),
    )

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.asked = 0
        self.error = error

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return super().marks(reading, context)


class Needy(CountingMarker):
    """Compares with the trusted files."""

    NAME: ClassVar[str] = "needy"

    def __init__(self) -> None:
        super().__init__()
        self.compares = True

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        found = super().marks(reading, context)
        return found if context.trusted_functions is not None else ()


@pytest.fixture
def file() -> SourceFile:
    return chunk_file("m.py", TEXT)


def evidence_of(
    static: StaticEvidence, file: SourceFile, trust: Trust = Trust.UNLISTED
) -> dict[str, list[Evidence]]:
    return {
        chunk.symbol: list(static(chunk, file, trust)) for chunk in file.chunks if static(chunk, file, trust)
    }


@pytest.mark.parametrize(
    ("seen", "penalty"),
    [
        ([None], 2.0),
        ([Severity.CRITICAL], 2.0),
        ([Severity.MEDIUM], 1.0),
        ([Severity.LOW], 0.5),
        ([Severity.INFO], 0.0),
        ([Severity.INFO, Severity.MEDIUM], 1.0),
    ],
)
def test_a_milder_match_is_charged_less(
    file: SourceFile, seen: list[Severity | None], penalty: float
) -> None:
    class Graded(CountingMarker):
        def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
            start = reading.text.find("MARK")
            return [Match("mark", start, start + 4, "seen", severity) for severity in seen]

    static = StaticEvidence(Weights({"marker.mark": 2.0}), file_signals=[Graded()])
    ((_, (item,)),) = evidence_of(static, file).items()
    assert item.penalty == penalty


def test_a_rule_is_charged_once_a_chunk_by_its_weight(file: SourceFile) -> None:
    static = StaticEvidence(Weights({"marker.mark": 1.5}), file_signals=[CountingMarker()])
    ((symbol, (item,)),) = evidence_of(static, file).items()
    assert (symbol, item.signal, item.id, item.penalty, item.convicts) == (
        "one",
        "marker",
        "mark",
        1.5,
        False,
    )
    assert (item.severity, item.measurements) == (Severity.HIGH, {"line": 5, "count": 2})


@pytest.mark.parametrize("trust", list(Trust))
def test_trusted_text_is_left_alone(file: SourceFile, trust: Trust) -> None:
    static = StaticEvidence(Weights({"marker.mark": 1.5}), file_signals=[CountingMarker()])
    assert bool(evidence_of(static, file, trust)) is (trust is not Trust.TRUSTED)


def test_what_was_seen_is_kept_in_the_catalog_and_weighed_anew(file: SourceFile, tmp_path: Path) -> None:
    with Catalog(tmp_path / "c.sqlite3", KEY) as catalog:
        first = StaticEvidence(
            Weights({"marker.mark": 1.5}), catalog=catalog, file_signals=[CountingMarker()]
        )
        assert (first.prepare([file]), first.prepare([file])) == (1, 0)
        again = CountingMarker()
        static = StaticEvidence(Weights({"marker.mark": 0.5}), catalog=catalog, file_signals=[again])
        ((item,),) = evidence_of(static, file).values()
        assert (again.asked, item.penalty) == (0, 0.5)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ("nothing", (0, 0)),
        ("another file", (1, 1)),
        ("other trusted text", (0, 1)),  # only the detector that compares with it
    ],
)
def test_what_was_kept_is_asked_for_again_by_detector(
    file: SourceFile, tmp_path: Path, change: str, asked: tuple[int, int]
) -> None:
    weights = Weights({"marker.mark": 1.0, "needy.mark": 1.0})

    def made(catalog: Catalog, epoch: str) -> tuple[StaticEvidence, CountingMarker, CountingMarker]:
        signals = (CountingMarker(), Needy())
        static = StaticEvidence(
            weights, catalog=catalog, epoch=epoch, file_signals=signals, trusted=lambda: []
        )
        return static, *signals

    with Catalog(tmp_path / "c.sqlite3", KEY) as catalog:
        made(catalog, "1")[0].prepare([file])
    with Catalog(tmp_path / "c.sqlite3", KEY) as catalog:
        static, marker, needy = made(catalog, "2" if change == "other trusted text" else "1")
        other = chunk_file("m.py", TEXT + b"\n") if change == "another file" else file
        found = evidence_of(static, other)["one"]
        assert (marker.asked, needy.asked) == asked
        assert sorted(item.signal for item in found) == ["marker", "needy"]
        assert static.prepare([other]) == 0


def test_a_signal_that_fails_is_evidence_about_every_chunk_and_is_not_kept(
    file: SourceFile, tmp_path: Path
) -> None:
    with Catalog(tmp_path / "c.sqlite3", KEY) as catalog:
        weights = Weights({"marker.mark": 1.0})
        static = StaticEvidence(weights, catalog=catalog, file_signals=[CountingMarker(ValueError("no"))])
        found = [item for chunk in file.chunks for item in static(chunk, file, Trust.UNLISTED)]
        assert {(item.id, item.penalty) for item in found} == {("detector_error", 0.5)}
        assert len(found) == len(file.chunks)
        assert StaticEvidence(weights, catalog=catalog, file_signals=[CountingMarker()]).prepare([file]) == 1


_FLOW = (
    "import os\n\n\ndef run(request):\n    a = request.args['a']\n{padding}    os.system(request.args['c'])\n"
)
PADDED = {
    "steps of data flow": _FLOW.format(padding="".join(f"    b{n} = a\n" for n in range(3_000))),
    "names in a chain": "import os\na0 = os.system\n"
    + "".join(f"a{n} = a{n - 1}\n" for n in range(1, 60))
    + "\n\ndef run(c):\n    a59(c)\n",
    "the parser": _FLOW.format(padding="") + "/*\n" * 5_000,
}


@pytest.mark.parametrize("text", PADDED.values(), ids=PADDED)
def test_a_file_that_the_detectors_ran_out_on_is_not_taken_for_clean(text: str) -> None:
    padded, plain = chunk_file("m.py", text.encode()), chunk_file("n.py", b"def run(c):\n    return c\n")
    static = StaticEvidence(Weights())
    told = [evidence_of(static, file).get("run", []) for file in (padded, plain)]
    (item,) = [item for item in told[0] if item.id == "not-fully-read"]
    assert (item.signal, item.convicts, item.penalty) == ("audit", False, 0.5)
    assert item.reason.startswith("not all of the file was looked at: ")
    assert sum(item.penalty for item in told[0]) > sum(item.penalty for item in told[1])


def test_what_a_padded_file_costs_is_a_weight_and_trusted_text_costs_nothing() -> None:
    file = chunk_file("m.py", PADDED["names in a chain"].encode())
    for weights, penalty in ((Weights(), 0.5), (Weights({"audit.not-fully-read": 2.0}), 2.0)):
        static = StaticEvidence(weights)
        found = [item for chunk in file.chunks for item in static(chunk, file, Trust.UNLISTED)]
        costs = [item.penalty for item in found if item.id == "not-fully-read"]
        assert costs == [penalty] * len(file.chunks)
    assert not evidence_of(StaticEvidence(Weights()), file, Trust.TRUSTED)


def test_a_signal_gets_the_trusted_files_where_there_are_some(file: SourceFile) -> None:
    weights = Weights({"needy.mark": 1.0})
    assert not evidence_of(StaticEvidence(weights, file_signals=[Needy()]), file)
    assert evidence_of(StaticEvidence(weights, file_signals=[Needy()], trusted=lambda: [file]), file)


class Convicting:
    """Convicts whatever it is shown."""

    name: ClassVar[str] = "judge"
    summary: ClassVar[str] = "convicts"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = (Rule("guilty", "guilty", Severity.HIGH, Confidence.HIGH),)

    def examine(self, subject: Subject, context: RankingContext) -> Iterable[Evidence]:
        yield Evidence("judge", "guilty", 3.0, "guilty", convicts=True)
        yield Evidence("judge", "odd", 0.5, "odd")


def test_an_accepted_text_is_not_convicted_and_says_who_accepted_it(file: SourceFile) -> None:
    chunk = next(chunk for chunk in file.chunks if chunk.symbol == "one")
    entry = Acceptance(chunk.sha256, "why", "Ada", "2026-01-02T03:04:05+00:00")
    static = StaticEvidence(Weights({"marker.mark": 1.5}), file_signals=[CountingMarker()])
    services = SignalServices(static=static, acceptances=Acceptances({chunk.sha256: entry}))
    manager = DefenseManager(DefenseConfig(), services=services, signals=[Convicting()])
    by_symbol = {
        item.symbol: manager.evidence(Subject(item, file, Trust.UNLISTED))
        for item in file.chunks
        if item.symbol
    }
    assert any(item.convicts for item in by_symbol["two"])
    accepted = by_symbol["one"]
    assert not any(item.convicts for item in accepted)
    assert sum(item.penalty for item in accepted) == 0.5
    assert accepted[-1].reason == "accepted by Ada on 2026-01-02: why"


def test_what_was_not_parsed_is_named() -> None:
    crowded = chunk_file("crowded.py", b"a = 1; " * 60_000)
    static = StaticEvidence(Weights(), file_signals=[CountingMarker()])
    static.prepare([crowded, chunk_file("plain.py", b"a = 1\n")])
    ((path, why),) = static.unfinished
    assert path == "crowded.py"
    assert "bounds" in why or "words and signs" in why
