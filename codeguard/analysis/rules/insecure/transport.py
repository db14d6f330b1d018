"""Connections without encryption or authentication: TLS, SSH, clear text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, parameters_of, word_set
from codeguard.analysis.rules.insecure.words import PASSWORD, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_VERBS = ("get", "post", "put", "patch", "delete", "head", "options", "request", "stream")
_REQUESTS = frozenset(
    f"{owner}.{verb}"
    for owner in (
        "requests",
        "requests.Session",
        "requests.session",
        "httpx",
        "httpx.Client",
        "httpx.AsyncClient",
    )
    for verb in _VERBS
) | word_set("httpx.Client httpx.AsyncClient")
_OLD = ("SSLv2", "SSLv3", "TLSv1", "TLSv1_1", "PROTOCOL_SSLv2", "PROTOCOL_SSLv3", "PROTOCOL_TLSv1", "PROTOCOL_TLSv1_1",
        "SSLv2_METHOD", "SSLv3_METHOD", "TLSv1_METHOD", "TLSv1_1_METHOD", "PROTOCOL_SSLv23")  # fmt: skip
_LOCAL = ("localhost", "127.", "[::1]", "0.0.0.0", "::1", "{")


def _no_verification(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name in ("ssl._create_unverified_context", "ssl._create_stdlib_context"):
        if name == "ssl._create_unverified_context":
            yield NodeMatch(node, "the context trusts every certificate")
        return
    if name == "ssl.SSLContext":
        chosen = view.argument(node, "protocol", 0)
        told = chosen is not None and view.names.resolve(chosen).endswith(("_CLIENT", "_SERVER"))
        if not told and not view.has(
            "verify_mode", "cert_required", "load_cert_chain", "set_verify", "server_side"
        ):
            yield NodeMatch(node, "the context asks for no certificate: take ssl.create_default_context")
        return
    asked = view.argument(node, "cert_reqs") or view.argument(node, "server_side")
    if name == "ssl.wrap_socket" and asked is None and not any(item.arg is None for item in node.keywords):
        yield NodeMatch(
            node, "the socket asks for no certificate: take a context with ssl.create_default_context"
        )
        return
    for keyword in (
        "verify",
        "verify_ssl",
        "ssl",
        "verify_certs",
        "ssl_verify",
        "validate_certs",
        "check_hostname",
    ):
        given = view.argument(node, keyword)
        if given is not None and view.names.constant(given, True) is False:
            yield NodeMatch(node, f"{keyword}=False trusts every certificate", asked_for(view, node))
            return
        if keyword != "ssl" and isinstance(given, ast.Name) and _off_by_default(view, node, given.id):
            yield NodeMatch(
                node, f"{given.id} is False unless the caller says otherwise: every certificate is trusted"
            )
            return
    for keyword in ("cert_reqs", "ssl_cert_reqs"):
        given = view.argument(node, keyword)
        if given is not None and (
            view.names.resolve(given).endswith("CERT_NONE")
            or view.names.constant(given, "") in ("CERT_NONE", None, "none")
        ):
            yield NodeMatch(node, f"{keyword} asks for no certificate", asked_for(view, node))


def _off_by_default(view: View, node: ast.AST, name: str) -> bool:
    """Return whether a parameter of the function around a node is False by default."""
    function = view.function_of(node)
    if not isinstance(function, FUNCTIONS):
        return False
    given = function.args
    listed = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(reversed(listed), reversed(given.defaults), strict=False),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    return any(
        item.arg == name and isinstance(value, ast.Constant) and value.value is False for item, value in pairs
    )


def _database(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find LDAP connections with TLS disabled, and weak cipher lists."""
    assert isinstance(node, ast.Call)
    if name == "ldap3.Server":
        address = view.names.text(view.argument(node, "host", 0)) or ""
        plain = address.startswith("ldap://") or view.constant(node, "use_ssl", default=True) is False
        if plain and not view.has("start_tls", "ldap_start_tls", "tls="):
            yield NodeMatch(node, "the directory's password is sent in clear text")
    elif name.rpartition(".")[2] in ("connect", "create_engine"):
        text = view.names.text(node.args[0]) if node.args else None
        if text is not None and _NO_TLS.search(text) and not _NEAR.search(text):
            yield NodeMatch(node, "what the database holds goes over the line in clear text")
    elif name.endswith("set_ciphers"):
        text = view.names.text(node.args[0]) if node.args else None
        if text is not None and _HOLES.search(text):
            yield NodeMatch(node, f"{text!r} lets broken ciphers in")


