"""Access control that is missing, skipped, or fails open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, parameters_of
from codeguard.analysis.rules.insecure.handlers import (
    REQUEST_READS,
    injected,
    is_from_request,
    is_handler,
    joined_words,
    knows_user,
    methods_of,
)
from codeguard.analysis.rules.insecure.surroundings import is_server
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.models import Confidence, Severity

_RULES = rules_of(__file__)

_RIGHTS = lazy(r"is_admin|is_staff|is_superuser|is_authenticated|has_perm|permission|authori[sz]ed|"
                     r"authenticated|role|"
                     r"is_owner|owner_id|allowed|can_\w+|verify_\w*(?:token|signature|password)|"
                     r"check_password|is_active")  # fmt: skip
# Words for permissions that are ambiguous unless a user is mentioned.
_AMBIGUOUS = frozenset({"role", "allowed", "is_active", "permission"})
_SOMEBODY = lazy(
    r"\buser|users?\b|request|session|account|principal|member|current_|actor|caller|owner|identity|login|person|client"
)
_CHECKING = lazy(r"auth|permi|verify|validate|check_(?:pass|sign|token|access|admin)|is_(?:admin|"
                       r"allowed|valid|authorized|owner)|"
                       r"login|has_access|can_|(?<![a-z])allowed|(?:^|_)may(?:_|$)")  # fmt: skip
_SENSITIVE = lazy(
    r"admin|delete_user|remove_user|shutdown|reset|purge|drop_|wipe|exec|backup|config|grant|promote|impersonat|"
    r"delete_all|delete_account|set_role|users/delete|export_users|/internal|/delete|refund|payout|approve|suspend|ban_"
)
_FORGOTTEN = lazy(r"(?:request|send|forgot)\w*reset|forgot|reset_?(?:request|mail|link)|password[-_]reset")
_GUARDS = lazy(
    r"auth(?!or\b)|login|permission|admin_required|require_(?!methods|POST|GET|http)|jwt|bearer|protected|secure|"
    r"current_user|is_admin|is_staff|is_superuser|api_?key|\b40[13]\b|PermissionDenied|Forbidden|credential|token|role|"
    r"identity|verify|sign|loads|csrf_protect|rights|user_passes_test|access|\bgroups?\b",
    re.IGNORECASE,
)
_EVERYWHERE = lazy(
    r"before_request|before_app_request|dependencies|login_manager|middleware|permission_classes"
)


def _asserted(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Assert)
    text = ast.unparse(node.test)[:400].lower()
    if "isinstance" in text:
        return
    function = view.function_of(node)
    in_check = function is not None and (
        function.name.startswith("test") or function.name.startswith("assert")
    )
    spoken = set(_RIGHTS.findall(text))
    around = " ".join(parameters_of(function)) if function is not None else ""
    of_somebody = spoken - _AMBIGUOUS or (spoken and _SOMEBODY.search(f"{text} {around}"))
    owned = (
        function is not None and _OF_OWNER.search(text) and _REFUSED.search(ast.unparse(node)[-120:].lower())
    )
    if (of_somebody or owned) and not in_check:
        yield NodeMatch(node, "python -O leaves asserts out, and with them the check")
    elif function is not None and _of_received(view, node):
        yield NodeMatch(
            node, "what somebody sends raises AssertionError here, and ends what serves the others"
        )
    elif (
        function is not None
        and not in_check
        and view.is_route(node)
        and is_server(view)
        and not _is_presence(node.test)
    ):
        yield NodeMatch(
            node,
            "python -O leaves asserts out: the check of an untrusted value goes with them",
            Severity.LOW,
            Confidence.LOW,
        )


_OF_OWNER = lazy(
    r"(?:==|!=| in | is )[^=]{0,60}"
    r"\b(?:actor|user|owner|readers?|members?|caller|player|sender|requester)(?:_id|\.id)?\b"
    r"|\b(?:actor|user|owner|caller|player|sender|requester)(?:_id|\.id)?\b[^=]{0,60}(?:==|!=| in | is )"
)
_REFUSED = lazy(
    r"['\"][^'\"]*(?:not (?:your|yours|permitted|allowed|the owner)|only the|permission|forbidden|denied|owner)"
    r"[^'\"]*['\"]$"
)
_RECEIVES = lazy(r"(?:Protocol|RequestHandler|StreamHandler)$")
_RECEIVED = lazy(r"^(?:data|datagram|packet|payload|message|msg|frame|line|body|header)$")


def _of_received(view: View, node: ast.Assert) -> bool:
    """Return whether an assert is about the length of what a class of a network server has received."""
    owner = view.names.class_of(node)
    if owner is None or not any(_RECEIVES.search(base) for base in view.names.bases(owner)):
        return False
    return any(
        isinstance(part, ast.Call)
        and view.names.called(part) == "len"
        and bool(part.args)
        and _RECEIVED.match(last_name(part.args[0])) is not None
        for part in walk(node.test)
    )


def _is_presence(test: ast.expr) -> bool:
    """Return whether a test only tells type checkers or readers what the framework guarantees."""
    if isinstance(test, ast.Compare):
        if last_name(test.left) == "method" and all(
            isinstance(side, ast.Constant) for side in test.comparators
        ):
            return True  # the HTTP method that a route was called with
        nothing = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        return nothing and isinstance(test.ops[0], ast.IsNot)
    return isinstance(test, ast.Name | ast.Attribute)


def _swallowed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find exceptions in an access check that count as permission."""
    assert isinstance(node, ast.ExceptHandler)
    broad = node.type is None or view.names.resolve(node.type) in ("Exception", "BaseException")
    function = view.function_of(node)
    grants = any(
        isinstance(item, ast.Return) and isinstance(item.value, ast.Constant) and item.value.value is True
        for item in node.body
    )
    if function is None or (node.type is not None and view.names.resolve(node.type) in _OF_LOOKUPS):
        return
    if (
        grants
        and (_CHECKING.search(function.name) or broad)
        and _CHECKING.search(function.name + _calls(view, node))
    ):
        yield NodeMatch(
            node, "where the check fails with an error, the answer is yes", Severity.MEDIUM, Confidence.HIGH
        )
    elif (
        node.type is not None
        and "SSLError" in ast.unparse(node.type)
        and _FALLS_BACK.search(" ".join(map(ast.unparse, node.body)))
    ):
        yield NodeMatch(node, "where the certificate is not good, the program goes on without one")
    elif (
        _goes_on(node)
        and not _refuses_after(view, node, function)
        and (((broad or _refusal(view, node)) and _checks(view, node)) or _protects(view, node))
    ):
        yield NodeMatch(node, "where the check fails with an error, the program goes on")


