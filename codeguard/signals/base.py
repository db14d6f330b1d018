"""What a signal is: one source of evidence, about a chunk, a file or the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

from codeguard.models import Chunk, Confidence, Evidence, Severity, SourceFile, Trust
from codeguard.reading import Reading
from codeguard.weights import Weights


class Moment(StrEnum):
    """When a signal can speak, which is also how long its evidence keeps."""

    INDEX = "index"  # depends on the file alone (and the trusted corpus): cached by digest
    QUERY = "query"  # depends on the query or on the trust of the moment: never cached


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of evidence that a signal gives, documented where it is made.

    `bad` and `good` are short examples: what the rule fires on and the same
    thing done right.
    """

    id: str
    summary: str
    severity: Severity
    confidence: Confidence
    explanation: str = ""
    bad: str = ""
    good: str = ""
    cwe: tuple[int, ...] = ()
    language: str = "python"  # of the examples


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


@dataclass(frozen=True, slots=True)
class Context:
    """What the signals may consult beside the subject: services by name, made by the guard.

    Known names: `perplexity` (a trained `codeguard.perplexity.PerplexityModel`),
    `behavior` (a callable from chunk and file to a `CheckReport`), `trusted`
    (the files of the verified manifest), `trusted_functions` (a
    `codeguard.reading.twins.TrustedFunctions` of those files: needed by
    `near_copy`, consulted by `capabilities`), `packages` (a frozenset of every
    name that may be imported: distributions that lock files name, and
    top-level modules of the trusted and the audited files; consulted by
    `imports`, which calls nothing unknown without it). A signal whose service
    is missing yields nothing. `weights` turn observations into penalties.
    """

    services: Mapping[str, Any] = field(default_factory=dict)
    weights: Weights = field(default_factory=Weights)


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
        """Yield the evidence about one chunk, none where there is nothing to say."""
        ...


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a static signal saw: a rule of its own and where, in character offsets of the file's text.

    `severity` and `confidence` are the rule's unless given. `reason` is one
    line for a person; untrusted text in it is escaped where it is shown.
    """

    rule: str
    start: int
    end: int
    reason: str
    severity: Severity | None = None
    confidence: Confidence | None = None
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)


@runtime_checkable
class FileSignal(Protocol):
    """A static signal that looks at one whole file; the audit shows its findings, the ranking its penalties.

    Without a service of `needs` it is not asked. It may have a `uses`, a
    frozenset of services that it consults where there are any.

    Its penalty for a rule is the weight `name.rule`, charged once a chunk.
    It looks at nothing but the text and its services: never at the file's
    name or folder, so that renaming a file changes no finding.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]]
    needs: ClassVar[frozenset[str]]

    def inspect(self, reading: Reading, context: Context) -> Iterable[Sighting]:
        """Yield what stands out in one file."""
        ...


@runtime_checkable
class CorpusSignal(Protocol):
    """A static signal that needs all files at once, such as one that counts near-duplicates."""

    name: ClassVar[str]
    summary: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]]
    needs: ClassVar[frozenset[str]]

    def inspect_corpus(self, readings: Iterable[Reading], context: Context) -> Iterable[tuple[str, Sighting]]:
        """Yield what stands out, each with the path of its file."""
        ...
