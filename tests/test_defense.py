"""The defense manager: candidates in, retained and dropped out; names and failures change nothing they must not."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from codeguard.analysis.observations import AUDIT, ENGINE_RULES
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import ConfigError
from codeguard.models import (
    CheckReport,
    Chunk,
    ChunkKind,
    Coverage,
    Evidence,
    SourceFile,
    Span,
    Trust,
    Verdict,
    text_digest,
)
from codeguard.ranking.defense import Candidate, DefenseManager, settled
from codeguard.ranking.scoring import is_demoted
from codeguard.ranking.signals import load_all, load_signals
from codeguard.ranking.signals.base import Moment, Signal, SignalContext, SignalServices, Subject
from codeguard.trust.manifest import build_manifest
from codeguard.trust.verified import verify_unsigned
from codeguard.weights import DEFAULTS


def candidate(path: str, text: str, distance: float) -> Candidate:
    span = Span(1, text.count("\n"), 0, len(text))
    chunk = Chunk(path, text[4:7], ChunkKind.FUNCTION, span, text, text_digest(text), "python")
    return Candidate(path, chunk, SourceFile(path, text, text_digest(text), "python", (chunk,)), distance)


OURS = candidate("ours/m.py", "def add(a, b): return a + b\n", 0.2)
WRONG = candidate("theirs/x.py", "def add(a, b): return a - b\n", 0.1)
CLEAN = candidate("theirs/y.py", "def add(x, y): return y + x\n", 0.3)
COPY = candidate("theirs/z.py", OURS.chunk.text, 0.15)


def manifest(tmp_path):  # type: ignore[no-untyped-def]
    listed = [(OURS.chunk.path, OURS.chunk.text.encode(), [OURS.chunk.sha256])]
    return verify_unsigned(build_manifest(tmp_path, listed))


def reports(chunk: Chunk, file: SourceFile) -> CheckReport:
    if "a - b" in chunk.text:
        return CheckReport(Verdict.FAIL, "add(2, 3)", "L3", coverage=Coverage.FULL)
    return CheckReport(Verdict.PASS, "", "L3", coverage=Coverage.FULL)


def test_plain_candidates_are_judged_like_those_of_the_index() -> None:
    plain = [
        {
            "content": item.chunk.text,
            "metadata": {"path": item.chunk.path, "symbol": "add"},
            "distance": item.distance,
        }
        for item in (WRONG, CLEAN)
    ]
    manager = DefenseManager(DefenseConfig(enable_distance=False), services=SignalServices(behavior=reports))
    outcome = manager.apply(plain)
    assert [item.chunk.path for item in outcome.retained] == [CLEAN.chunk.path, WRONG.chunk.path]
    assert [item.verdict for item in outcome.retained] == ["pass", "fail"]
    assert [item.chunk.path for item in outcome.baseline] == [WRONG.chunk.path, CLEAN.chunk.path]


@pytest.mark.parametrize(
    "value",
    [{}, {"content": 3, "distance": 0.1}, {"content": "x", "distance": float("nan")}, {"content": "", "distance": 0},
     {"content": "x", "distance": 0.1, "metadata": [1]}],
)  # fmt: skip
def test_a_plain_candidate_that_is_none_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        DefenseManager(signals=()).apply([value])


def test_evidence_of_every_trust(tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = DefenseConfig(enable_distance=False)
    manager = DefenseManager(config, manifest=manifest(tmp_path), services=SignalServices(behavior=reports))
    outcome = manager.apply([WRONG, OURS, CLEAN, COPY])
    by_path = {item.chunk.path: item for item in outcome.retained}
    assert by_path["ours/m.py"].trust is Trust.TRUSTED
    assert by_path["theirs/z.py"].trust is Trust.COPY
    assert by_path["theirs/x.py"].trust is Trust.UNLISTED
    assert by_path["ours/m.py"].verdict == ""  # what others are checked against is not checked
    assert by_path["theirs/z.py"].verdict == "pass"
    assert by_path["theirs/z.py"].penalty == 0  # a copy that passes gains nothing
    assert by_path["theirs/y.py"].penalty == pytest.approx(
        DEFAULTS["provenance.unlisted"].value + DEFAULTS["behavior.pass"].value
    )
    assert outcome.retained[-1].chunk.path == "theirs/x.py"
    assert outcome.baseline[0].chunk.path == "theirs/x.py"


def test_drop_removes_the_convicted(tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = DefenseConfig(mode="drop")
    outcome = DefenseManager(
        config, manifest=manifest(tmp_path), services=SignalServices(behavior=reports)
    ).apply([WRONG, OURS])
    assert [item.chunk.path for item in outcome.retained] == ["ours/m.py"]
    assert [item.chunk.path for item in outcome.dropped] == ["theirs/x.py"]


def test_renaming_and_shuffling_untrusted_files_changes_nothing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    manager = DefenseManager(manifest=manifest(tmp_path), services=SignalServices(behavior=reports))
    candidates = [OURS, WRONG, CLEAN, COPY]
    expected = {
        item.chunk.text + item.trust: (item.penalty, item.verdict)
        for item in manager.apply(candidates).retained
    }
    for seed in range(10):
        chance = random.Random(seed)
        renamed = []
        for item in chance.sample(candidates, len(candidates)):
            if item is not OURS:
                path = chance.choice(["poisoned/evil_", "trusted/safe_", "a/"]) + f"{chance.random()}.py"
                item = replace(item, chunk=replace(item.chunk, path=path), file=replace(item.file, path=path))
            renamed.append(item)
        got = {
            item.chunk.text + item.trust: (item.penalty, item.verdict)
            for item in manager.apply(renamed).retained
        }
        assert got == expected


def fails(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    raise ZeroDivisionError("inside the detector")


@pytest.mark.parametrize(("mode", "kept"), [("rerank", 1), ("drop", 0)])
def test_a_failing_detector_is_shown_and_fails_closed(mode: str, kept: int) -> None:
    outcome = DefenseManager(
        DefenseConfig(mode=mode), signals=[Signal("broken", "always fails", (), fails)]
    ).apply([CLEAN])
    assert len(outcome.retained) == kept
    (evidence,) = (*outcome.retained, *outcome.dropped)[0].evidence
    assert evidence.id == "detector_error"
    assert evidence.demotes
    assert "ZeroDivisionError: inside the detector" in evidence.reason


def test_a_switched_off_signal_says_nothing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = DefenseConfig(enable_behavior=False, enable_distance=False)
    manager = DefenseManager(config, manifest=manifest(tmp_path), services=SignalServices(behavior=reports))
    signals = {part.signal for item in manager.apply([WRONG, CLEAN]).retained for part in item.evidence}
    assert signals == {"provenance"}


def test_a_signal_without_its_service_is_left_out_and_listed() -> None:
    manager = DefenseManager(services=SignalServices())
    left_out = {item.name for item in load_signals()} - {item.name for item in manager.active}
    assert left_out == manager.inactive.keys() == {"behavior", "perplexity"}


def test_every_registered_signal_documents_itself() -> None:
    signals = load_signals()
    assert {"provenance", "perplexity", "distance", "behavior"} <= {signal.name for signal in signals}
    for signal in signals:
        assert signal.summary
        assert len({rule.id for rule in signal.rules}) == len(signal.rules) > 0
        assert all(rule.summary for rule in signal.rules)


def test_every_weight_belongs_to_a_rule() -> None:
    rules = {f"{signal.name}.{rule.id}" for signal in load_all() for rule in signal.rules}
    assert set(DEFAULTS) <= rules | {f"{AUDIT}.{rule}" for rule in ENGINE_RULES}


@pytest.mark.parametrize(
    ("verdict", "share", "penalty", "convicts"),
    [
        (Verdict.FAIL, 0.0, 3.0, True),
        (Verdict.DIVERGES, 0.0, 2.0, True),
        (Verdict.DIVERGES, 0.5, 2.5, True),
        (Verdict.DIVERGES, 1.0, 3.0, True),
        (Verdict.VIOLATION, 0.0, 3.0, True),
        (Verdict.TIMEOUT, 0.0, 1.5, False),
        (Verdict.MEMORY, 0.0, 1.5, False),
        (Verdict.CRASH, 0.0, 1.5, False),
        (Verdict.POLICY, 0.0, 0.0, False),
        (Verdict.ERROR, 0.0, 0.0, False),
        (Verdict.UNSUPPORTED, 0.0, 0.0, False),
        (Verdict.NO_SIGNAL, 0.0, 0.0, False),
    ],
)
def test_what_a_verdict_costs(verdict: Verdict, share: float, penalty: float, convicts: bool) -> None:
    def service(chunk: Chunk, file: SourceFile) -> CheckReport:
        return CheckReport(verdict, "why", "L3", share=share)

    config = DefenseConfig(enable_provenance=False, enable_distance=False)
    (item,) = DefenseManager(config, services=SignalServices(behavior=service)).apply([CLEAN]).retained
    assert (item.penalty, item.convicted) == (pytest.approx(penalty), convicts)
    assert item.evidence[0].id == (verdict.value if penalty else "untested")


@pytest.mark.parametrize(("refuted", "penalty", "rule"), [(True, 4.0, "lookalike"), (False, 1.5, "unshown")])
def test_a_lookalike_is_penalised_and_demoted_where_a_call_refutes_it(
    refuted: bool, penalty: float, rule: str
) -> None:
    def service(chunk: Chunk, file: SourceFile) -> CheckReport:
        return CheckReport(Verdict.NO_SIGNAL, "like add in words", "L3", claims="add", refuted=refuted)

    config = DefenseConfig(enable_provenance=False, enable_distance=False)
    (item,) = DefenseManager(config, services=SignalServices(behavior=service)).apply([CLEAN]).retained
    assert (item.penalty, item.convicted, item.evidence[0].id) == (penalty, False, rule)
    assert item.demoted is refuted


@pytest.mark.parametrize(("coverage", "penalty"), [(Coverage.FULL, -0.5), (Coverage.PARTIAL, 0.0)])
def test_only_full_coverage_earns_the_bonus(coverage: Coverage, penalty: float) -> None:
    def service(chunk: Chunk, file: SourceFile) -> CheckReport:
        return CheckReport(Verdict.PASS, "", "L3", coverage=coverage)

    config = DefenseConfig(enable_provenance=False, enable_distance=False)
    (item,) = DefenseManager(config, services=SignalServices(behavior=service)).apply([CLEAN]).retained
    assert item.penalty == penalty


@pytest.mark.parametrize(
    ("coverage", "rule", "penalty"),
    [("full", "changed-line", 0.0), ("partial", "changed-line", 1.5), ("full", "removed-check", 1.5)],
)
def test_a_changed_line_costs_nothing_where_every_branch_did_the_same(
    coverage: str, rule: str, penalty: float
) -> None:
    def says(found: Evidence) -> Signal:
        return Signal(found.signal, "", (), lambda subject, context: [found])

    passed = Evidence("behavior", "pass", 0.0, "agrees", measurements={"coverage": coverage})
    copied = Evidence("near_copy", rule, 1.5, "one line differs")
    manager = DefenseManager(signals=[says(passed), says(copied)])
    found = manager.evidence(Subject(OURS.chunk, OURS.file, Trust.UNLISTED))
    assert [item.penalty for item in found if item.signal == "near_copy"] == [penalty]


@pytest.mark.parametrize(
    ("behavior", "rule", "owner", "demoted"),
    [
        ("unshown", "changed-line", "", True),
        ("unshown", "removed-check", "", True),
        ("unshown", "changed-line", "class Sums:\n    ", False),
        ("untested", "changed-line", "", False),
        ("pass", "changed-line", "", False),
    ],
)
def test_an_edited_copy_that_cannot_be_run_is_demoted(
    behavior: str, rule: str, owner: str, demoted: bool
) -> None:
    file = chunk_file("u.py", f"{owner}def add(a, b): return a - b\n".encode())
    change = Evidence("near_copy", rule, 1.5, "changed")
    checked = Evidence("behavior", behavior, 1.5, "no result that could be compared")
    found = settled([checked, change], Subject(file.chunks[-1], file, Trust.UNLISTED, 0.0, 0.0))
    assert is_demoted(found) is demoted
    assert found[1].penalty == 1.5


class Static:
    """Static evidence in which a chunk depends on nothing grave."""

    known_only = False

    def __init__(self) -> None:
        self.looked = 0

    def __call__(self, *subject: object) -> tuple[Evidence, ...]:
        return ()

    def grave(self, file: SourceFile, place: int) -> tuple[Evidence, ...]:
        self.looked += 1
        return ()


@pytest.mark.parametrize(("moment", "times"), [(Moment.INDEX, 1), (Moment.QUERY, 3)])
def test_a_plugin_that_looks_at_the_query_is_asked_each_time(moment: Moment, times: int) -> None:
    asked: list[Evidence] = []

    def asks(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        asked.append(Evidence("asked", "often", 0.0, f"asked {len(asked) + 1} times", demotes=True))
        return asked[-1:]

    manager = DefenseManager(signals=[Signal("asked", "counts", (), asks, moment)], remember=True)
    outcomes = [manager.apply([CLEAN]) for _ in range(3)]
    assert len(asked) == times
    assert outcomes[-1].retained[0].evidence[0].reason == f"asked {times} times"
