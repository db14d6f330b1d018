"""What a notebook's cells hold (Python, shell, prose), with the place of each character in the notebook file.

A notebook (`.ipynb`) is JSON. Only its strings are parsed by `json`, which reports no offsets and recurses, to find
everything that a person would run: every object that calls itself a code cell, anywhere, and every value of a
repeated key.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from json.decoder import scanstring  # type: ignore[attr-defined]

from codeguard.corpus.embedded import LANGUAGES, Embedded
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import parse

_BLANKS = lazy(r"[ \t\r\n]*")
_PLAIN = lazy(r"[-+.\w]{1,400}")
_PIECE = lazy(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL
)
_SOURCES = frozenset({"source", "input"})  # `input` in notebooks of the third format
_SCRIPT_OUTPUT, _PAGE_OUTPUTS = "application/javascript", frozenset({"text/html", "image/svg+xml"})
# What a browser runs of a page: the bodies of scripts, and the values of handlers and of addresses that are scripts.
_RUN_OF_PAGE = lazy(
    r"<script\b[^>]{0,2000}>(?P<body>.*?)(?:</script|\Z)"
    r"|\bon\w{2,30}\s{0,20}=\s{0,20}(?:\"(?P<double>[^\"]*)|'(?P<single>[^']*)|(?P<bare>[^\s>\"']+))"
    r"|=\s{0,20}[\"']?\s{0,20}javascript:(?P<address>[^\"'>]*)",
    re.IGNORECASE | re.DOTALL,
)
_PAGE_MAGIC = frozenset({"html", "svg"})
_CELL_MAGIC = lazy(r"\s*%%\s*(\w+)")
_OF_PYTHON = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "pypy"})
_OF_SHELL = frozenset({"bash", "sh", "system", "sx"})
_SHELL_LINE = lazy(r"[ \t]*(?:!!?|%(?:sx|system)\b)")
_NO_LINE_END = lazy(r"[^\r\n]+")
_LINE_MAGIC = lazy(r"[ \t]*(?:[%!?]|[\w.]{1,200}\?{1,2}\s*$)")
_LINE = lazy(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
NOTEBOOK = ".ipynb"
LINE_END = lazy(r"\r\n|\r|\n")
_COMMENT = lazy(r"[ \t]*(?:pass  )?#[ ]?")  # of a line that is no Python
DEEPEST = 20_000  # deeper than notebook readers accept
_PARSED = 2_000_000  # characters that are parsed to find lines that are not Python


@dataclass(frozen=True, slots=True)
class _Written:
    """A string of the notebook: its value, and where its content is in the file."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Object:
    """An object or array of the notebook being read; `key` is the one whose value comes next."""

    is_array: bool
    key: str = ""
    kinds: list[str] = field(default_factory=list)
    sources: list[_Written] = field(default_factory=list)
    scripts: list[_Written] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NotebookCode:
    """What a notebook holds: all cells as one Python text, prose, and code in other languages.

    What is no Python is a comment in `python`: prose, magic, cells that are in another language or do not parse.
    `foreign` are the offsets of cells that declare another language. `shell` holds the lines that are passed to a
    shell, at their offsets in `python`, with blanks in between; it is empty if there are none. `scripts` are what is
    read by itself: cells that are comments, and what a browser runs of the outputs, whose offsets in the file are
    `shown`.
    """

    python: Embedded
    shell: Embedded
    prose: Embedded
    scripts: tuple[Embedded, ...]
    foreign: tuple[int, ...]
    shown: tuple[int, ...]


def _placed(raw: str, cells: Iterable[Sequence[_Written]], language: str) -> Embedded:
    """Return the text of cells, each with a line end, and where each escape and what is between them begins."""
    texts: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    begun = 0
    for part in (part for cell in cells for part in (*cell, _Written("\n", cell[-1].end, cell[-1].end))):
        texts.append(part.text)
        starts.append(begun)
        places.append(part.start)
        at = begun
        for piece in _PIECE.finditer(raw, part.start, part.end):
            at += 1 if piece[0].startswith("\\") else len(piece[0])
            starts.append(at)
            places.append(piece.end())
        begun += len(part.text)
    return Embedded("".join(texts), language, tuple(starts), tuple(places))


