"""The engine: reads a file once and runs every detector on it within the file's CPU time.

Audit and ranking both use it, in a worker process. A detector that exceeds its time or memory is
stopped. The matches that it found until then are kept, and the other detectors still run.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from codeguard import analysis, corpus, flow
from codeguard import syntax as model_of_source
from codeguard.analysis.observations import (
    AUDIT,
    DISCOVERY,
    ENGINE_RULES,
    Observation,
    all_observed,
    bound_met,
    detector_error,
    observe_match,
    rules_failed,
)
from codeguard.analysis.python.test_files import marked
from codeguard.analysis.reading import IN_CELLS, IN_PROSE, PROSE, Reading
from codeguard.analysis.rules.base import MISSING_LINES, DetectorContext, FileSignal, Match
from codeguard.analysis.text.segments import SegmentKind
from codeguard.corpus.chunking import gave_up
from codeguard.corpus.embedded import MOST, Embedded, code_in_prose
from codeguard.corpus.notebooks import NOTEBOOK, shell_in
from codeguard.models import NOT_FULLY_READ, Chunk, Severity, SourceFile
from codeguard.syntax.unread import Failure
from codeguard.workers.tasks import LOOKING_S, SOFT_SHARE, WALL, Allowance, Deadline, DeadlineError

MATCHES = 5_000  # per detector and file
RESERVED_S = 0.1  # seconds of the file's time reserved for each detector that has not run yet
ENGINE = ""  # name of the engine's own step
SYNTAX = "syntax"
INLINE_IGNORE = "inline-ignore"
SHOWN = 5  # ranges of lines named in a reason
MOST_IGNORES = 1_000  # in one file
_SHEBANG = re.compile(r"#![^\r\n]*(?:python|pypy)", re.IGNORECASE)
_NEARLY_PYTHON = (".pyx", ".pxd", ".pxi")
_CYTHON = re.compile(r"^[ \t]*(?:cdef|cpdef|ctypedef|from [\w.]{1,99} cimport|cimport)\b", re.MULTILINE)
_NOTEBOOK = re.compile(r'"cell_type"\s*:\s*"code"')
_IGNORE = re.compile(
    r"codeguard:[ \t]{0,8}ignore(?:\[[\w.,* \t-]{0,400}\])?[^\r\n]{0,400}",
    re.IGNORECASE,
)


class Step(NamedTuple):
    """The observations of one detector (or of the engine, whose name is empty).

    `lasting` is False if another run might give another result, for example because of a time
    limit.
    """

    signal: str
    observations: tuple[Observation, ...]
    lasting: bool = True

    def to_values(self) -> list[Any]:
        """Return the step as JSON values."""
        return [self.signal, [item.to_values() for item in self.observations], self.lasting]

    @classmethod
    def from_values(cls, values: Any) -> Step:
        """Return the step from the result of `to_values`.

        Raises:
            TypeError, ValueError: the values are not a step.
        """
        signal, observations, lasting = values
        return cls(str(signal), tuple(map(Observation.from_values, observations)), bool(lasting))


class Engine:
    """The detectors, ready to examine files.

    `observe` yields the engine's own step first, then one step per detector in order.
    """

    def __init__(self, signals: Iterable[FileSignal], context: DetectorContext) -> None:
        self._signals = tuple(signals)
        self._context = context

    def observe(self, file: SourceFile, only: Collection[str] | None = None) -> Iterator[Step]:
        """Yield the observations of a file, step by step; never raises because of the file's content.

        Args:
            file: chunked; its name only decides how it is read.
            only: the names of the detectors to run, all by default. The engine's own step is always made.
        """
        examination = _Examination(file, self._context)
        chosen = [item for item in self._signals if only is None or item.name in only]
        yield examination.own()
        for later, signal in zip(range(len(chosen) - 1, -1, -1), chosen, strict=True):
            yield examination.step(signal, RESERVED_S * later)


@dataclass(frozen=True)
class _Part:
    """Code inside a file: its reading, and a function from its offsets to those of the file."""

    reading: Reading
    place: Callable[[int], int]

    def in_file(self, match: Match) -> Match:
        """Return a match in the part as a match in the file."""
        return replace(match, start=self.place(match.start), end=self.place(match.end))


class _Examination:
    def __init__(self, file: SourceFile, context: DetectorContext) -> None:
        self._context = context
        self._gave_up = gave_up(file)
        self._left = Allowance(LOOKING_S * SOFT_SHARE)
        self._reading = Reading(replace(file, language="python") if is_python(file) else file)
        self._parts = [_Part(self._reading, int)]  # the file, and the code inside it
        self._told: dict[Reading, int] = {}  # number of the reading's limits already reported
        self._failed: dict[Reading, int] = {}  # the same for its failures

    def own(self) -> Step:
        """Return the engine's own observations: syntax errors, inline suppressions, cells read as text."""
        reading = self._reading
        if self._gave_up:
            reading.unread.note(
                "it met a bound of the parser or the chunker: its functions may not be told apart"
            )
        if "\0" in reading.text:
            reading.unread.note(
                "it has NUL bytes, which shells leave out and rules do not",
                reading.line_of(reading.text.index("\0")),
            )
        found = self._own(DISCOVERY, syntax)
        if is_notebook(reading.file):
            found += self._open_cells()
        elif reading.language in PROSE:
            found += self._open_blocks(reading.text)
        elif reading.file.path.lower().endswith(NOTEBOOK):
            self._part(Embedded(shell_in(reading.text), "bash", (0,), (0,)))
        found += self._own(AUDIT, inline_ignores)
        return Step(ENGINE, (*found, *self._limits(), *self._failures(AUDIT)))

    def step(self, signal: FileSignal, reserved_s: float) -> Step:
        """Return the observations of a detector in the file and in the code inside it."""
        found: list[Observation] = []
        lasting = True
        for part in self._parts:
            known = {(item.signal, item.rule, item.place) for item in found}
            seen, again = self._seen(signal, part, self._left.step(reserved_s))
            found += [item for item in seen if (item.signal, item.rule, item.place) not in known]
            lasting = lasting and again
        failed = list(self._failures(signal.name))
        return Step(signal.name, (*found, *self._limits(), *failed), lasting and not failed)

    def _seen(self, signal: FileSignal, part: _Part, deadline: Deadline) -> tuple[list[Observation], bool]:
        """Return the observations of a detector in one part, and whether another run would give the same."""
        reading, name = self._reading, signal.name
        matches: list[Match] = []
        seen: list[Observation] = []
        lasting = True
        try:
            with deadline:
                for item in islice(signal.inspect(part.reading, self._context), MATCHES):
                    matches.append(part.in_file(item))
        except DeadlineError as error:
            seen, lasting = [bound_met(f"the signal {name} gave {error}")], error.bound != WALL
        except MemoryError:
            seen = [bound_met(f"the signal {name} took more memory than a file is given")]
        except Exception as error:  # hostile text meets code that did not expect it
            seen, lasting = [detector_error(name, reading, error)], False
        if len(matches) == MATCHES:
            part.reading.unread.note(f"of {name} no more than {MATCHES:,} places were looked at")
        # What tests contain on purpose is marked in tests.
        tested = {rule.id for rule in signal.rules if rule.tested}
        matches = [marked(reading, item) if item.rule in tested else item for item in matches]
        try:
            return [*all_observed(signal, reading, matches), *seen], lasting
        except Exception as error:  # the detector has no such rule
            return [detector_error(name, reading, error), *seen], lasting

    def _open_cells(self) -> list[Observation]:
        found = self._own(AUDIT, foreign_cells)
        code = vars(self._reading).get("notebook")  # nothing if hostile JSON ended its reading
        if code is not None:
            chunks = self._reading.file.chunks if self._reading.file.raw else ()  # cut of the same text
            parts = [self._part(code.python, within=IN_CELLS, chunks=chunks)]
            if code.shell.text:
                self._part(code.shell)
            parts += [self._part(script, within=IN_CELLS) for script in code.scripts[:MOST]]
            for part in parts:
                found += self._own(DISCOVERY, functools.partial(_syntax_in, part))
            if len(code.scripts) > MOST:
                self._reading.unread.note(f"no more than {MOST} scripts of a notebook were read as code")
            found += self._open_blocks(code.prose.text, code.prose.place)
        return found

    def _open_blocks(self, text: str, place: Callable[[int], int] = int) -> list[Observation]:
        """Read the code blocks of prose; `place` maps their offsets to those of the file."""
        try:
            with self._left.step():
                for block in code_in_prose(text):
                    self._part(block, place, IN_PROSE)
        except (Exception, DeadlineError) as error:  # hostile text
            return [_unfinished(AUDIT, self._reading, error)]
        if sum(part.reading.within == IN_PROSE for part in self._parts) == MOST:
            self._reading.unread.note(f"no more than {MOST} blocks of code were read as code")
        return []

    def _part(
        self,
        piece: Embedded,
        place: Callable[[int], int] = int,
        within: str = "",
        chunks: tuple[Chunk, ...] = (),
    ) -> _Part:
        file = replace(self._reading.file, text=piece.text, language=piece.language, chunks=chunks, raw="")
        made = _Part(Reading(file, within), lambda offset: place(piece.place(offset)))
        self._parts.append(made)
        return made

    def _own(self, group: str, look: Callable[[Reading], Iterable[Match]]) -> list[Observation]:
        reading = self._reading
        try:
            with self._left.step():
                return [
                    observe_match(reading, item, group, ENGINE_RULES[item.rule]) for item in look(reading)
                ]
        except (Exception, DeadlineError) as error:  # the parser meets hostile text
            return [_unfinished(group, reading, error)]

    def _limits(self) -> Iterator[Observation]:
        """Yield the limits that were exceeded since the last step."""
        for part in self._parts:
            reading = part.reading
            limits = reading.unread.limits
            for limit in limits[self._told.get(reading, 0) :]:
                start = reading.line_starts[min(max(limit.line, 1), len(reading.line_starts)) - 1]
                where = f" (line {limit.line})" if limit.line else ""
                match = part.in_file(Match(NOT_FULLY_READ, start, start, f"{limit.what}{where}"))
                yield observe_match(self._reading, match, AUDIT, ENGINE_RULES[match.rule])
            self._told[reading] = len(limits)

    def _failures(self, group: str) -> Iterator[Observation]:
        """Yield what failed since the last step, together, by the names of the rules."""
        failed: list[Failure] = []
        for part in self._parts:
            known = part.reading.unread.failures
            failed += known[self._failed.get(part.reading, 0) :]
            self._failed[part.reading] = len(known)
        if failed:
            yield rules_failed(group, self._reading, failed)


