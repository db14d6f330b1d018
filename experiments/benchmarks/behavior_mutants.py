"""Mutants of trusted functions: how many the checker convicts, against what their examples alone convict.

    python -m experiments.benchmarks.behavior_mutants SITE_PACKAGES [--packages …] [--functions 300] [--each 3]
    python -m experiments.benchmarks.behavior_mutants --mbpp FOLDER

The operators are cosmic-ray's (install `codeguard-rag[mutation]`), chosen at
random by family first, for it has a hundred ways to replace a binary
operator. With --mbpp the functions and their assertions are read from
mbpp.jsonl instead.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior import BehaviorChecker, Budget, SpecLibrary
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.source.names import free_names
from codeguard.behavior.source.needed import needed_for
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CONVICTING, CheckReport, Chunk, ChunkKind, SourceFile, Verdict
from codeguard.sandbox import Level, Sandbox
from experiments.benchmarks.behavior_corpus import PACKAGES, SEED, package_files, public_functions
from experiments.benchmarks.mutation import family, mutants, unannotated

# What the operator for exceptions puts into except clauses; a name that nothing binds would say nothing.
NEVER_RAISED = "class CosmicRayTestingException(Exception):\n    pass"


def mutated_file(file: SourceFile, function: str, library: SpecLibrary) -> tuple[Chunk, SourceFile] | None:
    """Return a file of a function and what it needs of the file that it comes from, and its chunk."""
    node = ast.parse(function).body[0]
    assert isinstance(node, ast.FunctionDef)
    module = library.modules.modules.get(file.path) or read_module(file.text)
    needed = needed_for(free_names(node), module, node.name)
    around = [ast.unparse(statement) for statement in needed.statements]
    text = (
        "\n".join([*around, NEVER_RAISED if "CosmicRayTestingException" in function else "", function]) + "\n"
    )
    changed = chunk_file(file.path, text.encode())
    found = [item for item in changed.chunks if item.symbol == node.name and item.kind is ChunkKind.FUNCTION]
    return (found[-1], changed) if found else None


def without_docstring(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a copy that keeps only the docstring's first line, as a stranger would write it."""
    copied = copy.deepcopy(function)
    first = copied.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        line = first.value.value.strip().partition("\n")[0]
        copied.body[0] = ast.Expr(ast.Constant(line))
    return copied


def subjects_of(
    files: Sequence[SourceFile],
    library: SpecLibrary,
    limit: int,
    each: int,
    random: Random,
    half: int | None = None,
) -> Iterator[tuple[str, Chunk, SourceFile]]:
    """Yield mutants of functions of a half (of all where it is None), a few a function, chosen at random."""
    chosen = [
        (file, chunk)
        for file in files
        for chunk in public_functions(file)
        if half is None or half_of(file, chunk) == half
    ]
    random.shuffle(chosen)
    trees = {file.path: ast.parse(file.text) for file in files}
    for file, chunk in chosen[:limit]:
        tree = trees[file.path]
        function = next(
            (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == chunk.symbol),
            None,
        )
        if function is None:
            continue
        for operator, mutant in mutants(ast.unparse(without_docstring(function)), chunk.symbol, each, random):
            subject = mutated_file(file, mutant.strip("\n"), library)
            if subject is not None:
                yield operator, *subject


def half_of(file: SourceFile, chunk: Chunk) -> int:
    """Return 0 for functions that may be looked at while the checker is changed, 1 for those it is measured on."""
    return hashlib.sha256(f"{file.path}::{chunk.symbol}".encode()).digest()[0] % 2


def difference(chunk: Chunk, files: Sequence[SourceFile]) -> str:
    """Return what a mutant changed, as a diff."""
    for file in files:
        for own in public_functions(file):
            if file.path == chunk.path and own.symbol == chunk.symbol:
                node = ast.parse(own.text).body[0]
                assert isinstance(node, ast.FunctionDef)
                before = ast.unparse(without_docstring(unannotated(node))).splitlines()
                after = ast.unparse(ast.parse(chunk.text)).splitlines()
                return "\n".join(difflib.unified_diff(before, after, lineterm="", n=2))
    return chunk.text


