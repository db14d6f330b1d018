"""Logins, sessions and password changes that omit a step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import (
    body_words,
    client_parameters,
    is_from_request,
    is_handler,
    joined_words,
)
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_CHANGE = lazy(r"(?:change|update|set|edit|new)_?pass|pass\w{0,8}_?(?:change|update|edit)", re.IGNORECASE)
_RESET = lazy(r"reset|recover|forgot", re.IGNORECASE)
_SETS = lazy(r"set_password|password|passwd|pwd", re.IGNORECASE)
_OWN = lazy(r"^(?:flask_login\.)?(?:current_user|(?:self\.)?request\.user|g\.user)\.set_password\(")
_OLD = lazy(
    r"check_password|verify|checkpw|\bold_|current_pass|\bold\b|authenticate|PasswordChangeForm|token|code|confirm_identity|"
    r"reauth|\bverify_and_update\b|form\.is_valid|is_valid|validate",
    re.IGNORECASE,
)
_PROOF = lazy(
    r"token|code|sign|loads|verify|secret|ticket|nonce|otp|check_password|key|hash_equals|compare_digest|old_|answer_hash|"
    r"send|mail|is_valid|validate|login_required|current_user",
    re.IGNORECASE,
)
_ENDED = lazy(
    r"logout|log_out|flush|clear|\bpop\b|invalidate|revoke|expire|destroy|blacklist|\bdel\b|unset|forget|delete_session|"
    r"remove|end_session|sign_out|terminate",
    re.IGNORECASE,
)
_STRENGTH = lazy(r"validate_password\w*|password_validation|password_validators?|ValidationError")
_LOGOUT = lazy(r"^(?:do_|user_|handle_)?(?:log_?out|sign_?out)(?:_view|_user)?$", re.IGNORECASE)
_SID = lazy(r"^(?:session_?id|sess_?id|sid|session|phpsessid|jsessionid)$", re.IGNORECASE)
_LASTS = lazy(r"access|session|login|bearer|sign_in|refresh|issue", re.IGNORECASE)


def _changed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find password changes that require neither the old password nor a proof."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not view.has("passw"):
        return
    if not is_handler(view, node):
        yield from _changed_by_service(view, node)
        return
    setting = next((part for part in walk(node) if _sets_password(part)), None)
    if setting is None:
        return
    own = _OWN.search(ast.unparse(setting)) is not None
    changes = _CHANGE.search(node.name) or _CHANGE.search(f"{node.name}_{_path(node)}")
    if not (own or changes or _RESET.search(node.name)):
        return
    said = _STRENGTH.sub("", body_words(node) + " " + joined_words(node.decorator_list))
    if (own or changes) and not _RESET.search(node.name):
        if not _OLD.search(said):
            yield NodeMatch(
                setting, "the password is changed for anyone who sits at an open session: ask for the old one"
            )
    elif not _PROOF.search(said):
        yield NodeMatch(setting, "the password is reset for anyone who names the account")


_FORGOTTEN = lazy(r"reset|recover|forgot|unlock|restore_access", re.IGNORECASE)
_KNOWN_OF_PEOPLE = lazy(
    r"(?:^|_)(?:birth_?(?:day|date)|date_of_birth|dob|maiden_name|mothers?_\w+|pets?_name|security_(?:answer|question)"
    r"|secret_answer|first_school|favou?rite_\w+)$",
    re.IGNORECASE,
)


def _known_of_people(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find a forgotten password that is replaced by a birthday: `if member.birthday != birthday: return None`."""
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return
    function = view.function_of(node)
    if function is None or not _FORGOTTEN.search(function.name):
        return
    for part in walk(node):
        if isinstance(part, ast.Attribute | ast.Name) and _KNOWN_OF_PEOPLE.search(unqualified_name(part)):
            yield NodeMatch(
                node, f"{unqualified_name(part)} is what others know or find out: send a link instead"
            )
            return


