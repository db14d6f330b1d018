"""The defense as the method describes it: candidates in, retained and dropped out."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.analysis.python.bindings import trust_in_file
from codeguard.config import DefenseConfig
from codeguard.errors import ConfigError, DefenseWarning
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.static_evidence import COMPANY, place_of
from codeguard.models import (
    DETECTOR_ERROR,
    NOT_YET,
    Chunk,
    ChunkKind,
    Confidence,
    Coverage,
    Evidence,
    OnDisk,
    Severity,
    SourceFile,
    Trust,
    Verdict,
    text_digest,
)
from codeguard.ranking.alone import Alone
from codeguard.ranking.documents import Origins, name_for, read_document, worst
from codeguard.ranking.own_code import OwnCode, beside_own
from codeguard.ranking.reranking import Ranked, rank
from codeguard.ranking.restated import relation
from codeguard.ranking.scoring import standardise
from codeguard.ranking.signals import load_signals
from codeguard.ranking.signals.base import Moment, Signal, SignalContext, SignalServices, Subject
from codeguard.ranking.signals.behavior import FUNCTIONS, disputed
from codeguard.ranking.signals.provenance import like_own, repeating
from codeguard.trust.acceptances import SIGNAL as ACCEPTANCE
from codeguard.trust.verified import VerifiedManifest

KEPT_EVIDENCE = 100_000  # chunks
ASKED_LAST = ""  # id of the mark in the place of what a signal says of each query
# Rules that only say that a text differs from another; a missing check may matter where no test reaches.
SETTLED_BY_A_PASS = frozenset({"near_copy.changed-line", "unrelated.body"})
CHANGES = frozenset({"near_copy.changed-line", "near_copy.removed-check"})
# Suspicions that demote by themselves: less than one of 500 honest functions has one.
DEMOTING = frozenset(
    {
        "behavior.unannounced",
        "gates.unrelated-exit",
        "idle.effect",
        "idle.import",
        "obfuscation.concealed-name",
    }
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved chunk with its file and its cosine distance to the query.

    `cost` is the retrieval's sort key if that was not only the distance (see `codeguard.ranking.scoring`);
    less is nearer. `own` is the trusted candidate that is most like it, where that is known. `on_disk` says how its
    file compares with the disk. `behind` is the text of unknown origin behind which it stands as an edit of it (see
    `codeguard.ranking.restated`). `trust` is that of the text in its file, where it is known.
    """

    id: str
    chunk: Chunk
    file: SourceFile
    distance: float
    cost: float | None = None
    own: OwnCode | None = None
    on_disk: OnDisk = OnDisk.ELSEWHERE
    behind: Chunk | None = None
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class PlainCandidate:
    """A text as a vector store returns it, None if it has none, and the path and file name that it is read under."""

    id: str
    text: str | None
    distance: float
    path: str
    name: str


def plain_candidate(value: Mapping[str, Any]) -> PlainCandidate:
    """Return a candidate from plain values, as a vector store returns them.

    `content` is the text, `distance` its distance to the query, `metadata` may name its `path` and `language`, `id` is
    optional. The text is read as a file of its own, with every function in it; imports elsewhere are unknown.

    Raises:
        ConfigError: the content is not text, or the distance is not a finite number.
    """
    content, distance, metadata = value.get("content"), value.get("distance"), value.get("metadata") or {}
    if not isinstance(content, str) or not content:
        got = "nothing" if content == "" else type(content).__name__
        raise ConfigError("content of a candidate", got=got, expected="some text")
    if isinstance(distance, bool) or not isinstance(distance, int | float) or not math.isfinite(distance):
        raise ConfigError("distance of a candidate", got=repr(distance), expected="a finite number")
    if not isinstance(metadata, Mapping):
        raise ConfigError("metadata of a candidate", got=type(metadata).__name__, expected="a mapping")
    path = metadata.get("path")
    return PlainCandidate(
        id=str(value.get("id") or text_digest(content)),
        text=content,
        distance=float(distance),
        path=path if isinstance(path, str) else "",
        name=name_for(content, metadata),
    )


