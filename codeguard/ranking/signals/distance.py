"""How far a candidate is from the query, among the candidates."""

from __future__ import annotations

from collections.abc import Iterable

from codeguard.analysis.rules.base import rules_of
from codeguard.models import Evidence
from codeguard.ranking.signals.base import Moment, Signal, SignalContext, Subject, evidence_of

_RULES = rules_of(__file__)

OUTLIER_Z = 1.0
LARGEST_Z = 3.0


def _examine(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    """Yield a penalty if the distance has a z-score above 1, growing up to z = 3."""
    z = subject.distance_z
    if z is None or z <= OUTLIER_Z:
        return
    penalty = context.weights["distance.outlier"] * min(z, LARGEST_Z)
    reason = f"distance is {z:.1f} deviations above the candidates' mean"
    measured = {"z": round(z, 6)}
    yield evidence_of(
        "distance", _RULES["outlier"], penalty, reason, span=subject.chunk.span, measurements=measured
    )


SIGNAL = Signal(
    "distance",
    "z-score of the distance to the query among the candidates",
    tuple(_RULES.values()),
    _examine,
    Moment.QUERY,
)
