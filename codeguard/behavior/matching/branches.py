"""Find what a branch does that cannot work where its condition holds.

`if x is None: return x.name` fails on every call that gets there. What is certain of a name is read from the condition,
and followed through the branch until the name may stand for something else.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeguard.analysis.python.bindings import bindings
from codeguard.behavior.source.definitions import dotted_name, unparse

MISSING, NONE, EMPTY, LACKS, NOT_CALLABLE, KIND, LENGTH, ABSENT = (
    "missing",
    "none",
    "empty",
    "lacks",
    "not callable",
    "kind",
    "length",
    "absent",
)
_CHANGEABLE = frozenset({LACKS, LENGTH})
_OF_MATCHES = frozenset({"group", "groups", "groupdict", "span"})  # of a match of a regular expression
_OF_NONE = frozenset(dir(None))
_METHODS = {
    item.__name__: frozenset(dir(item))
    for item in (str, bytes, bytearray, int, float, list, tuple, dict, set, frozenset)
}
_OF_PLAIN = frozenset(name for names in _METHODS.values() for name in names if not name.startswith("_"))
_READING = frozenset(
    {"len", "str", "repr", "isinstance", "type", "print", "bool", "hasattr", "getattr", "id"}
)
_LATER = (ast.Lambda, ast.comprehension, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
_BINDING = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
)
MAX_AHEAD = 400  # nodes of a branch
MAX_SHOWN = 80  # characters of code in a reason


@dataclass(frozen=True, slots=True)
class Fact:
    """What a condition says of a name where its branch is taken.

    By `kind`: it is None, counts as false, lacks a text, an attribute or a key (`part`), cannot be called, is of one
    of several builtin classes, or has a length within two bounds, the ends included.
    """

    kind: str
    name: str
    part: object = None


def facts_of(test: ast.expr, holds: bool) -> list[Fact]:
    """Return what is certain of names where a condition holds or does not."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return facts_of(operand, not holds)
        case ast.Name(name) if not holds:
            return [Fact(EMPTY, name)]
        case ast.BoolOp(ast.And(), values) if holds:
            return [fact for value in values for fact in facts_of(value, True)]
        case ast.BoolOp(ast.Or(), values) if not holds:
            return [fact for value in values for fact in facts_of(value, False)]
        case ast.Compare(ast.Name(name), [ast.Is() | ast.Eq()], [ast.Constant(None)]) if holds:
            return [Fact(NONE, name)]
        case ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [ast.Constant(None)]) if not holds:
            return [Fact(NONE, name)]
        case ast.Compare(ast.Constant(str() as part), [ast.NotIn()], [ast.Name(name)]) if holds:
            return [Fact(MISSING, name, part)]
        case ast.Compare(ast.Constant(str() as part), [ast.In()], [ast.Name(name)]) if not holds:
            return [Fact(MISSING, name, part)]
        case ast.Call(ast.Name("hasattr"), [ast.Name(name), ast.Constant(str() as part)]) if not holds:
            return [Fact(LACKS, name, part)]
        case ast.Call(ast.Name("callable"), [ast.Name(name)]) if not holds:
            return [Fact(NOT_CALLABLE, name)]
        case ast.Call(ast.Name("isinstance"), [ast.Name(name), classes]) if holds:
            kinds = _plain_classes(classes)
            return [Fact(KIND, name, kinds)] if kinds else []
        case ast.Compare(left, [operator], [right]):
            return _facts_of_comparison(left, operator, right, holds)
        case _:
            return []


