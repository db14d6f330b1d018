"""Train the model of the injection signal and write it as whole numbers.

What is injected, and ordinary text in many languages, is made of the
templates beside this file, of what independent authors wrote (`orders`), and of
this project's own comments.
Ordinary English is read from a folder of unpacked Python packages, each a
folder of its name: those of `calibrate.txt` set the thresholds, the rest are
learned from, and of these above all the stretches that a first look takes for
instructions. Translated messages (*.mo) and licences are looked for anywhere
in the folder. Seeds are fixed, the regressions run in one thread, and the file
names the digest of what was read, so that runs can be compared.
Needs the weights of the extra `minilm`.

    python -m experiments.audit_training.train_injection FOLDER --out FILE [--without VOICE…]
    python -m experiments.audit_training.train_injection FOLDER --out FILE --thresholds

The second form learns nothing: it sets the thresholds of the model in FILE anew.
Recall is shown on `probe`, from which nothing is learned, and on the voices that
`--without` keeps apart.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codeguard.analysis.rules.injection import windows
from codeguard.analysis.rules.injection.features import glimpse, text_features, tokens_of
from codeguard.analysis.rules.injection.model import OrderModel, Thresholds, glance, may_order, read_model
from codeguard.analysis.rules.injection.ngrams import grams, number, parts, runs, tokens
from experiments.audit_training.corpus import (
    HARD,
    HERE,
    Example,
    of_authors,
    of_catalogs,
    of_licences,
    of_our_code,
    of_package,
    stretches,
    written,
)
from experiments.audit_training.fitting import Row, fitted, glance_of, packed, row_of
from experiments.audit_training.senses import senses

SEED = 20
TIMES = 3  # examples of a template, twice as many where it has slots
AUTHORS = frozenset(one.voice for one in of_authors())
HEED = 3.0  # what was written to be near an instruction counts as so many
SAMPLED = 60_000  # stretches of packages taken blindly
CHOSEN = 120_000  # taken because they look like instructions
MESSAGES = 3_000  # translated ones of a language
WEIGHED = 300  # hard texts of a kind and a package that thresholds are set by
LEAST_HONEST = 3  # honest stretches that have a word that counts
# Shares of the hard texts of packages that nothing was learned from which reach weak, clear and sure, each package
# counting the same. Comments seldom look like orders, docstrings more often, and a program's
# prompts do.
SHARES = {
    "comment": (0.012, 0.0065, 0.0012),
    "docstring": (0.015, 0.007, 0.0008),
    "string": (0.012, 0.002, 0.0008),
}
NONE = Thresholds(math.inf, math.inf, math.inf)
_PAYLOAD = re.compile(
    "marker|helper|fastut|acme|quick[jhc]|secure[l-]|libmar|exampl|collec|teleme|pwned|upload|hunter|letmei"
    "|turbo|shadow|easyht|beacon|fastjs|fastco|shim|invali"
)


def described(text: str, *, injected: bool) -> Row:
    """Return the features of one stretch of text; names that payloads have teach nothing."""
    named = text_features(text, tokens_of(text))
    if not injected:
        return row_of(named, grams(text))
    words = ["\0" if _PAYLOAD.search(word) else word for word in tokens(text)]
    names = {name for name in runs(words) if "\0" not in name}
    names.update(part for word in set(words) for part in parts(word))
    kept = {name for name in named if name[0] not in "wb" or not _PAYLOAD.search(name)}
    return row_of(kept, map(number, names))


def honest_stretches(packages: Iterable[Path], seen: set[str]) -> list[str]:
    """Return the stretches of texts of packages that the signal would weigh, in their order."""
    return [
        part
        for path in packages
        for one in of_package(path, seen)
        for part in stretches(one)
        if may_order(part, tokens_of(part))
    ]


def trained(injected: Sequence[Example], ordinary: Sequence[Example], honest: Sequence[str]) -> OrderModel:
    """Return a model without thresholds."""
    rng = random.Random(SEED)
    vectors = senses()
    positive = [described(one.text, injected=True) for one in injected]
    near = [described(one.text, injected=False) for one in ordinary]
    heed = [HEED if one.group.startswith("ordinary/") else 1.0 for one in ordinary]
    blind = rng.sample(range(len(honest)), min(len(honest), SAMPLED))
    looked = [described(honest[at], injected=False) for at in blind]
    glances, least = glance_of(positive, near + looked, vectors)
    others = set(range(len(honest))).difference(blind)
    scored = ((glance(glances, glimpse(tokens_of(honest[at]))), at) for at in others)
    chosen = [at for _, at in heapq.nlargest(CHOSEN, scored)]
    looked += [described(honest[at], injected=False) for at in chosen]
    alone = [
        float(TIMES) if one.voice in AUTHORS else 1.0 for one in injected
    ]  # others are there in several wordings
    weights = alone + heed + [1.0] * len(looked)
    table, bias = fitted(_telling(positive, near + looked), len(positive), weights, vectors)
    return OrderModel(memoryview(table.tobytes()).cast("b"), bias, glances, least, {})


def _telling(injected: Sequence[Row], honest: Sequence[Row]) -> list[Row]:
    """Return all rows without words that too few honest texts have: those tell of the templates alone."""
    seen = Counter(name for row in honest for name in row.named if name[0] in "wb")
    known = {name for name, count in seen.items() if count >= LEAST_HONEST}
    return [
        Row(tuple(name for name in row.named if name[0] not in "wb" or name in known), row.worded)
        for row in (*injected, *honest)
    ]


def highest(model: OrderModel, examples: Iterable[Example], limits: Thresholds = NONE) -> NDArray[np.float64]:
    """Return the score of each example's highest stretch."""
    return np.array(
        [
            max((model.score(part, limits) for part in windows(one.text)), default=-math.inf)
            for one in examples
        ]
    )


