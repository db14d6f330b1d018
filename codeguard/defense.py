"""The defense as the method describes it: candidates in, retained and dropped out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.acceptance import SIGNAL as ACCEPTANCE
from codeguard.acceptance import Acceptances
from codeguard.config import DefenseConfig
from codeguard.models import Chunk, Confidence, Evidence, Severity, SourceFile, Trust
from codeguard.provenance import VerifiedManifest
from codeguard.rerank import DETECTOR_ERROR, Judged, Ranked, rank
from codeguard.scoring import standardise
from codeguard.signals import Context, Signal, Subject, load_signals
from codeguard.static_evidence import StaticEvidence


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved chunk with its file and its cosine distance to the query."""

    id: str
    chunk: Chunk
    file: SourceFile
    distance: float


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
    """

    def __init__(
        self,
        config: DefenseConfig | None = None,
        *,
        manifest: VerifiedManifest | None = None,
        services: Mapping[str, Any] | None = None,
        signals: Sequence[Signal] | None = None,
    ) -> None:
        self.config = config or DefenseConfig()
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
        found: list[Evidence] = []
        for signal in self.active:
            try:
                found.extend(signal.examine(subject, self._context))
            except Exception as error:  # a signal may be a third party's
                found.append(
                    Evidence(
                        signal=signal.name,
                        id=DETECTOR_ERROR,
                        penalty=0.0,
                        reason=f"the signal failed: {type(error).__name__}: {error}",
                        severity=Severity.MEDIUM,
                        confidence=Confidence.HIGH,
                    )
                )
        if self._static is not None:
            found.extend(self._static(subject.chunk, subject.file, subject.trust))
        return self._overruled(subject.chunk, found)

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
        z_scores = standardise([item.distance for item in known])
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
        return Judged(candidate.id, candidate.chunk, trust, candidate.distance, z, self.evidence(subject))
