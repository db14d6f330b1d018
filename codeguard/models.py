"""Value types that every room of codeguard speaks: chunks, evidence, verdicts, rankings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple


class ChunkKind(StrEnum):
    """What a chunk is a piece of."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    MODULE = "module"
    LINES = "lines"


class Trust(StrEnum):
    """What a verified manifest says of a chunk (see `codeguard.provenance`)."""

    TRUSTED = "trusted"
    COPY = "copy"
    MODIFIED = "modified"
    UNLISTED = "unlisted"


class Severity(IntEnum):
    """How much harm follows where a piece of evidence is right."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4


class Confidence(IntEnum):
    """How often evidence of this kind is right."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


class Verdict(StrEnum):
    """What the behavior checker says of a function."""

    PASS = "pass"
    FAIL = "fail"
    DIVERGES = "diverges"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    VIOLATION = "violation"
    POLICY = "policy"
    CRASH = "crash"
    BADTYPE = "badtype"
    MALFORMED = "malformed"
    NO_SIGNAL = "no_signal"
    UNSUPPORTED = "unsupported"


class Coverage(StrEnum):
    """Whether the calls of a check reached every branch of the function."""

    FULL = "full"
    PARTIAL = "partial"


def text_digest(text: str) -> str:
    """Return the sha256 of a text's UTF-8 bytes, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Span(NamedTuple):
    """A stretch of a file: lines are 1-based and inclusive, bytes half-open."""

    start_line: int
    end_line: int
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """One function, method, class header, module remainder or run of lines of a file.

    `path` is relative to the corpus root, with `/`. `symbol` is the qualified
    name (`Class.method`), empty for a remainder. `text` is exact: the chunks
    of a file, put together, are the file. `imports` are the import
    statements in scope, as source text.
    """

    path: str
    symbol: str
    kind: ChunkKind
    span: Span
    text: str
    sha256: str
    language: str
    imports: tuple[str, ...] = ()

    @property
    def start_line(self) -> int:
        """First line, 1-based."""
        return self.span.start_line

    @property
    def end_line(self) -> int:
        """Last line, 1-based, inclusive."""
        return self.span.end_line


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the corpus with its chunks; `text` is the whole file, decoded.

    `parsed` is False where it was chunked by lines. `syntax_errors` says
    that the file as a whole does not parse. `notes` are lines for a person
    (guessed encoding, missing grammar, ...).
    """

    path: str
    text: str
    sha256: str
    language: str
    chunks: tuple[Chunk, ...]
    parsed: bool = True
    syntax_errors: bool = False
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that did not enter the corpus, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation about one chunk.

    `signal` names the source, `id` the rule within it. `penalty` is in units
    of the ranking's standardised distance. `convicts` says that this alone
    puts the chunk behind every chunk that is not convicted. `reason` is one
    line for a person. `span` says where, within the file.
    """

    signal: str
    id: str
    penalty: float
    reason: str
    convicts: bool = False
    severity: Severity = Severity.INFO
    confidence: Confidence = Confidence.MEDIUM
    span: Span | None = None
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as plain values, the way `query --format json` shows it."""
        return {
            "signal": self.signal,
            "id": self.id,
            "penalty": self.penalty,
            "convicts": self.convicts,
            "severity": self.severity.name.lower(),
            "confidence": self.confidence.name.lower(),
            "reason": self.reason,
            "span": None
            if self.span is None
            else [self.span.start_line, self.span.end_line, self.span.start_byte, self.span.end_byte],
            "measurements": dict(self.measurements),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Evidence:
        """Rebuild evidence from `to_json`'s value; KeyError or ValueError where it is not one."""
        return cls(
            signal=str(value["signal"]),
            id=str(value["id"]),
            penalty=float(value["penalty"]),
            reason=str(value["reason"]),
            convicts=bool(value["convicts"]),
            severity=Severity[str(value["severity"]).upper()],
            confidence=Confidence[str(value["confidence"]).upper()],
            span=None if value["span"] is None else Span(*(int(part) for part in value["span"])),
            measurements=dict(value["measurements"]),
        )


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the behavior checker found out about one function.

    `origin` says where the expectation comes from (`file:line` or the name of
    a spec). `counterexample` is the smallest differing call found, as source
    text with expected and got. `share` is the share of the generated inputs
    on which the candidate differs, 0 to 1. `notes` are observations without
    penalty. `effects` and `coverage` are reported by the confined child
    itself and may be forged: they may lower a rank, never raise it. `claims`
    names the trusted function that a reader would take a function for while
    it was not shown to behave like it: it may be another function or out of a
    check's reach, so it convicts nobody.
    """

    verdict: Verdict
    reason: str
    level: str
    tier: str = ""
    coverage: Coverage = Coverage.PARTIAL
    origin: str = ""
    counterexample: str = ""
    share: float = 0.0
    calls: int = 0
    effects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claims: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "level": self.level,
            "tier": self.tier,
            "coverage": self.coverage.value,
            "origin": self.origin,
            "counterexample": self.counterexample,
            "share": self.share,
            "calls": self.calls,
            "effects": list(self.effects),
            "notes": list(self.notes),
            "claims": self.claims,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CheckReport:
        """Rebuild a report from `to_json`'s value; KeyError or ValueError where it is not one."""
        return cls(
            verdict=Verdict(value["verdict"]),
            reason=str(value["reason"]),
            level=str(value["level"]),
            tier=str(value["tier"]),
            coverage=Coverage(value["coverage"]),
            origin=str(value["origin"]),
            counterexample=str(value["counterexample"]),
            share=float(value["share"]),
            calls=int(value["calls"]),
            effects=tuple(str(effect) for effect in value["effects"]),
            notes=tuple(str(note) for note in value["notes"]),
            claims=str(value["claims"]),
        )