_NO_TLS = lazy(r"\bsslmode=(?:disable|allow)\b")
_NEAR = lazy(r"localhost|127\.0\.0\.1|host=/")
_HOLES = lazy(
    r"SECLEVEL=0|(?:^|[:,+ ])(?:ALL|NULL|eNULL|aNULL|EXPORT|EXP|LOW|RC4|DES|3DES|MD5|ADH)(?:$|[:,+ @-])"
)


def _assigned(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call):
        yield from _no_verification(view, node, name)
        return
    assert isinstance(node, ast.Assign)
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            key, given = view.names.text(target.slice), view.names.constant(node.value, True)
            if (key == "verify" and given is False and view.modules & {"requests", "httpx"}) or (
                key == "PYTHONHTTPSVERIFY" and given == "0"
            ):
                yield NodeMatch(node, f"{key} switches the look at certificates off", asked_for(view, node))
        if not isinstance(target, ast.Attribute):
            continue
        value = view.names.resolve(node.value)
        if target.attr == "verify_mode" and value.endswith("CERT_NONE") and not _of_server(view, target):
            yield NodeMatch(node, "the context asks for no certificate", asked_for(view, node))
        elif (
            target.attr == "verify"
            and isinstance(node.value, ast.Name)
            and _off_by_default(view, node, node.value.id)
        ):
            if view.modules & {"requests", "httpx"}:
                yield NodeMatch(node, f"{node.value.id} is False unless the caller says otherwise")
        elif target.attr == "verify" and view.names.constant(node.value, True) is False:
            if view.modules & {"requests", "httpx"}:
                yield NodeMatch(node, "the session trusts every certificate", asked_for(view, node))
        elif target.attr == "_create_default_https_context" and "unverified" in value:
            yield NodeMatch(node, "every HTTPS request of the process trusts every certificate")


def _hostname(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call):
        if view.constant(node, "assert_hostname", default=True) is False:
            yield NodeMatch(node, "the certificate of any other host is accepted")
        return
    assert isinstance(node, ast.Assign)
    for target in node.targets:
        named = isinstance(target, ast.Attribute) and target.attr in ("check_hostname", "assert_hostname")
        own = (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        )
        function = view.function_of(node)
        if own and function is not None and function.name == "__init__":
            continue  # the initial value of an object's own attribute, not of a TLS context
        if named and view.names.constant(node.value, True) is False and not _of_server(view, target):
            told = _asks_nothing(view, node, target) and "CERT_OPTIONAL" not in view.reading.text
            severity = Severity.LOW if told else asked_for(view, node)
            yield NodeMatch(node, "the certificate of any other host is accepted", severity)


def _of_server(view: View, target: ast.expr) -> bool:
    """Return whether a context is a server's, whose clients have no host name and usually no certificate."""
    holder = target.value if isinstance(target, ast.Attribute) else target
    return any("PROTOCOL_TLS_SERVER" in unparse(value) for value in view.names.values_of(holder))


def _asks_nothing(view: View, node: ast.AST, target: ast.expr) -> bool:
    """Return whether the same context requires no certificate at all, which another rule reports."""
    function = view.function_of(node) or view.reading.tree
    holder = unparse(target.value) if isinstance(target, ast.Attribute) else ""
    return function is not None and any(
        isinstance(part, ast.Assign)
        and unparse(part.targets[0]) == f"{holder}.verify_mode"
        and "CERT_NONE" in unparse(part.value)
        for part in walk(function)
    )


