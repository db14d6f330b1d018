"""The three text experiments in a row, as figures and as sections of the report's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codeguard.index.embedding import open_embedding
from codeguard.text import label_embedding
from experiments.text import consensus, filterrag, label_flip
from experiments.text.common import Rows, show

Section = dict[str, Any]
SEEDS = 5
REPORTED = ("prefix", "garag")  # the crudest attack and the most fluent one; the others take minutes more


def run(data: Path, embedding: str = "auto") -> tuple[dict[str, Any], list[Section]]:
    """Run all three; return their figures by name and one section each."""
    flips = label_flip.run(data, label_embedding(embedding), SEEDS)
    filters = filterrag.run(data, open_embedding(embedding, prose=True), REPORTED)
    votes = consensus.run(open_embedding(embedding, prose=True))
    sections = [
        _section(
            "Label flips at ingestion",
            f"{flips['messages']} messages of the SMS Spam Collection, a base of {label_flip.BASE}, batches of "
            f"{label_flip.BATCH}, {SEEDS} seeds, {flips['embedding']}. In brackets 95 % intervals over the seeds.",
            flips["rows"],
        ),
        _section(
            "FilterRAG and ML-FilterRAG",
            f"{filters['questions']} questions, {filters['rounds']} rounds of {filterrag.ROUND}; top "
            f"{filterrag.TOP}, half of them poisoned, {filterrag.KEEP} handed on; {filters['embedding']}, extractive "
            "reader. The second clean text is the nearest golden passage of another question. ATR: share of poison "
            "among what is handed on.",
            filters["rows"],
        ),
        _section(
            "Map-reduce consensus",
            f"{votes['questions']} questions with {consensus.DOCUMENTS} documents each, {votes['embedding']}, "
            "extractive reader.",
            votes["rows"],
        ),
    ]
    return {"label_flip": flips, "filterrag": filters, "consensus": votes}, sections


def _section(title: str, paragraph: str, *tables: Rows) -> Section:
    shown = [
        {"head": list(rows[0]), "rows": [[show(cell) for cell in row.values()] for row in rows]}
        for rows in tables
        if rows
    ]
    return {"title": title, "paragraphs": [paragraph], "tables": shown, "charts": []}
