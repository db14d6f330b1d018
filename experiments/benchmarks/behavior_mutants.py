"""Mutants of trusted functions: how many the checker convicts, against what their examples alone convict.

    python -m experiments.benchmarks.behavior_mutants SITE_PACKAGES [--packages …] [--functions 300] [--each 3]
    python -m experiments.benchmarks.behavior_mutants --mbpp FOLDER

The operators are those of mutation testing tools (cosmic-ray's list):
comparison, arithmetic, constant, boolean, negated condition, removed `not`,
return value, range bound, break and continue. With --mbpp the functions and
their assertions are read from mbpp.jsonl instead.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior import BehaviorChecker, Budget, SpecLibrary
from codeguard.chunking import chunk_file
from codeguard.models import CheckReport, Chunk, ChunkKind, SourceFile, Verdict
from codeguard.sandbox import Level, Sandbox
from experiments.benchmarks.behavior_corpus import CONVICTED, PACKAGES, SEED, package_files, public_functions

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}  # fmt: skip
Mutant = tuple[str, ast.FunctionDef]


def mutants(function: ast.FunctionDef) -> Iterator[Mutant]:
    """Yield every function one operator away, with the operator's name."""
    nodes = list(ast.walk(function))
    for index, node in enumerate(nodes):
        for operator, change in _changes(node):
            copied = copy.deepcopy(function)
            change(list(ast.walk(copied))[index])
            yield operator, ast.fix_missing_locations(copied)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield "compare", lambda copied: copied.ops.__setitem__(0, COMPARISONS[type(copied.ops[0])]())
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield "arithmetic", lambda copied: setattr(copied, "op", ARITHMETIC[type(copied.op)]())
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant", lambda copied: setattr(copied, "value", copied.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", lambda copied: setattr(copied, "value", not copied.value)
    if isinstance(node, ast.BoolOp):
        yield (
            "boolean",
            lambda copied: setattr(copied, "op", ast.Or() if isinstance(copied.op, ast.And) else ast.And()),
        )
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "negated condition", lambda copied: setattr(copied, "test", ast.UnaryOp(ast.Not(), copied.test))
    if isinstance(node, ast.Return) and node.value is not None:
        yield "return", lambda copied: setattr(copied, "value", ast.Constant(None))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and node.args
    ):
        yield (
            "range",
            lambda copied: copied.args.__setitem__(
                -1, ast.BinOp(copied.args[-1], ast.Sub(), ast.Constant(1))
            ),
        )


def mutated_file(
    file: SourceFile, chunk: Chunk, function: ast.FunctionDef
) -> tuple[Chunk, SourceFile] | None:
    """Return a file with one function replaced, and its chunk."""
    lines = file.text.splitlines()
    tree = ast.parse(file.text)
    old = next(
        (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == chunk.symbol), None
    )
    if old is None or old.end_lineno is None:
        return None
    first = min([old.lineno, *(decorator.lineno for decorator in old.decorator_list)])
    text = "\n".join([*lines[: first - 1], ast.unparse(function), *lines[old.end_lineno :]]) + "\n"
    changed = chunk_file(file.path, text.encode())
    found = [
        item for item in changed.chunks if item.symbol == chunk.symbol and item.kind is ChunkKind.FUNCTION
    ]
    return (found[0], changed) if found else None


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
    files: Sequence[SourceFile], limit: int, each: int, random: Random
) -> Iterator[tuple[str, Chunk, SourceFile]]:
    """Yield mutants of functions, a few a function, chosen at random."""
    chosen = [(file, chunk) for file in files for chunk in public_functions(file)]
    random.shuffle(chosen)
    for file, chunk in chosen[:limit]:
        tree = ast.parse(file.text)
        function = next(
            (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == chunk.symbol),
            None,
        )
        if function is None:
            continue
        made = list(mutants(function))
        for operator, mutant in random.sample(made, min(each, len(made))):
            subject = mutated_file(file, chunk, without_docstring(mutant))
            if subject is not None:
                yield operator, *subject


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
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.mbpp:
        files, tests = mbpp_corpus(options.mbpp)
    else:
        files = [file for package in options.packages for file in package_files(options.root, package)]
        tests = []
    library = SpecLibrary.load(shipped=False).with_trusted(files, tests)
    subjects = list(subjects_of(files, options.functions, options.each, Random(4)))
    pairs = [(chunk, file) for _, chunk, file in subjects]
    # No generated and no tailored input: only what the examples themselves show.
    examples_only = Budget(generated=0, tailored=0)
    with Sandbox(Level.L0, workers=2) as sandbox:
        full = list(BehaviorChecker(library, sandbox, seed=SEED).check_many(pairs))
        plain = list(BehaviorChecker(library, sandbox, seed=SEED, budget=examples_only).check_many(pairs))
        clean = [(chunk, file) for file in files for chunk in public_functions(file)][: options.functions]
        own = list(BehaviorChecker(library, sandbox, seed=SEED).check_many(clean))
    figures = summary([operator for operator, _, _ in subjects], full, plain, own)
    print(json.dumps(figures, indent=2))
    survivors = [item for item, report in zip(subjects, full, strict=True) if report.verdict is Verdict.PASS]
    for operator, chunk, file in survivors[: options.survivors]:
        print(f"\n--- survivor ({operator}) {file.path}\n{chunk.text}")
    for (chunk, file), report in zip(clean, own, strict=True):
        if report.verdict in CONVICTED:
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
            rows[operator].append((report.verdict in CONVICTED, example.verdict in CONVICTED))
    tested = [pair for pairs in rows.values() for pair in pairs]
    count = max(1, len(tested))
    checked = sum(convicted for convicted, _ in tested)
    by_examples = sum(example for _, example in tested)
    return {
        "mutants": len(full),
        "testable": len(tested),
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
        "own_convicted": sum(report.verdict in CONVICTED for report in own),
        "own_passed": sum(report.verdict is Verdict.PASS for report in own),
    }


if __name__ == "__main__":
    sys.exit(main())
