"""How many lines of public functions of the standard library are run when nothing but their text is known.

    python -m experiments.benchmarks.lines_executed [--count 500] [--seed 1] [--methods]

Each function is run in the sandbox on every call that the check of a changed copy of it makes: its own examples, the
calls that codeguard makes up or tries where there is none, and the wide ones that a changed copy is held to. A line
counts where any of these calls reaches it; beside it stands the share that the calls reach which any candidate gets.
What keeps the other lines from being reached is told by the problem of the function, or by the exception that most of
its calls end with.
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
from itertools import chain, islice
from pathlib import Path
from random import Random

from codeguard.behavior import Budget, SpecLibrary
from codeguard.behavior.inputs.discovery import callable_guesses
from codeguard.behavior.inputs.objects import object_guesses
from codeguard.behavior.source.constants import constants_of, literals_of
from codeguard.behavior.source.definitions import Function, definitions, read_module
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.edited_copies import calls_for_copies
from codeguard.behavior.verdict.profiles import (
    MAX_GROUPS,
    Profile,
    input_sources,
    observe,
    random_for,
)
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, drive, worlds_for
from codeguard.corpus.chunking import chunk_file
from codeguard.models import SourceFile
from codeguard.sandbox import Level, Sandbox
from codeguard.sandbox.model import Call, JobResult, Outcome, Status, Tier
from experiments.benchmarks.behavior_corpus import SEED
from experiments.corpus.stdlib import library_files
from experiments.text.common import wilson

ABREAST = 64


@dataclass(frozen=True, slots=True)
class Row:
    """One function: how many of its lines there are, how many were run, and what kept the rest from it.

    `usual` are the lines that the calls reach which any candidate gets.
    """

    name: str
    lines: int
    reached: int
    usual: int
    cause: str


def public(methods: bool) -> list[tuple[str, str]]:
    """Return the public functions of the standard library, or the public methods, each by path and name."""
    found = []
    for file in standard_library():
        if "/_" in file.path.replace("/__init__.py", ""):
            continue
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
    """Return the public modules of the standard library, and what its packages keep beside these."""
    root = Path(sysconfig.get_path("stdlib"))
    found = {path for _, path in library_files()}
    found |= {path for place in {path.parent for path in found} - {root} for path in place.glob("_*.py")}
    return [chunk_file(path.relative_to(root).as_posix(), path.read_bytes()) for path in sorted(found)]


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


def tried(reference: Reference) -> list[Call]:
    """Return the calls that are tried of a function without examples, those that it does not take included."""
    definition, runnable = reference.definition, reference.runnable
    made = chain.from_iterable(islice(groups(definition), MAX_GROUPS) for groups in input_sources(reference))
    rows = [row for group in made for row in group] or [((), {})]
    objects = [example for group in object_guesses(definition) for example in group]
    written = [*callable_guesses(definition), *objects]
    plain = [Call(runnable.target, args, dict(kwargs)) for args, kwargs in rows]
    return plain + [call for example in written if (call := call_of(example, runnable))]


def wide(reference: Reference, profile: Profile) -> list[Call]:
    """Return the calls that a changed copy is held to beyond those of any candidate."""
    tree = ast.parse(reference.runnable.source)
    literals = list(literals_of(tree, constants_of(tree)))
    random = random_for(SEED, "edited", reference.digest)
    _, made = calls_for_copies(profile, literals, random, Budget().edited)
    return [call for example in made if (call := call_of(example, reference.runnable))]


def executed(reference: Reference, level: Level) -> Steps[Row]:
    """Run a function on what is known or made up for it and count its lines."""
    name = f"{Path(reference.path).with_suffix('')}.{reference.definition.qualified_name}"
    if reference.usable is None:
        return Row(name, len(statements(reference.definition.node)), 0, 0, "too large or too deep")
    lines, budget = statements(reference.runnable.node), Budget(worlds=worlds_for(SEED))
    profile = yield from observe(reference, level, budget, SEED)
    usual = [call for item in profile.examples if (call := call_of(item, reference.runnable))]
    usual += [item.call for item in profile.generated]
    rest = [*(() if profile.examples else tried(reference)), *wide(reference, profile)]
    found: list[frozenset[int]] = []
    raised: Counter[str] = Counter()
    detail = ""
    for calls in (usual, rest):
        result = JobResult(Status.COMPLETED, level, Tier.NATIVE)
        if calls:
            runner = CallRunner(reference.runnable, level, budget)
            (result,) = yield from runner.run(Batch(tuple(calls), trace=True))
        found.append(lines & result.coverage.reached if result.coverage is not None else frozenset())
        raised.update(item.exception[0] for item in result.calls if item.outcome is Outcome.RAISED)
        detail = detail or result.detail
    reached = found[0] | found[1]
    told = "" if reached == lines else next((name for name, _ in raised.most_common(1)), "branches")
    return Row(name, len(lines), len(reached), len(found[0]), (profile.problem or detail or told)[:80])


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
    usual = sum(row.usual for row in rows)
    lost: Counter[str] = Counter()
    for row in rows:
        lost[row.cause] += row.lines - row.reached
    figures = {
        "functions": len(rows),
        "lines": lines,
        "reached": reached,
        "share": [round(value, 3) for value in (reached / lines, *wilson(reached, lines))],
        "share_of_any_candidate": [round(value, 3) for value in (usual / lines, *wilson(usual, lines))],
        "functions_not_entered": sum(not row.reached for row in rows),
        "lines_lost_by_cause": dict(lost.most_common(16)),
    }
    print(json.dumps(figures, indent=2))
    for row in sorted(rows, key=lambda row: row.reached - row.lines)[: options.show]:
        print(f"{row.name}: {row.reached} of {row.lines}; {row.cause}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
