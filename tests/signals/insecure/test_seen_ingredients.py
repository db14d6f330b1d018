"""A rule is of medium severity where what makes it dangerous is seen, and low where it is only assumed."""

from __future__ import annotations

import pytest

from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.audit.inspection import Inspector, Source
from codeguard.models import Severity

LOGGED = "import logging\nlog = logging.getLogger('a')  # of logins\n"
VIEW = "from django.views.generic import DeleteView\nclass Gone(DeleteView):\n    model = Page\n"
FLASK = """from flask import Flask, make_response, request
app = Flask(__name__)
@app.get("/a")
def a():
    made = make_response("")
"""
DJANGO = """from django.conf import settings
from django.forms import CharField, Form
from django.shortcuts import redirect
"""
SAID = 'def find(name):\n    """Find {}."""\n    return open(\'/srv/files/\' + name)\n'
MARKUP = """from django.utils.safestring import mark_safe
def page(request):
    return mark_safe("<a href='?%s'>" % {})
"""
FETCHED = """import mimetypes, requests
def keep(url):
    reply = requests.get(url, timeout=5)
    return open("/tmp/image" + {}, "wb")
"""
COOKIE = (
    "from tornado.web import RequestHandler\nclass Page(RequestHandler):\n    def get(self):\n        {}\n"
)

# The rule, a text in which the ingredient is seen, and one in which it is not.
CASES = [
    (
        "path-traversal",
        "from flask import request\ndef page():\n    return open('/srv/' + request.args['name'])\n",
        "def page(name):\n    return open('/srv/files/' + name)\n",
    ),
    (
        "logged-secret",
        LOGGED + "def show(user_token):\n    log.info('new %s', user_token)\n",
        LOGGED + "def show(image_token):\n    log.info('new %s', image_token)\n",
    ),
    (
        "logged-secret",
        LOGGED + "def show(token):\n    if token.strip():\n        log.info('new %s', token)\n",
        LOGGED + "def show(token):\n    if token.expires_at:\n        log.info('new %s', token)\n",
    ),
    (
        "logged-secret",
        LOGGED + "def show(token):\n    if True or token.expires_at:\n        log.info('new %s', token)\n",
        LOGGED + "def show(token):\n    row = token.user\n    log.info('new %s', token)\n",
    ),
    (
        "logged-secret",
        LOGGED + "def show(token):\n    if False:\n        token.user\n    log.info('new %s', token)\n",
        LOGGED + "def show(token):\n    log.info('new %s', token[:4])\n",
    ),
    (
        "logged-secret",
        LOGGED + "SECRET = make()\nlog.info('%s', SECRET)\n",
        LOGGED + "SECRET_BYTES = 32\nlog.info('%s', SECRET_BYTES)\n",
    ),
    (
        "header-injection",
        FLASK + "    made.headers['X-Name'] = request.args['n']\n",
        FLASK + "    made.headers['Authorization'] = request.args['n']\n",  # of a request that is sent
    ),
    (
        "header-injection",
        FLASK + "    made.headers['X-Name'] = request.args['n']\n",
        FLASK + "    made.headers['X-Name'] = request.headers['X-Name']\n",  # holds no line break
    ),
    (
        "open-redirect",
        DJANGO + "class Next(Form):\n    url = CharField()\ndef go(request):\n"
        "    form = Next(request.POST)\n    return redirect(form.cleaned_data['url'])\n",
        DJANGO + "from .forms import Next\ndef go(request):\n"
        "    form = Next(request.POST)\n    return redirect(form.cleaned_data['url'])\n",
    ),
    (
        "open-redirect",
        DJANGO + "def go(request):\n    return redirect('%s?next=%s' % (request.GET['to'], request.path))\n",
        DJANGO + "def go(request):\n    return redirect('%s?next=%s' % (settings.LOGIN_URL, request.path))\n",
    ),
    (
        "open-redirect",
        DJANGO + "def go(self, request):\n    return redirect(request.GET['to'])\n",
        DJANGO + "class Page(View):\n    def get(self, request):\n"
        "        return redirect(self.get_object(self.rows).address)\n",
    ),
    (
        "path-traversal",
        SAID.format("the name that the visitor provides"),
        SAID.format("the name that was provided"),
    ),
    (
        "unescaped-markup",
        MARKUP.format("request.GET['q']"),
        MARKUP.format("request.GET.urlencode()"),  # percent escapes hold no markup
    ),
    (
        "path-traversal",
        FETCHED.format("reply.headers['Name']"),
        FETCHED.format("mimetypes.guess_extension(reply.headers['Content-Type'])"),  # of a fixed table
    ),
    (
        "persistence",
        "def start(path):\n    with open('/home/a/.bashrc', 'a') as out:\n        out.write('hello')\n",
        "import tempfile\ndef start():\n    out = tempfile.NamedTemporaryFile('w')\n"
        "    out.write('. ~/.bashrc')\n    out.write('hello')\n",
    ),
]


def serious(text: str) -> set[str]:
    inspector = Inspector(load_file_signals(), DetectorContext(), keep=False)
    found = inspector.inspect(Source("a.py", data=text.encode())).findings
    return {item.rule.partition(".")[2] for item in found if item.severity >= Severity.MEDIUM}


@pytest.mark.parametrize(("rule", "seen", "assumed"), CASES)
def test_what_is_only_assumed_is_low(rule: str, seen: str, assumed: str) -> None:
    assert rule in serious(seen)
    assert rule not in serious(assumed)
