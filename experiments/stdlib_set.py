"""The second query set: docstring lines of the standard library, half of them under attack.

    python experiments/stdlib_set.py [--count 320] [--seed 7] [--half 0] [--out results]

The templates of the attacks were frozen before any weight was set; nothing is
tuned on this set.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from codeguard.config import DefenseConfig
from codeguard.ranking.evaluation import Proportion
from codeguard.ranking.reranking import Ranking
from experiments import report
from experiments.corpus.stdlib import StdlibQuery, StdlibSet, build_stdlib_set
from experiments.steps import Labels, has_relevant
from experiments.truth import truth_of
from experiments.workbench import DATA, TRUSTED, UNKNOWN, Workbench

SEED = 7
COUNT = 320


def run(
    k: int, *, count: int = COUNT, seed: int = SEED, half: int | None = None, embedding: str = "auto"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build the set, index it beside the example corpora, ask; return the figures and a section for the page."""
    print(report.title(f"The standard library: {count} docstring lines, half of them under attack"))
    with tempfile.TemporaryDirectory(prefix="stdlib-set-") as folder:
        stdlib = build_stdlib_set(Path(folder), seed, count, half=half)
        folders = [Path(folder) / name for name in (stdlib.trusted, stdlib.unknown, stdlib.poison)]
        with Workbench(
            [*folders, DATA / TRUSTED, DATA / UNKNOWN], [stdlib.trusted, TRUSTED], embedding=embedding
        ) as bench:
            indexed = bench.index()
            print(
                f"{indexed.files} files, {indexed.chunks} chunks, {indexed.seconds:.0f} s; "
                f"{indexed.checked} checks, {len(indexed.convicted)} functions convicted; poison that could not be "
                f"shown to be wrong: {stdlib.unverified_share:.0%}"
            )
            texts = [query.text for query in stdlib.queries]
            by_order = {
                order: bench.ask(texts, k, replace(DefenseConfig(), order=order))
                for order in ("score", "penalty")
            }
    truth = truth_of(stdlib.labels)
    figures = {order: measure(stdlib, rankings, truth) for order, rankings in by_order.items()}
    shown = {order: _shown(rows) for order, rows in figures.items()}
    for order, lines in shown.items():
        print(f"\norder {order}")
        print("\n".join(f"  {name:<58} {value}" for name, value in lines))
    failing = _failing(stdlib, by_order["score"], truth)
    print("\npoison with a trusted twin that is still in the top k (order score):")
    print("\n".join(f"  {line}" for line in failing) or "  none")
    section = {
        "title": "The standard library",
        "paragraphs": [
            f"{len(stdlib.queries)} first docstring lines of public functions, every second one attacked; "
            f"{indexed.chunks} chunks. Half of the modules are trusted."
        ],
        "tables": [
            {
                "head": ["figure", "order score", "order penalty"],
                "rows": [[a[0], a[1], b[1]] for a, b in zip(shown["score"], shown["penalty"], strict=True)],
            }
        ],
        "charts": [],
    }
    flat = {order: {name: _plain(value) for name, value in rows.items()} for order, rows in figures.items()}
    return {"queries": len(stdlib.queries), "figures": flat, "failing": failing}, section


def measure(stdlib: StdlibSet, rankings: Sequence[Ranking], truth: Labels) -> dict[str, Proportion]:
    """Return the figures of one order."""
    pairs = list(zip(stdlib.queries, rankings, strict=True))

    def gone(wanted: Callable[[StdlibQuery], bool]) -> Proportion:
        before = after = 0
        for query, ranking in pairs:
            if wanted(query):
                before += sum(truth(item.chunk).poisoned for item in ranking.baseline_results)
                after += sum(truth(item.chunk).poisoned for item in ranking.results)
        return Proportion(max(0, before - after), before)

    def kept(wanted: Callable[[StdlibQuery, Ranking], bool]) -> Proportion:
        had = [
            (query, ranking)
            for query, ranking in pairs
            if wanted(query, ranking) and has_relevant(ranking.baseline_results, query.target, truth)
        ]
        return Proportion(
            sum(has_relevant(ranking.results, query.target, truth) for query, ranking in had), len(had)
        )

    def no_poison_in_reach(query: StdlibQuery, ranking: Ranking) -> bool:
        return not any(truth(item.chunk).poisoned for item in ranking.baseline)

    return {
        "poison gone, answer has a trusted twin": gone(lambda query: query.trusted),
        "poison gone, answer has none": gone(lambda query: not query.trusted),
        "answer kept, no poison among the candidates": kept(no_poison_in_reach),
        "answer kept, all questions": kept(lambda query, ranking: True),
        "answer in the top k without defense": Proportion(
            sum(has_relevant(ranking.baseline_results, query.target, truth) for query, ranking in pairs),
            len(pairs),
        ),
        "answer in the top k with defense": Proportion(
            sum(has_relevant(ranking.results, query.target, truth) for query, ranking in pairs), len(pairs)
        ),
        "clean candidates convicted": _false_convictions(pairs, truth),
    }


def _false_convictions(pairs: Sequence[tuple[StdlibQuery, Ranking]], truth: Labels) -> Proportion:
    clean = {
        item.id: item.convicted
        for _, ranking in pairs
        for item in ranking.ranking
        if not truth(item.chunk).poisoned
    }
    return Proportion(sum(clean.values()), len(clean))


def _failing(stdlib: StdlibSet, rankings: Sequence[Ranking], truth: Labels) -> list[str]:
    lines = []
    for query, ranking in zip(stdlib.queries, rankings, strict=True):
        for item in ranking.results:
            if query.trusted and truth(item.chunk).poisoned:
                what = f"{item.chunk.symbol} ({truth(item.chunk).attack}), {item.verdict or 'unchecked'}"
                lines.append(f"{query.attack or 'bystander'}: {query.text[:60]!r} -> {what}")
    return lines


def _shown(rows: dict[str, Proportion]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in rows.items()]


def _plain(value: Proportion) -> dict[str, Any]:
    return {"hits": value.hits, "n": value.n, "share": value.share, "interval": value.interval}


def main() -> int:
    """Run this set alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--half", type=int, choices=(0, 1), help="only functions of this half (default: both)"
    )
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    figures, _ = run(
        options.k,
        count=options.count,
        seed=options.seed,
        half=options.half,
        embedding=options.embedding,
    )
    report.write_json(figures, options.out / "stdlib.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
