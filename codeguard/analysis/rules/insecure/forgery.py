"""Requests that attackers can forge: changes by GET."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import (
    client_parameters,
    is_from_request,
    is_handler,
    joined_words,
    knows_user,
    methods_of,
)
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, variables_in, walk

_RULES = rules_of(__file__)

_CHANGES = frozenset({"commit", "delete", "save", "destroy", "transfer", "set_password", "remove"})
_NAMED = lazy(r"^(?:delete|remove|destroy|drop|purge|wipe|erase|ban|revoke|transfer)(?:_|$)")
# What a visitor does by a button, and what keeps it.
_ORDERS = lazy(
    r"^(?:leave|close|cancel|deactivate|unsubscribe|approve|accept|reject|join|disable|enable|confirm|pay|follow|unfollow"
    r"|like|vote|promote|archive|publish|unlink|disconnect|clear|empty|redeem|buy|send)(?:_|$)"
)
_STORES = frozenset({"commit", "save", "delete"})
_SIGNED = lazy(
    r"sign|hmac|digest|verif|construct_event|secret|token|auth|hub_signature|api_?key|compare_digest|allowed|remote_addr|"
    r"\b40[13]\b|Permission|Forbidden",
    re.IGNORECASE,
)


def _by_get(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find handlers for logged-in users that change data by parameters of a GET."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not is_handler(view, node):
        return
    methods = methods_of(view, node)
    if view.names.class_of(node) is None:
        methods.discard(node.name.upper())  # a function named `delete` does not handle DELETE
    if methods - {"GET", "HEAD"} or (not methods and "django" not in view.modules):
        return
    parts = list(walk(node))
    if "GET" in methods and _NAMED.search(node.name) and any(map(_changes, parts)):
        yield NodeMatch(node, "a link on any page changes something here: take POST or DELETE")
        return
    changes = any(isinstance(part, ast.Call) and unqualified_name(part.func) in _STORES for part in parts)
    if methods == {"GET"} and _ORDERS.search(node.name) and changes and knows_user(view, node):
        yield NodeMatch(node, "a link or picture on another site does this in the user's name: take POST")
        return
    reads = any(isinstance(part, ast.Attribute) and part.attr in ("args", "GET") and is_from_request(view, part)
                for part in parts)  # fmt: skip
    reads = reads or ("django" in view.modules and bool(client_parameters(node)))
    if not reads or not knows_user(view, node) or any(_tests_method(part) for part in parts):
        return
    for part in parts:
        if _saves(view, part):
            yield NodeMatch(part, "a link or picture on another site does this in the user's name")
            return


def _saves(view: View, part: ast.AST) -> bool:
    """Return whether a call saves an object instead of only creating it: `form.save(commit=False)`."""
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute):
        return False
    return part.func.attr in _CHANGES and view.constant(part, "commit", default=True) is not False


def _changes(part: ast.AST) -> bool:
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute):
        return False
    return part.func.attr in _CHANGES or _NAMED.search(part.func.attr) is not None


def _tests_method(part: ast.AST) -> bool:
    return isinstance(part, ast.Attribute) and part.attr in ("method", "POST", "form", "is_valid")


def _called(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Await) else node


_NUMBERS = word_set("int float decimal.Decimal Decimal round")
_BOUNDED = lazy(
    r"\b(?:abs|max|min|validate\w*|is_valid|PositiveInt|conint|NumberRange|MinValueValidator|ge|gt)\b"
)


def _moved(view: View, taken: ast.AugAssign) -> Iterator[NodeMatch]:
    """Find an amount that is taken here and given there, and may be below nothing, which turns it round."""
    node = view.function_of(taken)
    if not isinstance(taken.op, ast.Sub) or not isinstance(taken.value, ast.Name) or node is None:
        return
    if not isinstance(taken.target, ast.Attribute | ast.Subscript) or is_handler(view, node):
        return
    given = {item.arg for item in (*node.args.args, *node.args.kwonlyargs)}
    moved: dict[str, set[type[ast.operator]]] = {}
    parts = list(walk(node))
    for part in parts:
        if not isinstance(part, ast.AugAssign) or not isinstance(part.target, ast.Attribute | ast.Subscript):
            continue
        named = isinstance(part.value, ast.Name) and part.value.id in given
        if named and isinstance(part.value, ast.Name) and _WORTH.search(unparse(part.target)):
            moved.setdefault(part.value.id, set()).add(type(part.op))
    for held, operators in moved.items():
        if operators != {ast.Add, ast.Sub} or _BOUNDED.search(joined_words([node])):
            continue
        tests = [item for item in parts if isinstance(item, ast.Compare) and held in variables_in(item)]
        below = [item for item in tests if any(_is_number(side) for side in (item.left, *item.comparators))]
        if tests and not below:
            yield NodeMatch(tests[0], f"{held} may be below nothing: what is taken is then given")


_WORTH = lazy(
    r"balance|points|credits?\b|coins|amount|stock|funds|shares|quantity|wallet|account", re.IGNORECASE
)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and node.args:
        return _is_number(node.args[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


_FIELDS = word_set("int float decimal.Decimal Decimal")
CHECKS = (
    Check(
        _RULES["change-by-get"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_by_get,
    ),
)