def _path(function: FunctionNode) -> str:
    """Return the last part of the route that a handler serves, or "" if its decorators name none."""
    given = [part.args[0] for part in function.decorator_list if isinstance(part, ast.Call) and part.args]
    texts = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts[0].rstrip("/").rpartition("/")[2] if texts else ""


def _sets_password(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Attribute) and part.func.attr == "set_password"
    if isinstance(part, ast.Assign):
        return any(
            isinstance(target, ast.Attribute) and bool(_SETS.search(target.attr)) for target in part.targets
        )
    return False


def _logged_in(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find logins without a password check: `login(request, User.objects.get(name=…))`."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    given = (
        node.args[1]
        if name.startswith("django.") and len(node.args) > 1
        else node.args[0]
        if node.args
        else None
    )
    if function is None or given is None:
        return
    for value in (given, *view.names.values_of(given)):
        if not isinstance(value, ast.Call):
            continue
        called = view.names.called(value)
        looked_up = called.endswith((".get", "get_object_or_404", ".first", ".first_or_404", ".one"))
        inside = " ".join(ast.unparse(part) for part in walk(value) if isinstance(part, ast.keyword))
        if looked_up and re.search(r"request\b|form\b", inside) and not _OLD.search(body_words(function)):
            yield NodeMatch(node, "the user is logged in by name alone: no password was asked for")
            return


