"""Cut one file into chunks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from tree_sitter import Node, Parser

from codeguard.chunking import registry
from codeguard.chunking.base import Grammar, Outline
from codeguard.chunking.outline import outline_of, statement_starts
from codeguard.chunking.tiling import Piece, lines_of, split, tile
from codeguard.decoding import DecodedText, byte_offsets, read_text
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

CHUNKER_ID = "codeguard-chunker/1"

MAX_IMPORTS = 200  # statements that each chunk of a file carries
MAX_IMPORT_CHARS = 8_000  # of all of them together

_LONE_CR = re.compile(rb"\r(?!\n)")


def chunk_file(name: str, data: bytes, *, max_chars: int = 4000) -> SourceFile:
    """Cut a file into chunks.

    `name` is the path relative to the corpus root; it decides the language
    (by extension, else by the `#!` line). A chunk holds at most `max_chars`
    characters. The chunks' bytes, in their order, are exactly `data`; a
    file without bytes has none.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    decoded = read_text(data, name)
    grammar = registry.of_file(name, data)
    notes = [decoded.note] if decoded.note else []
    utf8 = decoded.text.encode()
    # The same length, so that offsets agree: a lone CR ends a line, and a NUL is no end of the file.
    source = _LONE_CR.sub(b"\n", utf8).replace(b"\0", b"\x01") if b"\r" in utf8 or b"\0" in utf8 else utf8
    language = registry.load(grammar) if grammar else None
    broken = False
    imports: tuple[str, ...] = ()
    if grammar is None or language is None:
        notes.append(_why_by_lines(name, grammar))
        pieces = _by_lines(source, max_chars)
    else:
        root = Parser(language).parse(source).root_node
        broken = root.has_error
        outline = _outline(source, root, grammar)
        imports, cut = _bounded(outline.imports)
        if cut:
            notes.append(
                f"only the first {len(imports)} of {len(outline.imports)} import statements are kept"
            )
        pieces = _by_outline(source, outline, root, grammar, max_chars)
    if data and not pieces:
        pieces = [Piece(0, 0, ChunkKind.MODULE if language else ChunkKind.LINES, "")]
    label = grammar.name if grammar else "text"
    chunks = _chunks(name, label, imports, data, decoded, utf8, source, pieces)
    return SourceFile(
        path=name,
        text=decoded.text,
        sha256=hashlib.sha256(data).hexdigest(),
        language=label,
        chunks=chunks,
        parsed=language is not None,
        syntax_errors=broken,
        encoding=decoded.encoding,
        notes=tuple(notes),
    )


def _why_by_lines(name: str, grammar: Grammar | None) -> str:
    if grammar is None:
        base = name.rsplit("/", 1)[-1]
        suffix = base[base.rfind(".") :] if base.rfind(".") > 0 else "no extension"
        return f"chunked by lines: unknown language ({suffix})"
    extra = f"codeguard[{grammar.extra}]" if grammar.extra else "codeguard"
    return f"chunked by lines: the {grammar.name} grammar ({grammar.wheel}) is not installed; pip install '{extra}'"


def _outline(source: bytes, root: Node, grammar: Grammar) -> Outline:
    if root.has_error and grammar.recover is not None:
        return grammar.recover(source)
    return outline_of(root, grammar)


def _bounded(imports: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Every chunk carries the imports: without a limit a file of imports grows with its square."""
    kept: list[str] = []
    room = MAX_IMPORT_CHARS
    for statement in imports[:MAX_IMPORTS]:
        room -= len(statement)
        if room < 0:
            break
        kept.append(statement)
    return tuple(kept), len(kept) < len(imports)


def _by_lines(source: bytes, max_chars: int) -> list[Piece]:
    if not source:
        return []
    return split(
        source, Piece(0, len(source), ChunkKind.LINES, ""), max_chars, lambda start, end, smallest: ()
    )


def _by_outline(source: bytes, outline: Outline, root: Node, grammar: Grammar, max_chars: int) -> list[Piece]:
    def starts(start: int, end: int, smallest: int) -> Sequence[tuple[int, int]]:
        return statement_starts(root, grammar, start, end, smallest)

    pieces: list[Piece] = []
    for piece in tile(source, outline.marks, grammar.comment, ChunkKind.MODULE):
        pieces.extend(split(source, piece, max_chars, starts))
    return pieces


def _chunks(
    name: str,
    language: str,
    imports: tuple[str, ...],
    data: bytes,
    decoded: DecodedText,
    utf8: bytes,
    source: bytes,
    pieces: Sequence[Piece],
) -> tuple[Chunk, ...]:
    texts = [utf8[piece.start : piece.end] for piece in pieces]
    characters = [0]
    for text in texts:
        characters.append(characters[-1] + len(text.decode()))
    offsets = byte_offsets(data, decoded, characters)
    offsets[-1] = len(data)  # also where a byte order mark is all there is
    return tuple(
        Chunk(
            path=name,
            symbol=piece.symbol,
            kind=piece.kind,
            span=Span(first, last, offsets[index], offsets[index + 1]),
            text=texts[index].decode(),
            sha256=hashlib.sha256(texts[index]).hexdigest(),
            language=language,
            imports=imports,
        )
        for index, (piece, (first, last)) in enumerate(zip(pieces, lines_of(source, pieces), strict=True))
    )