def _plain_classes(node: ast.expr) -> tuple[str, ...]:
    """Return the names of builtin classes; empty if others are among them."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    names = [part.id for part in parts if isinstance(part, ast.Name) and part.id in _METHODS]
    return tuple(names) if len(names) == len(parts) else ()


def _facts_of_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, holds: bool) -> list[Fact]:
    match left, operator, right:
        case ast.Call(ast.Name("len"), [ast.Name(name)]), _, ast.Constant(int() as number):
            bounds = _lengths(operator, number, holds)
            return [Fact(LENGTH, name, bounds)] if bounds is not None else []
        case key, ast.In() | ast.NotIn(), ast.Name() | ast.Attribute():
            absent = isinstance(operator, ast.NotIn) is holds
            table = dotted_name(right)
            if absent and table and isinstance(key, ast.Name | ast.Constant):
                return [Fact(ABSENT, table, key)]
    return []


def _lengths(operator: ast.cmpop, number: int, holds: bool) -> tuple[int, int, bool] | None:
    """Return between which lengths a comparison holds, and whether it is these or all others."""
    match operator:
        case ast.Eq():
            return number, number, holds
        case ast.NotEq():
            return number, number, not holds
        case ast.Lt():
            return 0, number - 1, holds
        case ast.LtE():
            return 0, number, holds
        case ast.Gt():
            return 0, number, not holds
        case ast.GtE():
            return 0, number - 1, not holds
    return None


def contradiction(branch: Sequence[ast.AST], facts: Sequence[Fact]) -> str:
    """Report the first thing in a branch that fails where one of the facts holds."""
    for fact in facts:
        if fact.kind == ABSENT:
            found = _reads_absent(branch, fact)
            if found:
                return found
            continue
        for node in itertools.islice(_in_order(branch, fact.name), MAX_AHEAD):
            if fact.name in bound_by(node) or (fact.kind in _CHANGEABLE and _may_change(node, fact)):
                break
            found = _needs_more(node, fact)
            if found:
                return found
    return ""


def _may_change(node: ast.AST, fact: Fact) -> bool:
    """Return whether what is known of an object may no longer hold after a node: it is changed or given to a call."""
    match node:
        case ast.Call(ast.Attribute(ast.Name(name))) if name == fact.name:
            return fact.kind != LACKS or node.func.attr != fact.part  # type: ignore[attr-defined]
        case ast.Call(ast.Name(called), arguments):
            given = any(isinstance(item, ast.Name) and item.id == fact.name for item in arguments)
            return given and called not in _READING
        case ast.Call(args=arguments):
            return any(isinstance(item, ast.Name) and item.id == fact.name for item in arguments)
        case ast.Attribute(ast.Name(name), attr, ast.Store() | ast.Del()):
            return name == fact.name and (fact.kind != LACKS or attr == fact.part)
        case ast.Subscript(ast.Name(name), ctx=ast.Store() | ast.Del()):
            return name == fact.name
    return False


def _reads_absent(branch: Sequence[ast.AST], fact: Fact) -> str:
    """Report an item that is read with a key that its table does not have, before anything can have put it there."""
    assert isinstance(fact.part, ast.expr)
    key = ast.dump(fact.part)
    own = {
        fact.name.partition(".")[0],
        *(node.id for node in ast.walk(fact.part) if isinstance(node, ast.Name)),
    }
    for statement in branch:
        part, last = _evaluated(statement)
        if part is None:
            return ""
        nodes = list(itertools.islice(ast.walk(part), MAX_AHEAD))
        if any(isinstance(node, _LATER) for node in nodes):
            return ""
        reads = [
            node
            for node in nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and dotted_name(node.value) == fact.name
            and ast.dump(node.slice) == key
        ]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        for read in reads[:1]:
            before = [call for call in calls if not any(node is read for node in ast.walk(call))]
            # `table[key].append(x)` is how a table is used that makes what is missing.
            within = any(isinstance(node, ast.Attribute) and node.value is read for node in nodes)
            return (
                "" if before or within else f"`{shown(read)}` where {shown(fact.part)} is not in {fact.name}"
            )
        if last or calls or any(own & bound_by(node) or _stores(node, fact.name) for node in nodes):
            return ""
    return ""


def _evaluated(node: ast.AST) -> tuple[ast.AST | None, bool]:
    """Return what of a statement is evaluated in any case and first, and whether more of it follows."""
    match node:
        case ast.Return() | ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr() | ast.Pass():
            return node, False
        case ast.If() | ast.While():
            return node.test, True
        case ast.For() | ast.AsyncFor():
            return node.iter, True
        case ast.BoolOp(values=[first, *_]):
            return first, True
        case ast.IfExp():
            return node.test, True
        case ast.expr():
            return node, False
    return None, True


def _stores(node: ast.AST, table: str) -> bool:
    if not isinstance(node, ast.Subscript | ast.Attribute) or isinstance(node.ctx, ast.Load):
        return False
    return table.startswith(dotted_name(node.value) or " ")


def _in_order(branch: Sequence[ast.AST], name: str) -> Iterator[ast.AST]:
    """Yield what a branch evaluates, in about its order: values before what they are assigned to.

    What runs at another time and what may fail on purpose (the body of a `try`) is left out. So is what follows a
    further condition on the name, which may tell the same thing again.
    """
    pending: list[ast.AST] = list(reversed(branch))
    while pending:
        node = pending.pop()
        match node:
            case (
                ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.ClassDef()
                | ast.Lambda()
                | ast.comprehension()
            ):
                continue
            case ast.Try() | ast.With() if _binds(node, name):
                return
            case ast.Try():
                continue
            case ast.If() | ast.While() | ast.IfExp() if mentions(node.test, name):
                if _binds(node, name) or isinstance(node, ast.While):
                    return
                yield from _in_order([node.test], name)
                if isinstance(node, ast.If):
                    return
                continue
            case ast.BoolOp():
                pending.append(node.values[0])
                continue
            case ast.Assert() | ast.Match():
                return
        yield node
        parts = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            parts = [node.value, *(part for part in parts if part is not node.value)]
        pending.extend(reversed(parts))


def mentions(node: ast.AST, name: str) -> bool:
    """Return whether a name occurs in some code."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _binds(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)
        for part in ast.walk(node)
    )


