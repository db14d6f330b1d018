"""The tiny setting: a few files of the example corpora, no network, seconds. It tests the way, and measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.benchmark.corpora import TRUSTED, UNKNOWN, Corpus, functions_in
from experiments.benchmark.packages import Package
from experiments.benchmark.poison import Plan
from experiments.benchmark.questions import Subject, subjects
from experiments.benchmark.runner import Run, Setting
from experiments.workbench import DATA

SAMPLE = DATA / "sample_code"
FOREIGN = DATA / "unknown_source"
TRUSTED_FILES, UNKNOWN_FILES = 1, 2
TINY = Setting(
    "tiny", None, 1, Plan(5, budgets=((1, 1.0),)), unattacked=3, ablations=False, embedding="lexical"
)


def corpus() -> Corpus:
    """Return a corpus of a few example files; the trusted ones can be imported from their folder."""
    package = Package("sample", "0", "", "", "Apache-2.0")
    texts = {
        f"{side}/{path.name}": path.read_text(encoding="utf-8")
        for side, folder, count in (
            (TRUSTED, SAMPLE, TRUSTED_FILES),
            (f"{UNKNOWN}/sample-0", FOREIGN, UNKNOWN_FILES),
        )
        for path in sorted(folder.glob("*.py"))[:count]
    }
    homes = dict.fromkeys(texts, package)
    return Corpus("tiny", texts, functions_in(texts, homes), homes)


def run(tiny: Run) -> None:
    """Go through the tiny corpus, all three parts at once: it has too few functions to be divided."""
    made = corpus()
    asked = [subject for part in ("dev", "test", "fresh") for subject in subjects(made, part)]

    def folders(_subject: Subject) -> Sequence[Path]:
        return [SAMPLE]

    tiny.corpus(made, asked, folders)
