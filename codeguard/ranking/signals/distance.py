"""How far a candidate is from the query, among the candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.analysis.rules.base import Rule, rules_of
from codeguard.models import Confidence, Evidence
from codeguard.ranking.signals.base import Moment, SignalContext, Subject

_RULES = rules_of(__file__)

OUTLIER_Z = 1.0
LARGEST_Z = 3.0


class DistanceSignal:
    """A penalty for candidates whose distance has a z-score above 1, growing up to z = 3."""

    name: ClassVar[str] = "distance"
    summary: ClassVar[str] = "z-score of the distance to the query among the candidates"
    moment: ClassVar[Moment] = Moment.QUERY
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = (_RULES["outlier"],)

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        """Yield evidence if the z-score is above 1."""
        z = subject.distance_z
        if z is None or z <= OUTLIER_Z:
            return
        yield Evidence(
            signal=self.name,
            id="outlier",
            penalty=context.weights["distance.outlier"] * min(z, LARGEST_Z),
            reason=f"distance is {z:.1f} deviations above the candidates' mean",
            confidence=Confidence.LOW,
            span=subject.chunk.span,
            measurements={"z": round(z, 6)},
        )


SIGNAL = DistanceSignal()
