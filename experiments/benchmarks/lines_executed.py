"""How many lines of public functions of the standard library are run when nothing but their text is known.

    python -m experiments.benchmarks.lines_executed [--count 500] [--seed 1] [--methods]

Each function is run in the sandbox on its own examples and on the calls that codeguard makes up for it, as in a
check where it is trusted; a line counts where any of these calls reaches it. What keeps the other lines from being
reached is told by the problem of the function, or by the exception that most of its calls end with.
"""

from __future__ import annotations

import argparse
import ast
import json
import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random

from codeguard.behavior import Budget, SpecLibrary
from codeguard.behavior.inputs.discovery import guesses
from codeguard.behavior.source.definitions import Function, definitions, read_module
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.profiles import observe
from codeguard.behavior.verdict.running import Batch, Runner, Steps, call_of, drive
from codeguard.corpus.chunking import chunk_file
from codeguard.models import SourceFile
from codeguard.sandbox import Level, Sandbox
from codeguard.sandbox.model import Call, Outcome
from experiments.benchmarks.behavior_corpus import SEED
from experiments.corpus.stdlib import library_files
from experiments.text.common import wilson

ABREAST = 64
GROUPS = 20  # kinds of arguments that are tried where nothing is known


@dataclass(frozen=True, slots=True)
class Row:
    """One function: how many of its lines there are, how many were run, and what kept the rest from it."""

    name: str
    lines: int
    reached: int
    cause: str


def public(methods: bool) -> list[tuple[str, str]]:
    """Return the public functions of the standard library, or the public methods, each by path and name."""
    found = []
    for file in standard_library():
        for definition in definitions(read_module(file.text).statements):
            names = definition.qualified_name.split(".")
            hidden = definition.nested or any(name.startswith("_") for name in names)
            if not hidden and (definition.owner is not None) is methods:
                found.append((file.path, definition.qualified_name))
    return found


@lru_cache(maxsize=4)
def library(package: str) -> SpecLibrary:
    """Return what the files of one package or module say, as if they were all that is trusted."""
    files = [file for file in standard_library() if _package(file.path) == package]
    return SpecLibrary().with_trusted(files)


@lru_cache(maxsize=1)
def standard_library() -> list[SourceFile]:
    """Return the public modules of the standard library."""
    root = Path(sysconfig.get_path("stdlib"))
    return [chunk_file(path.relative_to(root).as_posix(), path.read_bytes()) for _, path in library_files()]


def _package(path: str) -> str:
    return path.removesuffix(".py").partition("/")[0]


def reference_of(path: str, name: str) -> Reference:
    """Return a function as a trusted one, known beside the other files of its package."""
    found = library(_package(path)).references
    return next(item for item in found if (item.path, item.definition.qualified_name) == (path, name))


def statements(node: Function) -> frozenset[int]:
    """Return the lines on which the statements of a function begin, but for its docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    inner = (part for statement in body for part in ast.walk(statement))
    return frozenset(part.lineno for part in inner if isinstance(part, ast.stmt))


def executed(reference: Reference, level: Level) -> Steps[Row]:
    """Run a function on what is known or made up for it and count its lines."""
    name = f"{Path(reference.path).with_suffix('')}.{reference.definition.qualified_name}"
    if reference.usable is None:
        return Row(name, len(statements(reference.definition.node)), 0, "too large or too deep")
    lines, budget = statements(reference.runnable.node), Budget().for_reference()
    profile = yield from observe(reference, level, Budget(), SEED)
    calls = [call for item in profile.examples if (call := call_of(item, reference.runnable))]
    calls += [item.call for item in profile.generated]
    if not calls:
        rows = [row for group in islice(guesses(reference.definition), GROUPS) for row in group] or [((), {})]
        calls = [Call(reference.runnable.target, args, dict(kwargs)) for args, kwargs in rows]
    (result,) = yield from Runner(reference.runnable, level, budget).run(Batch(tuple(calls), trace=True))
    reached = lines & result.coverage.reached if result.coverage is not None else frozenset()
    raised = Counter(item.exception[0] for item in result.calls if item.outcome is Outcome.RAISED)
    told = raised.most_common(1)
    unknown = "no call was made" if not result.calls else result.status.value
    cause = profile.problem or result.detail or (told[0][0] if told else "branches" if reached else unknown)
    return Row(name, len(lines), len(reached), cause[:80])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share of lines, and the causes by the lines that they cost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--methods", action="store_true", help="methods of public classes in place of functions"
    )
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="the N functions that lose most lines"
    )
    options = parser.parse_args(arguments)
    pool = public(options.methods)
    chosen = sorted(Random(options.seed).sample(pool, min(options.count, len(pool))))
    rows: list[Row] = []
    with Sandbox(Level.L2, workers=2) as sandbox:
        for start in range(0, len(chosen), ABREAST):
            part = chosen[start : start + ABREAST]
            rows += drive(sandbox, [executed(reference_of(*item), sandbox.level) for item in part])
    lines, reached = sum(row.lines for row in rows), sum(row.reached for row in rows)
    lost: Counter[str] = Counter()
    for row in rows:
        lost[row.cause] += row.lines - row.reached
    figures = {
        "functions": len(rows),
        "lines": lines,
        "reached": reached,
        "share": [round(value, 3) for value in (reached / lines, *wilson(reached, lines))],
        "functions_not_entered": sum(not row.reached for row in rows),
        "lines_lost_by_cause": dict(lost.most_common(16)),
    }
    print(json.dumps(figures, indent=2))
    for row in sorted(rows, key=lambda row: row.reached - row.lines)[: options.show]:
        print(f"{row.name}: {row.reached} of {row.lines}; {row.cause}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
