"""Value types that every package of codeguard uses: files and their chunks, evidence, verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, IntEnum, StrEnum
from itertools import takewhile
from typing import Any, NamedTuple


class ChunkKind(StrEnum):
    """What a chunk is a piece of."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    MODULE = "module"
    LINES = "lines"


class Trust(StrEnum):
    """What a verified manifest says about a chunk (see `codeguard.trust`)."""

    TRUSTED = "trusted"
    COPY = "copy"
    MODIFIED = "modified"
    UNLISTED = "unlisted"


class OnDisk(StrEnum):
    """How an indexed file compares with the disk."""

    SAME = "same"
    CHANGED = "changed"
    GONE = "gone"
    ELSEWHERE = "elsewhere"  # the folder that was indexed is not on this disk: nothing to compare with

    @property
    def differs(self) -> bool:
        """Whether the disk has something else than the index."""
        return self in (OnDisk.CHANGED, OnDisk.GONE)


class Severity(IntEnum):
    """How much harm follows if a piece of evidence is right."""

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
    """The behavior checker's verdict on a function."""

    PASS = "pass"
    DIFFERS = "differs"
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


def parts_digest(*parts: str) -> str:
    """Return the sha256 of several texts, as 64 hexadecimal digits; moving text between them changes it."""
    return text_digest(json.dumps(parts))


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

    `secrets` are the rules that found secrets in it. If there are any and the file went through
    `codeguard.corpus.secrets.without_secrets`, `text` has stars in their place while `sha256` is that of the
    original text, and `withheld` says that the chunk must never be retrieved.
    """

    path: str
    symbol: str
    kind: ChunkKind
    span: Span
    text: str
    sha256: str
    language: str
    imports: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    withheld: bool = False

    @property
    def masked(self) -> bool:
        """Whether `text` differs from the text that `sha256` was computed from."""
        return bool(self.secrets)

    @property
    def text_sha256(self) -> str:
        """The sha256 of the current `text`."""
        return text_digest(self.text) if self.secrets else self.sha256

    @property
    def start_line(self) -> int:
        """First line, 1-based."""
        return self.span.start_line

    @property
    def end_line(self) -> int:
        """Last line, 1-based, inclusive."""
        return self.span.end_line


@dataclass(frozen=True, slots=True)
class Sibling:
    """A file that another one imports. The text of a trusted one is left out: the checker has it."""

    path: str
    sha256: str
    text: str = ""
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the corpus with its chunks; `text` is the whole file, decoded.

    Of a notebook, `text` is what its cells hold, as Python, and `raw` is the whole file, where it is at hand; places
    are those of the file.

    `parsed` is False if it was chunked by lines. `syntax_errors` says that the file as a whole does not
    parse. `notes` are messages for the user (guessed encoding, missing grammar, ...). `siblings` are the files
    that it imports, where they matter: for checks of behavior.
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
    siblings: tuple[Sibling, ...] = ()
    raw: str = ""

    def lines_of(self, chunk: Chunk) -> tuple[int, int]:
        """Return the first and last line of a chunk in `text`, which in a notebook are not those of its file."""
        if self.language != "python" or not self.path.lower().endswith(".ipynb"):
            return chunk.start_line, chunk.end_line
        before = takewhile(lambda item: item.span != chunk.span, self.chunks)
        first = 1 + sum(item.text.count("\n") for item in before)
        return first, first + chunk.text[:-1].count("\n")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that did not enter the corpus, and why."""

    path: str
    reason: str


