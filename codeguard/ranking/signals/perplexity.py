"""How much a chunk's characters differ from those of the trusted code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.analysis.rules.base import Rule, rules_of
from codeguard.models import Confidence, Evidence, Severity, Trust
from codeguard.ranking.signals.base import Moment, SignalContext, Subject

_RULES = rules_of(__file__)


class PerplexitySignal:
    """Flags text that the character model of the trusted corpus finds improbable."""

    name: ClassVar[str] = "perplexity"
    summary: ClassVar[str] = "character n-gram model of the trusted code, in bits per character"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset({"perplexity"})
    rules: ClassVar[tuple[Rule, ...]] = (_RULES["outlier"],)

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        """Yield evidence if the chunk is an outlier; the model was trained on trusted text."""
        model = context.services.perplexity
        if model is None or subject.trust in (Trust.TRUSTED, Trust.COPY) or not subject.chunk.text.strip():
            return
        score = model.score(subject.chunk.text)
        if not score.outlier:
            return
        yield Evidence(
            signal=self.name,
            id="outlier",
            penalty=context.weights["perplexity.outlier"],
            reason=score.reason,
            severity=Severity.LOW,
            confidence=Confidence.LOW,
            span=subject.chunk.span,
            measurements={
                "bits_per_character": round(score.bits_per_character, 6),
                "worst_window": round(score.worst_window_bits, 6),
            },
        )


SIGNAL = PerplexitySignal()
