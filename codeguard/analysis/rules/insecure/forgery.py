"""Requests that attackers can forge: changes by GET, unsigned webhooks, unchecked origins, prices in forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import (
    body_words,
    client_parameters,
    is_from_request,
    is_handler,
    joined_words,
    knows_user,
    methods_of,
)
from codeguard.analysis.rules.insecure.sessions import framework_settings
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, variables_in, walk

_RULES = rules_of(__file__)

_CHANGES = frozenset({"commit", "delete", "save", "destroy", "transfer", "set_password", "remove"})
_NAMED = lazy(r"^(?:delete|remove|destroy|drop|purge|wipe|erase|ban|revoke|transfer)(?:_|$)")
# What a visitor does by a button, and what keeps it.
_ORDERS = lazy(
    r"^(?:leave|close|cancel|deactivate|unsubscribe|approve|accept|reject|join|disable|enable|confirm|pay|follow|unfollow"
    r"|like|vote|promote|archive|publish|unlink|disconnect|clear|empty|redeem|buy|send)(?:_|$)"
)
_STORES = frozenset({"commit", "save", "delete"})
_HOOK = lazy(
    r"web_?hook|/hooks?\b|(?:^|_)hook(?:$|_)|\bipn\b|(?:payment|stripe|github|paypal)_?(?:callback|event)",
    re.IGNORECASE,
)
_SIGNED = lazy(
    r"sign|hmac|digest|verif|construct_event|secret|token|auth|hub_signature|api_?key|compare_digest|allowed|remote_addr|"
    r"\b40[13]\b|Permission|Forbidden",
    re.IGNORECASE,
)
_OUTGOING = lazy(r"\b(?:\w*url|callback|address|endpoint|target)\b", re.IGNORECASE)  # a webhook to be called
_PAYING = lazy(r"charge|pay|checkout|purchase|buy|order|intent|refund|bill", re.IGNORECASE)
_PRICE = lazy(
    r"^(?:unit_?|total_?|item_?)?(?:price|total|discount|cost)(?:_(?:cents|eur|usd|net|gross|minor))?$",
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


def _no_middleware(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find Django sessions and logins without its CSRF middleware."""
    for setting, value in framework_settings(view, node):
        if setting != "MIDDLEWARE" or not isinstance(value, ast.List | ast.Tuple):
            continue
        listed = " ".join(view.names.text(item) or "" for item in value.elts)
        if "AuthenticationMiddleware" in listed and "csrf" not in listed.lower():
            yield NodeMatch(
                node, "CsrfViewMiddleware is missing: other sites can send forms in the user's name"
            )


