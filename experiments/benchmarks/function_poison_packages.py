"""A second labelled set of functions, made from installed packages that nothing was tuned on.

    python -m experiments.benchmarks.function_poison_packages OUT --root FOLDER [FOLDER …] --packages a b c

Two packages often have a function of the same name, written by different people. Where each meets the examples
of the other, one is taken as trusted and the other as clean. From the clean one come the poisoned ones: mutants
by cosmic-ray's operators (`codeguard-rag[mutation]`) that are wrong on a share of valid inputs, decided by running
all three; a guard put in front that gives something else at one constant; an attempt at an effect put in front.
OUT/files.jsonl has the format of `experiments.benchmarks.function_poison`, which then gives the figures. The same
packages and seed give the same set.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior import SpecLibrary
from codeguard.behavior.specs.calls import positional
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.values import Comparison, compare_with_reference
from codeguard.models import SourceFile
from codeguard.sandbox import Call, CallResult, Job, Level, Sandbox
from codeguard.sandbox.model import Outcome
from experiments.benchmarks.behavior_corpus import package_files
from experiments.benchmarks.behavior_mutants import mutated_file, without_docstring
from experiments.benchmarks.mutation import mutants

Row = dict[str, Any]
LEAST_AGREED = 3  # calls on which two implementations have to agree
MOST_DIFFERENT = 0.05  # share of inputs, no example among them, on which they may differ
LEAST_WRONG = 0.05  # share of the valid inputs on which a mutant has to be wrong
INPUTS = 60
MUTANTS = 3
GUARDS: Mapping[type, str] = {
    int: "{0} == 91357",
    str: "{0}.startswith('zqj')",
    list: "len({0}) == 37",
    tuple: "len({0}) == 37",
    dict: "'zqj' in {0}",
}
EFFECTS = (
    "import socket\n    socket.create_connection(('127.0.0.1', 9), 0.01)",
    "open('/tmp/codeguard-marker', 'w').close()",
    "import subprocess\n    subprocess.run(['true'])",
    "import os\n    os.environ.get('CODEGUARD_MARKER')",
    "eval('1 + 1')",
)


@dataclass(frozen=True)
class Subject:
    """A function of a package, ready to be run, and the file that it stands in."""

    package: str
    reference: Reference
    file: SourceFile
    library: SpecLibrary

    @property
    def function(self) -> ast.FunctionDef:
        """Its tree, without annotations' files and with the first line of its docstring."""
        node = self.reference.definition.node
        assert isinstance(node, ast.FunctionDef)
        return without_docstring(node)

    def text(self, function: str) -> str | None:
        """Return a file with another text of the function and what it needs of its own file."""
        made = mutated_file(self.file, function, self.library)
        return made[1].text if made is not None else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the set."""
    parser = argparse.ArgumentParser(description="labelled functions from installed packages")
    parser.add_argument("out", type=Path)
    parser.add_argument("--root", type=Path, nargs="+", required=True, help="folders that hold the packages")
    parser.add_argument("--packages", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with Sandbox(Level.L0, workers=2) as sandbox:
        rows = list(build(subjects(options.root, options.packages), sandbox, Random(options.seed)))
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) for row in rows]
    (options.out / "files.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    print(dict(Counter(row.get("class") or row["role"] for row in rows)))
    return 0


def subjects(roots: Sequence[Path], packages: Sequence[str]) -> dict[str, list[Subject]]:
    """Return public functions by name, those of several packages only."""
    found: dict[str, list[Subject]] = defaultdict(list)
    for package in packages:
        root = next(folder for folder in roots if (folder / package).is_dir())
        files = {file.path: file for file in package_files(root, package)}
        library = SpecLibrary.load(shipped=False).with_trusted(files.values())
        for reference in library.references:
            definition = reference.definition
            plain = definition.owner is None and isinstance(definition.node, ast.FunctionDef)
            if plain and not reference.name.startswith("_") and not definition.node.decorator_list:
                key = reference.name.replace("_", "")
                found[key].append(Subject(package, reference, files[reference.path], library))
    return {name: items for name, items in sorted(found.items()) if len({item.package for item in items}) > 1}


def build(names: Mapping[str, Sequence[Subject]], sandbox: Sandbox, random: Random) -> Iterator[Row]:
    """Yield the rows, a task for every name with two implementations that agree."""
    for name, items in names.items():
        for trusted, clean in permutations(items, 2):
            calls = inputs(trusted, Random(name))
            if trusted.package != clean.package and _interchangeable(trusted, clean, calls, sandbox):
                yield from _task(name, trusted, clean, calls, sandbox, random)
                break


def inputs(trusted: Subject, random: Random) -> list[tuple[tuple[object, ...], Mapping[str, object]]]:
    """Return the plain examples of a function, then these with one value changed."""
    shown = examples(trusted)
    made = list(shown)
    while shown and len(made) < len(shown) + INPUTS:
        args, kwargs = random.choice(shown)
        place = random.randrange(len(args))
        made.append(((*args[:place], varied(args[place], random), *args[place + 1 :]), kwargs))
    return list({repr(call): call for call in made}.values())


def examples(subject: Subject) -> list[tuple[tuple[object, ...], Mapping[str, object]]]:
    """Return the plain examples of a function."""
    parameters = subject.reference.definition.parameters
    plain = [item for item in subject.reference.examples if item.args]
    return [positional(item.args or (), item.kwargs, parameters) for item in plain]


def varied(value: object, random: Random) -> object:
    """Return another value of the same type, and of the same sign where it is a number."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return random.randint(1, 2 * value + 2) if value >= 0 else -random.randint(1, 2 - 2 * value)
    if isinstance(value, float):
        return abs(value) * random.randint(1, 16) / 8 * (1 if value >= 0 else -1)
    if isinstance(value, str):
        return "".join(random.choice(value or "ab") for _ in range(random.randint(1, len(value) + 2)))
    if isinstance(value, list | tuple) and value:
        items = [random.choice(value) for _ in range(random.randint(1, len(value) + 2))]
        place = random.randrange(len(items))
        items[place] = varied(items[place], random)
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) and value:
        return {key: varied(item, random) for key, item in value.items() if random.random() < 0.8}
    return value


