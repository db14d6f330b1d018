"""Two searches made one: cosine distances and BM25 scores to one cost, by which candidates are ordered.

Both are standardised over the candidates and added up with weights. Fusing
ranks instead ("reciprocal rank fusion") found less than the vectors alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from codeguard.scoring import standardise

# Weight of the lexical search; the rest is the vectors'. Tuned on the even half of docstring-to-body pairs of
# the standard library, `python -m experiments.benchmarks.retrieval` reports the odd half.
MODEL_WEIGHT = 0.3
LEXICAL_EMBEDDING_WEIGHT = 0.5  # vectors made of words find little that the words themselves do not


def weight_for(embedding: str) -> float:
    """Return the weight of the lexical search beside an embedding, by its identity."""
    return LEXICAL_EMBEDDING_WEIGHT if embedding.startswith("lexical") else MODEL_WEIGHT


def candidates(scores: Mapping[str, float], count: int) -> list[str]:
    """Return the `count` best ids of a lexical search, and those that score the same as the last of them."""
    ordered = sorted(scores, key=lambda id_: (-scores[id_], id_))
    if len(ordered) <= count:
        return ordered
    least = scores[ordered[count - 1]]
    return [id_ for id_ in ordered if scores[id_] >= least]


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
