"""All four steps of the experiment in temporary stores, with a console report, JSON and one page.

python experiments/run_full_experiment.py [-k 5] [--out results] [--text [DATA]]
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from codeguard import __version__
from codeguard.config import DefenseConfig
from codeguard.ranking.reranking import Ranking
from experiments import adaptive_set, report
from experiments.corpus.queries import ALL, EXAMPLES, Query
from experiments.steps import (
    Setting,
    Truth,
    charged,
    charging,
    defended,
    example_bench,
    example_truth,
    judge,
    settings,
    sweep,
)
from experiments.workbench import DATA, POISON, Workbench

NAMES = [query.text for query in EXAMPLES]


def main() -> int:
    """Run the experiment; 0 where it ran through."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", type=int, default=5, help="results a query, one a file")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for JSON and page")
    parser.add_argument("--embedding", default="auto", help="auto, static, minilm or lexical")
    parser.add_argument(
        "--text",
        metavar="DATA",
        nargs="?",
        const=os.environ.get("CODEGUARD_DATA", "."),
        type=Path,
        help="also the text-domain defenses, on this data folder (CODEGUARD_DATA, else the current one)",
    )
    options = parser.parse_args()
    needed = ("sms_spam", "poisonedrag_nq")
    if options.text and not all(
        (options.text / name).is_dir() for name in needed
    ):  # said now, not after the minutes before it is needed
        parser.error(
            f"--text: no evaluation data, got {options.text}, expected a folder with {' and '.join(needed)}"
        )
    start = time.monotonic()
    results: dict[str, Any] = {"schema": "codeguard.experiment/1", "codeguard": __version__, "k": options.k}
    truth = example_truth()

    with example_bench(poisoned=False, embedding=options.embedding) as bench:
        baseline = step_1(bench, options.k, truth)
        step_2(bench, options.k, truth, baseline)
        rankings, impact = step_3(bench, options.k, truth)
        defenses, weights = step_4(bench, options.k, truth)
        restored = take_poison_out(bench, options.k, baseline)
    print(
        f"\npoison taken out again: {'the rankings are those of step 1' if restored else 'THE RANKINGS DIFFER'}"
    )
    results.update(impact)
    results["defenses"] = [item.to_json() for item in defenses]
    results["sweep"] = [item.to_json() for item in weights]
    results["restored"] = restored
    figures, section = adaptive_set.run()
    results["adaptive"] = figures
    sections: list[dict[str, Any]] = [
        section,
        *report.benchmark_section(options.out / "benchmark/benchmark.json"),
    ]
    if options.text:
        from experiments.text.all import run as run_text

        figures, more = run_text(options.text)
        results["text"] = figures
        sections += more
    facts = {
        "codeguard": __version__,
        "questions": f"{len(ALL)} hand-written, k = {options.k}, one result a file",
        "sandbox": rankings[0].sandbox_level,
        "embedding": results["embedding"],
    }
    report.write_json(results, options.out / "experiment.json")
    report.write_page(
        options.out / "experiment.html",
        facts=facts,
        rankings=rankings,
        truth=truth,
        defenses=defenses,
        sweep=weights,
        sections=sections,
        command=shlex.join(["python", *sys.argv]),
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    )
    print(f"\nwritten: {options.out / 'experiment.json'} and {options.out / 'experiment.html'}")
    print(f"took {time.monotonic() - start:.0f} s")
    return 0 if restored else 1


def step_1(bench: Workbench, k: int, truth: Any) -> list[Ranking]:
    """Ask the clean corpus."""
    print(report.title("Step 1: the clean corpus, no defense"))
    texts = [query.text for query in ALL]
    fused, similar = bench.ask(texts, k, defense=False), bench.similar(texts, k)
    outcome = judge("baseline", ALL, fused, truth, similar)
    head = ("question", "right function first: by similarity", "with words")
    examples = list(zip(EXAMPLES, similar, fused, strict=False))
    rows = [(q.text, _first(plain, q, truth), _first(both, q, truth)) for q, plain, both in examples]
    print("\n".join(report.table(head, rows)))
    print(f"right function in the top {k} by similarity: {outcome.relevant_before} of {len(ALL)} questions")
    return fused


def step_2(bench: Workbench, k: int, truth: Any, baseline: list[Ranking]) -> None:
    """Put the poison in and look at what an undefended assistant would be given."""
    print(report.title("Step 2: the attacks, no defense"))
    bench.put(DATA / POISON)
    indexed = bench.index()
    print(
        f"poison in: {indexed.files} files, {indexed.chunks} chunks, {len(indexed.convicted)} functions convicted"
    )
    similar, fused = bench.similar(NAMES, k), bench.ask(NAMES, k, defense=False)
    rows = []
    for before, plain, both in zip(baseline, similar, fused, strict=False):
        gone = {item.chunk.path for item in before.results} - {item.chunk.path for item in both.results}
        rows.append(
            (
                plain.query,
                report.poisoned(plain.results, truth),
                report.poisoned(both.results, truth),
                len(gone),
            )
        )
    head = ("question", f"poison in the top {k}: by similarity", "with words", "files pushed out")
    print("\n".join(report.table(head, rows)))


