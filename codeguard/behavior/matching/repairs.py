"""Variants of a function with one small edit.

Wrong code is mostly right code with one thing changed (the competent programmer hypothesis;
DeMillo, Lipton and Sayward 1978): an operator, a comparison, a constant, a negated condition.
Undoing that edit restores the right function, and its results show which trusted function it is.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeguard.behavior.matching.claims import comparable_text
from codeguard.behavior.source.definitions import Function, parse_or_none, unparse

MOST_REPAIRS = 120
MOST_LINES = 60  # of a function; longer ones rarely differ in a single place
MOST_EDITED_LINES = 400  # of a function whose edits show what calls notice
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
    """Return the function itself, then the same variants and those without one of its statements.

    They have no annotations, whose names may be bound for type checkers alone.
    """
    bare = parse_or_none(unparse(function))
    if bare is None or not isinstance(whole := bare.body[0], Function):
        return []
    for node in ast.walk(whole):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, Function):
            node.returns = None
    made = _edited(whole, FEW_TURNS, omitting=True)
    same = unparse(_renamed(whole, f"{NAME}_same"))
    kept = [item for item in made if parse_or_none(item.plain) is not None]
    return [Repair(f"{NAME}_same", same, "", turns=FEW_TURNS), *kept]


def _renamed(function: Function, name: str) -> Function:
    copied = copy.deepcopy(function)
    for node in ast.walk(copied):
        if isinstance(node, ast.Name) and node.id == function.name:
            node.id = name
        elif isinstance(node, Function) and node.name == function.name:
            node.name = name
    return copied


def _edited(function: Function, turns: int, *, omitting: bool = False) -> list[Repair]:
    text = unparse(_renamed(function, NAME))
    tree = parse_or_none(text)
    if tree is None or text.count("\n") >= (MOST_EDITED_LINES if omitting else MOST_LINES):
        return []
    lines = [line.encode() for line in text.split("\n")]
    # Each edit is made when its turn comes: most of many never are.
    in_turn = itertools.zip_longest(*_places(tree, omitting))
    made = (item for item in itertools.chain.from_iterable(in_turn) if item is not None)
    found: list[Repair] = []
    for node, edit in itertools.islice(made, MOST_REPAIRS):
        name = f"{NAME}_{len(found)}"
        plain = _spliced(lines, node, edit).replace(NAME, name)
        shown = f"`{edit}` for `{unparse(node)}`".replace(NAME, function.name)
        found.append(Repair(name, plain, shown, _is_opposite(node, edit), turns))
    return found


def _spliced(lines: Sequence[bytes], node: ast.expr | ast.stmt, edit: str) -> str:
    """Return the source with a node replaced."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    whole = edit if isinstance(node, ast.stmt) else f"({edit})"
    changed = lines[first][: node.col_offset] + whole.encode() + lines[last - 1][node.end_col_offset :]
    return b"\n".join((*lines[:first], changed, *lines[last:])).decode()


def _places(tree: ast.Module, omitting: bool) -> Iterator[Iterator[tuple[ast.expr | ast.stmt, str]]]:
    """Yield, for each node that can be edited, the node with one replacement after another."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside_text = {id(part) for node in texts for part in ast.walk(node)}
    conditions = {id(part) for node in ast.walk(tree) for part in _conditions(node)}
    bounds = {id(part) for node in ast.walk(tree) for part in _bounds(node)}
    for node in ast.walk(tree):
        if id(node) not in inside_text and isinstance(node, ast.expr | ast.stmt):
            edits = _all_edits(node, id(node) in conditions, id(node) in bounds)
            omitted = ("pass",) if omitting and _does_something(node) else ()
            yield zip(itertools.repeat(node), itertools.chain(edits, omitted))


def _does_something(node: ast.expr | ast.stmt) -> bool:
    described = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not (described or isinstance(node, ast.Pass | Function))


def _conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp | ast.Call | ast.Compare):
        return [node.value]
    return []


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


def _is_opposite(node: ast.expr | ast.stmt, edit: str) -> bool:
    """Return whether an edit exchanges `min` and `max`, or a comparison and the one that turns it round."""
    if isinstance(node, ast.Name):
        return _COUNTERPARTS.get(node.id) == edit
    instead = parse_or_none(edit) if isinstance(node, ast.Compare) else None
    match (node, instead):
        case ast.Compare(ops=own), ast.Module([ast.Expr(ast.Compare(ops=other))]):
            return any({type(one), type(two)} in _OPPOSITES for one, two in zip(own, other, strict=False))
    return False


def _operators(own: type[ast.operator]) -> list[type[ast.operator]]:
    ordered = [_NEAREST.get(own, ast.Add), *_ARITHMETIC, *(_BITS if own in _BITS else ())]
    return [item for item in dict.fromkeys(ordered) if item is not own]