_OPTION = lazy(r"verif|valid|insecure|cert|check_?host|trust|tls|ssl", re.IGNORECASE)


def asked_for(view: View, node: ast.AST) -> Severity | None:
    """Return low severity if a branch disables verification on request: `if not validate_cert:` in a library."""
    child: ast.AST = node
    at = view.parent(node)
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(at, ast.If) and child is not at.test:
            given = parameters_of(view.function_of(at))
            for part in walk(at.test):
                name = unqualified_name(part)
                kept = isinstance(part, ast.Attribute) or name in given
                if kept and _OPTION.search(name):
                    return Severity.LOW
        child, at = at, view.parent(at)
    return None


def _old_protocol(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Attribute)
    if not view.has("ssl"):
        return
    resolved = view.names.resolve(node)
    owner, _, last = resolved.rpartition(".")
    if last not in _OLD or not owner.startswith(("ssl", "OpenSSL.SSL")) or last == "PROTOCOL_SSLv23":
        return
    parent = view.parent(node)
    if isinstance(parent, ast.Compare | ast.Subscript | ast.List | ast.Tuple | ast.Attribute | ast.Dict):
        return  # a table of versions selects none
    if isinstance(parent, ast.Assign) and not any(
        (isinstance(target, ast.Attribute) and target.attr == "minimum_version")
        or isinstance(target, ast.Name)
        for target in parent.targets
    ):
        return
    yield NodeMatch(node, f"{last} is broken: at least TLS 1.2")


