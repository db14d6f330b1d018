"""Logins, sessions and passwords whose handlers leave a step out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.bindings import FunctionNode
from codeguard.reading.patterns import lazy
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names
from codeguard.signals.insecure.handlers import body_words, is_from_request, is_handler, words

_CHANGE = lazy(r"(?:change|update|set|edit|new)_?pass|pass\w{0,8}_?(?:change|update|edit)", re.IGNORECASE)
_RESET = lazy(r"reset|recover|forgot", re.IGNORECASE)
_SETS = lazy(r"set_password|password|passwd|pwd", re.IGNORECASE)
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
_LOGOUT = lazy(r"^(?:do_|user_|handle_)?(?:log_?out|sign_?out)(?:_view|_user)?$", re.IGNORECASE)
_SID = lazy(r"^(?:session_?id|sess_?id|sid|session|phpsessid|jsessionid)$", re.IGNORECASE)
_LASTS = lazy(r"access|session|login|bearer|sign_in|refresh|issue", re.IGNORECASE)


def _changed(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """A handler that sets a new password and asks neither for the old one nor for a proof."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not view.has("passw") or not (_CHANGE.search(node.name) or _RESET.search(node.name)):
        return
    if not is_handler(view, node):
        return
    setting = next((part for part in ast.walk(node) if _sets_password(part)), None)
    if setting is None:
        return
    said = body_words(node) + " " + words(node.decorator_list)
    if _CHANGE.search(node.name) and not _RESET.search(node.name):
        if not _OLD.search(said):
            yield Found(
                setting, "the password is changed for whoever sits at an open session: ask for the old one"
            )
    elif not _PROOF.search(said):
        yield Found(setting, "the password is reset for whoever names the account")


def _sets_password(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Attribute) and part.func.attr == "set_password"
    if isinstance(part, ast.Assign):
        return any(
            isinstance(target, ast.Attribute) and bool(_SETS.search(target.attr)) for target in part.targets
        )
    return False


def _logged_in(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`login(request, User.objects.get(name=…))`: a user who was looked up by name, and never asked for a password."""
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
        inside = " ".join(ast.unparse(part) for part in ast.walk(value) if isinstance(part, ast.keyword))
        if looked_up and re.search(r"request\b|form\b", inside) and not _OLD.search(body_words(function)):
            yield Found(node, "the user is logged in by name alone: no password was asked for")
            return


def _ended(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """A logout that leaves the session as it is."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not _LOGOUT.match(node.name) or not is_handler(view, node):
        return
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call | ast.Delete)]
    if len(node.body) > 1 and not any(_ends(view, part) for part in calls):
        yield Found(node.body[0], "the session lives on after the logout")


def _ends(view: View, part: ast.AST) -> bool:
    if isinstance(part, ast.Delete):
        return True
    assert isinstance(part, ast.Call)
    last = getattr(part.func, "attr", getattr(part.func, "id", "")) + " " + view.names.called(part)
    if last.startswith("delete_cookie"):
        return bool(_SID.search(view.names.text(part.args[0] if part.args else None) or "sid"))
    return bool(_ENDED.search(last)) or last.startswith("delete")


