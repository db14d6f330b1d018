"""Write data/poisoned and the labels of the committed corpora: `python -m experiments.corpus.build_poison`."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from experiments.attacks import METHOD, TargetFunction
from experiments.corpus.clean import clean_labels
from experiments.corpus.labels import FunctionLabel, write_labels
from experiments.corpus.naming import Namer
from experiments.corpus.queries import EXAMPLES, first_query
from experiments.corpus.selection import Chosen, choose, labels_of
from experiments.corpus.targets import targets_of

ROOT = Path(__file__).resolve().parents[2]
SEED = 20
FOLDER = "data/poisoned"
EXAMPLE_PLAN = (("targeted", 3), ("misleading", 2), ("fake", 2), ("random", 1))
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
    """Generate the poison of the method's four attacks, each file verified in a process of its own.

    All four aim at each of the three example queries; the other functions
    are dealt to the attacks in turn. Of an attack's variants the least used
    comes first. The adaptive attacks are measured by the benchmark alone.
    """
    targets = {target.name: target for target in project_targets(root)}
    examples = [query.target for query in EXAMPLES]
    used: Counter[str] = Counter()
    chosen: list[Chosen] = []
    for name in examples:
        for attack, count in EXAMPLE_PLAN:
            chosen += _take(targets[name], attack, seed, count, used)
    rest = [target for name, target in targets.items() if name not in examples]
    for index, target in enumerate(rest):
        attack = list(METHOD)[index % len(METHOD)]
        chosen += _take(target, attack, seed, 1, used) or _take(target, "fake", seed, 1, used)
    namer = Namer(seed)
    files: dict[str, str] = {}
    labels: list[FunctionLabel] = []
    for item in chosen:
        path = f"{FOLDER}/{namer()}"
        files[path] = item.file.text
        labels += labels_of(path, item)
    return PoisonSet(files, tuple(labels))


def _take(target: TargetFunction, attack: str, seed: int, count: int, used: Counter[str]) -> list[Chosen]:
    found = choose(target, METHOD[attack], seed, count, used)
    used.update(item.file.name for item in found)
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
    for attack in METHOD:
        rows = [label for label in poisoned if label.attack == attack]
        print(f"  {attack}: {len(rows)} ({', '.join(sorted({label.shown for label in rows}))})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
