"""Nothing but the text of functions tells poison from honest code: a classifier of everything else has to fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from codeguard.index.embedding import LexicalEmbedding
from experiments.attacks import PoisonFile, TargetFunction
from experiments.benchmark import placement, poison, questions
from experiments.benchmark.attacks import ALL
from experiments.benchmark.corpora import FOLDERS, TRUSTED, Corpus, assembled, chunks_of
from experiments.benchmark.grammar import Grammar
from experiments.benchmark.packages import Package
from experiments.corpus.verify import Finding

pytestmark = pytest.mark.ci

SIZES = (".py", ".md", ".ipynb", "")
LEARNED, HELD_OUT = range(6), range(6, 14)
LIBRARY = Path(os.__file__).parent
PACKAGE = Package("library", "0", "", "", "PSF-2.0")


def library_corpus() -> Corpus:
    """Return a corpus of modules of the standard library: some are trusted, the loose files are of others."""
    files = sorted(path for path in LIBRARY.glob("*.py") if 4_000 < path.stat().st_size < 60_000)
    texts = [(path.name, path.read_text("utf-8", "replace")) for path in files]
    trusted = {f"{TRUSTED}/{name}": text for name, text in texts[::6]}
    unlisted = [(PACKAGE, name, text) for place, (name, text) in enumerate(texts) if place % 6]
    return assembled("library", dict.fromkeys(trusted, PACKAGE), trusted, unlisted, 900)


def believed(target: TargetFunction, files: Sequence[PoisonFile], folders: Sequence[Path]) -> list[Finding]:
    """Take every draft for proven: where it lies is measured, not whether it does harm."""
    return [Finding("effect", args="()", expected="1", got="2", effects=("file",)) for _ in files]


def features_of(path: str, text: str, place: int, count: int, tree: placement.Tree) -> list[float]:
    """Return what a file shows without the text of its functions."""
    chunks = chunks_of(path, text)
    sizes = [len(chunk.text) for chunk in chunks] or [0]
    lines = text.split("\n")
    parts = PurePosixPath(path).parts
    siblings = sum(PurePosixPath(other).parent == PurePosixPath(path).parent for other in tree.texts)
    kinds = [PurePosixPath(path).suffix == suffix for suffix in SIZES]
    folders = [folder in parts for folder in FOLDERS]
    return [
        *map(float, (*kinds, *folders)), len(parts), len(parts[-1]), any(letter.isdigit() for letter in parts[-1]),
        siblings, place / count, tree.times[path], len(text), len(lines), len(chunks), min(sizes), max(sizes),
        sum(sizes) / len(sizes), max(map(len, lines)), len(text) / len(lines), sum(not line for line in lines),
        sum(line.startswith(("import ", "from ")) for line in lines), text.endswith("\n"),
        sum(line.lstrip().startswith("#") for line in lines), text.count('"""'),
        *np.diff(sizes[:4], prepend=0).tolist(), *[0.0] * (4 - len(sizes[:4])),
    ]  # fmt: skip


def files_of(seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all unlisted files of some rounds, and whether each is poisoned."""
    corpus = library_corpus()
    asked = [item for part in questions.PARTS for item in questions.subjects(corpus, part)]
    grammar = Grammar("test")
    rows, labels = [], []
    for seed in seeds:
        drawn = poison.draw(
            corpus, asked, list(ALL.values()), poison.Plan(20), seed, verify_with=believed,
            folders=lambda subject: [], embed=LexicalEmbedding().embed, grammar=grammar,
        )  # fmt: skip
        needed = dict.fromkeys(item.subject.function.path for item in drawn if not item.subject.twin)
        tree = placement.place(corpus, drawn, tuple(needed), seed, grammar)
        poisoned = {file.path for item in tree.instances for file in item.files}
        for place, (path, text) in enumerate(tree.texts.items()):
            rows.append(features_of(path, text, place, len(tree.texts), tree))
            labels.append(path in poisoned)
    return np.array(rows, dtype=float), np.array(labels)


LINEAR = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced"))
FOREST = RandomForestClassifier(300, min_samples_leaf=5, class_weight="balanced", random_state=1)


@pytest.mark.slow
def test_no_classifier_finds_poison_without_reading_functions() -> None:
    known, truth = files_of(LEARNED)
    held, labels = files_of(HELD_OUT)
    assert labels.sum() > 200
    rng = np.random.default_rng(1)
    for model in (LINEAR, FOREST):
        scores = model.fit(known, truth).predict_proba(held)[:, 1]
        drawn = (rng.integers(0, len(labels), len(labels)) for _ in range(400))
        interval = np.quantile([roc_auc_score(labels[some], scores[some]) for some in drawn], (0.025, 0.975))
        assert roc_auc_score(labels, scores) <= 0.55
        assert interval[1] <= 0.60


def test_a_round_shows_honest_files_of_every_kind_that_poison_comes_in() -> None:
    corpus = library_corpus()
    asked = [item for part in questions.PARTS for item in questions.subjects(corpus, part)]
    chosen = [item for item in ALL.values() if item.family in ("orders", "supply")]
    drawn = poison.draw(
        corpus, asked, chosen, poison.Plan(14), 3, verify_with=believed, folders=lambda subject: [],
        embed=LexicalEmbedding().embed, grammar=Grammar("dev"),
    )  # fmt: skip
    tree = placement.place(corpus, drawn, (), 3, Grammar("dev"))
    poisoned = {file.path for item in tree.instances for file in item.files}
    shares = {
        suffix: np.mean([path in poisoned for path in tree.texts if PurePosixPath(path).suffix == suffix])
        for suffix in {PurePosixPath(path).suffix for path in poisoned}
    }
    assert len(shares) >= 3
    assert max(shares.values()) - min(shares.values()) < 0.15
    for file in (file for item in tree.instances for file in item.files):
        lines = file.text.split("\n")
        assert file.lines
        assert all(1 <= first <= last <= len(lines) for first, last in file.lines)
        assert any(text in file.text for text in file.payload)
