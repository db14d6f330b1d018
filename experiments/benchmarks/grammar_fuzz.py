"""Generated modules, notebooks, Cython, JavaScript and broken text through the whole of index, audit and query.

Modules are made over the grammar of the running Python (`grammar`), flat and
nested; their layout is changed in ways that mean nothing. Files are written
in batches, indexed, audited and asked for in this process. Reported are
hangs, exceptions and detectors' errors; a file that causes one is kept.

    python -m experiments.benchmarks.grammar_fuzz [--modules N] [--nested N] [--other N] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.models import DETECTOR_ERROR
from codeguard.workers.deadline import Deadline, DeadlineError
from experiments.benchmarks.chunk_fuzz import MUTATIONS
from experiments.benchmarks.grammar import Grammar, compiles

TRUSTED = Path(__file__).parents[2] / "data" / "sample_code"
BATCH = 250
BEHAVIOR_EVERY = 10  # batches; the last of them
SECONDS_A_BATCH = 600.0  # of the processor
SECONDS_A_FILE = 10.0
QUERIES = ("calculate factorial", "read a file", "class with a method", "système é", "os.system(x)")
_SCRIPT_NAMES = ("a", "b", "value", "require", "process")


@dataclass
class Findings:
    """What came of the files: how many there were of each sort, and what went wrong with which."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)  # name of the file, and what happened


def reformatted(source: str, chance: random.Random) -> bytes:
    """Return a module with another layout that compiles all the same, as bytes."""
    text = source
    for _ in range(chance.randint(0, 3)):
        changed = chance.choice((_comments, _indentation, _blank_lines, _semicolons, _continuations))(
            text, chance
        )
        if compiles(changed):
            text = changed
    ends = chance.choice(("\n", "\n", "\n", "\r\n", "\r"))
    data = text.replace("\n", ends).encode("utf-8", "surrogatepass")
    return (
        chance.choice((b"", b"", b"\xef\xbb\xbf", b"#!/usr/bin/python\n", b"# -*- coding: utf-8 -*-\n"))
        + data
    )


def _comments(text: str, chance: random.Random) -> str:
    return "\n".join(f"{line}  # why" if chance.random() < 0.2 else line for line in text.split("\n"))


def _indentation(text: str, chance: random.Random) -> str:
    unit = chance.choice(("\t", " ", "  ", "        "))
    lines = text.split("\n")
    return "\n".join(unit * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" ") for line in lines)


def _blank_lines(text: str, chance: random.Random) -> str:
    return chance.choice(("\n\n", "\n\x0c\n", "\n    \n")).join(text.split("\n"))


def _semicolons(text: str, chance: random.Random) -> str:
    return text.replace("\npass", "\npass; pass;").replace("\n", ";\n", 1)


def _continuations(text: str, chance: random.Random) -> str:
    return text.replace(" = ", " = \\\n", chance.randint(1, 5))


def notebook(cells: Iterable[str], chance: random.Random) -> bytes:
    """Return a notebook of these cells, now and then with magic, broken cells or broken JSON."""
    magics = ("%matplotlib inline\n", "!ls\n", "%%bash\necho a\n", "?print\n", "%%time\n", "def f(:\n")
    listed = []
    for cell in cells:
        text = (chance.choice(magics) if chance.random() < 0.3 else "") + cell
        source: Any = text.splitlines(keepends=True) if chance.random() < 0.7 else text
        listed.append(
            {"cell_type": chance.choice(("code", "code", "markdown")), "metadata": {}, "source": source}
        )
    data = bytearray(json.dumps({"cells": listed, "metadata": {}, "nbformat": 4}).encode())
    return _broken(data, chance) if chance.random() < 0.3 else bytes(data)


def cython(source: str, chance: random.Random) -> bytes:
    """Return a module as Cython: typed definitions, declarations, imports of its own."""
    lines = ["cimport numpy as np", "from libc.math cimport sin", "ctypedef int number"]
    for line in source.split("\n"):
        if chance.random() < 0.3:
            line = line.replace("def ", chance.choice(("cdef int ", "cpdef ", "cdef inline void ")), 1)
        lines.append(line)
        if chance.random() < 0.05 and not line.startswith(" "):
            lines.append(
                chance.choice(
                    (
                        "cdef int x = 1",
                        "cdef class C:\n    cdef int a",
                        "cdef extern from 'a.h':\n    int f(int)",
                    )
                )
            )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def script(chance: random.Random, statements: int = 12) -> bytes:
    """Return a JavaScript file by a small grammar of it."""
    return "\n".join(_script_statement(chance, 0) for _ in range(statements)).encode()


