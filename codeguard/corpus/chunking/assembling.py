"""From a file's bytes and cuts to the file with its chunks: texts, digests, lines and offsets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from codeguard.corpus.chunking.cutting import Cuts
from codeguard.corpus.chunking.tiling import Piece, lines_of
from codeguard.corpus.decoding import DecodedText, byte_offsets, read_text
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

PROSE = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst", ".txt": "text"}

_PROSES = frozenset(PROSE.values())
_LONE_CR = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class FileText:
    """A file being read: name, bytes, text, and the text in UTF-8, unchanged and for the grammars."""

    name: str
    data: bytes
    decoded: DecodedText
    utf8: bytes
    source: bytes


def read_file_text(name: str, data: bytes) -> FileText:
    """Decode a file.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    decoded = read_text(data, name)
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
        text=text.decoded.text,
        sha256=hashlib.sha256(text.data).hexdigest(),
        language=cuts.language,
        chunks=_chunks(text, cuts),
        parsed=cuts.parsed,
        syntax_errors=cuts.parsed and first.broken,
        encoding=text.decoded.encoding,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def _chunks(text: FileText, cuts: Cuts) -> tuple[Chunk, ...]:
    pieces = [piece for part in cuts.parts for piece in part.cut.pieces]
    raw = _tiles(text.utf8, pieces)
    texts = [part.decode() for part in raw]
    spans = zip(lines_of(text.source, pieces), pairwise(_offsets(text, texts)), strict=True)
    filled = zip(spans, texts, raw, strict=True)
    found: list[Chunk] = []
    for part in cuts.parts:
        imports, language, name = part.cut.imports, part.language, text.name
        # A function found in prose is Python; the text around it is not.
        of_code = "python" if language in _PROSES else language
        for _, _, kind, symbol in part.cut.pieces:
            (lines, places), content, utf8 = next(filled)
            span, digest = Span(*lines, *places), hashlib.sha256(utf8).hexdigest()
            of = language if kind is ChunkKind.LINES else of_code
            found.append(Chunk(name, symbol, kind, span, content, digest, of, imports))
    return tuple(found)


def _offsets(text: FileText, texts: Sequence[str]) -> list[int]:
    """Return the byte offset of each chunk in the file, and the file's end."""
    offsets = byte_offsets(text.data, text.decoded, list(accumulate(map(len, texts), initial=0)))
    offsets[-1] = len(text.data)  # also if the file is only a byte order mark
    return offsets


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
