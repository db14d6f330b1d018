"""Hard-coded secrets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.analysis.rules.secrets import holds_secret
from codeguard.corpus.patterns import lazy
from codeguard.corpus.secrets import entropy
from codeguard.corpus.syntax import unparse, unqualified_name
from codeguard.models import Confidence, Severity

_RULES = rules_of(__file__)

_NAME = lazy(
    r"(?:^|_)(?:password|passwd|passphrase|pwd|pass|secret|secret_?key|api_?key|apikey|access_?key|auth_?token|token|"
    r"private_?key|encryption_?key|signing_?key|jwt_?key|jwt_?secret|client_?secret|access_?token|db_?pass|app_?key|"
    r"secret_?access_?key|bearer|credentials?|fernet_?key|aes_?key|hmac_?key|master_?key|session_?key)(?:_\d|_b64|_hex)?$"
)
# Defaults and placeholders apply if nobody sets another value.
_KNOWN_TO_ALL = lazy(r"(?:^|_)(?:secret_?key|jwt_?secret|signing_?key|app_?secret|session_?secret)$")
_DEFAULTS = word_set("os.environ.get() os.getenv() os.environ.get os.getenv")
_PLACEHOLDER = lazy(
    r"^$|x{4,}|\*{3,}|^\.+$|^<.*>$|^\$|\{.*\}|%\(|example|placeholder|change.?me|your[_-]|dummy|fake|redacted|not.?set|"
    r"^(?:none|null|true|false|test|password|passwd|secret|token|key|user|str|string|default|required|invalid)$|"
    r"^(?:1234?5?6?7?8?9?0?|abc(?:def)?|xyz|foo|bar|baz|[:_-])+$|^abcdefghijkl\w*$",
    re.IGNORECASE,
)
_TOKEN = lazy(
    r"^(?:AKIA|ASIA)[0-9A-Z]{16}$|^gh[pousr]_[0-9A-Za-z]{36,}$|^xox[abpr]-[0-9A-Za-z-]{10,}$|^sk_live_[0-9A-Za-z]{16,}$|"
    r"^sk-[0-9A-Za-z_-]{32,}$|^AIza[0-9A-Za-z_-]{35}$|^glpat-[0-9A-Za-z_-]{20}$|^eyJ[0-9A-Za-z_-]{10,}\.eyJ"
)
_PRIVATE_KEY = lazy(
    r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |PGP )?PRIVATE KEY(?: BLOCK)?-----\s*[A-Za-z0-9+/=]{16}"
)
_BEARER = lazy(r"^(?:Bearer|Basic|token|ApiKey) (?=\S*\d)[A-Za-z0-9+/=_.-]{16,}$")
# `guest:guest@localhost` is the default of a message broker.
_URL = lazy(
    r"^[a-z][a-z0-9+]{1,20}://([^/\s:@{}]{0,64}):(?!\1@(?:localhost|127\.0\.0\.1))([^/\s:@{}]{3,64})@[^/\s]"
)


def _named(view: View, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield names and their values, in an assignment, a call, a mapping or a default."""
    # One branch per syntax that gives a value a name.
    if isinstance(node, ast.Assign):
        for target in node.targets:
            name = _target_name(view, target)
            if name:
                yield name, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _target_name(view, node.target), node.value
    elif isinstance(node, ast.keyword) and node.arg:
        yield from _of_keyword(view, node)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Compare):
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            yield last_name(side), other
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        for argument, default in zip(reversed(positional), reversed(node.defaults), strict=False):
            yield argument.arg, default
        for argument, given in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            if given is not None:
                yield argument.arg, given


def _of_keyword(view: View, node: ast.keyword) -> Iterator[tuple[str, ast.expr]]:
    call = view.parent(node)
    if node.arg == "auth" and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        yield "password", node.value.elts[1]  # requests.get(…, auth=("robot", "…"))
    elif node.arg == "default" and isinstance(call, ast.Call) and call.args:
        yield (
            (view.names.text(call.args[0]) or "").lstrip("-").replace("-", "_"),
            node.value,
        )  # add_argument, option
    else:
        assert node.arg is not None
        yield node.arg, node.value