def _ended(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find logouts that do not end the session."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not _LOGOUT.match(node.name) or not is_handler(view, node):
        return
    calls = [part for part in walk(node) if isinstance(part, ast.Call | ast.Delete)]
    forgets = len(node.body) > 1 or view.has("session[")
    if forgets and not any(_ends(view, part) for part in calls):
        yield NodeMatch(node.body[0], "the session lives on after the logout")


def _ends(view: View, part: ast.AST) -> bool:
    if isinstance(part, ast.Delete):
        return True
    assert isinstance(part, ast.Call)
    last = unqualified_name(part.func) + " " + view.names.called(part)
    if last.startswith("delete_cookie"):
        return bool(_SID.search(view.names.text(part.args[0] if part.args else None) or "sid"))
    return bool(_ENDED.search(last)) or last.startswith("delete")


def _fixed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find session identifiers taken from the request, and Django logins written by hand."""
    if isinstance(node, ast.Call):
        key = view.names.text(view.argument(node, "key", 0))
        value = view.argument(node, "value", 1)
        if key is None or value is None or not _SID.match(key):
            return
        kept = [one for one in view.names.values_of(value) if isinstance(one, ast.BoolOp)]
        by_cookie = any(
            isinstance(one.values[0], ast.Call) and unqualified_name(one.values[0].func) == "get_cookie"
            for one in kept
        )
        if is_from_request(view, value) or by_cookie:
            yield NodeMatch(node, "the visitor chooses the identifier of the session")
        return
    assert isinstance(node, ast.Assign)
    target = node.targets[0]
    if isinstance(target, ast.Attribute):
        held = (
            target.attr in ("sid", "session_id", "session_key")
            and "session" in ast.unparse(target.value).lower()
        )
        if held and is_from_request(view, node.value):
            yield NodeMatch(node, "the visitor chooses the identifier of the session")
        return
    if not isinstance(target, ast.Subscript):
        return
    key, holder = view.names.text(target.slice) or "", ast.unparse(target.value)[:80]
    if not holder.endswith(("session", "session.data")):
        return
    if (_SID.match(key) or key == "id") and is_from_request(view, node.value):
        yield NodeMatch(node, "the visitor chooses the identifier of the session")
    elif re.match(r"_?(?:auth_)?user|account|uid|member", key) or _OF_ACCOUNT.search(
        ast.unparse(node.value)[:80]
    ):
        function = view.function_of(node)
        if function is not None and _starts_session(view, function):
            yield NodeMatch(
                node,
                "the session keeps the identifier that it had before the login: use django.contrib.auth.login",
            )


_ENTERS = lazy(
    r"^_?(?:do_|handle_|user_)?(?:log_?in|sign_?in|authenticate|start_session|establish\w*)(?:_user)?$",
    re.IGNORECASE,
)
_FRESH = lazy(
    r"regenerate|rotate|renew|cycle|delete|destroy|invalidate|clear|flush|drop|pop|new_session|remove",
    re.IGNORECASE,
)


def _kept_identifier(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find logins that keep the identifier of the cookie: `if sid is None: sid = new()`."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not _ENTERS.match(node.name) or not view.has("cookie") or _FRESH.search(joined_words(node.body)):
        return
    for part in walk(node):
        test = part.test if isinstance(part, ast.If | ast.IfExp) else None
        held = _missing(test) if test is not None else ""
        body = part.body if isinstance(part, ast.If) else []
        made = any(
            isinstance(item, ast.Assign)
            and isinstance(item.targets[0], ast.Name)
            and item.targets[0].id == held
            for item in body
        )
        if held and made and _SID.match(held):
            yield NodeMatch(part, "the session keeps the identifier that it had before the login")
            return


def _missing(test: ast.expr) -> str:
    """Return the name that a test compares with an empty value."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Name):
        return test.operand.id
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and isinstance(test.left, ast.Name):
        return test.left.id
    return ""


_CHANGES = lazy(r"^(?:change|update|edit)_(?:user_|my_|own_)?pass(?:word|wd|phrase)$", re.IGNORECASE)


_ASKS_OLD = lazy(
    r"\bold_?|current_pass|previous|check_password|verify|checkpw|compare_digest|authenticate|token|confirm|reauth|\bcode\b|is_valid"
    r"|super\b|policy|generate",
    re.IGNORECASE,
)


def _changed_by_service(view: View, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[NodeMatch]:
    """Find `def change_password(self, user_id, new)` that cannot check the old password."""
    if not _CHANGES.match(node.name) or _ASKS_OLD.search(f"{joined_words([node.args])} {body_words(node)}"):
        return
    if re.search("admin|staff|force|reset", joined_words([node.args, *node.decorator_list])):
        return
    setting = next((part for part in walk(node) if _sets_password(part)), None)
    if setting is not None and isinstance(view.parent(node), ast.Module | ast.ClassDef):
        # Its callers are views, which may have asked already.
        yield NodeMatch(
            setting,
            "the password is changed for anyone who sits at an open session: ask for the old one",
            Severity.LOW,
        )


_OF_ACCOUNT = lazy(r"^\w+\.(?:pk|id|uid)$")
# Sessions of these are kept on the server, under an identifier that the login has to change.
_KEPT_BY_SERVER = ("django", "flask_session", "beaker", "aiohttp_session", "pyramid")


def _starts_session(view: View, function: FunctionNode) -> bool:
    called = {unqualified_name(part.func) for part in walk(function) if isinstance(part, ast.Call)}
    checks = {
        "authenticate",
        "check_password",
        "checkpw",
        "verify",
        "verify_password",
        "check_password_hash",
    } & called
    fresh = {
        "login",
        "cycle_key",
        "flush",
        "clear",
        "invalidate",
        "regenerate",
        "rotate",
        "new_session",
    } & called
    return bool(view.modules & set(_KEPT_BY_SERVER)) and bool(checks) and not fresh


_MOST_DAYS = 366


def _endless_token(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    payload = view.argument(node, "payload", 0) or view.argument(node, "claims", 0)
    if function is None or payload is None:
        return
    for part in walk(function):
        if isinstance(part, ast.Call) and view.names.called(part) in ("datetime.timedelta", "timedelta"):
            days, weeks = view.constant(part, "days", 0), view.constant(part, "weeks")
            if (isinstance(days, int) and days > _MOST_DAYS) or (
                isinstance(weeks, int) and weeks * 7 > _MOST_DAYS
            ):
                yield NodeMatch(part, "a token that is stolen serves for years")
                return
    if not _LASTS.search(function.name):
        return
    written = [value for value in (payload, *view.names.values_of(payload)) if isinstance(value, ast.Dict)]
    if not written or any(key is None for value in written for key in value.keys):
        return
    if "exp" not in joined_words([function]).split():
        yield NodeMatch(node, "the token has no exp: anyone who finds it can use it for ever")


def _tells(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find logins that answer differently for an unknown name and a wrong password."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    named = f"{node.name} {_whole_path(node)}"
    if not _ENTRANCE.search(named) or not (is_handler(view, node) or _NAMED_LOGIN.match(node.name)):
        return
    said = [
        (part, part.value[:200])
        for part in walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    unknown = [part for part, text in said if _UNKNOWN.search(text)]
    alone = _BY_MAIL.search(named) and not view.has("unique", "register", "signup")
    if unknown and (alone and any(_is_refusal(view, part) for part in unknown)):
        yield NodeMatch(unknown[0], "the answer tells which addresses have an account")
    elif (
        view.has("passw")
        and unknown
        and any(_WRONG.search(text) for part, text in said if part not in unknown)
    ):
        yield NodeMatch(unknown[0], "the answer tells which names have an account")


_NAMED_LOGIN = lazy(r"^(?:log_?in|sign_?in|authenticate)(?:_user|_customer|_member)?$")
_ENTRANCE = lazy(r"log_?in|sign_?in|auth|reset|forgot|recover|magic", re.IGNORECASE)
_BY_MAIL = lazy(r"reset|forgot|recover|magic|log_?in/(?:start|link|mail|code|begin)", re.IGNORECASE)


def _whole_path(function: FunctionNode) -> str:
    given = [part.args[0] for part in function.decorator_list if isinstance(part, ast.Call) and part.args]
    return " ".join(
        part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def _is_refusal(view: View, part: ast.AST) -> bool:
    """Return whether a text is part of what is raised, returned or aborted with."""
    statement = view.statement(part)
    return isinstance(statement, ast.Raise | ast.Return) or (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and unqualified_name(statement.value.func) in ("abort", "flash")
    )


_UNKNOWN = lazy(
    r"(?:no|unknown|invalid|such) (?:such )?(?:user|account|e-?mail|username|member|customer)\b|"
    r"\b(?:do(?:es)? ?n[o']t|cannot|can't) (?:know|find|recogni[sz]e) (?:this|that|the|an?|any) "
    r"(?:user|account|e-?mail|name|address)|"
    r"(?:user|account|e-?mail|username) (?:is |was )?"
    r"(?:not found|unknown|does ?n.?o?t exist|not registered|not exist)",
    re.IGNORECASE,
)
_WRONG = lazy(
    r"(?:wrong|incorrect|invalid|bad) (?:password|pass)|password (?:is |was )?(?:wrong|incorrect|invalid)",
    re.IGNORECASE,
)


def _stateless(view: View) -> Iterator[NodeMatch]:
    """Find OAuth login URLs without a state parameter."""
    if not view.has("response_type=code") or view.has("state"):
        return
    for node in view.reading.nodes_of(ast.Constant):
        described = isinstance(view.parent(node), ast.Expr)
        if isinstance(node.value, str) and "response_type=code" in node.value and not described:
            yield NodeMatch(node, "no state: another site can finish the login with an account of its own")
            return


def _blank_bind(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find logins by binding to a directory with a password that may be blank."""
    assert isinstance(node, ast.Call)
    password = view.argument(
        node, "password" if name == "ldap3.Connection" else "cred", 2 if name == "ldap3.Connection" else 1
    )
    function = view.function_of(node)
    if not isinstance(password, ast.Name) or function is None or not view.has("ldap"):
        return
    if password.id not in {item.arg for item in (*function.args.args, *function.args.kwonlyargs)}:
        return
    tested = any(
        isinstance(part, ast.Name) and part.id == password.id
        for test in walk(function)
        if isinstance(test, ast.If | ast.IfExp | ast.Assert | ast.BoolOp)
        for part in walk(test if isinstance(test, ast.BoolOp) else test.test)
    )
    if not tested and _ASKS.search(getattr(function, "name", "")):
        yield NodeMatch(node, f"a blank {password.id} binds as nobody, and succeeds: refuse it first")


_ASKS = lazy(r"log_?in|sign_?in|authenticate", re.IGNORECASE)
_SHORT = lazy(r"(?:^|_)(?:pin|otp|totp|mfa|two_factor|passcode)(?:_|$)|verify_(?:code|pin)", re.IGNORECASE)
_COMPARES = word_set(
    "hmac.compare_digest secrets.compare_digest werkzeug.security.check_password_hash bcrypt.checkpw "
    "django.contrib.auth.authenticate django.contrib.auth.hashers.check_password check_password_hash"
)
_SENDS_CODE = lazy(
    r"^(?:send|text|deliver)_?(?:sms|text|code|otp|pin|verification\w*|message)$|^sms_?send$", re.IGNORECASE
)
_RATED = ("incr", "cooldown", "rate_", "_rate", "pause", "nx=", "monotonic", "time.time")
_LIMITED = ("limit", "attempt", "throttl", "captcha", "lockout", "locked", "tries", "axes", "failed", "failure",
            "backoff", "too many", "429", "blocked", "max_")  # fmt: skip


def _untiring(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find handlers that compare a code or password without limiting attempts, in a file without limits."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    yield from _sent_for_ever(view, node)
    named = f"{node.name}_{_path(node)}_{'_'.join(client_parameters(node))}"
    short = _SHORT.search(named) is not None
    if not (short or _ASKS.search(named)) or view.has(*_LIMITED) or not is_handler(view, node):
        return
    for part in walk(node):
        if isinstance(part, ast.Call) and view.names.called(part) in _COMPARES:
            severity = (
                None if short else Severity.LOW
            )  # passwords are long, and limits are often implemented elsewhere
            yield NodeMatch(part, "it can be tried as often as somebody likes: count what fails", severity)
            return


def _sent_for_ever(view: View, node: FunctionNode) -> Iterator[NodeMatch]:
    """Find handlers that send a code to a phone as often as they are called."""
    if not view.has("sms", "otp", "send_code", "send_text") or not is_handler(view, node):
        return
    if view.has(*_LIMITED, *_RATED) or re.search(r"\.add\(", view.written(node)):
        return
    for part in walk(node):
        if not isinstance(part, ast.Call):
            continue
        sent = part.func
        if isinstance(sent, ast.Attribute) and sent.attr in ("delay", "apply_async", "send"):
            sent = sent.value
        named = unqualified_name(sent)
        if _SENDS_CODE.search(named) and re.search(
            r"code|otp|\bpin\b", f"{named} {joined_words(part.args)}", re.IGNORECASE
        ):
            yield NodeMatch(part, "anybody can have as many sent as they like, and each costs: limit them")
            return


CHECKS = (
    Check(
        _RULES["password-without-proof"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef, ast.Compare),
        look=lambda view, node, name: (
            _known_of_people(view, node) if isinstance(node, ast.Compare) else _changed(view, node, name)
        ),
    ),
    Check(
        _RULES["login-without-password"],
        calls=word_set("django.contrib.auth.login flask_login.login_user"),
        look=_logged_in,
    ),
    Check(
        _RULES["blank-bind"],
        methods=word_set("simple_bind_s simple_bind bind_s"),
        calls=word_set("ldap3.Connection"),
        look=_blank_bind,
    ),
    Check(
        _RULES["session-outlives-logout"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_ended,
    ),
    Check(
        _RULES["session-fixation"],
        nodes=(ast.Assign, ast.FunctionDef, ast.AsyncFunctionDef),
        methods=word_set("set_cookie"),
        look=lambda view, node, name: (
            _kept_identifier(view, node)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            else _fixed(view, node, name)
        ),
    ),
    Check(
        _RULES["token-without-end"],
        calls=word_set("jwt.encode jose.jwt.encode jwt.api_jwt.encode authlib.jose.jwt.encode"),
        look=_endless_token,
    ),
    Check(
        _RULES["names-told"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_tells,
    ),
    Check(
        _RULES["oauth-without-state"],
        look_at_file=_stateless,
    ),
    Check(
        _RULES["unlimited-tries"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_untiring,
    ),
)
