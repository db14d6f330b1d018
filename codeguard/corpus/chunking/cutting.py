"""Cut a text in one language into pieces: parse, outline, tile, split. Nothing here recurses.

Most grammars run in a separate process, because hostile input can make them hang or take all memory: twenty
kilobytes of `x=>` cost the C grammar a minute and four gigabytes, and neither a deadline nor a cancellation
interrupts the parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tree_sitter import Node

from codeguard.corpus.chunking import grammars
from codeguard.corpus.chunking.base import ERROR, Grammar, Mark, NodeRole, Outline, Role
from codeguard.corpus.chunking.indentation import outline as outline_by_indentation
from codeguard.corpus.chunking.parsing import syntax_root
from codeguard.models import ChunkKind
from codeguard.workers.processes import default_workers, in_worker, send
from codeguard.workers.tasks import CUTTING_S, ItemBounds, Run, by_values, encoded

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


MAX_NESTING = 64  # of classes and namespaces; deeper ones stay in the outer one
MAX_NAME = 200  # characters of one name

_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class _Level:
    """The remaining nodes at one depth, the enclosing name, and whether the innermost scope is a class."""

    nodes: Iterator[Node]
    scope: str = ""
    depth: int = 0  # how many names the scope holds
    in_class: bool = False
    leading: int | None = None  # start of the decorations directly before the next node

    def named(self, name: str) -> str:
        """Return the qualified name of a local name."""
        if not name.isidentifier():
            name = _SPACE.sub(" ", name)
        return f"{self.scope}.{name[:MAX_NAME]}" if name and self.scope else name[:MAX_NAME] or self.scope


def outline_of(root: Node, grammar: Grammar, source: bytes) -> Outline:
    """Return the outline of `source`; marks overlap only by nesting, outer ones first."""
    marks: list[Mark] = []
    imports: list[str] = []
    relevant, leading = grammar.relevant, grammar.leading
    stack = [_Level(iter(root.children))]
    while stack:
        level = stack[-1]
        for node in level.nodes:
            kind = node.type
            # Most nodes are irrelevant: skip them before accessing any of their attributes.
            if level.leading is None:
                if relevant is not None and kind not in relevant:
                    continue
                start = node.start_byte
            else:
                start = level.leading
            if kind in leading:
                level.leading = start
                continue
            if level.leading is not None and not node.is_extra:
                level.leading = None
            found = _role(node, kind, grammar)
            if found is None:
                continue
            role, name, inside = found
            if role is Role.IMPORT:
                if not level.in_class:
                    imports.append(_text(node, source).strip())
                continue
            if name is None:
                named = (inside or node).child_by_field_name("name")
                name = "" if named is None else _text(named, source)
            if role is Role.FUNCTION or role is Role.METHOD:
                becomes = ChunkKind.METHOD if level.in_class or role is Role.METHOD else ChunkKind.FUNCTION
                marks.append(Mark(start, node.end_byte, becomes, level.named(name)))
                continue
            if role is Role.CLASS and level.depth < MAX_NESTING:
                marks.append(Mark(start, node.end_byte, ChunkKind.CLASS, level.named(name)))
            below = _level_below(level, role, name, inside or node)
            # This level continues where it is once the one below is done: no recursion, so no depth limit.
            if below is not None:
                stack.append(below)
                break
        else:
            stack.pop()
    return Outline(tuple(marks), tuple(imports))


def _level_below(level: _Level, role: Role, name: str, inside: Node) -> _Level | None:
    """Return the nodes to visit inside a node that is not a function, or None."""
    if role is Role.SCOPE:
        return _Level(iter(inside.children), level.scope, level.depth, level.in_class)
    if level.depth >= MAX_NESTING:
        return None
    body = inside.child_by_field_name("body") or inside
    return _Level(iter(body.children), level.named(name), level.depth + bool(name), role is Role.CLASS)


def _text(node: Node, source: bytes) -> str:
    # `Node.text` would make the parser read the text again, character by character.
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _role(node: Node, kind: str, grammar: Grammar) -> NodeRole | None:
    if grammar.examined is None or kind in grammar.examined:
        found = grammar.examine(node)
        if found is not None:
            return found
    role = grammar.roles.get(kind, Role.SCOPE if kind == ERROR else None)
    if role is None or (kind in grammar.bodiless and node.child_by_field_name("body") is None):
        return None
    return _PLAIN[role]


_PLAIN = {role: NodeRole(role, "" if role is Role.SCOPE or role is Role.IMPORT else None) for role in Role}


MAX_IMPORTS = 200  # statements that each chunk of a file carries
MAX_IMPORT_CHARS = 8_000  # characters of all of them together
BOUNDS = ItemBounds(CUTTING_S)


class Cut(NamedTuple):
    """The pieces of a text and what their chunks share. `gave_up`: the grammar could not be used.

    As JSON it is a list, from which `cut_of` makes it again; likewise `Cuts`.
    """

    pieces: tuple[Piece, ...]
    imports: tuple[str, ...] = ()
    broken: bool = False
    gave_up: bool = False
    note: str = ""

    def shifted(self, by: int) -> Cut:
        """Return this cut shifted by `by` bytes."""
        if not by:
            return self
        pieces = tuple(piece._replace(start=piece.start + by, end=piece.end + by) for piece in self.pieces)
        return self._replace(pieces=pieces)


class LanguagePart(NamedTuple):
    """The cut of a part of a file that is in one language."""

    cut: Cut
    language: str


class Cuts(NamedTuple):
    """The cuts of a file, without its text; the parts tile the file."""

    language: str
    parsed: bool
    parts: tuple[LanguagePart, ...]


def cut_of(values: Any) -> Cut:
    """Return the cut that a worker, perhaps compromised, answers; KeyError, TypeError or ValueError if malformed."""
    pieces, imports, broken, gave_up, note = values
    return Cut(
        tuple(
            Piece(int(start), int(end), ChunkKind(kind), str(symbol)) for start, end, kind, symbol in pieces
        ),
        tuple(map(str, imports)),
        bool(broken),
        bool(gave_up),
        str(note),
    )


def cuts_from(values: Any) -> Cuts:
    """Return the cuts of a file that a worker answers; see `cut_of`."""
    language, parsed, parts = values
    if not parts:
        raise ValueError("the cuts of a file have no part")
    return Cuts(str(language), bool(parsed), tuple(LanguagePart(cut_of(cut), str(of)) for cut, of in parts))


def cut_apart(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    """Cut a text by its grammar, or by lines, with a note, if the parser hangs or dies.

    A worker process parses in-process: its own limits apply and end it.
    """
    if not grammar.isolated or in_worker():
        return cut_by_grammar(text, grammar, max_chars)
    payload = encoded([grammar.name, max_chars, text.decode("latin-1")])
    (answer,) = send(default_workers(), cut_task, [payload], None, BOUNDS).result()
    if answer.ended:
        return by_lines(text, max_chars, f"chunked by lines: the {grammar.name} parser gave up on it")
    return cut_of(answer.value)


def cut_task() -> Run:
    """Cut texts by the grammars that they name."""

    def cuts(asked: tuple[str, int, str]) -> Iterator[object]:
        name, max_chars, text = asked
        grammar = grammars.by_name(name)
        assert grammar is not None
        yield cut_by_grammar(text.encode("latin-1"), grammar, max_chars)

    return by_values(cuts)


def cut_by_grammar(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    """Cut a text by its grammar, which must be installed."""
    language = grammars.load_grammar(grammar)
    root = None if language is None else syntax_root(language, text)
    if root is None:
        if grammar.recover is None:
            return by_lines(text, max_chars, f"chunked by lines: the {grammar.name} parser gave up on it")
        return _cut(text, grammar.recover(text), grammar, None, max_chars)
    broken = root.has_error
    outline = grammar.recover(text) if broken and grammar.recover else outline_of(root, grammar, text)
    return _cut(text, outline, grammar, root, max_chars)


def cut_prose(text: bytes, max_chars: int) -> Cut:
    """Cut a text by the Python functions in it, and by lines."""
    outline = outline_by_indentation(text)
    tiles = tile(text, outline.marks, (b"#",), ChunkKind.LINES)
    imports, note = _bounded(outline)
    return Cut(split(text, tiles, max_chars), imports, note=note)


def by_lines(text: bytes, max_chars: int, note: str = "") -> Cut:
    """Cut a text at its lines."""
    whole = [Piece(0, len(text), ChunkKind.LINES, "")] if text else []
    return Cut(split(text, whole, max_chars), gave_up=True, note=note)


def _cut(text: bytes, outline: Outline, grammar: Grammar, root: Node | None, max_chars: int) -> Cut:
    tiles = tile(text, outline.marks, grammar.comment, ChunkKind.MODULE)
    imports, note = _bounded(outline)
    if root is None:
        note = f"functions found by indentation: the {grammar.name} parser gave up on it"
    broken = root is None or root.has_error
    return Cut(split(text, tiles, max_chars), imports, broken=broken, note=note)


def _bounded(outline: Outline) -> tuple[tuple[str, ...], str]:
    """Limit the imports: every chunk carries them, so a file of imports would take quadratic space."""
    kept: list[str] = []
    room = MAX_IMPORT_CHARS
    for statement in outline.imports[:MAX_IMPORTS]:
        room -= len(statement)
        if room < 0:
            break
        kept.append(statement)
    total = len(outline.imports)
    note = "" if len(kept) == total else f"only the first {len(kept)} of {total} import statements count"
    return tuple(kept), note
