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
        ("def f(r, t):\n    r.set_cookie('session', t)\n", "cookie-not-secure", Severity.MEDIUM),
        ("def f(r, t):\n    r.set_cookie('session', '', expires=0)\n", "cookie-not-secure", None),
        ("def f(r, t):\n    r.set_cookie('csrf_token', t, httponly=False)\n", "cookie-for-scripts", None),
        ("import yaml\ndef f(t):\n    return yaml.load(t)\n", "unsafe-yaml", Severity.HIGH),
        ("import yaml\ndef f(t):\n    return yaml.load('a: 1')\n", "unsafe-yaml", None),
        ("import yaml\ndef f(t):\n    return yaml.load(t, yaml.FullLoader)\n", "unsafe-yaml", Severity.LOW),
        (
            "import ssl\ndef f(insecure):\n    if insecure:\n        return ssl._create_unverified_context()\n",
            "tls-not-verified",
            Severity.LOW,
        ),
        (
            "import ssl\ndef f(s):\n    c = ssl.SSLContext(ssl.PROTOCOL_TLSv1_2)\n    c.verify_mode = ssl.CERT_NONE\n"
            "    return c.wrap_socket(s, server_side=True)\n",
            "tls-not-verified",
            None,
        ),
        (
            "from flask import request\ndef f():\n    return request.form['token'] == request.form['token_again']\n",
            "timing-comparison",
            None,
        ),
        (
            "from flask import request\ndef f(token):\n    return request.form['token'] == token\n",
            "timing-comparison",
            Severity.MEDIUM,
        ),
    ],
)
def test_calls_by_what_they_are_told(text: str, rule: str, severity: Severity | None) -> None:
    assert found(text).get(rule) == severity
