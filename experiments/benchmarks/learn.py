"""What `codeguard learn` adds: evidence, mutants caught on held-out calls, honest changes convicted, cost of recording.

    python -m experiments.benchmarks.learn OLD --new NEW --source src --python PYTHON -- -m pytest -q tests
    python -m experiments.benchmarks.learn OLD --pairs …  (see --help)

OLD and NEW are unpacked sdists of one package, NEW some releases on. The tests of OLD are run plainly and recorded;
of the recorded calls that hold, a half chosen by digest is learned. Mutants of functions (one operator each,
cosmic-ray's, installed by `codeguard-rag[mutation]`) count where they give something else on a call of the other
half; functions whose text changed in NEW count as honest where they give the same on all recorded calls.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import resource
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior import BehaviorChecker, Budget, SpecLibrary
from codeguard.behavior.learning.learn import Learner, TrustedTree, grouped, read_tree
from codeguard.behavior.learning.recording import record
from codeguard.behavior.learning.samples import Privacy, Sample, SampledExample, observation_of
from codeguard.behavior.learning.selection import Confirmed, confirm
from codeguard.behavior.source.definitions import definitions, read_module
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference, with_needed_code
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, drive
from codeguard.behavior.verdict.values import Comparison, compare_with_example
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CONVICTING, CheckReport, Chunk, SourceFile, Verdict
from codeguard.sandbox import Level, Sandbox, read_given
from experiments.benchmarks.behavior_corpus import SEED
from experiments.benchmarks.mutation import mutants
from experiments.text.common import wilson

Key = tuple[str, str]


@dataclass(frozen=True)
class Halves:
    """The samples of one function: those to learn from, and held-out calls that its trusted text meets."""

    learned: list[Sample]
    held_out: list[Example]


def cpu_of(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> tuple[int, float]:
    """Run a command; return its exit code and the seconds of CPU that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.returncode, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_half(sample: Sample) -> bool:
    """Return whether a sample is one to learn from; the objects' numbers differ from run to run."""
    text = repr((sample.path.rpartition("/")[2], sample.name, sample.args, sample.kwargs))
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def references_of_tree(tree: TrustedTree) -> dict[Key, Reference]:
    """Return the trusted functions by file and name."""
    files = [file for file in tree.files if file.path.endswith(".py")]
    found = SpecLibrary().with_trusted(files, package=tree.package).references
    return {
        (item.path, item.definition.qualified_name): item for item in found if not item.definition.is_setter
    }


def split(reference: Reference, samples: Sequence[Sample], level: Level) -> Steps[Halves]:
    """Split the samples of a function; of the held-out half keep what the trusted function meets."""
    rest = [sample for sample in samples if not first_half(sample)]
    made = [item for sample in rest if (item := observation_of(sample, reference.definition))]
    distinct: dict[str, SampledExample] = {item.example.fingerprint(): item for item in made}
    kept: list[Confirmed] = yield from confirm(reference, list(distinct.values())[:24], level, Budget())
    shown = [item.example for item in kept if item.example.expected is not None]
    return Halves([sample for sample in samples if first_half(sample)], shown)


def wrong_calls(
    reference: Reference, file: SourceFile, chunk: Chunk, calls: Sequence[Example], level: Level
) -> Steps[tuple[int, int]]:
    """Return on how many held-out calls a changed function is wrong, and how many could be compared."""
    module = read_module(file.text)
    name = reference.definition.qualified_name
    own = next((item for item in definitions(module.statements) if item.qualified_name == name), None)
    changed = (
        None if own is None else Reference(own, reference.features, (), file.path, module, reference.trusted)
    )
    if changed is None or changed.usable is None:
        return 0, 0
    pairs = []
    for example in calls:
        whole = with_needed_code(example, reference.name, reference.module)
        call = call_of(whole, changed.runnable)
        if call is not None:
            pairs.append((example, call))
    if not pairs:
        return 0, 0
    (result,) = yield from CallRunner(changed.runnable, level, Budget()).run(
        Batch(tuple(c for _, c in pairs))
    )
    found = [
        compare_with_example(e.expected, answer) for (e, _), answer in zip(pairs, result.calls, strict=True)
    ]
    return found.count(Comparison.DIFFERENT), len(found) - found.count(Comparison.UNKNOWN)


