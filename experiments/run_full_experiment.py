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
from experiments import report
from experiments.corpus.queries import ALL, EXAMPLES, Query
from experiments.steps import (
    Setting,
    Truth,
    charged,
    defended,
    example_bench,
    judge,
    settings,
    sweep,
)
from experiments.truth import example_truth
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
    sections: list[dict[str, Any]] = []
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
    print(report.title("Step 1: baseline, no poison in the corpus"))
    rankings = bench.ask([query.text for query in ALL], k, defense=False)
    similar = bench.similar([query.text for query in ALL], k)
    for plain, fused in list(zip(similar, rankings, strict=True))[: len(EXAMPLES)]:
        print(f"\n{plain.query}: by similarity alone")
        print("\n".join(report.ranking_lines(plain.results, truth)))
        print("by similarity and words")
        print("\n".join(report.ranking_lines(fused.results, truth)))
    outcome = judge("baseline", ALL, rankings, truth, similar)
    print(f"\nquestions with a right function in the top {k}: {outcome.relevant_before} of {len(ALL)}")
    return rankings


def step_2(bench: Workbench, k: int, truth: Any, baseline: list[Ranking]) -> None:
    """Put the poison in and look at what an undefended assistant would be given."""
    print(report.title("Step 2: the attacks, no defense"))
    bench.put(DATA / POISON)
    indexed = bench.index()
    print(
        f"poison in: {indexed.files} files, {indexed.chunks} chunks, {len(indexed.convicted)} functions convicted"
    )
    rankings = bench.similar(NAMES, k)
    for before, after in zip(baseline, rankings, strict=False):
        moved = [item for item in after.results if truth(item.chunk).poisoned]
        gone = {item.chunk.path for item in before.results} - {item.chunk.path for item in after.results}
        pushed = ", ".join(sorted(gone)) or "none"
        print(f"\n{after.query}: {len(moved)} poisoned of {len(after.results)}; pushed out: {pushed}")
        print("\n".join(report.ranking_lines(after.results, truth)))
    fused = bench.ask(NAMES, k, defense=False)
    outcome = judge("no defense", EXAMPLES, fused, truth, rankings)
    print(
        f"\nthe {len(EXAMPLES)} example queries together: {outcome.poison_before} poisoned by similarity alone, "
        f"{outcome.poison_fused} by similarity and words"
    )


def step_3(bench: Workbench, k: int, truth: Any) -> tuple[list[Ranking], dict[str, Any]]:
    """Measure the impact on all questions, undefended and under the default defense."""
    print(report.title("Step 3: impact"))
    rankings = bench.ask([query.text for query in ALL], k, DefenseConfig())
    similar = bench.similar([query.text for query in ALL], k)
    outcome = judge("default", ALL, rankings, truth, similar)
    print("\n".join(report.attack_table(outcome)))
    print("\nfull rankings of every question, by similarity alone and after the defense, no deduplication")
    for before, after in zip(similar, rankings, strict=True):
        one = judge("default", [Query(after.query, "")], [after], truth, [before])
        print(
            f"\n{after.query}: {one.poison_before} poisoned before (similarity and words "
            f"{one.poison_fused}), {one.poison_after} after, in the top {k}"
        )
        print("before")
        print("\n".join(report.ranking_lines(before.baseline, truth)))
        print("after")
        print("\n".join(report.ranking_lines(after.ranking, truth)))
    shown = len(EXAMPLES)
    examples = judge("examples", EXAMPLES, rankings[:shown], truth, similar[:shown])
    print(
        f"\nthe {len(EXAMPLES)} example queries together: {examples.poison_before} poisoned in the undefended top {k}, "
        f"{examples.poison_after} in the defended; clean implementations that pass but stand below poison: "
        f"{len(examples.clean_below_poison)}"
    )
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
    """Compare the defenses, switch each signal off, scale every weight that is charged."""
    keys = charged(bench.ask([query.text for query in ALL], k, DefenseConfig()))
    print(report.title("Step 4: defenses, ablation, sensitivity"))
    defenses = defended(bench, ALL, truth, settings(sorted({key.partition(".")[0] for key in keys})), k)
    print("\n".join(report.outcome_table(defenses)))
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
