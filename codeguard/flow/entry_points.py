"""The functions to follow, among them entry points that serve untrusted callers: routes, views, handlers, commands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name
from codeguard.flow.effects import (
    FILLERS,
    HEADER_HOLDERS,
    HEADER_NAME,
    ROUTE,
    ROUTE_OWNERS,
    VERBS,
    VIEW_CLASSES,
)
from codeguard.flow.sinks import SinkIndex
from codeguard.flow.values import ALL_USES, TEXT_USES, Origin, Reach, State, Use, Value
from codeguard.syntax.names import Names, dotted_name
from codeguard.syntax.scopes import FUNCTIONS, FunctionNode, defaults_of

_COMMANDS = lazy(r"^(?:click\.(?:command|option|argument|group)|typer\..*command)$")
_ERRORS = lazy(r"(?:^|\.)(?:errorhandler|app_errorhandler|exception_handler|error_handler)$")
_REFUSING = lazy(
    r"^(?:ValueError|HTTPException|PermissionError)$|^[:.]"
    r"|(?:ValidationError|BadRequest|HTTPException|Http404|NotFound|Denied)$"
)
_NUMBERS = lazy(r"<(int|float|uuid)(?:\([^)]{0,40}\))?:(\w+)>")
_ASYNC_FRAMEWORKS = ("aiohttp.web", "starlette.", "sanic.")
# Methods that servers, protocols and consumers call with received data.
_RECEIVING = frozenset(
    {"data_received", "datagram_received", "dataReceived", "lineReceived", "stringReceived", "datagramReceived",
     "messageReceived", "on_message", "receive_json", "process_message", "handle_DATA", "on_data"}
)  # fmt: skip
# The first parameters of handlers of AWS Lambda, WSGI, paho, asyncio and falcon, which their names alone show.
_SHAPES = lazy(
    r"event context\b|(?:environ|env) (?:start_response|start)\b|\w+ userdata\b|(?:.* )?reader writer$|req resp\b"
)
_HARMLESS_TYPES = frozenset(
    {"int", "float", "bool", "uuid.UUID", "UUID", "datetime.date", "datetime.datetime"}
)


def entry_reach(function: FunctionNode, names: Names) -> Reach:
    """Return who controls a function's parameters: REMOTE for a route, LOCAL for a command, else CALLER."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        written = dotted_name(called)
        for name in (*names.names_of(called), written):
            if _COMMANDS.match(name):
                return Reach.LOCAL
            owners = (name.rpartition(".")[0] or written, written.rpartition(".")[0])
            if ROUTE.search(name) and any(map(ROUTE_OWNERS.search, owners)):
                return Reach.REMOTE
            if _ERRORS.search(written):
                return Reach.REMOTE
    return Reach.REMOTE if _serves(function, names) else Reach.CALLER


def _serves(function: FunctionNode, names: Names) -> bool:
    """Return whether a function is one that a framework calls, by its class, its name and its parameters."""
    listed = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    owner = names.class_of(function)
    if owner is not None and names.scopes.scope_of(function).node is owner:
        listed = listed[1:]
        bases = names.bases(owner)
        verb = function.name in VERBS or function.name.startswith("do_")
        if verb and any(VIEW_CLASSES.search(base) for base in bases):
            return True
        if owner.bases and listed and function.name in _RECEIVING:
            return True
        if any(base.endswith("Servicer") for base in bases) and listed[-1:] == ["context"]:
            return True
        if listed[:1] == ["info"] and function.name.startswith("resolve_"):
            return True
    if _SHAPES.match(" ".join(listed)):
        return True
    if listed[:1] != ["request"]:
        return False
    of_django = owner is None and any(name.startswith("django.") for name in names.imported)
    is_async = isinstance(function, ast.AsyncFunctionDef) and len(listed) == 1
    return of_django or (is_async and any(name.startswith(_ASYNC_FRAMEWORKS) for name in names.imported))


def _handles_errors(function: ast.AST | None) -> bool:
    """Return whether a function handles the errors of other handlers; its parameter is the exception."""
    decorators = getattr(function, "decorator_list", ())
    return any(
        _ERRORS.search(dotted_name(item.func if isinstance(item, ast.Call) else item)) for item in decorators
    )


def says_what_is_wrong(kind: ast.expr | None, names: Names) -> bool:
    """Return whether exceptions of a class are meant to tell the sender what is wrong with the input."""
    parts = kind.elts if isinstance(kind, ast.Tuple) else [] if kind is None else [kind]
    found = [names.resolve(part) for part in parts]
    return bool(found) and all(map(_REFUSING.search, found))


def _is_injected(function: FunctionNode, argument: ast.arg, names: Names) -> bool:
    """Return whether the framework creates a parameter's value (`Depends`), such as a database session."""
    default = defaults_of(function.args).get(argument.arg)
    inner = getattr(getattr(argument.annotation, "slice", None), "elts", ())
    return any(
        isinstance(node, ast.Call) and names.called(node).rpartition(".")[2] in ("Depends", "Security")
        for node in (default, *inner)
    )


