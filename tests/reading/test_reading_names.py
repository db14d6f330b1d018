"""Names are followed to what they stand for, through every ordinary alias and the usual tricks."""

from __future__ import annotations

import ast

import pytest

from codeguard.analysis import Reading
from codeguard.models import SourceFile, text_digest
from codeguard.syntax.names import MOST_NAMES


def reading_of(text: str) -> Reading:
    return Reading(SourceFile("sample", text, text_digest(text), "python", ()))


def last_call(text: str) -> tuple[Reading, ast.Call]:
    """Return the call that is written last, by its position."""
    reading = reading_of(text)
    calls = [node for node in reading.nodes if isinstance(node, ast.Call)]
    line = max(node.lineno for node in calls)
    return reading, min((node for node in calls if node.lineno == line), key=lambda node: node.col_offset)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import os\nos.system('x')", "os.system"),
        ("import os as o\no.system('x')", "os.system"),
        ("from os import system as s\ns('x')", "os.system"),
        ("import os.path\nos.path.join('x')", "os.path.join"),
        ("import xml.etree.ElementTree as ET\nET.parse(f)", "xml.etree.ElementTree.parse"),
        ("from .db import get\nget()", ".db.get"),
        ("from . import db\ndb.get()", ".db.get"),
        ("from ..a import b\nb.get()", "..a.b.get"),
        ("import subprocess\nrun = subprocess.run\nrun('x')", "subprocess.run"),
        ("import subprocess\ndef f():\n    r = subprocess.run\n    r('x')", "subprocess.run"),
        ("import os\ngetattr(os, 'sys' + 'tem')('x')", "os.system"),
        ("__import__('os').system('x')", "os.system"),
        ("import importlib\nimportlib.import_module('o' 's').system('x')", "os.system"),
        ("from importlib import import_module as im\nm = im('o' + 's')\nm.system('x')", "os.system"),
        ("import builtins\nbuiltins.eval('x')", "eval"),
        ("__builtins__.eval('x')", "eval"),
        ("__builtins__['ev' + 'al']('x')", "eval"),
        ("globals()['eval']('x')", "eval"),
        ("import os\nglobals()['os'].system('x')", "os.system"),
        ("import os\nvars(os)['system']('x')", "os.system"),
        ("import os\nos.__dict__['system']('x')", "os.system"),
        ("import os\nos.__dict__['met' 'sys'[::-1]]('x')", "os.system"),
        ("import sys\nsys.modules['os'].system('x')", "os.system"),
        ("from operator import attrgetter\nimport os\nattrgetter('system')(os)('x')", "os.system"),
        ("from functools import partial\nimport os\nf = partial(os.system, 'x')\nf()", "os.system"),
        ("import requests\ns = requests.Session()\ns.get('u')", "requests.Session.get"),
        ("import requests\nwith requests.Session() as s:\n    s.get('u')", "requests.Session.get"),
        ("with open('f') as f:\n    f.read()", "open.read"),
        ("import os\nd = {'a': os.system}\nd['a']('x')", "os.system"),
        ("import os\nfor f in (os.system, print):\n    pass\nf = os.system if x else None\nf('x')", "os.system"),
        ("import os\n(f := os.system)\nf('x')", "os.system"),
        ("import os\na, b = os.system, print\na('x')", "os.system"),
        ("import os\nglobal s\ns = os.system\ns('x')", "os.system"),
        (
            "import os\ndef f():\n s = 1\n def g():\n  nonlocal s\n  def h():\n"
            "   nonlocal s\n   s = os.system\n   s('x')",
            "os.system",
        ),
        (
            "import requests\nclass C:\n    def __init__(self):\n        self.s = requests.Session()\n"
            "    def get(self):\n        return self.s.get('u')",
            "requests.Session.get",
        ),
        (
            "import requests\nclass C(requests.Session):\n    def a(self):\n        self.get('u')",
            "requests.Session.get",
        ),
        ("import requests\nclass C(requests.Session): pass\nc = C()\nc.get('u')", "requests.Session.get"),
        ("class C:\n    def a(self): pass\n    def b(self):\n        self.a()", ":C.a"),
        ("def f(): pass\nf()", ":f"),
        ("def open(x): pass\nopen('x')", ":open"),
        ("import sqlite3\ndef db():\n    return sqlite3.connect('x')\ndb().execute('q')", "sqlite3.connect.execute"),
        ("from starlette.requests import Request\ndef f(r: Request):\n    r.json()", "starlette.requests.Request.json"),
        ("from x import R\ndef f(r: 'R'):\n    r.json()", "x.R.json"),
        ("from x import R\ndef f(r: R | None):\n    r.json()", "x.R.json"),
        ("os.system('x')", "os.system"),
        ("from flask import *\nrequest.args()", "flask.request.args"),
        ("import os\ndef f(os):\n    os.system('x')", ""),
        ("import os\nfor os in y:\n    os.system('x')", ""),
        ("import os, shlex\nif x:\n    run = os.system\nelse:\n    run = shlex.quote\nrun('x')", "shlex.quote"),
        ("x = x\nx()", ""),
        ("a = b\nb = a\na()", ""),
    ],
)  # fmt: skip
def test_the_called_name_is_followed(text: str, name: str) -> None:
    reading, call = last_call(text)
    assert reading.names.called(call) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("try:\n    import simplejson as json\nexcept ImportError:\n    import json\njson.loads(x)",
         {"simplejson.loads", "json.loads"}),
        ("import os\nrun = print\nif x:\n    run = os.system\nrun('x')", {"print", "os.system"}),
        ("import os\nrun = os.system\nrun = print\nrun('x')", {"print"}),
        ("import os\nfor f in (os.system, os.popen):\n    f('x')", {"os.system", "os.popen"}),
        ("import os\nd = {'a': os.system, 'b': os.popen}\nd[k]('x')", {"os.system", "os.popen"}),
        ("import os\ndef f():\n    return run('x')\nrun = print\nif x: run = os.system\nfinal(f)", {"final"}),
    ],
)  # fmt: skip
def test_all_that_a_name_may_be_is_given(text: str, names: set[str]) -> None:
    reading, call = last_call(text)
    assert set(reading.names.names_of(call.func)) == names


