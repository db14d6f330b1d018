"""From evaluated candidates to a ranking: pure, deterministic functions."""

from __future__ import annotations

import posixpath
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from codeguard.analysis.python.sketches import MAX_TOKENS, description_of, words_of_code
from codeguard.index.report import BudgetReport
from codeguard.models import (
    DETECTOR_ERROR,
    NOT_FULLY_READ,
    NOT_YET,
    Chunk,
    ChunkKind,
    Evidence,
    OnDisk,
    Trust,
    Verdict,
    named,
    parts_digest,
    text_digest,
)
from codeguard.ranking.scoring import is_convicted, is_demoted, penalty_of, standardise
from codeguard.trust.acceptances import SIGNAL as ACCEPTANCE
from codeguard.weights import is_harm

_FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
_PLACE = (
    *("path", "symbol", "start_line", "end_line", "trust", "on_disk"),
    *("penalty", "convicted", "demoted"),
)


class ChunkStanding(StrEnum):
    """The decision about a chunk, the most urgent first: the order of all reports."""

    HARMFUL = "harmful"  # convicted or demoted for harm that was planted
    CONVICTED = "convicted"
    DEMOTED = "demoted"
    ACCEPTED = "accepted"  # by a person
    NONE = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the chunk would do harm or was proven wrong."""
        return self in (ChunkStanding.HARMFUL, ChunkStanding.CONVICTED)

    @property
    def place(self) -> int:
        """The place in the order of urgency, from 0."""
        return list(ChunkStanding).index(self)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with everything that determines its rank, and its rank once it has one.

    `distance` is the cosine distance to the query, `distance_z` the z-score
    among the candidates of what retrieval ordered them by: the distance, or
    the distance and the words together (see `codeguard.ranking.scoring`).
    `beside_own` is added to the score (see `codeguard.ranking.own_code`). `on_disk` says how its file compares with
    the disk. Ranks count from 1; `rank` is 0 for dropped candidates.

    `copies` are the candidates with the same code that a result stands for, in their order; each has been examined
    with its own file, and its evidence may differ.
    """

    id: str
    chunk: Chunk
    trust: Trust
    distance: float
    distance_z: float
    evidence: tuple[Evidence, ...]
    beside_own: float = 0.0
    on_disk: OnDisk = OnDisk.ELSEWHERE
    rank: int = 0
    baseline_rank: int = 0
    copies: tuple[Ranked, ...] = ()
    penalty: float = field(init=False)
    score: float = field(init=False)
    convicted: bool = field(init=False)
    demoted: bool = field(init=False)

    def __post_init__(self) -> None:
        penalty = penalty_of(self.evidence)
        for name, value in {
            "penalty": penalty,
            "score": round(self.distance_z + penalty + self.beside_own, 9),
            "convicted": is_convicted(self.evidence),
            "demoted": is_demoted(self.evidence),
        }.items():
            object.__setattr__(self, name, value)

    def placed(self, rank: int, baseline_rank: int) -> Ranked:
        """Return it with its ranks; nothing is derived again, since nothing else of it depends on them."""
        made, known = object.__new__(Ranked), {"rank": rank, "baseline_rank": baseline_rank}
        for name in Ranked.__slots__:
            object.__setattr__(made, name, known.get(name, getattr(self, name)))
        return made

    @property
    def verdict(self) -> str:
        """The behavior checker's verdict, or "" if it did not run."""
        return self._behavior("verdict")

    @property
    def coverage(self) -> str:
        """The coverage of the behavior check, or "" if there was none."""
        return self._behavior("coverage")

    @property
    def twin(self) -> str:
        """The place of the trusted function it was compared with (`path:line`), or ""."""
        return self._behavior("twin")

    @property
    def standing(self) -> ChunkStanding:
        """The decision about it."""
        if (self.convicted or self.demoted) and any(map(is_harm, self.evidence)):
            return ChunkStanding.HARMFUL
        if self.convicted or self.demoted:
            return ChunkStanding.CONVICTED if self.convicted else ChunkStanding.DEMOTED
        accepted = any(part.signal == ACCEPTANCE for part in self.evidence)
        return ChunkStanding.ACCEPTED if accepted else ChunkStanding.NONE

    @property
    def disputed(self) -> str:
        """What another candidate that claims the same answers otherwise, "" if there is none."""
        return next((item.reason for item in self.evidence if "disputed" in item.measurements), "")

    @property
    def not_yet(self) -> tuple[str, ...]:
        """The names of the signals that have not examined it yet."""
        return tuple(dict.fromkeys(item.signal for item in self.evidence if item.id == NOT_YET))

    @property
    def spent(self) -> bool:
        """Whether its file spent its share of the budget before this was fully checked."""
        return any(item.signal == "behavior" and item.id == NOT_FULLY_READ for item in self.evidence)

    def _behavior(self, key: str) -> str:
        found = (item.measurements.get(key) for item in self.evidence if item.signal == "behavior")
        return next((str(value) for value in found if value is not None), "")

    def to_json(self) -> dict[str, Any]:
        """Return the object for one candidate in schema `codeguard.query/1`."""
        return {
            **named(self, "rank baseline_rank"),
            **named(self.chunk, "path symbol kind start_line end_line sha256 text masked"),
            **named(
                self, "distance penalty beside_own score trust on_disk verdict coverage convicted demoted"
            ),
            "not_yet": list(self.not_yet),
            "copies": [copy.to_place() for copy in self.copies],
            "evidence": [item.to_json() for item in self.evidence],
        }

    def to_place(self) -> dict[str, Any]:
        """Return where it is and what is held against it, for the result that stands for it."""
        known = self.to_json()
        return {name: known[name] for name in _PLACE}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a query.

    `results` is the top k with one chunk per file and each text once,
    `baseline_results` the first k files without defense. `ranking` and `baseline` hold every candidate, after and
    before. `dropped` is empty in mode "rerank". `warnings` are lines a user
    has to see. `budget` is what the checks of this query spent in the sandbox.
    """

    query: str
    k: int
    mode: str
    order: str
    store: str
    sandbox_level: str
    results: tuple[Ranked, ...]
    baseline_results: tuple[Ranked, ...]
    ranking: tuple[Ranked, ...]
    baseline: tuple[Ranked, ...]
    dropped: tuple[Ranked, ...]
    warnings: tuple[str, ...] = ()
    budget: BudgetReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stable form of the ranking, schema `codeguard.query/1`."""
        return {
            "schema": "codeguard.query/1",
            **named(self, "query k store sandbox_level mode order"),
            "results": [item.to_json() for item in self.results],
            "ranking": [item.to_json() for item in self.ranking],
            "dropped": [item.to_json() for item in self.dropped],
            "warnings": list(self.warnings),
            "budget": self.budget and asdict(self.budget),
        }


