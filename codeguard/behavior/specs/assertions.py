"""Examples in trusted tests: assertions on calls with plain arguments, read from the syntax tree.

Supported are pytest's `assert`, `raises` and parametrised tables, and unittest's `assertEqual` and
related methods. Tests are never run. An asserted result counts only
if the trusted function itself confirms it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codeguard.behavior.source.definitions import Function, read_module
from codeguard.behavior.specs.examples import (
    NO_VALUE,
    NO_VALUES,
    Example,
    Expected,
    Raises,
    Returns,
    Values,
    literal_value,
    plain_call,
    remember,
    unwrapped,
)
from codeguard.models import SourceFile
from codeguard.sandbox import decoding
from codeguard.sandbox.inside.codec import Encoder
from codeguard.syntax.names import dotted_name

MAX_ROWS = 100  # rows of one table
MAX_EXAMPLES = 100  # examples for one function
_EQUAL = """
assertEqual assertEquals assertListEqual assertDictEqual assertTupleEqual assertSetEqual assertSequenceEqual
assertAlmostEqual assertCountEqual
"""
EQUAL = frozenset(_EQUAL.split())
CONSTANT: Mapping[str, object] = {"assertTrue": True, "assertFalse": False, "assertIsNone": None}
Named = tuple[str, Example]


def test_examples(file: SourceFile) -> dict[str, tuple[Example, ...]]:
    """Return the examples in a test file, by the name of the called function."""
    if file.language != "python":
        return {}
    found: dict[str, dict[str, Example]] = {}
    for statement in read_module(file.text).statements:
        for function in _functions(statement):
            for values in _rows(function):
                for name, example in _examples(function.body, values, file.path):
                    found.setdefault(name, {}).setdefault(example.fingerprint(), example)
    return {name: tuple(rows.values())[:MAX_EXAMPLES] for name, rows in found.items()}


def shown_in(file: SourceFile) -> dict[str, list[Any]]:
    """Return the examples in a test file as plain values, by the name of the called function."""
    encode = Encoder(sys.maxsize, frozenset()).encode
    shown: dict[str, list[Any]] = {}
    for name, examples in test_examples(file).items():
        for item in examples:
            expected = (getattr(item.expected, part, None) for part in ("exception", "value"))
            shown.setdefault(name, []).append(encode((item.args, item.kwargs, *expected, item.origin)))
    return shown


def example_from(shown: Any) -> Example:
    """Return an example of `shown_in`."""
    parts: Any = decoding.value(shown)
    args, kwargs, exception, value, origin = parts
    return Example(args, kwargs, Returns(value) if exception is None else Raises(exception), origin)


test_examples.__test__ = False  # type: ignore[attr-defined]  # pytest would collect this name


def _functions(statement: ast.stmt) -> Iterator[Function]:
    if isinstance(statement, Function):
        yield statement
    elif isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from _functions(inner)


def _rows(function: Function) -> Iterator[Values]:
    """Yield the values of a test's parameters, one mapping per row of its table; one empty one without."""
    tables = [
        decorator for decorator in function.decorator_list if dotted_name(decorator).endswith("parametrize")
    ]
    if len(tables) != 1 or not isinstance(tables[0], ast.Call) or len(tables[0].args) < 2:
        yield NO_VALUES
        return
    names, table = tables[0].args[:2]
    written = literal_value(names)
    columns = written.replace(",", " ").split() if isinstance(written, str) else written
    if not isinstance(columns, list | tuple) or not isinstance(table, ast.List | ast.Tuple):
        return
    for row in table.elts[:MAX_ROWS]:
        yield from _row([str(column) for column in columns], row)


def _row(columns: Sequence[str], row: ast.expr) -> Iterator[Values]:
    if isinstance(row, ast.Call) and dotted_name(row).endswith("param"):
        row = row.args[0] if len(columns) == 1 and row.args else ast.Tuple(row.args, ast.Load())
    value = literal_value(row)
    if len(columns) == 1 and value is not NO_VALUE:
        yield {columns[0]: value}
    elif isinstance(value, list | tuple) and len(value) == len(columns):
        yield dict(zip(columns, value, strict=True))


def _examples(body: Sequence[ast.stmt], values: Values, path: str) -> Iterator[Named]:
    """Read statements in order, tracking the plain values of names."""
    known = dict(values)
    for statement in body:
        origin = f"{path}:{statement.lineno}"
        if isinstance(statement, ast.Assert):
            yield from _assert_examples(statement.test, known, origin)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from _unittest_examples(statement.value, known, origin)
        elif isinstance(statement, ast.With):
            yield from _raises_examples(statement, known, origin)
            yield from _examples(statement.body, known, path)
        if not isinstance(statement, ast.Assert):
            remember(statement, known)


def _assert_examples(test: ast.expr, known: Values, origin: str) -> Iterator[Named]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _assert_examples(part, known, origin)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        yield from _equality_examples(test.left, test.comparators[0], known, origin)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _call_example(test.operand, Returns(False), known, origin)
    else:
        yield from _call_example(test, Returns(True), known, origin)


def _equality_examples(left: ast.expr, right: ast.expr, known: Values, origin: str) -> Iterator[Named]:
    for call, value in ((left, right), (right, left)):
        if isinstance(value, ast.Call) and dotted_name(value) in ("pytest.approx", "approx") and value.args:
            value = value.args[0]
        expected = literal_value(value, known)
        if expected is not NO_VALUE:
            yield from _call_example(call, Returns(expected), known, origin)
            return


def _call_example(node: ast.expr, expected: Expected, known: Values, origin: str) -> Iterator[Named]:
    call = unwrapped(node, "list", "tuple")
    name = dotted_name(call) if isinstance(call, ast.Call) else ""
    found = plain_call(call, values=known) if isinstance(call, ast.Call) and name != "sorted" else None
    if name and found is not None:
        yield name.rpartition(".")[2], Example(*found, expected, origin)


def _unittest_examples(call: ast.Call, known: Values, origin: str) -> Iterator[Named]:
    method = dotted_name(call.func).rpartition(".")[2]
    if method in EQUAL and len(call.args) >= 2:
        yield from _equality_examples(call.args[0], call.args[1], known, origin)
    elif method in CONSTANT and call.args:
        yield from _call_example(call.args[0], Returns(CONSTANT[method]), known, origin)
    elif method == "assertRaises" and len(call.args) >= 2:
        made = ast.Call(call.args[1], call.args[2:], call.keywords)
        yield from _call_example(made, Raises(dotted_name(call.args[0])), known, origin)


def _raises_examples(statement: ast.With, known: Values, origin: str) -> Iterator[Named]:
    context = statement.items[0].context_expr
    if not isinstance(context, ast.Call) or not context.args or len(statement.body) != 1:
        return
    only, exception = statement.body[0], dotted_name(context.args[0])
    is_raises = dotted_name(context).rpartition(".")[2] in ("raises", "assertRaises")
    if is_raises and isinstance(only, ast.Expr) and exception:
        yield from _call_example(only.value, Raises(exception), known, origin)