def _needs_more(node: ast.AST, fact: Fact) -> str:
    """Report code that fails where a fact holds."""
    if fact.kind == NONE:
        match node:
            case ast.Attribute(ast.Name(name), attr, ast.Load()) if (
                name == fact.name and attr not in _OF_NONE
            ):
                return f"`{shown(node)}` where {name} is None"
            case ast.Subscript(ast.Name(name)) if name == fact.name:
                return f"`{shown(node)}` where {name} is None"
            case ast.Call(ast.Name(name)) if name == fact.name:
                return f"`{shown(node)}` where {name} is None"
            case ast.For(iter=ast.Name(name)) if name == fact.name:
                return f"a loop over {name} where it is None"
        return ""
    if fact.kind == EMPTY:
        return _needs_something(node, fact.name)
    if fact.kind == LENGTH:
        return _needs_another_length(node, fact)
    if fact.kind in (LACKS, NOT_CALLABLE, KIND):
        return _needs_ability(node, fact)
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Call() as call) if _splits(call, fact):
            if len(targets) > 1 and not any(isinstance(item, ast.Starred) for item in targets):
                return f"`{shown(node)}` where {fact.part!r} is not in {fact.name}"
        case ast.Subscript(ast.Call() as call, ast.Constant(int() as place)) if _splits(call, fact):
            if place > 0:
                return f"`{shown(node)}` where {fact.part!r} is not in {fact.name}"
        case ast.Call(ast.Attribute(ast.Name(name), "index" | "rindex"), [ast.Constant(part), *_]):
            if name == fact.name and part == fact.part:
                return f"`{shown(node)}` where {fact.part!r} is not in {fact.name}"
    return ""


def _needs_ability(node: ast.AST, fact: Fact) -> str:
    """Report what an object is asked for that it does not have."""
    match node:
        case ast.Attribute(ast.Name(name), attr, ast.Load()) if name == fact.name:
            if fact.kind == LACKS and attr == fact.part:
                return f"`{shown(node)}` where {name} has no such attribute"
            kinds = fact.part if fact.kind == KIND and isinstance(fact.part, tuple) else ()
            if kinds and attr in _OF_PLAIN and not any(attr in _METHODS[kind] for kind in kinds):
                return f"`{shown(node)}` where {name} is of {' or '.join(kinds)}"
        case ast.Call(ast.Name(name)) if name == fact.name and fact.kind == NOT_CALLABLE:
            return f"`{shown(node)}` where {name} cannot be called"
    return ""


def _needs_another_length(node: ast.AST, fact: Fact) -> str:
    """Report code that takes another number of items than there are."""
    assert isinstance(fact.part, tuple)
    least, most, inside = fact.part
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Name(name)) if name == fact.name:
            count = len(targets)
            plain = not any(isinstance(item, ast.Starred) for item in targets)
            if plain and (least <= count <= most) is not inside:
                return f"`{shown(node)}` where {name} has another length"
        case ast.Subscript(ast.Name(name), ast.Constant(int() as place), ast.Load()) if name == fact.name:
            if inside and most and place >= most:
                return f"`{shown(node)}` where {name} has at most {most} items"
    return ""


def _needs_something(node: ast.AST, empty: str) -> str:
    """Report code that does nothing or fails with a value that counts as false."""
    match node:
        case ast.Attribute(ast.Name(name), attr, ast.Load()) if name == empty and attr in _OF_MATCHES:
            return f"`{shown(node)}` where there is no {name}"
        case ast.For(iter=ast.Name(name)) if name == empty:
            return f"a loop over {name} where there is nothing in it"
        case ast.Subscript(ast.Name(name), ast.Constant(int()) | ast.UnaryOp(ast.USub(), _), ast.Load()) if (
            name == empty
        ):
            return f"`{shown(node)}` where there is nothing in {name}"
        case ast.Call(ast.Name(name)) if name == empty:
            return f"`{shown(node)}` where there is no {name}"
        case ast.BinOp(ast.Constant(str() | bytes()), ast.Add(), ast.Name(name)) | ast.BinOp(
            ast.Name(name), ast.Add(), ast.Constant(str() | bytes())
        ) if name == empty:
            return f"`{shown(node)}` where there is nothing in {name}"
    return ""


def _splits(call: ast.Call, fact: Fact) -> bool:
    """Return whether a call takes a text apart at what it lacks, so that there is one piece only."""
    match call:
        case ast.Call(ast.Attribute(ast.Name(name), "split" | "rsplit"), [ast.Constant(part), *_]):
            return name == fact.name and part == fact.part
    return False


def bound_by(node: ast.AST) -> set[str]:
    """Return the names that one node binds by itself."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.Nonlocal):
        return set(node.names)
    if isinstance(node, ast.ExceptHandler):
        return {node.name} if node.name else set()
    return bindings([node]).bound if isinstance(node, _BINDING) else set()


def shown(node: ast.AST) -> str:
    """Return code for a reason, shortened."""
    text = " ".join(unparse(node).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
