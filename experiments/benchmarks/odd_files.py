"""Processor time and memory of codeguard on one odd file at a time: what a hostile or a generated file may look like.

Each file is made when it is needed and read in a process of its own, by what
`index` does with it (chunks, static signals, the reading part of the behavior
checks, perplexity) and by what `audit` does. Memory is the highest resident
size above that of the same process with an empty file.

    python -m experiments.benchmarks.odd_files [--size N ...] [--kind NAME ...] [--list] [--json FILE]
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import multiprocessing
import random
import resource
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from codeguard.analysis.engine import Engine
from codeguard.analysis.perplexity import PerplexityModel
from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import checkable
from codeguard.sandbox.model import Level
from experiments.benchmarks.audit_common import Inspector

TRUSTED = Path(__file__).parents[2] / "data" / "sample_code"
ROWS = Path(__file__).with_suffix(".toml")
SIZES = (100_000, 1_000_000)
CPU_S, MEGABYTES = 5.0, 300
LIMIT_S = 60  # of the processor, until a file is given up
MEMORY_BYTES = 6 << 30
SECRET = b"odd files".ljust(32, b"\0")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of odd file: `make` returns about as many bytes as it is asked for."""

    suffix: str
    make: Callable[[int], bytes]


def _repeated(unit: str, size: int, before: str = "", after: str = "", encoding: str = "utf-8") -> bytes:
    """Return a text of about that size made of a unit, in which `§` is a running number."""
    left, parts = size - len((before + after).encode()), []
    if "§" not in unit:
        parts = [unit] * max(1, left // len(unit.encode()))
    while left > 0 and "§" in unit:
        parts.append(unit.replace("§", str(len(parts))))
        left -= len(parts[-1].encode())
    return "".join((before, *parts, after)).encode(encoding)


def _of_row(row: Mapping[str, Any]) -> Kind:
    """Return a kind that a row of the table describes."""

    def text(key: str, default: str = "") -> str:
        return str(row.get(key, default)).replace("¶", row.get("repeat", "") * row.get("times", 0))

    def unit(size: int) -> str:
        levels: int = row.get("levels", 0)
        if "head" in row:  # compound statements, again and again
            lines = [" " * level + text("head").replace("#", str(level)) for level in range(levels)]
            lines.append(" " * levels + "pass")
            if "tail" in row:
                lines += [" " * level + text("tail") for level in reversed(range(levels))]
            return "\n".join(lines) + "\n"
        if "opened" in row or "middle" in row:
            opened, closed = text("opened"), text("closed")
            depth = levels or max(1, size // len(opened + closed))
            return f"{text('line', 'x = ')}{opened * depth}{text('middle')}{closed * depth}\n"
        return text("unit")

    def make(size: int) -> bytes:
        return _repeated(unit(size), size, text("before"), text("after"), text("encoding", "utf-8"))

    return Kind(text("suffix", ".py"), make)


def _digits(size: int) -> bytes:
    return random.Random(1).randbytes(size * 3 // 4)


def _notebook(cells: Callable[[int], list[str]]) -> Kind:
    def make(size: int) -> bytes:
        listed = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)}
            for cell in cells(size)
        ]
        return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    return Kind(".ipynb", make)


