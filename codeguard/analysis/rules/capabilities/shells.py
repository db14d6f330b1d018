"""Threats in shell commands and in JavaScript, by the rows `shell` and `script` in the tables of the rules.

A row has `find`, alternatives of a regular expression in which `<end>` is the end of a word and `<reader>` a program
that only reads, `ignore_case`, and `says`, the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from codeguard.corpus.patterns import lazy, stored

_WRITTEN = stored(Path(__file__).with_suffix(".toml"))


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, with the rows of `shells.toml` in the places of their names: `<held>`."""
    while found := _NAMED.search(text):
        row = _WRITTEN[found[1]]
        text = text.replace(found[0], row if isinstance(row, str) else f"(?:{'|'.join(row)})")
    return lazy(text, flags)


_NAMED = lazy(r"(?<!\?P)<([a-z]+)>")
_Row = tuple[str, str, re.Pattern[str]]


def _rows(kind: str) -> Iterator[_Row]:
    """Yield rule, description and pattern of the rows of a kind in the tables of the rules."""
    for rule, table in stored(Path(__file__).with_name("rules.toml")).items():
        for row in table.get(kind, ()):
            yield rule, row["says"], pattern("|".join(row["find"]), re.I if row.get("ignore_case") else 0)


_SHELL, _SCRIPT = tuple(_rows("shell")), tuple(_rows("script"))
_QUICK, _COLLECTS, _UPLOADS = pattern("<quick>", re.I), pattern("<collects>"), pattern("<uploads>")


def shell_threats(command: str) -> Iterator[tuple[str, str]]:
    """Yield the rule and a description for each threat in a shell command."""
    seen: set[str] = set()
    for rule, what, _, _ in shell_places(command):
        if rule not in seen:
            seen.add(rule)
            yield rule, what


_ASSIGNED = lazy(
    r"[ \t]{0,40}(?:export\s{1,3}|local\s{1,3})?([A-Za-z_]\w{0,40})="
    r"(\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|\$\([^\n]{0,2000}\)|[^\s;&|]{1,2000})"
)
_LINE = lazy(r"[^\n]{1,4000}")
_VARIABLE = lazy(r"\$(?:\{(\w{1,41})\}|(\w{1,41}))")
_MOST_LINES = 2_000  # maximum lines with expanded variables
_LONGEST = 4_000  # characters of a line with its variables expanded


_FAR = 2_000  # characters between what is collected and where it is sent
_MOST_COLLECTED = 50


def _sent_later(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield where credentials are put into files, or into a command's argument, and then sent to another machine."""
    done = 0
    for found in islice(_COLLECTS.finditer(text), _MOST_COLLECTED):
        if found.start() < done:
            continue
        line = text.rfind("\n", 0, found.start()) + 1  # of a command that names its receiver first
        sent = _UPLOADS.search(text, line, found.end() + _FAR)
        if sent is not None:
            done = sent.end()
            start = min(found.start(), sent.start())
            yield "exfiltration", "sends secrets of this machine away", start, max(found.end(), sent.end())


def shell_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in shell text."""
    if not _QUICK.search(text):
        return
    yield from _places(text, _SHELL)
    if _UPLOADS.search(text):
        yield from _sent_later(text)
    if "=" in text and "$" in text:
        yield from _with_variables(text)


def _with_variables(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield threats that show after variables are expanded, at the lines that use them."""
    values: dict[str, str] = {}

    def put_in(line: str) -> str:
        return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), line)[:_LONGEST]

    lines = [
        (found.start(), found.end(), found.group()) for found in islice(_LINE.finditer(text), _MOST_LINES)
    ]
    for start, end, line in lines:
        assigned = _ASSIGNED.match(line)
        if "$" not in line and assigned is None:
            continue
        whole = put_in(line)
        if whole != line:
            for rule, what, _, _ in _places(whole, _SHELL):
                if not any(pattern.search(line) for known, _, pattern in _SHELL if known == rule):
                    yield rule, what, start, end
        if assigned is not None:
            values[assigned[1]] = put_in(assigned[2].strip("\"'"))


def script_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in JavaScript text that no data flow shows."""
    yield from _places(text, _SCRIPT)


def _places(text: str, table: tuple[_Row, ...]) -> Iterator[tuple[str, str, int, int]]:
    for rule, what, pattern in table:
        for found in pattern.finditer(text):
            yield rule, what, found.start(), found.end()
