"""From evidence and distances to a penalty and a score: pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from codeguard.models import Evidence, Severity
from codeguard.weights import is_harm

BESIDE = ("audit", "company")  # evidence about a chunk from another one of its file


def penalty_of(evidence: Iterable[Evidence]) -> float:
    """Return the sum of the penalties, rounded to 1e-9 so that the order of summing cannot show."""
    return round(math.fsum([item.penalty for item in evidence]), 9)


def is_convicted(evidence: Iterable[Evidence]) -> bool:
    """Return whether any evidence convicts."""
    return any(item.convicts for item in evidence)


def is_demoted(evidence: Sequence[Evidence]) -> bool:
    """Return whether any evidence demotes and none convicts."""
    return any(item.demotes for item in evidence) and not is_convicted(evidence)


def urgency(item: Evidence) -> tuple[bool, bool, bool, bool, float]:
    """Return the sort key of evidence against a chunk, the one order of all reports; the greatest is named first.

    Harm comes before wrong results, these before suspicion, and what the chunk holds itself before what stands beside
    it in its file.
    """
    own = (item.signal, item.id) != BESIDE
    serious = item.convicts or item.demotes or item.severity >= Severity.HIGH
    return (own and serious, is_harm(item), item.convicts, item.demotes, item.penalty)


def by_urgency(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return evidence in the order of all reports, the most urgent first."""
    return sorted(evidence, key=urgency, reverse=True)


def standardise(distances: Sequence[float]) -> list[float]:
    """Return the z-scores (population deviation) of distances; all 0 where they do not differ."""
    if not distances:
        return []
    mean = math.fsum(distances) / len(distances)
    deviation = math.sqrt(math.fsum([(value - mean) ** 2 for value in distances]) / len(distances))
    if deviation < 1e-12:
        return [0.0] * len(distances)
    return [(value - mean) / deviation for value in distances]


# Weight of the lexical search; the rest is the vectors'. Tuned on the even half of docstring-to-body pairs of
# the standard library, `python -m experiments.benchmarks.retrieval` reports the odd half.
MODEL_WEIGHT = 0.3
LEXICAL_EMBEDDING_WEIGHT = 0.5  # vectors made of words find little that the words themselves do not


def weight_for(embedding: str) -> float:
    """Return the weight of the lexical search beside an embedding, by its identity."""
    return LEXICAL_EMBEDDING_WEIGHT if is_lexical(embedding) else MODEL_WEIGHT


def is_lexical(embedding: str) -> bool:
    """Return whether an embedding, given by its identity, is made of words alone."""
    return embedding.startswith("lexical")


def candidates(scores: Mapping[str, float], count: int) -> list[str]:
    """Return the `count` best ids of a lexical search, and those that score the same as the last of them."""
    if len(scores) > count:
        least = sorted(scores.values(), reverse=True)[count - 1]
        scores = {id_: score for id_, score in scores.items() if score >= least}
    return sorted(scores, key=lambda id_: (-scores[id_], id_))


def fuse(distances: Mapping[str, float], scores: Mapping[str, float], weight: float) -> dict[str, float]:
    """Return a cost for every id that has a distance; less is nearer.

    Args:
        distances: cosine distances to the query.
        scores: BM25 scores of the best documents; an id that is not among them gets the least of them,
            which is the most it can have.
        weight: of the scores, 0 to 1. With 0, or no score at all, the cost is the distance itself.
    """
    if not weight or not scores:
        return dict(distances)
    least = min(scores.values())
    far = standardise(list(distances.values()))
    good = standardise([scores.get(id_, least) for id_ in distances])
    return {
        id_: round((1 - weight) * away - weight * score, 9)
        for id_, away, score in zip(distances, far, good, strict=True)
    }
