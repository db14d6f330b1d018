"""Time bombs, and loops that encrypt the files of a folder: the order of statements counts, which no row says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Match
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING

_REMOVING = frozenset({"os.remove", "os.unlink", "os.rename", "os.replace", "shutil.rmtree"})
_CLOCKS = frozenset(
    """
    datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.date.today time.time time.localtime
    time.gmtime
    """.split()  # noqa: SIM905 - words read better as words
)
_HOST_READERS = frozenset(
    {"socket.gethostname", "platform.node", "getpass.getuser", "os.getlogin", "uuid.getnode"}
)
_DATES = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.datetime.fromisoformat",
        "datetime.date.fromisoformat",
        "datetime.datetime.strptime",
        "time.mktime",
    }
)
_SERIOUS = RUNNING_COMMANDS | RUNNING_CODE | SENDING | {"shutil.rmtree", "os.remove", "os.unlink", "os.kill"}


def malice(reading: Reading) -> Iterator[Match]:
    """Yield what waits for a date or a machine, and what encrypts the files of a folder."""
    yield from _bombs(reading)
    yield from _encrypting(reading)


def _bombs(reading: Reading) -> Iterator[Match]:
    waited_for = _CLOCKS | _HOST_READERS
    if not any(
        reading.names.called(call).removesuffix("()") in waited_for for call in reading.nodes_of(ast.Call)
    ):
        return
    for node in reading.nodes_of(ast.If):
        trigger = _trigger(reading, node.test)
        if not trigger:
            continue
        for statement in node.body:
            serious = next(
                (name for name in map(reading.names.called, _calls(statement)) if name in _SERIOUS), ""
            )
            if serious:
                start, end = reading.place(node.test)
                yield Match("time-bomb", start, end, f"{serious} waits for {trigger}")
                break


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (item for item in walk(node) if isinstance(item, ast.Call))


def _trigger(reading: Reading, test: ast.expr) -> str:
    """Return the condition that a test waits for: a literal date, or the name of a machine or user."""
    for compare in (item for item in walk(test) if isinstance(item, ast.Compare)):
        sides = [compare.left, *compare.comparators]
        clock = [_reads(reading, side, _CLOCKS) for side in sides]
        dated = [_is_date(reading, side) for side in sides]
        if any(clock) and any(was and not now for was, now in zip(dated, clock, strict=True)):
            return "a date"
        if not isinstance(compare.ops[0], ast.Eq | ast.In):
            continue
        host = [_reads(reading, side, _HOST_READERS) for side in sides]
        if any(host) and any(isinstance(reading.names.constant(side), str | tuple) for side in sides):
            return "the name of a machine or user"
    for call in _calls(test):
        begins = isinstance(call.func, ast.Attribute) and call.func.attr in ("startswith", "endswith")
        if begins and _reads(reading, call.func, _HOST_READERS):
            return "the name of a machine or user"
    return ""


def _reads(reading: Reading, node: ast.expr, names: frozenset[str], depth: int = 0) -> bool:
    """Return whether an expression, or the only value of a variable in it, calls one of these functions."""
    for item in walk(node):
        if isinstance(item, ast.Call) and reading.names.called(item).removesuffix("()") in names:
            return True
        if isinstance(item, ast.Name) and depth < 2:
            values = reading.names.values_of(item)
            if len(values) == 1 and values[0] is not node and _reads(reading, values[0], names, depth + 1):
                return True
    return False


def _is_date(reading: Reading, node: ast.expr, depth: int = 0) -> bool:
    """Return whether an expression is a literal date, or a literal number of seconds since 1970."""
    value = reading.names.constant(node)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1_000_000_000:
        return True
    if isinstance(node, ast.Call) and reading.names.called(node) in _DATES and node.args:
        return all(reading.names.constant(argument) is not None for argument in node.args)
    if isinstance(node, ast.Name) and depth < 2:
        values = reading.names.values_of(node)
        return len(values) == 1 and _is_date(reading, values[0], depth + 1)
    return False


def _encrypting(reading: Reading) -> Iterator[Match]:
    """Yield loops over a folder that write encrypted files and remove the originals."""
    for node in reading.nodes_of(ast.For):
        walked = reading.names.called(node.iter) if isinstance(node.iter, ast.Call) else ""
        if walked not in ("os.walk", "glob.glob", "glob.iglob") and not walked.endswith(".rglob"):
            continue
        calls = list(_calls(node))
        methods = {item.func.attr for item in calls if isinstance(item.func, ast.Attribute)}
        removes = any(reading.names.called(item) in _REMOVING for item in calls) or "unlink" in methods
        if "encrypt" in methods and removes and methods & {"write", "write_bytes"}:
            start, end = reading.place(node.iter)
            yield Match("destroys", start, end, "writes files of a folder encrypted and removes them")