def _code_of(raw: str, found: Sequence[_Cell], is_python: bool) -> NotebookCode:
    outputs = [item for cell in found for item in cell.scripts if item.text.strip()]
    scripts = [_placed(raw, [[item]], "javascript") for item in outputs]
    foreign: list[int] = []
    made = _Text()
    budget = _PARSED
    for cell in (cell for cell in found if cell.sources):
        said = "".join(part.text for part in cell.sources)
        magic = _CELL_MAGIC.match(said) if cell.is_code else None
        code, is_kept = said, cell.is_code and (magic is None or magic[1] not in _OF_SHELL)
        if is_kept:
            code, is_wrong, budget = _without_magic(said, budget)
            declared = magic[1].lower() if magic is not None else "python" if is_python else ""
            if declared not in _OF_PYTHON:
                page = declared in _PAGE_MAGIC
                language = "javascript" if page else LANGUAGES.get(declared, "")
                if language:
                    text = (
                        _run_of_page(said) if page else said[magic.end() if magic else 0 :].rjust(len(said))
                    )
                    scripts.append(_placed(raw, [_cut_as(cell.sources, text)], language))
                elif is_wrong or magic is not None:
                    foreign.append(cell.sources[0].start)
            elif is_wrong:  # by itself, or a string that it opens would end in another cell
                scripts.append(_placed(raw, [_cut_as(cell.sources, code)], "python"))
            is_kept = not is_wrong
        made.add(_placed(raw, [cell.sources], "python"), f"{code}\n" if is_kept else "")
    python = Embedded("".join(made.parts), "python", tuple(made.starts), tuple(made.places))
    return NotebookCode(
        python=python,
        shell=replace(python, text=shell_in(python.text), language="bash"),
        prose=_placed(raw, [cell.sources for cell in found if not cell.is_code and cell.sources], "text"),
        scripts=tuple(scripts),
        foreign=tuple(foreign),
        shown=tuple(item.start for item in outputs),
    )


class _Text:
    """A Python text in the making, with comments for what is no Python, and where its parts are in the file."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.places: list[int] = []
        self._size = 0

    def add(self, cell: Embedded, code: str) -> None:
        """Add a cell, of which `code` has other lines where they are no Python; "" if none is."""
        at = 0
        for line, kept in zip_longest(_LINE.findall(cell.text), _LINE.findall(code)):
            end, body = at + len(line), line.lstrip(" \t")
            mark = "" if line == kept else "# " if not code or body == line else "pass  # "
            if mark:  # a statement, where a block may have no other one
                self._put(line[: len(line) - len(body)] + (mark if body.strip() else mark.rstrip()))
                at = end - len(body)
            first, last = bisect_right(cell.starts, at), bisect_left(cell.starts, end)
            self.starts += (self._size, *(start - at + self._size for start in cell.starts[first:last]))
            self.places += (cell.place(at), *cell.places[first:last])
            self._put(cell.text[at:end].encode("utf-8", "replace").decode())  # without lone surrogates
            at = end
        if not code:  # or the comment would be part of a function below it
            self.starts.append(self._size)
            self.places.append(cell.place(at))
            self._put("\n")

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self._size += len(text)


def notebook_code(raw: str) -> NotebookCode | None:
    """Return what the cells of a notebook hold, or None if it is not JSON.

    Cells that are Python are read as such, whatever language the notebook says it is in: the front end goes by the
    name of a kernel.
    """
    found = _read(raw)
    return None if found is None else _code_of(raw, *found)


def shell_in(cells: str) -> str:
    """Return what a notebook's Python text passes to a shell, with blanks for the rest; "" if that is all."""
    parts, is_cell, some = [], False, False
    for line in _LINE.findall(cells):
        start = _COMMENT.match(line)
        said = "" if start is None else line[start.end() :]
        magic, mark = _CELL_MAGIC.match(said), _SHELL_LINE.match(said)
        if start is None or magic is not None:
            is_cell = magic is not None and magic[1] in _OF_SHELL
            said = ""
        elif mark is not None or not is_cell:
            said = said[mark.end() :] if mark is not None else ""
        some = some or bool(said.strip())
        parts.append(_blanked(line[: len(line) - len(said)]) + said)
    return "".join(parts) if some else ""


def _read(raw: str) -> tuple[list[_Cell], bool] | None:
    """Return the cells of a notebook, and whether it says that it is in Python, None if it is not JSON."""
    try:
        found = list(_cells(raw))
    except _MalformedError:
        return None
    languages = [item for item in found if isinstance(item, str)]
    is_python = not languages or any(item.lower().startswith(("python", "ipython")) for item in languages)
    return [item for item in found if isinstance(item, _Cell)], is_python


