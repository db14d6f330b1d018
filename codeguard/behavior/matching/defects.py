"""Detect code that cannot work as it is written, whatever the function is meant to do.

A wrong copy of a function nobody trusts cannot be compared with anything. But an edit often leaves a contradiction
that its own text shows: a condition that excludes what its branch then does, an operator that text does not have, a
table with two entries for one key, a codec that is nearly one. Each of these fails or loses something on every call
that gets there, so honest code that was ever run has none.
"""

from __future__ import annotations

import ast
import encodings
import encodings.aliases
import itertools
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import cache

from codeguard.analysis.python.bindings import bindings
from codeguard.behavior.matching.branches import (
    NONE,
    Fact,
    bound_by,
    contradiction,
    facts_of,
    mentions,
    shown,
)
from codeguard.behavior.matching.misuse import misuse_of
from codeguard.behavior.matching.plain_kinds import Kinds, kinds_of_names, lacks_operator, lacks_order
from codeguard.behavior.source.definitions import Function, dotted_name

_TEXT_LACKS = (
    ast.Sub,
    ast.Div,
    ast.FloorDiv,
    ast.MatMult,
    ast.Pow,
    ast.LShift,
    ast.RShift,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
)
_DIRECTIVE = re.compile(r"%(?:\(\w+\))?[#0\- +]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[diouxXeEfFgGcrsa]")
_DISPLAYS = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr)
_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TOLD = (ast.Dict, ast.BinOp, ast.Call, ast.IfExp, ast.BoolOp, ast.stmt, ast.ExceptHandler)
_MISUSED = (ast.Call, ast.BinOp, ast.Subscript, ast.Attribute, ast.If)
_COMPUTED = (ast.BinOp, ast.AugAssign, ast.Compare, ast.Call)
_NAME_ERRORS = frozenset({"NameError", "UnboundLocalError", "Exception", "BaseException"})
MAX_NODES = 6_000  # of a function: what is longer is not looked at