def mutated(
    file: SourceFile, reference: Reference, each: int, random: Random
) -> Iterator[tuple[Chunk, SourceFile]]:
    """Yield files in which one function is changed by one operator, with its chunk."""
    node = reference.definition.node
    if not isinstance(node, ast.FunctionDef):
        return
    lines = file.text.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    indent = " " * node.col_offset
    bare = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(bare, ast.FunctionDef)
    bare.decorator_list = []
    for _, code in mutants(ast.unparse(bare), node.name, each, random):
        changed = "".join(f"{indent}{line}\n" if line else "\n" for line in code.strip("\n").split("\n"))
        text = "".join((*lines[:first], changed, *lines[last:]))
        made = chunk_file("unknown/changed.py", text.encode())
        found = [item for item in made.chunks if item.symbol == reference.definition.qualified_name]
        own = [item for item in found if item.span.start_line <= node.lineno <= item.span.end_line]
        if own:
            yield own[-1], made


def reports(
    library: SpecLibrary, sandbox: Sandbox, subjects: Sequence[tuple[Chunk, SourceFile]]
) -> list[CheckReport]:
    """Check functions against a library."""
    return list(BehaviorChecker(library, sandbox, seed=SEED).check_many(subjects))


def outcome(report: CheckReport) -> str:
    """Return what a report does to a candidate: convicted, demoted, passed or nothing."""
    if report.verdict in CONVICTING:
        return "convicted"
    if report.verdict is Verdict.PASS:
        return "passed"
    return "demoted" if report.claims else "nothing"