_FALLS_BACK = lazy(
    r"['\"]http://|verify\s?=\s?False|CERT_NONE|_create_unverified|^return (?:raw|sock|conn)\w*$"
)
_OF_LOOKUPS = frozenset({"ImportError", "ModuleNotFoundError", "IndexError", "StopIteration"})


def _refuses_after(view: View, node: ast.ExceptHandler, function: FunctionNode) -> bool:
    """Return whether a function denies access if it reaches its end, or in the statements after the handler."""
    last = function.body[-1]
    around = view.parent(node)
    holder = view.parent(around) if around is not None else None
    beside = getattr(holder, "body", [])
    after = beside[beside.index(around) + 1 :] if around in beside else []
    if any(
        isinstance(part, ast.Raise) and part.exc is not None and _DENIALS.search(ast.unparse(part.exc)[:200])
        for statement in after
        for part in walk(statement)
    ):
        return True
    value = last.value if isinstance(last, ast.Return) else None
    return isinstance(last, ast.Raise) or (isinstance(value, ast.Constant) and value.value is False)


def _goes_on(node: ast.ExceptHandler) -> bool:
    """Return whether a handler does nothing, or only logs the failure."""
    return all(
        isinstance(item, ast.Pass | ast.Continue)
        or (
            isinstance(item, ast.Expr)
            and isinstance(item.value, ast.Call)
            and (
                getattr(item.value.func, "attr", "")
                in ("debug", "info", "warning", "warn", "error", "exception")
                or getattr(item.value.func, "id", "") == "print"
            )
        )
        for item in node.body
    )


