"""Facts about entry points: the words of a function, its HTTP methods, and whether it knows a user."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codeguard.analysis.rules.insecure.base import View
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.syntax.scopes import FunctionNode

REQUEST_READS = lazy(
    r"\brequest\.(?:args|form|values|json|get_json|get_data|data|files|headers|cookies|GET|POST|FILES|query|query_params|"
    r"match_info|body|post|params|path_params|rel_url)\b"
)


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
