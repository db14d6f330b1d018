"""The second query set: functions of the standard library, half of them with poison.

A query is the first line of a public function's docstring. Part of the
modules are trusted, the others are clean code of unknown origin, so that
there is poison with a trusted twin and poison without one. Everything is
written into a folder given by the caller; nothing of it is committed.
"""

from __future__ import annotations

import ast
import hashlib
import random
import re
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.attacks import TargetFunction
from experiments.attacks.registry import METHOD
from experiments.corpus.guesses import with_guesses
from experiments.corpus.labels import FunctionLabel, Labels
from experiments.corpus.naming import Namer
from experiments.corpus.selection import Chosen, choose, first_that_loads, labels_of
from experiments.corpus.targets import docstring_of, first_line, functions_of, targets_of
from experiments.corpus.verify import runnable

SKIPPED_MODULES = frozenset(
    {
        "antigravity",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "pydoc_data",
        "test",
        "this",
        "tkinter",
        "turtle",
        "turtledemo",
    }
)
SKIPPED_FUNCTIONS = frozenset({"main", "test", "demo"})
PER_MODULE = 6
COMPANION_CHARS = 1500
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class StdlibQuery:
    """A question with its answer: `target` is `module.function`.

    `trusted` says whether the answer stands in a trusted file, `poisoned`
    whether an attack was mounted on it, and by which `attack`.
    """

    text: str
    target: str
    trusted: bool
    poisoned: bool
    attack: str = ""


@dataclass(frozen=True, slots=True)
class StdlibSet:
    """The folders (below `root`), the queries and the labels; label paths are relative to `root`."""

    root: Path
    queries: tuple[StdlibQuery, ...]
    labels: Labels
    trusted: str = "trusted"
    unknown: str = "unknown"
    poison: str = "poison"

    @property
    def unverified_share(self) -> float:
        """Share of the poisoned functions that could not be shown to be wrong, 0 to 1."""
        rows = [label for label in self.labels.functions if label.poisoned]
        return sum(not label.verified for label in rows) / len(rows) if rows else 0.0


def build_stdlib_set(
    folder: Path, seed: int, count: int = 320, attacks: Sequence[str] = METHOD, half: int | None = None
) -> StdlibSet:
    """Write the corpus of the second query set into a folder.

    Deterministic for a seed and a Python version: the standard library
    differs between versions, and so does the selection. `count` queries,
    every second of them attacked by the `attacks` in turn; fewer where the
    library has not as many. With a `half`, 0 or 1, only functions of that
    half by a digest of their names are asked for and attacked.
    """
    chosen = _selected(seed, count, half)
    modules = sorted({target.module for target in chosen})
    shuffled = random.Random(f"split:{seed}").sample(modules, len(modules))
    trusted = frozenset(shuffled[: len(modules) // 2])
    labels = _store_modules(folder, chosen, trusted)
    queries: list[StdlibQuery] = []
    namer = Namer(seed)
    (folder / "poison").mkdir(parents=True, exist_ok=True)
    for position, target in enumerate(chosen):
        name = f"{target.module}.{target.name}"
        item = _attacked(target, attacks[position // 2 % len(attacks)], seed) if position % 2 == 0 else None
        if item is not None:
            path = f"poison/{namer()}"
            (folder / path).write_text(item.file.text, encoding="utf-8", newline="")
            labels += _poison_labels(path, item, name)
        queries.append(
            StdlibQuery(
                target.query,
                name,
                target.module in trusted,
                item is not None,
                "" if item is None else item.file.name.partition("/")[0],
            )
        )
    return StdlibSet(folder, tuple(queries), Labels(tuple(labels)))


def library_files() -> Iterator[tuple[str, Path]]:
    """Yield the public pure modules of the standard library with their names, sorted."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in sys.stdlib_module_names or parts[0] in SKIPPED_MODULES:
            continue
        names = parts[:-1] if parts[-1] == "__init__" else parts
        if any(name.startswith("_") or name in ("test", "tests") for name in names):
            continue
        yield ".".join(names), path


def _selected(seed: int, count: int, half: int | None) -> list[TargetFunction]:
    pool: list[TargetFunction] = []
    queries: set[str] = set()
    rng = random.Random(f"stdlib:{seed}")
    for module, path in library_files():
        try:
            text = path.read_text(encoding="utf-8")
            functions = functions_of(text)
        except (SyntaxError, UnicodeDecodeError):
            continue
        usable = [
            name
            for name, source in functions.items()
            if half in (None, _half(f"{module}.{name}")) and _usable(name, source)
        ]
        kept = set(rng.sample(usable, min(PER_MODULE, len(usable))))
        asked = {name: _query_of(source) for name, source in functions.items()}
        for target in targets_of(text, asked.__getitem__, module) if kept else ():
            if target.name in kept and target.query.lower() not in queries:
                queries.add(target.query.lower())
                small = tuple(text for text in target.companions if len(text) <= COMPANION_CHARS)
                pool.append(replace(target, companions=small))
    return rng.sample(pool, min(count, len(pool)))


def _half(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] & 1


def _usable(name: str, source: str) -> bool:
    if name.startswith("_") or name in SKIPPED_FUNCTIONS or len(source) > 4000:
        return False
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    if not node.args.args or not docstring_of(source) or len(node.body) < 2:
        return False
    return 3 <= len(_query_of(source).split()) <= 20


def _query_of(source: str) -> str:
    return re.sub(r"\s+", " ", first_line(docstring_of(source))).strip().rstrip(".")


def _store_modules(
    folder: Path, chosen: list[TargetFunction], trusted: frozenset[str]
) -> list[FunctionLabel]:
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    for target in chosen:
        wanted[target.module][target.name] = target.source
    labels = []
    for module, path in library_files():
        if module not in wanted:
            continue
        origin = "trusted" if module in trusted else "clean"
        stored = f"{'trusted' if module in trusted else 'unknown'}/{module.replace('.', '/')}.py"
        text = path.read_bytes()
        (folder / stored).parent.mkdir(parents=True, exist_ok=True)
        (folder / stored).write_bytes(text)
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name in wanted[module]:
                end = node.end_lineno or node.lineno
                target_name = f"{module}.{node.name}"
                labels.append(
                    FunctionLabel(stored, node.name, node.lineno, end, origin, False, target=target_name)
                )
    return labels


def _attacked(target: TargetFunction, attack: str, seed: int) -> Chosen | None:
    """Return verified poison, else poison that at least loads, else the same by the targeted attack."""
    guessed = with_guesses(target)
    runs = runnable(guessed, SECONDS)
    for name in dict.fromkeys((attack, "targeted", "fake")):
        found = choose(guessed, name, seed, seconds=SECONDS) if runs or name == "side_effect" else []
        if found:
            return found[0]
        unverified = first_that_loads(target, name, seed)
        if unverified is not None:
            return unverified
    return None


def _poison_labels(path: str, item: Chosen, target: str) -> list[FunctionLabel]:
    rows = labels_of(path, item, verified=item.finding.wrong)
    return [replace(row, target=target if row.poisoned else "") for row in rows]