def test_deep_and_wide_code_costs_no_more_than_its_size() -> None:
    chain = (
        "a0 = os.system\n" + "".join(f"a{i} = a{i - 1} if x else b{i}\n" for i in range(1, 500)) + "a499()"
    )
    reading, call = last_call(chain)
    assert len(reading.names.names_of(call.func)) <= MOST_NAMES
    reading, call = last_call("x" + ".y" * 300 + "()")
    assert reading.names.called(call) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' + 'b'", "ab"),
        ("'%s-%d' % ('a', 3)", "a-3"),
        ("'{}{x}'.format('a', x='b')", "ab"),
        ("''.join(['a', 'b'])", "ab"),
        ("f'{\"a\"}b'", "ab"),
        ("'metsys'[::-1]", "system"),
        ("''.join(reversed('metsys'))", "system"),
        ("base64.b64decode('bHM=').decode()", "ls"),
        ("bytes.fromhex('6c73').decode()", "ls"),
        ("codecs.decode('yf', 'rot13')", "ls"),
        ("''.join(chr(c) for c in [108, 115])", "ls"),
        ("''.join(chr(c ^ 1) for c in (109, 114))", "ls"),
        ("''.join(map(chr, [108, 115]))", "ls"),
        ("bytes([108, 115])", b"ls"),
        ("zlib.decompress(base64.b64decode('eJzLKQYAAU0A4A=='))", b"ls"),
        ("str(3) + 'x'.upper()", "3X"),
        ("'a.b'.split('.')[1]", "b"),
        ("{'k': 'v'}['k']", "v"),
        ("(x := 'a') + 'b'", "ab"),
        ("int('ff', 16)", 255),
        ("not 0", True),
        ("'a' * 3", "aaa"),
    ],
)
def test_constants_are_folded(text: str, value: object) -> None:
    reading = reading_of(text)
    assert reading.tree is not None
    statement = reading.tree.body[0]
    assert isinstance(statement, ast.Expr)
    assert reading.names.constant(statement.value) == value


@pytest.mark.parametrize(
    "text",
    [
        "'a' * 10**9",
        "10 ** 10 ** 10",
        "'%999999999d' % 1",
        "'%*d' % (999999999, 1)",
        "'{:999999999}'.format(1)",
        "'{:{}}'.format(1, 999999999)",
        "('a' * 60000).replace('', 'b' * 60000)",
        "1 << 999999999",
        "range(10**12)",
        "x",
        "f(1)",
        "'{0.__class__}'.format(1)",
        "[x for x in y]",
    ],
)
def test_what_is_unknown_or_too_large_is_not_folded(text: str) -> None:
    reading = reading_of(text)
    assert reading.tree is not None
    statement = reading.tree.body[0]
    assert isinstance(statement, ast.Expr)
    assert reading.names.constant(statement.value, "unknown") == "unknown"
