"""Facts about entry points: the words of a function, its HTTP methods, and whether it knows a user."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codeguard.analysis.rules.insecure.base import FUNCTIONS, View
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.flow.values import Reach
from codeguard.syntax.scopes import FunctionNode

LOGIN = lazy(
    r"login|auth|jwt|permission|current_?user|protected|require|token|bearer|member|identity|staff",
    re.IGNORECASE,
)
_USERS = lazy(
    r"(?:^|_)(?:user|account|member|principal|reader|owner|customer|admin|identity|subject|actor)(?:$|_)|auth",
    re.IGNORECASE,
)
REQUEST_READS = lazy(
    r"\brequest\.(?:args|form|values|json|get_json|get_data|data|files|headers|cookies|GET|POST|FILES|query|query_params|"
    r"match_info|body|post|params|path_params|rel_url)\b"
)


def is_handler(view: View, node: ast.AST) -> bool:
    """Return whether a node is an entry point."""
    return isinstance(node, FUNCTIONS) and view.flow.entry(node) is Reach.REMOTE


def joined_words(nodes: Iterable[ast.AST], without: Iterable[str] = ()) -> str:
    """Return the names, keywords, short texts and status codes in some nodes, joined."""
    left_out = frozenset(without)
    found: list[str] = []
    for node in nodes:
        for part in walk(node):
            word = _word(part)
            if word and word not in left_out:
                found.append(word)
    return " ".join(found)[:20_000]


def _word(part: ast.AST) -> str:
    if isinstance(part, ast.Name):
        return part.id
    if isinstance(part, ast.Attribute):
        holder = part.value
        if part.attr == "user" and isinstance(holder, ast.Name | ast.Attribute):
            return "current_user"  # request.user, g.user, request.state.user
        return part.attr
    if isinstance(part, ast.keyword | ast.arg):
        return part.arg or ""
    if isinstance(part, ast.Constant):
        return str(part.value)[:100] if isinstance(part.value, str | int) else ""
    return ""


def knows_user(view: View, function: FunctionNode) -> bool:
    """Return whether a handler is only called for logged-in users, by its decorators, class or tests."""
    around: list[ast.AST] = [
        part.func if isinstance(part, ast.Call) and part.args else part for part in function.decorator_list
    ]
    owner = view.names.class_of(function)
    if owner is not None:
        around += [*owner.bases, *owner.decorator_list]
        around += [item.value for item in owner.body if isinstance(item, ast.Assign)]
    if LOGIN.search(joined_words(around)):
        return True
    if any(_USERS.search(name) for name in injected(function)):
        return True
    tests = [part.test for part in walk(function) if isinstance(part, ast.If)]
    return bool(LOGIN.search(said := joined_words(tests)) or "user_id" in said)


def injected(function: FunctionNode) -> Iterator[str]:
    """Yield the names that FastAPI's `Depends` is called with."""
    given = [*function.args.defaults, *(item for item in function.args.kw_defaults if item is not None)]
    given += [item.annotation for item in function.args.args if item.annotation is not None]
    for part in (node for item in given for node in walk(item)):
        if isinstance(part, ast.Call) and getattr(part.func, "id", getattr(part.func, "attr", "")) in (
            "Depends",
            "Security",
        ):
            yield from joined_words(part.args).split()


def client_parameters(function: FunctionNode) -> set[str]:
    """Return the names of a function's parameters except the request, the object and injected ones."""
    listed = [*function.args.posonlyargs, *function.args.args]
    taken = {item.arg for item in listed[len(listed) - len(function.args.defaults) :]}
    return {item.arg for item in (*listed, *function.args.kwonlyargs) if item.arg not in taken} - {
        "self",
        "cls",
        "request",
    }


def methods_of(view: View, function: FunctionNode) -> set[str]:
    """Return the HTTP methods that a handler accepts, in upper case; empty if unknown."""
    found: set[str] = set()
    for decorator in function.decorator_list:
        last = unqualified_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if last in ("get", "post", "put", "patch", "delete"):
            found.add(last.upper())
        elif last in ("require_POST", "require_http_methods", "require_GET", "api_view"):
            given = (
                view.names.constant(decorator.args[0])
                if isinstance(decorator, ast.Call) and decorator.args
                else ()
            )
            found.update(
                given if isinstance(given, tuple) else (), {"POST"} if last == "require_POST" else set()
            )
            found.update({"GET"} if last == "require_GET" else ())
        elif last == "route" and isinstance(decorator, ast.Call):
            given = view.constant(decorator, "methods", default=("GET",))
            found.update(str(item) for item in given) if isinstance(given, tuple) else None
    if function.name.upper() in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        found.add(function.name.upper())
    return found


def is_from_request(view: View, node: ast.expr) -> bool:
    """Return whether an expression, or the value of its name, reads from the request."""
    return any(REQUEST_READS.search(unparse(value)[:300]) for value in (node, *view.names.values_of(node)))


def is_kept_upload(view: View, call: ast.Call, path: ast.expr) -> bool:
    """Return whether the function around a call has written the request's data to a path before."""
    function, written = view.function_of(call), ast.dump(path)
    return function is not None and any(
        isinstance(part, ast.Call)
        and part.lineno < call.lineno
        and is_from_request(view, part)
        and any(isinstance(item, ast.expr) and ast.dump(item) == written for item in walk(part))
        for part in walk(function)
    )
