"""Train the model of the injection signal and write it as plain numbers.

Injected comments and ordinary ones in other languages are made of the
templates beside this file; ordinary English ones come from unpacked Python
packages, each a folder. `--train` are learned from, `--calibrate` set the
thresholds, `--report` are only looked at; `--catalogs` hold translated messages
(*.mo), `--licences` licence files. A figure for recall comes from
cross-validation over templates (`--folds`).

    python -m experiments.audit_training.train_injection --train DIR… --calibrate DIR… --report DIR…
        --catalogs DIR… --licences DIR… --out FILE
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression

from codeguard.signals.injection.features import features, tokens_of
from codeguard.signals.injection.gate import Gate, Glance
from codeguard.signals.injection.lexicon import CONCEPTS
from codeguard.signals.injection.model import SCALE, Limits, Model, read_model
from codeguard.signals.injection.windows import windows
from experiments.audit_training.corpus import HARD, Example, of_catalogs, of_licences, of_packages, written

SEED = 20
STRENGTH = 0.1  # inverse of the regularisation
LARGEST = 280_000  # bytes of the written model
TIMES = 5  # examples of a template, twice as many where it has slots
HEED = 3  # times that what was written to be near an instruction counts
MOST = 12  # stretches of one text
STOPPED = 0.01  # share of injected texts that the gate may stop
KINDS = ("comment", "docstring", "string")
WEAK = {
    "comment": 0.016,
    "docstring": 0.006,
    "string": 0.007,
}  # share of hard texts; about 0.7 % in other packages
CLEAR = {"comment": 0.0005, "docstring": 0.0005, "string": 0.0001}
NONE = Limits(math.inf, math.inf)
_PAYLOAD = re.compile(
    "marker|helper|fastut|acme|quickj|secure[l-]|libmar|exampl|collec|teleme|invali|pwned|upload"
)
Rows = list[set[str]]
Weights = tuple[dict[str, float], float]


def described(text: str) -> set[str]:
    """Return the features of one stretch of text."""
    return features(text, tokens_of(text))


def fit(injected: Rows, ordinary: Rows, packaged: Rows) -> Weights:
    """Return weights and bias of a logistic regression."""
    seen = Counter(name for row in (*packaged, *ordinary) for name in row)
    counts = Counter(name for row in injected for name in row) + seen
    names = sorted(name for name, count in counts.items() if count >= 4 and _counts(name, seen[name]))
    weights, bias = _regression(injected, ordinary + packaged, names, scaled=True)
    return weights, bias


def _regression(
    injected: Rows, honest: Rows, names: list[str], *, scaled: bool
) -> tuple[dict[str, float], float]:
    index = {name: at for at, name in enumerate(names)}
    rows = injected + honest
    found = [[index[name] for name in row if name in index] for row in rows]
    lengths = [10 / math.sqrt(max(1, len(row))) if scaled else 1.0 for row in rows]
    values = np.concatenate([np.full(len(cells), each) for cells, each in zip(found, lengths, strict=True)])
    columns = np.concatenate([np.array(cells, dtype=np.int32) for cells in found])
    ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
    matrix = csr_matrix((values, columns, ends), shape=(len(rows), len(names)))
    truth = np.array([1] * len(injected) + [0] * len(honest))
    learned = LogisticRegression(C=STRENGTH, max_iter=200, solver="liblinear").fit(matrix, truth)
    weights = dict(zip(names, (float(value) for value in learned.coef_[0]), strict=True))
    return weights, float(learned.intercept_[0])


def gate_of(injected: Rows, honest: Rows) -> Gate:
    """Return a gate that lets nearly all injected texts through: weights of concepts, none below 0."""
    names = [f"c:{concept}" for concept in CONCEPTS]
    while True:
        weights, _ = _regression(injected, honest, names, scaled=False)
        kept = [name for name in names if weights[name] > 0]
        if kept == names:
            break
        names = kept
    rounded = {name.removeprefix("c:"): round(weights[name], 2) for name in names}
    sums = [sum(rounded.get(name.removeprefix("c:"), 0.0) for name in row) for row in injected]
    return Gate(rounded, round(float(np.quantile(sums, STOPPED)), 2))


def glance_of(injected: Rows, honest: Rows) -> Glance:
    """Return weights of the features that need no order, such that nearly all injected texts are let through."""
    seen = Counter(name for row in honest for name in row)
    names = sorted(
        name for name in seen if name[0] in "cw" and seen[name] >= 20 and _counts(name, seen[name])
    )
    weights, _ = _regression(injected, honest, names, scaled=True)
    rounded = {name: round(weight, 2) for name, weight in weights.items() if abs(weight) >= 0.02}
    glance = Glance(rounded, -math.inf)
    scores = [glance.score({name for name in row if name[0] in "cw"}) for row in injected]
    return replace(glance, least=round(float(np.quantile(scores, STOPPED)), 2))


def mined(injected: Rows, ordinary: Rows, packaged: Rows, everything: Rows) -> Model:
    """Return a model without thresholds that has seen the packaged windows which a first one took for injected."""
    weights, bias = fit(injected, ordinary, packaged)
    gate, glance = gate_of(injected, ordinary + packaged), glance_of(injected, ordinary + packaged)
    first = Model(weights, bias, gate, glance, {})
    worst = sorted(everything, key=first.score_of, reverse=True)[: len(everything) // 20]
    return Model(*fit(injected, ordinary, packaged + worst), gate, glance, {})


def _counts(name: str, honest: int) -> bool:
    """Tell what says something beyond the templates: words only where honest texts have them, no payload's name."""
    sort, _, word = name.partition(":")
    return sort not in "wb" or (honest >= 3 and not _PAYLOAD.search(word))


