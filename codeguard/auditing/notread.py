"""What of a file no detector has looked at, as sightings of the audit's own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.models import Severity, SourceFile
from codeguard.reading import Reading
from codeguard.signals import Sighting

SYNTAX = "syntax"
NOT_FULLY_READ = "not-fully-read"
SHOWN = 5  # stretches of lines in one reason
_SHEBANG = re.compile(r"#![^\r\n]*(?:python|pypy)", re.IGNORECASE)
_NEARLY_PYTHON = (".pyx", ".pxd", ".pxi")
_NOTEBOOK = re.compile(r'"cell_type"\s*:\s*"code"')


def is_python(file: SourceFile) -> bool:
    """Say whether a file of no known language is read as Python all the same: Cython, or by its `#!` line."""
    return file.language == "text" and (
        file.path.lower().endswith(_NEARLY_PYTHON) or _SHEBANG.match(file.text) is not None
    )


def is_notebook(file: SourceFile) -> bool:
    """Say whether a file is a notebook, by its name or by what it says of its cells."""
    return file.language == "text" and (
        file.path.lower().endswith(".ipynb") or _NOTEBOOK.search(file.text) is not None
    )


def syntax(reading: Reading) -> Iterator[Sighting]:
    """Yield that a Python file does not parse, and which of its lines are not looked at."""
    if not reading.syntax_error or not reading.text.strip():
        return
    ranges = reading.unparsed
    shown = ", ".join(_lines(first, last) for first, last in ranges[:SHOWN])
    more = f" and {len(ranges) - SHOWN} more" if len(ranges) > SHOWN else ""
    missing = f"; not looked at: {shown}{more}" if ranges else "; all of its statements do by themselves"
    first = ranges[0][0] if ranges else 1
    start = reading.line_starts[min(first, len(reading.line_starts)) - 1]
    yield Sighting(SYNTAX, start, start, f"does not parse ({reading.syntax_error}){missing}")


def bounds(reading: Reading) -> Iterator[Sighting]:
    """Yield every bound that a reader or a signal has met; to be asked when all of them are done."""
    if is_notebook(reading.file):
        yield from _foreign_cells(reading)
    starts = reading.line_starts
    for limit in reading.unread.limits:
        start = starts[min(max(limit.line, 1), len(starts)) - 1]
        where = f" (line {limit.line})" if limit.line else ""
        yield Sighting(NOT_FULLY_READ, start, start, f"{limit.what}{where}")


def _foreign_cells(reading: Reading) -> Iterator[Sighting]:
    if reading.notebook is None:
        reason = (
            "a notebook that is no JSON, or not in Python, is looked at as text: no rule about code sees it"
        )
        yield Sighting(NOT_FULLY_READ, 0, 0, reason, Severity.LOW)
        return
    for start in reading.notebook.foreign[:SHOWN]:
        reason = "a cell in another language is looked at as text: no rule about code sees it"
        yield Sighting(NOT_FULLY_READ, start, start, reason, Severity.LOW)


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"
