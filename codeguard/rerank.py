"""From judged candidates to a ranking: pure functions, the same answer for the same input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.models import Chunk, Evidence, Trust
from codeguard.scoring import is_convicted, penalty_of

DETECTOR_ERROR = "detector_error"  # id of the evidence that a signal failed


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with everything that decides its place.

    `distance` is the cosine distance to the query, `distance_z` the z-score
    among the candidates of what retrieval ordered them by: the distance, or
    the distance and the words together (see `codeguard.fusion`).
    """

    id: str
    chunk: Chunk
    trust: Trust
    distance: float
    distance_z: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. Ranks count from 1; `rank` is 0 for what was dropped."""

    rank: int
    baseline_rank: int
    id: str
    chunk: Chunk
    trust: Trust
    distance: float
    penalty: float
    score: float
    convicted: bool
    evidence: tuple[Evidence, ...]

    @property
    def verdict(self) -> str:
        """The behavior checker's verdict, empty where it did not look."""
        return self._behavior("verdict")

    @property
    def coverage(self) -> str:
        """Coverage of the behavior check, empty where there was none."""
        return self._behavior("coverage")

    def _behavior(self, key: str) -> str:
        found = (item.measurements.get(key) for item in self.evidence if item.signal == "behavior")
        return next((str(value) for value in found if value is not None), "")

    def to_json(self) -> dict[str, Any]:
        """Return the object that `codeguard.query/1` shows for one candidate."""
        return {
            "rank": self.rank,
            "baseline_rank": self.baseline_rank,
            "path": self.chunk.path,
            "symbol": self.chunk.symbol,
            "kind": self.chunk.kind.value,
            "start_line": self.chunk.start_line,
            "end_line": self.chunk.end_line,
            "sha256": self.chunk.sha256,
            "text": self.chunk.text,
            "distance": self.distance,
            "penalty": self.penalty,
            "score": self.score,
            "trust": self.trust.value,
            "verdict": self.verdict,
            "coverage": self.coverage,
            "convicted": self.convicted,
            "evidence": [item.to_json() for item in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a query.

    `results` is the top k with one chunk a file, `baseline_results` the same
    without defense. `ranking` and `baseline` hold every candidate, after and
    before. `dropped` is empty in mode "rerank". `warnings` are lines a user
    has to see.
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

    def to_json(self) -> dict[str, Any]:
        """Return the stable form of the ranking, schema `codeguard.query/1`."""
        return {
            "schema": "codeguard.query/1",
            "query": self.query,
            "k": self.k,
            "store": self.store,
            "sandbox_level": self.sandbox_level,
            "mode": self.mode,
            "order": self.order,
            "results": [item.to_json() for item in self.results],
            "ranking": [item.to_json() for item in self.ranking],
            "dropped": [item.to_json() for item in self.dropped],
            "warnings": list(self.warnings),
        }


def rank(
    candidates: Iterable[Judged], *, order: str = "score", mode: str = "rerank", drop_threshold: float = 2.0
) -> tuple[tuple[Ranked, ...], tuple[Ranked, ...], tuple[Ranked, ...]]:
    """Order candidates; return (retained, dropped, baseline).

    Args:
        candidates: in any order; the result does not depend on it.
        order: "score" puts the convicted last and sorts each group by standardised distance plus
            penalty; "penalty" sorts by penalty, then distance (the order the method itself describes).
        mode: "drop" removes the convicted and penalties above `drop_threshold`.
    """
    retrieved = sorted(candidates, key=lambda item: (item.distance_z, item.distance, item.id))
    baseline = tuple(_place(item, position, position) for position, item in enumerate(retrieved, 1))
    key: Callable[[Ranked], Any] = _by_penalty if order == "penalty" else _by_score
    ordered = sorted(baseline, key=key)
    retained = [item for item in ordered if mode != "drop" or _keeps(item, drop_threshold)]
    dropped = tuple(
        replace(item, rank=0) for item in ordered if mode == "drop" and not _keeps(item, drop_threshold)
    )
    ranked = tuple(replace(item, rank=position) for position, item in enumerate(retained, 1))
    return ranked, dropped, baseline


def one_per_file(ranked: Sequence[Ranked], k: int) -> tuple[Ranked, ...]:
    """Return the first k candidates of distinct files, ranks counted anew from 1."""
    best: dict[str, Ranked] = {}
    for item in ranked:
        if len(best) >= k:
            break
        best.setdefault(item.chunk.path, item)
    return tuple(replace(item, rank=position) for position, item in enumerate(best.values(), 1))


def _place(item: Judged, rank_: int, baseline_rank: int) -> Ranked:
    penalty = penalty_of(item.evidence)
    return Ranked(
        rank=rank_,
        baseline_rank=baseline_rank,
        id=item.id,
        chunk=item.chunk,
        trust=item.trust,
        distance=item.distance,
        penalty=penalty,
        score=round(item.distance_z + penalty, 9),
        convicted=is_convicted(item.evidence),
        evidence=item.evidence,
    )


def _by_score(item: Ranked) -> tuple[bool, float, int]:
    return (item.convicted, item.score, item.baseline_rank)


def _by_penalty(item: Ranked) -> tuple[float, int]:
    return (item.penalty, item.baseline_rank)


def _keeps(item: Ranked, drop_threshold: float) -> bool:
    if item.trust is not Trust.TRUSTED and any(part.id == DETECTOR_ERROR for part in item.evidence):
        return False
    return not item.convicted and item.penalty <= drop_threshold
