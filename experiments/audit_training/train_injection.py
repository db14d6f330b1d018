"""Train the model of the injection signal and write it as plain numbers.

Injected comments and ordinary ones in other languages are made of the
templates beside this file; ordinary English ones come from unpacked Python
packages, each a folder. `--train` are learned from, `--calibrate` set the
thresholds, `--report` are only looked at; `--catalogs` hold translated messages
(*.mo), `--licences` licence files. A figure for recall comes from
cross-validation that leaves out whole voices or registers (`--folds`, `--run`).

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression

from codeguard.signals.injection.features import features, tokens_of
from codeguard.signals.injection.gate import Gate, Glance
from codeguard.signals.injection.lexicon import CONCEPTS
from codeguard.signals.injection.model import SCALE, Limits, Model, read_model
from codeguard.signals.injection.windows import windows
from experiments.audit_training.corpus import HARD, Example, of_catalogs, of_licences, of_packages, written
from experiments.audit_training.senses import DIMENSIONS, senses

SEED = 20
STRENGTH = 0.1  # inverse of the regularisation
LARGEST = 420_000  # bytes of the written model
TIMES = 4  # examples of a template, twice as many where it has slots
HEED = 3  # times that what was written to be near an instruction counts
MOST = 4  # stretches of one text
FEWEST = 4  # texts that have a feature
STOPPED = 0.004  # share of injected texts that each of the two cheap looks may stop
LEAST_GLANCE = 0.05  # weights of words below it are left out of the cheap look
KINDS = ("comment", "docstring", "string")
# Shares of the hard texts of packages that nothing was learned from, each package counting the same.
WEAK = {"comment": 0.010, "docstring": 0.007, "string": 0.006}
CLEAR = {"comment": 0.003, "docstring": 0.002, "string": 0.002}
SURE = {"comment": 0.001, "docstring": 0.0006, "string": 0.0004}
NONE = Limits(math.inf, math.inf, math.inf)
_PAYLOAD = re.compile(
    "marker|helper|fastut|acme|quickj|secure[l-]|libmar|exampl|collec|teleme|invali|pwned|upload|hunter|letmei"
)
Rows = list[set[str]]
Vectors = Mapping[str, NDArray[np.float32]]
Weights = tuple[dict[str, float], float]


def described(text: str) -> set[str]:
    """Return the features of one stretch of text."""
    return features(text, tokens_of(text))


def fit(injected: Rows, honest: Rows, vectors: Vectors, *, wanted: str = "") -> Weights:
    """Return weights and bias of a logistic regression over one-hot features and the senses of the words.

    The weight of a word is its own plus what its sense is worth; words that
    no example has get the latter. `wanted` are the sorts of features, all
    where empty.
    """
    seen = Counter(name for row in honest for name in row)
    counts = Counter(name for row in injected for name in row) + seen
    names = sorted(
        name
        for name, count in counts.items()
        if count >= FEWEST and (not wanted or name[0] in wanted) and _counts(name, seen[name])
    )
    learned, bias, sense = _regression(injected, honest, names, vectors, scaled=True)
    of_senses = {
        f"w:{stem}": float(vector @ sense) for stem, vector in vectors.items() if not _PAYLOAD.search(stem)
    }
    for name, weight in learned.items():
        of_senses[name] = of_senses.get(name, 0.0) + weight
    return of_senses, bias


def _regression(
    injected: Rows, honest: Rows, names: list[str], vectors: Vectors, *, scaled: bool
) -> tuple[dict[str, float], float, NDArray[np.float32]]:
    index = {name: at for at, name in enumerate(names)}
    rows = injected + honest
    found = [[index[name] for name in row if name in index] for row in rows]
    lengths = [10 / math.sqrt(max(1, len(row))) if scaled else 1.0 for row in rows]
    values = np.concatenate([np.full(len(cells), each) for cells, each in zip(found, lengths, strict=True)])
    columns = np.concatenate([np.array(cells, dtype=np.int32) for cells in found])
    ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
    matrix = csr_matrix((values, columns, ends), shape=(len(rows), len(names)))
    if vectors:
        meant = np.zeros((len(rows), DIMENSIONS), dtype=np.float32)
        for at, row in enumerate(rows):
            stems = [name[2:] for name in row if name[0] == "w" and name[2:] in vectors]
            known = [vectors[stem] for stem in stems if not _PAYLOAD.search(stem)]
            if known:
                meant[at] = np.sum(known, axis=0) * lengths[at]
        matrix = hstack([matrix, csr_matrix(meant)]).tocsr()
    truth = np.array([1] * len(injected) + [0] * len(honest))
    learned = LogisticRegression(C=STRENGTH, max_iter=80, solver="lbfgs").fit(matrix, truth)
    weights = dict(zip(names, (float(value) for value in learned.coef_[0]), strict=False))
    return weights, float(learned.intercept_[0]), learned.coef_[0][len(names) :]


def gate_of(injected: Rows, honest: Rows) -> Gate:
    """Return a gate that lets nearly all injected texts through: weights of concepts, none below 0."""
    names = [f"c:{concept}" for concept in CONCEPTS]
    while True:
        weights, _, _ = _regression(injected, honest, names, {}, scaled=False)
        kept = [name for name in names if weights[name] > 0]
        if kept == names:
            break
        names = kept
    rounded = {name.removeprefix("c:"): round(weights[name], 2) for name in names}
    sums = [sum(rounded.get(name.removeprefix("c:"), 0.0) for name in row) for row in injected]
    return Gate(rounded, round(float(np.quantile(sums, STOPPED)), 2))


def glance_of(injected: Rows, honest: Rows, vectors: Vectors) -> Glance:
    """Return weights of the features that need no order, such that nearly all injected texts are let through."""
    weights, _ = fit(injected, honest, vectors, wanted="cw")
    rounded = {name: round(weight, 2) for name, weight in weights.items() if abs(weight) >= LEAST_GLANCE}
    glance = Glance(rounded, -math.inf)
    scores = [glance.score({name for name in row if name[0] in "cw"}) for row in injected]
    return replace(glance, least=round(float(np.quantile(scores, STOPPED)), 2))


def trained(injected: Rows, honest: Rows, vectors: Vectors) -> Model:
    """Return a model without thresholds."""
    gate, glance = gate_of(injected, honest), glance_of(injected, honest, vectors)
    return Model(*fit(injected, honest, vectors), gate, glance, {})


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
        hard = _hard(examples, kind)
        scores = highest(model, hard)
        weak, clear, sure = (_exceeded(scores, hard, shares[kind]) for shares in (WEAK, CLEAR, SURE))
        limits[kind] = Limits(weak, clear, sure)
    return replace(model, limits=limits)


def _exceeded(scores: NDArray[np.float64], examples: Sequence[Example], share: float) -> float:
    """Return the score that a share of the examples exceeds, the groups counting the same."""
    sizes = Counter(one.group for one in examples)
    order = np.argsort(-scores)
    above = np.cumsum([1 / len(sizes) / sizes[examples[at].group] for at in order])
    return round(float(scores[order[np.searchsorted(above, share)]]) + 0.0001, 4)


def _hard(examples: Iterable[Example], kind: str) -> list[Example]:
    return [one for one in examples if one.kind == kind and HARD.search(one.text)]


def stored(model: Model) -> str:
    """Return the model as JSON with the smallest weights left out until it fits."""
    least = 0
    while True:
        kept = {name: value for name, value in model.weights.items() if abs(value) * SCALE > least}
        limits = {kind: [found.weak, found.clear, found.sure] for kind, found in model.limits.items()}
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
    parser.add_argument(
        "--hold", choices=("voice", "register"), default="voice", help="what a fold leaves out"
    )
    args = parser.parse_args()
    rng = random.Random(SEED)
    packaged: Rows = []
    for one in of_packages(args.train, 9000, SEED):
        parts = list(windows(one.text))
        packaged += [described(part) for part in rng.sample(parts, min(MOST, len(parts)))]
    calibration = of_packages(args.calibrate, 6000, SEED)
    report = of_packages(args.report, 6000, SEED)
    injected, ordinary = written("injected", TIMES, SEED), HEED * written("ordinary", TIMES, SEED)
    ordinary += of_catalogs(args.catalogs, 800, SEED) + of_licences(args.licences)
    rows = {one.text: described(one.text) for one in (*injected, *ordinary)}
    vectors = senses()

    def without(held: Callable[[Example], bool]) -> Model:
        model = trained(
            [rows[one.text] for one in injected if not held(one)],
            [rows[one.text] for one in ordinary if not held(one)] + packaged,
            vectors,
        )
        return calibrated(read_model(stored(model)), calibration)

    keys = sorted({_key(one, args.hold) for one in injected} - {""})
    random.Random(SEED).shuffle(keys)
    for fold in range(min(args.folds, args.run)):
        held = set(keys[fold :: args.folds])
        out = partial(_is_held, held, args.hold)
        _show(
            f"without {', '.join(sorted(held))}", without(out), [one for one in injected if out(one)], report
        )
    model = without(lambda one: False)
    args.out.write_text(stored(model), encoding="utf-8")
    _show("all", model, injected, report)


def _key(one: Example, hold: str) -> str:
    """Return what cross-validation keeps together: whole voices, or registers over all voices that name theirs."""
    return one.voice if hold == "voice" else one.register


def _is_held(held: set[str], hold: str, one: Example) -> bool:
    return _key(one, hold) in held


def _show(title: str, model: Model, injected: Sequence[Example], report: Sequence[Example]) -> None:
    limits = model.limits["comment"]
    scores = highest(model, injected, limits)
    by_language: dict[str, list[bool]] = {}
    for one, score in zip(injected, scores, strict=True):
        by_language.setdefault(one.group.split("/")[1].split(":")[0], []).append(bool(score >= limits.weak))
    shares = " ".join(f"{name} {np.mean(found):.2f}" for name, found in sorted(by_language.items()))
    found = ", ".join(
        f"{name} {np.mean(scores >= least):.3f}"
        for name, least in (("weak", limits.weak), ("clear", limits.clear), ("sure", limits.sure))
    )
    print(f"{title}: recall {found} ({shares})")
    for kind in KINDS:
        limits = model.limits[kind]
        hard = highest(model, _hard(report, kind), limits)
        print(
            f"  hard {kind}: {np.mean(hard >= limits.weak):.4f} "
            f"(clear {np.mean(hard >= limits.clear):.5f}) of {len(hard)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
