"""Label flips on the SMS Spam Collection: what each detector finds, and how many right labels it rejects.

    python -m experiments.text.label_flip --data FOLDER

A base of 800 messages is taken to be right; a share of the others has its
labels turned around, of all messages alike or of spam alone. Base, messages
and flips are drawn anew for each seed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from codeguard.index.embedding import Embedding
from codeguard.text import Document, LabelFlipDefense, LabelledBase, label_embedding
from codeguard.text.label_flip import Choice, Level
from experiments.text.common import CachedEmbedding, Rows, bootstrap, data_folder, text_table

BASE, BATCH = 800, 400
RATES = (0.1, 0.4)
OTHER = {"ham": "spam", "spam": "ham"}


def load_messages(folder: Path) -> list[Document]:
    """Return the messages without repetitions (case and white space do not count), first label wins."""
    found: dict[str, Document] = {}
    lines = (folder / "SMSSpamCollection").read_text(encoding="utf-8").split("\n")
    for line in lines[1:]:
        label, tab, message = line.rstrip("\r").partition("\t")
        if tab:
            found.setdefault(" ".join(message.lower().split()), Document(message, label=label))
    return list(found.values())


def flipped(batch: Sequence[Document], rate: float, rng: np.random.Generator, label: str = "") -> list[bool]:
    """Return which labels of a batch to turn around: a share of all, or of those of one label."""
    open_to = [place for place, item in enumerate(batch) if item.label == (label or item.label)]
    chosen = set(rng.permutation(open_to)[: round(rate * len(open_to))].tolist())
    return [place in chosen for place in range(len(batch))]


def measure(
    messages: Sequence[Document],
    embedding: Embedding,
    seeds: int,
    detector: Choice,
    level: Level,
    label: str,
    rate: float,
) -> dict[str, Any]:
    """Return the shares of flips and of right labels that a detector rejects, over seeds; dashes where it refuses."""
    found, wrongly = [], []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, round(100 * rate)])
        order = [messages[place] for place in rng.permutation(len(messages))[: BASE + BATCH]]
        base, batch = order[:BASE], order[BASE:]
        flips = flipped(batch, rate, rng, label)
        shown = [
            replace(item, label=OTHER[item.label]) if bad else item
            for item, bad in zip(batch, flips, strict=True)
        ]
        selection = LabelFlipDefense(LabelledBase.of(base, embedding), detector, level).select(shown)
        if selection.error:
            return {"found": math.nan, "right labels rejected": math.nan}
        rejected = np.array([not item.kept for item in selection.judgments])
        found.append(float(rejected[flips].mean()))
        wrongly.append(float(rejected[np.logical_not(flips)].mean()))
    return {"found": _mean(found), "right labels rejected": _mean(wrongly)}


def _mean(values: Sequence[float]) -> dict[str, float]:
    low, high = bootstrap(values)
    return {"value": float(np.mean(values)), "n": len(values), "low": low, "high": high}


def run(data: Path | None = None, embedding: Embedding | None = None, seeds: int = 10) -> dict[str, Any]:
    """Run the experiment and return its table."""
    messages = load_messages(data_folder(data, "sms_spam"))
    chosen = CachedEmbedding(embedding or label_embedding())
    rows: Rows = [
        {
            "flipped": f"{100 * rate:.0f} % of {label or 'all'}",
            "detector": detector,
            "level": level,
            **measure(messages, chosen, seeds, detector, level, label, rate),
        }
        for label in ("", "spam")
        for rate in RATES
        for level in get_args(Level)
        for detector in get_args(Choice)
    ]
    return {"name": "label_flip", "embedding": chosen.identity, "messages": len(messages), "rows": rows}


def main() -> None:
    """Print the table, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    result = run(arguments.data, label_embedding(arguments.embedding), arguments.seeds)
    print(f"{result['messages']} messages, {result['embedding']}, {arguments.seeds} seeds")
    print(text_table(result["rows"]))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
