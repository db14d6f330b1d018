"""Of changes that break one place of the product, how many do the tests notice?

    python -m experiments.benchmarks.tests_notice draw SCRATCH --seed 1 --changes 100 [--of codeguard/ranking ...]
    python -m experiments.benchmarks.tests_notice reach SCRATCH [--marked "not ci and not slow and not soak"]
    python -m experiments.benchmarks.tests_notice run SCRATCH [--seconds 60]

`draw` clones this checkout into SCRATCH and draws places from all that can be changed: comparisons, operands,
negations, numbers, texts, statements, returned values. `reach` runs the tests once and writes down which test
comes by which place, and what each test costs. `run` makes one change after the other and runs the tests that
come by, the ones that come by few places first, until one fails. What no test noticed is printed as a difference:
a person has to say whether it does the same as before, or which test is missing.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from experiments.text.common import wilson

ROOT = Path(__file__).parents[2]
PARTS = ("ranking", "trust", "audit", "reports", "analysis/*.py")
QUICK = "not ci and not slow and not soak"
FIRST, FIRST_FILES = 40, 4  # tests, and files of theirs, that are tried first
HANGS = 150  # seconds by the clock after which a change counts as noticed
OPPOSITE: Mapping[type[ast.AST], type[Any]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
REMOVABLE = (ast.Raise, ast.AugAssign, ast.Continue, ast.Break)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
# Written into the clone; a process that a test started says which test that was by its environment.
RECORDER = """
import os
test, setup, seen = os.environ.get("CODEGUARD_REACH_TEST", ""), False, set()
def reached(place):
    if (place, setup) not in seen:
        seen.add((place, setup))
        try:
            with open(os.environ["CODEGUARD_REACH"], "a") as log:
                log.write(f"{place} {int(setup)} {test}\\n")
        except (OSError, KeyError):
            pass
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a module and the number of one change there; `line` and `column` begin its statement."""

    number: int
    path: str
    which: int
    line: int
    column: int
    inside: bool  # of a function


class Changer(ast.NodeTransformer):
    """Counts what can be changed in a module, and changes the one of the given number."""

    def __init__(self, chosen: int = -1) -> None:
        self.chosen = chosen
        self.places: list[tuple[int, int, bool]] = []
        self._statements: list[ast.stmt] = []
        self._functions = 0

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit a node, and take its place with the chosen change."""
        if _says_nothing(node):
            return node
        if isinstance(node, ast.stmt):
            self._statements.append(node)
        replaced = None
        for other in _changed(node):
            if len(self.places) == self.chosen:
                replaced = other
            self._note()
        self._functions += isinstance(node, FUNCTION)
        self._visit_fields(node)
        self._functions -= isinstance(node, FUNCTION)
        if isinstance(node, ast.stmt):
            self._statements.pop()
        return node if replaced is None else ast.copy_location(replaced, node)

    def _note(self) -> None:
        statement = self._statements[-1]
        self.places.append((statement.lineno, statement.col_offset, self._functions > 0))

    def _visit_fields(self, node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"}:
                continue
            if isinstance(value, list):
                value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))