def mbpp_corpus(folder: Path) -> tuple[list[SourceFile], list[SourceFile]]:
    """Return MBPP's functions, one file a task with its text as docstring, and their assertions as test files."""
    files, tests = [], []
    for line in (folder / "mbpp.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        name = re.search(r"(\w+)\(", row["test_list"][0].removeprefix("assert "))
        tree = _parsed(row["code"].replace("\r\n", "\n"))
        if name is None or tree is None:
            continue
        own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name.group(1)]
        if len(own) != 1:
            continue
        own[0].body.insert(0, ast.Expr(ast.Constant(row["text"])))
        own[0].name = f"{own[0].name}_task{row['task_id']}"
        renamed = re.sub(rf"\b{name.group(1)}\b", own[0].name, "\n    ".join(row["test_list"]))
        code = re.sub(
            rf"\b{name.group(1)}\b(?=\()", own[0].name, ast.unparse(ast.fix_missing_locations(tree))
        )
        files.append(chunk_file(f"task{row['task_id']}.py", code.encode()))
        tests.append(chunk_file(f"test_task{row['task_id']}.py", f"def test():\n    {renamed}\n".encode()))
    return files, tests


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except SyntaxError:
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description="convicted mutants of trusted functions")
    parser.add_argument("root", type=Path, nargs="?", help="folder that holds the packages")
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES))
    parser.add_argument("--mbpp", type=Path, help="folder with mbpp.jsonl, instead of packages")
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--each", type=int, default=2, help="mutants a function")
    parser.add_argument("--survivors", type=int, default=0, help="print so many survivors")
    parser.add_argument(
        "--no-own", action="store_true", help="leave out the check of the functions themselves"
    )
    parser.add_argument("--seed", type=int, default=4, help="seed of the choice of functions and mutants")
    parser.add_argument("--half", type=int, choices=(0, 1), help="0: to develop on, 1: to measure on")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.mbpp:
        files, tests = mbpp_corpus(options.mbpp)
    else:
        files = [file for package in options.packages for file in package_files(options.root, package)]
        tests = []
    library = SpecLibrary.load(shipped=False).with_trusted(files, tests)
    chosen = subjects_of(files, library, options.functions, options.each, Random(options.seed), options.half)
    subjects = list(chosen)
    pairs = [(chunk, file) for _, chunk, file in subjects]
    # No generated and no tailored input: only what the examples themselves show.
    examples_only = Budget(generated=0, tailored=0, edited=0)
    with Sandbox(Level.L0, workers=2) as sandbox:
        full = list(BehaviorChecker(library, sandbox, seed=SEED).check_many(pairs))
        plain = list(BehaviorChecker(library, sandbox, seed=SEED, budget=examples_only).check_many(pairs))
        clean = (
            [] if options.no_own else [(chunk, file) for file in files for chunk in public_functions(file)]
        )
        own = list(BehaviorChecker(library, sandbox, seed=SEED).check_many(clean))
    figures = summary([operator for operator, _, _ in subjects], full, plain, own)
    print(json.dumps(figures, indent=2))
    survivors = [
        (*subject, report)
        for subject, report in zip(subjects, full, strict=True)
        if report.verdict not in CONVICTING
    ]
    for operator, chunk, file, report in survivors[: options.survivors]:
        said = f"{report.verdict.value} {report.coverage.value} {report.reason} {' '.join(report.notes)}"
        print(f"\n--- ({operator}) {file.path}::{chunk.symbol} {said}\n{difference(chunk, files)}")
    for (chunk, file), report in zip(clean, own, strict=True):
        if report.verdict in CONVICTING:
            print(
                f"--- own: {file.path}::{chunk.symbol} {report.verdict.value} {report.reason} {report.counterexample}"
            )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


def summary(
    operators: Sequence[str],
    full: Sequence[CheckReport],
    plain: Sequence[CheckReport],
    own: Sequence[CheckReport],
) -> dict[str, Any]:
    """Return shares, of all mutants and of those that could be tested at all, by operator."""
    rows: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for operator, report, example in zip(operators, full, plain, strict=True):
        if report.verdict is not Verdict.NO_SIGNAL:
            rows[family(operator)].append((report.verdict in CONVICTING, example.verdict in CONVICTING))
    tested = [pair for pairs in rows.values() for pair in pairs]
    count = max(1, len(tested))
    checked = sum(convicted for convicted, _ in tested)
    by_examples = sum(example for _, example in tested)
    return {
        "mutants": len(full),
        "testable": len(tested),
        "convicted_of_all": round(checked / max(1, len(full)), 4),
        "convicted": round(checked / count, 4),
        "convicted_by_examples_alone": round(by_examples / count, 4),
        "share_of_the_gap_closed": round((checked - by_examples) / max(1, len(tested) - by_examples), 4),
        "by_operator": {
            operator: {
                "n": len(pairs),
                "convicted": sum(pair[0] for pair in pairs),
                "by_examples": sum(pair[1] for pair in pairs),
            }
            for operator, pairs in sorted(rows.items())
        },
        "own_functions": len(own),
        "own_convicted": sum(report.verdict in CONVICTING for report in own),
        "own_passed": sum(report.verdict is Verdict.PASS for report in own),
    }


if __name__ == "__main__":
    sys.exit(main())