def _script_statement(chance: random.Random, depth: int) -> str:
    if depth > 4:
        return f"{chance.choice(_SCRIPT_NAMES)}();"
    value = _script_expression(chance, depth + 1)
    body = _script_statement(chance, depth + 1)
    name = chance.choice(_SCRIPT_NAMES)
    forms = (
        f"const {name} = {value};",
        f"let {{{name}, ...rest}} = {value}",
        f"function {name}(a, b = {value}, ...c) {{ {body} return {value}; }}",
        f"async function* {name}() {{ for await (const x of {value}) {{ {body} yield x }} }}",
        f"class {name} extends B {{ #p = {value}; static get x() {{ {body} }} constructor() {{ super() }} }}",
        f"if ({value}) {{ {body} }} else {body}",
        f"for (let i = 0; i < {value}; i++) {{ {body} }}",
        f"try {{ {body} }} catch (e) {{ throw {value} }} finally {{ {body} }}",
        f"switch ({value}) {{ case 1: {body} break; default: {body} }}",
        f"label: while ({value}) {{ {body} continue label; }}",
        f"import {name} from '{name}'; export default {value};",
        f"/* {body.replace('*/', '')} */ // {name}",
    )
    return chance.choice(forms)


def _script_expression(chance: random.Random, depth: int) -> str:
    if depth > 5:
        return chance.choice(("1", "'a'", "`b`", "null", "/a[/]b+/gi", "x", "0x1f", "1n", "this"))
    inner = _script_expression(chance, depth + 1)
    other = _script_expression(chance, depth + 1)
    forms = (
        f"({inner} + {other})", f"(a => {inner})", f"async (a, b) => {{ await {inner} }}", f"`t ${{{inner}}} u`",
        f"[{inner}, ...{other}]", f"{{a: {inner}, [{other}]: 1}}.a", f"f({inner}, {other})", f"{inner} ? {other} : 1",
        f"new C({inner})?.d[{other}]", f"typeof {inner} === {other}", f"(function () {{ return {inner} }})()",
        f"{inner} / {other} / 2", f"require('child_process').exec({inner})", f"eval({inner})", f"{inner} ?? {other}",
    )  # fmt: skip
    return chance.choice(forms)


def _broken(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 5)):
        chance.choice(MUTATIONS)(data, chance)
    if chance.random() < 0.3:
        del data[chance.randint(0, len(data)) :]
    return bytes(data)