def defect_of(function: Function) -> str:
    """Return what in a function cannot work, as text for a reason; "" if nothing is seen."""
    nodes = list(itertools.islice(ast.walk(function), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        return ""
    names = kinds_of_names(function.args, nodes)
    for node in nodes:
        found = _of_node(node) if isinstance(node, _TOLD) else ""
        found = found or (_of_kinds(node, names) if isinstance(node, _COMPUTED) else "")
        found = found or (misuse_of(node) if isinstance(node, _MISUSED) else "")
        if found:
            return found
    try:
        return _unbound(function, nodes)
    except RecursionError:  # a chain of a thousand operators: nothing is claimed of it
        return ""


def _of_kinds(node: ast.AST, names: Kinds) -> str:
    """Report what plain values of these kinds cannot do, and builtins whose arguments stand in the wrong order."""
    match node:
        case ast.BinOp(left, operator, right) if lacks_operator(left, operator, right, names):
            return f"its values have no such operator: {shown(node)}"
        case ast.AugAssign(ast.Name(name), operator, value) if name in names:
            if lacks_operator(ast.Name(name, ast.Load()), operator, value, names):
                return f"its values have no such operator: {shown(node)}"
        case ast.Compare(left, [operator], [right]) if lacks_order(left, operator, right, names):
            return f"its values have no order: {shown(node)}"
        case ast.Call(
            ast.Name("getattr" | "hasattr" | "setattr" | "delattr"), [ast.Constant(str()), ast.Name(), *_]
        ):
            return f"looks for an attribute of a text: {shown(node)}"
        case ast.Call(ast.Name("isinstance" | "issubclass"), [_, ast.Constant()]):
            return f"no class to compare with: {shown(node)}"
    return ""


def _of_node(node: ast.AST) -> str:
    match node:
        case ast.Dict():
            return _repeated_key(node)
        case ast.BinOp():
            return _operator(node)
        case ast.Call():
            return _codec(node)
        case ast.If() | ast.While():
            return contradiction(node.body, facts_of(node.test, True)) or contradiction(
                node.orelse, facts_of(node.test, False)
            )
        case ast.IfExp():
            return contradiction([node.body], facts_of(node.test, True)) or contradiction(
                [node.orelse], facts_of(node.test, False)
            )
        case ast.BoolOp(operation, values):
            holds = isinstance(operation, ast.And)
            facts = [facts_of(value, holds) for value in values]
            return next(
                (
                    found
                    for place in range(1, len(values))
                    if (
                        found := contradiction([values[place]], [f for known in facts[:place] for f in known])
                    )
                ),
                "",
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _after_exits(node.body) or _default_stays(node)
        case ast.For() | ast.AsyncFor():
            return _dead_loop(node) or _after_exits(node.body)
        case _:
            return _after_exits(getattr(node, "body", None))


def _dead_loop(node: ast.For | ast.AsyncFor) -> str:
    """Report a loop with work to do over a literal that is empty, so that this work is never done.

    A loop that only yields or passes is there to make a generator, or does nothing anyway.
    """
    match node.iter:
        case (
            ast.List(elts=[])
            | ast.Tuple(elts=[])
            | ast.Dict(keys=[])
            | ast.Constant(value="" | b"")
            | ast.Call(ast.Name("list" | "tuple" | "dict" | "set" | "frozenset"), [], [])
        ):
            idle = all(map(_is_idle, node.body))
            return (
                ""
                if idle
                else f"a loop never runs, because it goes over an empty literal: {shown(node.iter)}"
            )
    return ""


def _is_idle(statement: ast.stmt) -> bool:
    """Return whether a statement of a loop over nothing is there for its form only."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(statement, ast.Pass) or isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom)


def _default_stays(function: Function) -> str:
    """Report a parameter that is None by default, replaced only where it is something else, and then used as such.

    A global that is made again only where it is there is one that was to be made once.
    """
    given = function.args
    pairs = [*zip(reversed([*given.posonlyargs, *given.args]), reversed(given.defaults), strict=False)]
    pairs += [(item, value) for item, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
    absent = {item.arg for item, value in pairs if isinstance(value, ast.Constant) and value.value is None}
    made = {
        name for statement in function.body if isinstance(statement, ast.Global) for name in statement.names
    }
    seen: set[str] = set()
    for place, statement in enumerate(function.body):
        name = _given_name(statement.test) if isinstance(statement, ast.If) else ""
        if isinstance(statement, ast.If) and name in absent | made and name not in seen:
            match statement:
                case ast.If(body=[ast.Assign([ast.Name(bound)], value), *rest]) if bound == name:
                    sure = not isinstance(value, ast.Constant) or not (
                        rest or statement.orelse or name in made
                    )
                    if sure and not mentions(value, name):
                        return f"`{name}` is replaced where it is given, and left None where it is not"
            if not statement.orelse and name in absent and name in bindings(statement.body).bound:
                found = contradiction(function.body[place + 1 :], [Fact(NONE, name)])
                if found:
                    return f"{found}, as it is by default"
        seen |= bindings([statement]).bound
    return ""


def _given_name(test: ast.expr) -> str:
    """Return the name that is not None, or counts as true, where a condition holds; "" if it says something else."""
    match test:
        case ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), inner)):
            return _given_name(inner)
        case ast.Name(name) | ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [ast.Constant(None)]):
            return name
        case ast.UnaryOp(ast.Not(), inner):
            return next((fact.name for fact in facts_of(inner, True) if fact.kind == NONE), "")
    return ""


def _after_exits(block: object) -> str:
    """Report what follows a branch that ends the block, and fails where its condition does not hold."""
    if not isinstance(block, list):
        return ""
    for place, statement in enumerate(block):
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], _EXITS):
            found = contradiction(block[place + 1 :], facts_of(statement.test, False))
            if found:
                return found
    return ""


def _unbound(function: Function, nodes: Sequence[ast.AST]) -> str:
    """Report a local name that is read where nothing can have bound it yet."""
    if not _reads_early(nodes):
        return ""
    own = bindings(function.body)
    given = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    local = own.bound - own.declared_global - given
    if not local or any(isinstance(node, ast.ExceptHandler) and _hides_names(node) for node in nodes):
        return ""
    bound: set[str] = set()
    within: dict[ast.AST, set[str]] = {}  # what a loop binds: its next round may read it
    for node, loops in _flow(function.body, ()):
        names = bound_by(node)
        if not names:
            read = node.id if isinstance(node, ast.Name) else ""
            if read in local and read not in bound:
                for loop in loops:
                    if loop not in within:
                        within[loop] = bindings([loop]).bound
                if not any(read in within[loop] for loop in loops):
                    return f"`{read}` is read before anything is assigned to it"
        bound |= names
    return ""


def _reads_early(nodes: Sequence[ast.AST]) -> bool:
    """Return whether any name is read further up than it is first assigned: a quick look that rules out most."""
    loads: dict[str, tuple[int, int]] = {}
    stores: dict[str, tuple[int, int]] = {}
    after: dict[int, tuple[int, int]] = {}  # the end of what is assigned to a target
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            end = node.value.end_lineno or 0, node.value.end_col_offset or 0
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                after[id(target)] = end
        elif isinstance(node, ast.Name):
            first, place = stores, after.get(id(node), (node.lineno, node.col_offset))
            if isinstance(node.ctx, ast.Load):
                first = loads
            if node.id not in first or place < first[node.id]:
                first[node.id] = place
    return any(name in loads and loads[name] < place for name, place in stores.items())


def _hides_names(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(
        _NAME_ERRORS & {dotted_name(item) for item in ast.walk(handler.type) if isinstance(item, ast.Name)}
    )


def _flow(
    nodes: Sequence[ast.AST], loops: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield the nodes of a function's own scope in the order of evaluation, with the loops that they stand in."""
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node, loops
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = [part for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
                yield from _flow([node.generators[0].iter, *(part.target for part in inner)], loops)
            case ast.For() | ast.AsyncFor():
                yield from _flow([node.iter], loops)
                yield from _flow([node.target, *node.body], (*loops, node))
                yield from _flow(node.orelse, loops)
            case ast.While():
                yield from _flow([node.test, *node.body], (*loops, node))
                yield from _flow(node.orelse, loops)
            case ast.AnnAssign(value=None):
                continue
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.AugAssign():
                value = [node.value] if node.value is not None else []
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from _flow([*value, *targets], loops)
            case ast.match_case():
                yield node.pattern, loops
                for part in ast.walk(node.pattern):
                    yield part, loops
                yield from _flow([*([node.guard] if node.guard else []), *node.body], loops)
            case ast.ExceptHandler():
                yield node, loops
                yield from _flow([*([node.type] if node.type else []), *node.body], loops)
            case _:
                yield node, loops
                yield from _flow(list(ast.iter_child_nodes(node)), loops)


def _repeated_key(node: ast.Dict) -> str:
    """Report a table in which a later entry replaces another one with another value."""
    seen: dict[tuple[type, object], str] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant):
            continue
        place, text = (type(key.value), key.value), ast.dump(value)
        if seen.setdefault(place, text) != text:
            return f"two entries of a table have the key {key.value!r}"
    return ""


def _operator(node: ast.BinOp) -> str:
    """Report an operator that text does not have, and a format that its values do not fit."""
    left, right = node.left, node.right
    text = left.value if isinstance(left, ast.Constant) and isinstance(left.value, str) else None
    if text is None:
        return ""
    if isinstance(node.op, ast.Mod):
        plain = text.replace("%%", "")
        wanted = len(_DIRECTIVE.findall(plain))
        given = len(right.elts) if isinstance(right, ast.Tuple) else None
        sure = "%(" not in plain and "*" not in plain and wanted == plain.count("%")
        if given is None or not sure or any(isinstance(item, ast.Starred) for item in _elements(right)):
            return ""
        return f"a format with {wanted} places for {given} values: {shown(node)}" if given != wanted else ""
    plain_right = isinstance(right, _DISPLAYS) or (
        isinstance(right, ast.Constant) and right.value is not None
    )
    known = plain_right or _DIRECTIVE.search(text) is not None
    return f"text has no such operator: {shown(node)}" if isinstance(node.op, _TEXT_LACKS) and known else ""


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else []


def _codec(node: ast.Call) -> str:
    """Report an encoding that does not exist and is one letter away from one that does."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("encode", "decode"):
        return ""
    named = next((item.value for item in node.keywords if item.arg == "encoding"), None)
    given = node.args[0] if node.args else named
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        return ""
    written = _normal(given.value)
    if written in _codecs() or not any(_one_letter_away(written, known) for known in _codecs()):
        return ""
    return f"there is no encoding {given.value!r}"


@cache
def _codecs() -> frozenset[str]:
    modules = {item.name for item in pkgutil.iter_modules(encodings.__path__)}
    return frozenset({*modules, *encodings.aliases.aliases, *encodings.aliases.aliases.values()})


def _normal(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def _one_letter_away(one: str, other: str) -> bool:
    """Return whether a letter is missing, added or changed, in a name of at least five characters."""
    short, long = sorted((one, other), key=len)
    if len(short) < 5 or len(long) - len(short) > 1:
        return False
    place = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) == len(long):
        return short[place + 1 :] == long[place + 1 :] and (short[place:] + long[place:]).isalpha()
    return short[place:] == long[place + 1 :] and long[place].isalpha()
