"""The origin of a chunk by the verified manifest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from codeguard.analysis.rules.base import rules_of
from codeguard.models import Chunk, Evidence, Span, Trust
from codeguard.ranking.own_code import OwnCode
from codeguard.ranking.signals.base import Moment, Signal, SignalContext, Subject, evidence_of

_RULES = rules_of(__file__)

REASONS = {
    Trust.TRUSTED: "path and text are listed in the verified manifest",
    Trust.COPY: "text of a trusted chunk in a file that is not trusted: no bonus",
    Trust.MODIFIED: "the path is trusted, this text of it is not",
    Trust.UNLISTED: "not in the manifest: unknown origin",
}


def _examine(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    """Yield one piece of evidence for any trust, which is recomputed for every query."""
    yield _evidence(subject.trust, context.weights[f"provenance.{subject.trust}"], subject.chunk.span)


@lru_cache(maxsize=1 << 14)
def _evidence(trust: Trust, penalty: float, span: Span) -> Evidence:
    return evidence_of(SIGNAL.name, _RULES[trust.value], penalty, REASONS[trust], span=span)


def like_own(own: OwnCode) -> Evidence:
    """Return evidence, without a penalty, that own code among the candidates says the same."""
    named = f"{own.symbol} ({own.place})" if own.symbol else own.place
    reason = f"much like your own {named}, which answers as well"
    return evidence_of(SIGNAL.name, _RULES["like-own"], 0.0, reason, measurements={"cosine": own.cosine})


def repeating(other: Chunk, id_: str, how: str) -> Evidence:
    """Return evidence, without a penalty, that a text is an edit of another one of unknown origin."""
    named = f"{other.symbol or 'the text'} ({other.path}:{other.start_line})"
    return evidence_of(SIGNAL.name, _RULES[id_], 0.0, f"is like {named}, {how}: it stands behind that")


SIGNAL = Signal(
    "provenance",
    "whether a verified manifest lists this text under this path",
    tuple(_RULES.values()),
    _examine,
    Moment.QUERY,
    intent=True,
)