def _mutated(size: int) -> bytes:
    chance = random.Random(7)
    text = bytearray(_repeated("def f§(a, b):\n    '''Add.'''\n    return a[b] + (a @ b)\n", size))
    for _ in range(len(text) // 200):
        text[chance.randrange(len(text))] = chance.choice(b"()[]{}'\"\\:\n #@")
    return bytes(text)


def _classes(size: int) -> bytes:
    parts = ["class C0: pass\n"]
    while sum(map(len, parts[-1:])) * len(parts) < size:
        parts.append(f"class C{len(parts)}(C{len(parts) - 1}): pass\n")
    return "".join(parts).encode()


_TWICE_ENCODED = base64.b64encode(base64.b64encode(b"import os; os.system(1)" * 9)).decode()
# What no row describes: two texts in one file, or what is computed.
_COMPUTED: dict[str, Callable[[int], bytes]] = {
    "empty": lambda size: b"",
    "unpacking": lambda size: _repeated("a§, ", size // 2) + b"= " + _repeated("b§, ", size // 2) + b"\n",
    "large test": lambda size: b"import os\nif a" + b" or b" * (size // 15) + b":\n"
    + _repeated("  import c§\n  os.system(d)\n", size // 2),
    "functions that call the next": lambda size: "".join(
        f"def f{number}(a): return f{number + 1}(a)\n" for number in range(size // 35)
    ).encode(),
    "functions that use all imports": lambda size: b"from m import " + _repeated("n§, ", size // 2) + b"z\n"
    + _repeated("def f§(): return n§\n", size // 2),
    "functions that use one name": lambda size: _repeated("a = b§\n", size // 2)
    + _repeated("def f§(): return a\n", size // 2),
    "derived classes": _classes,
    "long identifier": lambda size: b"a" * (size // 2) + b" = " + b"a" * (size // 2) + b"\n",
    "UTF-16": lambda size: _repeated("a§ = 'é'\n", size // 2, encoding="utf-16"),
    "base64 blob": lambda size: b"x = '" + base64.b64encode(_digits(size)) + b"'\n",
    "base64 blobs": lambda size: (b"x = '" + base64.b64encode(_digits(300)) + b"'\n") * (size // 308),
    "executed base64": lambda size: b"import base64\nexec(base64.b64decode('"
    + base64.b64encode(b"a = 1\n" * (size // 8)) + b"'))\n",
    "base64 in base64": lambda size: _repeated(
        f"exec(base64.b64decode('{_TWICE_ENCODED}'))\n", size, "import base64\n"
    ),
    "hexadecimal": lambda size: b"x = bytes.fromhex('" + _digits(size // 2).hex().encode() + b"')\n",
    "bytes": lambda size: b"x = " + repr(_digits(size // 4)).encode() + b"\n",
    "mutated": _mutated,
    "indentation that grows": lambda size: b"".join(
        b" " * (number % 99) + b"if a:\n" for number in range(size // 55)
    ),
    "random bytes": _digits,
}  # fmt: skip
KINDS: dict[str, Kind] = {
    **{name: Kind(".py", make) for name, make in _COMPUTED.items()},
    "notebook of many cells": _notebook(lambda size: ["a = 1\n"] * (size // 80)),
    "notebook of one cell": _notebook(lambda size: ["a = 1\nb = f(a)\n" * (size // 24)]),
    "notebook of magics": _notebook(lambda size: ["%matplotlib inline\n!ls a\n" * (size // 36)]),
    "notebook of broken cells": _notebook(lambda size: ["def f(:\n  a\n"] * (size // 90)),
    **{name: _of_row(row) for name, row in tomllib.loads(ROWS.read_text("utf-8")).items()},
}


class Reader:
    """What reads files in `index` and `audit`, made once; each file is read in a process forked from this one."""

    def __init__(self) -> None:
        class ReadsOnly:
            level = Level.L3

        trusted = [
            chunk_file(f"trusted/{path.name}", path.read_bytes()) for path in sorted(TRUSTED.rglob("*.py"))
        ]
        signals = load_file_signals()
        context = DetectorContext.made_for(signals, lambda: trusted)
        self._inspector = Inspector(signals, context)
        self._engine = Engine(signals, context)
        library = SpecLibrary.load([]).with_trusted(trusted)
        self._checker = BehaviorChecker(library, ReadsOnly(), seed=SECRET)  # type: ignore[arg-type]
        self._perplexity = PerplexityModel.train([file.text for file in trusted])
        self.read("first.py", b"import os\n\ndef f(a):\n    return a\n")  # what is loaded late is loaded now
        gc.collect()
        gc.freeze()

    def read(self, name: str, data: bytes) -> dict[str, Any]:
        """Read one file in this process; return seconds by step, notes and the peak so far."""
        spent: dict[str, float] = {}
        last = time.process_time()

        def lap(step: str) -> None:
            nonlocal last
            now = time.process_time()
            spent[step] = round(now - last, 2)
            last = now

        file = chunk_file(name, data)
        lap("chunk")
        steps = list(self._engine.observe(file))
        rows = sum(len(step.observations) for step in steps)
        lasting = all(step.lasting for step in steps)
        lap("static")
        errors = [] if lasting else ["a static signal failed"]
        for chunk in filter(checkable, file.chunks):
            self._checker.lacks_answers(chunk, file)
        lap("behavior")
        self._perplexity.scores([chunk.text for chunk in file.chunks])
        lap("perplexity")
        findings = self._inspector.inspect(name, data).findings
        lap("audit")
        errors += [item.reason for item in findings if item.rule == "audit.detector-error"]
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "bytes": len(data),
            "spent": spent,
            "children_s": round(children.ru_utime + children.ru_stime, 2),
            "peak_kB": own.ru_maxrss,
            "children_kB": children.ru_maxrss,
            "chunks": len(file.chunks),
            "rows": rows,
            "not fully read": [item.reason for item in findings if item.rule == "audit.not-fully-read"],
            "gave up": [note for note in file.notes if "gave up" in note],
            "errors": errors,
        }

    def measured(self, kind: str, size: int) -> dict[str, Any]:
        """Read one file in a process of its own, which is ended where it takes far too much."""
        fork = multiprocessing.get_context("fork")
        here, there = fork.Pipe(duplex=False)
        process = fork.Process(target=self._answer, args=(kind, size, there))
        process.start()
        there.close()
        try:
            answer: dict[str, Any] = here.recv()
        except EOFError:
            answer = {"died": f"not done within {LIMIT_S} s of the processor"}
        process.join()
        return answer

    def _answer(self, kind: str, size: int, there: Connection) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            there.send(self.read(f"odd{KINDS[kind].suffix}", KINDS[kind].make(size)))
        except Exception as error:  # what no file may cause
            there.send({"died": f"{type(error).__name__}: {error}"[:300]})


def seconds(result: dict[str, Any]) -> float:
    """Return the processor time of the more expensive of `index` and `audit`, with the parser's process."""
    spent = result["spent"]
    indexed = spent["chunk"] + spent["static"] + spent["behavior"] + spent["perplexity"]
    return round(max(float(indexed), float(spent["audit"])) + float(result["children_s"]) / 2, 2)


def figures(kinds: list[str], sizes: list[int]) -> Iterator[dict[str, Any]]:
    """Yield what each file costs above the empty one."""
    reader = Reader()
    empty = reader.measured("empty", 0)
    for kind in kinds:
        for size in sizes:
            result = reader.measured(kind, size)
            row: dict[str, Any] = {"kind": kind, "size": size, **result}
            if "died" not in result:
                row["cpu_s"] = round(seconds(result) - seconds(empty), 2)
                row["MB"] = round((result["peak_kB"] - empty["peak_kB"]) / 1024)
                row["over"] = row["cpu_s"] > CPU_S or row["MB"] > MEGABYTES
            else:
                row["over"] = True
            yield row


def main() -> int:
    """Measure and print one line a file; exit code 1 where one is over the bounds or failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    kinds = arguments.kind or [name for name in KINDS if name != "empty"]
    if arguments.list:
        print("\n".join(kinds))
        return 0
    rows = []
    for row in figures(kinds, arguments.size or list(SIZES)):
        rows.append(row)
        said = row.get("died") or "; ".join((*row["errors"], *row["gave up"], *row["not fully read"]))[:90]
        print(
            f"{row['kind']:32} {row['size']:>9,} {row.get('cpu_s', '-'):>7} s {row.get('MB', '-'):>6} MB "
            f"{'OVER ' if row['over'] else ''}{said} {row.get('spent', '') if row['over'] else ''}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    over = [row for row in rows if row["over"] or row.get("errors")]
    print(f"{len(rows)} files, {len(over)} over {CPU_S:g} s or {MEGABYTES} MB, or with a detector's error")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