def _host_key(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    policy = node.args[0] if node.args else view.argument(node, "policy")
    if policy is not None:
        chosen = view.names.resolve(policy)
        if "AutoAddPolicy" in chosen or "WarningPolicy" in chosen:
            yield NodeMatch(node, f"{chosen.removesuffix('()')} accepts any server")


def _cleartext(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name.startswith("ftplib.FTP"):
        yield NodeMatch(node, "FTP sends password and files in clear text: use FTP_TLS or SFTP")
    elif name.startswith("telnetlib"):
        yield NodeMatch(node, "Telnet sends passwords in clear text: use SSH")
    elif name.endswith(".login"):
        owner = view.function_of(node) or view.reading.tree
        calls = [part for part in walk(owner) if isinstance(part, ast.Call)] if owner is not None else []
        if not any(
            isinstance(part.func, ast.Attribute) and part.func.attr in ("starttls", "stls") for part in calls
        ):
            yield NodeMatch(node, f"{name} before STARTTLS sends the password in clear text")


def _plain_socket(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a token that goes over `ws://`."""
    text = _start(view, view.argument(node, "uri", 0) or view.argument(node, "url", 0))
    sent = [
        item
        for item in node.keywords
        if item.arg in ("extra_headers", "additional_headers", "header", "headers")
    ]
    if (
        text.startswith("ws://")
        and not any(part in text[5:22] for part in _LOCAL)
        and any(
            key.lower() in _CREDENTIALS or key.lower() == "cookie"
            for item in sent
            for key in _keys(view, item.value)
        )
    ):
        yield NodeMatch(node, "credentials go over ws:// in clear text")


def _plain_base(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a client of `http://…` that a class logs in with: `httpx.Client(base_url=SERVER)`."""
    text = _start(view, view.argument(node, "base_url"))
    if not text.startswith("http://") or any(part in text[7:24] for part in _LOCAL):
        return
    owner: ast.AST | None = view.names.class_of(node) or view.function_of(node)
    for call in walk(owner) if owner is not None else ():
        if isinstance(call, ast.Call) and unqualified_name(call.func) in ("post", "put"):
            sent = [
                key
                for item in call.keywords
                if item.arg in ("json", "data")
                for key in _keys(view, item.value)
            ]
            if any(mentions(key, PASSWORD) for key in sent):
                yield NodeMatch(node, "credentials go over http:// in clear text")
                return


def _credentials(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find credentials sent without TLS: `requests.post("http://…", data={"password": …})`."""
    assert isinstance(node, ast.Call)
    if unqualified_name(node.func) == "username_pw_set":
        if view.modules & {"paho"} and not view.has("tls", "ssl", "8883", "localhost", "127.0.0.1", "::1"):
            yield NodeMatch(node, "the broker's password is sent in clear text: call tls_set before")
        return
    if name.startswith("websocket"):
        yield from _plain_socket(view, node)
        return
    if name in ("httpx.Client", "httpx.AsyncClient"):
        yield from _plain_base(view, node)
        return
    address = view.argument(node, "url", 1 if name.endswith(".request") else 0)
    text = _start(view, address)
    if not text.startswith("http://") or any(part in text[7:24] for part in _LOCAL):
        return
    given = [item for item in node.keywords if item.arg in ("auth", "data", "json", "headers", "params")]
    for item in given:
        words = _keys(view, item.value)
        if item.arg == "auth" or any(
            mentions(word, PASSWORD) or word.lower() in _CREDENTIALS or word.lower().endswith("_secret")
            for word in words
        ):
            yield NodeMatch(node, "credentials go over http:// in clear text")
            return


_CREDENTIALS = frozenset({"authorization", "token", "api_key", "apikey", "x-api-key", "secret", "access_token", "card",
                          "card_number", "cvv", "ssn"})  # fmt: skip


def _start(view: View, node: ast.expr | None) -> str:
    if node is None:
        return ""
    text = view.names.text(node)
    if text is not None:
        return text
    for value in view.names.values_of(node):
        node = value
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        return _start(view, first.value if isinstance(first, ast.FormattedValue) else first)
    if isinstance(node, ast.BinOp):
        return _start(view, node.left)
    return ""


def _keys(view: View, node: ast.expr) -> list[str]:
    values = view.names.values_of(node) if isinstance(node, ast.Name) else [node]
    held = [value for value in values if isinstance(value, ast.Dict)]
    return [
        *(key for value in held for item in value.keys if (key := view.names.text(item))),
        *(last_name(item) for value in held for item in value.values),
    ]


CHECKS = (
    Check(
        _RULES["tls-not-verified"],
        calls=_REQUESTS
        | word_set(
            "ssl._create_unverified_context aiohttp.TCPConnector urllib3.PoolManager urllib3.HTTPSConnectionPool "
            "elasticsearch.Elasticsearch ssl.wrap_socket aiohttp.ClientSession.get aiohttp.ClientSession.post "
            "redis.Redis websockets.connect ldap3.Tls boto3.client ssl.SSLContext httpx.HTTPTransport "
            "httpx.AsyncHTTPTransport aiohttp.ClientSession"
        ),
        nodes=(ast.Assign,),
        look=_assigned,
    ),
    Check(
        _RULES["weak-connection"],
        calls=word_set(
            "ldap3.Server psycopg2.connect psycopg.connect asyncpg.connect sqlalchemy.create_engine"
        ),
        methods=word_set("set_ciphers"),
        look=_database,
    ),
    Check(
        _RULES["hostname-not-verified"],
        nodes=(ast.Assign,),
        calls=word_set("urllib3.HTTPSConnectionPool urllib3.PoolManager"),
        look=_hostname,
    ),
    Check(
        _RULES["old-tls"],
        nodes=(ast.Attribute,),
        look=_old_protocol,
    ),
    Check(
        _RULES["ssh-host-key"],
        methods=word_set("set_missing_host_key_policy"),
        look=_host_key,
    ),
    Check(
        _RULES["cleartext-protocol"],
        calls=word_set(
            "ftplib.FTP telnetlib.Telnet smtplib.SMTP.login poplib.POP3.pass_ imaplib.IMAP4.login nntplib.NNTP.login"
        ),
        look=_cleartext,
    ),
    Check(
        _RULES["cleartext-credentials"],
        calls=_REQUESTS | word_set("websockets.connect websocket.create_connection websocket.WebSocketApp"),
        methods=word_set("username_pw_set"),
        look=_credentials,
    ),
)
