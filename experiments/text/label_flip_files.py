"""Label flips in any file of labelled texts: what is expected, what is found, what the described rule finds.

    python -m experiments.text.label_flip_files FILE.tsv [FILE.tsv …] [--base 1000]

A file is TSV: label, tab, text. For each seed `--base` documents are the
knowledge base, batches of 100 are drawn from the rest, and a share of their
labels is turned to another one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.embedding import Embedding
from codeguard.text import Document, LabelFlipConfig, LabelFlipDefense, LabelledBase, label_embedding
from codeguard.text.files import read_documents
from codeguard.text.label_flip import Choice
from experiments.text.common import CachedEmbedding, Rows, bootstrap, text_table
from experiments.text.label_flip import figures, rates_of

CHOSEN: tuple[Choice, ...] = ("auto", "centroid", "knn-weighted")
RATES = (0.0, 0.1, 0.4, 0.7)
BATCH_SIZE, BATCHES = 100, 5


def flip(
    batch: Sequence[Document], rate: float, names: Sequence[str], rng: np.random.Generator
) -> list[bool]:
    """Choose which entries are turned."""
    chosen = set(rng.permutation(len(batch))[: round(rate * len(batch))].tolist())
    return [index in chosen for index in range(len(batch))]


def run(
    files: Sequence[Path], embedding: Embedding | None = None, *, base: int = 1000, seeds: int = 5
) -> dict[str, Any]:
    """Run every detector on every file and return the table."""
    chosen = CachedEmbedding(embedding or label_embedding())
    rows: Rows = []
    for path in files:
        documents = list(read_documents(path, labels=True))
        names = sorted({item.label for item in documents})
        found: dict[tuple[Choice, float], list[dict[str, float]]] = {}
        refused: dict[Choice, int] = dict.fromkeys(CHOSEN, 0)
        expected: list[str] = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            order = [documents[index] for index in rng.permutation(len(documents)).tolist()]
            known = LabelledBase.of(order[:base], chosen)
            pool = order[base:]
            for detector in CHOSEN:
                defense = LabelFlipDefense(known, LabelFlipConfig(detector=detector))
                if detector == "auto":
                    expected.append(defense.expectation().note)
                for rate in RATES:
                    draw = np.random.default_rng([seed, round(rate * 100)])
                    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
                    for _ in range(BATCHES):
                        batch = [pool[index] for index in draw.permutation(len(pool))[:BATCH_SIZE].tolist()]
                        flips = flip(batch, rate, names, draw)
                        turned = [
                            replace(item, label=names[(names.index(item.label) + 1) % len(names)])
                            if bad
                            else item
                            for item, bad in zip(batch, flips, strict=True)
                        ]
                        selection = defense.select(turned)
                        if selection.error:
                            refused[detector] += 1
                            break
                        rejected = [not item.kept for item in selection.judgments]
                        for name, value in rates_of(flips, rejected).items():
                            counts[name] += value
                    found.setdefault((detector, rate), []).append(figures(counts))
        for (detector, rate), values in found.items():
            row: dict[str, Any] = {"file": path.stem, "detector": detector, "flipped": rate, "seeds": seeds}
            for name in ("TPR", "FPR"):
                finite = [item[name] for item in values if not np.isnan(item[name])]
                low, high = bootstrap(finite)
                mean = float(np.mean(finite)) if finite else float("nan")
                row[name] = {"value": mean, "n": len(finite), "low": low, "high": high}
            rows.append(row | {"refused": refused[detector]})
        rows[-1]["expected"] = expected
    return {"name": "label_flip_files", "embedding": chosen.identity, "base": base, "rows": rows}


def main() -> None:
    """Print the table, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--base", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    embedding = label_embedding(arguments.embedding)
    result = run(arguments.files, embedding, base=arguments.base, seeds=arguments.seeds)
    print(text_table(result["rows"], ("file", "detector", "flipped", "seeds", "TPR", "FPR", "refused")))
    for row in result["rows"]:
        for note in dict.fromkeys(row.get("expected", ())):
            print(f"{row['file']}: {note}")
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