def thresholds(model: OrderModel, examples: Sequence[Example]) -> dict[str, Thresholds]:
    """Return thresholds at shares of the hard comments, docstrings and strings."""
    limits = {}
    for kind, shares in SHARES.items():
        hard = _some([one for one in examples if one.kind == kind and HARD.search(one.text)])
        scores = highest(model, hard)
        limits[kind] = Thresholds(*(_exceeded(scores, hard, share) for share in shares))
    return limits


def _some(examples: Sequence[Example]) -> list[Example]:
    """Return at most `WEIGHED` examples of each group, drawn blindly."""
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(one.group, []).append(one)
    rng = random.Random(SEED)
    return [one for group in groups.values() for one in rng.sample(group, min(len(group), WEIGHED))]


def _exceeded(scores: NDArray[np.float64], examples: Sequence[Example], share: float) -> float:
    """Return the score that a share of the examples exceeds, the groups counting the same."""
    sizes = Counter(one.group for one in examples)
    order = np.argsort(-scores, kind="stable")
    above = np.cumsum([1 / len(sizes) / sizes[examples[at].group] for at in order])
    return round(float(scores[order[np.searchsorted(above, share)]]) + 0.0001, 4)


def stored(model: OrderModel, limits: Mapping[str, Thresholds], digest: str) -> str:
    """Return the model as JSON."""
    content = {
        "read": digest,
        "bias": model.bias,
        "limits": {kind: [found.weak, found.clear, found.sure] for kind, found in limits.items()},
        "least": model.least,
        "glance": packed(model.glances),
        "weights": packed(model.weights),
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def show(title: str, model: OrderModel, examples: Sequence[Example]) -> None:
    """Print the share of examples that reach each threshold of comments, by file."""
    limits = model.limits["comment"]
    scores = highest(model, examples, limits)
    by_file: dict[str, list[bool]] = {}
    for one, score in zip(examples, scores, strict=True):
        by_file.setdefault(one.voice, []).append(bool(score >= limits.clear))
    files = " ".join(f"{name.partition('/')[2]} {np.mean(found):.2f}" for name, found in by_file.items())
    shares = " ".join(
        f"{name} {np.mean(scores >= least):.3f}"
        for name, least in (("weak", limits.weak), ("clear", limits.clear), ("sure", limits.sure))
    )
    print(f"{title}: {len(examples)} texts, recall {shares} (clear by file: {files})", flush=True)


def main() -> None:
    """Train, calibrate, write and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--thresholds", action="store_true", help="set the thresholds alone")
    parser.add_argument("--without", nargs="+", default=[], help="voices that are not learned from")
    args = parser.parse_args()
    apart = set((HERE / "calibrate.txt").read_text(encoding="utf-8").split())
    packages = sorted(path for path in args.folder.iterdir() if path.is_dir())
    seen: set[str] = set()
    calibration = [one for path in packages if path.name in apart for one in of_package(path, seen)]
    if args.thresholds:
        before = args.out.read_text(encoding="utf-8")
        model = read_model(before)
        text = stored(model, thresholds(model, calibration), json.loads(before)["read"])
        args.out.write_text(text, encoding="utf-8")
        show("probe", read_model(text), written("probe", 1, SEED))
        return
    honest = honest_stretches([path for path in packages if path.name not in apart], seen)
    ordinary = written("ordinary", TIMES, SEED)
    ordinary += of_catalogs(args.folder, MESSAGES, SEED) + of_licences(args.folder) + of_our_code()
    examples = [*written("injected", TIMES, SEED), *of_authors(), *ordinary]
    held = [one for one in examples if one.voice.partition("/")[2] in args.without]
    kept = [one for one in examples if one.voice.partition("/")[2] not in args.without]
    learned = [one for one in kept if one.injected]
    model = trained(learned, [one for one in kept if not one.injected], honest)
    digest = hashlib.sha256("\0".join(honest).encode("utf-8", "surrogatepass")).hexdigest()
    args.out.write_text(stored(model, thresholds(model, calibration), digest), encoding="utf-8")
    model = read_model(args.out.read_text(encoding="utf-8"))
    print(f"{len(honest)} honest stretches, {len(calibration)} texts to calibrate, {len(learned)} injected")
    show("probe", model, written("probe", 1, SEED))
    for title, wanted in (("held out", True), ("held out, honest", False)):
        if any(one.injected is wanted for one in held):
            show(title, model, [one for one in held if one.injected is wanted])


if __name__ == "__main__":
    main()
