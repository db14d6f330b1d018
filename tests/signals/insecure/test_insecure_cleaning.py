"""What makes a value harmless is judged by what is done to it, never by what the function is called."""

from __future__ import annotations

import pytest
from test_insecure_examples import found

from codeguard.models import Severity

_PAGE = """
import re, html
from flask import Flask, request

app = Flask(__name__)

{helper}

@app.route("/x")
def view():
    return "<p>" + {used} + "</p>"
"""
_LOG = """
import logging, re
from flask import Flask, request

app = Flask(__name__)
log = logging.getLogger("x")

{helper}

@app.route("/x")
def view():
    {used}
    return ""
"""


@pytest.mark.parametrize(
    ("helper", "used", "severity"),
    [
        ("def sanitize(x):\n    return x", "sanitize(request.args['n'])", Severity.HIGH),
        ("def sanitize(x):\n    return x.strip()", "sanitize(request.args['n'])", Severity.HIGH),
        ("def tidy(x):\n    return html.escape(x)", "tidy(request.args['n'])", None),
        ("def clean(x):\n    return x.replace('<script>', '')", "clean(request.args['n'])", Severity.HIGH),
        ("def f(x):\n    return re.sub(r'[^a-z0-9]', '', x)", "f(request.args['n'])", None),
        ("def f(x):\n    return re.sub(r'[^a-z0-9<]', '', x)", "f(request.args['n'])", Severity.HIGH),
        ("def f(x):\n    return re.sub(r'[a-z]', '<', x)", "f(request.args['n'])", Severity.HIGH),
        # of another file: not known, so said quietly, not believed
        ("from helpers import sanitize", "sanitize(request.args['n'])", Severity.LOW),
        ("from helpers import shorten", "shorten(request.args['n'])", Severity.HIGH),
        ("from helpers import sanitize", "request.args['n'] + sanitize(request.args['m'])", Severity.HIGH),
    ],
)  # fmt: skip
def test_pages(helper: str, used: str, severity: Severity | None) -> None:
    assert found(_PAGE.format(helper=helper, used=used)).get("cross-site-scripting") == severity


@pytest.mark.parametrize(("part", "flagged"), [("name", True), ("html.escape(name)", False)])
def test_a_page_may_be_built_before_it_is_returned(part: str, flagged: bool) -> None:
    text = (
        "import html\nfrom flask import Flask, request\napp = Flask(__name__)\n@app.route('/x')\ndef view():\n"
        f"    name = request.args['n']\n    r = ''\n    r += f'Hello {{{part}}}'\n    return r\n"
    )
    assert ("cross-site-scripting" in found(text)) is flagged


@pytest.mark.parametrize(
    ("used", "severity"),
    [
        ("log.info('by ' + request.args['n'])", Severity.LOW),
        ("log.info('by %s', request.args['n'])", Severity.LOW),
        ("log.info('by %r', request.args['n'])", Severity.LOW),
        ("log.info('%s by %r', request.args['m'], request.args['n'])", Severity.LOW),
        ("log.info('by %s', re.sub(r'[\\r\\n]+', ' ', request.args['n']))", None),
        ("log.info('by %s', re.sub(r'[\\n]+', ' ', request.args['n']))", Severity.LOW),
        ("log.info('by %s', ' '.join(request.args['n'].split()))", None),
        ("log.info('by %s', ' '.join(request.args['n'].split(',')))", Severity.LOW),
    ],
)
def test_logs(used: str, severity: Severity | None) -> None:
    assert found(_LOG.format(helper="", used=used)).get("log-injection") == severity


@pytest.mark.parametrize(
    ("check", "severity"),
    [
        ("def is_safe(u):\n    return True", Severity.HIGH),
        ("HOSTS = {'a.test'}\ndef is_safe(u):\n    return urlparse(u).hostname in HOSTS", None),
        ("def is_safe(u):\n    return 'a.test' in u", Severity.HIGH),
        ("from helpers import is_safe", Severity.LOW),
    ],
)
def test_checks(check: str, severity: Severity | None) -> None:
    text = (
        "import requests\nfrom urllib.parse import urlparse\nfrom flask import abort, request\n\n"
        + check
        + "\n\n"
        '@app.route("/x")\ndef view():\n    url = request.args["u"]\n    if not is_safe(url):\n        abort(400)\n'
        "    return requests.get(url, timeout=5).text\n"
    )
    assert found(text).get("server-side-request-forgery") == severity


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(?:(?:(?:){1000}){1000}){1000}", "(" * 150, "[", "a" * 5000, r"(\w)\1", "(?=a)"]
)
def test_patterns_of_strangers_are_not_tried_where_they_could_take_long(pattern: str) -> None:
    text = _LOG.format(helper="", used=f"log.info('%s', re.sub({pattern!r}, '', request.args['n']))")
    assert found(text).get("log-injection") == Severity.LOW