def rank(
    candidates: Iterable[Ranked], *, order: str = "score", mode: str = "rerank", drop_threshold: float = 2.0
) -> tuple[tuple[Ranked, ...], tuple[Ranked, ...], tuple[Ranked, ...]]:
    """Order candidates; return (retained, dropped, baseline).

    Args:
        candidates: in any order; the result does not depend on it.
        order: "score" ranks demoted candidates behind the others and convicted ones last, and sorts each
            group by standardized distance plus penalty plus `beside_own`; "penalty" sorts by penalty, then
            distance (the order the method itself describes).
        mode: "drop" removes convicted candidates and those with a penalty above `drop_threshold`.
    """
    retrieved = sorted(candidates, key=lambda item: (item.distance_z, item.distance, item.id))
    baseline = tuple(item.placed(position, position) for position, item in enumerate(retrieved, 1))

    def key(item: Ranked) -> tuple[float, ...]:
        groups = (item.penalty,) if order == "penalty" else (item.convicted, item.demoted, item.score)
        return (*groups, item.baseline_rank)

    ordered = _behind_twins(sorted(baseline, key=key))
    retained = [item for item in ordered if mode != "drop" or keeps(item, drop_threshold)]
    dropped = tuple(
        item.placed(0, item.baseline_rank)
        for item in ordered
        if mode == "drop" and not keeps(item, drop_threshold)
    )
    return _numbered(retained), dropped, baseline


