"""Outline Python by its indentation, for texts that do not parse as a whole.

With prose around code, Markdown fences or a syntax error, a parser that must interpret everything loses whole
functions. A `def` line and the lines indented below it are a function regardless of the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from codeguard.corpus.chunking.base import Mark, Outline
from codeguard.models import ChunkKind

MAX_HEADER = 4_000  # bytes of a `def` line, over all its physical lines, within which its colon must come

_TOKEN = re.compile(
    rb"(?P<comment>\#[^\n]*)"
    rb"|(?P<triple>'''|\"\"\")"
    rb"|(?P<string>'(?:[^'\\\n]|\\(?:\r\n|[\s\S]))*+'?|\"(?:[^\"\\\n]|\\(?:\r\n|[\s\S]))*+\"?)"
    rb"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<join>\\\r?\n)|(?P<end>\n)"
)
_CLOSERS = {
    b"'''": re.compile(rb"(?:[^'\\]|\\[\s\S]|'(?!''))*+'''"),
    b'"""': re.compile(rb"(?:[^\"\\]|\\[\s\S]|\"(?!\"\"))*+\"\"\""),
}
_HEAD = re.compile(
    rb"(?:async[ \t]+)?(?P<word>def|class)[ \t]+(?P<name>[^\W\d][\w\x80-\xff]*)[ \t]*(?P<next>[(\[:]?)"
)
_IMPORT = re.compile(rb"(?:import[ \t]+[\w.]+(?:[ \t]*[,;#]|[ \t]+as\b|\s*$)|from[ \t]+[\w.]+[ \t]+import\b)")
_BARE_CLASS = re.compile(rb"class[ \t]+[\w\x80-\xff]+[ \t]*:")
_BEHIND_PARAMETERS = re.compile(rb"[)\]]\s*+(?::|(?P<returns>->))")
_TRAILING = re.compile(rb"[ \t]*\#[^\n]*\Z")
_DECORATOR = re.compile(rb"@[ \t]*[^\W\d]")
_START = re.compile(rb"[ \t\f]*")
# A line that begins like this closes any bracket left open above it: valid code never has it inside one.
_RESTART = re.compile(
    rb"[ \t\f]*(?:(?:async[ \t]+)?def[ \t]+[^\W\d]\w*[ \t]*\(|class[ \t]+[^\W\d]\w*[ \t]*[(:]|@[^\W\d][\w.]*)"
)


@dataclass(slots=True)
class _Line:
    """A logical line: bytes `start` to `end`, line end included; indentation in columns, tabs to multiples of 8."""

    start: int
    end: int
    indent: int
    code: bytes


@dataclass(slots=True)
class _Open:
    """A function or class whose end is not reached yet."""

    start: int
    indent: int
    end: int
    word: bytes
    name: str
    header: bytes
    members: int
    body: int | None = None  # indentation of its first statement, if that is on a line of its own


def outline(source: bytes) -> Outline:
    """Return the functions, classes and import statements, by indentation.

    `source` is UTF-8. Functions inside functions stay in the outer one.
    """
    marks: list[Mark | None] = []
    imports: list[str] = []
    stack: list[_Open] = []
    decorated: int | None = None
    for line in _lines(source):
        if not line.code:
            continue
        # A comment belongs to the block that it is indented into, and ends no block: it may have any
        # indentation.
        if line.code.startswith(b"#"):
            for block in stack:
                if block.body is not None and block.body <= line.indent:
                    block.end = line.end
            continue
        while stack and stack[-1].indent >= line.indent:
            _close(stack, marks)
        for block in stack:
            block.end = line.end
            block.body = line.indent if block.body is None else block.body
        # Nested functions stay in the outer one: only functions of classes and modules are chunks.
        in_function = any(block.word == b"def" for block in stack)
        if not in_function and _DECORATOR.match(line.code):
            decorated = line.start if decorated is None else decorated
            continue
        head = _HEAD.match(line.code)
        if head and head["next"] and not in_function:
            name = head["name"].decode("utf-8", "replace")
            start = line.start if decorated is None else decorated
            stack.append(
                _Open(start, line.indent, line.end, head["word"], name, line.code[:MAX_HEADER], len(marks))
            )
            marks.append(None)
        elif not stack and _IMPORT.match(line.code):
            imports.append(_TRAILING.sub(b"", line.code).decode("utf-8", "replace"))
        decorated = None
    while stack:
        _close(stack, marks)
    return Outline(tuple(mark for mark in marks if mark is not None), tuple(imports))


def _close(stack: list[_Open], marks: list[Mark | None]) -> None:
    block = stack.pop()
    if not _is_complete(block.header):  # `def f(x) takes a number` in prose is not a function
        return
    scope = [outer.name for outer in stack]
    kind = ChunkKind.CLASS if block.word == b"class" else ChunkKind.METHOD if stack else ChunkKind.FUNCTION
    marks[block.members] = Mark(block.start, block.end, kind, ".".join([*scope, block.name]))


def _is_complete(header: bytes) -> bool:
    """Return whether a header reaches its colon, after a class's name or the brackets."""
    if _BARE_CLASS.match(header):
        return True
    behind = _BEHIND_PARAMETERS.search(header)
    return behind is not None and (not behind["returns"] or b":" in header[behind.end() :])


def _lines(source: bytes) -> Iterator[_Line]:
    """Yield the logical lines: brackets, triple quotes and backslashes join physical ones."""
    start = position = depth = 0
    never_closed: set[bytes] = set()
    size = len(source)
    while position < size:
        match = _TOKEN.search(source, position)
        if match is None:
            break
        position = match.end()
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "triple":
            quotes = match.group()
            closed = None if quotes in never_closed else _CLOSERS[quotes].match(source, position)
            if closed is None:
                never_closed.add(quotes)
            else:
                position = closed.end()
        elif kind == "end" and (depth == 0 or _RESTART.match(source, position)):
            depth = 0
            yield _line(source, start, position)
            start = position
    if start < size:
        yield _line(source, start, size)


def _line(source: bytes, start: int, end: int) -> _Line:
    white = _START.match(source, start)
    code_start = white.end() if white else start
    column = 0
    for byte in source[start:code_start]:
        column = 0 if byte == 0x0C else column + 1 if byte == 0x20 else column // 8 * 8 + 8
    return _Line(start, end, column, source[code_start:end].rstrip())
