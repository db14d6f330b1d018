"""The tiny setting: a few files of the example corpora, no network, seconds. It tests the way, and measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.benchmark.corpora import TRUSTED, Corpus, assembled
from experiments.benchmark.packages import Package
from experiments.benchmark.poison import Plan
from experiments.benchmark.questions import Subject, subjects
from experiments.benchmark.runner import Run, Setting
from experiments.workbench import DATA

SAMPLE = DATA / "sample_code"
FOREIGN = DATA / "unknown_source"
TRUSTED_FILES = 1
TINY = Setting(
    "tiny", None, 1, Plan(5, budgets=((1, 1.0),)), unattacked=3, ablations=False, embedding="lexical"
)


def corpus() -> Corpus:
    """Return a corpus of a few example files; the trusted ones can be imported from their folder."""
    package = Package("sample", "0", "", "", "Apache-2.0")
    trusted = {
        f"{TRUSTED}/{path.name}": path.read_text(encoding="utf-8")
        for path in sorted(SAMPLE.glob("*.py"))[:TRUSTED_FILES]
    }
    unlisted = [
        (package, path.name, path.read_text(encoding="utf-8")) for path in sorted(FOREIGN.glob("*.py"))
    ]
    return assembled("tiny", dict.fromkeys(trusted, package), trusted, unlisted, None)


def run(tiny: Run) -> None:
    """Go through the tiny corpus, all three parts at once: it has too few functions to be divided."""
    made = corpus()
    asked = [subject for part in ("dev", "test", "fresh") for subject in subjects(made, part)]

    def folders(_subject: Subject) -> Sequence[Path]:
        return [SAMPLE]

    tiny.corpus(made, asked, folders)
