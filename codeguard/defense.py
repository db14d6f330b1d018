"""The defense as the method describes it: candidates in, retained and dropped out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from codeguard.acceptance import SIGNAL as ACCEPTANCE
from codeguard.acceptance import Acceptances
from codeguard.config import DefenseConfig
from codeguard.models import Chunk, Confidence, Coverage, Evidence, Severity, SourceFile, Trust, Verdict
from codeguard.provenance import VerifiedManifest
from codeguard.rerank import DETECTOR_ERROR, Judged, Ranked, rank
from codeguard.scoring import standardise
from codeguard.signals import Context, Moment, Signal, Subject, load_signals
from codeguard.static_evidence import StaticEvidence

KEPT_EVIDENCE = 100_000  # of one chunk and one signal each
STATIC = "static"
# What says only that a text is not another one; a check left out may matter where no test goes.
SETTLED_BY_A_PASS = frozenset({"near_copy.changed-line", "near_copy.changed-message"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved chunk with its file and its cosine distance to the query.

    `cost` is what retrieval ordered it by where that was not the distance
    alone (see `codeguard.fusion`); less is nearer.
    """

    id: str
    chunk: Chunk
    file: SourceFile
    distance: float
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class DefenseOutcome:
    """What the defense made of the candidates; `baseline` is their order without it."""

    retained: tuple[Ranked, ...]
    dropped: tuple[Ranked, ...]
    baseline: tuple[Ranked, ...]


class DefenseManager:
    """Collects the evidence about candidates and orders them by it.

    Args:
        config: which signals are on, mode, order, weights.
        manifest: the verified manifest; without one nothing is trusted.
        services: what signals need (`perplexity`, `behavior`, …). A signal whose service is missing
            is inactive, which `inactive` tells. `static` (a `StaticEvidence`) adds the static signals,
            `acceptances` says what a person has overruled.
        signals: instead of the registered ones.
        remember: keep what signals of moment INDEX say of a candidate, by its id, until `forget`. Only
            for whoever gives the same id to the same chunk of the same file alone.
    """

    def __init__(
        self,
        config: DefenseConfig | None = None,
        *,
        manifest: VerifiedManifest | None = None,
        services: Mapping[str, Any] | None = None,
        signals: Sequence[Signal] | None = None,
        remember: bool = False,
    ) -> None:
        self.config = config or DefenseConfig()
        self._remember = remember
        self._kept: dict[tuple[str, str, Trust], tuple[Evidence, ...]] = {}
        self._manifest = manifest
        self._context = Context(dict(services or {}), self.config.weights)
        self._static: StaticEvidence | None = self._context.services.get("static")
        self._acceptances: Acceptances = self._context.services.get("acceptances", Acceptances())
        registered = load_signals() if signals is None else signals
        enabled = [item for item in registered if self.config.enabled(item.name)]
        self.active = tuple(item for item in enabled if item.needs <= self._context.services.keys())
        self.inactive = tuple(item for item in enabled if item not in self.active)

    def trust_of(self, chunk: Chunk) -> Trust:
        """Return what the manifest says of a chunk now."""
        if self._manifest is None:
            return Trust.UNLISTED
        return self._manifest.trust_of(chunk.path, chunk.sha256)

    def evidence(self, subject: Subject) -> tuple[Evidence, ...]:
        """Return what every active signal says of one chunk.

        A signal that raises is a result of its own: evidence without penalty
        that says so, on which mode "drop" removes what is not trusted.
        """
        return self._evidence_of(None, subject)

    def forget(self) -> None:
        """Forget what was kept of the signals: some of it holds no longer, or was no answer."""
        self._kept.clear()

    def _evidence_of(self, id_: str | None, subject: Subject) -> tuple[Evidence, ...]:
        found: list[Evidence] = []
        for signal in self.active:
            lasting = id_ if signal.moment is Moment.INDEX else None
            look = partial(self._examined, signal, subject)
            found += self._once(signal.name, lasting, subject.trust, look)
        if self._static is not None:
            look = partial(self._static, subject.chunk, subject.file, subject.trust)
            found += self._once(STATIC, id_, subject.trust, look)
        return self._overruled(subject.chunk, _settled(found))

    def _once(
        self, name: str, id_: str | None, trust: Trust, look: Callable[[], tuple[Evidence, ...]]
    ) -> tuple[Evidence, ...]:
        """Return what a look gives; of a candidate with an id it is kept."""
        if id_ is None or not self._remember:
            return look()
        key = (name, id_, trust)
        known = self._kept.get(key)
        if known is None:
            known = look()
            if not any(_passing(part) for part in known):
                if len(self._kept) >= KEPT_EVIDENCE:
                    self._kept.clear()
                self._kept[key] = known
        return known

    def _examined(self, signal: Signal, subject: Subject) -> tuple[Evidence, ...]:
        try:
            return tuple(signal.examine(subject, self._context))
        except Exception as error:  # a signal may be a third party's
            return (
                Evidence(
                    signal=signal.name,
                    id=DETECTOR_ERROR,
                    penalty=0.0,
                    reason=f"the signal failed: {type(error).__name__}: {error}",
                    severity=Severity.MEDIUM,
                    confidence=Confidence.HIGH,
                ),
            )

    def _overruled(self, chunk: Chunk, found: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return the evidence, without conviction and its penalty where a person accepted the text."""
        acceptance = self._acceptances.of(chunk.sha256)
        if acceptance is None:
            return tuple(found)
        static = {item.signal for item in found} - {item.name for item in self.active}
        kept = [
            replace(item, convicts=False, penalty=0.0) if item.convicts or item.signal in static else item
            for item in found
        ]
        shown = Evidence(
            signal=ACCEPTANCE,
            id="accepted",
            penalty=0.0,
            reason=acceptance.say(),
            measurements={"by": acceptance.by, "date": acceptance.date},
        )
        return (*kept, shown)

    def apply(self, candidates: Iterable[Candidate]) -> DefenseOutcome:
        """Judge and order candidates; the result does not depend on the order they come in."""
        known = list(candidates)
        z_scores = standardise([item.distance if item.cost is None else item.cost for item in known])
        judged = [
            self._judge(item, trust=self.trust_of(item.chunk), z=z)
            for item, z in zip(known, z_scores, strict=True)
        ]
        retained, dropped, baseline = rank(
            judged,
            order=self.config.order,
            mode=self.config.mode,
            drop_threshold=self.config.drop_threshold,
        )
        return DefenseOutcome(retained, dropped, baseline)

    def _judge(self, candidate: Candidate, trust: Trust, z: float) -> Judged:
        subject = Subject(candidate.chunk, candidate.file, trust, candidate.distance, z)
        evidence = self._evidence_of(candidate.id, subject)
        return Judged(candidate.id, candidate.chunk, trust, candidate.distance, z, evidence)


def _passing(evidence: Evidence) -> bool:
    """Say whether evidence is of an error, which may not happen a second time."""
    return evidence.id == DETECTOR_ERROR or evidence.measurements.get("verdict") == Verdict.ERROR.value


def _settled(found: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence, without the penalty of a changed line where every branch was shown to do the same."""
    passed = any(
        (item.signal, item.id, item.measurements.get("coverage")) == ("behavior", "pass", Coverage.FULL.value)
        for item in found
    )
    if not passed:
        return list(found)
    return [
        replace(item, penalty=0.0, reason=f"{item.reason}; shown to behave alike")
        if f"{item.signal}.{item.id}" in SETTLED_BY_A_PASS
        else item
        for item in found
    ]