def _says_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"__all__", "__slots__"}


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[operator, *rest]) if type(operator) in OPPOSITE:
            yield ast.Compare(node.left, [OPPOSITE[type(operator)](), *rest], node.comparators)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(OPPOSITE[type(operator)](), values)
            yield from (_joined(operator, [*values[:i], *values[i + 1 :]]) for i in range(len(values)))
        case ast.BinOp(left, operator, right) if type(operator) in OPPOSITE:
            yield ast.BinOp(left, OPPOSITE[type(operator)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(value):
            yield from _other_constant(value)
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.stmt() if isinstance(node, REMOVABLE):
            yield ast.Pass()


def _joined(operator: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(operator, values)


def _other_constant(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif isinstance(value, str):
        yield ast.Constant(f"{value}X" if value else "X")


def changed_text(text: str, which: int) -> str:
    """Return a module without its comments, with the change of this number; -1 changes nothing."""
    tree = Changer(which).visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def drawn(root: Path, patterns: Iterable[str], count: int, seed: str) -> list[Change]:
    """Return changes drawn from all that the files have, each equally likely."""
    every: list[tuple[str, int, tuple[int, int, bool]]] = []
    for path in _files(root, patterns):
        changer = Changer()
        changer.visit(ast.parse((root / path).read_text(encoding="utf-8")))
        every += [(path, which, place) for which, place in enumerate(changer.places)]
    print(f"{len(every)} changes can be made", flush=True)
    chosen = Random(seed).sample(every, min(count, len(every)))
    return [Change(number, path, which, *place) for number, (path, which, place) in enumerate(chosen)]


def _files(root: Path, patterns: Iterable[str]) -> list[str]:
    found: set[Path] = set()
    for pattern in patterns:
        place = root / "codeguard" / pattern
        found |= set(place.rglob("*.py") if place.is_dir() else place.parent.glob(place.name))
    return sorted(path.relative_to(root).as_posix() for path in found)


def instrumented(text: str, changes: Sequence[Change]) -> str:
    """Return a module that tells the recorder which of these places are run.

    A place outside of functions counts as run where any function of the module is.
    """
    tree = ast.parse(text)
    at: dict[tuple[int, int], set[int]] = defaultdict(set)
    outside = {change.number for change in changes if not change.inside}
    for change in changes:
        if change.inside:
            at[change.line, change.column].add(change.number)
    for node in list(ast.walk(tree)):
        if isinstance(node, FUNCTION) and (
            numbers := outside | at.pop((node.lineno, node.col_offset), set())
        ):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body[start:start] = _calls(numbers)
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                setattr(node, name, [new for old in body for new in (*_calls(at.get(_start(old), ())), old)])
    first = next(
        (i for i, node in enumerate(tree.body) if not _is_opening(node)),
        len(tree.body),
    )
    tree.body[first:first] = ast.parse("from codeguard._recorder import reached as _reached_by_test").body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _start(node: ast.stmt) -> tuple[int, int]:
    return (getattr(node, "lineno", -1), getattr(node, "col_offset", -1))


def _calls(numbers: Iterable[int]) -> list[ast.stmt]:
    return [node for number in sorted(numbers) for node in ast.parse(f"_reached_by_test({number})").body]


def _is_opening(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


class Recording:
    """A pytest plugin: tells the recorder which test runs, and writes down what each costs."""

    def __init__(self, costs: Path) -> None:
        self._costs = costs
        self._before = _processor()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        from codeguard import _recorder

        _recorder.test, _recorder.setup = nodeid, True
        _recorder.seen.clear()
        os.environ["CODEGUARD_REACH_TEST"] = nodeid

    def pytest_runtest_call(self) -> None:
        """End what fixtures do, which may be for later tests too."""
        from codeguard import _recorder

        _recorder.setup = False

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write down the processor's time of a test and its fixtures."""
        now = _processor()
        with self._costs.open("a", encoding="utf-8") as log:
            log.write(f"{now - self._before:.4f} {nodeid}\n")
        self._before = now


def _processor() -> float:
    return sum(os.times()[:4])


def reach(scratch: Path, marked: str, where: Sequence[str]) -> None:
    """Run the tests over instrumented modules; they are put back afterwards."""
    clone, changes = scratch / "clone", _read(scratch)
    by_path: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_path[change.path].append(change)
    (clone / "codeguard" / "_recorder.py").write_text(RECORDER)
    for path, there in by_path.items():
        _write(clone / path, instrumented((ROOT / path).read_text(encoding="utf-8"), there))
    os.environ["CODEGUARD_REACH"] = str(scratch / "reached")
    try:
        _in_child(clone, ["-m", marked, *where], scratch / "reach.log", 0, [Recording(scratch / "costs")])
    finally:
        for path in by_path:
            _write(clone / path, (ROOT / path).read_text(encoding="utf-8"))


_times = iter(range(1_700_000_000, 1_800_000_000, 10))


def _write(file: Path, text: str) -> None:
    """Write a module so that no bytecode of before is taken for its own, however quickly that is."""
    file.write_text(text, encoding="utf-8")
    moment = next(_times)
    os.utime(file, (moment, moment))


def _in_child(
    clone: Path, arguments: list[str], log: Path, seconds: int, plugins: Sequence[object] = ()
) -> int | None:
    """Return how pytest ended in a forked process, None if it did not within some seconds."""
    child = os.fork()
    if not child:
        os.setsid()
        os.chdir(clone)
        sys.path[:] = [str(clone), *(place for place in sys.path if place not in {"", str(ROOT)})]
        os.environ["PYTHONPATH"] = str(clone)
        for name in [
            name for name in sys.modules if name.split(".")[0] in {"codeguard", "experiments", "tests"}
        ]:
            if name != __name__:
                del sys.modules[name]
        target = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(target, 1)
        os.dup2(target, 2)
        import pytest

        os._exit(int(pytest.main(arguments, plugins=list(plugins))))
    begun = time.monotonic()
    while seconds == 0 or time.monotonic() - begun < seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run(scratch: Path, seconds: float, only: Sequence[int], results: Path) -> None:
    """Make every change in turn, and print those that no test noticed."""
    import chromadb
    import hypothesis
    import pytest

    del chromadb, hypothesis, pytest  # imported for the processes that are forked
    clone, tests = scratch / "clone", _Tests(scratch)
    noticed: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for change in _read(scratch):
        if only and change.number not in only:
            continue
        text = (ROOT / change.path).read_text(encoding="utf-8")
        begun, by = _processor(), "not reached"
        if chosen := tests.of(change, seconds):
            _write(clone / change.path, changed_text(text, change.which))
            by = _noticed_by(clone, chosen, scratch / "run.log")
            _write(clone / change.path, text)
        part = "/".join(change.path.split("/")[1:3])
        made[part] += 1
        noticed[part] += bool(by and by != "not reached")
        row = {**asdict(change), "tests": len(chosen), "by": by, "processor": round(_processor() - begun, 2)}
        with results.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
        if not by or by == "not reached":
            print(
                f"#{change.number} {change.path}:{change.line} {by or 'not noticed'} by {len(chosen)} tests"
            )
            print(difference(text, change.which) + "\n", flush=True)
    for part in sorted(made):
        print(_share(part, noticed[part], made[part]))
    print(_share("all", noticed.total(), made.total()))


def _noticed_by(clone: Path, tests: list[str], log: Path) -> str:
    """Return what failed; tests of a few files are tried before many files are imported."""
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))[:FIRST_FILES]
    first = [test for test in tests[:FIRST] if test.split("::")[0] in files]
    rest = [test for test in tests if test not in set(first)]
    return _failed(clone, first, log) or (_failed(clone, rest, log) if rest else "")


def _failed(clone: Path, tests: list[str], log: Path) -> str:
    ended = _in_child(clone, ["-x", "-q", "--no-header", "--tb=line", *tests], log, HANGS)
    if ended is None:
        return "does not end"
    if ended == 0:
        return ""
    lines = log.read_text(errors="replace").splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), f"exit {ended}")[:200]


class _Tests:
    """What each test comes by and costs."""

    def __init__(self, scratch: Path) -> None:
        self.costs: dict[str, float] = {}
        for line in (scratch / "costs").read_text().splitlines():
            cost, test = line.split(" ", 1)
            self.costs[test] = float(cost)
        self.failing = {
            line.split(" ", 1)[1].split(" - ")[0]
            for line in (scratch / "reach.log").read_text(errors="replace").splitlines()
            if line.startswith(("FAILED", "ERROR"))
        }
        self.reached: dict[int, set[str]] = defaultdict(set)
        self.prepared: dict[int, set[str]] = defaultdict(set)
        for line in (scratch / "reached").read_text().splitlines():
            place, setup, test = line.split(" ", 2)
            (self.prepared if setup == "1" else self.reached)[int(place)].add(test)
        self.width = Counter(test for tests in self.reached.values() for test in tests)

    def of(self, change: Change, seconds: float) -> list[str]:
        """Return tests that come by a place, those that come by few others first, as many as the time allows.

        Where a fixture of several tests comes by, all tests of the file count.
        """
        files = {test.split("::")[0] for test in self.prepared[change.number]}
        shared = {test for test in self.costs if test.split("::")[0] in files}
        own = self.reached[change.number]
        package = change.path.split("/")[1]

        def order(test: str) -> tuple[bool, bool, float]:
            return (test not in own, package not in test, self.costs.get(test, 9.0) * (self.width[test] + 3))

        chosen: list[str] = []
        spent = 0.0
        for test in sorted((own | shared) - self.failing - {""}, key=order):
            spent += self.costs.get(test, 9.0) + 0.003
            if spent > seconds and chosen:
                break
            chosen.append(test)
        return chosen


def difference(text: str, which: int) -> str:
    """Return the changed lines, as a unified difference without context."""
    before, after = changed_text(text, -1).splitlines(), changed_text(text, which).splitlines()
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _read(scratch: Path) -> list[Change]:
    return [Change(**row) for row in json.loads((scratch / "changes.json").read_text())]


def _share(name: str, noticed: int, made: int) -> str:
    low, high = wilson(noticed, made)
    return f"{name}: {noticed} of {made} noticed = {noticed / max(made, 1):.1%} [{low:.1%}, {high:.1%}]"


def main() -> None:
    """Draw, reach or run, as the command says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("step", choices=["draw", "reach", "run"])
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--of", nargs="+", default=PARTS, help="packages or patterns below codeguard/")
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--more", action="store_true", help="draw in addition to what was drawn")
    parser.add_argument("--marked", default=QUICK)
    parser.add_argument("--tests", nargs="+", default=["tests"], help="files or folders for `reach`")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for each change")
    parser.add_argument("--only", type=int, nargs="+", default=[], help="numbers of changes")
    arguments = parser.parse_args()
    scratch = arguments.scratch.resolve()
    if arguments.step == "draw":
        if not (scratch / "clone").exists():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(scratch / "clone")], check=True)
        kept = _read(scratch) if arguments.more else []
        new = drawn(ROOT, arguments.of, arguments.changes, arguments.seed)
        rows = [*kept, *(replace(c, number=c.number + len(kept)) for c in new)]
        (scratch / "changes.json").write_text(json.dumps([asdict(row) for row in rows]))
    elif arguments.step == "reach":
        for name in ("reached", "costs"):
            (scratch / name).unlink(missing_ok=True)
        reach(scratch, arguments.marked, arguments.tests)
    else:
        run(scratch, arguments.seconds, arguments.only, scratch / "results.jsonl")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
