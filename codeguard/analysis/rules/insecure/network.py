"""Requests and redirects to hosts that attackers control."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.syntax import unparse, walk
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.tables import ANSWER, STORED
from codeguard.flow.values import Origin, Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_VERBS = "get post put patch delete head options request"
_REQUESTS = frozenset(
    f"{owner}.{verb}"
    for owner in (
        "requests", "requests.Session", "requests.session", "httpx", "httpx.Client", "httpx.AsyncClient",
        "aiohttp.ClientSession", "urllib3", "urllib3.PoolManager", "requests.sessions.Session",
    )
    for verb in _VERBS.split()
)  # fmt: skip
_OPENERS = word_set(
    "urllib.request.urlopen urllib.request.urlretrieve urllib.request.Request urllib2.urlopen urlopen "
    "http.client.HTTPConnection http.client.HTTPSConnection "
    "urllib3.HTTPSConnectionPool urllib3.HTTPConnectionPool socket.create_connection pycurl.Curl.setopt "
    "aiohttp.request httpx.stream socket.socket.connect socket.socket.connect_ex asyncio.open_connection smtplib.SMTP "
    "ftplib.FTP telnetlib.Telnet websockets.connect websocket.create_connection pdfkit.from_url imgkit.from_url "
    "weasyprint.HTML feedparser.parse niquests.get curl_cffi.requests.get treq.get grpc.insecure_channel wget.download"
)


def _goes_elsewhere(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether the value may change the host: False if the URL starts with a fixed one."""
    argument = (
        call.args[-1]
        if name.endswith(".request") and len(call.args) > 1
        else call.args[0]
        if call.args
        else None
    )
    for item in call.keywords:
        if item.arg == "url":
            argument = item.value
    return argument is not None and not fixed_host(names, argument)


