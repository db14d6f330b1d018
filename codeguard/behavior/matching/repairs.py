"""Variants of a function with one small edit.

Wrong code is mostly right code with one thing changed (the competent programmer hypothesis;
DeMillo, Lipton and Sayward 1978): an operator, a comparison, a constant, a negated condition.
Undoing that edit restores the right function, and its results show which trusted function it is.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeguard.behavior.matching.text_overlap import comparable_text
from codeguard.behavior.source.definitions import Function, parse_or_none, unparse

MOST_REPAIRS = 120
MOST_LINES = 60  # of a function; longer ones rarely differ in a single place
MOST_TURNS = 50_000  # iterations of all loops of one variant, in all calls
FEW_TURNS = 5_000  # the same where only calls are made that the function itself ends soon on
NAME = "codeguard_repair"
_LOOP = re.compile(r"^( *)while (.*):$", re.MULTILINE)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.Pow)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_NEAREST: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq, ast.Eq),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt, ast.Eq, ast.NotEq),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.NotEq, ast.Eq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt, ast.Eq, ast.NotEq),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE, ast.Lt, ast.Gt),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt, ast.LtE, ast.GtE),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot, ast.Eq),
    ast.IsNot: (ast.Is, ast.NotEq),
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_OPPOSITES = (
    {ast.Lt, ast.Gt},
    {ast.LtE, ast.GtE},
    {ast.Lt, ast.GtE},
    {ast.Gt, ast.LtE},
    {ast.Eq, ast.NotEq},
    {ast.In, ast.NotIn},
    {ast.Is, ast.IsNot},
)
_COUNTERPARTS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class _Operator:
    """Another operator in the place of an operation's, which may group the operands differently."""

    operator: type[ast.operator]

    @property
    def text(self) -> str:
        return _OPERATORS[self.operator]


@dataclass(frozen=True, slots=True)
class Repair:
    """One edit: the function's source with it, renamed to `name`, and the edit as a reader would write it.

    An `opposite` one puts the largest for the smallest, or before for after, which two functions side by side often
    do.
    """

    name: str
    plain: str
    shown: str
    opposite: bool = False
    turns: int = MOST_TURNS

    @property
    def text(self) -> str:
        """The source with a limit on the iterations of each loop, because an edit may make it endless."""
        looped = _LOOP.sub(rf"\1while next({self.name}_turns) >= 0 and (\2):", self.plain)
        if looped == self.plain:
            return looped
        return f"{self.name}_turns = iter(range({self.turns}))\n{looped}"

    def numbered(self) -> tuple[str, ...]:
        """Return what does not change with names of locals and layout; see `Text.numbered`."""
        tree = parse_or_none(self.plain)  # an edit may have set brackets
        return comparable_text(unparse(tree) if tree is not None else "", self.name).numbered


def repairs(function: Function) -> list[Repair]:
    """Return variants of a function with one edit each, the likeliest edit of every place first."""
    return _edited(function, MOST_TURNS)


def single_edits(function: Function) -> list[Repair]:
    """Return the same, and variants without one of its statements."""
    return [
        item for item in _edited(function, FEW_TURNS, omitting=True) if parse_or_none(item.plain) is not None
    ]


def _edited(function: Function, turns: int, *, omitting: bool = False) -> list[Repair]:
    text = unparse(function)
    tree = parse_or_none(text)
    if tree is None or text.count("\n") >= MOST_LINES:
        return []
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.Name):
            _rename(node, function.name)
    text = unparse(tree)
    tree = parse_or_none(text)
    if tree is None:
        return []
    lines = [line.encode() for line in text.split("\n")]
    in_turn = itertools.zip_longest(
        *_places(tree, omitting)
    )  # each edit is made when its turn comes: most of many never are
    found: list[Repair] = []
    for node, edit in filter(None, itertools.chain.from_iterable(in_turn)):
        name = f"{NAME}_{len(found)}"
        changed = (
            _regrouped(lines, node, edit) if isinstance(edit, _Operator) else _spliced(lines, node, edit)
        )
        if changed is not None:
            written = (
                f"{edit.text}` for the operator of `" if isinstance(edit, _Operator) else f"{edit}` for `"
            )
            shown = f"`{written}{unparse(node)}`".replace(NAME, function.name)
            found.append(Repair(name, changed.replace(NAME, name), shown, _is_opposite(node, edit), turns))
        if len(found) == MOST_REPAIRS:
            break
    return found


def _rename(node: Function | ast.Name, own: str) -> None:
    """Rename the function and its recursive calls to the common placeholder."""
    if isinstance(node, ast.Name):
        node.id = NAME if node.id == own else node.id
    elif node.name == own:
        node.name = NAME


def _spliced(lines: Sequence[bytes], node: ast.expr | ast.stmt, edit: str) -> str | None:
    """Return the source with a node replaced; None if the node has no position."""
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    before, after = (
        lines[node.lineno - 1][: node.col_offset],
        lines[node.end_lineno - 1][node.end_col_offset :],
    )
    whole = edit if isinstance(node, ast.stmt) else f"({edit})"
    made = [*lines[: node.lineno - 1], before + whole.encode() + after, *lines[node.end_lineno :]]
    return b"\n".join(made).decode()