def trust_now(trust: Trust, on_disk: OnDisk) -> Trust:
    """Return the trust of an indexed text: that of a file that the disk has otherwise is not what was trusted."""
    return Trust.MODIFIED if trust is Trust.TRUSTED and on_disk.differs else trust


@dataclass(frozen=True, slots=True)
class DefenseOutcome:
    """The result of the defense; `baseline` is the order of the candidates without it."""

    retained: tuple[Ranked, ...]
    dropped: tuple[Ranked, ...]
    baseline: tuple[Ranked, ...]


class DefenseManager:
    """Collects the evidence about candidates and orders them by it.

    Without services it makes its own: the paths of `config.trust_paths` are trusted as they are on the disk, the
    character model learns from them, and functions are checked in the sandbox against the shipped specs and what is
    derived from these paths. Use it as a context manager then, or call `close`.

    Args:
        config: which signals are on, mode, order, weights.
        manifest: the verified manifest; without one nothing is trusted but the paths of the configuration.
        services: the services that signals need, instead of the manager's own.
        signals: instead of the registered ones.
        remember: cache the evidence of signals of moment INDEX by candidate id, or by text. Ids must be unique for a
            chunk of a file.
        paths_unknown: the candidates' store keeps no paths: a plain text without one is trusted if it is a trusted
            text. Otherwise it is a copy.

    Attributes:
        disk: how indexed files compare with the disk now; a plain text of a trusted file that changed is not trusted.
        active: the signals that are asked.
        inactive: the signals that are switched on and cannot be asked, with the reason.

    Raises:
        ConfigError, CorpusError, ManifestError: a path of the configuration cannot be trusted.
    """

    def __init__(
        self,
        config: DefenseConfig | None = None,
        *,
        manifest: VerifiedManifest | None = None,
        services: SignalServices | None = None,
        signals: Sequence[Signal] | None = None,
        remember: bool = False,
        paths_unknown: bool = False,
    ) -> None:
        self.config = config or DefenseConfig()
        self._remember = remember
        self._kept: dict[tuple[str, Trust], tuple[Evidence, ...]] = {}
        self._answers: dict[str, tuple[str, ...]] = {}  # to probes, by id
        alone = Alone(self.config) if services is None and signals is None else None
        self._alone = alone
        self._manifest = manifest if alone is None or manifest is not None else alone.manifest
        known = services or (SignalServices() if alone is None else alone.services)
        self._origins: Origins | None = None
        self.disk: IndexOnDisk | None = None
        self._paths_unknown = paths_unknown
        self._static = known.static
        self._acceptances = known.acceptances
        registered = load_signals() if signals is None else signals
        self._context = SignalContext(known, self.config.weights)
        enabled = [item for item in registered if self.config.enabled(item.name)]
        self.active = tuple(item for item in enabled if known.meet(item.needs))
        why = {} if alone is None else alone.missing
        self.inactive = {
            item.name: why.get(item.name, f"it needs {', '.join(sorted(item.needs))}, which is not given")
            for item in enabled
            if item not in self.active
        }
        if alone is not None:
            for line in (
                *alone.warnings,
                *(f"{name} is not asked: {said}" for name, said in self.inactive.items()),
            ):
                warnings.warn(line, DefenseWarning, stacklevel=2)
        # These neither demote nor convict, so nothing else depends on what they say of one query.
        self._asked_last = {item.name: item for item in self.active if item.moment is Moment.QUERY}
        # What unknown origin costs against own code; nothing where the signal is switched off.
        weights = self._context.weights
        named = any(item.name == "provenance" for item in self.active)
        self._origin = weights["provenance.unlisted"] - weights["provenance.trusted"] if named else None

    @property
    def level(self) -> str:
        """The sandbox level of the manager's own checks, "" where the services are another's."""
        return "" if self._alone is None else self._alone.level

    def close(self) -> None:
        """Release what the manager made for itself; the workers end with the process."""
        if self._alone is not None:
            self._alone.close()

    def __enter__(self) -> DefenseManager:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def known_only(self, only: bool = True) -> None:
        """Set whether files that are not examined yet stay unexamined, which their evidence then says."""
        if self._static is not None:
            self._static.known_only = only

    def lists(self, chunk: Chunk) -> bool:
        """Return whether the manifest lists the text of a chunk under its path, whatever its file has become."""
        known = self._manifest
        return known is not None and known.trust_of(chunk.path, chunk.sha256) is Trust.TRUSTED

    def trust_of(self, chunk: Chunk, file: SourceFile) -> Trust:
        """Return the current trust of a chunk in its file."""
        return trust_in_file(self._manifest, chunk, file)

    def evidence(self, subject: Subject) -> tuple[Evidence, ...]:
        """Return the evidence of every active signal about one chunk.

        A signal that raises gives evidence of its failure, without a penalty; mode "drop" then removes
        untrusted chunks.
        """
        return self._evidence_of(None, subject)

    def _evidence_of(self, id_: str | None, subject: Subject) -> tuple[Evidence, ...]:
        """Return the evidence about one chunk; all but what signals say of each query is kept by id."""
        key = (id_ or "", subject.trust)
        known = self._kept.get(key)
        if known is None:
            known = self._settled(subject)
            if id_ is not None and self._remember and not any(map(_passing, known)):
                if len(self._kept) >= KEPT_EVIDENCE:
                    self._kept.clear()
                self._kept[key] = known
        found: list[Evidence] = []
        for item in known:
            found += (
                self._examined(self._asked_last[item.signal], subject) if item.id == ASKED_LAST else [item]
            )
        return tuple(found)

    def _settled(self, subject: Subject) -> tuple[Evidence, ...]:
        """Return the evidence about a chunk, with a mark in the place of what signals say of each query."""
        found: list[Evidence] = []
        for signal in self.active:
            marked = [Evidence(signal.name, ASKED_LAST, 0.0, "")] if signal.name in self._asked_last else None
            found += marked or self._examined(signal, subject)
        if self._static is not None:
            found += self._static(subject.chunk, subject.file, subject.trust)
            found += self._company(subject, found)
            found = suspected(found, subject.trust)
        return self._overruled(subject.chunk, settled(found, subject))

    def _company(self, subject: Subject, found: Sequence[Evidence]) -> Iterator[Evidence]:
        """Yield evidence that a chunk depends on a severe finding in another chunk of its file.

        A certain finding also demotes the chunks that depend on it; any other one costs them as much as its
        own chunk. Trusted text and copies of it are exempt, and findings in trusted or accepted text do not
        count against others.
        """
        if self._static is None or subject.trust in (Trust.TRUSTED, Trust.COPY):
            return
        if any(item.demotes for item in found):
            return
        own = {(item.signal, item.id) for item in found}
        beside = [
            item
            for chunk, item in self._static.grave(subject.file, place_of(subject.chunk, subject.file))
            if (item.signal, item.id) not in own
            if self.trust_of(chunk, subject.file) not in (Trust.TRUSTED, Trust.COPY)
            and not self._acceptances.of(chunk.sha256)
        ]
        if not beside:
            return
        worst = max(beside, key=lambda item: (item.demotes, item.penalty))
        signal, rule = COMPANY
        yield Evidence(
            signal=signal,
            id=rule,
            penalty=self.config.weights[f"{signal}.{rule}"] if worst.demotes else worst.penalty,
            reason=f"stands in the same file as {worst.signal}.{worst.id}"
            f" (line {worst.measurements['line']}): {worst.reason}",
            demotes=worst.demotes,
            severity=Severity.MEDIUM,
            confidence=worst.confidence,
            span=subject.chunk.span,
        )

    def _examined(self, signal: Signal, subject: Subject) -> tuple[Evidence, ...]:
        try:
            return tuple(signal.examine(subject, self._context))
        except Exception as error:  # it meets hostile text
            return (
                Evidence(
                    signal=signal.name,
                    id=DETECTOR_ERROR,
                    penalty=0.0,
                    reason=f"the signal failed: {type(error).__name__}: {error}",
                    demotes=subject.trust is not Trust.TRUSTED,
                    severity=Severity.MEDIUM,
                    confidence=Confidence.HIGH,
                ),
            )

    def _overruled(self, chunk: Chunk, found: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return the evidence, without conviction and its penalty if a person accepted the text."""
        acceptance = self._acceptances.of(chunk.sha256)
        if acceptance is None:
            return tuple(found)
        static = {item.signal for item in found} - {item.name for item in self.active}
        kept = [
            replace(item, convicts=False, demotes=False, penalty=0.0)
            if item.convicts or item.demotes or item.signal in static
            else item
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

    def apply(self, candidates: Iterable[Candidate | PlainCandidate | Mapping[str, Any]]) -> DefenseOutcome:
        """Evaluate and order candidates; the result does not depend on their input order.

        A mapping with `content`, `metadata` and `distance` is a candidate too (see `plain_candidate`).
        """
        known = [plain_candidate(item) if isinstance(item, Mapping) else item for item in candidates]
        if self._alone is not None:
            self._alone.renew(len(known))
        z_scores = standardise([_cost(item) for item in known])
        judged = [self._judge(item, z) for item, z in zip(known, z_scores, strict=True)]
        return self._ordered(self._disputed(known, judged))

    def reconsidered(self, outcome: DefenseOutcome, found: Mapping[Chunk, Evidence]) -> DefenseOutcome:
        """Return the candidates in the order that they have with more evidence."""
        return self._ordered(
            [
                replace(item, evidence=(*item.evidence, found[item.chunk])) if item.chunk in found else item
                for item in (*outcome.retained, *outcome.dropped)
            ]
        )

    def _ordered(self, judged: Sequence[Ranked]) -> DefenseOutcome:
        retained, dropped, baseline = rank(
            judged,
            order=self.config.order,
            mode=self.config.mode,
            drop_threshold=self.config.drop_threshold,
        )
        return DefenseOutcome(retained, dropped, baseline)

    def _judge(self, candidate: Candidate | PlainCandidate, z: float) -> Ranked:
        if isinstance(candidate, PlainCandidate):
            return self._judge_plain(candidate, z)
        known = candidate.trust or self.trust_of(candidate.chunk, candidate.file)
        trust = trust_now(known, candidate.on_disk)
        subject = Subject(candidate.chunk, candidate.file, trust, candidate.distance, z)
        evidence = self._evidence_of(candidate.id, subject)
        shift = beside_own(candidate.chunk, trust, candidate.own, evidence, self._origin)
        if shift > 0 and candidate.own is not None:
            evidence = (*evidence, like_own(candidate.own))
        if candidate.behind is not None:
            evidence = (*evidence, repeating(candidate.behind, *relation(candidate.chunk, candidate.behind)))
        return Ranked(
            candidate.id,
            candidate.chunk,
            trust,
            candidate.distance,
            z,
            evidence,
            shift,
            candidate.on_disk,
        )

    def _disputed(
        self, candidates: Sequence[Candidate | PlainCandidate], judged: Sequence[Ranked]
    ) -> list[Ranked]:
        """Return candidates, those that contradict one another about one claim with evidence, which orders none."""
        check = self._context.services.behavior
        found: dict[int, Evidence] = {}
        answered: list[tuple[int, Chunk, tuple[str, ...]]] = []
        for place, (candidate, item) in enumerate(zip(candidates, judged, strict=True)):
            if check is None or item.trust is Trust.TRUSTED or item.verdict != Verdict.NO_SIGNAL.value:
                continue
            if isinstance(candidate, Candidate):
                if not self._remember or item.id not in self._answers:
                    self._answers[item.id] = check(item.chunk, candidate.file).answers
                asked = [(item.chunk, self._answers[item.id])]
            else:
                file = read_document(candidate.text, candidate.name, candidate.path).file
                functions = [chunk for chunk in file.chunks if chunk.kind in FUNCTIONS]
                asked = [(chunk, check(chunk, file).answers) for chunk in functions]
            answered += [(place, chunk, answers) for chunk, answers in asked if answers]
        if len(answered) < 2:
            return list(judged)
        from codeguard.behavior.rivals import contradiction  # brings the checker's comparisons

        for (place, chunk, own), (other_place, other_chunk, other) in itertools.combinations(answered, 2):
            if place == other_place or {place, other_place} <= found.keys():
                continue
            if both := contradiction(own, other):
                call, mine, theirs = both
                found.setdefault(place, disputed(chunk, other_chunk, call, mine, theirs))
                found.setdefault(other_place, disputed(other_chunk, chunk, call, theirs, mine))
        return [
            replace(item, evidence=(*item.evidence, found[place])) if place in found else item
            for place, item in enumerate(judged)
        ]

    def _judge_plain(self, candidate: PlainCandidate, z: float) -> Ranked:
        """Judge a text by all that is in it: of what its functions show, the worst counts."""
        if self._origins is None:
            texts = {} if self._alone is None else self._alone.texts
            self._origins = Origins(self._manifest, texts, paths_unknown=self._paths_unknown)
        trust, on_disk = self._origins.of(candidate.path, candidate.text or "", self.disk)
        read = read_document(candidate.text, candidate.name, candidate.path)
        found = [read.unread] if read.unread is not None else []
        for place, chunk in enumerate(read.file.chunks if read.unread is None else ()):
            subject = Subject(chunk, read.file, trust, candidate.distance, z)
            found += self._evidence_of(
                f"{read.whole.sha256}:{candidate.name}:{candidate.path}:{place}", subject
            )
        distance, evidence = candidate.distance, worst(found)
        return Ranked(candidate.id, read.whole, trust, distance, z, evidence, on_disk=on_disk)


def _cost(candidate: Candidate | PlainCandidate) -> float:
    cost = candidate.cost if isinstance(candidate, Candidate) else None
    return candidate.distance if cost is None else cost


def _passing(evidence: Evidence) -> bool:
    """Return whether evidence is temporary: an error that may not recur, or a check not done yet."""
    return (
        evidence.id in (DETECTOR_ERROR, NOT_YET)
        or evidence.measurements.get("verdict") == Verdict.ERROR.value
    )


def is_cleared(found: Iterable[Evidence]) -> bool:
    """Return whether calls that reached every part of a function agreed with the trusted one."""
    return any(
        (item.signal, item.id) == ("behavior", "pass")
        and item.measurements.get("coverage") == Coverage.FULL.value
        for item in found
    )


def suspected(found: Sequence[Evidence], trust: Trust) -> list[Evidence]:
    """Return the evidence, suspicions demoting unless the text is the team's own or all of it was shown to be right."""
    if is_cleared(found) or trust in (Trust.TRUSTED, Trust.COPY):
        return list(found)
    return [
        replace(item, demotes=True) if f"{item.signal}.{item.id}" in DEMOTING and item.penalty > 0 else item
        for item in found
    ]


def settled(found: Sequence[Evidence], subject: Subject) -> list[Evidence]:
    """Return the evidence, without the penalty for a changed line that calls showed to behave the same.

    A copy that reads like the trusted function and could not be run is demoted: the change is all that is
    known of it, and the original serves better. Methods are left out, because classes of one interface
    repeat each other (a request of ASGI and one of WSGI).
    """
    untested = any((item.signal, item.id) == ("behavior", "unshown") for item in found)
    if untested and subject.chunk.kind is ChunkKind.FUNCTION:
        return [
            replace(item, demotes=True, reason=f"{item.reason}; could not be tested")
            if f"{item.signal}.{item.id}" in CHANGES and not item.convicts
            else item
            for item in found
        ]
    if not is_cleared(found):
        return list(found)
    return [
        replace(item, penalty=0.0, demotes=False, reason=f"{item.reason}; shown to behave alike")
        if f"{item.signal}.{item.id}" in SETTLED_BY_A_PASS
        else item
        for item in found
    ]