def _unsigned_hook(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    routes = joined_words(node.decorator_list)
    if not (_HOOK.search(node.name) or _HOOK.search(routes)) or not is_handler(view, node):
        return
    said = body_words(node) + " " + joined_words([node.args])
    reads = re.search(r"\b(?:json|get_json|get_data|data|body|loads|form|POST)\b", said)
    decorators = joined_words(
        part.func if isinstance(part, ast.Call) else part for part in node.decorator_list
    )
    acts = any(
        isinstance(part, ast.Expr) and isinstance(_called(part.value), ast.Call) for part in walk(node)
    )
    if not acts or _OUTGOING.search(said):
        return
    if reads and not _SIGNED.search(said.replace("csrf_exempt", "")) and not _SIGNED.search(decorators):
        yield NodeMatch(node.body[0], "anyone can call the hook: the sender's signature is not looked at")


_STAMP = lazy(r"^(?:x-)?(?:[\w-]{1,30}-)?(?:timestamp|time|date|request-time)$", re.IGNORECASE)
_FRESH = lazy(
    r"\b(?:time|now|utcnow|monotonic|time_ns|abs|nx|add_once|seen|replay\w*|nonce\w*|idempot\w*|max_age|tolerance|exists)\b"
)


def _old_message(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find messages whose signed time is read and never compared with the clock."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    if function is None or not view.has("compare_digest"):
        return
    for part in walk(function):
        if isinstance(part, ast.Subscript):
            key, holder = view.names.text(part.slice), part.value
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.args:
            key, holder = view.names.text(part.args[0]), part.func
        else:
            continue
        if key is None or not _STAMP.match(key) or "header" not in ast.unparse(holder).lower():
            continue
        texts = {item.value for item in walk(function) if isinstance(item, ast.Constant)}
        if not _FRESH.search(joined_words(function.body, {text for text in texts if isinstance(text, str)})):
            yield NodeMatch(node, f"a message that was recorded is taken again: compare {key} with the clock")
            return


def _called(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Await) else node


def _any_socket(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a `check_origin` that always returns True, and a socket that trusts a cookie of any page."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if isinstance(node, ast.AsyncFunctionDef):
        if view.has("websocket") and not view.has("origin", "csrf"):
            accepts = [
                part
                for part in walk(node)
                if isinstance(part, ast.Call)
                and unqualified_name(part.func) in ("accept", "WebSocketResponse")
            ]
            if accepts and any(
                isinstance(part, ast.Attribute) and part.attr == "cookies" for part in walk(node)
            ):
                yield NodeMatch(accepts[0], "pages of any site can talk to the socket in the user's name")
        return
    last = node.body[-1]
    if (
        node.name == "check_origin"
        and isinstance(last, ast.Return)
        and isinstance(last.value, ast.Constant)
        and last.value.value is True
    ):
        yield NodeMatch(last, "pages of any site can talk to the socket in the user's name")


_SET = lazy(
    r"^(?:unit_|total_|item_)?(?:price|discount|total|cost|balance|credit|amount_due)(?:_\w{1,10})?$",
    re.IGNORECASE,
)


def _set_by_client(view: View, node: ast.Assign) -> Iterator[NodeMatch]:
    """Find amounts taken from the client: `cart.discount_percent = data["percent"]` in a handler."""
    target, function = node.targets[0], view.function_of(node)
    if not isinstance(target, ast.Attribute) or not _SET.match(target.attr) or function is None:
        return
    read = any(
        isinstance(part, ast.Subscript | ast.Call | ast.Name) and is_from_request(view, part)
        for part in _but_keys(node.value)
        if isinstance(part, ast.expr)
    )
    if (
        read
        and is_handler(view, function)
        and not re.search("admin|staff|manager|seller|vendor", function.name)
    ):
        yield NodeMatch(node, f"the visitor says the {target.attr}: take it from what the program knows")


def _but_keys(node: ast.expr) -> Iterator[ast.AST]:
    """Yield the parts of an expression except keys of lookups: `PRICES[data["code"]]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id.isupper():
        return
    yield node
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield from _but_keys(part)


def _own_price(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find prices from the request in a handler that charges money."""
    if isinstance(node, ast.Assign):
        yield from _set_by_client(view, node)
        return
    if isinstance(node, ast.Subscript):
        key, holder = view.names.text(node.slice), node.value
    else:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        key, holder = view.names.text(node.args[0]) if node.args else None, node.func.value
    if key is None or not _PRICE.match(key) or not is_from_request(view, holder):
        return
    function = view.function_of(node)
    if function is None or not is_handler(view, function):
        return
    called = [part.func for part in walk(function) if isinstance(part, ast.Call)]
    if _PAYING.search(function.name) or _PAYING.search(joined_words(called)):
        yield NodeMatch(node, f"the visitor says the {key}: take it from the product")


_AMOUNT = lazy(
    r"^(?:amount|quantity|qty|sum|points|credits?|units|shares|coins|number_of_\w+)$", re.IGNORECASE
)
_NUMBERS = word_set("int float decimal.Decimal Decimal round")
_BOUNDED = lazy(
    r"\b(?:abs|max|min|validate\w*|is_valid|PositiveInt|conint|NumberRange|MinValueValidator|ge|gt)\b"
)


def _below_nothing(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find amounts from the request that are transferred between accounts without a comparison."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not is_handler(view, node):
        return
    parts = list(walk(node))
    for part in parts:
        if not isinstance(part, ast.Assign) or not isinstance(part.targets[0], ast.Name):
            continue
        held, made = part.targets[0].id, part.value
        if not (_AMOUNT.match(held) and isinstance(made, ast.Call) and view.names.called(made) in _NUMBERS):
            continue
        read = any(
            is_from_request(view, item)
            for given in made.args
            for item in walk(given)
            if isinstance(item, ast.expr)
        )
        compared = any(isinstance(item, ast.Compare) and held in variables_in(item) for item in parts)
        of_it = {held} | {
            item.targets[0].id
            for item in parts
            if isinstance(item, ast.Assign)
            and isinstance(item.targets[0], ast.Name)
            and _is_product(item.value, held)
        }
        counts = any(
            isinstance(item, ast.AugAssign) and any(one in variables_in(item.value) for one in of_it)
            for item in parts
        )
        if read and counts and not compared and not _BOUNDED.search(joined_words([node])):
            yield NodeMatch(part, f"{held} may be below nothing: what is taken is then given")
            return


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
        if named and isinstance(part.value, ast.Name) and _WORTH.search(ast.unparse(part.target)):
            moved.setdefault(part.value.id, set()).add(type(part.op))
    for held, operators in moved.items():
        if operators != {ast.Add, ast.Sub} or _BOUNDED.search(joined_words([node])):
            continue
        tests = [item for item in parts if isinstance(item, ast.Compare) and held in variables_in(item)]
        below = [item for item in tests if any(_is_number(side) for side in (item.left, *item.comparators))]
        if tests and not below:
            yield NodeMatch(tests[0], f"{held} may be below nothing: what is taken is then given")


def _is_product(node: ast.expr, held: str) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and held in variables_in(node)


_WORTH = lazy(
    r"balance|points|credits?\b|coins|amount|stock|funds|shares|quantity|wallet|account", re.IGNORECASE
)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and node.args:
        return _is_number(node.args[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


_FIELDS = word_set("int float decimal.Decimal Decimal")
_MONEY = lazy(r"price|cost|cents|balance|total|fee|rate$")


def _unbounded_field(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find unbounded numbers of a request's model that are multiplied with a price or subtracted."""
    assert isinstance(node, ast.ClassDef)
    if not any(base.endswith("BaseModel") for base in view.names.bases(node)):
        return
    for item in node.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        held = item.target.id
        plain = item.value is None or isinstance(item.value, ast.Constant)
        if not (plain and _AMOUNT.match(held) and view.names.resolve(item.annotation) in _FIELDS):
            continue
        if any(_compares(part, held) for part in view.nodes) or view.has("validator"):
            continue
        for part in view.nodes:
            counted = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult | ast.Sub | ast.Add)
            if (
                (counted or isinstance(part, ast.AugAssign))
                and (_names_attribute(part, held) or held in variables_in(part))
                and _MONEY.search(joined_words([part]))
            ):
                yield NodeMatch(item, f"{held} may be below nothing: what is paid is then given back")
                return


def _compares(part: ast.AST, held: str) -> bool:
    return isinstance(part, ast.Compare) and (_names_attribute(part, held) or held in variables_in(part))


def _names_attribute(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == name for part in walk(node))


CHECKS = (
    Check(
        _RULES["change-by-get"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_by_get,
    ),
    Check(
        _RULES["no-csrf-middleware"],
        nodes=(ast.Assign,),
        look=_no_middleware,
    ),
    Check(
        _RULES["unsigned-hook"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        calls=word_set("hmac.new hmac.digest"),
        look=lambda view, node, name: (
            _old_message(view, node, name) if isinstance(node, ast.Call) else _unsigned_hook(view, node, name)
        ),
    ),
    Check(
        _RULES["any-socket-origin"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_any_socket,
    ),
    Check(
        _RULES["price-by-client"],
        nodes=(ast.Subscript, ast.Assign),
        methods=word_set("get"),
        look=_own_price,
    ),
    Check(
        _RULES["negative-amount"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AugAssign),
        look=lambda view, node, name: (
            _unbounded_field(view, node, name)
            if isinstance(node, ast.ClassDef)
            else _moved(view, node)
            if isinstance(node, ast.AugAssign)
            else _below_nothing(view, node, name)
        ),
    ),
)