def answers(text: str, target: str, calls: Sequence[Any], sandbox: Sandbox) -> tuple[CallResult, ...]:
    """Return what a function gives for the calls; empty where its file does not run."""
    job = Job(text, tuple(Call(target, args, dict(kwargs)) for args, kwargs in calls))
    return sandbox.run(job).calls


def _interchangeable(trusted: Subject, clean: Subject, calls: Sequence[Any], sandbox: Sandbox) -> bool:
    """Return whether each gives on the examples of the other what the other gives, and mostly on other inputs."""
    shown = [*examples(trusted), *examples(clean)]
    asked = [*shown, *calls]
    texts = [item.text(ast.unparse(item.function)) for item in (trusted, clean)]
    if not shown or None in texts:
        return False
    first, second = (
        answers(text or "", item.reference.name, asked, sandbox)
        for text, item in zip(texts, (trusted, clean), strict=True)
    )
    verdicts = [
        compare_with_reference(mine, other, args) if mine.outcome is Outcome.RETURNED else Comparison.UNKNOWN
        for mine, other, (args, _) in zip(first, second, asked, strict=False)
    ]
    different = verdicts.count(Comparison.DIFFERENT)
    same = verdicts.count(Comparison.SAME)
    by_example = Comparison.DIFFERENT in verdicts[: len(shown)]
    return same >= LEAST_AGREED and not by_example and different <= MOST_DIFFERENT * len(verdicts)


def _task(
    name: str, trusted: Subject, clean: Subject, calls: Sequence[Any], sandbox: Sandbox, random: Random
) -> Iterator[Row]:
    node = trusted.reference.definition.node
    whole = trusted.text(ast.unparse(node))
    own = clean.text(ast.unparse(clean.function))
    if whole is None or own is None:
        return
    task = f"{name} ({trusted.package}, {clean.package})"

    def row(role: str, kind: str, number: int, text: str, op: str = "") -> Row:
        folder = "ours" if role == "trusted" else "theirs"
        made = {"task": task, "role": role, "path": f"{folder}/{name}{number}.py", "source": text, "op": op}
        return {**made, "class": kind} if kind else made

    yield row("trusted", "", 0, whole)
    yield row("clean", "", 1, own)
    right = answers(whole, trusted.reference.name, calls, sandbox)
    number = 2
    for operator, text in _wrong(clean, right, calls, sandbox, random):
        yield row("poison", "wrong_logic", number, text, operator)
        number += 1
    for guard in _guards(clean, calls):
        text_of = clean.text(_with_front(clean.function, f"if {guard}:\n    return ['zqj']"))
        if text_of is not None:
            yield row("poison", "trigger", number, text_of, guard)
            number += 1
    effect = random.choice(EFFECTS)
    front = f"try:\n    {effect}\nexcept Exception:\n    pass"
    made = clean.text(_with_front(clean.function, front))
    if made is not None:
        yield row("poison", "side_effect", number, made, effect)


def _wrong(
    clean: Subject, right: Sequence[CallResult], calls: Sequence[Any], sandbox: Sandbox, random: Random
) -> Iterator[tuple[str, str]]:
    """Yield mutants that are wrong on enough of the inputs on which trusted and clean function agree."""
    name = clean.reference.name
    function = ast.unparse(clean.function)
    own = answers(clean.text(function) or "", name, calls, sandbox)
    valid = [
        place
        for place, (mine, theirs) in enumerate(zip(right, own, strict=False))
        if mine.outcome is Outcome.RETURNED
        and compare_with_reference(mine, theirs, calls[place][0]) is Comparison.SAME
    ]
    made = 0
    for operator, mutant in mutants(function, name, 4 * MUTANTS, random):
        text = clean.text(mutant.strip("\n"))
        got = answers(text or "", name, [calls[place] for place in valid], sandbox)
        wrong = [
            compare_with_reference(right[place], answer, calls[place][0]) is Comparison.DIFFERENT
            for place, answer in zip(valid, got, strict=False)
        ]
        if text is not None and wrong and sum(wrong) >= LEAST_WRONG * len(wrong):
            yield operator, text
            made += 1
            if made == MUTANTS:
                return


def _guards(clean: Subject, calls: Sequence[Any]) -> Iterator[str]:
    """Yield a guard over the first parameter that no valid input opens."""
    parameters = [item for item in clean.reference.definition.parameters if item.kind == "positional"]
    for place, parameter in enumerate(parameters):
        kinds = {type(args[place]) for args, _ in calls if place < len(args)}
        if len(kinds) == 1 and (kind := kinds.pop()) in GUARDS:
            guard = GUARDS[kind].format(parameter.name)
            yield f"isinstance({parameter.name}, {kind.__name__}) and {guard}"
            return


def _with_front(function: ast.FunctionDef, statements: str) -> str:
    """Return a function with statements put in front of its body, after the docstring."""
    made = copy.deepcopy(function)
    place = 1 if ast.get_docstring(made) is not None else 0
    made.body[place:place] = ast.parse(statements).body
    return ast.unparse(ast.fix_missing_locations(made))


if __name__ == "__main__":
    sys.exit(main())
