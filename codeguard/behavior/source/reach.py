"""The effects that a function can have, following the names that it uses to the code around it.

The code that a function needs contains whole classes, most of whose methods it never calls. So
certain and possible effects are distinguished. Certain are those of the module's names that it uses
and of attributes of classes named on the way (rapid type analysis; Bacon and Sweeney, OOPSLA 1996),
of methods that Python calls implicitly, and of everything if a name is computed at run time. An
attribute of an unknown object may be that of any class. Code that runs on import is certain, with
the functions that it calls by plain names. What the sandbox would have seen on import is only
possible, because the sandbox imports the module as well; so is code in branches. Objects created on
import and used by the function count, except for reads of the environment.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from codeguard.analysis.python.bindings import bindings
from codeguard.behavior.source.definitions import Function, by_node
from codeguard.behavior.verdict.effects import (
    ENVIRONMENT,
    OBSERVED,
    Capability,
    Facts,
    effect_facts,
    resolved,
    together,
)
from codeguard.corpus.syntax import unqualified_name

# Used names are plain, attributes have a leading dot, and plain calls also occur with a trailing `()`.
ANY = "*"  # any name, because one is computed
ANY_ATTRIBUTE = ".*"
_HELD = ".__dict__"  # any attribute of an object
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SEEN = frozenset(OBSERVED.values())
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"})
_BY_ANY_NAME = frozenset({"vars", "globals", "locals", "eval", "exec", "compile", "__import__", "__dict__"})


class EffectReach(NamedTuple):
    """The effects of a function: the certain ones, and all possible ones."""

    certain: frozenset[Capability]
    possible: frozenset[Capability]


@dataclass(frozen=True, slots=True)
class _Code:
    """A piece of code: its own effects, and the names that it uses."""

    facts: Facts
    uses: frozenset[str]


@dataclass(frozen=True)
class _Part:
    """A function, or a statement that binds names, with the names that lead to it and its class."""

    names: frozenset[str]
    code: _Code
    owner: str = ""
    needed: frozenset[str] = frozenset()  # the names by which code on import needs it
    begun: Facts | None = None  # its effects when called on import, if these are not all
    once: bool = False  # whether it runs on import only

    @cached_property
    def names_on_any_object(self) -> frozenset[str]:
        bare = {name.removeprefix(".") for name in self.names}
        return frozenset(bare | {f".{name}" for name in bare})


@dataclass(frozen=True, slots=True)
class _Statement:
    on_import: _Code
    in_branches: _Code
    parts: tuple[_Part, ...]


def reachable(name: str, own: ast.stmt, others: Sequence[ast.stmt]) -> EffectReach:
    """Return the effects of the function `name`, defined by `own` among other statements of a module."""
    statements = [_read(statement) for statement in (own, *others)]
    parts = [part for statement in statements for part in statement.parts]
    # Python implicitly calls some methods of a method's own class and of its bases.
    begins = {own.name, f".{name}"} if isinstance(own, ast.ClassDef) else {name}
    first = [part for part in statements[0].parts if not begins.isdisjoint(part.names)]
    near = [*first, *_reachable_by_class(first, parts)]
    far = [
        *first,
        *_reachable([part.code for part in first], _index(parts, attrgetter("names_on_any_object"))),
    ]
    if any(ANY in part.code.uses for part in near):
        near = parts
    if any(part.code.uses & {ANY, ANY_ATTRIBUTE, _HELD} for part in far):
        far = parts
    on_import = [statement.on_import for statement in statements]
    begun = resolved(_run_on_import(on_import, parts, sure=True))
    certain = resolved([part.code.facts for part in near if not part.once])
    # An environment variable read on import need not influence the function.
    certain |= {able for able in resolved([part.code.facts for part in near]) if able.kind != ENVIRONMENT}
    certain |= {able for able in begun if able.kind not in _SEEN}
    on_import += [statement.in_branches for statement in statements]
    return EffectReach(
        certain, resolved([*_run_on_import(on_import, parts), *(part.code.facts for part in far)])
    )


def reached_by_own(
    name: str, own: ast.stmt, others: Sequence[ast.stmt], by_calls: bool
) -> frozenset[Capability] | None:
    """Return the certain effects of a function's own text and of what it uses by plain names.

    Attributes are not followed, because those of a method's object are its class's. `by_calls` leaves out what is
    only mentioned, except for imports: `isinstance(item, Rule)` makes no object. It gives None if a name is computed.
    """
    statements = [_read(statement) for statement in (own, *others)]
    imported = {
        name for item in others if isinstance(item, ast.Import | ast.ImportFrom) for name in _bound(item)
    }
    first: list[_Part] = []
    for part in statements[0].parts:
        uses = part.code.uses
        if name in part.names or f".{name}" in part.names:
            if by_calls and uses & {ANY, ANY_ATTRIBUTE}:
                return None
            uses = frozenset(use for use in uses if use[0] != ".")
            if by_calls:
                uses = frozenset(
                    use.removesuffix("()") for use in uses if use.endswith("()") or use in imported
                )
            first.append(replace(part, code=replace(part.code, uses=uses)))
    near = [*first, *_reachable_by_class(first, [part for item in statements for part in item.parts])]
    return resolved([part.code.facts for part in near if not part.once])


def _run_on_import(on_import: Sequence[_Code], parts: Sequence[_Part], sure: bool = False) -> list[Facts]:
    """Return the facts of code that runs on import and of functions called then; if `sure`, certain only."""
    called = _reachable(on_import, _index(parts, attrgetter("needed")))
    return [
        *(code.facts for code in on_import),
        *((sure and part.begun) or part.code.facts for part in called),
    ]


def _index(parts: Sequence[_Part], keys: Callable[[_Part], Iterable[str]]) -> dict[str, list[_Part]]:
    index: dict[str, list[_Part]] = {}
    for part in parts:
        for name in keys(part):
            index.setdefault(name, []).append(part)
    return index


def _reachable(begins: Iterable[_Code], index: dict[str, list[_Part]]) -> list[_Part]:
    """Return the parts reachable by the names that code uses, transitively."""
    reached: list[_Part] = []
    pending = [part for code in begins for name in code.uses for part in index.pop(name, ())]
    while pending:
        part = pending.pop()
        reached.append(part)
        pending.extend(other for name in part.code.uses for other in index.pop(name, ()))
    return reached


def _reachable_by_class(first: Sequence[_Part], parts: Sequence[_Part]) -> list[_Part]:
    """Return the reachable parts, following attributes only into classes that are named."""
    index = _index(parts, attrgetter("names"))
    members = _index(parts, lambda part: (part.owner,))
    live = {"", *(part.owner for part in first)}
    waiting: dict[str, list[_Part]] = {}
    reached: dict[int, _Part] = {}
    any_attribute = False
    pending = [name for part in first for name in part.code.uses]
    while pending:
        name = pending.pop()
        newly_reached = index.pop(name, [])
        bare = name.removeprefix(".")
        if bare in members and bare not in live:
            live.add(bare)
            newly_reached += members[bare] if any_attribute else waiting.pop(bare, [])
        if name == ANY_ATTRIBUTE and not any_attribute:
            any_attribute = True
            newly_reached += (part for owner in live if owner for part in members[owner])
        for part in newly_reached:
            if part.owner not in live:
                waiting.setdefault(part.owner, []).append(part)
            elif id(part) not in reached:
                reached[id(part)] = part
                pending += part.code.uses
    return list(reached.values())


@by_node
def _read(statement: ast.stmt) -> _Statement:
    on_import: list[ast.AST] = []
    in_branches: list[ast.AST] = []
    parts: list[_Part] = []
    _split([statement], "", on_import, in_branches, parts)
    return _Statement(_code(on_import), _code(in_branches), tuple(parts))


def _code(pieces: Sequence[ast.AST]) -> _Code:
    facts = together(effect_facts(piece) for piece in pieces)
    return _Code(facts, frozenset(name for piece in pieces for name in _names(piece)))


def _split(
    statements: Sequence[ast.stmt],
    owner: str,
    on_import: list[ast.AST],
    in_branches: list[ast.AST],
    parts: list[_Part],
) -> None:
    """Separate code that runs on import, certainly or possibly, from functions that are only defined."""
    for statement in statements:
        head: list[ast.expr] = []
        if isinstance(statement, Function):
            parts.append(_function(statement, owner))
            head = _head(statement)
        elif isinstance(statement, ast.ClassDef):
            head = [*statement.decorator_list, *statement.bases]
            head += [keyword.value for keyword in statement.keywords]
            uses = _code(head).uses
            names = frozenset((statement.name, f".{statement.name}"))
            parts.append(_Part(names, _Code(Facts(), uses), owner))
            _split(statement.body, statement.name, on_import, in_branches, parts)
        elif isinstance(statement, ast.If):
            head = [statement.test]
            _split([*statement.body, *statement.orelse], owner, in_branches, in_branches, parts)
        elif isinstance(statement, ast.Try):
            head = [handler.type for handler in statement.handlers if handler.type]
            always = [*statement.body, *statement.orelse, *statement.finalbody]
            _split(always, owner, on_import, in_branches, parts)
            handled = [item for handler in statement.handlers for item in handler.body]
            _split(handled, owner, in_branches, in_branches, parts)
        else:
            is_alias = _is_alias(statement)
            parts.append(_binding(statement, owner, is_alias))
            on_import += [] if is_alias else [statement]
        on_import += head


def _binding(statement: ast.stmt, owner: str, is_alias: bool) -> _Part:
    """Return the part for a statement; anything beyond a binding happens on import."""
    bound = frozenset(_bound(statement))
    # `method.__doc__ = …` binds no name in its class.
    names = frozenset().union(*({name} if name[0] == "." else _leading_to(name, owner) for name in bound))
    found = _code([statement])
    code = _Code(found.facts, _own_names(found.uses, owner))
    return _Part(names, code, owner, bound if is_alias else frozenset(), once=not is_alias)


def _own_names(names: Iterable[str], owner: str) -> frozenset[str]:
    """Return names used in a class body, where a plain name may be that of a method."""
    found = frozenset(names)
    return found | {f".{name}" for name in found} if owner else found


def _is_alias(statement: ast.stmt) -> bool:
    """Return whether a statement only gives a name to an existing object, which has no effect by itself."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return not any(alias.name == "*" for alias in statement.names)
    return (
        isinstance(statement, ast.Assign)
        and all(isinstance(target, ast.Name) for target in statement.targets)
        and all(isinstance(node, ast.Name | ast.Attribute | ast.Load) for node in ast.walk(statement.value))
    )


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield f".{node.attr}"


