"""From marks to pieces that tile the file: line borders, comments above, parts of what is too long."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from codeguard.chunking.base import Mark
from codeguard.models import ChunkKind

_REST_BLANK = re.compile(rb"[ \t\f\r;,]*(?:(?:\#|//)[^\n]*|/\*[^\n]*?\*/[ \t\f\r]*)?(?:\n|\Z)")
_LINE_ENDS = re.compile(rb"\n")
_NEWLINE = 0x0A

Starts = Callable[[int, int, int], Sequence[tuple[int, int]]]


class Piece(NamedTuple):
    """A stretch of the file that becomes a chunk; offsets count bytes of the text in UTF-8."""

    start: int
    end: int
    kind: ChunkKind
    symbol: str


def tile(source: bytes, marks: Sequence[Mark], comment: Sequence[bytes], rest: ChunkKind) -> list[Piece]:
    """Cut `source` at the marks; what no mark covers becomes pieces of kind `rest`.

    A function takes the comment lines directly above it and the rest of its
    last line along. Marks come outer first, by their start.
    """
    pieces: list[Piece] = []
    position = 0
    around: list[tuple[int, ChunkKind, str]] = []  # end, kind and symbol of the classes that are open
    comments = tuple(comment)

    def emit(until: int, kind: ChunkKind, symbol: str) -> None:
        nonlocal position
        if until > position:
            pieces.append(Piece(position, until, kind, symbol))
            position = until

    def close(until: int) -> None:
        while around and around[-1][0] <= until:
            emit(*around.pop())

    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.start < position:  # a recovered outline may contradict itself: the first one wins
            continue
        close(mark.start)
        limit = around[-1][0] if around else len(source)
        start = max(position, _above(source, mark.start, comments, position))
        end = min(limit, _rest_of_line(source, mark.end))
        outer = around[-1][1:] if around else (rest, "")
        emit(start, *outer)
        if mark.kind is ChunkKind.CLASS:
            around.append((end, mark.kind, mark.symbol))
        else:
            emit(end, mark.kind, mark.symbol)
    close(len(source))
    emit(len(source), rest, "")
    return pieces


def _line_start(source: bytes, position: int) -> int:
    return source.rfind(b"\n", 0, position) + 1


def _above(source: bytes, start: int, comment: tuple[bytes, ...], floor: int) -> int:
    """Return the start of the mark's line, or of the comment lines directly above; never below `floor`."""
    line = _line_start(source, start)
    if line < floor or source[line:start].strip():
        return start
    while line > floor:
        previous = _line_start(source, line - 1)
        text = source[previous:line].lstrip()
        if previous < floor or not text.startswith(comment) or text.startswith(b"#!"):
            break
        line = previous
    return line


def _rest_of_line(source: bytes, end: int) -> int:
    """Return the end of the line where nothing but blanks, a separator or a comment follows."""
    if end and source[end - 1] == _NEWLINE:
        return end
    if source[end : end + 1] == b"\n":
        return end + 1
    match = _REST_BLANK.match(source, end)
    return match.end() if match else end


def split(source: bytes, piece: Piece, max_chars: int, starts: Starts) -> list[Piece]:
    """Cut a piece of more than `max_chars` characters at statements, else lines, else anywhere.

    Parts keep kind and symbol. A part is at least half full where a border
    allows it, and ends at the border of the outermost statement in reach.
    """
    if piece.end - piece.start <= max_chars or _reach(source, piece.start, piece.end, max_chars) == piece.end:
        return [piece]
    at, depths = _borders(source, piece, starts(piece.start, piece.end, max_chars // 2))
    parts: list[Piece] = []
    start = piece.start
    while True:
        reach = _reach(source, start, piece.end, max_chars)
        if reach == piece.end:
            parts.append(Piece(start, piece.end, piece.kind, piece.symbol))
            return parts
        cut = (
            _best(at, depths, start + (reach - start) // 2, reach) or _best(at, depths, start, reach) or reach
        )
        parts.append(Piece(start, cut, piece.kind, piece.symbol))
        start = cut


def _borders(
    source: bytes, piece: Piece, statements: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Return where the piece may be cut, ascending, and how bad each place is."""
    deepest = max((depth for _, depth in statements), default=0) + 1
    depths = {match.end(): deepest for match in _LINE_ENDS.finditer(source, piece.start, piece.end)}
    for statement, depth in statements:
        line = _line_start(source, statement)
        own_line = not source[line:statement].strip()
        place = line if own_line else statement
        if piece.start < place < piece.end:
            depths[place] = min(depth, depths.get(place, depth))
    ordered = sorted(depths)
    return ordered, [depths[place] for place in ordered]


def _best(at: Sequence[int], depths: Sequence[int], above: int, reach: int) -> int | None:
    """Return the last of the least deep borders in (above, reach]."""
    first, last = bisect_right(at, above), bisect_right(at, reach)
    if first == last:
        return None
    least = min(depths[first:last])
    for index in range(last - 1, first - 1, -1):
        if depths[index] == least:
            return at[index]
    return None


def _reach(source: bytes, start: int, end: int, max_chars: int) -> int:
    """Return the byte after at most `max_chars` characters, at most `end`, never within a character or a CRLF."""
    window = source[start : min(end, start + 4 * max_chars)]
    characters = window.decode("utf-8", "ignore")
    if start + len(window) >= end and len(characters) <= max_chars:
        return end
    reach = start + len(characters[:max_chars].encode())
    if reach < end and source[reach - 1 : reach + 1] == b"\r\n" and reach - 1 > start:
        reach -= 1
    return reach


def lines_of(source: bytes, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the first and last line of each piece, 1-based; the pieces tile the source."""
    found = []
    line = 1
    for piece in pieces:
        ends = source.count(b"\n", piece.start, piece.end)
        closed = piece.end > piece.start and source[piece.end - 1] == _NEWLINE
        found.append((line, line + ends - 1 if closed else line + ends))
        line += ends
    return found
