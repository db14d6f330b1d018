"""From a file's bytes and where they are cut to the file with its chunks: texts, digests, lines and offsets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from codeguard.chunking.cutting import Cuts
from codeguard.chunking.tiling import Piece, lines_of
from codeguard.decoding import DecodedText, byte_offsets, read_text
from codeguard.models import Chunk, ChunkKind, SourceFile, Span

PROSE = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst", ".txt": "text"}

_PROSES = frozenset(PROSE.values())
_LONE_CR = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it is read: its name, its bytes, its text, and that in UTF-8, as it is and as the grammars take it."""

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
    utf8 = decoded.text.encode()
    return FileText(name, data, decoded, utf8, _parseable(utf8))


def _parseable(utf8: bytes) -> bytes:
    """Return the text as the grammars take it, at the same length: a lone CR ends a line, a NUL ends nothing."""
    if b"\r" not in utf8 and b"\0" not in utf8:
        return utf8
    return _LONE_CR.sub(b"\n", utf8).replace(b"\0", b"\x01")


def assembled(text: FileText, cuts: Cuts) -> SourceFile:
    """Return the file with its chunks; ValueError where the cuts are not those of a text of this length."""
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
    placed = [(piece, part.language, part.cut.imports) for part in cuts.parts for piece in part.cut.pieces]
    raw = _tiles(text.utf8, [piece for piece, _, _ in placed])
    texts = [part.decode() for part in raw]
    offsets = byte_offsets(text.data, text.decoded, list(accumulate(map(len, texts), initial=0)))
    offsets[-1] = len(text.data)  # also where a byte order mark is all there is
    lines = lines_of(text.source, [piece for piece, _, _ in placed])
    return tuple(
        Chunk(
            path=text.name,
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


def _tiles(utf8: bytes, pieces: Sequence[Piece]) -> list[bytes]:
    """Return the bytes of each piece; ValueError where the pieces leave something out or hold something twice."""
    position = 0
    for piece in pieces:
        if piece.start != position or piece.end < position:
            raise ValueError(f"a piece begins at byte {piece.start}, the one before it ends at {position}")
        position = piece.end
    if position != len(utf8):
        raise ValueError(f"the pieces end at byte {position}, the text at {len(utf8)}")
    return [utf8[piece.start : piece.end] for piece in pieces]
