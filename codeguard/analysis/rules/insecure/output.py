"""Untrusted text in output: pages, headers, logs, tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import (
    INPUTS,
    Check,
    NodeMatch,
    View,
    origin_text,
    parameters_of,
    word_set,
)
from codeguard.analysis.rules.insecure.surroundings import is_for_debugging, is_server
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.flow.scope import sets_header
from codeguard.flow.sinks import LanguagePattern, Sink, SinkHit, StoredValue
from codeguard.flow.tables import ANSWER, STORED
from codeguard.flow.values import Origin, Reach, Use, Value
from codeguard.models import Severity
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode

_RULES = rules_of(__file__)

_LOGGING = word_set("debug info warning warn error critical exception log")
_RESPONSES = word_set(
    "flask.make_response flask.Response django.http.HttpResponse fastapi.responses.HTMLResponse "
    "starlette.responses.HTMLResponse HTMLResponse HttpResponse make_response aiohttp.web.Response "
    "sanic.response.html tornado.web.RequestHandler.write "
    "http.server.BaseHTTPRequestHandler.wfile.write http.server.SimpleHTTPRequestHandler.wfile.write "
    "werkzeug.wrappers.Response werkzeug.Response bottle.HTTPResponse"
)


def _is_logger(names: Names, call: ast.Call, name: str) -> bool:
    if name.startswith("logging."):
        return True
    function = call.func
    return isinstance(function, ast.Attribute) and "log" in unparse(function.value).lower().rpartition(".")[2]


def _is_page(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a response may be HTML: no other type is set, and tornado does not make it JSON."""
    if call.args and isinstance(call.args[0], ast.Dict):
        return False
    for item in call.keywords:
        if item.arg in ("content_type", "mimetype", "media_type"):
            kind = names.text(item.value)
            return kind is None or "html" in kind.lower() or "svg" in kind.lower()
    return not name.startswith("aiohttp.") or any(item.arg in ("headers", None) for item in call.keywords)


