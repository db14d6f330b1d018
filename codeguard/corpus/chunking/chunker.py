"""Cut one file into chunks: where it is cut, and from that the chunks with texts, digests, lines and offsets."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from codeguard.corpus.chunking import grammars
from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.cutting import (
    Cut,
    Cuts,
    LanguagePart,
    Piece,
    by_lines,
    cut_apart,
    cut_prose,
    lines_of,
)
from codeguard.corpus.chunking.grammars import suffix_of
from codeguard.corpus.decoding import DecodedText, byte_offsets, read_text
from codeguard.corpus.embedded import Embedded, closing_fence
from codeguard.corpus.notebooks import LINE_END, NOTEBOOK, notebook_code
from codeguard.extras import installation, requirement
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

CHUNKER_ID = "codeguard-chunker/4"
MAX_CHARS = 4000
# A chunk costs half a millisecond of processor time from cut to store. The largest file in well-known
# packages has 3,400 chunks; the largest generated files have one per 2,000 bytes.
MOST_CHUNKS = 5_000
BYTES_A_CHUNK = 250  # limit for larger files
PROSE = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst", ".txt": "text"}
_LONE_CR = re.compile(rb"\r(?!\n)")
_FENCE = re.compile(rb"^[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<info>[\w+#-]*)[^`\n]*$", re.MULTILINE)
_PYTHON_HEAD = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+[^\W\d][\w\x80-\xff]*[ \t]*\(", re.MULTILINE)
# Aliases that people write after the fence, besides a language's name and file extensions.
_ALIASES = {"python3": "python", "python2": "python", "pycon": "", "node": "javascript", "shell": "bash", "zsh": "bash",
            "c++": "cpp", "c#": "csharp", "golang": "go"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileText:
    """A file being read: name, bytes, text, and the text in UTF-8, unchanged and for the grammars.

    Of a notebook the last two are what its `cells` hold.
    """

    name: str
    data: bytes
    decoded: DecodedText
    utf8: bytes
    source: bytes
    cells: Embedded | None = None


def chunk_file(name: str, data: bytes, *, max_chars: int = MAX_CHARS) -> SourceFile:
    """Cut a file into chunks.

    `name` is the path relative to the corpus root; it determines the language (by extension, or by the `#!`
    line). A chunk holds at most `max_chars` characters. The chunks' bytes, in their order, are exactly
    `data`; a file without bytes has none. In prose, fenced blocks are chunked by their language and Python
    functions are found by their indentation. A notebook's chunks are those of its cells.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    text = read_file_text(name, data)
    return assembled(text, cuts_of(text, max_chars))