def seed_parameters(function: FunctionNode, reach: Reach, names: Names, state: State) -> None:
    """Give a function's parameters the values that they have when anyone may call it."""
    listed = [*function.args.posonlyargs, *function.args.args]
    method = names.scopes.scope_of(function).is_class
    extra = [item for item in (function.args.vararg, function.args.kwarg) if item is not None]
    of_errors = _handles_errors(function)
    for index, argument in enumerate([*listed, *function.args.kwonlyargs, *extra]):
        state.names.pop(argument.arg, None)
        if (method and index == 0 and listed) or argument.arg in ("self", "cls"):
            continue
        # The request of a web framework has parts, that of gRPC is what the client sent.
        framework = argument.arg == "request" and reach is Reach.REMOTE and listed[-1].arg != "context"
        if _is_injected(function, argument, names) or framework:
            continue
        clean = _clean(function, argument, reach, names)
        if clean == ALL_USES:
            continue
        line = getattr(argument, "lineno", 0)
        if of_errors:
            origin = Origin(Reach.LOCAL, f"the exception {argument.arg}", "exception", line=line)
        else:
            origin = Origin(reach, argument.arg, "input", function, argument.arg, line)
        state.names[argument.arg] = Value(frozenset({origin}), clean)


def _clean(function: FunctionNode, argument: ast.arg, reach: Reach, names: Names) -> frozenset[str]:
    """Return the uses that a parameter is harmless for, by its type or by the pattern of its route."""
    kind = "" if argument.annotation is None else names.resolve(argument.annotation)
    if kind in _HARMLESS_TYPES:
        return ALL_USES
    if reach is not Reach.REMOTE:
        return frozenset()
    for decorator in function.decorator_list:
        path = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        for _, name in _NUMBERS.findall(names.text(path) or "") if path is not None else ():
            if name == argument.arg:
                return TEXT_USES
    return frozenset({Use.NOSQL}) if kind == "str" else frozenset()


_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign)


def functions_that_matter(
    names: Names, nodes: Sequence[ast.AST], sinks: SinkIndex, entry: Callable[[FunctionNode], Reach]
) -> tuple[set[ast.AST | None], set[ast.AST | None], bool]:
    """Return the functions to follow (None is the module level), those that store values, and whether texts are sinks.

    To follow are functions with a sink or a response header that is set, functions that serve untrusted callers, and
    those that may compose a text which is a sink itself. If there are any, their callers, enclosing functions and all
    functions that store attributes are included. Empty if nothing can be reported.
    """
    matter: set[ast.AST | None] = set()
    storing: set[ast.AST | None] = set()
    callers: dict[ast.AST, set[ast.AST | None]] = {}
    composes = False
    # One loop with exact types for everything, because it runs over all nodes of every file.
    for node in nodes:
        kind = type(node)
        targets: Sequence[ast.AST] = ()
        if kind is ast.Call:
            called = node.func  # type: ignore[attr-defined]
            resolved = names.names_of(called) or ((called.id,) if type(called) is ast.Name else ())
            if sinks.has(called, resolved):
                matter.add(names.function_of(node))
            for name in resolved:
                definition = names.definition(name) if name[:1] == ":" else None
                if isinstance(definition, FUNCTIONS):
                    callers.setdefault(definition, set()).add(names.function_of(node))
            if type(called) is ast.Attribute and called.attr in FILLERS:
                targets = (called.value,)
        elif kind in _STORES:
            targets = node.targets if kind is ast.Assign else (node.target,)  # type: ignore[attr-defined]
            if any(isinstance(target, ast.Subscript) and sets_header(target) for target in targets):
                matter.add(names.function_of(node))
        elif kind is ast.Constant:
            if sinks.begins(node.value):  # type: ignore[attr-defined]
                composes = True
                around = names.function_of(node)
                # One outside of functions may be used by all of them.
                matter.update([around] if around is not None else [None, *names.scopes.symbols])
        elif kind in FUNCTIONS:
            if entry(node) is Reach.REMOTE:  # type: ignore[arg-type]
                matter.add(node)
            around = names.function_of(node)
            if around is not None:
                callers.setdefault(node, set()).add(around)
        for target in targets:
            holder = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(holder, ast.Attribute) or is_global(names, holder):
                storing.add(names.function_of(node))
    found = matter | storing if matter else set()
    waiting = [item for item in matter if item is not None]
    while waiting:
        new = callers.get(waiting.pop(), set()) - found - {None}
        found |= new
        waiting += filter(None, new)
    return found, storing, composes


def is_global(names: Names, target: ast.AST) -> bool:
    """Return whether a name in a function is one of the module."""
    if not isinstance(target, ast.Name):
        return False
    scopes = names.scopes
    scope = scopes.scope_of(target)
    found = None if scope is scopes.module else scopes.find(target.id, scope)
    return found is not None and found[0] is scopes.module


def sets_header(target: ast.Subscript) -> bool:
    """Return whether an assignment sets a response header."""
    name = unqualified_name(target.value)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    return name in HEADER_HOLDERS or (
        isinstance(key, str) and bool(name) and HEADER_NAME.match(key) is not None
    )