def _shown_as_written(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a value is logged with %r, which escapes line breaks, or as a field beside the message."""
    call = hit.call
    assert isinstance(call, ast.Call)
    named = [item.arg for item in call.keywords if item.value is hit.argument]
    if named and named[0] and call.args:  # a field of a structured log, where the message does not name it
        message = view.names.text(call.args[0])
        return message is not None and f"{{{named[0]}" not in message
    if hit.argument not in call.args[1:]:
        return False
    template = view.names.text(call.args[0])
    if template is None and len(call.args) > 1:
        template = view.names.text(call.args[1])  # log.log(level, template, …)
    fields = _FIELD.findall((template or "").replace("%%", ""))
    index = call.args.index(hit.argument) - (1 if view.names.text(call.args[0]) is not None else 2)
    return 0 <= index < len(fields) and fields[index] not in "s"


def _is_address(view: View, hit: SinkHit) -> bool:
    """Return whether a value is the address of the connection, which is no text of anybody."""
    values = (hit.argument, *view.names.values_of(hit.argument))
    return any("'REMOTE_ADDR'" in unparse(value)[:200] for value in values)


def _is_debugging(hit: SinkHit) -> bool:
    """Return whether a message is for debugging only."""
    assert isinstance(hit.call, ast.Call)
    level = unparse(hit.call.args[0]) if hit.call.args and last_name(hit.call.func) == "log" else ""
    return last_name(hit.call.func) == "debug" or "TRACE" in level or "DEBUG" in level


_FIELD = lazy(r"%[-+ #0-9.*]{0,9}([a-zA-Z])")


def _returned_html(view: View) -> Iterator[NodeMatch]:
    for arrival in view.flow.returns:
        if view.flow.entry(arrival.function) is not Reach.REMOTE or not isinstance(arrival.node, ast.Return):
            continue
        origin = _shown(view, arrival.value)
        if origin is not None and arrival.value.built and _writes_markup(view, arrival):
            sure = _shown(view, arrival.value, believing=True)
            stored = Severity.MEDIUM if origin.tag == STORED else None
            yield NodeMatch(
                arrival.node,
                f"{origin_text(origin)} is returned as a page, not escaped",
                stored if sure is not None else Severity.LOW,
            )


def _shown(view: View, value: Value, *, believing: bool = False) -> Origin | None:
    """Return the origin of a value that an attacker controls or may have stored."""
    for tags in (INPUTS, frozenset({STORED})):
        found = view.flow.source(value, Use.HTML, believing=believing, tags=tags)
        if found is not None and (found.tag == STORED or found.reach is Reach.REMOTE):
            return found
    return None


def _writes_markup(view: View, arrival: StoredValue) -> bool:
    """Return whether the function has markup in its strings and returns text that may be HTML."""
    function = arrival.function
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not isinstance(
        arrival.node, ast.Return
    ):
        return False
    if not _plain_answer(view, arrival.node.value) or _of_other_type(view, arrival.node.value):
        return False
    if "fastapi" in view.modules and not view.has("htmlresponse"):
        return False  # the function's result is sent as JSON
    if view.modules & {"flask", "bottle", "quart", "werkzeug"} and _shown_directly(view, arrival.node.value):
        return True
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "<" in node.value
        and ">" in node.value
        for node in walk(function)
    )


def _plain_answer(view: View, node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call):
        return view.names.called(node) in _RESPONSES | {"str.format", "str.join"} or isinstance(
            node.func, ast.Attribute
        )
    return isinstance(node, ast.JoinedStr | ast.BinOp | ast.Name | ast.Tuple | ast.Subscript)


def _of_other_type(view: View, node: ast.expr | None) -> bool:
    """Return whether a response (text, status and headers, or an object) declares a type other than HTML."""
    if isinstance(node, ast.Call):
        return not _is_page(view.names, node, view.names.called(node))
    headers = node.elts[-1] if isinstance(node, ast.Tuple) and node.elts else None
    if not isinstance(headers, ast.Dict):
        return False
    return any(
        str(view.names.text(key)).lower() == "content-type" and "html" not in str(view.names.text(value))
        for key, value in zip(headers.keys, headers.values, strict=True)
    )


def _shown_directly(view: View, node: ast.expr | None) -> bool:
    return isinstance(node, ast.JoinedStr | ast.BinOp | ast.Name) and view.is_route(node)


def _exception_returned(view: View) -> Iterator[NodeMatch]:
    for arrival in view.flow.returns:
        function = arrival.function
        if view.flow.entry(function) is not Reach.REMOTE:
            continue
        if Use.RESPONSE in arrival.value.clean:
            continue
        shown = {f"{item.what}, {item.line}" for item in arrival.value.origins if item.tag == "exception"}
        if any(
            ("exception-details", told) not in view.told for told in shown
        ):  # its caller returns it as well
            view.told.update(("exception-details", told) for told in shown)
            usual = _OWN_ANSWER.search(unparse(_handler_of(view, arrival.node))) or is_for_debugging(
                view, arrival.node
            )
            yield NodeMatch(
                arrival.node, "the exception's text goes to the client", Severity.LOW if usual else None
            )
        elif not shown and any(origin.what == "os.environ" for origin in arrival.value.origins):
            yield NodeMatch(arrival.node, "the environment, with its secrets, goes to the client")
    for hit in view.flow.hits:
        raised = any(origin.tag == "exception" for origin in hit.value.origins)
        if hit.sink.key == "refusal" and raised and view.is_route(hit.call):
            usual = _says_what_is_wrong(view, hit.call)
            yield NodeMatch(
                hit.call, "the exception's text goes to the client", Severity.LOW if usual else None
            )


def _handler_of(view: View, node: ast.AST) -> ast.AST:
    """Return the handler of exceptions that a node stands in, the node itself where it stands in none."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.ExceptHandler | ast.FunctionDef | ast.AsyncFunctionDef):
        at = view.parent(at)
    return at if isinstance(at, ast.ExceptHandler) else node


# An exception with its own response or status is meant for the client.
_OWN_ANSWER = lazy(
    r"\b(?:e|ex|exc|err|error|exception)\.(?:(?:get_|to_)?(?:response|dict|json|body)\b|\w{0,20}(?:status|code)\b)"
)


def _says_what_is_wrong(view: View, call: ast.expr) -> bool:
    """Return whether a refusal reports a client error for an exception class of the program's own."""
    assert isinstance(call, ast.Call)
    status = view.argument(call, "status_code", 0)
    blamed = re.search(r"(?:^|[ ._])4\d\d", unparse(status)) if status is not None else None
    handler: ast.AST | None = call
    while handler is not None and not isinstance(handler, ast.ExceptHandler):
        handler = view.parent(handler)
    if blamed is None or handler is None or handler.type is None:
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    named = [view.names.resolve(kind) for kind in kinds]
    return all("." in name and name.partition(".")[0] not in _REVEALING_PACKAGES for name in named)


_REVEALING_PACKAGES = frozenset({"sqlite3", "sqlalchemy", "psycopg", "psycopg2", "asyncpg", "pymysql", "subprocess",
                                 "requests", "httpx", "socket", "ssl", "json", "builtins", "django"})  # fmt: skip


def _trace_returned(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = view.parent(at)
        if isinstance(at, ast.Call) and _ANSWERS.search(view.names.called(at) or unparse(at.func)[-60:]):
            low = Severity.LOW if is_for_debugging(view, node) else None
            yield NodeMatch(node, "a stack trace is sent to anyone who asked", low)
            return
    if view.is_route(node) and (isinstance(at, ast.Return) or _answered(view, at)):
        yield NodeMatch(node, "a stack trace is made in a function that answers anyone")


_ANSWERS = lazy(
    r"(?:\w*Response|HTTPException|HTTP\w*Error|jsonify|make_response|abort|context\.set_details|send_error|"
    r"wfile\.write|RequestHandler\.(?:write|finish))$"
)


def _answered(view: View, statement: ast.AST | None) -> bool:
    """Return whether the value that a statement assigns is part of a response of its function."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return isinstance(statement, ast.Assign)
    function, kept = view.function_of(statement), statement.targets[0].id
    return function is not None and any(
        isinstance(part, ast.Name) and part.id == kept
        for answer in walk(function)
        if isinstance(answer, ast.Return | ast.Raise)
        for part in walk(answer)
    )


# Headers that only requests have (RFC 9110): what is built is sent by the program, to a server that it chose.
_OF_REQUESTS = lazy(
    r"(?:Proxy-|X-[\w-]{1,40}-)?Authorization|Cookie|Host|User-Agent|Accept(?:-[\w-]{1,20})?|Referer|If-[\w-]{1,20}"
    r"|X-Auth-Token|X-Api-Key|X-CSRF-?Token",
    re.IGNORECASE,
)


def _of_request(view: View, target: ast.Subscript) -> bool:
    """Return whether a header belongs to an outgoing request or to a message that is no response."""
    words = unparse(target.value).lower()
    if "request" in words or "message" in words or "msg" in words:
        return True
    return _OF_REQUESTS.fullmatch(view.names.text(target.slice) or "") is not None


def _only_kept(view: View, target: ast.Subscript) -> bool:
    """Return whether a mapping named like headers was created by the function and is in no response."""
    holder, function = target.value, view.function_of(target)
    values = view.names.values_of(holder) if isinstance(holder, ast.Name) else []
    if (
        function is None
        or not values
        or not all(isinstance(value, ast.Dict | ast.DictComp) for value in values)
    ):
        return False
    assert isinstance(holder, ast.Name)
    for part in walk(function):
        if isinstance(part, ast.Name) and part.id == holder.id and isinstance(part.ctx, ast.Load):
            around = view.parent(part)
            name = view.names.called(around) if isinstance(around, ast.Call) else ""
            if isinstance(around, ast.keyword | ast.Return | ast.Tuple | ast.Yield | ast.Dict):
                return False
            if isinstance(around, ast.Call) and not name.startswith(
                ("json.", "log", "str", "len", "print", "repr")
            ):
                return False
    return True


_LINE = r"(?:Set-Cookie|Location|Subject|To|Cc|Bcc|From|Reply-To|Content-Disposition|Link|Refresh|X-[\w-]{1,40}): ?"
_HEADER_LINES = LanguagePattern(
    begins=lazy(rf"(?:HTTP/1\.\d|{_LINE})"),
    holds=lazy(
        rf"(?:HTTP/1\.\d[^\n]{{0,200}}\n)?(?:[A-Z][\w-]{{1,40}}: [^\n]{{0,300}}\n){{0,8}}{_LINE}"
        rf"(?=[^\0]{{0,800}}\0)(?=[^\n]{{0,800}}\n)"
    ),
)
_FREE = lazy(r"subject|title|name|sender|recipient|reply|^to$|e?mail|address|cookie|lang|location|file")


def _of_mail(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a parameter is put into a message header that users fill, such as `Subject`."""
    named = any(_FREE.search(what.lower()) for what in view.flow.words(hit.value))
    return hit.sink.key in ("header-text", "mail") and named


def _header_stores(view: View) -> Iterator[NodeMatch]:
    for arrival in view.flow.stores:
        target = arrival.target
        if not (isinstance(target, ast.Subscript) and sets_header(target)) or _of_request(view, target):
            continue
        if _OF_NUMBERS.fullmatch(view.names.text(target.slice) or "") or _only_kept(view, target):
            continue
        key = view.names.text(target.slice)
        if (
            key is not None
            and key.isalpha()
            and key.islower()
            and not isinstance(target.value, ast.Attribute)
        ):
            continue  # here `response["html"]` is an entry of a mapping for a template or JSON
        given = getattr(arrival.node, "value", None)
        if isinstance(given, ast.Subscript) and ast.dump(given.value) == ast.dump(target.value):
            continue  # copies a header to another name
        origin = view.flow.source(arrival.value, Use.HEADER, tags=frozenset({"input"}))
        if origin is not None and origin.reach is Reach.REMOTE:
            sure = view.flow.source(arrival.value, Use.HEADER, believing=True)
            yield NodeMatch(
                arrival.node,
                f"{origin_text(origin)} is written into a header",
                None if sure is not None else Severity.LOW,
            )


# Headers with numbers, dates or ranges as values (RFC 9110).
_OF_NUMBERS = lazy(
    r"Content-Length|Content-Range|Date|Last-Modified|Expires|Age|Retry-After|Max-Forwards|X-RateLimit-\w+",
    re.IGNORECASE,
)


def _raw_headers(names: Names, call: ast.Call, name: str) -> bool:
    if call.args and _OF_NUMBERS.fullmatch(names.text(call.args[0]) or ""):
        return False
    return not name.startswith(("email.", "requests.", "urllib.", "http.client."))


def _wraps(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a caller's text is marked as safe unchanged, as template filters and engines do.

    An image read from a file counts as well.
    """
    if origin.reach is Reach.LOCAL and "read" in origin.what:
        return True
    function = view.function_of(hit.call)
    if function is not None and _is_filter(function):
        held = [
            value
            for value in (hit.argument, *view.names.values_of(hit.argument))
            if isinstance(value, ast.Call)
        ]
        if any(unqualified_name(value.func) in ("sub", "replace", "join", "format") for value in held):
            return False  # what a template gives it was written by anybody
    return origin.reach is Reach.CALLER and "<" not in (view.writer.text(hit.argument) or "")


def _is_filter(function: FunctionNode) -> bool:
    """Return whether a function is a filter of templates, without flags that say who escapes."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.keywords:
            return False
        if unqualified_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in (
            "filter",
            "template_filter",
            "app_template_filter",
        ):
            return True
    return False


_HREF = lazy(r"\b(?:href|src|action)=[\"'](?:\{\w*\}|%s)")
_LINKED = lazy(r"^(?:\w+_)?(?:url|uri|link|website|homepage|href|web_?page)$", re.IGNORECASE)
_SCHEMES = lazy(
    r"urlsplit|urlparse|scheme|startswith|https?:|validate|is_safe|url_for|reverse|\bquote\b|clean"
)


def _linked(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `Markup('<a href="{}">').format(url)`: escaping does not keep `javascript:` out."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node) if view.has("href=", "src=", "action=") else None
    if function is None or _SCHEMES.search(unparse(function)):
        return
    if name.endswith("format_html"):
        text, given = (view.names.text(node.args[0]) if node.args else None), node.args[1:]
    else:
        made = node.func.value if isinstance(node.func, ast.Attribute) else None
        markup = isinstance(made, ast.Call) and view.names.called(made).endswith("Markup") and bool(made.args)
        text, given = (
            (view.names.text(made.args[0]) if markup and isinstance(made, ast.Call) else None),
            node.args,
        )
    if text is None or not _HREF.search(text):
        return
    place = text[: _HREF.search(text).end()].count("{") - 1  # type: ignore[union-attr]
    argument = given[place] if 0 <= place < len(given) else None
    if (
        isinstance(argument, ast.Name)
        and argument.id in parameters_of(function)
        and _LINKED.match(argument.id)
    ):
        yield NodeMatch(
            node, f"{argument.id} may be javascript:… , which escaping lets through: look at its scheme"
        )


def _linked_text(view: View, node: ast.JoinedStr) -> Iterator[NodeMatch]:
    """Find `f'<a href="{escape(url)}">'` of a parameter whose scheme nobody looks at."""
    function = view.function_of(node)
    if function is None or not view.has("href=") or _SCHEMES.search(unparse(function)):
        return
    for before, part in pairwise(node.values):
        text = before.value if isinstance(before, ast.Constant) else ""
        if (
            not isinstance(part, ast.FormattedValue)
            or not isinstance(text, str)
            or not text.endswith(('href="', "href='"))
        ):
            continue
        made = part.value
        escaped = (
            isinstance(made, ast.Call)
            and len(made.args) == 1
            and unqualified_name(made.func) in ("escape", "conditional_escape")
        )
        inner = made.args[0] if escaped and isinstance(made, ast.Call) else None
        if isinstance(inner, ast.Name) and inner.id in parameters_of(function) and _LINKED.match(inner.id):
            yield NodeMatch(
                node, f"{inner.id} may be javascript:… , which escaping lets through: look at its scheme"
            )
            return


_SCRIPT = lazy(
    r"<script\b[^>]{0,80}>[^<]{0,200}(?:%s|\{\w*\})|<script\b[^>]{0,80}>[^<]{0,200}$", re.IGNORECASE
)
_NO_TAGS = ("u003c", "\\x3c", "<\\/", "htmlsafe", "json_script", "tojson", "escape")


def _in_script(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find JSON in a script of a page, `"<script>x = %s</script>" % json.dumps(data)`, which `</script>` ends."""
    if not view.has("<script") or not view.has("json.dumps") or view.has(*_NO_TAGS):
        return
    texts: list[str | None] = []
    given: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        texts, given = [view.names.text(node.left)], [node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        texts, given = [view.names.text(node.func.value)] * len(node.args), list(node.args)
    elif isinstance(node, ast.JoinedStr):
        for before, part in pairwise(node.values):
            if isinstance(part, ast.FormattedValue) and isinstance(before, ast.Constant):
                texts.append(str(before.value))
                given.append(part.value)
    for text, value in zip(texts, given, strict=True):
        if text is None or "<script" not in text or not _SCRIPT.search(text):
            continue
        for made in (value, *view.names.values_of(value)):
            if isinstance(made, ast.Call) and view.names.called(made) == "json.dumps":
                yield NodeMatch(node, "</script> in a text ends the script: write < as \\u003c")
                return


CHECKS = (
    Check(
        _RULES["cross-site-scripting"],
        sinks=(
            Sink(
                "html",
                Use.HTML,
                names=_RESPONSES,
                arguments=(0, "content", "text", "response", "body"),
                needs_built=True,
                accepts=_is_page,
            ),
        ),
        look_at_file=_returned_html,
        grades=(Severity.HIGH, None, None),
        also={STORED: Severity.MEDIUM},
    ),
    Check(
        _RULES["unescaped-markup"],
        sinks=(
            Sink(
                "markup",
                Use.HTML,
                names=word_set(
                    "markupsafe.Markup flask.Markup jinja2.Markup jinja2.utils.markupsafe.Markup "
                    "django.utils.safestring.mark_safe django.utils.safestring.SafeString django.utils.html.mark_safe "
                    "django.utils.safestring.SafeText"
                ),
            ),
            Sink(
                "mail-page",
                Use.HTML,
                names=word_set(
                    "django.core.mail.send_mail django.core.mail.EmailMultiAlternatives.attach_alternative "
                    "flask_mail.Message email.mime.text.MIMEText"
                ),
                arguments=(0, "html_message", "html"),
                needs_built=True,
                least=Reach.REMOTE,
                accepts=lambda names, call, name: "html" in unparse(call),
            ),
            Sink(  # values inserted earlier cannot be distinguished from the markup
                "filled",
                Use.HTML,
                names=word_set("django.utils.html.format_html django.utils.html.format_html_join"),
                needs_built=True,
            ),
            Sink(
                "page",
                Use.HTML,
                names=word_set(
                    "streamlit.markdown streamlit.write streamlit.html streamlit.components.v1.html"
                ),
                accepts=lambda names, call, name: (
                    name.endswith("html")
                    or any(
                        item.arg == "unsafe_allow_html" and names.constant(item.value)
                        for item in call.keywords
                    )
                ),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        also={STORED: Severity.MEDIUM},
        methods=word_set("format"),
        calls=word_set("django.utils.html.format_html"),
        nodes=(ast.BinOp, ast.JoinedStr),
        look=lambda view, node, name: [
            *(_linked(view, node, name) if isinstance(node, ast.Call) else ()),
            *(_linked_text(view, node) if isinstance(node, ast.JoinedStr) else ()),
            *_in_script(view, node, name),
        ],
        is_usual=_wraps,
    ),
    Check(
        _RULES["header-injection"],
        sinks=(
            Sink(
                "header",
                Use.HEADER,
                methods=word_set("send_header add_header putheader"),
                arguments=(0, 1),
                accepts=_raw_headers,
            ),
            Sink(
                "cookie-name",
                Use.HEADER,
                methods=word_set("set_cookie"),
                arguments=(0, "key"),
                least=Reach.REMOTE,
            ),
            Sink("mail", Use.HEADER, methods=word_set("sendmail"), arguments=(2, "msg"), needs_built=True),
            Sink(
                "wsgi", Use.HEADER, names=word_set("start_response start"), arguments=(1,), needs_built=True
            ),
            Sink("header-text", Use.HEADER, arguments=(), wording=_HEADER_LINES),
        ),
        look_at_file=_header_stores,
        grades=(Severity.MEDIUM, None, Severity.MEDIUM),
        counts=_of_mail,
    ),
    Check(
        _RULES["log-injection"],
        sinks=(Sink("log", Use.LOG, methods=_LOGGING, arguments=("*",), accepts=_is_logger),),
        grades=(Severity.MEDIUM, None, None),
        tags=frozenset({"input"}),
        also={ANSWER: Severity.LOW},
        is_usual=lambda view, hit, origin: (
            not is_server(view)
            or _is_address(view, hit)
            or _shown_as_written(view, hit, origin)
            or _is_debugging(hit)
        ),
    ),
    Check(
        _RULES["exception-details"],
        sinks=(
            Sink(
                "refusal",
                Use.RESPONSE,
                names=word_set(
                    "fastapi.HTTPException starlette.exceptions.HTTPException HTTPException flask.abort abort "
                    "aiohttp.web.HTTPInternalServerError werkzeug.exceptions.InternalServerError"
                ),
                arguments=(1, "detail", "description", "text", "reason"),
            ),
        ),
        grades=(None, None, None),
        look_at_file=_exception_returned,
        calls=word_set("traceback.format_exc traceback.format_exception"),
        look=_trace_returned,
    ),
)
