"""Cut one file into chunks."""

from __future__ import annotations

from dataclasses import replace

from codeguard.corpus.chunking import registry
from codeguard.corpus.chunking.assembling import PROSE, FileText, assembled, read_file_text
from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.cutting import Cut, Cuts, LanguagePart, by_lines, cut_by_grammar, cut_prose
from codeguard.corpus.chunking.fences import PYTHON_HEAD, Region, regions
from codeguard.corpus.chunking.isolation import cut_apart
from codeguard.corpus.chunking.tiling import Piece
from codeguard.extras import installation, requirement
from codeguard.models import ChunkKind, SourceFile

CHUNKER_ID = "codeguard-chunker/2"
MAX_CHARS = 4000
# A chunk costs half a millisecond of processor time from cut to store. The largest file in well-known
# packages has 3,400 chunks; the largest generated files have one per 2,000 bytes.
MOST_CHUNKS = 5_000
BYTES_A_CHUNK = 250  # limit for larger files


def chunk_file(name: str, data: bytes, *, max_chars: int = MAX_CHARS) -> SourceFile:
    """Cut a file into chunks.

    `name` is the path relative to the corpus root; it determines the language (by extension, or by the `#!`
    line). A chunk holds at most `max_chars` characters. The chunks' bytes, in their order, are exactly
    `data`; a file without bytes has none. In prose, fenced blocks are chunked by their language and Python
    functions are found by their indentation.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    text = read_file_text(name, data)
    return assembled(text, cuts_of(text, max_chars))


def cuts_of(text: FileText, max_chars: int = MAX_CHARS) -> Cuts:
    """Find the cuts of a file, from which `assembled` creates the chunks."""
    grammar = registry.language_of_file(text.name, text.data)
    label = grammar.name if grammar else PROSE.get(_suffix(text.name), "text")
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
    grammar = registry.language_of_file(text.name, text.data)
    label = grammar.name if grammar else PROSE.get(_suffix(text.name), "text")
    cut = by_lines(text.source, max_chars, f"chunked by lines: the chunker gave up on it, {why}")
    if text.data and not text.source:
        cut = replace(cut, pieces=(Piece(0, 0, ChunkKind.LINES, ""),))
    return Cuts(label, False, (LanguagePart(cut, label),))


def is_prose(name: str) -> bool:
    """Return whether a file is prose by its name: only fenced blocks and Python functions are code."""
    return _suffix(name) in PROSE


def _suffix(name: str) -> str:
    base = name.rpartition("/")[2]
    return base[base.rfind(".") :].lower() if base.rfind(".") > 0 else ""


def _parts(
    source: bytes, name: str, grammar: Grammar | None, label: str, max_chars: int
) -> list[LanguagePart]:
    if grammar is not None and registry.load_grammar(grammar) is not None:
        return [LanguagePart(_cut(source, grammar, max_chars), label)]
    if grammar is not None:
        how = installation(requirement(grammar.extra))
        why = f"the {grammar.name} grammar ({grammar.wheel}) is not installed; {how}"
        return [LanguagePart(by_lines(source, max_chars, f"chunked by lines: {why}"), label)]
    unknown = f"chunked by lines: unknown language ({_suffix(name) or 'no extension'})"
    whole = LanguagePart(Cut((), note="" if is_prose(name) else unknown), label)
    return [whole] + [_part(source, region, label, max_chars) for region in regions(source)]


def _part(source: bytes, region: Region, label: str, max_chars: int) -> LanguagePart:
    text = source[region.start : region.end]
    if region.grammar is not None:
        return LanguagePart(_cut(text, region.grammar, max_chars).shifted(region.start), region.grammar.name)
    cut = cut_prose(text, max_chars) if PYTHON_HEAD.search(text) else by_lines(text, max_chars)
    return LanguagePart(cut.shifted(region.start), label)


def _cut(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    if grammar.isolated:
        return cut_apart(text, grammar, max_chars)
    return cut_by_grammar(text, grammar, max_chars)
