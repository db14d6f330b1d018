"""What the labels say of a chunk, for measuring alone."""

from __future__ import annotations

from codeguard.models import Chunk
from experiments.corpus.labels import Labels, read_labels
from experiments.steps import Labels as Truths
from experiments.steps import Truth

CORPUS_PREFIX = "data/"  # the labels name files from the project's root, a workbench from its corpus


def truth_of(labels: Labels, prefix: str = "") -> Truths:
    """Return the function from a chunk to what its label says; `prefix` is put in front of its path."""
    known = {
        (label.path, label.symbol): Truth(label.poisoned, label.attack, label.target)
        for label in labels.functions
    }
    unlabelled = Truth(poisoned=False)

    def truth(chunk: Chunk) -> Truth:
        return known.get((prefix + chunk.path, chunk.symbol), unlabelled)

    return truth


def example_truth() -> Truths:
    """Return the labels of the example corpora, for the paths of `experiments.workbench`."""
    return truth_of(read_labels(), CORPUS_PREFIX)
