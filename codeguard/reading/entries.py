"""Which functions strangers call: routes, views, handlers, commands."""

from __future__ import annotations

import ast
import re

from codeguard.reading.flowtables import ROUTE, ROUTE_OWNERS, VERBS, VIEW_CLASSES
from codeguard.reading.flowvalues import Origin, Reach, State, Value
from codeguard.reading.names import Names
from codeguard.reading.patterns import lazy
from codeguard.reading.scopes import FunctionNode

_COMMANDS = lazy(r"^(?:click\.(?:command|option|argument|group)|typer\..*command)$")
_EVENTS = lazy(
    r"(?:socketio|sio|websocket|mcp|bot)\w*(?:\(\))?\.(?:on|event|tool|resource|prompt|command)$", re.I
)
_HARMLESS_TYPES = frozenset(
    {"int", "float", "bool", "uuid.UUID", "UUID", "datetime.date", "datetime.datetime"}
)


def entry_reach(function: FunctionNode, names: Names) -> Reach:
    """Return who chooses the parameters of a function: REMOTE for a route, LOCAL for a command, else CALLER."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        for name in names.names_of(called) or (_written(called),):
            if _COMMANDS.match(name):
                return Reach.LOCAL
            if ROUTE.search(name) and ROUTE_OWNERS.search(name.rpartition(".")[0] or _written(called)):
                return Reach.REMOTE
            if ROUTE.search(name) and ROUTE_OWNERS.search(_written(called).rpartition(".")[0]):
                return Reach.REMOTE
            if _EVENTS.search(name) or _EVENTS.search(_written(called)):
                return Reach.REMOTE
            if name.endswith(
                ("api_view", "require_http_methods", "require_POST", "require_GET", "csrf_exempt")
            ):
                return Reach.REMOTE
    return _by_place(function, names)


def _by_place(function: FunctionNode, names: Names) -> Reach:
    listed = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    owner = names.class_of(function)
    if owner is not None and names.scopes.scope_of(function).node is owner:
        bases = names.bases(owner)
        called = function.name in VERBS or function.name.startswith("do_")
        if called and any(VIEW_CLASSES.search(base) for base in bases):
            return Reach.REMOTE
        if any(base.endswith("Servicer") for base in bases) and listed[-1:] == ["context"]:
            return Reach.REMOTE
        return (
            Reach.REMOTE if listed[1:2] == ["info"] and function.name.startswith("resolve_") else Reach.CALLER
        )
    if listed[:2] == ["event", "context"] or listed[:2] == ["environ", "start_response"]:
        return Reach.REMOTE
    if listed[:1] == ["request"] and any(name.startswith("django.") for name in _imported(names)):
        return Reach.REMOTE
    return Reach.CALLER


def harmless(argument: ast.arg, names: Names) -> bool:
    """Whether a parameter's annotation says that it is a number, a date or the like."""
    if argument.annotation is None:
        return False
    return names.resolve(argument.annotation) in _HARMLESS_TYPES


def is_injected(function: FunctionNode, argument: ast.arg, names: Names) -> bool:
    """Whether the framework makes a parameter's value itself (`Depends`), as it does a session of a database."""
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = [
        *zip(reversed(positional), reversed(function.args.defaults), strict=False),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    for each, default in pairs:
        if each is argument and isinstance(default, ast.Call):
            return names.called(default).rpartition(".")[2] in ("Depends", "Security")
    annotation = argument.annotation
    if isinstance(annotation, ast.Subscript):
        return any(
            isinstance(node, ast.Call) and names.called(node).rpartition(".")[2] in ("Depends", "Security")
            for node in getattr(annotation.slice, "elts", [])
        )
    return False


def _imported(names: Names) -> list[str]:
    return [item.name for items in names.scopes.module.bindings.values() for item in items if item.name]


def _written(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def enter(function: FunctionNode, reach: Reach, names: Names, state: State) -> None:
    """Give a function's parameters the values that they have when it is called by whoever calls it."""
    listed = [*function.args.posonlyargs, *function.args.args]
    method = names.scopes.scope_of(function).is_class
    extra = [item for item in (function.args.vararg, function.args.kwarg) if item is not None]
    for index, argument in enumerate([*listed, *function.args.kwonlyargs, *extra]):
        state.names.pop(argument.arg, None)
        if (method and index == 0 and listed) or argument.arg in ("self", "cls"):
            continue
        if harmless(argument, names) or is_injected(function, argument, names):
            continue
        if argument.arg == "request" and reach is Reach.REMOTE:
            continue
        line = getattr(argument, "lineno", 0)
        origin = Origin(reach, argument.arg, "input", function, argument.arg, line)
        state.names[argument.arg] = Value(frozenset({origin}))
