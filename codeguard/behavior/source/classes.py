"""A class reduced to what one of its methods needs."""

from __future__ import annotations

import ast
import collections.abc
import copy
from weakref import WeakKeyDictionary

from codeguard.behavior.source.definitions import Function, Module
from codeguard.behavior.source.layout import arguments_of
from codeguard.behavior.source.names import binders_of, names_used_on_execution
from codeguard.syntax.names import dotted_name

MOST_BASES = 16  # bases per class to examine
MOST_HARMLESS = 24  # methods kept with each method for building objects; all of them would be quadratic


_reached: WeakKeyDictionary[Function, frozenset[str]] = WeakKeyDictionary()
_pruned: WeakKeyDictionary[ast.ClassDef, dict[frozenset[str], ast.ClassDef]] = WeakKeyDictionary()


def required_by_bases(owner: ast.ClassDef, module: Module) -> frozenset[str]:
    """Return the method names that the bases of a class may call or require.

    Only bases in the same file and abstract collections count. An object cannot be created if a
    method that is abstract there is missing.
    """

    def look(_: ast.stmt) -> frozenset[str]:
        found: set[str] = set()
        pending, seen = [owner], {owner.name}
        while pending and len(seen) < MOST_BASES:
            for base in pending.pop().bases:
                name = dotted_name(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2]
                if name in seen:
                    continue
                seen.add(name)
                if name in collections.abc.__all__:
                    found.update(dir(getattr(collections.abc, name)))
                for place in binders_of(module).get(name, ())[-1:]:
                    statement = module.statements[place]
                    if isinstance(statement, ast.ClassDef):
                        pending.append(statement)
                        methods = [node for node in statement.body if isinstance(node, Function)]
                        found.update(*map(_names_reached, methods))
                        found.update(node.name for node in methods if node.decorator_list)
        return frozenset(found)

    return module.once("asked by bases", owner, look)


def pruned_class(owner: ast.ClassDef, method: str, required: frozenset[str]) -> ast.ClassDef:
    """Return a class reduced to the methods that `method` can reach by name or that are required.

    Some methods that use nothing outside of the object are kept too: they are harmless, and
    examples use them to build the object. Methods that reach the same others share one tree, so
    that it is unparsed once.
    """
    body = _bodies.get(owner)
    if body is None:
        body = _bodies[owner] = _Body(owner)
    kept: set[str] = set()
    wanted = [method, *body.special, *body.used, *body.harmless[:MOST_HARMLESS], *required]
    while wanted:
        name = wanted.pop()
        if name in body.methods and name not in kept:
            kept.add(name)
            wanted.extend(_names_reached(body.methods[name]))
    shared = _pruned.setdefault(owner, {})
    key = frozenset(kept)
    if key not in shared:
        shared[key] = copy.copy(owner)
        places = sorted([*body.other, *(place for name in key for place in body.places[name])])
        shared[key].body = [owner.body[place] for place in places]
    return shared[key]


class _Body:
    """The content of a class: its methods by name (the last definition wins), and other statements."""

    def __init__(self, owner: ast.ClassDef) -> None:
        self.methods: dict[str, Function] = {}
        self.places: dict[str, list[int]] = {}
        self.other: list[int] = []
        for place, node in enumerate(owner.body):
            if isinstance(node, Function):
                self.methods[node.name] = node
                self.places.setdefault(node.name, []).append(place)
            else:
                self.other.append(place)
        # used by other statements, such as `__copy__ = copy`
        self.used = [name for place in self.other for name in names_used_on_execution(owner.body[place])]
        self.special = [name for name in self.methods if name.startswith("__") and name.endswith("__")]
        self.harmless = [name for name, node in self.methods.items() if _is_self_contained(node)]


# Builtins that reach nothing beyond their arguments.
_HARMLESS_BUILTINS = frozenset(
    """
    abs all any bool bytes dict divmod enumerate filter float frozenset int isinstance iter len list map max min
    next object range repr reversed round set slice sorted str sum tuple type zip super
    ValueError TypeError KeyError IndexError AttributeError StopIteration RuntimeError NotImplementedError
    """.split()  # noqa: SIM905
)


def _is_self_contained(method: Function) -> bool:
    """Return whether a method uses only its object, its arguments and plain builtins."""
    if method.decorator_list:
        return False
    bound = {argument.arg for argument in arguments_of(method.args)}
    loaded: set[str] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or (
            isinstance(node, ast.Attribute) and node.attr.startswith("__")
        ):
            return False
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            bound.update(argument.arg for argument in arguments_of(node.args))
    return loaded - bound <= _HARMLESS_BUILTINS


_bodies: WeakKeyDictionary[ast.ClassDef, _Body] = WeakKeyDictionary()


def _names_reached(method: Function) -> frozenset[str]:
    """Return the attributes that a method uses, including those named in strings."""
    names = _reached.get(method)
    if names is None:
        found = set()
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        names = _reached[method] = frozenset(found)
    return names
