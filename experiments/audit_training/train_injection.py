"""Train the model of the injection signal and write it as plain numbers.

Injected comments and ordinary ones in other languages are made of the
templates beside this file; ordinary English ones come from unpacked Python
packages, each a folder. `--train` are learned from, `--calibrate` set the
thresholds, `--report` are only looked at. A figure for recall comes from
cross-validation over templates (`--folds`).

    python -m experiments.audit_training.train_injection --train DIR… --calibrate DIR… --report DIR… --out FILE
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression

from codeguard.signals.injection.features import features, tokens_of
from codeguard.signals.injection.model import SCALE, Model
from codeguard.signals.injection.windows import windows
from experiments.audit_training.corpus import HARD, Example, of_packages, written

SEED = 20
STRENGTH = 0.1  # inverse of the regularisation
LARGEST = 280_000  # bytes of the written model
Rows = list[set[str]]


def described(text: str) -> set[str]:
    """Return the features of one stretch of text."""
    return features(text, tokens_of(text))


def fit(injected: Rows, ordinary: Rows, packaged: Rows) -> Model:
    """Return a model without thresholds."""
    seen = Counter(name for row in packaged for name in row)
    counts = Counter(name for row in injected for name in row) + seen
    names = sorted(
        name for name, count in counts.items() if count >= 4 and (_concept(name) or seen[name] >= 3)
    )
    index = {name: at for at, name in enumerate(names)}
    rows = injected + ordinary + packaged
    found = [[index[name] for name in row if name in index] for row in rows]
    lengths = [10 / math.sqrt(max(1, len(row))) for row in rows]
    values = np.concatenate([np.full(len(cells), each) for cells, each in zip(found, lengths, strict=True)])
    columns = np.concatenate([np.array(cells, dtype=np.int32) for cells in found])
    ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
    matrix = csr_matrix((values, columns, ends), shape=(len(rows), len(names)))
    truth = np.array([1] * len(injected) + [0] * (len(rows) - len(injected)))
    weight = np.array([1.0] * len(injected) + [6.0] * len(ordinary) + [1.0] * len(packaged))
    learned = LogisticRegression(C=STRENGTH, max_iter=200, solver="liblinear").fit(matrix, truth, weight)
    weights = dict(zip(names, (float(value) for value in learned.coef_[0]), strict=True))
    return Model(weights, float(learned.intercept_[0]), math.inf, math.inf)


def mined(injected: Rows, ordinary: Rows, packaged: Rows, everything: Rows) -> Model:
    """Return a model that has seen the packaged windows which a first one took for injected."""
    first = fit(injected, ordinary, packaged)
    worst = sorted(everything, key=first.score_of, reverse=True)[: len(everything) // 20]
    return fit(injected, ordinary, packaged + worst)


def _concept(name: str) -> bool:
    return not name.startswith(("w:", "b:"))


def highest(model: Model, examples: Iterable[Example]) -> np.ndarray:
    """Return the score of each example's highest window."""
    return np.array(
        [max((model.score(part) for part in windows(one.text)), default=-99.0) for one in examples]
    )


def calibrated(model: Model, examples: Sequence[Example]) -> Model:
    """Return the model with thresholds at 1.5 % and 0.3 % of hard comments."""
    scores = highest(model, _hard(examples))
    return Model(
        model.weights, model.bias, float(np.quantile(scores, 0.985)), float(np.quantile(scores, 0.997))
    )


def _hard(examples: Iterable[Example]) -> list[Example]:
    return [one for one in examples if HARD.search(one.text) and one.kind != "string"]


def stored(model: Model) -> str:
    """Return the model as JSON with the smallest weights left out until it fits."""
    least = 0
    while True:
        sorts: dict[str, dict[str, int]] = {}
        for name, value in sorted(model.weights.items()):
            if abs(value) * SCALE > least:
                sort, _, rest = name.partition(":")
                sorts.setdefault(sort, {})[rest] = round(value * SCALE)
        text = json.dumps(
            {
                "bias": round(model.bias, 4),
                "weak": round(model.weak, 4),
                "clear": round(model.clear, 4),
                "weights": sorts,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        if len(text.encode()) <= LARGEST:
            return text + "\n"
        least += 1


def reread(text: str) -> Model:
    """Return a model as it is after a round trip, so that thresholds fit what is shipped."""
    value = json.loads(text)
    weights = {
        f"{sort}:{name}": w / SCALE for sort, found in value["weights"].items() for name, w in found.items()
    }
    return Model(weights, value["bias"], value["weak"], value["clear"])


def main() -> None:
    """Train, calibrate, report and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "calibrate", "report"):
        parser.add_argument(f"--{name}", nargs="+", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(SEED)
    packaged: Rows = []
    everything: Rows = []
    for one in of_packages(args.train, 9000, SEED):
        parts = [described(part) for part in windows(one.text)]
        everything += parts
        packaged += rng.sample(parts, min(2, len(parts)))
    calibration = of_packages(args.calibrate, 6000, SEED)
    report = of_packages(args.report, 6000, SEED)
    injected, ordinary = written("injected", 6, SEED), written("ordinary", 3, SEED)
    rows = {one.text: described(one.text) for one in (*injected, *ordinary)}
    for fold in range(args.folds):
        groups = sorted({one.group for one in (*injected, *ordinary)})
        random.Random(SEED).shuffle(groups)
        held = set(groups[fold :: args.folds])
        model = calibrated(
            mined(
                [rows[one.text] for one in injected if one.group not in held],
                [rows[one.text] for one in ordinary if one.group not in held],
                packaged,
                everything,
            ),
            calibration,
        )
        _show(f"fold {fold}", model, [one for one in injected if one.group in held], report)
        _show_share("  ordinary, other languages", model, [one for one in ordinary if one.group in held])
    model = mined(
        [rows[one.text] for one in injected], [rows[one.text] for one in ordinary], packaged, everything
    )
    model = calibrated(reread(stored(model)), calibration)
    args.out.write_text(stored(model), encoding="utf-8")
    _show("all", model, injected, report)


def _show(title: str, model: Model, injected: Sequence[Example], report: Sequence[Example]) -> None:
    scores, hard = highest(model, injected), highest(model, _hard(report))
    by_language: dict[str, list[bool]] = {}
    for one, score in zip(injected, scores, strict=True):
        by_language.setdefault(one.group.split("/")[1].split(":")[0], []).append(bool(score >= model.weak))
    shares = " ".join(f"{name} {np.mean(found):.2f}" for name, found in sorted(by_language.items()))
    print(
        f"{title}: recall {np.mean(scores >= model.weak):.3f} (clear {np.mean(scores >= model.clear):.3f}; {shares}), "
        f"hard comments {np.mean(hard >= model.weak):.4f} (clear {np.mean(hard >= model.clear):.5f}) of {len(hard)}",
        flush=True,
    )


def _show_share(title: str, model: Model, examples: Sequence[Example]) -> None:
    print(f"{title}: {np.mean(highest(model, examples) >= model.weak):.3f}", flush=True)


if __name__ == "__main__":
    main()
