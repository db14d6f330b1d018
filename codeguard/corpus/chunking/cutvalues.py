"""Cuts as plain values, for the way from one process to another: what arrives may come from a subverted one."""

from __future__ import annotations

from typing import Any

from codeguard.corpus.chunking.cutting import Cut, Cuts, Part
from codeguard.corpus.chunking.tiling import Piece
from codeguard.models import ChunkKind

_KINDS = {kind.value: kind for kind in ChunkKind}


def cut_values(cut: Cut) -> list[Any]:
    """Return a cut as values that JSON holds."""
    pieces = [(piece.start, piece.end, piece.kind.value, piece.symbol) for piece in cut.pieces]
    return [pieces, cut.imports, cut.broken, cut.gave_up, cut.note]


def cut_of(values: Any) -> Cut:
    """Return the cut that `cut_values` was given; KeyError, TypeError or ValueError if it is none."""
    pieces, imports, broken, gave_up, note = values
    return Cut(
        tuple(Piece(int(start), int(end), _KINDS[kind], str(symbol)) for start, end, kind, symbol in pieces),
        tuple(map(str, imports)),
        bool(broken),
        bool(gave_up),
        str(note),
    )


def cuts_values(cuts: Cuts) -> list[Any]:
    """Return the cuts of a file as values that JSON holds."""
    return [cuts.language, cuts.parsed, [(cut_values(part.cut), part.language) for part in cuts.parts]]


def cuts_from(values: Any) -> Cuts:
    """Return the cuts that `cuts_values` was given; KeyError, TypeError or ValueError if there are none."""
    language, parsed, parts = values
    if not parts:
        raise ValueError("the cuts of a file have no part")
    return Cuts(str(language), bool(parsed), tuple(Part(cut_of(cut), str(of)) for cut, of in parts))