def _unfinished(group: str, reading: Reading, error: BaseException) -> Observation:
    return (
        bound_met(str(error)) if isinstance(error, DeadlineError) else detector_error(group, reading, error)
    )


def kind_and_digest(file: SourceFile) -> tuple[str, ...]:
    """Return the properties of a file that its observations depend on."""
    named = file.path.lower().endswith(NOTEBOOK)  # also where only the text of its cells is at hand
    kind = "python" if is_python(file) else "notebook" if named or is_notebook(file) else file.language
    return (file.sha256, file.language, kind, *(("gave up",) if gave_up(file) else ()))


def is_python(file: SourceFile) -> bool:
    """Return whether a file of an unknown language is read as Python: Cython, or by its `#!` line."""
    return file.language == "text" and (
        file.path.lower().endswith(_NEARLY_PYTHON) or _SHEBANG.match(file.text) is not None
    )


def is_notebook(file: SourceFile) -> bool:
    """Return whether a file is a notebook, by its name or by its content."""
    return file.language == "text" and (
        file.path.lower().endswith(NOTEBOOK) or _NOTEBOOK.search(file.text) is not None
    )


def _syntax_in(part: _Part, _: Reading) -> Iterator[Match]:
    return map(part.in_file, syntax(part.reading))


def syntax(reading: Reading) -> Iterator[Match]:
    """Yield a match if a Python file does not parse, with the lines that are not examined."""
    if not reading.syntax_error or not reading.text.strip():
        return
    ranges = reading.unparsed
    shown = ", ".join(_lines(first, last) for first, last in ranges[:SHOWN])
    more = f" and {len(ranges) - SHOWN} more" if len(ranges) > SHOWN else ""
    missing = f"; not looked at: {shown}{more}" if ranges else "; all of its statements do by themselves"
    first = ranges[0][0] if ranges else 1
    start = reading.line_starts[min(first, len(reading.line_starts)) - 1]
    # Cython declarations are not Python and cannot be imported, so syntax errors are normal there.
    cython = reading.file.path.lower().endswith(_NEARLY_PYTHON) and _CYTHON.search(reading.text) is not None
    # A bound that the parser met is reported by itself, as `audit.not-fully-read`.
    what = reading.syntax_error.rpartition(" in line ")[0]
    reported = bool(what) and any(what in limit.what for limit in reading.unread.limits)
    severity = Severity.LOW if cython or reported else None
    reason = f"does not parse ({reading.syntax_error}){missing}"
    measured = {MISSING_LINES: len(ranges)} if ranges else {}
    yield Match(SYNTAX, start, start, reason, severity, measurements=measured)