def _target_name(view: View, target: ast.expr) -> str:
    if isinstance(target, ast.Subscript):
        return view.names.text(target.slice) or ""
    return unqualified_name(target)


def _literal(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
    if isinstance(node, ast.BoolOp):  # os.environ.get("KEY") or "fallback"
        return _literal(node.values[-1])
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "getenv")
        and len(node.args) == 2
    ):
        return _literal(node.args[1])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
        return _literal(node.func.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("Field", "field", "SecretStr", "SecretBytes"):
            given = node.args[:1] or [item.value for item in node.keywords if item.arg == "default"]
            return _literal(given[0]) if given else None
        if node.func.id == "getenv" and len(node.args) == 2:
            return _literal(node.args[1])
    return None


def _hard_coded(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Constant):
        yield from (found for found in _known_tokens(node) if not _told_as_secret(view, node))
        return
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return
    for given, value in _named(view, node):
        text = _literal(value)
        if text is None or _told_as_secret(view, value):
            continue
        if given.lower() == "authorization" and _BEARER.match(text):
            yield NodeMatch(value, "the header's token is written in the code", None, Confidence.HIGH)
        if text and _KNOWN_TO_ALL.search(_snake(given)) and view.names.resolve(value) in _DEFAULTS:
            yield NodeMatch(value, f"where {given} is not set its value is one that everybody can read")
            continue
        if not _NAME.search(_snake(given)) or not _is_secret(given, text):
            continue
        shown = entropy(text)
        yield NodeMatch(
            value,
            f"{given} is written in the code",
            None,
            Confidence.HIGH if shown > 3 else Confidence.MEDIUM,
        )


def _told_as_secret(view: View, node: ast.AST) -> bool:
    """Return whether the signal `secrets` reports this position."""
    return holds_secret(view.reading, *view.reading.place(node))


def _known_tokens(node: ast.Constant) -> Iterator[NodeMatch]:
    text = node.value
    if not isinstance(text, str) or len(text) < 10 or len(text) > 10_000:
        return
    if _TOKEN.match(text) and entropy(text) > 3 and "EXAMPLE" not in text:
        yield NodeMatch(node, f"a token that begins with {text[:4]!r}", Severity.HIGH, Confidence.HIGH)
    elif text.startswith("-----BEGIN") and _PRIVATE_KEY.match(text):
        yield NodeMatch(node, "a private key", Severity.HIGH, Confidence.HIGH)
    elif "://" in text[:24] and "@" in text:
        match = _URL.match(text)
        given = match[2] if match is not None else ""
        if given and not _PLACEHOLDER.search(given) and given.lower() not in _COMMON and not _is_name(given):
            yield NodeMatch(node, "an address with a password in it", Severity.MEDIUM, Confidence.MEDIUM)


def _is_name(text: str) -> bool:
    """Return whether a value is what a secret is called, as `aws_secret_access_key`: it stands for one."""
    return text.replace("_", "").isalpha() and _NAME.search(_snake(text)) is not None


_COMMON = frozenset({"pass", "pwd", "password", "pw", "user", "pass%20word", "pass:word"})


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:100]).lower().replace("-", "_")


_PATTERN = lazy(r"\[[^\]]{2,80}\][+*?{]|\(\?[:P=!<]|\\[dws][+*]")  # pieces of regular expressions


# "5/m/user", "/pg1", "C:\\x", object ids, URLs
_NO_SECRET = lazy(
    r"\d+/[a-z]|/[\w.-]{1,12}(?:/[\w.-]{0,30}){0,4}$|[A-Za-z]:\\|\d+(?:\.\d+){3,}$|urn:|https?://[^@]*$"
)


def _is_secret(name: str, text: str) -> bool:
    """Return whether a text looks like a secret instead of a name, a message or a placeholder."""
    if (
        not 4 <= len(text) <= 200
        or _PLACEHOLDER.search(text)
        or any(character.isspace() for character in text)
    ):
        return False
    if _PATTERN.search(text) or _NO_SECRET.match(text):
        return False
    if len(set(text)) < 4 or text.lower() in _snake(name) or _snake(name) in _snake(text):
        return False
    if re.fullmatch(r"[A-Za-z_./:-]+", text):
        # Plain words are names of fields, settings or endpoints, unless they are passwords.
        plain = text.isalpha() and not text.istitle() and len(text) < 20
        return plain and bool(re.search(r"pass|pwd|secret", _snake(name))) and _looks_chosen(text)
    return True