def _numbered(items: Iterable[Ranked]) -> tuple[Ranked, ...]:
    return tuple(
        item if item.rank == position else item.placed(position, item.baseline_rank)
        for position, item in enumerate(items, 1)
    )


def distinct(ranked: Sequence[Ranked], k: int, per_file: int = 1) -> tuple[Ranked, ...]:
    """Return the first k candidates that differ, at most `per_file` per file, renumbered from 1.

    Each stands for its copies, which it names: the other candidates with exactly its text, and those of unknown origin
    with exactly its code under another description, so that whoever repeats an answer takes one place. Where one of
    them is trusted, the trusted one stands for them, in the place of the first: that text is the team's own, and a
    file of unknown origin must not be the source that is shown for it. Penalties are those of the candidate that is
    shown.
    """
    return tuple(
        replace(shown, rank=position, copies=tuple(other for other in same if other.id != shown.id))
        for position, (shown, same) in enumerate(_distinct(ranked, k, per_file), 1)
    )


def has_distinct(ranked: Sequence[Ranked], k: int) -> bool:
    """Return whether there are k candidates with different texts in different files."""
    return len(ranked) >= k and len(_distinct(ranked, k, 1)) >= k


def _distinct(ranked: Sequence[Ranked], k: int, per_file: int) -> list[tuple[Ranked, list[Ranked]]]:
    """Return what `distinct` shows, each with all candidates that have its text."""
    own = {item.chunk.sha256 for item in ranked if item.trust is Trust.TRUSTED}
    alike: dict[str, list[Ranked]] = {}
    for item in ranked:
        alike.setdefault(_likeness(item, own), []).append(item)
    found: list[tuple[Ranked, list[Ranked]]] = []
    seen: Counter[str] = Counter()
    told: set[str] = set()
    for item in ranked:
        if len(found) >= k:
            break
        likeness = _likeness(item, own)
        if likeness in told:
            continue
        same = alike[likeness]
        listed = (
            other for other in same if other.trust is Trust.TRUSTED and seen[other.chunk.path] < per_file
        )
        shown = item if item.trust is Trust.TRUSTED else next(listed, item)
        if seen[shown.chunk.path] >= per_file:
            continue  # a copy in another file may follow
        seen[shown.chunk.path] += 1
        told.add(likeness)
        found.append((shown, same))
    return found


def _likeness(item: Ranked, own: Collection[str]) -> str:
    """Return what two candidates have in common of which one is shown; `own` are the digests of the team's own texts.

    Of these that is the whole text: a description of the team's is worth a place.
    """
    chunk = item.chunk
    whole = chunk.kind not in _FUNCTIONS or chunk.sha256 in own
    return chunk.sha256 if whole else _code_digest(chunk.text, chunk.language)


@lru_cache(maxsize=1 << 14)
def _code_digest(text: str, language: str) -> str:
    """Return the digest of a function's code without comments and its first description."""
    words = words_of_code(text, language)
    described = description_of(words)
    if described is not None:
        del words[described]
    return parts_digest(*words) if len(words) < MAX_TOKENS else text_digest(text)


def represented(results: Iterable[Ranked]) -> set[str]:
    """Return the ids of results, and of the copies that they stand for and against which nothing more is held."""
    return {member.id for item in results for member in (item, *item.copies) if _is_like(member, item)}


def _is_like(copy: Ranked, shown: Ranked) -> bool:
    """Return whether a copy is in the same of the three groups as what is shown for it, or in a better one."""
    return (copy.convicted, copy.demoted) <= (shown.convicted, shown.demoted)


def at_most_per_file(ranked: Sequence[Ranked], k: int, per_file: int = 1) -> tuple[Ranked, ...]:
    """Return the first k candidates with at most `per_file` per file, renumbered from 1."""
    found: list[Ranked] = []
    seen: Counter[str] = Counter()
    for item in ranked:
        if len(found) >= k:
            break
        seen[item.chunk.path] += 1
        if seen[item.chunk.path] <= per_file:
            found.append(item)
    return _numbered(found)


