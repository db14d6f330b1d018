"""Mutants of a correct function: one small edit each, in the places where people err.

The operators are those of mutation testing (DeMillo, Lipton and Sayward,
"Hints on test data selection", 1978, and the tools since), applied as text
edits so that layout, comments and quotes stay the author's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.attacks.editing import Edit, Positions, apply_edits, docstring_node, parse_function, walk

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "%"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "lower": "upper",
    "upper": "lower",
    "isupper": "islower",
    "islower": "isupper",
    "isalnum": "isalpha",
    "startswith": "endswith",
    "endswith": "startswith",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "rfind": "find",
    "ceil": "floor",
    "floor": "ceil",
    "bisect_left": "bisect_right",
    "True": "False",
    "False": "True",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function with one edit: by which operator, what was changed into what."""

    operator: str
    change: str
    source: str


def mutants(source: str, kind: str = "") -> tuple[Mutant, ...]:
    """Return all mutants of a function that still parse, in the order of the text.

    `kind` is what the function returns (see `experiments.attacks.shape`);
    without it the returned values stay as they are.
    """
    function = parse_function(source)
    positions = Positions(source)
    found = []
    seen = {source}
    for operator, edit in sorted(
        _edits(source, function, kind, positions), key=lambda pair: (pair[1].start, pair[0])
    ):
        text = apply_edits(source, [edit])
        if operator == "dropped guard":
            text = _without_placeholder(source, edit) or text
        if text in seen or not _parses(text):
            continue
        seen.add(text)
        found.append(Mutant(operator, f"{source[edit.start : edit.end]!r} -> {edit.text!r}", text))
    return tuple(found)


def _without_placeholder(source: str, edit: Edit) -> str:
    """Return the source without the lines of a statement, empty where its block needs one."""
    start = source.rindex("\n", 0, edit.start) + 1
    end = source.find("\n", edit.end) + 1 or len(source)
    text = source[:start] + source[end:]
    return text if _parses(text) else ""


