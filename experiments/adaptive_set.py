"""How the attacks that adapt to the defense fare: convicted, demoted or let through, by attack and variant.

    python -m experiments.adaptive_set [--each 3] [--out results]

Every variant goes against several functions of data/sample_code, once with
the trusted function in the index and once with it left out.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import checkable
from codeguard.models import CheckReport, Chunk, SourceFile
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.ranking.signals.base import SignalServices
from codeguard.sandbox import Sandbox
from experiments import report
from experiments.attacks import ALL, PoisonFile, TargetFunction
from experiments.corpus.build_poison import project_targets
from experiments.corpus.naming import Namer
from experiments.corpus.selection import Chosen, candidates_of, choose_variant
from experiments.workbench import DATA, SEED, TRUSTED

EACH = 1
CHOICE = 1
FATES = ("convicted", "demoted", "let through")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One poisoned file: what made it, which function it stands in for, and its functions' chunks."""

    attack: str
    variant: str
    target: str
    file: SourceFile

    @property
    def functions(self) -> list[Chunk]:
        """The functions in it."""
        return [chunk for chunk in self.file.chunks if checkable(chunk)]


def attempts(seed: int, each: int, attacks: Sequence[str] = ()) -> Iterator[Attempt]:
    """Yield every variant of the adaptive attacks (of all, where none is named), verified, under a neutral name.

    Each variant goes against `each` functions of data/sample_code, fewer where it does not apply to as many.
    """
    targets, namer = project_targets(), Namer(seed)
    for name in attacks or [name for name, attack in ALL.items() if attack.adaptive]:
        for chosen in _variants(name, targets, seed, each):
            file = chunk_file(namer(), chosen.file.text.encode())
            yield Attempt(name, chosen.file.name.partition("/")[2], chosen.target.name, file)


def _variants(attack: str, targets: Sequence[TargetFunction], seed: int, each: int) -> Iterator[Chosen]:
    order = Random(f"adaptive:{seed}:{attack}").sample(targets, len(targets))
    by_variant: dict[str, list[tuple[TargetFunction, list[PoisonFile]]]] = defaultdict(list)
    for target in order:
        of_target: dict[str, list[PoisonFile]] = defaultdict(list)
        for candidate in candidates_of(target, ALL[attack], seed):
            of_target[candidate.name].append(candidate)
        for name, candidates in of_target.items():
            by_variant[name].append((target, candidates))
    for position, (_, applicable) in enumerate(sorted(by_variant.items())):
        start = position * each % len(applicable)  # every variant meets other functions
        proven = (
            chosen
            for target, candidates in (*applicable[start:], *applicable[:start])
            if (chosen := choose_variant(target, candidates, adaptive=True)) is not None
        )
        yield from islice(proven, each)


