"""Train the model that finds harmful passages in texts for agents, and write it as whole numbers.

`agents/*.jsonl` holds what independent authors wrote, one file each: whole files with their harmful passages marked,
and single passages, harmful ones and honest ones. Honest Markdown is read from folders of unpacked packages: half of
the packages, by the digest of their names, are learned from, the other half sets the thresholds. So do the honest
files of each author, scored by a model that was trained without that author. Seeds are fixed.

    python -m experiments.audit_training.train_passages FOLDER… --out FILE

Prints what each author's model, trained by the others alone, finds of that author.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from codeguard.analysis.rules.agent.passages import USUAL, PassageModel, described, passages_of, read_model
from codeguard.analysis.rules.injection.model import by_chance
from codeguard.analysis.text.assistants import is_for_assistants, names_an_assistant
from experiments.audit_training.corpus import HERE
from experiments.audit_training.fitting import Row, fitted, packed, row_of

SEED = 26
STRENGTH = 3.0  # inverse of the regularisation
STEP = 0.05
TAIL = 0.995  # share of honest passages below what the slope is measured on
REAL = 0.05  # what a passage of a package counts, compared with one that was written as an example
FILES = 150  # of one package
PASSAGES = 300  # of one file
FLAGGED = 0.06  # share of the authors' honest files, each scored without its author, in which a passage may be found
FLAGGED_REAL = 0.02  # the same for files of packages: those that speak to assistants, and the others
_SUFFIXES = (".md", ".mdc", ".cursorrules", ".windsurfrules")


def is_frozen(name: str) -> bool:
    """Return whether a package sets thresholds instead of being learned from: by its name's digest."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class Text:
    """A file or a passage; `passages` are its passages, each with whether it is harmful (None: partly)."""

    source: str
    text: str
    whole: bool
    bad: bool
    passages: tuple[tuple[str, bool | None], ...]

    @property
    def spoken_to(self) -> bool:
        """Whether it addresses an assistant or names one."""
        return is_for_assistants(self.text) or names_an_assistant(self.text)


def written() -> dict[str, list[Text]]:
    """Return the texts of each author."""
    found = {}
    for path in sorted((HERE / "agents").glob("*.jsonl")):
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found[path.stem] = [
            _text(path.stem, row["text"], row["kind"] == "file", row["bad"], row.get("harm", ()))
            for row in rows
        ]
    return found


def _text(source: str, text: str, whole: bool, bad: bool, harm: Iterable[str]) -> Text:
    places = [(text.find(one), text.find(one) + len(one)) for one in harm] or [(0, len(text) if bad else 0)]
    parts = tuple((part.text, _harmful(part.start, part.end, places)) for part in passages_of(text))
    return Text(source, text, whole, bad, parts[:PASSAGES])


def _harmful(start: int, end: int, places: Sequence[tuple[int, int]]) -> bool | None:
    """Return whether a passage is harmful by the places that are; None if it shares too little with one."""
    shared, longest = max((min(end, last) - max(start, first), last - first) for first, last in places)
    if shared <= 0:
        return False
    return True if shared >= (end - start) / 2 or shared >= longest / 2 else None


def of_packages(folders: Iterable[Path]) -> Iterator[Text]:
    """Yield the Markdown of unpacked packages, each a folder of its name; a text that several have only once."""
    rng, seen = random.Random(SEED), set[str]()
    for package in sorted(path for folder in folders for path in folder.iterdir() if path.is_dir()):
        paths = sorted(
            path for path in package.rglob("*") if path.name.endswith(_SUFFIXES) and path.is_file()
        )
        for path in rng.sample(paths, min(len(paths), FILES)):
            text = path.read_text(encoding="utf-8", errors="replace")
            start = "".join(text.split())[:400]
            if 200 < len(text) < 60_000 and start not in seen:
                seen.add(start)
                yield _text(package.name, text, True, False, ())


@cache
def row(text: str) -> Row:
    """Return the features of a passage."""
    return row_of(*described(text))