def _fixed(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """The identifier of a session, taken from the request; the login of Django written by hand."""
    if isinstance(node, ast.Call):
        key = view.names.text(view.argument(node, "key", 0))
        value = view.argument(node, "value", 1)
        if key is not None and value is not None and _SID.match(key) and is_from_request(view, value):
            yield Found(node, "the visitor chooses the identifier of the session")
        return
    assert isinstance(node, ast.Assign)
    target = node.targets[0]
    if isinstance(target, ast.Attribute):
        held = (
            target.attr in ("sid", "session_id", "session_key")
            and "session" in ast.unparse(target.value).lower()
        )
        if held and is_from_request(view, node.value):
            yield Found(node, "the visitor chooses the identifier of the session")
        return
    if not isinstance(target, ast.Subscript):
        return
    key, holder = view.names.text(target.slice) or "", ast.unparse(target.value)[:80]
    if not holder.endswith("session"):
        return
    if (_SID.match(key) or key == "id") and is_from_request(view, node.value):
        yield Found(node, "the visitor chooses the identifier of the session")
    elif holder == "request.session" and re.match(r"_?(?:auth_)?user|account|uid|member", key):
        function = view.function_of(node)
        if function is not None and _starts_session(view, function):
            yield Found(
                node,
                "the session keeps the identifier that it had before the login: use django.contrib.auth.login",
            )


def _starts_session(view: View, function: FunctionNode) -> bool:
    called = {
        view.names.called(part).rpartition(".")[2]
        for part in ast.walk(function)
        if isinstance(part, ast.Call)
    }
    checks = {"authenticate", "check_password", "checkpw", "verify"} & called
    fresh = {"login", "cycle_key", "flush", "clear", "invalidate", "regenerate"} & called
    return "django" in view.modules and bool(checks) and not fresh


def _endless_token(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    payload = view.argument(node, "payload", 0) or view.argument(node, "claims", 0)
    if function is None or payload is None or not _LASTS.search(function.name):
        return
    written = [value for value in (payload, *view.names.values_of(payload)) if isinstance(value, ast.Dict)]
    if not written or any(key is None for value in written for key in value.keys):
        return
    if "exp" not in words([function]).split():
        yield Found(node, "the token has no exp: whoever finds it can use it for ever")


def _tells(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """A login that answers one thing where the name is unknown, and another where the password is wrong."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not view.has("passw") or not re.search(r"log_?in|sign_?in|auth", node.name, re.IGNORECASE):
        return
    if not is_handler(view, node):
        return
    said = [
        (part, part.value[:200])
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    unknown = [part for part, text in said if _UNKNOWN.search(text)]
    if unknown and any(_WRONG.search(text) for part, text in said if part not in unknown):
        yield Found(unknown[0], "the answer tells which names have an account")


_UNKNOWN = lazy(
    r"(?:no|unknown|invalid|such) (?:such )?(?:user|account|e-?mail|username)|"
    r"(?:user|account|e-?mail|username) (?:is |was )?"
    r"(?:not found|unknown|does ?n.?o?t exist|not registered|not exist)",
    re.IGNORECASE,
)
_WRONG = lazy(
    r"(?:wrong|incorrect|invalid|bad) (?:password|pass)|password (?:is |was )?(?:wrong|incorrect|invalid)",
    re.IGNORECASE,
)


def _stateless(view: View) -> Iterator[Found]:
    """The address of an OAuth login, put together without the state that the answer is compared with."""
    if not view.has("response_type=code") or view.has("state"):
        return
    for node in view.reading.nodes_of(ast.Constant):
        if isinstance(node.value, str) and "response_type=code" in node.value:
            yield Found(node, "no state: another site can finish the login with an account of its own")
            return


CHECKS = (
    Check(
        Rule(
            "password-without-proof",
            "A password is changed or reset without a proof of who asks",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Whoever sits at an open session, or knows the name, takes the account over. Ask for the old password, or "
            "for a signed link that was sent.",
            bad="from flask import Flask, request\nfrom flask_login import current_user, login_required\n\n"
            'app = Flask(__name__)\n\n@app.route("/password", methods=["POST"])\n@login_required\n'
            'def change_password():\n    current_user.set_password(request.form["new"])\n    return ""',
            good="from flask import Flask, abort, request\nfrom flask_login import current_user, login_required\n\n"
            'app = Flask(__name__)\n\n@app.route("/password", methods=["POST"])\n@login_required\n'
            'def change_password():\n    if not current_user.check_password(request.form["old"]):\n        abort(403)\n'
            '    current_user.set_password(request.form["new"])\n    return ""',
            cwe=(620, 640),
        ),
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_changed,
    ),
    Check(
        Rule(
            "login-without-password",
            "A user is logged in by name alone",
            Severity.HIGH,
            Confidence.MEDIUM,
            "Anyone can be anyone. Log in the user whom authenticate returned.",
            bad="from django.contrib.auth import login\n\ndef enter(request):\n"
            '    user = User.objects.get(username=request.POST["name"])\n    login(request, user)',
            good="from django.contrib.auth import authenticate, login\n\ndef enter(request):\n"
            '    user = authenticate(request, username=request.POST["name"], password=request.POST["password"])\n'
            "    if user is not None:\n        login(request, user)",
            cwe=(287, 306),
        ),
        calls=names("django.contrib.auth.login flask_login.login_user"),
        look=_logged_in,
    ),
    Check(
        Rule(
            "session-outlives-logout",
            "A logout leaves the session as it is",
            Severity.MEDIUM,
            Confidence.LOW,
            "Whoever has the cookie is still in. End the session on the server.",
            bad="from django.shortcuts import redirect\n\ndef logout(request):\n"
            '    answer = redirect("/")\n    return answer',
            good="from django.contrib.auth import logout as end\nfrom django.shortcuts import redirect\n\n"
            'def logout(request):\n    end(request)\n    return redirect("/")',
            cwe=(613,),
        ),
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_ended,
    ),
    Check(
        Rule(
            "session-fixation",
            "A session keeps, or takes, an identifier that others know",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Whoever gave the visitor the identifier is logged in with them. Begin a new session at the login.",
            bad="from flask import request\n\ndef enter(response):\n"
            '    response.set_cookie("session_id", request.args["sid"], secure=True, httponly=True)',
            good="import secrets\n\ndef enter(response):\n"
            '    response.set_cookie("session_id", secrets.token_hex(16), secure=True, httponly=True)',
            cwe=(384,),
        ),
        nodes=(ast.Assign,),
        methods=names("set_cookie"),
        look=_fixed,
    ),
    Check(
        Rule(
            "token-without-end",
            "A token of a login never ends",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A token that leaked stays good for ever. Give it exp, minutes or hours from now.",
            bad="import jwt\n\ndef access_token(user, key):\n"
            '    return jwt.encode({"sub": user}, key, algorithm="HS256")',
            good="import time\nimport jwt\n\ndef access_token(user, key):\n"
            '    return jwt.encode({"sub": user, "exp": time.time() + 900}, key, algorithm="HS256")',
            cwe=(613,),
        ),
        calls=names("jwt.encode jose.jwt.encode jwt.api_jwt.encode authlib.jose.jwt.encode"),
        look=_endless_token,
    ),
    Check(
        Rule(
            "names-told",
            "A login tells which names have an account",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Names are tried first, and passwords for those that exist. Answer the same to both.",
            bad='from flask import request\n\n@app.post("/login")\ndef login():\n'
            '    user = find(request.form["name"])\n    if user is None:\n        return "unknown user", 401\n'
            '    if not user.check_password(request.form["password"]):\n        return "wrong password", 401\n'
            '    return "welcome"',
            good='from flask import request\n\n@app.post("/login")\ndef login():\n'
            '    user = find(request.form["name"])\n'
            '    if user is None or not user.check_password(request.form["password"]):\n'
            '        return "name or password wrong", 401\n    return "welcome"',
            cwe=(204, 203),
        ),
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_tells,
    ),
    Check(
        Rule(
            "oauth-without-state",
            "An OAuth login is begun without a state",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Another site can finish the login in the visitor's browser. Send a random state and compare it.",
            bad='def start(redirect):\n    return redirect("https://id.test/auth?response_type=code&client_id=shop")',
            good="import secrets\n\ndef start(redirect, session):\n"
            '    session["state"] = secrets.token_urlsafe(16)\n'
            '    return redirect("https://id.test/auth?response_type=code&client_id=shop&state=" + session["state"])',
            cwe=(352, 1385),
        ),
        look_at_file=_stateless,
    ),
)
