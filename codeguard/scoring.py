"""From evidence and distances to a penalty and a score: pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from codeguard.models import Evidence


def penalty_of(evidence: Iterable[Evidence]) -> float:
    """Return the sum of the penalties, rounded to 1e-9 so that the order of summing cannot show."""
    return round(math.fsum(item.penalty for item in evidence), 9)


def is_convicted(evidence: Iterable[Evidence]) -> bool:
    """Say whether any evidence convicts."""
    return any(item.convicts for item in evidence)


def standardise(distances: Sequence[float]) -> list[float]:
    """Return the z-scores (population deviation) of distances; all 0 where they do not differ."""
    if not distances:
        return []
    mean = math.fsum(distances) / len(distances)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in distances) / len(distances))
    if deviation < 1e-12:
        return [0.0] * len(distances)
    return [(value - mean) / deviation for value in distances]