def _parses(source: str) -> bool:
    try:
        compile(source, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _edits(
    source: str, function: ast.FunctionDef, kind: str, positions: Positions
) -> Iterator[tuple[str, Edit]]:
    docstring = docstring_node(function)
    for statement in function.body:
        if statement is docstring:
            continue
        for node in walk(statement, annotations=False):
            if isinstance(node, ast.Compare):
                yield from _comparison(source, node, positions)
            elif isinstance(node, ast.BinOp):
                yield from _operator(source, node, positions)
            elif isinstance(node, ast.AugAssign):
                yield from _augmented(source, node, positions)
            elif isinstance(node, ast.Constant):
                yield from _constant(node, positions)
            elif isinstance(node, ast.Call):
                yield from _call(source, node, positions)
            elif isinstance(node, ast.If):
                yield from _guard(source, node, positions)
            elif isinstance(node, ast.BoolOp):
                yield from _boolean(source, node, positions)
            elif isinstance(node, ast.UnaryOp):
                start, end = positions.start(node), positions.start(node.operand)
                yield "dropped sign", Edit(start, end, "")
            elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
                yield from _swap(source, "swapped pair", node.elts, positions)
            elif isinstance(node, ast.Break):
                yield "loop control", Edit(positions.start(node), positions.end(node), "continue")
            elif isinstance(node, ast.Continue):
                yield "loop control", Edit(positions.start(node), positions.end(node), "break")
            elif isinstance(node, ast.Name | ast.Attribute):
                yield from _name(node, positions)
            elif isinstance(node, ast.comprehension) and not node.ifs and isinstance(node.target, ast.Name):
                end = positions.end(node.iter)
                yield "lost elements", Edit(end, end, f" if {node.target.id}")
            elif isinstance(node, ast.Return) and node.value is not None:
                yield from _returned(source, node.value, kind, positions)


def _between(source: str, start: int, end: int, token: str, replacement: str) -> Iterator[Edit]:
    match = re.search(rf"\s*{re.escape(token)}\s*", source[start:end])
    if match is not None:
        at = source.index(token, start, end)
        yield Edit(at, at + len(token), replacement)


def _comparison(source: str, node: ast.Compare, positions: Positions) -> Iterator[tuple[str, Edit]]:
    left = node.left
    for operation, right in zip(node.ops, node.comparators, strict=True):
        pair = COMPARISONS.get(type(operation))
        if pair is not None:
            for edit in _between(source, positions.end(left), positions.start(right), *pair):
                yield "boundary" if pair[0][0] in "<>" else "negated comparison", edit
        left = right


def _operator(source: str, node: ast.BinOp, positions: Positions) -> Iterator[tuple[str, Edit]]:
    pair = OPERATORS.get(type(node.op))
    if pair is not None:
        for edit in _between(source, positions.end(node.left), positions.start(node.right), *pair):
            yield "operator", edit


def _augmented(source: str, node: ast.AugAssign, positions: Positions) -> Iterator[tuple[str, Edit]]:
    pair = OPERATORS.get(type(node.op))
    if pair is not None:
        start, end = positions.end(node.target), positions.start(node.value)
        for edit in _between(source, start, end, f"{pair[0]}=", f"{pair[1]}="):
            yield "operator", edit


def _constant(node: ast.Constant, positions: Positions) -> Iterator[tuple[str, Edit]]:
    start, end = positions.start(node), positions.end(node)
    value = node.value
    if isinstance(value, bool):
        yield "constant", Edit(start, end, str(not value))
    elif isinstance(value, int):
        yield "constant", Edit(start, end, str(value + 1))
        if value > 0:
            yield "constant", Edit(start, end, str(value - 1))
    elif isinstance(value, float):
        yield "constant", Edit(start, end, repr(value * 1.5 + 1.0))
    elif isinstance(value, str) and value.isascii() and value.isprintable():
        other = value[:-1] if len(value) > 1 else ("_" if value != "_" else "-")
        yield "constant", Edit(start, end, f'"{other}"' if '"' not in other else repr(other))


def _call(source: str, node: ast.Call, positions: Positions) -> Iterator[tuple[str, Edit]]:
    plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    if isinstance(node.func, ast.Name) and node.func.id == "range" and plain:
        bound = plain[0] if len(plain) == 1 else plain[1]
        end = positions.end(bound)
        yield "off by one", Edit(end, end, " - 1")
        yield "off by one", Edit(end, end, " + 1")
    if len(plain) == 2 and len(node.args) == 2:
        yield from _swap(source, "swapped arguments", plain, positions)
    if isinstance(node.func, ast.Name) and node.func.id == "sorted" and len(node.args) == 1:
        end = positions.end(node.args[0])
        yield "reversed order", Edit(end, end, ", reverse=True")


def _swap(
    source: str, operator: str, pair: list[ast.expr], positions: Positions
) -> Iterator[tuple[str, Edit]]:
    (a, b), (c, d) = ((positions.start(node), positions.end(node)) for node in pair)
    if source[a:b] != source[c:d]:
        yield operator, Edit(a, d, source[c:d] + source[b:c] + source[a:b])


def _guard(source: str, node: ast.If, positions: Positions) -> Iterator[tuple[str, Edit]]:
    test = source[positions.start(node.test) : positions.end(node.test)]
    if "\n" not in test:
        yield "negated condition", Edit(positions.start(node.test), positions.end(node.test), f"not ({test})")
    if (
        not node.orelse
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Raise | ast.Return | ast.Continue)
    ):
        yield "dropped guard", Edit(positions.start(node), positions.end(node), "pass")


def _boolean(source: str, node: ast.BoolOp, positions: Positions) -> Iterator[tuple[str, Edit]]:
    pair = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for edit in _between(source, positions.end(node.values[0]), positions.start(node.values[1]), *pair):
        yield "logic", edit


RETURNED = {
    "number": ("{0} + 1", "-{0} or 1"),
    "text": ("{0}.strip()", "{0}[:-1]", "{0}.swapcase()"),
    "bool": ("not {0}",),
    "sequence": ("{0}[1:]", "{0}[::-1]"),
    "tuple": ("{0}[::-1]",),
    "mapping": ("dict(list({0}.items())[1:])",),
}


def _returned(source: str, value: ast.expr, kind: str, positions: Positions) -> Iterator[tuple[str, Edit]]:
    start, end = positions.start(value), positions.end(value)
    if "\n" not in source[start:end]:
        simple = isinstance(value, ast.Name | ast.Call | ast.Subscript | ast.Attribute)
        text = source[start:end] if simple else f"({source[start:end]})"
        for template in RETURNED.get(kind, ()):
            yield "result", Edit(start, end, template.format(text))


def _name(node: ast.Name | ast.Attribute, positions: Positions) -> Iterator[tuple[str, Edit]]:
    name = node.id if isinstance(node, ast.Name) else node.attr
    if name in NAMES and isinstance(node.ctx, ast.Load):
        end = positions.end(node)
        yield "sibling", Edit(end - len(name), end, NAMES[name])