def highest(model: Model, examples: Iterable[Example], limits: Limits = NONE) -> np.ndarray:
    """Return the score of each example's highest window."""
    return np.array(
        [max((model.score(part, limits) for part in windows(one.text)), default=-99.0) for one in examples]
    )


def calibrated(model: Model, examples: Sequence[Example]) -> Model:
    """Return the model with thresholds at shares of the hard comments, docstrings and strings."""
    limits = {}
    for kind in KINDS:
        scores = highest(model, _hard(examples, kind))
        weak, clear = (float(np.quantile(scores, 1 - share)) for share in (WEAK[kind], CLEAR[kind]))
        limits[kind] = Limits(round(weak, 4), round(clear, 4))
    return replace(model, limits=limits)


def _hard(examples: Iterable[Example], kind: str) -> list[Example]:
    return [one for one in examples if one.kind == kind and HARD.search(one.text)]


def stored(model: Model) -> str:
    """Return the model as JSON with the smallest weights left out until it fits."""
    least = 0
    while True:
        kept = {name: value for name, value in model.weights.items() if abs(value) * SCALE > least}
        limits = {kind: [found.weak, found.clear] for kind, found in model.limits.items()}
        content = {
            "bias": round(model.bias, 4),
            "limits": limits,
            "gate": {"weights": model.gate.weights, "least": model.gate.least},
            "glance": {"least": model.glance.least, **_sorted(model.glance.weights)},
            "weights": _sorted(kept),
        }
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode()) <= LARGEST:
            return text + "\n"
        least += 1


def _sorted(weights: Mapping[str, float]) -> dict[str, dict[str, int]]:
    sorts: dict[str, dict[str, int]] = {}
    for name, value in sorted(weights.items()):
        sort, _, rest = name.partition(":")
        sorts.setdefault(sort, {})[rest] = round(value * SCALE)
    return sorts


def main() -> None:
    """Train, calibrate, report and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "calibrate", "report"):
        parser.add_argument(f"--{name}", nargs="+", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--licences", nargs="+", type=Path, required=True)
    parser.add_argument("--catalogs", nargs="+", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--run", type=int, default=0, help="how many of the folds")
    args = parser.parse_args()
    rng = random.Random(SEED)
    packaged: Rows = []
    everything: Rows = []
    for one in of_packages(args.train, 12000, SEED):
        parts = list(windows(one.text))
        rows_of_one = [described(part) for part in rng.sample(parts, min(MOST, len(parts)))]
        everything += rows_of_one
        packaged += rows_of_one[:2]
    calibration = of_packages(args.calibrate, 6000, SEED)
    report = of_packages(args.report, 6000, SEED)
    injected, ordinary = written("injected", TIMES, SEED), HEED * written("ordinary", 4, SEED)
    ordinary += of_catalogs(args.catalogs, 1000, SEED) + of_licences(args.licences)
    rows = {one.text: described(one.text) for one in (*injected, *ordinary)}
    for fold in range(min(args.folds, args.run)):
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
    model = calibrated(read_model(stored(model)), calibration)
    args.out.write_text(stored(model), encoding="utf-8")
    _show("all", model, injected, report)


def _show(title: str, model: Model, injected: Sequence[Example], report: Sequence[Example]) -> None:
    limits = model.limits["comment"]
    scores = highest(model, injected, limits)
    by_language: dict[str, list[bool]] = {}
    for one, score in zip(injected, scores, strict=True):
        by_language.setdefault(one.group.split("/")[1].split(":")[0], []).append(bool(score >= limits.weak))
    shares = " ".join(f"{name} {np.mean(found):.2f}" for name, found in sorted(by_language.items()))
    print(
        f"{title}: recall {np.mean(scores >= limits.weak):.3f} (clear {np.mean(scores >= limits.clear):.3f}; {shares})"
    )
    for kind in KINDS:
        limits = model.limits[kind]
        hard = highest(model, _hard(report, kind), limits)
        print(
            f"  hard {kind}: {np.mean(hard >= limits.weak):.4f} "
            f"(clear {np.mean(hard >= limits.clear):.5f}) of {len(hard)}",
            flush=True,
        )


def _show_share(title: str, model: Model, examples: Sequence[Example]) -> None:
    limits = model.limits["comment"]
    print(f"{title}: {np.mean(highest(model, examples, limits) >= limits.weak):.3f}", flush=True)


if __name__ == "__main__":
    main()
