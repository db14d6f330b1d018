"""`codeguard equiv` on pairs whose answer is known, beside CrossHair's diffbehavior where it is installed.

    python -m experiments.benchmarks.equivalence DATA [--tasks 12] [--crosshair ch/bin/crosshair]

DATA holds function_poison_dev/ and mbpp/. A trusted function beside its wrong-logic or triggered poison has to
differ, and so has a task of MBPP beside a mutant (needs codeguard-rag[mutation]) that fails one of the task's own
assertions; one beside itself with other names of locals has to be the same. Beside a clean second implementation
nothing is known for certain, so only what is decided is counted. Both tools get the same files. The parameters of
MBPP's functions are annotated with the types that its assertions show, as CrossHair looks for inputs by them; the
assertions themselves are kept from both.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from codeguard.audit.equivalence import compare_files
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.running import drive
from codeguard.corpus.chunking import chunk_file
from codeguard.models import SourceFile
from codeguard.sandbox import Level, Sandbox
from experiments.benchmarks.behavior_mutants import mbpp_corpus
from experiments.benchmarks.behavior_wild import rename_locals
from experiments.benchmarks.learn import wrong_calls
from experiments.benchmarks.mutation import mutants

MUTANTS = 6  # tried for one that fails an assertion
KINDS = ("wrong_logic", "trigger", "clean")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two functions as source text, the last of each file, and what is known of the two."""

    kind: str
    first: str
    second: str


def function_of(code: str) -> str:
    """Return the name of the last function of a file."""
    return [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)][-1]


def labelled_pairs(folder: Path, count: int) -> Iterator[Pair]:
    """Yield a trusted function with one of each kind of candidate, for so many tasks."""
    rows = defaultdict(list)
    for line in (folder / "files.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["task"]].append(row)
    for task in sorted(rows)[:count]:
        trusted = next(row["source"] for row in rows[task] if row["role"] == "trusted")
        for kind in KINDS:
            others = (row["source"] for row in rows[task] if kind in (row["role"], row.get("class")))
            yield from (Pair(kind, trusted, other) for other in islice(others, 1))


def mbpp_pairs(folder: Path) -> Iterator[Pair]:
    """Yield tasks beside a mutant that fails an assertion, and beside themselves with other names of locals."""
    files, tests = mbpp_corpus(folder)
    by_path = {file.path: file for file in files}
    references = SpecLibrary().with_trusted(files, tests).references
    with Sandbox(Level.L2, workers=1) as sandbox:
        for reference in references:
            types = types_shown(reference)
            wrong = types and _failing(reference, by_path[reference.path], sandbox)
            if not types or not wrong:
                continue
            text = by_path[reference.path].text
            plain = annotated(text, reference.name, types)
            yield Pair("mbpp_wrong", plain, annotated(wrong, reference.name, types))
            yield Pair("mbpp_same", plain, annotated(text, reference.name, types, renamed=True))


def types_shown(reference: Reference) -> list[str]:
    """Return the types of a function's parameters by its examples; empty where they do not show one of each."""
    rows = [item.args for item in reference.examples if item.args is not None and not item.kwargs]
    if not rows or {len(row) for row in rows} != {len(reference.definition.parameters)}:
        return []
    found = [_type_of(values) for values in zip(*rows, strict=True)]
    return found if all(found) else []


def _type_of(values: Sequence[object]) -> str:
    """Return the type of values as an annotation, empty where they have several or one that cannot be written."""
    kinds = {type(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind in (int, float, str, bool):
        return kind.__name__
    rows = [list(value) for value in values if isinstance(value, list | tuple)]
    if kind not in (list, tuple) or not all(rows):
        return ""
    if kind is tuple and len({len(row) for row in rows}) == 1:
        parts = [_type_of(column) for column in zip(*rows, strict=True)]
        return f"tuple[{', '.join(parts)}]" if all(parts) else ""
    inner = _type_of([item for row in rows for item in row])
    return inner and (f"list[{inner}]" if kind is list else f"tuple[{inner}, ...]")


def _failing(reference: Reference, file: SourceFile, sandbox: Sandbox) -> str:
    """Return a mutant's file that fails an assertion of its task, empty where none of a few does."""
    for _, text in mutants(file.text, reference.name, MUTANTS, Random(reference.name)):
        whole = chunk_file(file.path, text.encode())
        own = [chunk for chunk in whole.chunks if chunk.symbol == reference.name]
        steps = [wrong_calls(reference, whole, chunk, reference.written, sandbox.level) for chunk in own[:1]]
        if any(count for count, _ in drive(sandbox, steps)):
            return text
    return ""


def annotated(text: str, name: str, types: Sequence[str], *, renamed: bool = False) -> str:
    """Return a file with annotated parameters of one function, `renamed` with other names of its locals, too."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if renamed:
                rename_locals(node)
            for argument, shown in zip(node.args.args, types, strict=True):
                argument.annotation = ast.parse(shown, mode="eval").body
            last = node
    tree.body.sort(key=lambda node: node is last)
    return ast.unparse(tree)


def crosshair(command: str, sides: Sequence[tuple[Path, str]], seconds: int) -> str:
    """Return what diffbehavior says: same (on all paths), none found (before its time was up), differs, or unknown."""
    folder = sides[0][0].parent
    names = [f"{path.stem}.{name}" for path, name in sides]
    try:
        done = subprocess.run(
            [command, "diffbehavior", "--per_condition_timeout", str(seconds), *names],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds * 6,
        )
    except subprocess.TimeoutExpired:
        return "unknown"
    if done.returncode == 1:
        return "differs"
    if done.returncode == 0 and "All paths exhausted" in done.stdout:
        return "same"
    return "none found" if done.returncode == 0 and "No differences found" in done.stdout else "unknown"


def measure(pairs: Sequence[Pair], command: str | None, seconds: int) -> Mapping[str, Mapping[str, object]]:
    """Return, by tool and kind of pair, how often which answer came, and the seconds of each tool."""
    answers: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    spent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(pairs):
            sides = []
            for side, text in (("first", pair.first), ("second", pair.second)):
                path = Path(folder) / f"{side}{number}.py"
                path.write_text(text, "utf-8")
                sides.append((path, function_of(text)))
            began = time.monotonic()
            answers["codeguard"][pair.kind][compare_files(sides[0], sides[1]).result.value] += 1
            ended = time.monotonic()
            spent["codeguard"] += ended - began  # type: ignore[assignment]
            if command:
                answers["crosshair"][pair.kind][crosshair(command, sides, seconds)] += 1
                spent["crosshair"] += time.monotonic() - ended  # type: ignore[assignment]
    return {tool: {**kinds, "seconds": round(spent[tool], 1)} for tool, kinds in answers.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, for each tool and kind of pair, how often which answer came, and the seconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", type=int, default=12, help="of each of the two sets")
    parser.add_argument("--crosshair", help="CrossHair's command, to be compared with")
    parser.add_argument("--seconds", type=int, default=5, help="CrossHair's time for a pair")
    options = parser.parse_args(arguments)
    pairs = [
        *labelled_pairs(options.data / "function_poison_dev", options.tasks),
        *islice(mbpp_pairs(options.data / "mbpp"), 2 * options.tasks),
    ]
    print(json.dumps(measure(pairs, options.crosshair, options.seconds), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
