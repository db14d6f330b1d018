"""Natural questions about repositories: how near the files that answer them come, trusted, half trusted or not.

    python -m experiments.benchmarks.code_search QUESTIONS SOURCES [--only NAME]… [--embedding NAME]

QUESTIONS is a file of JSON lines (`repo`, `root`, `query`, `relevant`,
`secondary`). SOURCES is a folder that holds `NAME/ROOT` for every
repository; one that is missing is left out and named. The measure is NDCG@10
over files, one result a file; every relevant or secondary file counts 1.
Each repository is indexed with nothing trusted, then with half of its files,
drawn by a hash of their paths, then with all; `undefended` is the order of
the same candidates without evidence, in the same run. Weights were tuned on
TUNED_ON; the other repositories are reported apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.ranking.reranking import Ranked

K = 10
TUNED_ON = frozenset({"click", "httpx", "requests", "axios"})
DRAWS = 2_000
TRUSTS = ("nothing", "half", "everything")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the paths that answer it, relative to its repository."""

    repository: str
    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Score:
    """NDCG@10 of one question, the repository trusted as `trust` says."""

    question: Question
    trust: str
    undefended: float
    defended: float


def read_questions(path: Path) -> tuple[dict[str, str], list[Question]]:
    """Return the root of each repository, and the questions."""
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    questions = [
        Question(row["repo"], row["query"], _paths([*row["relevant"], *row["secondary"]])) for row in rows
    ]
    return {row["repo"]: row["root"] for row in rows}, questions


def _paths(places: Sequence[str | Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(place if isinstance(place, str) else place["path"] for place in places)


def ndcg(found: Sequence[str], answers: frozenset[str]) -> float:
    """Return the normalised discounted cumulative gain of the first K paths, 0 to 1 (Järvelin, Kekäläinen 2002)."""
    gain = sum(1 / math.log2(place + 2) for place, path in enumerate(found[:K]) if path in answers)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(K, len(answers))))


def measure(
    repository: Path, root: str, questions: Sequence[Question], embedding: str = "auto"
) -> Iterator[Score]:
    """Index one repository three times over one store, and yield the scores of its questions."""
    files = sorted(path for path in (repository / root).rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(store=f"{work}/store", root=str(repository), embedding=embedding)
        for trust in TRUSTS:
            with CodeGuard.open(settings=settings, trust=_trusted(files, repository / root, trust)) as guard:
                guard.index([repository / root])
                rankings = guard.query_many([question.text for question in questions], K)
            for question, ranking in zip(questions, rankings, strict=True):
                yield Score(
                    question,
                    trust,
                    ndcg(_of(ranking.baseline_results), question.answers),
                    ndcg(_of(ranking.results), question.answers),
                )


def _trusted(files: Sequence[Path], root: Path, trust: str) -> list[Path]:
    if trust == "half":
        return [path for path in files if hashlib.sha256(path.name.encode()).digest()[0] % 2]
    return [root] if trust == "everything" else []


def _of(results: Sequence[Ranked]) -> list[str]:
    return [item.chunk.path for item in results]


def table(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Return, by group of questions and trust, n, both means and the 95 % interval of the defended (bootstrap)."""
    groups = {
        "all": scores,
        "tuned on": [score for score in scores if score.question.repository in TUNED_ON],
        "held out": [score for score in scores if score.question.repository not in TUNED_ON],
    }
    for name in sorted({score.question.repository for score in scores}):
        groups[name] = [score for score in scores if score.question.repository == name]
    return {
        name: {trust: _row([score for score in group if score.trust == trust]) for trust in TRUSTS}
        for name, group in groups.items()
        if group
    }


def _row(scores: Sequence[Score]) -> dict[str, Any]:
    values = [score.defended for score in scores]
    drawn = random.Random(0)
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    return {
        "n": len(values),
        "undefended": round(fmean(score.undefended for score in scores), 3),
        "defended": round(fmean(values), 3),
        "interval": [round(means[DRAWS // 40], 3), round(means[-DRAWS // 40], 3)],
    }


def main() -> None:
    """Measure, print the table and the questions that fail, and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="measure these repositories alone")
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    roots, questions = read_questions(arguments.questions)
    scores: list[Score] = []
    for name, root in roots.items():
        repository = arguments.sources / name
        if arguments.only and name not in arguments.only:
            continue
        if not (repository / root).is_dir():
            print(f"left out: {name}, there is no {root} below {repository}")
            continue
        own = [item for item in questions if item.repository == name]
        scores += measure(repository, root, own, arguments.embedding)
    found = table(scores)
    for group, rows in found.items():
        for trust, row in rows.items():
            low, high = row["interval"]
            print(
                f"{group:24} trusted: {trust:10} n {row['n']:4}  undefended {row['undefended']:.3f}"
                f"  defended {row['defended']:.3f} [{low:.3f}, {high:.3f}]"
            )
    for score in scores:
        if score.trust == "everything" and score.defended < 0.5:
            print(f"  {score.defended:.2f} {score.question.repository}: {score.question.text}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