def _cut_as(cell: list[_Written], text: str) -> list[_Written]:
    """Return the parts of a cell with a text of the same length in their place."""
    parts, at = [], 0
    for part in cell:
        parts.append(_Written(text[at : at + len(part.text)], part.start, part.end))
        at += len(part.text)
    return parts


def _run_of_page(page: str) -> str:
    """Return a page with blanks for all but what a browser runs of it."""
    kept: list[str] = []
    at = 0
    for found in _RUN_OF_PAGE.finditer(page):
        group = found.lastgroup or "body"
        kept += (_blanked(page[at : found.start(group)]), found[group])
        at = found.end(group)
    return "".join((*kept, _blanked(page[at:])))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell, or an object with outputs that a browser runs; `scripts` are those."""

    is_code: bool
    sources: list[_Written]
    scripts: list[_Written]


class _MalformedError(ValueError):
    pass


def _cells(raw: str) -> Iterator[_Cell | str]:
    """Yield each cell, and every language that the notebook says it is in."""
    stack: list[_Object] = []
    at = 0
    while at < len(raw):
        at = _end(_BLANKS.match(raw, at))
        character = raw[at : at + 1]
        if character == '"':
            try:
                text, end = scanstring(raw, at + 1, False)
            except ValueError:
                raise _MalformedError from None
            top = stack[-1] if stack else None
            after = _end(_BLANKS.match(raw, end))
            if top is not None and not top.is_array and raw[after : after + 1] == ":":
                top.key = text
                at = after + 1
                continue
            if top is not None:
                yield from _told(stack, _Written(text, at + 1, end - 1))
            at = end
        elif character in ("{", "["):
            if len(stack) >= DEEPEST:
                raise _MalformedError
            stack.append(_Object(character == "["))
            at += 1
        elif character in ("}", "]"):
            if not stack or stack[-1].is_array is not (character == "]"):
                raise _MalformedError
            closed = stack.pop()
            if closed.kinds or closed.scripts:
                yield _Cell("code" in closed.kinds, closed.sources if closed.kinds else [], closed.scripts)
            at += 1
        elif character == ",":
            at += 1
        elif character:
            at = _end(_PLAIN.match(raw, at))
    if stack:
        raise _MalformedError


def _told(stack: list[_Object], found: _Written) -> Iterator[str]:
    """Process a string value: a cell's kind, part of a cell's source, or possibly a language."""
    top = stack[-1]
    holder = stack[-2] if top.is_array and len(stack) > 1 else top
    if holder.is_array:
        return
    if holder.key in _SOURCES:
        holder.sources.append(found)
    elif holder.key == _SCRIPT_OUTPUT:
        holder.scripts.append(found)
    elif holder.key in _PAGE_OUTPUTS:
        holder.scripts.append(replace(found, text=_run_of_page(found.text)))
    elif holder is top and top.key == "cell_type":
        top.kinds.append(found.text)
    elif holder is top and len(stack) > 2:
        around = stack[-2].key
        if (around, top.key) in (("kernelspec", "language"), ("language_info", "name")):
            yield found.text


def _end(match: re.Match[str] | None) -> int:
    if match is None:
        raise _MalformedError
    return match.end()


def _without_magic(code: str, budget: int) -> tuple[str, bool, int]:
    """Return a cell with magic commented out at equal length, whether it does not parse, and the rest of the budget.

    Lines that look like magics are replaced only if the cell does not parse, because a statement may continue
    in a line that begins with `%`.
    """
    lines, wrong = _LINE.findall(code), 1
    while budget >= 0:
        budget -= len(code) + 1
        wrong = _wrong_line("".join(lines))
        if not 0 < wrong <= len(lines) or _LINE_MAGIC.match(lines[wrong - 1]) is None:
            break
        lines[wrong - 1] = _commented(lines[wrong - 1])
    return "".join(lines), wrong > 0, budget


def _wrong_line(code: str) -> int:
    """Return the line of a text's syntax error, or 0 if it parses or fails otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parse(code)
        except SyntaxError as error:
            return error.lineno or 0
        except (ValueError, RecursionError, MemoryError):
            return 0
    return 0


def _commented(line: str) -> str:
    """Return a line as a statement that does nothing, with the rest of it in a comment."""
    body = line.lstrip(" \t")
    text = body.rstrip("\r\n")
    return line[: len(line) - len(body)] + ("0#" + text[2:] if len(text) > 1 else "0") + body[len(text) :]


def _blanked(text: str) -> str:
    """Return a text with blanks for all but its line ends."""
    return _NO_LINE_END.sub(lambda found: " " * len(found[0]), text)
