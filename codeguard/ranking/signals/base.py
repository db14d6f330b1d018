"""The interface of signals about a retrieved chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from codeguard.analysis.rules.base import Rule
from codeguard.models import CheckReport, Chunk, Evidence, SourceFile, Trust
from codeguard.trust.acceptances import Acceptances
from codeguard.weights import Weights

if TYPE_CHECKING:
    from codeguard.analysis.perplexity import PerplexityModel
    from codeguard.index.static_evidence import StaticEvidence

Check = Callable[[Chunk, SourceFile], CheckReport]


class Moment(StrEnum):
    """When a signal can be computed, and thus how long its evidence stays valid."""

    INDEX = "index"  # depends on the file alone (and the trusted corpus): cached by digest
    QUERY = "query"  # depends on the query or on the current trust: never cached


@dataclass(frozen=True, slots=True)
class SignalServices:
    """What signals may use besides the chunk; None for missing services.

    `behavior` gives the sandboxed checker's report on a function, `perplexity` is the character model of the
    trusted code, `static` gives the evidence of the detectors. `acceptances` are a person's decisions.
    """

    behavior: Check | None = None
    perplexity: PerplexityModel | None = None
    static: StaticEvidence | None = None
    acceptances: Acceptances = field(default_factory=Acceptances)

    def meet(self, needs: Iterable[str]) -> bool:
        """Return whether every service of these names is available."""
        return all(getattr(self, name, None) is not None for name in needs)


@dataclass(frozen=True, slots=True)
class SignalContext:
    """Services, and the weights that turn observations into penalties.

    `weights["signal.rule"]` is that of the table; it raises for a rule that has no entry there.
    """

    services: SignalServices = field(default_factory=SignalServices)
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True, slots=True)
class Subject:
    """The chunk under examination, with its context.

    `file` is the whole file the chunk stands in. `distance` is the
    cosine distance to the query and `distance_z` its z-score among the
    candidates; both are None outside a query.
    """

    chunk: Chunk
    file: SourceFile
    trust: Trust
    distance: float | None = None
    distance_z: float | None = None


@dataclass(frozen=True)
class Signal:
    """One source of evidence about a chunk; `examine` raises on an internal error, which becomes a finding.

    It must not look at a file's name or folder, nor at anything but its arguments: renaming an untrusted file changes
    no evidence. `needs` are names of services; `intent` is true if it tells of what an attacker would plant.
    """

    name: str
    summary: str
    rules: tuple[Rule, ...]
    examine: Callable[[Subject, SignalContext], Iterable[Evidence]]
    moment: Moment = Moment.INDEX
    needs: frozenset[str] = frozenset()
    intent: bool = False


def evidence_of(signal: str, rule: Rule, penalty: float, reason: str, **more: Any) -> Evidence:
    """Return evidence with the grades of its rule."""
    known = Evidence(signal, rule.id, penalty, reason, severity=rule.severity, confidence=rule.confidence)
    return replace(known, **more)
