"""FilterRAG trained on one data set and used on another, with what clean texts alone can mend.

    python -m experiments.text.filterrag_transfer --data FOLDER [--set poisonedrag_nq --set poisonedrag_hotpotqa]

For each ordered pair of sets: a filter is trained on the first, used as it
is on the odd questions of the second, and again after recalibration on the
clean passages of the second's even questions. No poison of the second set
is seen. "not seen": the attack was left out of the training as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.embedding import Embedding, open_embedding
from codeguard.text import TextDefense
from codeguard.text.extractive import ExtractiveReader
from codeguard.text.features import FEATURES, Background, FeatureExtractor
from codeguard.text.filterrag import FilterConfig, FilterRAG, calibrate_threshold
from codeguard.text.frequency import WordMatcher
from codeguard.text.mlfilter import LabelledText, MLFilterRAG, example_rows, recalibrate, train_filter
from experiments.text.common import CachedEmbedding, Rows, data_folder, text_table
from experiments.text.filterrag import (
    KEEP,
    SHORT_ANSWER,
    TOP,
    Question,
    clean_pairs,
    clean_texts,
    examples_of,
    figures,
    load_questions,
    measure,
    published_defenses,
)

SETS = ("poisonedrag_nq", "poisonedrag_hotpotqa")
ATTACKS = ("prefix", "plain", "blind", "garag")
SHOWN = ("ATR", "poison passed", "clean kept")


def run(
    data: Path | None = None,
    embedding: Embedding | None = None,
    sets: Sequence[str] = SETS,
    attacks: Sequence[str] = ATTACKS,
    keep: float = 0.97,
    *,
    unseen: bool = True,
) -> dict[str, Any]:
    """Run every ordered pair of sets and return the tables."""
    chosen = CachedEmbedding(embedding or open_embedding(prose=True))
    reader, short = ExtractiveReader(chosen), ExtractiveReader(chosen, answer_words=SHORT_ANSWER)
    loaded = {name: load_questions(data_folder(data, name), chosen, attacks) for name in sets}
    semantic, literal = WordMatcher(chosen), WordMatcher()
    rows: Rows = []
    notes: list[str] = []

    def add(label: tuple[str, str], name: str, defense: TextDefense, attack: str) -> None:
        test = loaded[label[1]][1::2]
        found = figures(measure(test, defense, attack, "half", chosen, reader))
        rows.append(
            {"trained on": label[0], "tested on": label[1], "attack": attack, "defense": name}
            | {column: found[column] for column in SHOWN}
        )

    for name, questions in loaded.items():
        fit = calibrate_threshold(clean_pairs(questions[0::2], chosen), short, semantic)
        notes += [f"{name}: {note}" for note in fit.notes]
        for attack in attacks:
            for label, limit in (("0.2", 0.2), ("calibrated", fit.threshold)):
                single = FilterRAG(short, semantic, FilterConfig(TOP, KEEP, threshold=limit))
                add(("–", name), f"FilterRAG, {label}", single, attack)
            for label, other in published_defenses(chosen).items():
                add(("–", name), label, other, attack)
    for source, target in permutations(sets, 2):
        pairs = clean_pairs(loaded[target][0::2], chosen)
        plans = [("all attacks seen", attacks, attacks)]
        if unseen:
            plans += [
                ("attack not seen", [item for item in attacks if item != attack], [attack])
                for attack in attacks
            ]
        for label, seen, tested in plans:
            model = train_filter(examples_of(loaded[source], seen, chosen), chosen, short, matcher=literal)
            fitted = recalibrate(model, pairs, chosen, short, matcher=literal, keep=keep)
            notes += [f"{source} to {target}, {label} ({', '.join(tested)}): {note}" for note in fitted.notes]
            for attack in tested:
                for name, used in (("as trained", model), ("recalibrated", fitted.model)):
                    defense = MLFilterRAG(used, chosen, short, literal, TOP, KEEP)
                    add((source, target), f"{label}, {name}", defense, attack)
    return {
        "name": "filterrag_transfer",
        "embedding": chosen.identity,
        "rows": rows,
        "notes": notes,
        "signals": signal_table(loaded, attacks, chosen, short, literal),
    }


def signal_table(
    loaded: dict[str, list[Question]], attacks: Sequence[str], embedding: Embedding,
    reader: ExtractiveReader, matcher: WordMatcher,
) -> Rows:  # fmt: skip
    """Return for each attack and set how well each signal alone tells poison from clean text (area under ROC)."""
    rows: Rows = []
    for name, questions in loaded.items():
        background = Background.train([item.golden for item in questions[0::2]])
        extractor = FeatureExtractor(embedding, reader, matcher, background)
        test = questions[1::2]
        clean = [
            LabelledText(item.text, text, False)
            for item in test
            for text in clean_texts(item, test, embedding, 2)
        ]
        base = example_rows(extractor, clean)
        for attack in attacks:
            poison = [
                LabelledText(item.text, text, True) for item in test for text in item.poison[attack][:2]
            ]
            found = example_rows(extractor, poison)
            areas = {
                signal: float((found[:, place, None] > base[None, :, place]).mean())
                for place, signal in enumerate(FEATURES)
            }
            best = sorted(areas, key=lambda signal: -abs(areas[signal] - 0.5))[:4]
            rows.append(
                {"set": name, "attack": attack}
                | {
                    f"signal {number}": f"{signal} {areas[signal]:.2f}"
                    for number, signal in enumerate(best, 1)
                }
            )
    return rows


def worst(rows: Rows) -> Rows:
    """Return the worst cell of each defense over the pairs and attacks."""
    found: Rows = []
    for name in dict.fromkeys(row["defense"] for row in rows):
        own = [row for row in rows if row["defense"] == name]
        found.append(
            {
                "defense": name,
                "cells": len(own),
                "ATR, worst": float(np.max([row["ATR"]["value"] for row in own])),
                "clean kept, worst": float(np.min([row["clean kept"]["value"] for row in own])),
            }
        )
    return found


def main() -> None:
    """Print the tables, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", action="append", help="folder under --data; may be repeated")
    parser.add_argument("--attack", action="append")
    parser.add_argument("--seen", action="store_true", help="only with all attacks seen in training")
    parser.add_argument("--keep", type=float, default=0.97, help="promised share of clean texts kept")
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    embedding = open_embedding(arguments.embedding, prose=True)
    sets, attacks = arguments.set or SETS, arguments.attack or ATTACKS
    result = run(arguments.data, embedding, sets, attacks, arguments.keep, unseen=not arguments.seen)
    print(text_table(worst(result["rows"])), end="\n\n")
    for table in ("rows", "signals"):
        print(text_table(result[table]), end="\n\n")
    print("\n".join(result["notes"]))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
