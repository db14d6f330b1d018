"""Insecure settings of web applications."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.sessions import framework_settings
from codeguard.analysis.rules.insecure.surroundings import is_for_debugging
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_RUN = word_set("flask.Flask.run uvicorn.run bottle.run aiohttp.web.run_app sanic.Sanic.run quart.Quart.run "
             "werkzeug.serving.run_simple tornado.web.Application")  # fmt: skip
_DEBUGGED = _RUN | word_set(
    "django.conf.settings.configure fastapi.FastAPI starlette.applications.Starlette app.run"
)


def _debug(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call):
        if name not in _DEBUGGED and not _runs_application(view, node):
            return
        asked = view.argument(node, "debug")
        for value in (asked, *view.names.values_of(asked)) if asked is not None else ():
            if isinstance(value, ast.Compare) and _is_default(view, value):
                yield NodeMatch(node, "unless a setting says otherwise, the debugger lets anyone run code")
                return
        if (
            view.constant(node, "debug", default=False) is True
            or view.constant(node, "use_debugger", default=False) is True
        ):
            yield NodeMatch(node, "the debugger lets anyone who sees an error run code")
        return
    for setting, value in framework_settings(view, node):
        if setting != "DEBUG" or view.names.constant(value, False) is not True:
            continue
        if _of_application(node) or _django_settings(view) or _of_configuration(view, node):
            low = Severity.LOW if is_for_debugging(view, node) else None
            yield NodeMatch(node, "errors are shown to anyone, with variables and settings", low)


def _is_default(view: View, node: ast.Compare) -> bool:
    """Return whether a comparison holds where a variable is not set: `os.environ.get("DEBUG", "1") == "1"`."""
    made = node.left
    while (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in ("lower", "strip")
    ):
        made = made.func.value
    if not isinstance(made, ast.Call) or view.names.called(made) not in ("os.environ.get", "os.getenv"):
        return False
    default = view.names.constant(made.args[1]) if len(made.args) == 2 else None
    wanted = view.names.constant(node.comparators[0])
    same = default == wanted or (isinstance(wanted, tuple) and default in wanted)
    return isinstance(node.ops[0], ast.Eq | ast.In) and isinstance(default, str) and same


def _runs_application(view: View, node: ast.Call) -> bool:
    """Return whether a call runs an application that another file makes: `app = create_app(); app.run(debug=True)`."""
    holder = node.func.value if isinstance(node.func, ast.Attribute) else None
    named = isinstance(holder, ast.Name) and holder.id in ("app", "application", "server")
    of_flask = (
        any(item.arg in ("port", "host", "use_reloader") for item in node.keywords) or len(node.keywords) == 1
    )
    return named and of_flask and not (view.modules & {"asyncio", "typer", "click"})


def _of_application(node: ast.AST) -> bool:
    """Return whether a node sets debug mode: `app.debug = True`, `app.config["DEBUG"] = True`."""
    if not isinstance(node, ast.Assign):
        return False
    target = unparse(node.targets[0])
    return target.startswith(("app.", "application.", "settings.")) or ".config[" in target


def _of_configuration(view: View, node: ast.AST) -> bool:
    """Return whether a node configures debug mode: `class ProductionConfig: DEBUG = True`, `config.update(…)`."""
    if isinstance(node, ast.keyword | ast.Dict):
        call = view.parent(node)
        return isinstance(call, ast.Call) and unparse(call.func).endswith(
            ("config.update", "config.from_mapping", "settings.configure")
        )
    owner = view.parent(node)
    if not isinstance(owner, ast.ClassDef) or re.search("dev|test|local|debug", owner.name.lower()):
        return False
    return bool(re.search("prod|config|settings|base|live|staging", owner.name.lower()))


def _django_settings(view: View) -> bool:
    bound = view.names.scopes.module.bindings
    return sum(name in bound for name in ("INSTALLED_APPS", "MIDDLEWARE", "ROOT_URLCONF", "ALLOWED_HOSTS", "SECRET_KEY",
                                          "DATABASES", "TEMPLATES")) >= 1 and "DEBUG" in bound  # fmt: skip


def _bound(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name == "super.__init__" or name.endswith(".__init__"):
        owner = view.names.class_of(node)
        bases = view.names.bases(owner) if owner is not None else ()
        first = node.args[0] if node.args else None
        served = any(base in _SERVERS for base in bases)
        if served and isinstance(first, ast.Tuple) and first.elts and _everywhere(view, first.elts[0]):
            yield NodeMatch(node, "every network that the machine is in can connect")
        return
    if name.endswith(".bind"):
        address = node.args[0] if node.args else None
        for value in [address, *(view.names.values_of(address) if address is not None else [])]:
            if isinstance(value, ast.Tuple) and value.elts and _everywhere(view, value.elts[0]):
                asks = view.names.constant(value.elts[-1]) == 0  # only finds a free port
                yield NodeMatch(
                    node, "every network that the machine is in can connect", Severity.LOW if asks else None
                )
                return
        return
    host = view.argument(node, "host", 1 if name.startswith(("werkzeug", "uvicorn", "asyncio")) else 0)
    for value in (host, *view.names.values_of(host)) if host is not None and name in _SERVERS else ():
        if isinstance(value, ast.Tuple) and value.elts:
            host = value.elts[0]
            break
    if host is not None and _everywhere(view, host):
        yield NodeMatch(node, "every network that the machine is in can connect")


_SERVERS = word_set("http.server.HTTPServer http.server.ThreadingHTTPServer socketserver.TCPServer "
                 "socketserver.UDPServer socketserver.ThreadingTCPServer xmlrpc.server.SimpleXMLRPCServer "
                 "wsgiref.simple_server.make_server")  # fmt: skip


def _everywhere(view: View, node: ast.expr) -> bool:
    value = view.names.text(node)
    return value in ("0.0.0.0", "::") or (value == "" and isinstance(view.parent(node), ast.Tuple))


def _cors(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call):
        yield from _cors_call(view, node, name)
        return
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module)
    if not view.has("access-control-allow-origin"):
        return
    origin: ast.AST | None = None
    credentials = False
    for part in walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
            named, value = part.targets[0].slice, part.value
        elif (
            isinstance(part, ast.Call) and len(part.args) == 2 and unqualified_name(part.func) in _SETS_HEADER
        ):
            named, value = part.args
        else:
            continue
        header = (view.names.text(named) or "").lower()
        if header == "access-control-allow-origin" and _any_origin(view, value):
            origin = part
        elif header == "access-control-allow-credentials":
            credentials = credentials or (view.names.text(value) or "").lower() == "true"
    if origin is not None and credentials and not _is_tested(view, origin):
        yield NodeMatch(origin, "any site can read answers in the user's name")


def _is_tested(view: View, node: ast.AST) -> bool:
    """Return whether a header is only set where a pattern matches the whole origin."""
    at = view.parent(node)
    return isinstance(at, ast.If) and ".fullmatch(" in view.written(at.test)


_SETS_HEADER = frozenset({"set_header", "add_header", "setdefault", "append_header"})


def _any_origin(view: View, node: ast.expr) -> bool:
    """Return whether the allowed origin is `*`, or copied from the request."""
    if view.names.text(node) == "*":
        return True
    for value in [node, *view.names.values_of(node)]:
        if (
            isinstance(value, ast.Call | ast.Subscript)
            and "origin" in unparse(value).lower()
            and "headers" in unparse(value)
        ):
            scope = view.function_of(node)
            return scope is None or not any(
                isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn | ast.Eq)
                for part in walk(scope)
            )
    return False


def _with_credentials(view: View, node: ast.Call) -> bool:
    return any(
        view.constant(node, keyword, default=False) in (True, "*")
        for keyword in ("allow_credentials", "supports_credentials")
    )


_OPEN_ORIGIN = lazy(
    r"//(?:\(\?:)?\.\*(?!\\\.)\)?[a-z]|\.(?:com|org|net|io|example|dev)\.\*$|//\.\*[a-z][\w-]*\."
)


def _cors_call(view: View, node: ast.Call, name: str) -> Iterator[NodeMatch]:
    if name == "aiohttp_cors.setup":
        defaults = view.argument(node, "defaults")
        for held in [defaults, *view.names.values_of(defaults)] if defaults is not None else []:
            for key, made in zip(held.keys, held.values, strict=True) if isinstance(held, ast.Dict) else ():
                options = [
                    value for value in (made, *view.names.values_of(made)) if isinstance(value, ast.Call)
                ]
                if view.names.text(key) == "*" and any(_with_credentials(view, value) for value in options):
                    yield NodeMatch(node, "any site can read answers in the user's name")
        return
    if not _with_credentials(view, node):
        return
    given = view.argument(node, "allow_origins") or view.argument(node, "origins")
    pattern = view.constant(node, "allow_origin_regex", default=None)
    value = view.names.constant(given, "*" if name.startswith("flask_cors") and given is None else ())
    if (
        value == "*"
        or (isinstance(value, tuple) and "*" in value)
        or pattern in (".*", "^.*$", "https?://.*", "https://.*")
        or (isinstance(pattern, str) and _OPEN_ORIGIN.search(pattern))
    ):
        yield NodeMatch(node, "any site can read answers in the user's name")


def _cors_setting(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if not isinstance(node, ast.Assign):
        yield from _cors(view, node, name)
        return
    for setting, value in framework_settings(view, node):
        if (
            setting in ("CORS_ALLOW_ALL_ORIGINS", "CORS_ORIGIN_ALLOW_ALL")
            and view.names.constant(value, False) is True
        ):
            allowed = view.names.scopes.module.bindings.get("CORS_ALLOW_CREDENTIALS", [])
            if any(
                item.value is not None and view.names.constant(item.value, False) is True for item in allowed
            ):
                yield NodeMatch(node, "any site can read answers in the user's name")


def _autoescape(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    left_open = any(
        isinstance(item, ast.Constant) and item.value is ... for item in node.args
    )  # in documentation
    given = any(item.arg is None for item in node.keywords)
    if view.argument(node, "autoescape") is None and not given and not left_open:
        other = view.has(*_OTHER_TEXT) and not view.has(".html", "</", "text/html")
        yield NodeMatch(
            node, "values are put into pages without escaping", Severity.LOW if other else Severity.MEDIUM
        )


# Templates that are not HTML pages, and settings that only those have.
_OTHER_TEXT = (
    "markdown", ".md", ".tex", "latex", "sql", "yaml", ".yml", ".toml", ".txt", ".cfg", ".conf", ".ini", ".rst", ".py",
    "trim_blocks", "lstrip_blocks", "_start_string", "strictundefined", "nativeenvironment", "prompt", "codegen",
    "generate", "message", "dockerfile", "shell", "script", "native", "terraform", "kubernetes", "playbook",
)  # fmt: skip


_USER = lazy(r"\b(?:current_user|request\.user|g\.user|user\.(?:id|name|email|pk))\b")


CHECKS = (
    Check(
        _RULES["debug-server"],
        calls=_DEBUGGED,
        methods=word_set("run"),
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict),
        look=_debug,
    ),
    Check(
        _RULES["bound-to-all"],
        calls=_RUN | _SERVERS | word_set("socket.socket.bind app.run asyncio.start_server"),
        methods=word_set("__init__"),
        look=_bound,
    ),
    Check(
        _RULES["cors-any-origin"],
        calls=word_set(
            "flask_cors.CORS flask_cors.cross_origin fastapi.middleware.cors.CORSMiddleware "
            "starlette.middleware.cors.CORSMiddleware starlette.middleware.Middleware fastapi.middleware.Middleware "
            "falcon.CORSMiddleware aiohttp_cors.setup"
        ),
        methods=word_set("add_middleware"),
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign),
        look=_cors_setting,
    ),
    Check(
        _RULES["autoescape-off"],
        calls=word_set("jinja2.Environment jinja2.environment.Environment"),
        look=_autoescape,
    ),
)
