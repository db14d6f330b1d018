"""Strangers' values are followed to sinks through ordinary code, and stop at checks that hold."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.flow.engine import Flow
from codeguard.flow.sinks import Sink, SinkIndex
from codeguard.flow.values import Reach, Use
from codeguard.models import SourceFile, text_digest

SINKS = (
    Sink("shell", Use.SHELL, names=frozenset({"run_shell"})),
    Sink("path", Use.PATH, names=frozenset({"open"})),
)


def reached(text: str) -> list[Reach]:
    """Return who decides the values that arrive at the sinks of a text."""
    reading = Reading(SourceFile("sample", text, text_digest(text), "python", ()))
    assert reading.tree is not None
    flow = Flow(reading.names, reading.tree, reading.nodes, SinkIndex(SINKS))
    flow.follow()
    origins = (flow.source(hit.value, hit.sink.use) for hit in flow.hits)
    return [origin.reach for origin in origins if origin is not None]


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("def f(a):\n    run_shell(a)", Reach.CALLER),
        ("run_shell(input())", Reach.LOCAL),
        ("import sys\nrun_shell('x' + sys.argv[1])", Reach.LOCAL),
        ("import os\nrun_shell(os.environ['X'])", Reach.LOCAL),
        ("from flask import request\ndef f():\n    run_shell(request.args['x'])", Reach.REMOTE),
        ("def f(sock):\n    run_shell(sock.recv(9))", Reach.REMOTE),
        ("def f(a):\n    b = [a]\n    for c in b:\n        run_shell(c)", Reach.CALLER),
        ("def f(a):\n    b = {}\n    b['x'] = a\n    run_shell(b['x'])", Reach.CALLER),
        ("def f(a):\n    b = []\n    b.append(a)\n    run_shell(' '.join(b))", Reach.CALLER),
        ("def f(a):\n    run_shell(' '.join(x.strip() for x in a))", Reach.CALLER),
        ("def f(a):\n    with a as b:\n        run_shell(b)", Reach.CALLER),
        ("def f(a):\n    try:\n        c = a\n    except E:\n        c = ''\n    run_shell(c)", Reach.CALLER),
        ("def g(x):\n    return 'ls ' + x\ndef f(a):\n    run_shell(g(a))", Reach.CALLER),
        ("def g(x):\n    run_shell(x)\ng(input())", Reach.LOCAL),
        ("def g(x):\n    h(x)\ndef h(y):\n    run_shell(y)\ng(input())", Reach.LOCAL),
        ("class C:\n    def __init__(self, a):\n        self.a = a\n    def f(self):\n        run_shell(self.a)",
         Reach.CALLER),
        ("class C:\n    def __init__(self, a):\n        self.a = a\n    def f(self):\n        run_shell(self.a)\n"
         "C(input()).f()", Reach.LOCAL),
        ("def f(a):\n    def g():\n        run_shell(a)\n    g()", Reach.CALLER),
        ("def f(a):\n    x = ''\n    for b in a:\n        run_shell(x)\n        x = b", Reach.CALLER),
        ("def f(a):\n    if a not in K:\n        log()\n    run_shell(a)", Reach.CALLER),
        ("def f(a):\n    a.isdigit()\n    isinstance(a, int)\n    run_shell(a)", Reach.CALLER),
        ("import shlex\ndef f(a, b):\n    run_shell(shlex.quote(a) + b)", Reach.CALLER),
        # Tests that nothing decides: what a loop, another function or another file sets.
        ("def f(a):\n    n = 0\n    for _ in K:\n        if n > 1:\n            run_shell(a)\n        n += 1",
         Reach.CALLER),
        ("N = 0\ndef f(a):\n    if N:\n        run_shell(a)", Reach.CALLER),
        ("def f(a):\n    n = 0\n    def g():\n        nonlocal n\n        n = 1\n    g()\n    if n:\n"
         "        run_shell(a)", Reach.CALLER),
        ("def f(a):\n    match 'ABC'[1]:\n        case 'B' if K:\n            run_shell('ls')\n"
         "        case _:\n            run_shell(a)", Reach.CALLER),
    ],
)  # fmt: skip
def test_a_value_arrives(text: str, reach: Reach) -> None:
    assert reached(text) == [reach]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    run_shell('ls')",
        "def f(a):\n    a = 'ls'\n    run_shell(a)",
        "def f(a):\n    run_shell(int(a))",
        "def f(a: int):\n    run_shell(a)",
        "import shlex\ndef f(a):\n    run_shell('ls ' + shlex.quote(a))",
        "def f(a):\n    if a not in K:\n        return\n    run_shell(a)",
        "def f(a):\n    if a not in K:\n        raise E\n    run_shell('x' + a)",
        "def f(a):\n    if a == 'x':\n        run_shell(a)",
        "def f(a):\n    run_shell(a if a in K else 'ls')",
        "def f(a):\n    run_shell(K[a])",
        "def f(a):\n    run_shell(K.get(a, 'ls'))",
        "import re\ndef f(a):\n    if not re.fullmatch('[a-z]+', a):\n        abort()\n    run_shell(a)",
        "def f(a):\n    for x in a:\n        if x not in K:\n            raise E\n    run_shell(a)",
        "def ok(x):\n    return x in K\ndef f(a):\n    if not ok(a):\n        return\n    run_shell(a)",
        "def check(x):\n    if x not in K:\n        raise E\ndef f(a):\n    check(a)\n    run_shell(a)",
        "def check(x):\n    if x not in K:\n        raise E\ndef f(a):\n    check(x=a)\n    run_shell(a)",
        "def _g(x):\n    run_shell(x)\n_g('ls')",
        "import os\ndef f(a):\n    p = os.path.realpath(a)\n    if not p.startswith(ROOT):\n"
        "        raise E\n    open(p)",
        "def f(a, r):\n    p = (r / a).resolve()\n    if not p.is_relative_to(r):\n        raise E\n    open(p)",
        "def f(a):\n    match a:\n        case 'x' | 'y':\n            run_shell(a)",
        "def f(a):\n    n = 106\n    run_shell('ls' if 7 * 18 + n > 200 else a)",
        "def f(a):\n    n = 86\n    if 7 * 42 - n <= 200:\n        run_shell(a)",
        "def f(a):\n    match 'ABC'[1]:\n        case 'A' | 'C':\n            run_shell(a)\n        case 'B':\n"
        "            run_shell('ls')\n        case _:\n            run_shell(a)",
    ],
)  # fmt: skip
def test_a_harmless_value_does_not(text: str) -> None:
    assert not reached(text)


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("class A:\n    def run(self):\n        run_shell(self.a)\n    def use(self, a):\n        self.a = a", True),
        ("class A:\n    def run(self):\n        run_shell(self.a)\n    def use(self, a):\n        self.b = a", False),
        ("class A:\n    a = []\n    def run(self):\n        run_shell(self.a[0])\n    def add(self, a):\n"
         "        self.a.append(a)", True),
        ("class A:\n    def run(self):\n        run_shell(self.a['k'])\n    def add(self, k, a):\n"
         "        self.a[k] = a", True),
        ("a = None\ndef run():\n    run_shell(a)\ndef use(b):\n    global a\n    a = b", True),
        ("a = None\ndef run():\n    run_shell(a)\ndef use(b):\n    a = b", False),
        ("import io\ndef f(a):\n    b = io.StringIO()\n    b.write(a)\n    run_shell(b.getvalue())", True),
        ("f = lambda a: run_shell(a)", True),
        ("def f(a, b):\n    run_shell('%d %s' % (a, b))", True),
    ],
)  # fmt: skip
def test_what_one_function_stores_another_finds(text: str, reach: bool) -> None:
    assert reached(text) == [Reach.CALLER] * reach


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n" + "".join(f"  v{i} = a\n" for i in range(800)) * 2 + "  run_shell(a)",
        "def f(a):\n"
        + "".join(" " * (i + 1) + "for x in a:\n" for i in range(19))
        + " " * 25
        + "run_shell(a)",
        "".join(
            f"def f{i}(a):\n  return f{(i * 7 + 1) % 300}(f{(i * 3 + 2) % 300}(a))\n" for i in range(300)
        ),
        "".join(f"class C{i}(C{i - 1}):\n  def m(self): return self.n()\n" for i in range(1, 500)),
        "\n".join("x = 1\nif x: x = f\nx()" for _ in range(1000)),
        "f = " + "lambda x:" * 80 + "run_shell(x)",
    ],
    ids=["many names", "nested loops", "calls in circles", "many bases", "many bindings", "nested lambdas"],
)
def test_hostile_files_end(text: str) -> None:
    assert len(reached(text)) <= 1