def _regrouped(lines: Sequence[bytes], node: ast.expr | ast.stmt, sign: _Operator) -> str | None:
    """Return the source with the operator of an operation exchanged where that groups its neighbors differently.

    None where it does not: then it is the same edit as that of the operation.
    """
    if not isinstance(node, ast.BinOp) or node.left.end_lineno != node.right.lineno:
        return None
    number, start, end = node.right.lineno - 1, node.left.end_col_offset or 0, node.right.col_offset
    between = lines[number][start:end].decode().replace(_OPERATORS[type(node.op)], sign.text, 1)
    line = lines[number][:start] + between.encode() + lines[number][end:]
    made = b"\n".join((*lines[:number], line, *lines[number + 1 :])).decode()
    as_operation = _spliced(lines, node, unparse(ast.BinOp(node.left, sign.operator(), node.right)))
    trees = [parse_or_none(text) for text in (made, as_operation or "")]
    first, second = (ast.dump(tree) if tree is not None else "" for tree in trees)
    return made if first and first != second else None


def _places(
    tree: ast.Module, omitting: bool
) -> Iterator[Iterator[tuple[ast.expr | ast.stmt, str | _Operator]]]:
    """Yield, for each node that can be edited, the node with one replacement after another."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside_text = {id(part) for node in texts for part in ast.walk(node)}
    conditions = {id(part) for node in ast.walk(tree) for part in _conditions(node)}
    bounds = {id(part) for node in ast.walk(tree) for part in _bounds(node)}
    nested = {id(part) for node in ast.walk(tree) for part in _nested_operations(node)}
    for node in ast.walk(tree):
        if id(node) in inside_text or not isinstance(node, ast.expr | ast.stmt):
            continue
        edits: Iterator[str | _Operator] = _all_edits(node, id(node) in conditions, id(node) in bounds)
        if omitting and _does_something(node):
            edits = itertools.chain(edits, ("pass",))
        if id(node) in nested and isinstance(node, ast.BinOp):
            signs = (_Operator(operator) for operator in _operators(type(node.op)))
            edits = itertools.chain(edits, signs)
        yield zip(itertools.repeat(node), edits)


def _does_something(node: ast.expr | ast.stmt) -> bool:
    described = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not (described or isinstance(node, ast.Pass | Function))


def _nested_operations(node: ast.AST) -> list[ast.expr]:
    """Return the operations of which one is an operand of the other."""
    if not isinstance(node, ast.BinOp):
        return []
    inner: list[ast.expr] = [item for item in (node.left, node.right) if isinstance(item, ast.BinOp)]
    return [node, *inner] if inner else []


def _conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.comprehension):
        return node.ifs
    is_condition = isinstance(node, ast.Return) and isinstance(
        node.value, ast.BoolOp | ast.Call | ast.Compare
    )
    return [node.value] if is_condition and isinstance(node, ast.Return) and node.value is not None else []


def _bounds(node: ast.AST) -> list[ast.expr]:
    """Return the expressions of a node that off-by-one errors affect."""
    found: list[ast.expr | None] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        found = [*node.args]
    elif isinstance(node, ast.Slice):
        found = [node.lower, node.upper]
    elif isinstance(node, ast.Subscript):
        found = [node.slice]
    return [item for item in found if isinstance(item, ast.Name | ast.Call | ast.BinOp)]


def _all_edits(node: ast.expr | ast.stmt, is_condition: bool, is_bound: bool) -> Iterator[str]:
    yield from _edits(node)
    if is_condition:
        yield f"not ({unparse(node)})"
    if is_bound:
        yield from (f"{unparse(node)} {sign} 1" for sign in "+-")


def _edits(node: ast.expr | ast.stmt) -> Iterator[str]:
    # One case per mutation operator; likelier edits of a node come first.
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from (unparse(ast.BinOp(left, other(), right)) for other in _operators(type(op)))
            if isinstance(right, ast.Constant):
                yield unparse(left)
        case ast.AugAssign(target=target, op=op, value=value):
            yield from (unparse(ast.AugAssign(target, other(), value)) for other in _operators(type(op)))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, operator in enumerate(ops):
                for instead in _COMPARISONS[type(operator)]:
                    changed = [*ops[:place], instead(), *ops[place + 1 :]]
                    yield unparse(ast.Compare(left, changed, comparators))
        case ast.BoolOp(op=op, values=values):
            yield unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value)) as operand) if value < 1 << 60:
            yield from (unparse(operand), repr(1 - value), repr(-1 - value))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield unparse(operand)
        case ast.UnaryOp(operand=operand):
            yield unparse(ast.UnaryOp(ast.USub(), operand))
        case ast.Constant(value=bool(value)):
            yield repr(not value)
        case ast.Constant(value=int(value)) if abs(value) < 1 << 60:
            yield from map(repr, (value - 1, value + 1, *([-value] if value else [])))
        case ast.Name(id=name, ctx=ast.Load()) if name in _COUNTERPARTS:
            yield _COUNTERPARTS[name]
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"


def _is_opposite(node: ast.expr | ast.stmt, edit: str | _Operator) -> bool:
    """Return whether an edit exchanges `min` and `max`, or a comparison and the one that turns it round."""
    if isinstance(node, ast.Name):
        return _COUNTERPARTS.get(node.id) == edit
    instead = parse_or_none(edit) if isinstance(node, ast.Compare) and isinstance(edit, str) else None
    match (node, instead):
        case ast.Compare(ops=own), ast.Module([ast.Expr(ast.Compare(ops=other))]):
            return any({type(one), type(two)} in _OPPOSITES for one, two in zip(own, other, strict=False))
    return False


def _operators(own: type[ast.operator]) -> list[type[ast.operator]]:
    ordered = [_NEAREST.get(own, ast.Add), *_ARITHMETIC, *(_BITS if own in _BITS else ())]
    return [item for item in dict.fromkeys(ordered) if item is not own]
