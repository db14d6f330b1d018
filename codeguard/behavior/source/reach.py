"""The effects that a function can have according to its text, following the names that it uses to the code around it.

All names of a file are resolved at once, through imports, aliases and `getattr` with a literal name. The code that a
function needs contains whole classes, most of whose methods it never calls, so certain and possible effects are
distinguished. Certain are those of the function, and of functions, methods and constructors of its file that it uses
by a name that resolves to them. Possible are those of all the statements that it needs: a method of an unknown object
may be that of any class, and what runs on import is seen in the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from codeguard.behavior.source.definitions import Function, Module, parse_or_none
from codeguard.behavior.source.layout import arguments_of, drops_annotations
from codeguard.corpus import syntax
from codeguard.syntax.capabilities import (
    CODE,
    ENVIRONMENT,
    ESCAPE,
    FILES,
    INTERNALS,
    Capability,
    capabilities_of_computed,
    capabilities_of_name,
)
from codeguard.syntax.names import Names, dotted_name
from codeguard.syntax.scopes import BindingKind

_ASKING = frozenset({"hasattr", "isinstance", "dir"})  # these reveal objects that the code was not given
_READ = frozenset({ENVIRONMENT, FILES})  # kinds of what is read once and then a plain value
_ANY = frozenset({"eval", "exec", "globals()", "locals()", "vars()"})  # what is used is computed when it runs


class EffectReach(NamedTuple):
    """The effects of a function: the certain ones, and all possible ones."""

    certain: frozenset[Capability]
    possible: frozenset[Capability]


@dataclass(slots=True)
class _Facts:
    """What one piece of code can do itself, and the names of the file's definitions that it uses (`:Class.method`)."""

    able: set[Capability] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    is_computed: bool = False


class ModuleEffects:
    """What the statements of a file, and its functions, can do and take from each other.

    Args:
        statements: the top-level statements.
    """

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        tree = ast.Module(list(statements), [])
        nodes, self._parents = syntax.nodes_and_parents(tree)
        self._names = Names(tree, nodes, self._parents)
        self._known: dict[ast.AST, _Facts] = {}
        self._free: dict[ast.AST, Set[str]] = {}

    def free_names(self, root: ast.AST) -> Set[str]:
        """Return the names that code takes from the module or from outside of it, except those in annotations."""
        if root not in self._free:
            names = (node for node in _code(root) if isinstance(node, ast.Name))
            self._free[root] = frozenset(node.id for node in names if self._is_free(node))
        return self._free[root]

    def _is_free(self, node: ast.Name) -> bool:
        scopes = self._names.scopes
        scope = scopes.scope_of(node)
        found = scopes.find(node.id, scope)
        deletes = isinstance(node.ctx, ast.Del) and scope is not scopes.module
        if isinstance(node.ctx, ast.Store) or deletes:  # where a function declares it global
            return found is not None and found[0] is scopes.module is not scope
        # A class body may use a name before it binds it, which then is the module's.
        return found is None or found[0] is scopes.module or found[0].is_class

    def of(self, statements: Iterable[ast.stmt]) -> frozenset[Capability]:
        """Return all effects that code in these statements can have."""
        found = frozenset().union(*(self._facts(item).able for item in statements))
        # Where it takes too long to say what names stand for, they may be any.
        return found | {Capability(CODE, limit.what) for limit in self._names.unread.limits[:1]}

    def certain(self, function: Function, owner: ast.ClassDef | None = None) -> frozenset[Capability] | None:
        """Return the effects of a function and of what it uses by name; None if a name is computed.

        With `owner`, its class, what makes an object of that counts as well.
        """
        pending: list[ast.AST] = [function, *(_implicit(owner) if owner else ())]
        reached: dict[ast.AST, _Facts] = {}
        while pending:
            node = pending.pop()
            if node not in reached:
                reached[node] = found = self._facts(node)
                pending += (item for name in found.uses for item in self._begun_by(name))
        if any(item.is_computed for item in reached.values()):
            return None
        return frozenset().union(*(item.able for item in reached.values()))

    def _begun_by(self, name: str) -> Iterator[ast.AST]:
        """Yield the functions that run where a name is used: itself, or those that make an object of a class."""
        found = self._names.definition(name)
        if isinstance(found, Function):
            yield found
        elif isinstance(found, ast.ClassDef) and name.endswith("()"):
            for base in (name, *(f"{item}()" for item in self._names.bases(found))):
                made = self._names.definition(base)
                yield from _implicit(made) if isinstance(made, ast.ClassDef) else ()

    def _facts(self, root: ast.AST) -> _Facts:
        if root not in self._known:
            self._known[root] = found = _Facts()
            for node in _code(root):
                self._read(node, found)
        return self._known[root]

    def _read(self, node: ast.AST, found: _Facts) -> None:
        parent = self._parents.get(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in INTERNALS:
            # `getattr` and other look-ups of attributes take the name as text.
            found.able.add(Capability(ESCAPE, repr(node.value)))
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            return
        asked = self._is_asked(node)
        own = getattr(node, "attr", "") or getattr(node, "id", "")
        held = parent.attr if isinstance(parent, ast.Attribute) else ""
        if own in INTERNALS and not (asked or held.startswith("co_") or held.isupper()):
            found.able.add(Capability(ESCAPE, own))
        if held or asked or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)):
            return
        given, names = self._names_of(node)
        for name in names:
            if name in _ANY or (name.startswith(":") and name.endswith(".__dict__[]()")):
                found.is_computed = True
            elif name.startswith(":"):
                found.uses.add(name)
            elif name == "getattr()" and isinstance(node, ast.Call) and self._names.called(node) == "getattr":
                holders = (holder for item in node.args[:1] for holder in self._names.names_of(item))
                found.able.update(item for holder in holders for item in capabilities_of_computed(holder))
            if not given and not name.startswith((":", ".")):
                able = capabilities_of_name(name.replace("()", "").replace("[]", ""))
                found.able.update(
                    item for item in able if item.kind not in _READ or not _is_result(name, node)
                )

    def _names_of(self, node: ast.expr) -> tuple[bool, list[str]]:
        """Return whether an expression begins with a parameter, and its names.

        What a caller gives does nothing by itself. What is given if the caller gives nothing is the code's own.
        """
        names, root = [*self._names.names_of(node)], node
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        scopes = self._names.scopes
        bound = scopes.find(root.id, scopes.scope_of(root)) if isinstance(root, ast.Name) else None
        bindings = bound[1] if bound is not None else []
        given = [item for item in bindings if item.kind in (BindingKind.PARAMETER, BindingKind.RECEIVER)]
        defaults = [name for item in given if item.default for name in self._names.names_of(item.default)]
        rest = dotted_name(node).partition(".")[2]
        return bool(given) and not defaults, names + [f"{name}.{rest}" if rest else name for name in defaults]

    def _is_asked(self, node: ast.AST) -> bool:
        """Return whether a call only asks about an object, or whether another one is of its class."""
        parent = self._parents.get(node)
        while isinstance(parent, ast.Tuple):
            node, parent = parent, self._parents.get(parent)
        if not isinstance(parent, ast.Call) or not isinstance(parent.func, ast.Name):
            return False
        name, places = parent.func.id, parent.args
        return name in _ASKING and (node in places[:1] or (name == "isinstance" and node in places[1:2]))


