"""The origin of a chunk by the verified manifest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

from codeguard.analysis.rules.base import Rule, rules_of
from codeguard.models import Chunk, Evidence, Span, Trust
from codeguard.ranking.own_code import OwnCode
from codeguard.ranking.signals.base import Moment, SignalContext, Subject

_RULES = rules_of(__file__)

REASONS = {
    Trust.TRUSTED: "path and text are listed in the verified manifest",
    Trust.COPY: "text of a trusted chunk in a file that is not trusted: no bonus",
    Trust.MODIFIED: "the path is trusted, this text of it is not",
    Trust.UNLISTED: "not in the manifest: unknown origin",
}


class ProvenanceSignal:
    """Trust, recomputed for every query from the manifest and the digest of the text."""

    name: ClassVar[str] = "provenance"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "whether a verified manifest lists this text under this path"
    moment: ClassVar[Moment] = Moment.QUERY
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = (
        _RULES["trusted"],
        _RULES["copy"],
        _RULES["modified"],
        _RULES["unlisted"],
        _RULES["like-own"],
    )

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        """Yield one piece of evidence for any trust."""
        yield _evidence(subject.trust, context.weights[f"provenance.{subject.trust}"], subject.chunk.span)


@lru_cache(maxsize=1 << 14)
def _evidence(trust: Trust, penalty: float, span: Span) -> Evidence:
    return _noted(trust.value, REASONS[trust], penalty, span)


def like_own(own: OwnCode) -> Evidence:
    """Return evidence, without a penalty, that own code among the candidates says the same."""
    named = f"{own.symbol} ({own.place})" if own.symbol else own.place
    return _noted("like-own", f"much like your own {named}, which answers as well", cosine=own.cosine)


def repeating(other: Chunk, id_: str, how: str) -> Evidence:
    """Return evidence, without a penalty, that a text is an edit of another one of unknown origin."""
    named = f"{other.symbol or 'the text'} ({other.path}:{other.start_line})"
    return _noted(id_, f"is like {named}, {how}: it stands behind that")


def _noted(
    id_: str, reason: str, penalty: float = 0.0, span: Span | None = None, **measured: float
) -> Evidence:
    rule, name = _RULES[id_], ProvenanceSignal.name
    grades = rule.severity, rule.confidence
    return Evidence(name, rule.id, penalty, reason, False, False, *grades, span, measured)


SIGNAL = ProvenanceSignal()