def trusted_files(without: str = "") -> Iterator[SourceFile]:
    """Yield the trusted files, one function left out of them."""
    for path in sorted((DATA / TRUSTED).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kept = [node for node in tree.body if getattr(node, "name", "") != without]
        if len(kept) == len(tree.body):
            yield chunk_file(path.name, path.read_bytes())
        else:
            yield chunk_file(path.name, ast.unparse(ast.Module(kept, [])).encode())


def fates(items: Sequence[Attempt], library: SpecLibrary, sandbox: Sandbox) -> list[str]:
    """Return what becomes of each attempt; a file fares as its worst function does."""
    checker = BehaviorChecker(library, sandbox, seed=SEED)
    subjects = [(chunk, item.file) for item in items for chunk in item.functions]
    reports: dict[tuple[str, str], CheckReport] = {
        (file.path, chunk.symbol): found
        for (chunk, file), found in zip(subjects, checker.check_many(subjects), strict=True)
    }
    # Where a file comes from and how far it is from the query is no part of what it does.
    config = DefenseConfig(enable_provenance=False, enable_distance=False)

    def known(chunk: Chunk, file: SourceFile) -> CheckReport:
        return reports[file.path, chunk.symbol]

    manager = DefenseManager(config, services=SignalServices(behavior=known))
    return [_fate(manager, item) for item in items]


def _fate(manager: DefenseManager, item: Attempt) -> str:
    found = [Candidate(str(n), chunk, item.file, 0.0) for n, chunk in enumerate(item.functions)]
    judged = manager.apply(found).retained
    if any(one.convicted for one in judged):
        return FATES[0]
    return FATES[1] if any(one.penalty > 0 for one in judged) else FATES[2]


def run(*, each: int = EACH, seed: int = CHOICE) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures and a section of the page."""
    print(report.title("Attacks that adapt to the defense"))
    start = time.monotonic()
    items = list(attempts(seed, each))
    by_target: dict[str, list[Attempt]] = defaultdict(list)
    for item in items:
        by_target[item.target].append(item)
    shipped = SpecLibrary.load()
    counts: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    with Sandbox() as sandbox:
        known = fates(items, shipped.with_trusted(list(trusted_files())), sandbox)
        outcomes = list(zip(items, known, ["with"] * len(items), strict=True))
        for target, members in by_target.items():
            alone = fates(members, shipped.with_trusted(list(trusted_files(target))), sandbox)
            outcomes += zip(members, alone, ["without"] * len(members), strict=True)
    for item, fate, side in outcomes:
        row = counts.setdefault((item.attack, item.variant), {"with": Counter(), "without": Counter()})
        row[side][fate] += 1
    rows = sorted(counts.items())
    head = ["attack", "variant", "n"] + [
        f"{side} twin: {fate}" for side in ("with", "without") for fate in FATES
    ]
    table = [
        [
            attack,
            variant,
            row["with"].total(),
            *(row[side][fate] for side in ("with", "without") for fate in FATES),
        ]
        for (attack, variant), row in rows
    ]
    table += [_total(attack, table) for attack in dict.fromkeys(attack for (attack, _), _ in rows)]
    table.append(_total("", table[: len(rows)]))
    all_of_them = table[-1]
    beside_twin, without = (f"{all_of_them[place]} of {all_of_them[2]}" for place in (5, 8))
    print(
        f"let through by what they do: {beside_twin} beside the function they stand in for, {without} without it"
    )
    print(f"took {time.monotonic() - start:.0f} s")
    through = FATES[2]
    found = [
        (row["with"][through], row["without"][through], attack, variant) for (attack, variant), row in rows
    ]
    worst = sorted((line for line in found if line[0] or line[1]), reverse=True)
    passing = [[attack, variant, beside, alone] for beside, alone, attack, variant in worst]
    figures = {
        "seed": seed,
        "each": each,
        "rows": [dict(zip(head, line, strict=True)) for line in table],
    }
    return figures, {
        "title": "Attacks that adapt to the defense",
        "paragraphs": [
            "Every variant is verified poison that the known calls of its function do not give away. "
            "Convicted, demoted or let through by what it does, with the trusted function it stands in for "
            "in the index and without it. Provenance and distance are switched off."
        ],
        "tables": [
            {"head": ["let through", "variant", "with a twin", "without"], "rows": passing, "open": True},
            {"head": head, "rows": table, "open": False},
        ],
        "charts": [],
    }


def _total(attack: str, table: Sequence[Sequence[Any]]) -> list[Any]:
    rows = [line for line in table if line[0] == attack or not attack]
    return [attack or "all", "all variants", *(sum(line[place] for line in rows) for place in range(2, 9))]


def main() -> int:
    """Run this set alone."""
    parser = argparse.ArgumentParser(description="rates of the adaptive attacks")
    parser.add_argument("--each", type=int, default=EACH, help="functions a variant")
    parser.add_argument("--seed", type=int, default=CHOICE, help="seed of the choice")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    figures, _ = run(each=options.each, seed=options.seed)
    report.write_json(figures, options.out / "adaptive.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