def fixed_host(names: Names, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a URL starts with a scheme and a complete host that the code fixes."""
    if depth > 8:
        return False
    if isinstance(node, ast.Name):
        # Each value that the name may have has to be one; a name behind the name is not followed.
        values = names.values_of(node)
        return bool(values) and all(fixed_host(names, value, depth + 1) for value in values)
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        if isinstance(first, ast.FormattedValue):
            return fixed_host(names, first.value, depth + 1)
        return _has_host(names.text(first))
    if isinstance(node, ast.BinOp):
        left = names.text(node.left)
        return _has_host(left) if left is not None else fixed_host(names, node.left, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _has_host((names.text(node.func.value) or "").partition("{")[0])
    if isinstance(node, ast.Attribute) and not names.values_of(node):
        return node.attr.isupper() or "base" in node.attr or "host" in node.attr
    return _has_host(names.text(node))


def _has_host(text: str | None) -> bool:
    _, found, rest = (text or "").partition("://")
    return bool(found) and ("/" in rest or "?" in rest)


def _is_checked_elsewhere(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether another file has matched or validated a value.

    Django has matched parts of a URL; another view may have passed on a value; a form of another file has validated
    its data.
    """
    if origin.what.startswith(("cleaned_data", "validated_data")):
        return not any(
            base.endswith(("Form", "Serializer"))
            for node in view.reading.nodes_of(ast.ClassDef)
            for base in view.names.bases(node)
        )
    return bool(origin.parameter) and "django" in view.modules


def _next_page(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a view of Django whose next page is what the request says: `return self.request.GET["next"]`."""
    assert isinstance(node, ast.FunctionDef)
    if node.name not in ("get_redirect_url", "get_success_url") or view.has(
        "url_has_allowed_host", "is_safe_url"
    ):
        return
    for part in walk(node):
        if isinstance(part, ast.Return) and isinstance(part.value, ast.Subscript | ast.Call):
            value = part.value.value if isinstance(part.value, ast.Subscript) else part.value.func
            holder = (
                value.value
                if isinstance(part.value, ast.Call) and isinstance(value, ast.Attribute)
                else value
            )
            if unparse(holder) in ("self.request.GET", "self.request.POST"):
                yield NodeMatch(part, "the visitor decides which site comes next", Severity.MEDIUM)
                return


CHECKS = (
    Check(
        _RULES["server-side-request-forgery"],
        sinks=(
            Sink(
                "url",
                Use.URL,
                names=frozenset(name for name in _REQUESTS if not name.endswith(".request")) | _OPENERS,
                arguments=(0, "url", "host"),
                accepts=_goes_elsewhere,
            ),
            Sink(
                "url-second",
                Use.URL,
                names=frozenset(name for name in _REQUESTS if name.endswith(".request")),
                arguments=(1, "url"),
                accepts=_goes_elsewhere,
            ),
        ),
        grades=(Severity.HIGH, None, Severity.LOW),
        tags=frozenset({"input", SAID}),
        also={STORED: Severity.MEDIUM, ANSWER: Severity.LOW},
    ),
    Check(
        _RULES["open-redirect"],
        sinks=(
            Sink(
                "redirect",
                Use.REDIRECT,
                names=word_set(
                    "flask.redirect django.shortcuts.redirect django.http.HttpResponseRedirect redirect "
                    "starlette.responses.RedirectResponse fastapi.responses.RedirectResponse bottle.redirect "
                    "werkzeug.utils.redirect aiohttp.web.HTTPFound aiohttp.web.HTTPSeeOther sanic.response.redirect "
                    "HttpResponseRedirect RedirectResponse quart.redirect django.http.HttpResponsePermanentRedirect "
                    "tornado.web.RequestHandler.redirect aiohttp.web.HTTPMovedPermanently falcon.HTTPFound "
                    "aiohttp.web.HTTPTemporaryRedirect aiohttp.web.HTTPPermanentRedirect falcon.HTTPMovedPermanently "
                    "pyramid.httpexceptions.HTTPFound pyramid.httpexceptions.HTTPSeeOther cherrypy.HTTPRedirect "
                    "falcon.HTTPSeeOther litestar.response.Redirect werkzeug.routing.RequestRedirect"
                ),
                arguments=(0, "url", "location", "to"),
                accepts=lambda names, call, name: not call.args or not _own_page(names, call.args[0]),
            ),
        ),
        grades=(Severity.HIGH, None, None),
        is_usual=_is_checked_elsewhere,
        nodes=(ast.FunctionDef,),
        look=_next_page,
    ),
)


def _own_page(names: Names, node: ast.expr) -> bool:
    """Return whether a URL starts with a path on the same site, a complete host, or an attribute of the object.

    `"/" + path.strip("/")` is a path on the same site as well.
    """
    if isinstance(node, ast.Name):
        values = names.values_of(node)
        return bool(values) and all(
            not isinstance(value, ast.Name) and _own_page(names, value) for value in values
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        listed = node.args[0] if node.args else None
        first = listed.elts[0] if isinstance(listed, ast.List | ast.Tuple) and listed.elts else None
        return first is not None and (_is_kept(first) or _own_page(names, first))
    if isinstance(node, ast.BinOp) and names.text(node.left) == "/" and isinstance(node.right, ast.Call):
        function = node.right.func
        stripped = isinstance(function, ast.Attribute) and function.attr in ("strip", "lstrip")
        return stripped and "/" in (names.text(node.right.args[0] if node.right.args else None) or "")
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        if isinstance(first, ast.FormattedValue) and len(node.values) > 1 and _is_setting(first.value):
            return True
        text = names.text(first) if isinstance(first, ast.Constant) else None
    elif isinstance(node, ast.BinOp):
        filled = node.right.elts[:1] if isinstance(node.right, ast.Tuple) else []
        begins = (names.text(node.left) or "").startswith(("%s?", "%s/"))
        if _is_setting(node.left) or (
            isinstance(node.op, ast.Mod) and begins and any(map(_is_setting, filled))
        ):
            return True
        text = names.text(node.left)
    else:
        return False
    # `//host` is a path for Python and leads a browser to another site.
    return text is not None and (_has_host(text) or (len(text) > 1 and text[0] == "/" and text[1] != "/"))


def _is_setting(node: ast.expr) -> bool:
    """Return whether a value is a setting: `settings.LOGIN_URL`."""
    return isinstance(node, ast.Attribute) and node.attr.isupper() and last_name(node.value) == "settings"


def _is_kept(node: ast.expr) -> bool:
    """Return whether a value is an attribute of the object, which its creator controls."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