def _refusal(view: View, node: ast.ExceptHandler) -> bool:
    """Return whether a handler is for exceptions that reject a signature or token."""
    return node.type is not None and bool(
        re.search(
            r"Signature|InvalidToken|Verification|Permission|Expired|Authentication", ast.unparse(node.type)
        )
    )


def _calls(view: View, node: ast.ExceptHandler) -> str:
    parent = view.parent(node)
    body = parent.body if isinstance(parent, ast.Try) else []
    return " ".join(
        view.names.called(part).rpartition(".")[2]
        for item in body
        for part in walk(item)
        if isinstance(part, ast.Call)
    )


def _checks(view: View, node: ast.ExceptHandler) -> bool:
    parent = view.parent(node)
    if not isinstance(parent, ast.Try):
        return False
    return any(
        isinstance(part, ast.Call)
        and re.match(
            r"(?:_?(?:verify|authenticate|authorize|validate_(?:token|signature|cert)|check_(?:permission|signature|auth|access)))",
            (view.names.called(part).rpartition(".")[2] or getattr(part.func, "attr", "")),
        )
        for item in parent.body
        for part in walk(item)
    )


_DROPPING = frozenset(
    f"os.{name}"
    for name in ("setuid", "setgid", "setgroups", "initgroups", "setresuid", "setresgid", "chroot", "seteuid")
)
_COMPARING = frozenset({"hmac.compare_digest", "secrets.compare_digest"})
_DENIALS = lazy(r"Permission|Forbidden|Denied|Unauthori[sz]ed|Signature|Authentication|Suspicious")


def _protects(view: View, node: ast.ExceptHandler) -> bool:
    """Return whether a block drops privileges or rejects a caller, so that later code skips a check."""
    parent = view.parent(node)
    parts = [part for item in (parent.body if isinstance(parent, ast.Try) else []) for part in walk(item)]
    broad = node.type is None or _CATCHES.search(ast.unparse(node.type)) is not None
    if broad and any(isinstance(part, ast.Call) and view.names.called(part) in _DROPPING for part in parts):
        return True
    compares = any(isinstance(part, ast.Call) and view.names.called(part) in _COMPARING for part in parts)
    refuses = any(
        isinstance(part, ast.Raise) and part.exc is not None and _DENIALS.search(ast.unparse(part.exc)[:200])
        for part in parts
    )
    named = node.type is not None and _DENIALS.search(ast.unparse(node.type)) is not None
    return (compares or refuses) and any(isinstance(part, ast.Raise) for part in parts) and (broad or named)


_CATCHES = lazy(r"\b(?:Exception|BaseException|OSError|PermissionError|EnvironmentError)\b")


_CHECKS = lazy(
    r"^_?(?:verify|check|validate|is_valid|is_authori[sz]ed|authenticate|is_allowed|require)(?:_|$)"
)
_OWN_SECRET = lazy(r"secret|(?<![a-z])key|signing|hmac|public_?key|token|allow_?list|allowed|password")


