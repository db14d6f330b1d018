"""Calls that harm with what a request says, of libraries whose names alone tell them."""

from __future__ import annotations

import pytest
from test_insecure_examples import found

from codeguard.models import Severity

ROUTE = """import {module}
from flask import Flask, request

app = Flask("a")


@app.get("/a")
def page():
    return {call}
"""
SINKS = {
    "server-side-request-forgery": (
        "socket.socket().connect((GIVEN, 80))",
        "asyncio.open_connection(GIVEN, 80)",
        "smtplib.SMTP(GIVEN)",
        "pdfkit.from_url(GIVEN, False)",
        "weasyprint.HTML(url=GIVEN)",
        "websockets.connect(GIVEN)",
    ),
    "open-redirect": (
        "aiohttp.web.HTTPTemporaryRedirect(GIVEN)",
        "falcon.HTTPFound(GIVEN)",
        "pyramid.httpexceptions.HTTPFound(location=GIVEN)",
        "cherrypy.HTTPRedirect(GIVEN)",
    ),
    "path-traversal": (
        "os.walk('/srv/' + GIVEN)",
        "glob.glob('/srv/' + GIVEN)",
        "pathlib.Path('/srv/' + GIVEN).iterdir()",
        "sqlite3.connect('/srv/' + GIVEN)",
        "linecache.getline('/srv/' + GIVEN, 1)",
    ),
    "command-injection": (
        "pexpect.run('ls ' + GIVEN)",
        "fabric.Connection('h').sudo('ls ' + GIVEN)",
        "docker.from_env().containers.get('a').exec_run('ls ' + GIVEN)",
    ),
    "code-injection": (
        "sympy.parse_expr(GIVEN)",
        "js2py.eval_js(GIVEN)",
        "pandas.read_csv('a').query(GIVEN)",
    ),
    "template-injection": ("chameleon.PageTemplate(GIVEN)", "bottle.SimpleTemplate(GIVEN)"),
    "nosql-injection": (
        "redis.Redis().eval('return ' + GIVEN, 0)",
        "mongoengine.Document.objects(__raw__=request.json)",
        "neo4j.GraphDatabase.driver('a').session().run('MATCH (p:Person {name: ' + GIVEN + '}) RETURN p')",
    ),
    "unsafe-reflection": ("ctypes.CDLL(GIVEN)", "cffi.FFI().dlopen(GIVEN)"),
    "unescaped-markup": (
        "django.utils.html.format_html('<b>' + GIVEN + '</b>')",
        'streamlit.markdown("<b>%s</b>" % GIVEN, unsafe_allow_html=True)',
    ),
}
GIVEN = "request.args.get('given')"


@pytest.mark.parametrize(("rule", "call"), [(rule, call) for rule, calls in SINKS.items() for call in calls])
def test_what_a_request_says_is_found_and_what_the_code_says_is_not(rule: str, call: str) -> None:
    module = call.partition("(")[0].rpartition(".")[0]
    text = ROUTE.format(module=module.partition(".")[0] if "socket" in module else module, call="CALL")
    assert (
        found(text.replace("CALL", call.replace("GIVEN", GIVEN))).get(rule, Severity.INFO) >= Severity.MEDIUM
    )
    assert rule not in found(
        text.replace("CALL", call.replace("GIVEN", "'one'").replace("request.json", "{}"))
    )


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        ("import ssl\nc = ssl.SSLContext(ssl.PROTOCOL_TLS)\n", "tls-not-verified", Severity.MEDIUM),
        ("import ssl\nc = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n", "tls-not-verified", None),
        ("import ssl\nc = ssl.SSLContext()\nc.verify_mode = ssl.CERT_REQUIRED\n", "tls-not-verified", None),
        ("import ssl\ns = ssl.wrap_socket(line)\n", "tls-not-verified", Severity.MEDIUM),
        ("import ssl\ns = ssl.wrap_socket(line, cert_reqs=ssl.CERT_REQUIRED)\n", "tls-not-verified", None),
        ("import os\nos.makedirs(path, 0o777)\n", "made-world-writable", Severity.MEDIUM),
        (
            "def head(jar):\n    jar.headers['Set-Cookie'] = f'theme={jar.id}; Path=/'\n",
            "cookie-not-secure",
            None,
        ),
    ],
)
def test_calls_by_what_they_are_told(text: str, rule: str, severity: Severity | None) -> None:
    assert found(text).get(rule) == severity
