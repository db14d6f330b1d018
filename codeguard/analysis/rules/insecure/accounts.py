"""Passwords and sessions handled in ways that allow guessing or leaking."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.sessions import framework_settings
from codeguard.analysis.rules.insecure.words import PASSWORD, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_SHORTEST = 8
_LONGEST_SESSION = 31 * 24 * 3600


def _short(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find minimum lengths that allow short passwords: `len(password) < 4`."""
    assert isinstance(node, ast.Compare)
    left, right = node.left, node.comparators[0]
    if not (isinstance(left, ast.Call) and left.args and view.names.called(left) == "len"):
        return
    limit = view.names.constant(right)
    function = view.function_of(node)
    checked = last_name(left.args[0])
    if isinstance(function, FUNCTIONS) and any(item.arg == checked for item in function.args.args):
        checked += f" {function.name}"  # def validate_password(value)
    if not mentions(checked, PASSWORD) or not isinstance(limit, int) or isinstance(limit, bool):
        return
    least = limit + 1 if isinstance(node.ops[0], ast.Gt | ast.LtE) else limit
    if isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE) and 1 < least < _SHORTEST:
        yield NodeMatch(
            node, f"passwords of {least} characters are let through: ask for at least {_SHORTEST}"
        )


_LEAST_SETTING = lazy(
    r"(?:\w+_)?(?:MIN(?:IMUM)?_PASSWORD_(?:LEN|LENGTH|SIZE)|PASSWORD_(?:MIN(?:IMUM)?_(?:LEN|LENGTH|SIZE)|LENGTH_MIN))"
)


