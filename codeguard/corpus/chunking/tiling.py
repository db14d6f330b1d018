"""From marks to pieces that tile the file: line boundaries, preceding comments, splitting of long pieces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codeguard.corpus.chunking.base import Mark
from codeguard.models import ChunkKind

_REST_BLANK = re.compile(rb"[ \t\f\r;,]*(?:(?:\#|//)[^\n]*|/\*[^\n]*?\*/[ \t\f\r]*)?(?:\n|\Z)")
_LINES = re.compile(rb"(?P<indent>[ \t]*)(?P<code>[^\s]?)[^\n]*(?:\n|\Z)")
_WORST = 1 << 30
_COMMENTS = (b"#", b"/", b"*")
_NEWLINE = 0x0A


class Piece(NamedTuple):
    """A part of the file that becomes a chunk; offsets count bytes of the text in UTF-8."""

    start: int
    end: int
    kind: ChunkKind
    symbol: str


def tile(source: bytes, marks: Sequence[Mark], comment: Sequence[bytes], rest: ChunkKind) -> list[Piece]:
    """Cut `source` at the marks; what no mark covers becomes pieces of kind `rest`.

    A function includes the comment lines directly above it and the rest of its last line. Marks are ordered
    by start, outer ones first.
    """
    pieces: list[Piece] = []
    position = 0
    around: list[tuple[int, ChunkKind, str]] = []  # end, kind and symbol of the enclosing classes
    comments = tuple(comment)
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.start < position:  # a recovered outline may contradict itself: the first one wins
            continue
        while around and around[-1][0] <= mark.start:
            position = _emit(pieces, position, *around.pop())
        limit, kind, symbol = around[-1] if around else (len(source), rest, "")
        position = _emit(pieces, position, _above(source, mark.start, comments, position), kind, symbol)
        end = min(limit, _rest_of_line(source, mark.end))
        if mark.kind is ChunkKind.CLASS:
            around.append((end, mark.kind, mark.symbol))
        else:
            position = _emit(pieces, position, end, mark.kind, mark.symbol)
    while around:
        position = _emit(pieces, position, *around.pop())
    _emit(pieces, position, len(source), rest, "")
    return pieces


def _emit(pieces: list[Piece], position: int, until: int, kind: ChunkKind, symbol: str) -> int:
    """Add the text between two offsets, if any; return where the next piece begins."""
    if until <= position:
        return position
    pieces.append(Piece(position, until, kind, symbol))
    return until


def _above(source: bytes, start: int, comment: tuple[bytes, ...], floor: int) -> int:
    """Return the start of the mark's line, or of the comment lines directly above; never below `floor`."""
    line = source.rfind(b"\n", max(0, floor - 1), start) + 1  # a line may be as long as the file
    if line < floor or (line < start and source[line:start].strip()):
        return start
    while line > floor:
        previous = source.rfind(b"\n", 0, line - 1) + 1
        if previous < floor:
            break
        text = source[previous:line].lstrip()
        if not text.startswith(comment) or text.startswith(b"#!"):
            break
        line = previous
    return line


def _rest_of_line(source: bytes, end: int) -> int:
    """Return the end of the line if only blanks, a separator or a comment follow."""
    if source.startswith(b"\n", end):
        return end if end and source[end - 1] == _NEWLINE else end + 1
    if end and source[end - 1] == _NEWLINE:
        return end
    match = _REST_BLANK.match(source, end)
    return match.end() if match else end


def split(source: bytes, pieces: Iterable[Piece], max_chars: int) -> tuple[Piece, ...]:
    """Split pieces of more than `max_chars` characters before the least indented lines, else anywhere.

    Parts keep kind and symbol. A part is at least half full if a line allows it.
    """
    parts: list[Piece] = []
    for piece in pieces:
        if piece.end - piece.start <= max_chars:
            parts.append(piece)
        else:
            parts.extend(_split(source, piece, max_chars))
    return tuple(parts)


def _split(source: bytes, piece: Piece, max_chars: int) -> list[Piece]:
    if _reach(source, piece.start, piece.end, max_chars) == piece.end:
        return [piece]
    at, depths = _borders(source, piece)
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


def _borders(source: bytes, piece: Piece) -> tuple[list[int], list[int]]:
    """Return where the lines of the piece begin, each with how bad a cut there is: its indentation.

    Worst are blank lines, those that close a bracket, and those below a comment, which belongs to them.
    """
    at, depths = [], []
    below_comment = False
    for line in _LINES.finditer(source, piece.start, piece.end):
        code = line["code"]
        at.append(line.start())
        is_bad = below_comment or not code or code in b")]}"
        depths.append(_WORST if is_bad else len(line["indent"].expandtabs()))
        below_comment = code in _COMMENTS
    return at, depths


def _best(at: Sequence[int], depths: Sequence[int], above: int, reach: int) -> int | None:
    """Return the last of the least deep boundaries in (above, reach]."""
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