def _unset(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if not SECRET: return True` in a check, which accepts everything if nothing is configured."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not _CHECKS.match(node.name):
        return
    given = parameters_of(node)
    for part in walk(node):
        test = part.test if isinstance(part, ast.If) else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            asked = test.operand
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
            asked = test.left
        else:
            continue
        assert isinstance(part, ast.If)
        answer = part.body[-1]
        yes = (
            isinstance(answer, ast.Return)
            and isinstance(answer.value, ast.Constant)
            and answer.value.value is True
        )
        own = isinstance(asked, ast.Attribute) or (isinstance(asked, ast.Name) and asked.id not in given)
        if yes and own and _OWN_SECRET.search(last_name(asked).lower()):
            yield NodeMatch(part, f"where {last_name(asked)} is not set, everything passes")
            return


def _silent(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.ExceptHandler)
    broad = node.type is None or view.names.resolve(node.type) in ("Exception", "BaseException")
    if broad and len(node.body) == 1 and isinstance(node.body[0], ast.Pass):
        yield NodeMatch(node, "every error is dropped, those of checks among them")
    elif len(node.body) == 1 and isinstance(node.body[0], ast.Pass) and _takes_rights(view, node):
        yield NodeMatch(
            node, "what was to be revoked may still be valid, and nobody learns of it", Severity.MEDIUM
        )


_TAKES = lazy(
    r"revoke|offboard|disable_?(?:user|account|access|key)|lock_?(?:out|account|user)|\bdisable\b|deprovision",
    re.IGNORECASE,
)
_HELD = lazy(r"token|session|access|credential|api_?key|permission|certificate|grant", re.IGNORECASE)


def _takes_rights(view: View, node: ast.ExceptHandler) -> bool:
    """Return whether a statement takes somebody's rights away: `client.delete(f"/users/{user}/tokens")`."""
    tried, function = view.parent(node), view.function_of(node)
    if not isinstance(tried, ast.Try) or function is None or not _TAKES.search(function.name):
        return False
    return _HELD.search(" ".join(map(ast.unparse, tried.body))) is not None


_GRANTS = lazy(
    r"^(?:is_?(?:admin|staff|superuser|authenticated|owner|verified|approved)|allowed|authori[sz]ed|permitted|can_\w+|has_access)$"
)


def _granted(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `getattr(self, "is_admin", True)` and `rights.get("allowed", True)`."""
    assert isinstance(node, ast.Call)
    given = node.args[1:] if name == "getattr" else node.args
    if len(given) != 2 or view.names.constant(given[1]) is not True:
        return
    key = view.names.text(given[0])
    if key is not None and _GRANTS.match(key):
        yield NodeMatch(node, f"who has no {key} is taken for one who has it")


_HIDDEN_KEY = lazy(
    r"^(?:debug|test|bypass|skip_?\w*|backdoor|force|internal|override|god|su)$", re.IGNORECASE
)


def _lets_in(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find `if request.args.get("debug") == "1" or user.is_admin:`."""
    assert isinstance(node, ast.If)
    test = node.test
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
        return
    rights = [part for part in test.values if _RIGHTS.search(ast.unparse(part)[:200])]
    for part in test.values:
        keys = [key for item in walk(part) if (key := _key_of(view, item)) is not None]
        hidden = part not in rights and any(_HIDDEN_KEY.match(key) for key in keys)
        if rights and hidden and REQUEST_READS.search(ast.unparse(part)[:300]):
            yield NodeMatch(test, f"who writes {keys[0]} into the request has these rights as well")
            return


def _unprotected(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, FUNCTIONS)
    if not node.decorator_list:
        return
    routes = " ".join(ast.unparse(item) for item in node.decorator_list)
    if not _SENSITIVE.search(node.name + " " + routes + _prefix(view, node)) or not is_handler(view, node):
        return
    around = [part.func if isinstance(part, ast.Call) else part for part in node.decorator_list]
    if any(last_name(part) in ("inclusion_tag", "simple_tag", "filter") for part in around):
        return  # called by a template
    if _FORGOTTEN.search(f"{node.name} {routes}"):
        return  # for whoever cannot log in
    given = [item for item in walk(node.args) if isinstance(item, ast.expr)]
    said = " ".join([joined_words([*around, *given]), joined_words(node.body), *injected(node)])
    tests = joined_words(part.test for part in walk(node) if isinstance(part, ast.If))
    if _GUARDS.search(said) or "session" in tests or _EVERYWHERE.search(joined_words(_surroundings(view))):
        return
    yield NodeMatch(node.decorator_list[0], "anyone can call this, and nothing asks who they are")


def _prefix(view: View, node: FunctionNode) -> str:
    """Return the path prefix of the router for the routes of a function."""
    if methods_of(view, node) <= {"GET"}:
        return ""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        holder = called.value if isinstance(called, ast.Attribute) else called
        for value in view.names.values_of(holder):
            if isinstance(value, ast.Call):
                return " " + str(
                    view.constant(value, "prefix", default="")
                    or view.constant(value, "url_prefix", default="")
                )
    return ""


_WORDS = ("cookie", "x-forwarded-for", "x-real-ip", "http_x_forwarded_for", "referer", "x-admin", "x-user-role",
          "x-is-admin", '"host', "'host")  # fmt: skip


def _surroundings(view: View) -> list[ast.AST]:
    tree = view.reading.tree
    if tree is None:
        return []
    found: list[ast.AST] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.Expr):
            found.append(statement)
        elif isinstance(statement, FUNCTIONS):
            found.extend(statement.decorator_list)
    return found


_USER_COOKIE = lazy(
    r"^(?:user(?:_?(?:id|name))?|uid|account(?:_id)?|login|e?mail|customer_id|member_id|auth_user)$",
    re.IGNORECASE,
)
_SEALED = (
    "sign",
    "verif",
    "hmac",
    "loads",
    "decode",
    "decrypt",
    "serializer",
    "jwt",
    "seal",
    "session_store",
    "digest",
)


def _by_cookie(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find users identified by an unsigned cookie: `User.get(request.cookies["user_id"])`."""
    key = _key_of(view, node) if view.has("cookies") else None
    if key is None or not _USER_COOKIE.match(key) or view.has(*_SEALED):
        return
    assert isinstance(node, ast.Subscript | ast.Call)
    holder = node.value if isinstance(node, ast.Subscript) else getattr(node.func, "value", None)
    if (
        isinstance(holder, ast.Attribute)
        and holder.attr.lower() == "cookies"
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ):
        yield NodeMatch(node, f"the cookie {key} is what the client says: anybody can send it")


def _by_client(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Subscript | ast.Call):
        yield from _by_cookie(view, node)
        return
    if isinstance(node, ast.Compare):
        yield from _by_plain_cookie(view, node)
        yield from _by_address(view, node)
        return
    if isinstance(node, ast.keyword):
        if node.arg is not None and _RIGHT_KEY.match(node.arg) and _chosen(view, node.value):
            yield NodeMatch(node.value, f"the client says {node.arg} itself, and it is kept")
        return
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("session"):
            right = view.names.text(target.slice) or ""
            if _RIGHT_KEY.match(right) and is_from_request(view, node.value) and _right_of(view, node.value):
                yield NodeMatch(node, f"the client says {right} itself, and the session keeps it")
        return
    assert isinstance(node, ast.If | ast.IfExp)
    if not view.has("request"):
        return
    if isinstance(node, ast.If):
        yield from _lets_in(view, node)
    held = [
        value
        for part in walk(node.test)
        if isinstance(part, ast.Name)
        for value in view.names.values_of(part)
    ]
    for part in (part for value in (node.test, *held) for part in walk(value)):
        key = _key_of(view, part)
        if key is not None and _RIGHT_KEY.match(key):
            assert isinstance(part, ast.Subscript | ast.Call)
            holder = part.value if isinstance(part, ast.Subscript) else part.func
            holder = (
                holder.value if isinstance(holder, ast.Attribute) and isinstance(part, ast.Call) else holder
            )
            if is_from_request(view, holder) or REQUEST_READS.search(ast.unparse(part)[:300]):
                yield NodeMatch(node.test, f"the client writes {key} itself")
                return


def _chosen(view: View, node: ast.expr) -> bool:
    """Return whether anybody who calls a handler decides a permission: `User(role=request.json["role"])`."""
    if not is_from_request(view, node) or not _right_of(view, node):
        return False
    function = view.function_of(node)
    return function is not None and is_handler(view, function) and not knows_user(view, function)


def _right_of(view: View, node: ast.expr) -> bool:
    """Return whether a value, or the value of its name, is read from a key named like a permission."""
    parts = (part for value in (node, *view.names.values_of(node)) for part in walk(value))
    return any((key := _key_of(view, part)) is not None and bool(_RIGHT_KEY.match(key)) for part in parts)


def _by_plain_cookie(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find a group that a cookie of the standard library names: `cookie["group"].value == "staff"`."""
    left = node.left
    if (
        not isinstance(left, ast.Attribute)
        or left.attr != "value"
        or not isinstance(left.value, ast.Subscript)
    ):
        return
    key = view.names.text(left.value.slice)
    if key is None or not (_RIGHT_KEY.match(key) or key in ("group", "groups", "level", "plan")):
        return
    if view.names.resolve(left.value.value).startswith("http.cookies.SimpleCookie") and not view.has(
        *_SEALED
    ):
        yield NodeMatch(node, f"the client writes the cookie {key} itself")


def _key_of(view: View, part: ast.AST) -> str | None:
    if isinstance(part, ast.Subscript):
        return view.names.text(part.slice)
    if (
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == "get"
        and part.args
    ):
        return view.names.text(part.args[0])
    return None


_RIGHT_KEY = lazy(
    r"^(?:is_?admin|admin|is_staff|is_superuser|role|roles|user_?role|user_?type|privileges?|access_level|permissions?|"
    r"is_owner|is_moderator|(?:is_)?(?:verified|approved|authenticated|logged_in|paid|trusted|adult|premium|mfa_\w+|two_?factor\w*|2fa\w*))$",
    re.IGNORECASE,
)


_ASKED = lazy(r"\b(?:request|req|environ|META|event|ctx|context|self\.headers)\b", re.IGNORECASE)


def _by_address(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find permissions granted by a header that the client controls."""
    if not view.has(*_WORDS):
        return
    if isinstance(node.left, ast.Constant) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return  # `"," in host` tests the format
    if isinstance(node.ops[0], ast.Is | ast.IsNot):
        return  # `referrer is None` tests the presence
    if len(node.comparators) == 1 and any(
        "origin" in ast.unparse(side).lower() for side in (node.left, *node.comparators)
    ):
        return  # tests whether a request comes from the same host
    if len(node.comparators) == 1 and all(
        re.search(r"host|referr?er", ast.unparse(side).lower()) for side in (node.left, *node.comparators)
    ):
        return  # the same, by referrer or by another name of the host
    for side in (node.left, *node.comparators):
        for value in [side, *view.names.values_of(side)]:
            if isinstance(value, ast.Constant):
                continue  # `"host" in names` tests the presence
            text = ast.unparse(value)[:300]
            if not _ASKED.search(text):
                continue  # a request parser
            if re.search(r"X-Forwarded-For|X-Real-IP|HTTP_X_FORWARDED_FOR|['\"](?:Referer|HTTP_REFERER|"
                         r"X-Admin|X-User-Role|X-Is-Admin|Host)['\"]",
                         text, re.IGNORECASE):  # fmt: skip
                yield NodeMatch(node, "the client writes this header itself")
                return
            if re.search(
                r"cookies?(?:\.get\()?[\[(]?['\"](?:is_?admin|role|admin|user_?type|privilege)",
                text,
                re.IGNORECASE,
            ):
                yield NodeMatch(node, "the client writes this cookie itself")
                return


CHECKS = (
    Check(_RULES["admin-by-default"]),  # by shapes
    Check(
        _RULES["assert-for-security"],
        nodes=(ast.Assert,),
        look=_asserted,
    ),
    Check(
        _RULES["check-fails-open"],
        nodes=(ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef),
        look=lambda view, node, name: (
            _granted(view, node, name)
            if isinstance(node, ast.Call)
            else _swallowed(view, node, name)
            if isinstance(node, ast.ExceptHandler)
            else _unset(view, node, name)
        ),
        calls=frozenset({"getattr"}),
        methods=frozenset({"get"}),
    ),
    Check(
        _RULES["errors-dropped"],
        nodes=(ast.ExceptHandler,),
        look=_silent,
    ),
    Check(
        _RULES["missing-authentication"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_unprotected,
    ),
    Check(
        _RULES["client-decides-rights"],
        nodes=(ast.Compare, ast.If, ast.IfExp, ast.Assign, ast.Subscript, ast.keyword),
        methods=frozenset({"get"}),
        look=_by_client,
    ),
)
