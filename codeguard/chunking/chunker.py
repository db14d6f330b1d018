"""Cut one file into chunks."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Sequence

from tree_sitter import Parser

from codeguard.chunking import registry
from codeguard.chunking.base import Grammar, Outline
from codeguard.chunking.fences import PYTHON_HEAD, Region, regions
from codeguard.chunking.indentation import outline as outline_by_indentation
from codeguard.chunking.outline import outline_of, statement_starts
from codeguard.chunking.tiling import Piece, lines_of, split, tile
from codeguard.decoding import DecodedText, byte_offsets, read_text
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

CHUNKER_ID = "codeguard-chunker/1"

MAX_IMPORTS = 200  # statements that each chunk of a file carries
MAX_IMPORT_CHARS = 8_000  # of all of them together
PROSE = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst", ".txt": "text"}

_LONE_CR = re.compile(rb"\r(?!\n)")


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """The pieces of one region, with what their chunks have in common."""

    pieces: Sequence[Piece]
    language: str
    imports: tuple[str, ...] = ()
    broken: bool = False
    note: str = ""


def chunk_file(name: str, data: bytes, *, max_chars: int = 4000) -> SourceFile:
    """Cut a file into chunks.

    `name` is the path relative to the corpus root; it decides the language
    (by extension, else by the `#!` line). A chunk holds at most `max_chars`
    characters. The chunks' bytes, in their order, are exactly `data`; a
    file without bytes has none. In prose, fenced blocks are chunked by
    their language and Python functions are found by their indentation.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    decoded = read_text(data, name)
    grammar = registry.of_file(name, data)
    utf8 = decoded.text.encode()
    source = _parseable(utf8)
    by_grammar = grammar is not None and registry.load(grammar) is not None
    label = grammar.name if grammar else PROSE.get(_suffix(name), "text")
    if by_grammar:
        parts = [_part(source, Region(0, len(source), grammar), label, max_chars)]
    elif grammar is not None:
        parts = [_Part(_by_lines(source, 0, len(source), max_chars), label)]
    else:
        parts = [_part(source, region, label, max_chars) for region in regions(source)]
    if data and not source:
        parts = [_Part([Piece(0, 0, ChunkKind.MODULE if by_grammar else ChunkKind.LINES, "")], label)]
    notes = [decoded.note, "" if by_grammar else _why_by_lines(name, grammar), *(part.note for part in parts)]
    return SourceFile(
        path=name,
        text=decoded.text,
        sha256=hashlib.sha256(data).hexdigest(),
        language=label,
        chunks=_chunks(name, data, decoded, utf8, source, parts),
        parsed=by_grammar,
        syntax_errors=by_grammar and parts[0].broken,
        encoding=decoded.encoding,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def _parseable(utf8: bytes) -> bytes:
    """Return the text as the grammars take it, at the same length: a lone CR ends a line, a NUL ends nothing."""
    if b"\r" not in utf8 and b"\0" not in utf8:
        return utf8
    return _LONE_CR.sub(b"\n", utf8).replace(b"\0", b"\x01")


def _suffix(name: str) -> str:
    base = name.rpartition("/")[2]
    return base[base.rfind(".") :].lower() if base.rfind(".") > 0 else ""


def _why_by_lines(name: str, grammar: Grammar | None) -> str:
    if grammar is None and _suffix(name) in PROSE:
        return "chunked by lines: prose, but for the code in it"
    if grammar is None:
        return f"chunked by lines: unknown language ({_suffix(name) or 'no extension'})"
    extra = f"codeguard[{grammar.extra}]" if grammar.extra else "codeguard"
    return f"chunked by lines: the {grammar.name} grammar ({grammar.wheel}) is not installed; pip install '{extra}'"


def _part(source: bytes, region: Region, label: str, max_chars: int) -> _Part:
    """Cut a region by its grammar, or prose by the functions in it and by lines."""
    language = registry.load(region.grammar) if region.grammar else None
    if region.grammar is None or language is None:
        return _prose(source, region, label, max_chars)
    grammar = region.grammar
    text = source[region.start : region.end]
    root = Parser(language).parse(text).root_node
    broken = root.has_error
    outline = grammar.recover(text) if broken and grammar.recover else outline_of(root, grammar)
    pieces: list[Piece] = []
    for piece in tile(text, outline.marks, grammar.comment, ChunkKind.MODULE):
        pieces.extend(
            split(
                text,
                piece,
                max_chars,
                lambda start, end, least: statement_starts(root, grammar, start, end, least),
            )
        )
    imports, note = _bounded(outline)
    return _Part(_shifted(pieces, region.start), grammar.name, imports, broken, note)


def _prose(source: bytes, region: Region, label: str, max_chars: int) -> _Part:
    text = source[region.start : region.end]
    if not PYTHON_HEAD.search(text):
        return _Part(_by_lines(source, region.start, region.end, max_chars), label)
    outline = outline_by_indentation(text)
    pieces: list[Piece] = []
    for piece in tile(text, outline.marks, (b"#",), ChunkKind.LINES):
        pieces.extend(split(text, piece, max_chars, lambda start, end, least: ()))
    imports, note = _bounded(outline)
    return _Part(_shifted(pieces, region.start), label, imports, note=note)


def _by_lines(source: bytes, start: int, end: int, max_chars: int) -> list[Piece]:
    if start == end:
        return []
    return split(source, Piece(start, end, ChunkKind.LINES, ""), max_chars, lambda start, end, least: ())


def _shifted(pieces: Sequence[Piece], by: int) -> Sequence[Piece]:
    if not by:
        return pieces
    return [dataclasses.replace(piece, start=piece.start + by, end=piece.end + by) for piece in pieces]


def _bounded(outline: Outline) -> tuple[tuple[str, ...], str]:
    """Every chunk carries the imports: without a limit a file of imports grows with its square."""
    kept: list[str] = []
    room = MAX_IMPORT_CHARS
    for statement in outline.imports[:MAX_IMPORTS]:
        room -= len(statement)
        if room < 0:
            break
        kept.append(statement)
    total = len(outline.imports)
    return tuple(kept), "" if len(
        kept
    ) == total else f"only the first {len(kept)} of {total} import statements count"


def _chunks(
    name: str, data: bytes, decoded: DecodedText, utf8: bytes, source: bytes, parts: Sequence[_Part]
) -> tuple[Chunk, ...]:
    placed = [(piece, part) for part in parts for piece in part.pieces]
    texts = [utf8[piece.start : piece.end] for piece, _ in placed]
    characters = [0]
    for text in texts:
        characters.append(characters[-1] + len(text.decode()))
    offsets = byte_offsets(data, decoded, characters)
    offsets[-1] = len(data)  # also where a byte order mark is all there is
    lines = lines_of(source, [piece for piece, _ in placed])
    return tuple(
        Chunk(
            path=name,
            symbol=piece.symbol,
            kind=piece.kind,
            span=Span(*lines[index], offsets[index], offsets[index + 1]),
            text=texts[index].decode(),
            sha256=hashlib.sha256(texts[index]).hexdigest(),
            # A function found in prose is Python; what is around it is not.
            language=part.language
            if piece.kind is ChunkKind.LINES or part.language not in _PROSES
            else "python",
            imports=part.imports,
        )
        for index, (piece, part) in enumerate(placed)
    )


_PROSES = frozenset(PROSE.values())
