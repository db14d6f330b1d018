"""What visitors and threads share without meaning to: objects of a class, caches, locks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, parameters_of, word_set
from codeguard.analysis.rules.insecure.handlers import is_from_request, is_handler, joined_words
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_ONE_A_REQUEST = lazy(
    r"(?:RequestHandler|MethodView|APIView|ViewSet|HTTPEndpoint|HTTPMethodView"
    r"|(?:^|\.)(?:View|Resource|TemplateView|FormView))$"
)
_CONTAINERS = word_set("dict list collections.defaultdict collections.OrderedDict collections.deque")
_ADDS = word_set("append add update extend setdefault insert")
# What all requests are meant to share.
_SHARED = lazy(
    r"client|waiter|connection|room|cache|listener|subscriber|registr|lock|peer|socket|channel|instance|queue|handler"
    r"|callback|stat|metric|pool|session|online|_by_|options|settings|config|log|history|(?-i:^[A-Z_]+$)",
    2,
)


def _of_class(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a container of a handler's class that its methods fill: `class Quote(RequestHandler): answers = {}`."""
    assert isinstance(node, ast.ClassDef)
    if not any(_ONE_A_REQUEST.search(base) for base in view.names.bases(node)):
        return
    for item in node.body:
        target = (
            item.target
            if isinstance(item, ast.AnnAssign)
            else item.targets[0]
            if isinstance(item, ast.Assign)
            else None
        )
        value = item.value if isinstance(item, ast.Assign | ast.AnnAssign) else None
        if not isinstance(target, ast.Name) or value is None or _SHARED.search(target.id):
            continue
        # A set is kept to find what comes again, from whomever it comes.
        made = isinstance(value, ast.Dict | ast.List) or (
            isinstance(value, ast.Call) and view.names.called(value) in _CONTAINERS
        )
        uses = [part for part in walk(node) if _is_own(part, target.id)] if made else []
        if any(isinstance(part.ctx, ast.Store) for part in uses if isinstance(part, ast.Attribute)):
            continue  # each object gets its own
        if any(_fills(view, part) for part in uses):
            yield NodeMatch(item, f"{target.id} belongs to the class: all visitors fill and see the same one")


def _is_own(part: ast.AST, name: str) -> bool:
    return (
        isinstance(part, ast.Attribute)
        and part.attr == name
        and isinstance(part.value, ast.Name)
        and part.value.id == "self"
    )


def _fills(view: View, part: ast.AST) -> bool:
    around = view.parent(part)
    if isinstance(around, ast.Subscript):
        return isinstance(around.ctx, ast.Store) and around.value is part
    return (
        isinstance(around, ast.Attribute)
        and around.attr in _ADDS
        and isinstance(view.parent(around), ast.Call)
    )


_OF_ONE = lazy(r"user|account|customer|token|member|visitor|cart|basket|current", 2)


