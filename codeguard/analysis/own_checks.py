"""The engine's own checks of a file: its kind, syntax errors, and inline suppressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.analysis.reading import Reading
from codeguard.analysis.rules.base import MISSING_LINES, Match
from codeguard.analysis.text.segments import SegmentKind
from codeguard.models import NOT_FULLY_READ, Severity, SourceFile
from codeguard.syntax.unread import Limit

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


def is_python(file: SourceFile) -> bool:
    """Return whether a file of an unknown language is read as Python: Cython, or by its `#!` line."""
    return file.language == "text" and (
        file.path.lower().endswith(_NEARLY_PYTHON) or _SHEBANG.match(file.text) is not None
    )


def is_notebook(file: SourceFile) -> bool:
    """Return whether a file is a notebook, by its name or by its content."""
    return file.language == "text" and (
        file.path.lower().endswith(".ipynb") or _NOTEBOOK.search(file.text) is not None
    )


def file_kind(file: SourceFile) -> str:
    """Return the kind that decides how a file is read: its language, or `notebook` and the like."""
    return "python" if is_python(file) else "notebook" if is_notebook(file) else file.language


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


def limit_met(reading: Reading, limit: Limit) -> Match:
    """Return the match for a limit that a reader or detector exceeded."""
    start = reading.line_starts[min(max(limit.line, 1), len(reading.line_starts)) - 1]
    where = f" (line {limit.line})" if limit.line else ""
    return Match(NOT_FULLY_READ, start, start, f"{limit.what}{where}")


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
                reason = "asks to be ignored, which no comment can decide"
                yield Match(INLINE_IGNORE, segment.start + match.start(), segment.start + match.end(), reason)


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"
