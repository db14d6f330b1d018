"""Label flips on the SMS Spam Collection: every detector at both levels, over ten seeds.

    python -m experiments.text.label_flip --data FOLDER

A fixed third of the deduplicated messages (by digest) is where the settings
were chosen; it only ever serves as knowledge base. Batches are drawn from
the other two thirds, of which a part joins the knowledge base, anew for
each seed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import Embedding
from codeguard.models import text_digest
from codeguard.text import Document, LabelFlipDefense, LabelledBase, label_embedding
from codeguard.text.label_flip import DETECTORS, Detector, Level
from codeguard.text.labels import Floats
from experiments.text.common import (
    CachedEmbedding,
    Rows,
    bootstrap,
    data_folder,
    share,
    text_table,
)

RATES = (0.0, 0.1, 0.4, 0.7, 1.0)
BATCH_SIZE = 100
BATCHES = 20  # a seed and rate
KEYWORDS = (0, 5, 10, 20, 40)
OTHER = {"ham": "spam", "spam": "ham"}
Attack = Callable[[list[Document], float, np.random.Generator], tuple[list[Document], list[bool]]]


@dataclass(frozen=True, slots=True)
class Split:
    """A knowledge base and the messages that batches are drawn from."""

    base: list[Document]
    pool: list[Document]


def load_messages(folder: Path) -> list[Document]:
    """Return the messages without repetitions (case and white space do not count), first label wins."""
    found: dict[str, Document] = {}
    lines = (folder / "SMSSpamCollection").read_text(encoding="utf-8").split("\n")
    for line in lines[1:]:
        label, tab, message = line.rstrip("\r").partition("\t")
        if tab:
            found.setdefault(" ".join(message.lower().split()), Document(message, label=label))
    return list(found.values())


def for_tuning(document: Document) -> bool:
    """Return whether a message belongs to the third that settings may be chosen on."""
    return int(text_digest(document.text)[:8], 16) % 3 == 0


def split(messages: Sequence[Document], seed: int) -> Split:
    """Draw a seed's split: the tuning third and 60 % of the rest are the base."""
    tuning = [item for item in messages if for_tuning(item)]
    rest = [item for item in messages if not for_tuning(item)]
    order = np.random.default_rng(seed).permutation(len(rest))
    cut = int(0.6 * len(rest))
    return Split(tuning + [rest[index] for index in order[:cut]], [rest[index] for index in order[cut:]])


def uniform_flips(
    batch: list[Document], rate: float, rng: np.random.Generator
) -> tuple[list[Document], list[bool]]:
    """Turn the labels of a share of the batch around."""
    chosen = set(rng.permutation(len(batch))[: round(rate * len(batch))].tolist())
    flips = [index in chosen for index in range(len(batch))]
    return [
        replace(item, label=OTHER[item.label]) if bad else item
        for item, bad in zip(batch, flips, strict=True)
    ], flips


def targeted_flips(
    batch: list[Document], rate: float, rng: np.random.Generator
) -> tuple[list[Document], list[bool]]:
    """Call a share of the batch's spam ham; leave the ham alone."""
    spam = [index for index, item in enumerate(batch) if item.label == "spam"]
    chosen = set(rng.permutation(spam)[: round(rate * len(spam))].tolist()) if spam else set()
    flips = [index in chosen for index in range(len(batch))]
    return [
        replace(item, label="ham") if bad else item for item, bad in zip(batch, flips, strict=True)
    ], flips


def ham_words(documents: Sequence[Document], count: int = 60) -> list[str]:
    """Return the words that most speak for ham by smoothed log-odds: what an attacker would add."""
    counts: dict[str, dict[str, int]] = {"ham": {}, "spam": {}}
    for document in documents:
        for word in set(document.text.lower().split()):
            if word.isalpha():
                counts[document.label][word] = counts[document.label].get(word, 0) + 1
    sizes = {label: sum(item.label == label for item in documents) for label in counts}

    def odds(word: str) -> float:
        ham, spam = counts["ham"].get(word, 0), counts["spam"].get(word, 0)
        return math.log((ham + 0.5) / (sizes["ham"] + 1)) - math.log((spam + 0.5) / (sizes["spam"] + 1))

    frequent = [word for word, seen in counts["ham"].items() if seen >= 20]
    return sorted(frequent, key=lambda word: (-odds(word), word))[:count]


def rates_of(flips: Sequence[bool], rejected: Sequence[bool]) -> dict[str, int]:
    """Count true and false positives and negatives."""
    pairs = list(zip(flips, rejected, strict=True))
    return {
        "tp": sum(bad and out for bad, out in pairs),
        "fp": sum(not bad and out for bad, out in pairs),
        "fn": sum(bad and not out for bad, out in pairs),
        "tn": sum(not bad and not out for bad, out in pairs),
    }