def _no_rules(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find disabled password rules: `AUTH_PASSWORD_VALIDATORS = []`, or a form field of four characters."""
    for setting, value in framework_settings(view, node):
        limit = view.names.constant(value)
        if _LEAST_SETTING.fullmatch(setting) and isinstance(limit, int) and 1 < limit < _SHORTEST:
            yield NodeMatch(
                node, f"passwords of {limit} characters are let through: ask for at least {_SHORTEST}"
            )
        elif setting == "AUTH_PASSWORD_VALIDATORS" and view.names.constant(value) == ():
            yield NodeMatch(node, "any password is let through, the shortest and best known too")
        elif setting == "SECURITY_PASSWORD_LENGTH_MIN" or mentions(setting, PASSWORD):
            least = _least(view, value) if isinstance(value, ast.Call) else None
            if least is not None and 0 < least < _SHORTEST:
                yield NodeMatch(
                    node, f"passwords of {least} characters are let through: ask for at least {_SHORTEST}"
                )


def _least(view: View, call: ast.Call) -> int | None:
    """Return the minimum length in `Field(min_length=4)` or `PasswordField(validators=[Length(min=4)])`."""
    for part in walk(call):
        if isinstance(part, ast.keyword) and part.arg in ("min_length", "min"):
            given = view.names.constant(part.value)
            if isinstance(given, int):
                return given
    return None


def _in_address(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find passwords in a request's URL, which logs and histories store."""
    if isinstance(node, ast.Subscript):
        holder, key = node.value, view.names.text(node.slice)
    else:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        holder, key = node.func.value, view.names.text(node.args[0]) if node.args else None
    if not (isinstance(holder, ast.Attribute) and holder.attr in ("args", "GET", "query_params")):
        return
    if key is not None and mentions(key, PASSWORD) and "request" in ast.unparse(holder.value).lower():
        yield NodeMatch(node, f"{key} comes in the address, which logs and histories keep")


def _framed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            if view.names.resolve(decorator).endswith("xframe_options_exempt"):
                yield NodeMatch(decorator, "other sites can show this page in a frame and catch its clicks")
        return
    for setting, value in framework_settings(view, node):
        if (
            setting in ("X_FRAME_OPTIONS", "X-Frame-Options")
            and str(view.names.text(value)).upper() == "ALLOWALL"
        ):
            yield NodeMatch(node, "other sites can show these pages in a frame and catch their clicks")


_SESSION = lazy(r"session|(?:^|_)sid$|auth|token|login|remember", 2)
_AT_LEAST = lazy(r"\{(\d),\d{0,3}\}\$?$")


def _kept_for_years(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find the cookie of a session that stays for years, and patterns that let short passwords through."""
    assert isinstance(node, ast.Call)
    if name.startswith("re."):
        pattern = view.names.text(node.args[0]) if node.args else None
        found = _AT_LEAST.search(pattern or "")
        function = view.function_of(node)
        checked = (
            f"{getattr(function, 'name', '')} {ast.unparse(node.args[1])[:60] if len(node.args) > 1 else ''}"
        )
        if found is not None and mentions(checked, PASSWORD) and 1 < int(found[1]) < _SHORTEST:
            yield NodeMatch(
                node, f"passwords of {found[1]} characters are let through: ask for at least {_SHORTEST}"
            )
        return
    key = (
        view.names.text(view.argument(node, "key", 0))
        or view.names.text(view.argument(node, "name", 0))
        or ""
    )
    age = view.constant(node, "max_age")
    if _SESSION.search(key) and isinstance(age, int) and age > _LONGEST_COOKIE:
        yield NodeMatch(node, f"{key} keeps a stolen session alive for long")


_LONGEST_COOKIE = 366 * 24 * 3600


_ANY_FRAME = "frame-ancestors" + " *"  # in two parts, so that the rule is silent about itself


def _in_texts(view: View) -> Iterator[NodeMatch]:
    """Find headers that let every site show a page in a frame, and links that hand the page over."""
    if not view.has(_ANY_FRAME, 'rel="opener"'):
        return
    for node in view.reading.nodes_of(ast.Constant):
        text = (
            node.value if isinstance(node.value, str) and not isinstance(view.parent(node), ast.Expr) else ""
        )
        if _ANY_FRAME in text and view.has("content-security-policy"):
            yield NodeMatch(node, "other sites can show these pages in a frame and catch their clicks")
        elif 'target="_blank"' in text and 'rel="opener"' in text:
            yield NodeMatch(node, "the page that opens can send this one elsewhere: write noopener")


def _endless(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    for setting, value in framework_settings(view, node):
        if setting in ("SESSION_COOKIE_AGE", "PERMANENT_SESSION_LIFETIME", "JWT_ACCESS_TOKEN_EXPIRES"):
            seconds = view.names.constant(value, 0)
            if isinstance(value, ast.Call) and view.names.called(value) == "datetime.timedelta":
                days = view.constant(value, "days", 0, 0)
                seconds = days * 86400 if isinstance(days, int) else 0
            never = setting.startswith("JWT") and seconds is False
            if never or (
                isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > _LONGEST_SESSION
            ):
                yield NodeMatch(node, f"{setting} keeps a stolen session alive for long")


CHECKS = (
    Check(
        _RULES["short-passwords"],
        nodes=(ast.Compare, ast.Assign, ast.AnnAssign),
        calls=word_set("re.match re.fullmatch"),
        look=lambda view, node, name: (
            _short(view, node, name)
            if isinstance(node, ast.Compare)
            else _kept_for_years(view, node, name)
            if isinstance(node, ast.Call)
            else _no_rules(view, node, name)
        ),
    ),
    Check(
        _RULES["password-in-address"],
        nodes=(ast.Subscript,),
        methods=word_set("get"),
        look=_in_address,
    ),
    Check(
        _RULES["frames-allowed"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.keyword),
        look=_framed,
        look_at_file=_in_texts,
    ),
    Check(
        _RULES["endless-session"],
        nodes=(ast.Assign, ast.keyword),
        methods=word_set("set_cookie"),
        look=lambda view, node, name: (
            _kept_for_years(view, node, name) if isinstance(node, ast.Call) else _endless(view, node, name)
        ),
    ),
)
