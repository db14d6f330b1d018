"""Cuts as plain values, for transfer between processes; they may come from a compromised worker."""

from __future__ import annotations

from typing import Any

from codeguard.corpus.chunking.cutting import Cut, Cuts, LanguagePart
from codeguard.corpus.chunking.tiling import Piece
from codeguard.models import ChunkKind

_KINDS = {kind.value: kind for kind in ChunkKind}


def cut_values(cut: Cut) -> list[Any]:
    """Return a cut as JSON values."""
    pieces = [(piece.start, piece.end, piece.kind.value, piece.symbol) for piece in cut.pieces]
    return [pieces, cut.imports, cut.broken, cut.gave_up, cut.note]


def cut_of(values: Any) -> Cut:
    """Inverse of `cut_values`; raise KeyError, TypeError or ValueError if malformed."""
    pieces, imports, broken, gave_up, note = values
    return Cut(
        tuple(Piece(int(start), int(end), _KINDS[kind], str(symbol)) for start, end, kind, symbol in pieces),
        tuple(map(str, imports)),
        bool(broken),
        bool(gave_up),
        str(note),
    )


def cuts_values(cuts: Cuts) -> list[Any]:
    """Return the cuts of a file as JSON values."""
    return [cuts.language, cuts.parsed, [(cut_values(part.cut), part.language) for part in cuts.parts]]


def cuts_from(values: Any) -> Cuts:
    """Inverse of `cuts_values`; raise KeyError, TypeError or ValueError if malformed."""
    language, parsed, parts = values
    if not parts:
        raise ValueError("the cuts of a file have no part")
    return Cuts(str(language), bool(parsed), tuple(LanguagePart(cut_of(cut), str(of)) for cut, of in parts))