def _function(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> _Part:
    uses = set(_own_names((name for item in _head(function) for name in _names(item)), owner))
    own = bindings(function.body)
    bound = own.bound - own.declared_global
    bound |= {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    uses.update(*(_names(item, bound) for item in function.body))
    needed = frozenset(() if owner else (f"{function.name}()",))
    names = _leading_to(function.name, owner)
    code = _Code(effect_facts(function), frozenset(uses))
    return _Part(names, code, owner, needed, begun=_decorator_facts(function))


def _decorator_facts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Facts | None:
    """Return the facts of a function that returns an inner function, as decorators do; None for others."""
    made = {node.name: node for node in function.body if isinstance(node, Function)}
    others = [node for node in function.body if not isinstance(node, Function)]
    given = {node.value for node in others if isinstance(node, ast.Return)}
    names = (node for item in others for node in ast.walk(item) if isinstance(node, ast.Name))
    if not made or any(node.id in made and node not in given for node in names):
        return None
    heads = [ast.Expr(item) for node in made.values() for item in _head(node)]
    return effect_facts(ast.Module([*others, *heads], type_ignores=[]))


def _leading_to(name: str, owner: str) -> frozenset[str]:
    """Return the names whose use leads to a binding; in a class Python calls some methods implicitly."""
    if not owner:
        return frozenset((name,))
    name = f".{name.removeprefix('.')}"
    if name == ".__call__":
        return frozenset((name, f"{owner}()", f".{owner}"))  # code that creates an object may call it
    return frozenset((name, owner, f".{owner}") if name.startswith(".__") else (name,))


def _head(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    defaults = (*function.args.defaults, *filter(None, function.args.kw_defaults))
    return [*function.decorator_list, *defaults]


def _names(tree: ast.AST, bound: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the names that code uses, except those in `bound`."""
    pending = [(tree, bound)]
    while pending:
        node, own = pending.pop()
        inner = own
        if (held := _object_of_all_values(node)) is not None and held in own - {"cls"}:
            yield _HELD
            continue
        if isinstance(node, ast.Attribute):
            yield (
                ANY if node.attr in _BY_ANY_NAME - {"compile"} else f".{node.attr}"
            )  # usually a regular expression is compiled
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield ANY if node.id in _BY_ANY_NAME else node.id
        elif isinstance(node, ast.Call):
            name = unqualified_name(node.func)
            if isinstance(node.func, ast.Name):
                yield f"{name}()"
            if name in _BY_NAME:
                yield from _looked_up(node)
        elif isinstance(node, ast.Lambda):
            pending.append(
                (node.body, own | {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)})
            )
            node = node.args
        elif isinstance(node, _COMPREHENSIONS):
            targets = (name for part in node.generators for name in ast.walk(part.target))
            inner = own | {name.id for name in targets if isinstance(name, ast.Name)}
            pending.append((node.generators[0].iter, own))  # the only part that is evaluated outside
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))


def _object_of_all_values(node: ast.AST) -> str | None:
    """Return the name of the object whose values are all accessed at once, without its methods."""
    match node:
        case ast.Attribute(ast.Name(name), "__dict__") | ast.Call(ast.Name("vars"), [ast.Name(name)]):
            return name
    return None


def _looked_up(call: ast.Call) -> Iterator[str]:
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield from (f".{part}" for part in argument.value.split("."))
            return
    yield ANY_ATTRIBUTE
