"""Code that hides what it does, and honest data that looks like it. Payloads print markers and are never run."""

from __future__ import annotations

import base64

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.obfuscation import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Severity

DEFAULTS = {rule.id: rule.severity for rule in SIGNAL.rules}


def inspect(text: str, name: str = "x.py") -> list[tuple[str, Severity]]:
    found = SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext())
    return [(item.rule, DEFAULTS[item.rule] if item.severity is None else item.severity) for item in found]


def accused(text: str, name: str = "x.py") -> set[str]:
    return {rule for rule, severity in inspect(text, name) if severity >= Severity.MEDIUM}


CODE = "import os; print('codeguard-marker')"
B64 = base64.b64encode(CODE.encode()).decode()
BLOB = base64.b64encode(bytes(range(256)) * 4).decode()
HIDDEN = [
    (f"import base64\nexec(base64.b64decode('{B64}'))", "runs-built-text"),
    (f"import base64 as q\nw = '{B64}'\nexec(q.b64decode(w).decode())", "runs-built-text"),
    (f"exec({CODE[::-1]!r}[::-1])", "runs-built-text"),
    (f"exec(''.join(chr(c) for c in {[ord(c) for c in CODE]}))", "runs-built-text"),
    (f"exec(''.join(map(chr, {[ord(c) for c in CODE]})))", "runs-built-text"),
    (f"exec(bytes({[ord(c) for c in CODE]}).decode())", "runs-built-text"),
    (f"eval(compile(bytes.fromhex('{CODE.encode().hex()}'), 'x', 'exec'))", "runs-built-text"),
    ("exec('pri' + chr(110) + 't(1)')", "runs-built-text"),
    ("import os\ngetattr(os, 'sys' + 'tem')('true')", "hidden-call"),
    ("getattr(__import__('o' + 's'), 'system')('true')", "hidden-call"),
    ("__import__('sub' + 'process').run(['true'])", "hidden-call"),
    ("f = getattr(__builtins__, 'lave'[::-1])\nf('1')", "hidden-call"),
    ("import importlib\nimportlib.import_module(''.join(['o', 's'])).system('true')", "hidden-call"),
]


HIDDEN += [
    ("from codec import unpack\nfrom assets import ICON\nexec(unpack(ICON))", "runs-imported-text"),
    ("import assets, base64\ndef f():\n    eval(base64.b64decode(assets.ICON))", "runs-imported-text"),
    ("from .assets import *\nexec(ICON)", "runs-imported-text"),
    ("import assets\ntext = str(assets.ICON)\nexec(compile(text, 'x', 'exec'))", "runs-imported-text"),
]


@pytest.mark.parametrize(("text", "rule"), HIDDEN)
def test_hidden(text: str, rule: str) -> None:
    assert rule in accused(text)


SCRIPTS = [
    ("eval(function(p,a,c,k,e,d){return p}('0 1',2,2,'a|b'.split('|'),0,{}))", "runs-built-text"),
    ("var s = String.fromCharCode(97,108,101,114,116,40,49,41,59,32,47,47,32,109)", "runs-built-text"),
]


@pytest.mark.parametrize(("text", "rule"), SCRIPTS)
def test_hidden_in_javascript(text: str, rule: str) -> None:
    assert rule in {found for found, _ in inspect(text, "x.js")}


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(200))).decode()
HONEST = [
    f"import base64\nICON = base64.b64decode('{PNG}')",
    f"CERT = '''-----BEGIN CERTIFICATE-----\n{PNG}\n-----END CERTIFICATE-----'''",
    "SHA = '" + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" * 4 + "'",
    "TABLE = [" + ", ".join(f"0x{n:08x}" for n in range(500)) + "]",
    r"MAGIC = b'\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR'",
    r"DIGITS = '\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39'",
    r"LETTERS = '\x61\x62\x63\x64\x65\x66\x67\x68\x69'",
    "exec('x = 1')",
    "def f(src):\n    ns = {}\n    exec(compile(src, '<string>', 'exec'), ns)\n    return ns",
    "text = 'hello'[::-1]",
    "words = ''.join(reversed('olleh dlrow'))",
    "alphabet = ''.join(chr(c) for c in range(97, 123))",
    "def f(o, n):\n    return getattr(o, n)()",
    "def f(o, n):\n    return getattr(o, 'visit_' + n)()",
    "key = lambda a: (lambda b: a + b)",
    "x = 1" + " " * 150 + "# a comment far to the right",
    "x = '" + " " * 200 + "spaces in a string'",
    "l = I = O = 0\nll = l + I",
    "T = '''\n" + "a" * 4000 + "\n'''",
    "import base64\nassert base64.b64decode('aGVsbG8gd29ybGQ=') == b'hello world'",
    "TOKEN = '" + base64.b64encode(b'{"alg": "none", "typ": "JWT", "kid": "a"}').decode() + "'",
    "import subprocess\nrun = subprocess.run\n_popen = subprocess.Popen",
    "from subprocess import check_output as output\nexec_ = exec\n_eval = eval",
    "class Job:\n    def __init__(self, call):\n        import os\n        call = os.system",
    "import textwrap\ndef f(src):\n    exec(textwrap.dedent(src))",
    "import sys\nexec(sys.argv[1])",
    "from templates import CLASS\ndef f(name):\n    exec(CLASS.format(name=name))",
    "exec(open('version.py').read())",
    "import numpy as np\nassert eval(repr(np.dtype('i4'))) == np.dtype('i4')",
]


@pytest.mark.parametrize("text", HONEST)
def test_honest(text: str) -> None:
    assert accused(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "exec(" + "chr(1)+" * 2_500 + "'')",
        "x = '" + r"\x61" * 40_000 + "'",
        " " * 200_000 + "x",
        "x = 1" + (" " * 101 + "#") * 2_000,
        "f = " + "lambda: " * 900 + "1",
        "y = " + "[" * 80 + "]" * 80,
        "eval(String.fromCharCode(" + "1," * 50_000,
    ],
)
def test_hostile_text_is_bounded(text: str) -> None:
    assert len(inspect(text)) < 2_000