def cuts_of(text: FileText, max_chars: int = MAX_CHARS) -> Cuts:
    """Find the cuts of a file, from which `assembled` creates the chunks."""
    grammar, label = _language(text)
    parts = _parts(text.source, text.name, grammar, label, max_chars)
    most = max(MOST_CHUNKS, len(text.source) // BYTES_A_CHUNK)
    if sum(len(part.cut.pieces) for part in parts) > most:
        return cuts_by_lines(text, f"which would be more than {most} chunks", max_chars)
    parsed = grammar is not None and not parts[0].cut.gave_up
    if text.data and not text.source:
        kind = ChunkKind.MODULE if parsed else ChunkKind.LINES
        parts = [LanguagePart(Cut((Piece(0, 0, kind, ""),)), label)]
    return Cuts(label, parsed, tuple(parts))


def cuts_by_lines(text: FileText, why: str, max_chars: int = MAX_CHARS) -> Cuts:
    """Return the cuts of a file that the chunker gave up on: at its lines, in linear time."""
    _, label = _language(text)
    cut = by_lines(text.source, max_chars, f"chunked by lines: the chunker gave up on it, {why}")
    if text.data and not text.source:
        cut = cut._replace(pieces=(Piece(0, 0, ChunkKind.LINES, ""),))
    return Cuts(label, False, (LanguagePart(cut, label),))


def read_file_text(name: str, data: bytes) -> FileText:
    """Decode a file.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    decoded = read_text(data, name)
    code = notebook_code(decoded.text) if suffix_of(name) == NOTEBOOK else None
    if code is not None and code.python.text:
        utf8 = code.python.text.encode()
        return FileText(name, data, decoded, utf8, _parseable(utf8), code.python)
    plain = decoded.encoding == "utf-8" and not decoded.mark_bytes
    utf8 = data if plain else decoded.text.encode()
    return FileText(name, data, decoded, utf8, _parseable(utf8))


def _parseable(utf8: bytes) -> bytes:
    """Return the text for the grammars, at the same length: a lone CR ends a line, a NUL ends nothing."""
    if b"\r" not in utf8 and b"\0" not in utf8:
        return utf8
    return _LONE_CR.sub(b"\n", utf8).replace(b"\0", b"\x01")


def assembled(text: FileText, cuts: Cuts) -> SourceFile:
    """Return the file with its chunks; raise ValueError if the cuts do not fit the text's length."""
    first = cuts.parts[0].cut
    notes = (text.decoded.note, *(part.cut.note for part in cuts.parts))
    return SourceFile(
        path=text.name,
        text=text.decoded.text if text.cells is None else text.cells.text,
        sha256=hashlib.sha256(text.data).hexdigest(),
        language=cuts.language,
        chunks=_chunks(text, cuts),
        parsed=cuts.parsed,
        syntax_errors=cuts.parsed and first.broken,
        encoding=text.decoded.encoding,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
        raw="" if text.cells is None else text.decoded.text,
    )


def _chunks(text: FileText, cuts: Cuts) -> tuple[Chunk, ...]:
    pieces = [piece for part in cuts.parts for piece in part.cut.pieces]
    raw = _tiles(text.utf8, pieces)
    texts = [part.decode() for part in raw]
    lines = lines_of(text.source, pieces) if text.cells is None else _lines_in_file(text, text.cells, texts)
    spans = zip(lines, pairwise(_offsets(text, texts)), strict=True)
    filled = zip(spans, texts, raw, strict=True)
    found: list[Chunk] = []
    for part in cuts.parts:
        imports, language, name = part.cut.imports, part.language, text.name
        # A function found in prose is Python; the text around it is not.
        of_code = "python" if language in PROSE.values() else language
        for _, _, kind, symbol in part.cut.pieces:
            (on, places), content, utf8 = next(filled)
            span, digest = Span(*on, *places), hashlib.sha256(utf8).hexdigest()
            of = language if kind is ChunkKind.LINES else of_code
            found.append(Chunk(name, symbol, kind, span, content, digest, of, imports))
    return tuple(found)


def _offsets(text: FileText, texts: Sequence[str]) -> list[int]:
    """Return the byte offset of each chunk in the file, and the file's end."""
    characters = list(accumulate(map(len, texts), initial=0))
    if text.cells is not None:
        characters = [*map(text.cells.place, characters[:-1]), len(text.decoded.text)]
        characters[0] = 0  # what stands before the first cell
    offsets = byte_offsets(text.data, text.decoded, characters)
    offsets[-1] = len(text.data)  # also if the file is only a byte order mark
    return offsets


def _lines_in_file(text: FileText, cells: Embedded, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first and last line of a notebook's chunks in its file, 1-based."""
    ends = [match.end() for match in LINE_END.finditer(text.decoded.text)]
    found, at = [], 0
    for part in texts:
        first, last = cells.place(at), cells.place(max(at, at + len(part) - 1))
        found.append((bisect_right(ends, first) + 1, bisect_right(ends, last) + 1))
        at += len(part)
    return found


def _tiles(utf8: bytes, pieces: Sequence[Piece]) -> list[bytes]:
    """Return the bytes of each piece; raise ValueError if the pieces have gaps or overlap."""
    position = 0
    for start, end, _, _ in pieces:
        if start != position or end < start:
            raise ValueError(f"a piece of bytes {start} to {end} follows one that ends at {position}")
        position = end
    if position != len(utf8):
        raise ValueError(f"the pieces end at byte {position}, the text at {len(utf8)}")
    return [utf8[start:end] for start, end, _, _ in pieces]


def _language(text: FileText) -> tuple[Grammar | None, str]:
    if text.cells is not None:
        grammar = grammars.by_name(text.cells.language)
        return grammar, text.cells.language
    grammar = grammars.language_of_file(text.name, text.data)
    return grammar, grammar.name if grammar else PROSE.get(suffix_of(text.name), "text")


def is_prose(name: str) -> bool:
    """Return whether a file is prose by its name: only fenced blocks and Python functions are code."""
    return suffix_of(name) in PROSE


def _parts(
    source: bytes, name: str, grammar: Grammar | None, label: str, max_chars: int
) -> list[LanguagePart]:
    if grammar is not None and grammars.load_grammar(grammar) is not None:
        return [LanguagePart(cut_apart(source, grammar, max_chars), label)]
    if grammar is not None:
        how = installation(requirement(grammar.extra))
        why = f"the {grammar.name} grammar ({grammar.wheel}) is not installed; {how}"
        return [LanguagePart(by_lines(source, max_chars, f"chunked by lines: {why}"), label)]
    unknown = f"chunked by lines: unknown language ({suffix_of(name) or 'no extension'})"
    whole = LanguagePart(Cut((), note="" if is_prose(name) else unknown), label)
    return [whole] + [_part(source, region, label, max_chars) for region in _regions(source)]


def _part(source: bytes, region: _Region, label: str, max_chars: int) -> LanguagePart:
    start, end, grammar = region
    text = source[start:end]
    if grammar is not None:
        return LanguagePart(cut_apart(text, grammar, max_chars).shifted(start), grammar.name)
    cut = cut_prose(text, max_chars) if _PYTHON_HEAD.search(text) else by_lines(text, max_chars)
    return LanguagePart(cut.shifted(start), label)


_Region = tuple[int, int, Grammar | None]  # bytes from and to; no grammar for prose


def _regions(source: bytes) -> list[_Region]:
    """Cut a text at its fenced blocks of known, installed languages; the fences themselves are prose."""
    found: list[_Region] = []
    done = position = 0
    while (opening := _FENCE.search(source, position)) is not None:
        closing = closing_fence(opening)
        if closing is None:
            break
        start, end = min(opening.end() + 1, len(source)), closing.start()
        info = opening["info"].decode().lower()
        name = _ALIASES.get(info, info)
        grammar = grammars.by_name(name) if name else None
        if grammar is not None and grammar.installed and start < end:
            if start > done:
                found.append((done, start, None))
            found.append((start, end, grammar))
            done = end
        position = closing.end()
    if done < len(source):
        found.append((done, len(source), None))
    return found