def named(item: object, names: str) -> dict[str, Any]:
    """Return the attributes of these names in their order, of enumerations the values."""
    values = {name: getattr(item, name) for name in names.split()}
    return {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation about one chunk.

    `signal` names the source, `id` the rule within it. `penalty` is in units
    of the ranking's standardized distance. `convicts` says that this evidence on its own ranks the chunk
    behind every chunk that is not convicted, `demotes` that it ranks it behind every chunk that is neither
    demoted nor convicted. `reason` is one line for the user. `span` is its place in the file.
    """

    signal: str
    id: str
    penalty: float
    reason: str
    convicts: bool = False
    demotes: bool = False
    severity: Severity = Severity.INFO
    confidence: Confidence = Confidence.MEDIUM
    span: Span | None = None
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as plain values, as `query --format json` shows it."""
        values = named(
            self, "signal id penalty convicts demotes severity confidence reason span measurements"
        )
        grades = {name: getattr(self, name).name.lower() for name in ("severity", "confidence")}
        return values | grades | {"span": self.span and [*self.span], "measurements": {**self.measurements}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Evidence:
        """Rebuild evidence from `to_json`'s value; raise KeyError or ValueError if it is malformed."""
        return cls(
            signal=str(value["signal"]),
            id=str(value["id"]),
            penalty=float(value["penalty"]),
            reason=str(value["reason"]),
            convicts=bool(value["convicts"]),
            demotes=bool(value["demotes"]),
            severity=Severity[str(value["severity"]).upper()],
            confidence=Confidence[str(value["confidence"]).upper()],
            span=None if value["span"] is None else Span(*(int(part) for part in value["span"])),
            measurements=dict(value["measurements"]),
        )


@dataclass(frozen=True, slots=True)
class SpecCoverage:
    """How much of the trusted code has expectations.

    `functions` counts trusted functions and methods that callers can reach, `with_examples` those
    with at least one example, and `hand_written` the specs in TOML files. `missing` are the packages
    that the sandbox lacks, with the number of trusted functions whose files import them.
    """

    functions: int
    with_examples: int
    hand_written: int
    missing: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the behavior checker found about one function.

    `origin` says where the expectation comes from (`file:line` or the name of
    a spec). `counterexample` is the smallest differing call found, as source
    text with expected and got. `share` is the share of the generated inputs
    on which the candidate differs, 0 to 1. `notes` are observations without
    penalty. `effects` are reported by the confined child itself and may be forged: they may lower a rank,
    never raise it. `coverage` is full if the text shows that nothing is hidden in it; the child's own report
    of its coverage can only make it partial. `claims` names the trusted function that a reader would take
    this function for although no check showed that it behaves like it: it may be a different function, or not
    checkable, so this convicts nothing. `refuted` says that a call showed that it is not that function, `replaced`
    that an importer of the file may get something else under its name. `answers` are what it claims to be and what it
    answered to probes, see `codeguard.behavior.rivals`.
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
    refuted: bool = False
    spent: bool = False  # not fully checked, for its size or its share of the budget, and so not cleared
    replaced: bool = False
    not_yet: bool = False  # not checked so far; never cached
    alone: bool = False  # nothing that its file imports from untrusted files was looked at
    decided_by: str = ""  # the row of the table of verdicts that decided
    answers: tuple[str, ...] = ()

    @property
    def false_claim(self) -> bool:
        """Whether calls showed that it is not the trusted function it appears to be."""
        return self.refuted and bool(self.claims)

    @property
    def unannounced(self) -> bool:
        """Whether its calls had effects that nothing announces, and no comparison showed anything."""
        return self.verdict is Verdict.NO_SIGNAL and self.decided_by in ("unannounced", "sends-secret")

    @property
    def different(self) -> bool:
        """Whether calls showed that it is another function than the trusted one that it was compared with."""
        return self.verdict is Verdict.NO_SIGNAL and self.decided_by in ("different", "other-arguments")

    @property
    def word(self) -> str:
        """The verdict as text, or what calls showed where no verdict is on a trusted function's behavior."""
        shown = {
            "false claim": self.false_claim,
            "unannounced": self.unannounced,
            "different": self.different,
        }
        return next((word for word, holds in shown.items() if holds), self.verdict.value)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "not_yet"}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CheckReport:
        """Rebuild a report from `to_json`'s value; raise KeyError or ValueError if it is malformed."""
        names = {item.name: str(item.type) for item in fields(cls) if item.name != "not_yet"}
        return cls(**{name: _READ[kind](value[name]) for name, kind in names.items()})


_READ: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "Verdict": Verdict,
    "Coverage": Coverage,
    "tuple[str, ...]": lambda texts: tuple(map(str, texts)),
}

# Verdicts that convict.
CONVICTING = frozenset({Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION})
DETECTOR_ERROR = "detector_error"  # id of the evidence that a signal failed
NOT_FULLY_READ = "not-fully-read"  # id of the evidence that a signal reached a limit
NOT_YET = "not-yet"  # id of the evidence that a signal has not run so far


_PLAIN = ("path", "sha256", "language", "parsed", "syntax_errors", "encoding")


def as_json(file: SourceFile) -> dict[str, Any]:
    """Return a file as JSON values; a chunk's digest is left out where it is that of its text."""
    imports: dict[tuple[str, ...], int] = {}
    chunks = []
    for chunk in file.chunks:
        scope = imports.setdefault(chunk.imports, len(imports))
        row: list[object] = [chunk.symbol, chunk.kind, chunk.text, chunk.language, scope, chunk.span]
        chunks.append([*row, chunk.sha256, chunk.secrets, chunk.withheld] if chunk.secrets else row)
    siblings = [(item.path, item.sha256, item.text, item.trusted) for item in file.siblings]
    plain = {name: getattr(file, name) for name in _PLAIN}
    plain |= {"raw": file.raw} if file.raw else {}
    return {**plain, "notes": file.notes, "chunks": chunks, "imports": list(imports), "siblings": siblings}


def rebuilt(value: Mapping[str, Any]) -> SourceFile:
    """Inverse of `as_json`; raise KeyError, TypeError or ValueError if the value is malformed."""
    imports = [tuple(item) for item in value["imports"]]
    chunks = []
    for symbol, kind, text, language, scope, span, *masked in value["chunks"]:
        sha256, rules, withheld = masked or (text_digest(text), (), False)
        chunk = Chunk(
            value["path"],
            symbol,
            ChunkKind(kind),
            Span(*span),
            text,
            sha256,
            language,
            imports[scope],
            tuple(rules),
            withheld,
        )
        chunks.append(chunk)
    return SourceFile(
        **{name: value[name] for name in _PLAIN},
        text="".join(chunk.text for chunk in chunks),
        chunks=tuple(chunks),
        notes=tuple(value["notes"]),
        siblings=tuple(Sibling(*item) for item in value["siblings"]),
        raw=value.get("raw", ""),
    )