def trained(authors: Iterable[Sequence[Text]], packages: Sequence[Text]) -> PassageModel:
    """Return a model without thresholds."""
    bad, honest, weights = [], [], []
    for author in authors:
        for one in author:
            bad += [row(part) for part, harmful in one.passages if harmful]
            honest += [row(part) for part, harmful in one.passages if harmful is False]
    weights = [1.0] * (len(bad) + len(honest))
    real = [row(part) for one in packages for part, _ in one.passages]
    table, bias = fitted(
        [*bad, *honest, *real], len(bad), weights + [REAL] * len(real), {}, strength=STRENGTH, step=STEP
    )
    return PassageModel(memoryview(table.tobytes()).cast("b"), bias, STEP, float("-inf"), 0.0)


def slope_of(model: PassageModel, texts: Iterable[Text]) -> float:
    """Return how much higher the highest of e times as many honest passages is: the mean excess of their tail."""
    scores = np.array([model.score(part) for one in texts for part, _ in one.passages])
    tail = scores[scores > np.quantile(scores, TAIL)]
    return round(float(np.mean(tail - tail.min())), 3)


def highest(model: PassageModel, texts: Iterable[Text]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the score of each text's highest passage, less what its length explains."""
    return np.array(
        [
            max((model.score(part) for part, _ in one.passages), default=-np.inf)
            - model.slope * by_chance(len(one.passages), USUAL)
            for one in texts
        ],
        dtype=float,
    )


def main() -> None:
    """Train, set thresholds, write and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    authors, packages = written(), list(of_packages(args.folders))
    learned = [one for one in packages if not is_frozen(one.source)]
    apart = [one for one in packages if is_frozen(one.source)]
    model = trained(authors.values(), learned)
    model = replace(model, slope=slope_of(model, apart))
    texts, scores = [], []
    for name, own in authors.items():
        without = trained([other for key, other in authors.items() if key != name], learned)
        texts += own
        scores += list(highest(replace(without, slope=model.slope), own))
    of_apart = highest(model, apart)
    spoken = np.array([one.spoken_to for one in apart])
    known = np.array(scores)
    honest = np.array([one.whole and not one.bad for one in texts])
    limit = max(
        np.quantile(known[honest], 1 - FLAGGED),
        np.quantile(of_apart[spoken], 1 - FLAGGED_REAL),
        np.quantile(of_apart[~spoken], 1 - FLAGGED_REAL),
    )
    digest = hashlib.sha256(
        "\0".join(one.text for one in learned).encode("utf-8", "surrogatepass")
    ).hexdigest()
    content = {
        "read": digest,
        "bias": model.bias,
        "step": STEP,
        "limit": round(float(limit), 3),
        "slope": model.slope,
        "weights": packed(model.weights),
    }
    args.out.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    report(read_model(args.out.read_text(encoding="utf-8")), texts, known, apart, of_apart)


def report(
    model: PassageModel, texts: Sequence[Text], known: np.ndarray, apart: Sequence[Text], scores: np.ndarray
) -> None:
    """Print what is found of each author and of packages at the thresholds."""
    print(f"slope {model.slope} limit {model.limit}; {len(apart)} files of packages set them")

    def share(found: Iterable[bool]) -> str:
        hits = list(found)
        return f"{sum(hits)} of {len(hits)} = {sum(hits) / max(1, len(hits)):.2f}"

    rows = list(zip(texts, known, strict=True))
    for author in dict.fromkeys(one.source for one in texts):
        for whole in (True, False):
            for bad in (True, False):
                chosen = [(o, s) for o, s in rows if o.source == author and o.whole == whole and o.bad == bad]
                print(
                    author,
                    "files" if whole else "passages",
                    "harmful" if bad else "honest",
                    share(s >= model.limit for _, s in chosen),
                )
    for spoken in (True, False):
        print(
            "packages",
            spoken,
            share(s >= model.limit for o, s in zip(apart, scores, strict=True) if o.spoken_to == spoken),
        )


if __name__ == "__main__":
    main()
