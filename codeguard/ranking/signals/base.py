"""What a signal about a retrieved chunk is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from codeguard.analysis.rules.base import Rule
from codeguard.models import CheckReport, Chunk, Evidence, SourceFile, Trust
from codeguard.trust.acceptances import Acceptances
from codeguard.weights import Weights

if TYPE_CHECKING:
    from codeguard.analysis.perplexity import PerplexityModel
    from codeguard.index.static_evidence import StaticEvidence

Check = Callable[[Chunk, SourceFile], CheckReport]


class Moment(StrEnum):
    """When a signal can speak, which is also how long its evidence keeps."""

    INDEX = "index"  # depends on the file alone (and the trusted corpus): cached by digest
    QUERY = "query"  # depends on the query or on the trust of the moment: never cached


@dataclass(frozen=True, slots=True)
class Services:
    """What signals may consult beside the chunk; None if there is none of it.

    `behavior` says what the sandboxed checker found out about a function,
    `perplexity` is the character model of the trusted code, `static` the
    evidence of the detectors. `acceptances` say what a person has overruled.
    """

    behavior: Check | None = None
    perplexity: PerplexityModel | None = None
    static: StaticEvidence | None = None
    acceptances: Acceptances = field(default_factory=Acceptances)

    def meet(self, needs: Iterable[str]) -> bool:
        """Return whether every service of these names is there."""
        return all(getattr(self, name, None) is not None for name in needs)


@dataclass(frozen=True, slots=True)
class Context:
    """Services, and the weights that turn what is observed into penalties.

    `weights["signal.rule"]` is the table's, else what the rule brings itself,
    else by its severity; it raises for a rule that nobody has.
    """

    services: Services = field(default_factory=Services)
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True, slots=True)
class Subject:
    """The chunk under examination, with its surroundings.

    `file` is the whole file the chunk stands in. `distance` is the
    cosine distance to the query and `distance_z` its z-score among the
    candidates; both are None outside a query.
    """

    chunk: Chunk
    file: SourceFile
    trust: Trust
    distance: float | None = None
    distance_z: float | None = None


@runtime_checkable
class Signal(Protocol):
    """One source of evidence. Raise on an internal error: the caller turns it into a finding.

    A signal must not look at a file's name or folder, nor at anything but
    its arguments: renaming an untrusted file changes no evidence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    moment: ClassVar[Moment]
    rules: ClassVar[tuple[Rule, ...]]
    needs: ClassVar[frozenset[str]]

    def examine(self, subject: Subject, context: Context) -> Iterable[Evidence]:
        """Yield the evidence about one chunk, none if there is nothing to say."""
        ...