def effects_in(module: Module) -> ModuleEffects:
    """Return the effects of a file's code, read once for all of its functions."""
    key = ("effects", 0)
    if key not in module.remembered:
        module.remembered[key] = ModuleEffects(module.statements)
    known: ModuleEffects = module.remembered[key]
    return known


@lru_cache(maxsize=64)
def module_capabilities(source: str) -> frozenset[Capability]:
    """Return the capabilities of a module according to its syntax; empty if it does not parse."""
    tree = parse_or_none(source)
    return ModuleEffects(tree.body).of(tree.body) if tree is not None else frozenset()


def _is_result(name: str, node: ast.expr) -> bool:
    """Return whether a name is of what a call or an item gave elsewhere: what was read there is not read here."""
    own = {ast.Call: "()", ast.Subscript: "[]"}.get(type(node), "")
    rest = name.removesuffix(own)
    return "()" in rest or "[]" in rest


def _implicit(owner: ast.ClassDef) -> Iterator[Function]:
    """Yield the methods of a class that Python calls by itself."""
    for item in owner.body:
        if isinstance(item, Function) and item.name.startswith("__"):
            yield item


def _code(root: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of code, without annotations that are left out or that nothing evaluates."""
    pending: list[tuple[ast.AST | None, bool]] = [(root, False)]
    while pending:
        node, in_function = pending.pop()
        if node is None:
            continue
        yield node
        match node:
            case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
                head = [*node.decorator_list, *given.defaults, *given.kw_defaults]
                if not drops_annotations(node):
                    head += [node.returns, *(item.annotation for item in arguments_of(given))]
                pending += ((item, in_function) for item in head)
                pending += ((item, True) for item in node.body)
            case ast.AnnAssign() if in_function:
                pending += ((node.target, True), (node.value, True))
            case _:
                inside = in_function and not isinstance(node, ast.ClassDef)
                pending += ((item, inside) for item in ast.iter_child_nodes(node))