def figures(counts: dict[str, int]) -> dict[str, float]:
    """Return TPR, FPR, precision, recall and F1 of counts; NaN where undefined."""
    tp, fp, fn, tn = counts["tp"], counts["fp"], counts["fn"], counts["tn"]

    def ratio(part: int, whole: int) -> float:
        return part / whole if whole else math.nan

    return {
        "TPR": ratio(tp, tp + fn),
        "FPR": ratio(fp, fp + tn),
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, tp + fn),
        "F1": ratio(2 * tp, 2 * tp + fp + fn),
    }


class RememberingDefense(LabelFlipDefense):
    """Scores each message once: the batches of a seed are drawn from one pool."""

    def __init__(self, base: LabelledBase, detector: Detector, level: Level) -> None:
        super().__init__(base, detector, level)
        self._seen: dict[bytes, Floats] = {}

    def scores(self, vectors: NDArray[np.float32]) -> Floats:
        """Return the scores, from memory where the vector was seen before."""
        keys = [row.tobytes() for row in vectors]
        new = [index for index, key in enumerate(keys) if key not in self._seen]
        if new:
            rows = super().scores(vectors[new])
            self._seen.update((keys[index], row) for index, row in zip(new, rows, strict=True))
        return np.stack([self._seen[key] for key in keys])


def measure(
    defenses: Sequence[LabelFlipDefense], splits: Sequence[Split], attack: Attack, rate: float
) -> dict[str, Any]:
    """Return the figures of one detector, level and share of flips over every seed."""
    per_seed: list[dict[str, float]] = []
    whole = 0
    for seed, (defense, part) in enumerate(zip(defenses, splits, strict=True)):
        rng = np.random.default_rng([seed, round(rate * 100)])
        counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
        for _ in range(BATCHES):
            drawn = [part.pool[index] for index in rng.permutation(len(part.pool))[:BATCH_SIZE]]
            batch, flips = attack(drawn, rate, rng)
            selection = defense.select(batch)
            if selection.error:
                raise RuntimeError(selection.error)
            rejected = [not item.kept for item in selection.judgments]
            whole += all(rejected)
            for name, value in rates_of(flips, rejected).items():
                counts[name] += value
        per_seed.append(figures(counts))
    row: dict[str, Any] = {}
    for name in per_seed[0]:
        values = [item[name] for item in per_seed if not math.isnan(item[name])]
        low, high = bootstrap(values)
        row[name] = {
            "value": float(np.mean(values)) if values else math.nan,
            "n": len(values),
            "low": low,
            "high": high,
        }
    row["batches rejected whole"] = share(whole, BATCHES * len(splits))
    return row


def keyword_rows(splits: Sequence[Split], bases: Sequence[LabelledBase]) -> Rows:
    """Measure spam called ham with ham-like words added; the attacker knows the tuning third."""
    rows: Rows = []
    for count in KEYWORDS:
        for detector in DETECTORS:
            caught = total = 0
            for seed, (part, base) in enumerate(zip(splits, bases, strict=True)):
                words = ham_words([item for item in part.base if for_tuning(item)])
                rng = np.random.default_rng([seed, count])
                spam = [item for item in part.pool if item.label == "spam"]
                batch = [
                    Document(" ".join([item.text, *rng.choice(words, count)]), label="ham") for item in spam
                ]
                selection = LabelFlipDefense(base, detector).select(batch)
                caught += len(selection.rejected)
                total += len(batch)
            rows.append({"words added": count, "detector": detector, "TPR": share(caught, total)})
    return rows


def run(data: Path | None = None, embedding: Embedding | None = None, seeds: int = 10) -> dict[str, Any]:
    """Run the experiment and return its tables (lists of rows)."""
    messages = load_messages(data_folder(data, "sms_spam"))
    chosen = CachedEmbedding(embedding or label_embedding())
    splits = [split(messages, seed) for seed in range(seeds)]
    bases = [LabelledBase.of(part.base, chosen) for part in splits]
    rows: Rows = []
    levels: tuple[Level, ...] = ("entry", "batch")
    for detector, level in product(DETECTORS, levels):
        defenses = [RememberingDefense(base, detector, level) for base in bases]
        for attack_name, attack in (("uniform", uniform_flips), ("spam to ham", targeted_flips)):
            for rate in RATES:
                if attack is targeted_flips and rate == 0:
                    continue
                row = measure(defenses, splits, attack, rate)
                rows.append(
                    {"attack": attack_name, "detector": detector, "level": level, "flipped": rate, **row}
                )
    keywords = keyword_rows(splits[:5], bases[:5])
    return {
        "name": "label_flip",
        "embedding": chosen.identity,
        "messages": len(messages),
        "seeds": seeds,
        "rows": rows,
        "keywords": keywords,
    }


def main() -> None:
    """Print the tables, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    result = run(arguments.data, label_embedding(arguments.embedding), arguments.seeds)
    print(f"{result['messages']} messages, {result['embedding']}, {result['seeds']} seeds")
    print(text_table(result["rows"]))
    print(text_table(result["keywords"]))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