def _global(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `global current_user` in a handler that sets it from the request."""
    assert isinstance(node, ast.Global)
    function = view.function_of(node)
    held = {one for one in node.names if _OF_ONE.search(one)}
    if function is None or not held or not is_handler(view, function):
        return
    for part in walk(function):
        if not isinstance(part, ast.Assign) or not isinstance(part.targets[0], ast.Name):
            continue
        target = part.targets[0]
        if target.id in held and is_from_request(view, part.value):
            yield NodeMatch(
                part, f"{target.id} is one for all visitors: the next request is answered with it"
            )
            return


_CACHE = lazy(r"cache|redis|memcache", 2)
_KNOWS = lazy(r"\b(?:request\.user|current_user|g\.user|self\.current_user|request\.state\.user|session)\b")
_ALL_OWN = lazy(r"user|session|account|customer|tenant|member|token|owner|\bpk\b|\buid\b|identity|_id\b", 2)


def _cached(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find what belongs to one user and is cached under a key that does not: `cache.set(f"overview:{month}", data)`."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    function = view.function_of(node)
    if function is None or len(node.args) < 2 or not _CACHE.search(ast.unparse(node.func.value)):
        return
    if not is_handler(view, function):
        return
    key, value = (
        " ".join(ast.unparse(one)[:300] for one in (given, *view.names.values_of(given)))
        for given in node.args[:2]
    )
    if _KNOWS.search(value) and not _ALL_OWN.search(key):
        yield NodeMatch(node, "the key does not name the user: others get what is cached for one")


def _cached_view(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `@cache.cached()` beside `@login_required`, and answers for one user that all caches may keep."""
    assert isinstance(node, FUNCTIONS)
    if not view.has("cache") or len(node.decorator_list) < 2:
        return
    if not any("login_required" in ast.unparse(one) for one in node.decorator_list):
        return
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        last = last_name(decorator.func)
        public = last == "cache_control" and view.constant(decorator, "public") is True
        kept = last == "cached" and not any(
            item.arg in ("key_prefix", "make_cache_key") for item in decorator.keywords
        )
        if public or (kept and _KNOWS.search(ast.unparse(node))):
            yield NodeMatch(
                decorator, "what is made for one user is kept for all: the key is the address alone"
            )


_LOCK = lazy(r"(?:^|_)(?:lock|mutex)$", 2)
_ORDERED = lazy(r"\b(?:sorted|min|max|id)\b")


def _any_order(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `with source.lock, target.lock:` of two parameters, which two calls take the other way round."""
    assert isinstance(node, ast.With | ast.AsyncWith)
    inner = node.body[0]
    items = [*node.items, *(inner.items if isinstance(inner, ast.With | ast.AsyncWith) else ())]
    held = [
        item.context_expr
        for item in items
        if isinstance(item.context_expr, ast.Attribute)
        and isinstance(item.context_expr.value, ast.Name)
        and _LOCK.search(item.context_expr.attr)
    ]
    function = view.function_of(node)
    if len(held) < 2 or function is None or len({lock.attr for lock in held}) > 1:
        return
    owners = {lock.value.id for lock in held if isinstance(lock.value, ast.Name)}
    ordered = _ORDERED.search(joined_words(function.body)) or any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Lt | ast.Gt)
        and owners <= set(_ids(part))
        for part in walk(function)
    )
    if len(owners) > 1 and owners <= parameters_of(function) and not ordered:
        yield NodeMatch(
            node, "a call with the two the other way round waits for this one, and this one for it"
        )


def _acquired(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `source.lock.acquire()` and `target.lock.acquire()`, one after the other."""
    statement, function = view.parent(node), view.function_of(node)
    block = getattr(view.parent(statement), "body", []) if statement is not None else []
    if function is None or not isinstance(block, list) or statement not in block[:-1]:
        return
    following = block[block.index(statement) + 1]
    second = following.value if isinstance(following, ast.Expr) else None
    owners = [
        call.func.value.value.id
        for call in (node, second)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "acquire"
        and isinstance(call.func.value, ast.Attribute)
        and _LOCK.search(call.func.value.attr)
        and isinstance(call.func.value.value, ast.Name)
    ]
    if (
        len(set(owners)) == 2
        and set(owners) <= parameters_of(function)
        and not _ORDERED.search(joined_words(function.body))
    ):
        yield NodeMatch(
            node, "a call with the two the other way round waits for this one, and this one for it"
        )


_OF_VISITOR = lazy(r"^(?:current_\w+|cart|basket|logged_in_\w+|my_\w+)$")


def _of_module(view: View) -> Iterator[NodeMatch]:
    """Find a list of the module that handlers fill as if it were one visitor's: `current_cart.append(…)`."""
    made = {
        node.targets[0].id
        for node in view.reading.nodes_of(ast.Assign)
        if isinstance(view.parent(node), ast.Module)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.List | ast.Dict | ast.Call)
        and _OF_VISITOR.match(node.targets[0].id)
    }
    for part in view.reading.nodes_of(ast.Name) if made else ():
        around = view.parent(part)
        fills = isinstance(around, ast.Attribute) and around.attr in _ADDS
        fills = fills or (isinstance(around, ast.Subscript) and isinstance(around.ctx, ast.Store))
        function = view.function_of(part)
        if part.id in made and fills and function is not None and is_handler(view, function):
            yield NodeMatch(part, f"{part.id} is one for all visitors")
            return


_GRANTED = lazy(r"^(?:basket|cart|roles?|permissions?|grants?|users|tokens|scopes|allowed)$")


def _default(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find `def add(item, basket=[])`, whose basket all calls fill."""
    assert isinstance(node, FUNCTIONS)
    given = node.args
    for item, value in zip(reversed(given.args), reversed(given.defaults), strict=False):
        if not isinstance(value, ast.List | ast.Dict | ast.Set) or not _GRANTED.match(item.arg):
            continue
        for part in walk(node):
            adds = isinstance(part, ast.Attribute) and part.attr in _ADDS
            if adds and isinstance(part.value, ast.Name) and part.value.id == item.arg:  # type: ignore[attr-defined]
                yield NodeMatch(value, f"all calls that give no {item.arg} fill and see the same one")
                return


def _locks_of(view: View, node: ast.AST) -> set[str]:
    """Return the plain locks that the statements of a node take, as they are written."""
    return {
        ast.unparse(item.context_expr)
        for part in walk(node)
        if isinstance(part, ast.With)
        for item in part.items
        if view.names.resolve(item.context_expr) == "threading.Lock()"
    }


def _twice(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a lock that is taken by a function which is called while it is held, or by a signal's handler."""
    if "threading" not in view.modules:
        return
    if isinstance(node, ast.Call):
        handler = node.args[1] if len(node.args) > 1 else None
        definition = view.names.definition(view.names.resolve(handler)) if handler is not None else None
        if definition is not None and _locks_of(view, definition):
            yield NodeMatch(node, "a signal may come while the lock is held, and then waits for it for ever")
        return
    assert isinstance(node, ast.With)
    held = {
        ast.unparse(item.context_expr)
        for item in node.items
        if view.names.resolve(item.context_expr) == "threading.Lock()"
    }
    for part in (part for statement in node.body for part in walk(statement)) if held else ():
        definition = view.names.definition(view.names.called(part)) if isinstance(part, ast.Call) else None
        if isinstance(definition, FUNCTIONS) and held & _locks_of(view, definition):
            yield NodeMatch(part, "the function takes the lock that is held already: nobody gives it back")
            return


def _ids(node: ast.AST) -> Iterator[str]:
    yield from (part.id for part in walk(node) if isinstance(part, ast.Name))


CHECKS = (
    Check(
        _RULES["shared-by-visitors"],
        nodes=(ast.ClassDef, ast.Global, *FUNCTIONS),
        look=lambda view, node, name: (
            _of_class(view, node, name)
            if isinstance(node, ast.ClassDef)
            else _global(view, node, name)
            if isinstance(node, ast.Global)
            else _default(view, node)
        ),
        look_at_file=_of_module,
    ),
    Check(
        _RULES["cached-for-all"],
        methods=word_set("set"),
        nodes=FUNCTIONS,
        look=lambda view, node, name: (
            _cached(view, node, name) if isinstance(node, ast.Call) else _cached_view(view, node, name)
        ),
    ),
    Check(_RULES["locked-twice"], nodes=(ast.With,), calls=word_set("signal.signal"), look=_twice),
    Check(
        _RULES["locks-in-any-order"],
        nodes=(ast.With, ast.AsyncWith),
        methods=word_set("acquire"),
        look=lambda view, node, name: (
            _acquired(view, node) if isinstance(node, ast.Call) else _any_order(view, node, name)
        ),
    ),
)