def foreign_cells(reading: Reading) -> Iterator[Match]:
    """Yield the notebook cells whose code is read as text."""
    if reading.notebook is None:
        reason = "a notebook that is no JSON is looked at as text: no rule about code sees it"
        yield Match(NOT_FULLY_READ, 0, 0, reason)
        return
    for start in reading.notebook.shown[:1]:
        reason = "an output that a browser runs: only rules for JavaScript, which are few, see it"
        yield Match(NOT_FULLY_READ, start, start, reason)
    for start in reading.notebook.foreign[:SHOWN]:
        reason = "a cell in another language is looked at as text: no rule about code sees it"
        yield Match(NOT_FULLY_READ, start, start, reason, Severity.LOW)


def inline_ignores(reading: Reading) -> Iterator[Match]:
    """Yield the comments (in prose, all positions) that ask the audit to ignore something."""
    if "codeguard:" not in reading.text.lower():
        return
    count = 0
    for segment in reading.segments:
        if segment.kind in (SegmentKind.COMMENT, SegmentKind.PROSE):
            for match in _IGNORE.finditer(reading.text[segment.start : segment.end]):
                count += 1
                if count > MOST_IGNORES:
                    return
                start, end = segment.start + match.start(), segment.start + match.end()
                yield Match(INLINE_IGNORE, start, end, "asks to be ignored, which no comment can decide")


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


@functools.cache
def engine_version() -> str:
    """Return a digest of all code and data that the observations of a file depend on."""
    packages = (analysis, flow, model_of_source)
    paths = [path for package in packages for path in sorted(Path(package.__path__[0]).rglob("*"))]
    digest = hashlib.sha256()
    for path in (*paths, *sorted(Path(corpus.__path__[0]).glob("*.py"))):
        # The interpreter writes bytecode to temporary files first.
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
