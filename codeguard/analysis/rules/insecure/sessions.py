"""Tokens, cookies and forms that can be forged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_UNSIGNED = word_set(
    "itsdangerous.URLSafeTimedSerializer.loads_unsafe itsdangerous.URLSafeSerializer.loads_unsafe "
    "itsdangerous.TimedSerializer.loads_unsafe itsdangerous.Serializer.loads_unsafe"
)
_DECODE = word_set("jwt.decode jose.jwt.decode jwt.api_jwt.decode jwt.PyJWT.decode authlib.jose.jwt.decode")
_SESSION_WORDS = (
    "session",
    "token",
    "auth",
    "sid",
    "jwt",
    "user",
    "login",
    "remember",
    "csrf",
    "access",
    "refresh",
)


def _unverified(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name.endswith(("get_unverified_claims", "get_unverified_claims_of")) or name in _UNSIGNED:
        yield NodeMatch(node, "the claims are read without a look at the signature")
        return
    if view.constant(node, "verify", default=True) is False:
        yield NodeMatch(node, "verify=False accepts any token")
    options = view.argument(node, "options")
    for value in [options, *view.names.values_of(options)] if options is not None else []:
        if isinstance(value, ast.Dict):
            for key, given in zip(value.keys, value.values, strict=True):
                switch = view.names.text(key)
                if switch in ("verify_signature", "verify_exp") and view.names.constant(given, True) is False:
                    yield NodeMatch(node, f"{switch} is off")
                    return
    algorithms = view.argument(node, "algorithms", 2)
    if algorithms is not None:
        allowed = view.names.constant(algorithms, ())
        listed = allowed if isinstance(allowed, tuple) else (allowed,)
        if any(isinstance(item, str) and item.lower() == "none" for item in listed):
            yield NodeMatch(node, "the algorithm none accepts any token")


def _by_token(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find algorithms chosen by the token, mixed types of keys, and tokens decoded by hand."""
    assert isinstance(node, ast.Call)
    if name.startswith("base64."):
        function = view.function_of(node)
        text = " ".join(unparse(part)[:200] for part in (node, *_bound(view, node)))
        if _SECOND_PART.search(text) and function is not None and not _verifies(view, function):
            yield NodeMatch(node, "the claims are read without a look at the signature")
        return
    if name.endswith("PyJWKClient"):
        address = node.args[0] if node.args else None
        by_header = (
            isinstance(address, ast.Call | ast.Subscript) and _JKU.search(unparse(address)) is not None
        )
        if address is not None and by_header and _from_header(view, address):
            yield NodeMatch(node, "the token says itself where the key is that it is checked with")
        return
    algorithms = view.argument(node, "algorithms", 2)
    if algorithms is None:
        if name.startswith("jose.") and len(node.args) == 2 and not node.keywords:
            yield NodeMatch(node, "any algorithm is accepted: name the one that is used")
        return
    for part in walk(algorithms):
        if isinstance(part, ast.Subscript | ast.Name | ast.Call) and _from_header(view, part):
            yield NodeMatch(node, "the token says itself how it is checked")
            return
    allowed = view.names.constant(algorithms, ())
    if isinstance(allowed, tuple) and {"HS256", "RS256"} <= set(allowed):
        yield NodeMatch(node, "a token signed with the public key as if it were a password is accepted")


_JKU = lazy(r"['\"](?:jku|x5u)['\"]")


def _bound(view: View, node: ast.Call) -> list[ast.expr]:
    names_in = [part for argument in node.args for part in walk(argument) if isinstance(part, ast.Name)]
    return [value for part in names_in[:4] for value in view.names.values_of(part)]


def _verifies(view: View, function: ast.AST) -> bool:
    called = [unqualified_name(part.func) for part in walk(function) if isinstance(part, ast.Call)]
    return any(
        word in name.lower()
        for name in called
        for word in ("verif", "compare_digest", "check", "valid", "hmac")
    )


def _from_header(view: View, node: ast.expr) -> bool:
    text = " ".join(unparse(value)[:200] for value in (node, *view.names.values_of(node)))
    for part in walk(node):
        if isinstance(part, ast.Name):
            text += " ".join(unparse(value)[:200] for value in view.names.values_of(part))
    return "get_unverified_header" in text


_SECOND_PART = lazy(r"\.split\(b?'\.'(?:, \d)?\)\[1\]")