def share(part: int, whole: int) -> list[Any]:
    """Return a share with its 95 % interval (Wilson)."""
    return [part, whole, *([round(value, 3) for value in wilson(part, whole)] if whole else [])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one package and print its figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="unpacked sdist with tests")
    parser.add_argument("--new", type=Path, help="the same package some releases on")
    parser.add_argument("--source", default="src", help="trusted folder within both")
    parser.add_argument("--python", required=True, help="interpreter with the package's test requirements")
    parser.add_argument("--functions", type=int, default=60, help="functions that mutants are made of")
    parser.add_argument("--each", type=int, default=2, help="mutants of a function")
    parser.add_argument(
        "--modules", nargs="*", default=(), help="as in the configuration: packages the sandbox has"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs="+", help="arguments of the interpreter that run the tests")
    options = parser.parse_args(arguments)
    old = options.old.resolve()
    tree = read_tree(old / options.source)
    environment = {**os.environ, "PYTHONPATH": str(tree.folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(Path(options.python).absolute()), *options.command]
    plain_code, plain_s = cpu_of(command, old, environment)
    os.environ.update(environment)
    os.chdir(old)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    recording = record(command, [tree.folder])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    recorded_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (samples,) = grouped(recording.lines, [tree])
    by_key = references_of_tree(tree)
    random = Random(1)
    with Sandbox(Level.L2, workers=2, given=read_given(options.modules)) as sandbox:
        keys = [key for key in samples if key in by_key and by_key[key].usable is not None]
        halves = dict(
            zip(
                keys, drive(sandbox, [split(by_key[k], samples[k], sandbox.level) for k in keys]), strict=True
            )
        )
        privacy = Privacy({}, [old])
        learned = Learner(sandbox, privacy).learn(tree, {key: halves[key].learned for key in keys})
        whole = Learner(sandbox, privacy).learn(tree, samples)
        cases = {(spec.path, spec.name): spec.cases for spec in _specs(learned.text)}
        files = [file for file in tree.files if file.path.endswith(".py")]
        text = chunk_file(learned.path.name, learned.text.encode())
        libraries = SpecLibrary().with_trusted(files), SpecLibrary().with_trusted([*files, text])
        by_path = {file.path: file for file in files}
        chosen = sorted(key for key in keys if halves[key].held_out)
        random.shuffle(chosen)
        subjects = [
            (key, subject)
            for key in chosen[: options.functions]
            for subject in mutated(by_path[key[0]], by_key[key], options.each, random)
        ]
        wrong = drive(
            sandbox,
            [wrong_calls(by_key[k], s[1], s[0], halves[k].held_out, sandbox.level) for k, s in subjects],
        )
        verified = [subject for (_, subject), (count, _) in zip(subjects, wrong, strict=True) if count]
        caught = [Counter(map(outcome, reports(library, sandbox, verified))) for library in libraries]
        recorded = {
            key: [*halves[key].held_out, *(case for case in cases.get(key, ()) if case.expected is not None)]
            for key in keys
        }
        honest = _honest(options.new, options.source, by_key, recorded, sandbox)
        clean = reports(libraries[1], sandbox, [subject for _, subject in honest])
    public = [key for key in by_key if not any(part.startswith("_") for part in key[1].split("."))]
    called = [key for key in public if key in samples]
    evidence = {(spec.path, spec.name) for spec in _specs(whole.text)}
    told = {key for key in public if by_key[key].written}
    figures = {
        "package": old.name,
        "exit_codes": [plain_code, recording.exit_code],
        "cpu_s": [round(plain_s, 1), round(recorded_s, 1)],
        "cpu_ratio": round(recorded_s / plain_s, 2),
        "public_functions": len(public),
        "called_by_tests": len(called),
        "with_examples_before": len(told),
        "public_called_with_evidence": share(
            len([k for k in called if k in evidence or k in told]), len(called)
        ),
        "calls_kept": whole.cases,
        "mutants_verified": len(verified),
        "mutants_before": dict(caught[0]),
        "mutants_after": dict(caught[1]),
        "caught_after": share(caught[1]["convicted"] + caught[1]["demoted"], len(verified)),
        "honest_changed": len(honest),
        "honest_convicted": [
            f"{key[0]}::{key[1]} {report.verdict.value}: {report.reason} {report.counterexample}"
            for (key, _), report in zip(honest, clean, strict=True)
            if report.verdict in CONVICTING
        ],
        "honest": dict(Counter(map(outcome, clean))),
    }
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


def _specs(text: str) -> Sequence[Any]:
    from codeguard.behavior.specs.files import SpecFile
    from codeguard.behavior.specs.recorded import recorded_specs

    return recorded_specs(SpecFile(Path("learned"), text.encode())) if text else ()


def _honest(
    new: Path | None,
    source: str,
    by_key: Mapping[Key, Reference],
    recorded: Mapping[Key, Sequence[Example]],
    sandbox: Sandbox,
) -> list[tuple[Key, tuple[Chunk, SourceFile]]]:
    """Return the functions whose text changed in a later release and whose recorded results are the same."""
    if new is None:
        return []
    found: dict[Key, tuple[Chunk, SourceFile]] = {}
    for file in read_tree(new.resolve() / source).files:
        for chunk in file.chunks:
            reference = by_key.get((file.path, chunk.symbol))
            key = file.path, chunk.symbol
            # A long function has several chunks, and counts once.
            if reference is None or not recorded.get(key) or key in found:
                continue
            there = next(
                (
                    d
                    for d in definitions(read_module(file.text).statements)
                    if d.qualified_name == chunk.symbol
                ),
                None,
            )
            if there is not None and there.text != reference.definition.text:
                found[key] = chunk, file
    pairs = list(found.items())
    answers = drive(
        sandbox,
        [wrong_calls(by_key[k], file, chunk, recorded[k], sandbox.level) for k, (chunk, file) in pairs],
    )
    return [pair for pair, (wrong, known) in zip(pairs, answers, strict=True) if known and not wrong]


if __name__ == "__main__":
    raise SystemExit(main())
