"""The attacks that adapt to the defense, every variant of each, against several functions.

Nothing of it is committed: `build_adaptive_set` writes into a folder given by
the caller. The experiments report how many get through, whatever the figure.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.attacks import PoisonFile, TargetFunction, all_attacks
from experiments.corpus.build_poison import ROOT, project_targets
from experiments.corpus.labels import FunctionLabel, Labels
from experiments.corpus.naming import Namer
from experiments.corpus.queries import Query
from experiments.corpus.selection import Chosen, candidates_of, choose_variant, labels_of


@dataclass(frozen=True, slots=True)
class AdaptiveSet:
    """The folder, one query a file, and the labels; label paths are relative to the folder."""

    root: Path
    queries: tuple[Query, ...]
    labels: Labels

    def by_variant(self) -> Counter[tuple[str, str]]:
        """Return how many poisoned functions there are of each attack and variant."""
        rows = [label for label in self.labels.functions if label.poisoned]
        return Counter((label.attack, label.variant) for label in rows)


def build_adaptive_set(
    folder: Path, seed: int, per_variant: int = 4, attacks: Sequence[str] = (), root: Path = ROOT
) -> AdaptiveSet:
    """Write every variant of the adaptive attacks (all of them, where none is named), verified.

    Each variant goes against up to `per_variant` functions of
    data/sample_code, fewer where it does not apply to as many.
    """
    targets = project_targets(root)
    names = tuple(attacks) or tuple(name for name, attack in all_attacks().items() if attack.adaptive)
    namer = Namer(seed)
    queries: list[Query] = []
    labels: list[FunctionLabel] = []
    for attack in names:
        for item in _variants(attack, targets, seed, per_variant):
            path = namer()
            (folder / path).write_text(item.file.text, encoding="utf-8", newline="")
            queries.append(Query(item.target.query, item.target.name))
            labels += labels_of(path, item)
    return AdaptiveSet(folder, tuple(queries), Labels(tuple(labels)))


def _variants(
    attack: str, targets: Sequence[TargetFunction], seed: int, per_variant: int
) -> Iterator[Chosen]:
    order = random.Random(f"adaptive:{seed}:{attack}").sample(targets, len(targets))
    by_variant: dict[str, list[tuple[TargetFunction, list[PoisonFile]]]] = defaultdict(list)
    for target in order:
        of_target: dict[str, list[PoisonFile]] = defaultdict(list)
        for candidate in candidates_of(target, attack, seed):
            of_target[candidate.name].append(candidate)
        for name, candidates in of_target.items():
            by_variant[name].append((target, candidates))
    for position, (_, applicable) in enumerate(sorted(by_variant.items())):
        start = position * per_variant % len(applicable)  # every variant meets other functions
        found = 0
        for target, candidates in (*applicable[start:], *applicable[:start]):
            chosen = choose_variant(target, candidates, adaptive=True)
            if chosen is not None:
                yield chosen
                found += 1
            if found == per_variant:
                break
