"""Code that hides what it does: how names and texts that are called or run are put together.

Nothing is run: constants are folded by codeguard's own operations.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.test_files import is_in_test
from codeguard.analysis.reading import SCRIPTS
from codeguard.analysis.rules.base import LESS_SURE, DetectorContext, Match, signal_of
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import DECODING, RUNNING_CODE, RUNNING_COMMANDS
from codeguard.models import Severity

_SHOWN = 60
_MOST_PARTS = 2_000  # nodes per expression
_TOO_MANY = f"an expression of more than {_MOST_PARTS:,} parts was not looked through for hidden names"
_SCRIPT_PACKED = lazy(
    r"\beval\s{0,3}\(\s{0,3}function\s{0,3}\(\s{0,3}p\s{0,3},\s{0,3}a\s{0,3},\s{0,3}c\b"
    r"|\bString\.fromCharCode\s{0,3}\((?:\s{0,3}(?:0x)?[0-9a-fA-F]{1,6}\s{0,3},){12}"
    r"|\beval\s{0,3}\(\s{0,3}(?:unescape|decodeURIComponent|String\.fromCharCode|\w{1,40}\.split\s{0,3}\([^)\n]{0,20}\)\.reverse)"
)
_BUILDING = frozenset({"chr", "reversed", "bytes", "bytearray"}) | DECODING
# The place of the name that they take.
_NAMING = {"getattr": 1, "__getattribute__": 0, "__import__": 0, "import_module": 0}


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    apart = reading.unread.apart
    if reading.tree is not None:
        for node in reading.nodes_of(ast.Call):
            yield from apart("the rules about calls", _call, reading, node)
    elif reading.language in SCRIPTS:
        yield from apart("the rules for scripts", _packed, reading)


def _packed(reading: Reading) -> Iterator[Match]:
    quoted = [
        (item.start, item.end)
        for item in reading.segments
        if item.kind not in (SegmentKind.IDENTIFIER, SegmentKind.PROSE)
    ]
    for found in _SCRIPT_PACKED.finditer(reading.text):
        if not any(start <= found.start() < end for start, end in quoted):
            yield Match("runs-built-text", *found.span(), "runs or spells text from character codes")
            return


def _call(reading: Reading, node: ast.Call) -> Iterator[Match]:
    names, (start, end) = reading.names, reading.place(node)
    name = names.called(node)
    if _is_concealed(reading, node):
        named = names.text(_name_in(node))
        yield Match("concealed-name", start, end, f"puts the name {named!r} together")
    if name not in RUNNING_CODE | RUNNING_COMMANDS:
        return
    if any(_is_concealed(reading, part) for part in _called_through(reading, node.func)):
        yield Match("hidden-call", start, end, f"calls {name} by a name that is put together")
    if node.args and name in RUNNING_CODE and _is_built(reading, node.args[0]):
        text = names.text(node.args[0])
        if text is not None:
            reason = f"{name} gets {text[:_SHOWN]!r}, put together here"
            yield Match("runs-built-text", start, end, reason)
    if node.args and name in ("exec", "eval") and (origin := _imported_text(reading, node.args[0])):
        first = node.args[0]
        # Tests of a repr evaluate it.
        shown = isinstance(first, ast.Call) and names.called(first) == "repr"
        reason = f"{name} gets what {origin} of another file holds"
        match = Match("runs-imported-text", start, end, reason, Severity.LOW if shown else None)
        # Tests run what the package has generated.
        yield replace(match, measurements={LESS_SURE: True}) if is_in_test(reading, start) else match


def _imported_text(reading: Reading, text: ast.expr) -> str:
    """Return the name of what another file holds, if a text is made of nothing but such."""
    names = reading.names
    given = [part for part in walk(text) if isinstance(part, ast.Name)]
    for part in tuple(given):
        if values := names.values_of(part):
            given.remove(part)
            given += (inner for value in values for inner in walk(value) if isinstance(inner, ast.Name))
    given = [part for part in given if names.is_imported(part) or not hasattr(builtins, part.id)]
    if not all(map(names.is_imported, given)):
        return ""
    origins = (name for part in given for name in names.names_of(part))
    return next((name for name in origins if name.partition(".")[0] not in sys.stdlib_module_names), "")


def _walk(
    reading: Reading, root: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST]]
) -> Iterator[ast.AST]:
    """Yield an expression and the nodes reached by `parts`, each once; a truncated walk is recorded."""
    waiting = [root]
    seen: set[ast.AST] = set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        if len(seen) >= _MOST_PARTS:
            reading.unread.note(_TOO_MANY, getattr(root, "lineno", 0))
            return
        seen.add(at)
        yield at
        waiting += parts(at)


def _called_through(reading: Reading, node: ast.expr) -> Iterator[ast.AST]:
    """Yield the called expression, the object that it is taken from, and the values of its name."""

    def parts(at: ast.AST) -> Iterable[ast.AST]:
        if isinstance(at, ast.Attribute | ast.Subscript):
            return (at.value,)
        if isinstance(at, ast.Name):
            return reading.names.values_of(at)
        return at.args[:1] if isinstance(at, ast.Call) else ()

    return _walk(reading, node, parts)


def _is_concealed(reading: Reading, node: ast.AST) -> bool:
    """Return whether an attribute, a module or an entry is taken by a name whose pieces all stand there."""
    given = _name_in(node)
    if given is None or isinstance(given, ast.Constant):
        return False
    pieces = [part for part in _walk(reading, given, ast.iter_child_nodes) if isinstance(part, ast.Name)]
    if any(part.id not in _BUILDING | {"map", "str"} for part in pieces):
        return False
    return reading.names.text(given) is not None


def _name_in(node: ast.AST) -> ast.expr | None:
    """Return the expression by which something is taken out of an object or a mapping, or imported."""
    if isinstance(node, ast.Subscript):
        return node.slice
    if not isinstance(node, ast.Call):
        return None
    by = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
    place = _NAMING.get(by, len(node.args))
    return node.args[place] if place < len(node.args) else None


def _is_built(reading: Reading, node: ast.expr) -> bool:
    """Return whether a text is made from character codes, encoded data or reversed text."""

    def parts(at: ast.AST) -> Iterable[ast.AST]:
        values = reading.names.values_of(at) if isinstance(at, ast.Name) else ()
        return (*(values if len(values) == 1 else ()), *ast.iter_child_nodes(at))

    for at in _walk(reading, node, parts):
        if isinstance(at, ast.Call) and reading.names.called(at) in _BUILDING:
            return True
        if isinstance(at, ast.Slice) and at.step is not None and reading.names.constant(at.step) == -1:
            return True
        if isinstance(at, ast.Name) and at.id == "chr":
            return True
    return False


SIGNAL = signal_of(__file__, "code that hides what it does", _inspect, intent=True)