def _looks_chosen(text: str) -> bool:
    return text.lower() in _CHOSEN or (text.lower() != text and text.upper() != text)


_CHOSEN = frozenset({"admin", "root", "hunter", "letmein", "qwerty", "welcome", "monkey", "dragon", "supersecret",
                     "topsecret", "changeit", "toor", "swordfish", "shhh", "mysecret", "secretkey"})  # fmt: skip


def _login(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find literal credentials: `server.login("robot", "…")`, `HTTPBasicAuth("robot", "…")`."""
    assert isinstance(node, ast.Call)
    if len(node.args) < 2 and name not in _HASHES:
        return
    if not node.args:
        return
    if name in _HASHES:
        yield from _default_password(view, node)
        return
    position = 2 if name.endswith((".connect", ".setdefault")) and len(node.args) > 2 else 1
    text = _literal(node.args[position])
    if name.endswith("compare_digest"):
        text = text if text is not None else _literal(node.args[0])
        secret = any(_NAME.search(_snake(last_name(item))) for item in node.args[:2])
        if secret and text is not None and _is_secret("secret", text):
            yield NodeMatch(node, "what a secret is compared with is written in the code")
        return
    if name == "os.environ.setdefault":
        given = view.names.text(node.args[0]) or ""
        if text is not None and _NAME.search(_snake(given)) and _is_secret(given, text):
            yield NodeMatch(node, f"{given} is written in the code")
        return
    if name.endswith(".connect") and position != 2:
        return
    if text is not None and _literal(node.args[position - 1]) is not None and _is_secret("password", text):
        yield NodeMatch(node, "the password is written in the code")


_DUMMY = lazy(
    r"dummy|unused|fake|no[ _]?(?:such|one|body|member|user)|timing|placeholder|invalid|not[ _]a",
    re.IGNORECASE,
)


def _default_password(view: View, node: ast.Call, position: int = 0) -> Iterator[NodeMatch]:
    """Find the password that the first account gets: `User("admin", generate_password_hash("admin"))`."""
    text = _literal(node.args[position]) if len(node.args) > position else None
    statement = view.statement(node)
    alone = isinstance(statement, ast.Assign | ast.AnnAssign) and view.function_of(node) is None
    if text and not _DUMMY.search(f"{text} {unparse(statement)[:200]}") and not alone:
        yield NodeMatch(node, "the password of an account is written in the code")


def _of_call(view: View, node: ast.Call, name: str) -> Iterator[NodeMatch]:
    last = last_name(node.func) if not isinstance(node.func, ast.Call) else ""
    if name in _LOGINS:
        yield from _login(view, node, name)
    elif last == "create_superuser":
        yield from _default_password(view, node, 2)
    elif last == "set_password" and len(node.args) == 1:
        yield from _default_password(view, node)


_HASHES = word_set(
    "werkzeug.security.generate_password_hash django.contrib.auth.hashers.make_password bcrypt.hashpw "
    "argon2.PasswordHasher.hash passlib.context.CryptContext.hash passlib.hash.bcrypt.hash passlib.hash.argon2.hash "
    "flask_bcrypt.generate_password_hash"
)
_LOGINS = _HASHES | word_set(
    "requests.auth.HTTPBasicAuth requests.auth.HTTPDigestAuth aiohttp.BasicAuth httpx.BasicAuth smtplib.SMTP.login "
    "smtplib.SMTP_SSL.login ftplib.FTP.login ftplib.FTP_TLS.login imaplib.IMAP4.login imaplib.IMAP4_SSL.login "
    "pymysql.connect MySQLdb.connect hmac.compare_digest secrets.compare_digest os.environ.setdefault"
)


CHECKS = (
    Check(
        _RULES["hard-coded-secret"],
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict, ast.arguments, ast.Constant, ast.Compare),
        calls=_LOGINS,
        methods=word_set("create_superuser set_password"),
        look=lambda view, node, name: (
            _of_call(view, node, name) if isinstance(node, ast.Call) else _hard_coded(view, node, name)
        ),
    ),
)