def flat_files(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield modules over the grammar without end, each with its suffix."""
    grammar = Grammar(chance)
    while True:
        yield ".py", reformatted(grammar.module(chance.choice((1, 1, 1, 2, 4))), chance)


def nested_files(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield modules of statements and expressions that are nested deep."""
    grammar = Grammar(chance)
    while True:
        yield (
            ".py",
            grammar.nested(chance.choice((5, 10, 20, 40, 60, 90, 150, 300, 900))).encode("utf-8", "replace"),
        )


def other_files(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield notebooks, Cython, JavaScript and broken text in turn."""
    grammar = Grammar(chance)
    while True:
        yield ".ipynb", notebook((grammar.module(1) for _ in range(chance.randint(0, 4))), chance)
        yield ".pyx", cython(grammar.module(2), chance)
        yield ".js", script(chance)
        yield (
            chance.choice((".py", ".pyx", ".md", ".txt", ".js")),
            _broken(bytearray(grammar.module(2).encode("utf-8", "replace")), chance),
        )
        yield ".js", _broken(bytearray(script(chance)), chance)


def run_batch(
    files: Sequence[tuple[str, bytes]], findings: Findings, keep: Path, *, behavior: bool, seconds: float
) -> None:
    """Index, audit and ask for some files, then each by itself where something went wrong with all.

    Those that cause something are written into the folder `keep`.
    """
    wrong = _fault_of(files, behavior=behavior, seconds=seconds)
    if not wrong:
        return
    by_itself = [(item, _fault_of([item], behavior=behavior, seconds=SECONDS_A_FILE)) for item in files]
    found = [(f"{item[0]}", fault, item[1]) for item, fault in by_itself if fault]
    for suffix, fault, data in found or [("", wrong, b"")]:
        findings.faults.append((suffix, fault))
        findings.counts["kept"] += bool(data)
        if data and findings.counts["kept"] <= 200:
            place = keep / f"grammar_fault_{findings.counts['kept']}{suffix}"
            place.write_bytes(data)
            print(f"kept {place}: {fault}", flush=True)


def _fault_of(files: Sequence[tuple[str, bytes]], *, behavior: bool, seconds: float) -> str:
    """Return what goes wrong with some files, empty where nothing does."""
    with tempfile.TemporaryDirectory(prefix="grammar-fuzz-") as name:
        home = Path(name)
        corpus = home / "corpus"
        corpus.mkdir()
        for number, (suffix, data) in enumerate(files):
            (corpus / f"file{number}{suffix}").write_bytes(data)
        defense = DefenseConfig(enable_behavior=behavior, required_level="L0")
        settings = Settings(
            state_dir=str(home / "state"), root=str(home), embedding="lexical", jobs=1, defense=defense
        )
        try:
            with Deadline(seconds, 20 * seconds):  # a busy machine is no fault of the files
                return _looked_through(CodeGuard.open(home / "store", [TRUSTED], settings=settings), corpus)
        except DeadlineError:
            return "hangs"
        except Exception as error:  # what no file may cause
            return f"{type(error).__name__}: {error}"[:300]


def _looked_through(guard: CodeGuard, corpus: Path) -> str:
    with guard:
        guard.index([corpus])
        for ranking in guard.query_many(QUERIES, k=20):
            for item in ranking.ranking:
                for evidence in item.evidence:
                    if evidence.id == DETECTOR_ERROR or "error inside codeguard" in evidence.reason:
                        return f"{evidence.signal}: {evidence.reason}"
        for finding in guard.audit([corpus]).findings:
            if finding.rule == "audit.detector-error":
                return f"audit: {finding.reason}"
    return ""


def fuzz(modules: int, nested: int, other: int, seed: int, keep: Path) -> Findings:
    """Make the files and run them, printing a line for every batch."""
    findings = Findings()
    start = time.process_time()
    makers = {"modules": flat_files, "nested": nested_files, "other": other_files}
    wanted = {"modules": modules, "nested": nested, "other": other}
    sources = {
        sort: make(random.Random(seed * 10 + place)) for place, (sort, make) in enumerate(makers.items())
    }
    batches: Counter[str] = Counter()
    while True:  # in turn, so that a run which is cut short has seen something of each sort
        sort = min(wanted, key=lambda sort: findings.counts[sort] / max(wanted[sort], 1))
        left = wanted[sort] - findings.counts[sort]
        if left <= 0:
            break
        files = list(islice(sources[sort], min(BATCH, left)))
        batches[sort] += 1
        behavior = batches[sort] % BEHAVIOR_EVERY == 0
        run_batch(files, findings, keep, behavior=behavior, seconds=SECONDS_A_BATCH)
        findings.counts[sort] += len(files)
        done = ", ".join(f"{sort} {findings.counts[sort]:,}" for sort in wanted)
        spent = time.process_time() - start
        print(f"{done}; {len(findings.faults)} faults, {spent:.0f} s of the processor", flush=True)
    return findings


def main() -> int:
    """Fuzz and print; exit code 1 where a file caused something."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--modules", type=int, default=20_000)
    parser.add_argument("--nested", type=int, default=5_000)
    parser.add_argument("--other", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    keep = Path(tempfile.gettempdir())
    findings = fuzz(arguments.modules, arguments.nested, arguments.other, arguments.seed, keep)
    print(dict(findings.counts))
    for fault, count in Counter(fault for _, fault in findings.faults).most_common(30):
        print(f"{count:5} {fault}")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