def _none(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    algorithm = view.constant(node, "algorithm", 2, "")
    if (isinstance(algorithm, str) and algorithm.lower() == "none") or (
        algorithm is None and isinstance(view.argument(node, "algorithm"), ast.Constant)
    ):
        yield NodeMatch(node, "the token is not signed")


def _cookie(view: View, node: ast.Call) -> str:
    key = view.names.text(view.argument(node, "key", 0))
    return "a cookie" if key is None else key


def _matters(view: View, node: ast.Call) -> bool:
    """Return whether a cookie holds a session, by its name or its value's name."""
    given = view.argument(node, "value", 1)
    text = (_cookie(view, node) + " " + ("" if given is None else unparse(given))).lower()
    return any(word in text for word in _SESSION_WORDS)


def _insecure_cookie(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    yield from _flag(view, node, "secure", "also goes over http://")


def _script_cookie(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    yield from _flag(view, node, "httponly", "can be read by scripts")


def _flag(view: View, node: ast.AST, keyword: str, effect: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if any(item.arg is None for item in node.keywords) or len(node.args) + len(node.keywords) < 2:
        return
    first = node.args[0] if node.args else None
    if first is not None and unqualified_name(first) in _HOLDERS and view.names.text(first) is None:
        return  # a method of the program's own, which is given the response or its handler
    given = view.argument(node, keyword)
    if (given is None and _matters(view, node)) or (
        given is not None and view.names.constant(given, True) is False
    ):
        yield NodeMatch(
            node,
            f"{_cookie(view, node)} {effect}",
            None if given is not None or _matters(view, node) else Severity.LOW,
        )


_HOLDERS = frozenset({"self", "handler", "request", "response", "resp"})
_COOKIE_METHODS = word_set("set_cookie set_signed_cookie set_secure_cookie")
_JARS = frozenset({"http.cookies.SimpleCookie()", "http.cookies.BaseCookie()", "Cookie.SimpleCookie()"})


def _by_hand(view: View, flag: str, effect: str) -> Iterator[NodeMatch]:
    """Find session cookies in a standard library jar or a header that lack a flag."""
    if not view.has("simplecookie", "set-cookie"):
        return
    told: set[str] = set()
    kept: list[tuple[str, ast.Assign]] = []
    for node in view.reading.nodes_of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript):
            continue
        holder, key = target.value, view.names.text(target.slice) or ""
        if key.lower() == flag:
            told.add(ast.dump(holder))
        elif view.names.resolve(holder) in _JARS and any(word in key.lower() for word in _SESSION_WORDS):
            kept.append((ast.dump(target).replace("Store()", "Load()"), node))
    for cookie, node in kept:
        if cookie not in told:
            yield NodeMatch(node, f"the cookie {effect}")
    for header, value in _headers(view):
        name, given, rest = view.writer.text(value).lower().partition("=")
        if given and flag not in rest and any(word in name for word in _SESSION_WORDS):
            yield NodeMatch(header, f"the cookie {effect}")


def _headers(view: View) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield the positions of literal `Set-Cookie` headers."""
    kinds: tuple[type[ast.AST], ...] = (ast.Assign, ast.Call, ast.Tuple)
    for kind in kinds:
        for node in view.reading.nodes_of(kind):
            key, value = None, None
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                key, value = node.targets[0].slice, node.value
            elif isinstance(node, ast.Call) and len(node.args) == 2:
                key, value = node.args
            elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
                key, value = node.elts
            named = isinstance(key, ast.Constant) and str(key.value).lower() == "set-cookie"
            if named and isinstance(value, ast.JoinedStr | ast.BinOp | ast.Constant | ast.Call):
                yield node, value


_COOKIE_SETTINGS = {
    "SESSION_COOKIE_SECURE": "the session's cookie also goes over http://",
    "CSRF_COOKIE_SECURE": "the cookie against forgery also goes over http://",
    "REMEMBER_COOKIE_SECURE": "the login's cookie also goes over http://",
}
_SCRIPT_SETTINGS = {
    "SESSION_COOKIE_HTTPONLY": "the session's cookie can be read by scripts",
    "REMEMBER_COOKIE_HTTPONLY": "the login's cookie can be read by scripts",
}


def _configures(parent: ast.AST | None) -> bool:
    """Return whether a mapping is passed to `config.update`, or assigned to a configuration."""
    if isinstance(parent, ast.Call):
        last = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
        return last in ("update", "from_mapping", "configure")
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
        return "config" in unparse(target).lower() or "settings" in unparse(target).lower()
    return False


def framework_settings(view: View, node: ast.AST) -> tuple[tuple[str, ast.expr], ...]:
    """Return names and values of settings, in all forms that frameworks accept."""
    known = view.settings.get(node)
    if known is None:
        known = view.settings[node] = tuple(_settings(view, node))
    return known


def _settings(view: View, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Subscript):
                yield view.names.text(target.slice) or "", node.value
            elif isinstance(target, ast.Attribute):
                yield target.attr.upper(), node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    elif isinstance(node, ast.Dict) and _configures(view.parent(node)):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isupper():
                yield key.value, value


def _setting(table: dict[str, str], view: View, node: ast.AST) -> Iterator[NodeMatch]:
    for name, value in framework_settings(view, node):
        if name in table and view.names.constant(value, True) is False:
            yield NodeMatch(node, table[name])


_PROVED = lazy(
    r"(?i)login_not_required|verif\w*_|signature|hmac|compare_digest|construct_event|HTTP_AUTHORIZATION|api_?key|bearer"
)
_TOKEN_CHECKS = frozenset({"enforce_csrf", "check_xsrf_cookie", "validate_csrf", "validate_csrf_token"})


def _does_nothing(node: ast.stmt) -> bool:
    plain = (ast.Pass, ast.Expr) if not isinstance(node, ast.Return) else ast.Return
    value = getattr(node, "value", None)
    return isinstance(node, plain) and (value is None or isinstance(value, ast.Constant))


def _csrf(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            for resolved in view.names.names_of(called):
                inner = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else called
                if (
                    resolved.endswith("csrf_exempt")
                    or view.names.resolve(inner).endswith("csrf_exempt")
                    or (
                        resolved.rpartition(".")[2] == "exempt"
                        and "csrf" in resolved.lower() + unparse(called).lower()
                    )
                ):
                    # Who proves with each request who it is sends no cookie for others to use.
                    severity = Severity.LOW if _PROVED.search(view.written(node)) else None
                    yield NodeMatch(decorator, "other sites can send this form in the user's name", severity)
        if node.name in _TOKEN_CHECKS and all(map(_does_nothing, node.body)):
            yield NodeMatch(node.body[-1], f"{node.name} asks for no token: other sites can send forms")
        return
    if name.endswith("csrf_exempt") and not isinstance(view.parent(node), ast.FunctionDef | ast.ClassDef):
        yield NodeMatch(node, "other sites can send this form in the user's name")


_SETTINGS = (ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict)


CHECKS = (
    Check(
        _RULES["unverified-jwt"],
        calls=_DECODE | _UNSIGNED | word_set("jose.jwt.get_unverified_claims jose.jws.get_unverified_claims"),
        look=_unverified,
    ),
    Check(
        _RULES["token-decides"],
        calls=_DECODE | word_set("base64.urlsafe_b64decode base64.b64decode jwt.PyJWKClient"),
        look=_by_token,
    ),
    Check(
        _RULES["unsigned-jwt"],
        calls=word_set("jwt.encode jose.jwt.encode jwt.api_jwt.encode"),
        look=_none,
    ),
    Check(
        _RULES["cookie-not-secure"],
        methods=_COOKIE_METHODS,
        nodes=_SETTINGS,
        look_at_file=lambda view: _by_hand(view, "secure", "also goes over http://"),
        look=lambda view, node, name: (
            _insecure_cookie(view, node, name)
            if isinstance(node, ast.Call)
            else _setting(_COOKIE_SETTINGS, view, node)
        ),
    ),
    Check(
        _RULES["cookie-for-scripts"],
        methods=_COOKIE_METHODS,
        nodes=_SETTINGS,
        look_at_file=lambda view: _by_hand(view, "httponly", "can be read by scripts"),
        look=lambda view, node, name: (
            _script_cookie(view, node, name)
            if isinstance(node, ast.Call)
            else _setting(_SCRIPT_SETTINGS, view, node)
        ),
    ),
    Check(
        _RULES["csrf-protection-off"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        calls=word_set("django.views.decorators.csrf.csrf_exempt"),
        look=_csrf,
    ),
)
