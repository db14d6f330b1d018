"""Entry points: functions that serve untrusted callers, such as routes, views, handlers and commands."""

from __future__ import annotations

import ast
import re

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse
from codeguard.flow.outside import SAID, from_outside
from codeguard.flow.tables import ROUTE, ROUTE_OWNERS, VERBS, VIEW_CLASSES
from codeguard.flow.values import ALL_USES, TEXT_USES, Origin, Reach, State, Use, Value
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode, defaults_of

_COMMANDS = lazy(r"^(?:click\.(?:command|option|argument|group)|typer\..*command)$")
_EVENTS = lazy(
    r"(?:^|[^a-z])(?:socketio|sio|websocket|mcp|bot|slack\w*|agent|toolkit|server|fastmcp)\w*(?:\(\))?\."
    r"(?:on|on_message|event|tool\w*|resource|prompt|command|message|action|message_handler|callback_query_handler|function)$"
    r"|(?:^|\.)(?:tool|function_tool|kernel_function|register_tool|http|cloud_event|entrypoint|function_name)$"
    r"|(?:^|\.)(?:cherrypy\.)?expose$|\b(?:rpc|dispatcher|jsonrpc|jrpc|methods?)\w*\.(?:add_method|method|register)$",
    re.I,
)
_ERRORS = lazy(r"(?:^|\.)(?:errorhandler|app_errorhandler|exception_handler|error_handler)$")
_NUMBERS = lazy(r"<(int|float|uuid)(?:\([^)]{0,40}\))?:(\w+)>")
_EXCEPTIONS = frozenset({"exc", "exception", "error", "err", "e"})
_BESIDE_REQUESTS = _EXCEPTIONS | {
    "call_next",
    "handler",
}  # further parameters that frameworks pass to handlers
_ACTIONS = frozenset({"list", "retrieve", "create", "update", "partial_update", "destroy"})
_REQUESTS = lazy(r"^(?:aiohttp|starlette|fastapi|sanic|django|quart|rest_framework|litestar)\..*Request$")
HARMLESS_TYPES = frozenset(
    {"int", "float", "bool", "uuid.UUID", "UUID", "datetime.date", "datetime.datetime"}
)


def entry_reach(function: FunctionNode, names: Names) -> Reach:
    """Return who controls a function's parameters: REMOTE for a route, LOCAL for a command, else CALLER."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        for name in names.names_of(called) or (written_name(called),):
            if _COMMANDS.match(name):
                return Reach.LOCAL
            if ROUTE.search(name) and ROUTE_OWNERS.search(name.rpartition(".")[0] or written_name(called)):
                return Reach.REMOTE
            if ROUTE.search(name) and ROUTE_OWNERS.search(written_name(called).rpartition(".")[0]):
                return Reach.REMOTE
            if (
                _EVENTS.search(name)
                or _EVENTS.search(written_name(called))
                or _ERRORS.search(written_name(called))
            ):
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
        if _by_shape(listed[1:], function) or (
            function.name in _RECEIVING and owner.bases and len(listed) > 1
        ):
            return Reach.REMOTE
        called = function.name in VERBS or function.name.startswith("do_")
        if called and any(VIEW_CLASSES.search(base) for base in bases):
            return Reach.REMOTE
        if function.name in _ACTIONS and any(base.endswith("ViewSet") for base in bases):
            return Reach.REMOTE
        # A method's first parameter is its object, so the request is the second.
        if _takes_request(function, listed[1:2], names):
            return Reach.REMOTE
        if any(base.endswith("Servicer") for base in bases) and listed[-1:] == ["context"]:
            return Reach.REMOTE
        return (
            Reach.REMOTE if listed[1:2] == ["info"] and function.name.startswith("resolve_") else Reach.CALLER
        )
    if _by_shape(listed, function):
        return Reach.REMOTE
    # Entry points of AWS Lambda and WSGI are recognised by their parameters only.
    if (
        listed[:2] == ["event", "context"]
        or (listed[:1] == ["event"] and "handler" in function.name)
        or (listed[:1] in (["environ"], ["env"]) and listed[1:2] in (["start_response"], ["start"]))
    ):
        return Reach.REMOTE
    if listed[:1] != ["request"] or _returns_no_answer(function):
        return Reach.CALLER
    of_django = any(name.startswith("django.") for name in names.imported)
    return Reach.REMOTE if of_django or _takes_request(function, listed[:1], names) else Reach.CALLER


def _returns_no_answer(function: FunctionNode) -> bool:
    """Return whether a function says that it returns something else than a view does: `-> bool`."""
    said = "" if function.returns is None else unparse(function.returns)
    return bool(said) and _ANSWERED.search(said) is None


_ANSWERED = lazy(r"Response|\bAny\b|\bobject\b|\b[A-Z]\w?\b")  # with variables of types


def _by_shape(listed: list[str], function: FunctionNode) -> bool:
    """Return whether the parameters are those of a message or connection handler.

    pika passes a channel, a method, properties and a body; paho a client, its user data and a
    message; asyncio a reader and a writer; falcon a request and a response.
    """
    given = frozenset(listed)
    return (
        ("body" in given and bool(given & {"properties", "props"}) and len(listed) == 4)
        or listed[1:2] == ["userdata"]
        or (listed[-2:] == ["reader", "writer"] and isinstance(function, ast.AsyncFunctionDef))
        or (listed[:2] == ["req", "resp"] and function.name.startswith("on_"))
    )


# Methods that servers, protocols and consumers call with received data.
_RECEIVING = frozenset(
    {"data_received", "datagram_received", "dataReceived", "lineReceived", "stringReceived", "datagramReceived",
     "messageReceived", "on_message", "receive_json", "process_message", "handle_DATA", "on_data"}
)  # fmt: skip


def _takes_request(function: FunctionNode, first: list[str], names: Names) -> bool:
    """Return whether a function takes a request of aiohttp, Starlette or Sanic, like their handlers."""
    if first != ["request"]:
        return False
    listed = function.args.args
    index = next(index for index, item in enumerate(listed) if item.arg == "request")
    # A method with more parameters is called by the application, but its request is still untrusted.
    if index == 1 and any(item.arg not in _BESIDE_REQUESTS for item in listed[2:]):
        return False
    annotation = listed[index].annotation
    if annotation is not None:
        return bool(_REQUESTS.search(names.resolve(annotation)))
    handled = any(name.startswith(("aiohttp.web", "starlette.", "sanic.")) for name in names.imported)
    return handled and isinstance(function, ast.AsyncFunctionDef)


def handles_errors(function: ast.AST | None, names: Names) -> bool:
    """Return whether a function handles the errors of other handlers; its parameter is the exception."""
    decorators = (
        function.decorator_list if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    )
    if any(
        _ERRORS.search(written_name(item.func if isinstance(item, ast.Call) else item)) for item in decorators
    ):
        return True
    # Error handlers of Starlette and FastAPI take the request and the exception; they are registered elsewhere.
    listed = [item.arg for item in function.args.args] if isinstance(function, ast.AsyncFunctionDef) else []
    return len(listed) == 2 and listed[0] == "request" and listed[1] in _EXCEPTIONS


def says_what_is_wrong(kind: ast.expr | None, names: Names) -> bool:
    """Return whether exceptions of a class are meant to tell the sender what is wrong with the input."""
    parts = kind.elts if isinstance(kind, ast.Tuple) else [] if kind is None else [kind]
    found = [names.resolve(part) for part in parts]
    return bool(found) and all(
        name in ("ValueError", "HTTPException", "PermissionError")
        or name.startswith((":", "."))
        or name.endswith(("ValidationError", "BadRequest", "HTTPException", "Http404", "NotFound", "Denied"))
        for name in found
    )


def harmless(argument: ast.arg, names: Names) -> bool:
    """Return whether a parameter's annotation makes it a number, a date or the like."""
    if argument.annotation is None:
        return False
    return names.resolve(argument.annotation) in HARMLESS_TYPES