def _behind_twins(ordered: Sequence[Ranked]) -> list[Ranked]:
    """Return the order with functions of another contract moved behind their trusted function."""
    own = [
        item for item in ordered if item.trust is not Trust.TRUSTED and item.verdict == Verdict.DIFFERS.value
    ]
    behind: dict[str, list[Ranked]] = {}
    for item in own:
        place = ordered.index(item)
        counterpart = next((other for other in ordered[place:] if _is_counterpart(other, item)), None)
        earlier = any(_is_counterpart(other, item) for other in ordered[:place])
        if counterpart is not None and not earlier:
            behind.setdefault(counterpart.id, []).append(item)
    moved = {item.id for items in behind.values() for item in items}
    placed: list[Ranked] = []
    for item in ordered:
        if item.id not in moved:
            placed += [item, *behind.get(item.id, ())]
    return placed


def _is_counterpart(item: Ranked, differing: Ranked) -> bool:
    """Return whether a candidate is the trusted function that another was compared with."""
    path, _, line = differing.twin.rpartition(":")
    if item.trust is not Trust.TRUSTED or item.chunk.path != path or not line.isdigit():
        return False
    return item.chunk.start_line <= int(line) <= item.chunk.end_line


def keeps(item: Ranked, drop_threshold: float) -> bool:
    """Return whether mode "drop" keeps a candidate."""
    if item.trust is not Trust.TRUSTED and any(map(_is_unknown, item.evidence)):
        return False
    return not item.convicted and item.penalty <= drop_threshold


def _is_unknown(evidence: Evidence) -> bool:
    """Return whether a detector failed, did not examine all of it, or has not run yet."""
    return evidence.id == NOT_YET or (evidence.demotes and evidence.id in (DETECTOR_ERROR, NOT_FULLY_READ))


def merged(rankings: Sequence[tuple[str, Ranking]], drop_threshold: float) -> Ranking:
    """Return one ranking; each comes with the folder that its names are relative to, "" for the working directory.

    What is held for or against a candidate is what its own index knows. Each index orders its candidates as it does
    alone, on the scale of its distances: those of one embedding can be compared, words of different files cannot.
    """
    first = rankings[0][1]
    placed: list[Ranked] = []
    for number, (folder, ranking) in enumerate(rankings):
        items = (*ranking.ranking, *ranking.dropped)
        distances = [item.distance for item in items]
        middle, spread = (statistics.fmean(distances), statistics.pstdev(distances)) if items else (0.0, 0.0)
        placed += (
            replace(
                item,
                id=f"{number}:{item.id}",
                chunk=replace(item.chunk, path=posixpath.join(folder, item.chunk.path)),
                distance_z=middle + spread * item.distance_z,
                evidence=tuple(_placed(part, folder) for part in item.evidence),
            )
            for item in items
        )
    z_scores = standardise([item.distance_z for item in placed])
    judged = [replace(item, distance_z=z) for item, z in zip(placed, z_scores, strict=True)]
    mode = "drop" if first.mode == "drop" else "rerank"
    retained, dropped, baseline = rank(judged, order=first.order, mode=mode, drop_threshold=drop_threshold)
    return replace(
        first,
        store=", ".join(ranking.store for _, ranking in rankings),
        sandbox_level=min(ranking.sandbox_level for _, ranking in rankings),
        results=distinct(retained, first.k),
        baseline_results=at_most_per_file(baseline, first.k),
        ranking=retained,
        baseline=baseline,
        dropped=dropped,
        warnings=tuple(f"{ranking.store}: {line}" for _, ranking in rankings for line in ranking.warnings),
        budget=None,
    )


def _placed(evidence: Evidence, folder: str) -> Evidence:
    """Return the evidence, with the place of a trusted function as the merged ranking names it."""
    twin = evidence.measurements.get("twin")
    if not isinstance(twin, str):
        return evidence
    return replace(evidence, measurements={**evidence.measurements, "twin": posixpath.join(folder, twin)})