def step_3(bench: Workbench, k: int, truth: Any) -> tuple[list[Ranking], dict[str, Any]]:
    """Measure the impact on all questions, undefended and under the default defense."""
    print(report.title(f"Step 3: impact on all {len(ALL)} questions, poison in the top {k}"))
    rankings = bench.ask([query.text for query in ALL], k, DefenseConfig())
    similar = bench.similar([query.text for query in ALL], k)
    outcome = judge("default", ALL, rankings, truth, similar)
    shown = len(EXAMPLES)
    examples = judge("examples", EXAMPLES, rankings[:shown], truth, similar[:shown])
    print("\n".join(report.attack_table(outcome)))
    figures = {
        "examples": examples.to_json(),
        "embedding": bench.embedding,
        "rankings": [
            {
                "query": ranking.query,
                "before": [_line(item, truth(item.chunk)) for item in plain.baseline],
                "fused": [_line(item, truth(item.chunk)) for item in ranking.baseline],
                "after": [_line(item, truth(item.chunk)) for item in ranking.ranking],
            }
            for plain, ranking in zip(similar, rankings, strict=True)
        ],
    }
    return rankings, figures


def step_4(bench: Workbench, k: int, truth: Any) -> tuple[list[Any], list[Any]]:
    """Show the described questions in full, compare the defenses, scale every weight that is charged."""
    rankings = bench.ask([query.text for query in ALL], k, DefenseConfig())
    print(report.title("Step 4: the defense"))
    for before, after in zip(bench.similar(NAMES, k), rankings, strict=False):
        print(f"\n{after.query}")
        print("\n".join(report.moves(before.baseline, after.ranking, after.dropped, truth)))
    keys = charged(rankings)
    defenses = defended(bench, ALL, truth, settings(charging(keys)), k)
    print(report.title(f"All {len(ALL)} questions: poison in the top {k}, and right functions kept"))
    shown = [item for item in defenses if not item.setting.startswith(("without ", "only "))]
    print("\n".join(report.outcome_table(shown)))
    rest = [item for item in defenses if item not in shown]
    most = max(rest, key=lambda item: item.poison_after)
    print(
        f"and {len(rest)} more settings, in the report; poison after at most {most.poison_after} ({most.setting})"
    )
    default = next(item for item in defenses if item.setting.startswith("default"))
    for question in default.questions_with_poison_after:
        print(f"  still poisoned under the default: {question}")
    for line in default.clean_below_poison:
        print(f"  clean and passing, but below poison: {line}")
    weights = defended(bench, ALL, truth, sweep(keys), k)
    worst = max(weights, key=lambda item: item.poison_after)
    print(
        f"\nevery weight that is charged × 0, ½, 2: {len(weights)} settings, poison after at most {worst.poison_after} "
        f"({worst.setting}), without defense {worst.poison_before}"
    )
    if worst.poison_after > worst.poison_before:
        print("  A SETTING IS WORSE THAN NO DEFENSE")
    return defenses, weights


def _first(ranking: Ranking, question: Query, truth: Any) -> str:
    """Return the rank of the first right function, "-" if there is none among the candidates."""
    labels = [truth(item.chunk) for item in ranking.baseline]
    right = [
        place
        for place, label in enumerate(labels, 1)
        if not label.poisoned and label.target == question.target
    ]
    return str(right[0]) if right else "-"


def take_poison_out(bench: Workbench, k: int, baseline: list[Ranking]) -> bool:
    """Remove the poison and return whether the rankings are what they were."""
    bench.take(POISON)
    bench.index()
    rankings = bench.ask([query.text for query in ALL], k, Setting("none", None).config, defense=False)
    return all(
        [item.id for item in now.baseline] == [item.id for item in then.baseline]
        for now, then in zip(rankings, baseline, strict=True)
    )


def _line(item: Any, label: Truth) -> dict[str, Any]:
    return {
        "path": item.chunk.path,
        "symbol": item.chunk.symbol,
        "distance": item.distance,
        "penalty": item.penalty,
        "score": item.score,
        "verdict": item.verdict,
        "convicted": item.convicted,
        "attack": label.attack if label.poisoned else "",
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; no report was written, and an earlier one is as it was", file=sys.stderr)
        sys.exit(130)