def is_injected(function: FunctionNode, argument: ast.arg, names: Names) -> bool:
    """Return whether the framework creates a parameter's value (`Depends`), such as a database session."""
    default = defaults_of(function.args).get(argument.arg)
    if isinstance(default, ast.Call):
        return names.called(default).rpartition(".")[2] in ("Depends", "Security")
    annotation = argument.annotation
    if isinstance(annotation, ast.Subscript):
        return any(
            isinstance(node, ast.Call) and names.called(node).rpartition(".")[2] in ("Depends", "Security")
            for node in getattr(annotation.slice, "elts", [])
        )
    return False


def written_name(node: ast.expr) -> str:
    """Return a dotted name as written, without resolving it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def seed_parameters(function: FunctionNode, reach: Reach, names: Names, state: State) -> None:
    """Give a function's parameters the values that they have when anyone may call it."""
    listed = [*function.args.posonlyargs, *function.args.args]
    method = names.scopes.scope_of(function).is_class
    extra = [item for item in (function.args.vararg, function.args.kwarg) if item is not None]
    said = from_outside(function) if reach is Reach.CALLER else frozenset()
    for index, argument in enumerate([*listed, *function.args.kwonlyargs, *extra]):
        state.names.pop(argument.arg, None)
        if (method and index == 0 and listed) or argument.arg in ("self", "cls"):
            continue
        # The request of a web framework has parts, that of gRPC is what the client sent.
        framework = argument.arg == "request" and reach is Reach.REMOTE and listed[-1].arg != "context"
        if is_injected(function, argument, names) or framework:
            continue
        clean = _clean(function, argument, Reach.REMOTE if argument.arg in said else reach, names)
        if clean == ALL_USES:
            continue
        line = getattr(argument, "lineno", 0)
        if handles_errors(function, names):
            if says_what_is_wrong(argument.annotation, names):
                continue
            origin = Origin(Reach.LOCAL, f"the exception {argument.arg}", "exception", line=line)
        else:
            tag = SAID if argument.arg in said else "input"
            origin = Origin(reach, argument.arg, tag, function, argument.arg, line)
        state.names[argument.arg] = Value(frozenset({origin}), clean)


def _clean(function: FunctionNode, argument: ast.arg, reach: Reach, names: Names) -> frozenset[str]:
    """Return the uses that a parameter is harmless for, by its type or by the pattern of its route."""
    if harmless(argument, names):
        return ALL_USES
    if reach is not Reach.REMOTE:
        return frozenset()
    for decorator in function.decorator_list:
        path = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        for _, name in _NUMBERS.findall(names.text(path) or "") if path is not None else ():
            if name == argument.arg:
                return TEXT_USES
    shape = (
        names.definition(f":{argument.annotation.id}") if isinstance(argument.annotation, ast.Name) else None
    )
    if isinstance(shape, ast.ClassDef) and any(base.endswith("BaseModel") for base in names.bases(shape)):
        return frozenset({Use.KEYS, Use.NOSQL})
    return (
        frozenset({Use.NOSQL})
        if argument.annotation and names.resolve(argument.annotation) == "str"
        else frozenset()
    )
