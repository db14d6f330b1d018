"""Cut one file into chunks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import accumulate

from codeguard.chunking import registry
from codeguard.chunking.base import Grammar
from codeguard.chunking.cutting import Cut, by_lines, cut_by_grammar, cut_prose
from codeguard.chunking.fences import PYTHON_HEAD, Region, regions
from codeguard.chunking.isolation import PARSER_PROCESS
from codeguard.chunking.tiling import Piece, lines_of
from codeguard.decoding import DecodedText, byte_offsets, read_text
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

CHUNKER_ID = "codeguard-chunker/2"

PROSE = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst", ".txt": "text"}

_LONE_CR = re.compile(rb"\r(?!\n)")

_Part = tuple[Cut, str]  # a region's cut and its language


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
    label = grammar.name if grammar else PROSE.get(_suffix(name), "text")
    parts = _parts(source, name, grammar, label, max_chars)
    parsed = grammar is not None and not parts[0][0].gave_up
    if data and not source:
        kind = ChunkKind.MODULE if parsed else ChunkKind.LINES
        parts = [(Cut((Piece(0, 0, kind, ""),)), label)]
    return SourceFile(
        path=name,
        text=decoded.text,
        sha256=hashlib.sha256(data).hexdigest(),
        language=label,
        chunks=_chunks(name, data, decoded, utf8, source, parts),
        parsed=parsed,
        syntax_errors=parsed and parts[0][0].broken,
        encoding=decoded.encoding,
        notes=tuple(dict.fromkeys(note for note in (decoded.note, *(cut.note for cut, _ in parts)) if note)),
    )


def _parseable(utf8: bytes) -> bytes:
    """Return the text as the grammars take it, at the same length: a lone CR ends a line, a NUL ends nothing."""
    if b"\r" not in utf8 and b"\0" not in utf8:
        return utf8
    return _LONE_CR.sub(b"\n", utf8).replace(b"\0", b"\x01")


def _suffix(name: str) -> str:
    base = name.rpartition("/")[2]
    return base[base.rfind(".") :].lower() if base.rfind(".") > 0 else ""


def _parts(source: bytes, name: str, grammar: Grammar | None, label: str, max_chars: int) -> list[_Part]:
    if grammar is not None and registry.load(grammar) is not None:
        return [(_cut(source, grammar, max_chars), label)]
    if grammar is not None:
        extra = f"codeguard[{grammar.extra}]" if grammar.extra else "codeguard"
        why = f"the {grammar.name} grammar ({grammar.wheel}) is not installed; pip install '{extra}'"
        return [(by_lines(source, max_chars, f"chunked by lines: {why}"), label)]
    prose = _suffix(name) in PROSE
    why = (
        "prose, but for the code in it" if prose else f"unknown language ({_suffix(name) or 'no extension'})"
    )
    note: list[_Part] = [(Cut((), note=f"chunked by lines: {why}"), label)]
    return note + [_part(source, region, label, max_chars) for region in regions(source)]


def _part(source: bytes, region: Region, label: str, max_chars: int) -> _Part:
    text = source[region.start : region.end]
    if region.grammar is not None:
        return _cut(text, region.grammar, max_chars).shifted(region.start), region.grammar.name
    cut = cut_prose(text, max_chars) if PYTHON_HEAD.search(text) else by_lines(text, max_chars)
    return cut.shifted(region.start), label


def _cut(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    if grammar.isolated:
        return PARSER_PROCESS.cut(text, grammar, max_chars)
    return cut_by_grammar(text, grammar, max_chars)


def _chunks(
    name: str, data: bytes, decoded: DecodedText, utf8: bytes, source: bytes, parts: Sequence[_Part]
) -> tuple[Chunk, ...]:
    placed = [(piece, language, cut.imports) for cut, language in parts for piece in cut.pieces]
    raw = [utf8[piece.start : piece.end] for piece, _, _ in placed]
    texts = [part.decode() for part in raw]
    offsets = byte_offsets(data, decoded, list(accumulate(map(len, texts), initial=0)))
    offsets[-1] = len(data)  # also where a byte order mark is all there is
    lines = lines_of(source, [piece for piece, _, _ in placed])
    return tuple(
        Chunk(
            path=name,
            symbol=piece.symbol,
            kind=piece.kind,
            span=Span(*lines[index], offsets[index], offsets[index + 1]),
            text=texts[index],
            sha256=hashlib.sha256(raw[index]).hexdigest(),
            # A function found in prose is Python; what is around it is not.
            language="python" if language in _PROSES and piece.kind is not ChunkKind.LINES else language,
            imports=imports,
        )
        for index, (piece, language, imports) in enumerate(placed)
    )


_PROSES = frozenset(PROSE.values())
