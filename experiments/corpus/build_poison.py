"""Write data/poisoned and the labels of the committed corpora: `python -m experiments.corpus.build_poison`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.attacks import TargetFunction, all_attacks
from experiments.attacks.registry import METHOD
from experiments.corpus.clean import clean_labels
from experiments.corpus.labels import FunctionLabel, write_labels
from experiments.corpus.naming import Namer
from experiments.corpus.queries import EXAMPLES, first_query
from experiments.corpus.selection import Chosen, choose, labels_of
from experiments.corpus.targets import targets_of

ROOT = Path(__file__).resolve().parents[2]
SEED = 20
FOLDER = "data/poisoned"
EXAMPLE_PLAN = (("targeted", 2), ("misleading", 2), ("fake", 1), ("random", 1))
"""How many files each of the method's attacks writes against each of its three queries."""


@dataclass(frozen=True, slots=True)
class PoisonSet:
    """Files by path relative to the project root, and the labels of their functions."""

    files: dict[str, str]
    labels: tuple[FunctionLabel, ...]


def project_targets(root: Path = ROOT) -> tuple[TargetFunction, ...]:
    """Return the functions of data/sample_code as targets."""
    paths = sorted((root / "data" / "sample_code").glob("*.py"))
    return tuple(
        target for path in paths for target in targets_of(path.read_text(encoding="utf-8"), first_query)
    )


def build(seed: int = SEED, root: Path = ROOT) -> PoisonSet:
    """Generate the poison: every attack, every target, each file verified in a process of its own.

    The method's attacks all aim at the three example queries. The other
    functions are dealt to the attacks in turn, the method's four twice as
    often; what is adaptive comes with variants that were not used yet.
    """
    targets = {target.name: target for target in project_targets(root)}
    chosen: list[Chosen] = []
    used: list[str] = []
    for query in EXAMPLES:
        for attack, count in EXAMPLE_PLAN:
            chosen += _take(targets[query.target], attack, seed, count, used)
    rest = [target for name, target in targets.items() if name not in {query.target for query in EXAMPLES}]
    adaptive = [name for name in all_attacks() if name not in METHOD]
    rota = [attack for pair in zip(_cycled(METHOD, len(adaptive)), adaptive, strict=True) for attack in pair]
    for index, target in enumerate(rest):
        chosen += _take(target, rota[index % len(rota)], seed, 1, used) or _take(
            target, "targeted", seed, 1, used
        )
    for index, attack in enumerate(adaptive):
        target = targets[EXAMPLES[index % len(EXAMPLES)].target]
        chosen += _take(target, attack, seed + 1, 1, used)
    namer = Namer(seed)
    files: dict[str, str] = {}
    labels: list[FunctionLabel] = []
    for item in chosen:
        path = f"{FOLDER}/{namer()}"
        files[path] = item.file.text
        labels += labels_of(path, item)
    return PoisonSet(files, tuple(labels))


def _cycled(names: Sequence[str], count: int) -> list[str]:
    return [names[index % len(names)] for index in range(count)]


def _take(target: TargetFunction, attack: str, seed: int, count: int, used: list[str]) -> list[Chosen]:
    found = choose(target, attack, seed, count, tuple(used))
    used.extend(item.file.name for item in found)
    return found


def store(built: PoisonSet, root: Path = ROOT) -> None:
    """Write the files in place of those there are, and all labels."""
    folder = root / FOLDER
    for path in folder.glob("*.py"):
        path.unlink()
    for name, text in built.files.items():
        (root / name).write_text(text, encoding="utf-8", newline="")
    labels = [*clean_labels(root), *built.labels]
    write_labels(root / "experiments" / "corpus" / "labels.json", labels)


def main() -> int:
    """Build and store; print what was written."""
    built = build()
    store(built)
    poisoned = [label for label in built.labels if label.poisoned]
    print(f"{len(built.files)} files, {len(built.labels)} functions, {len(poisoned)} of them poisoned")
    for attack in all_attacks():
        rows = [label for label in poisoned if label.attack == attack]
        print(f"  {attack}: {len(rows)} ({', '.join(sorted({label.shown for label in rows}))})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
