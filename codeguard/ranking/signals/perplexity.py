"""How much a chunk's characters differ from those of the trusted code."""

from __future__ import annotations

from collections.abc import Iterable

from codeguard.analysis.rules.base import rules_of
from codeguard.models import Evidence, Trust
from codeguard.ranking.signals.base import Signal, SignalContext, Subject, evidence_of

_RULES = rules_of(__file__)


def _examine(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    """Yield evidence if the chunk is an outlier for the character model; that was trained on trusted text."""
    model = context.services.perplexity
    if model is None or subject.trust in (Trust.TRUSTED, Trust.COPY) or not subject.chunk.text.strip():
        return
    score = model.score(subject.chunk.text)
    if not score.outlier:
        return
    measured = {
        "bits_per_character": round(score.bits_per_character, 6),
        "worst_window": round(score.worst_window_bits, 6),
    }
    rule, penalty = _RULES["outlier"], context.weights["perplexity.outlier"]
    yield evidence_of(
        "perplexity", rule, penalty, score.reason, span=subject.chunk.span, measurements=measured
    )


SIGNAL = Signal(
    "perplexity",
    "character n-gram model of the trusted code, in bits per character",
    tuple(_RULES.values()),
    _examine,
    needs=frozenset({"perplexity"}),
)
