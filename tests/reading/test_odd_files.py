"""Odd and hostile files end by construction: chains of names, quadratic texts, trees that would fill the memory."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.behavior.matching.candidate import MOST_DEFINITIONS, CandidateFunction, read_candidate
from codeguard.behavior.source.definitions import (
    definitions,
    read_module,
)
from codeguard.behavior.source.reach import module_capabilities
from codeguard.behavior.source.surroundings import MAX_CHARACTERS, surroundings
from codeguard.corpus import syntax
from codeguard.corpus.chunking import chunk_file
from codeguard.models import ChunkKind, SourceFile, text_digest

pytestmark = pytest.mark.ci


class TooManyStepsError(BaseException):
    pass


@contextmanager
def steps(most: int) -> Iterator[Callable[[], int]]:
    """Count the lines that run in the block; more than so many are an error, so that a loop without end is found."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        if count > most:
            raise TooManyStepsError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: count
    finally:
        sys.settrace(before)


def reading_of(text: str) -> Reading:
    return Reading(SourceFile("sample", text, text_digest(text), "python", ()))


def look(text: str) -> None:
    """Let every static signal look, and the behavior checks read."""
    reading = reading_of(text)
    for signal in load_file_signals():
        list(signal.inspect(reading, DetectorContext()))
    module_capabilities(text)
    file = chunk_file("sample.py", text.encode())
    for chunk in file.chunks:
        found = read_candidate(chunk, file)
        if isinstance(found, CandidateFunction):
            found.effects  # noqa: B018 - worked out when it is asked for


CHAINS = {
    "global in the module": "import os\nglobal x\nx = []\nx.append(os.name)\n",
    "global in the module and a function": "import os\nglobal x\ndef f():\n    global x\n    x = os.system\n"
    "    x('a')\nx()\n",
    "nonlocal in the module": "nonlocal x\nx = 1\nx()\n",
    "global in a class": "import os\nclass C:\n    global x\n    x = os.system\n"
    "    def f(self): x('a'); self.x()\n",
    "nonlocal in a class": "def f():\n    x = 1\n    class C:\n        nonlocal x\n"
    "        x = eval\n        x('a')\n",
    "nonlocal of nonlocal": "def f():\n x = 1\n def g():\n  nonlocal x\n  def h():\n   nonlocal x\n"
    "   x = eval\n   x('a')\n",
    "global and nonlocal": "x = 1\ndef f():\n    global x\n    def g():\n        nonlocal x\n"
    "        x = eval\n        x()\n",
    "nonlocal of nobody": "def f():\n    nonlocal x\n    x()\n    def g(): return x()\n",
    "walrus to a global": "class C:\n    global x\n    y = [(x := eval)('a') for a in b if (x := x)]\nx()\n",
    "walrus in nested comprehensions": "y = [[(x := z)() for z in x] for x in y if (z := x)]\n",
    "global in a comprehension's function": "def f():\n    global y\n    return [y := y() for y2 in y]\n",
    "aliases in a circle": "a = b\nb = a\na('x')\nb.c.d('x')\nexec(a)\n",
    "alias of itself": "a = a\na.b('x')\nb = b.c\nb.d()\nexec(a + b)\n",
    "attributes in a circle": "class C:\n    def f(self):\n        self.a = self.b\n"
    "        self.b = self.a\n        self.a()\n",
    "class of itself": "class A(A): pass\nclass B(C): pass\nclass C(B): pass\nA().x(); B.y(); super(B).z()\n",
    "decorator of itself": "@f\ndef f(g): return f(g)\n@f\n@h\ndef h(): return h\nf(h)()\n",
    "functions that return each other": "def f(): return g()\ndef g(): return f()\nf()()\nexec(g())\n",
    "star imports": "from a import *\nfrom b import *\nx = y\ny = x\nx.z(y)\n",
    "subscripts in a circle": "a = [a[0]]\nb = {'c': b['c']}\na[0]('x')\nb['c']('x')\n",
    "looking itself up": "a = globals()['a']\na = vars()['a']\na('x')\ng = getattr(g, 'g')\ng()\n",
    "loops over themselves": "for a in a: a()\nfor b in (c,):\n    for c in (b,): b(c)\n",
    "augmented by itself": "a += a\na %= a\nexec(a)\n",
    "parameters of themselves": "def f(a=a, *b: b, **c: c) -> f: return f(a, *b, **c)\nf(f)\n",
    "match of itself": "match a:\n    case a if a: a()\n    case {'b': b, **c}: c[b](c)\n",
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_chain_of_names_ends(name: str) -> None:
    look("import os\nos.system('a')\n")  # what is loaded when it is first needed
    with steps(400_000):
        look(CHAINS[name])


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("import " + "a." * 64 + "a", False),
        ("import " + "a." * 65 + "a", True),
        ("from " + "a." * 65 + "a import b", True),
        ("import b, " + "a." * 65 + "a as c", True),
        ("x = 1; import " + "a . " * 65 + "a", True),
        ("import " + "a.\\\n" * 65 + "a", True),
        ("import a.b\n" * 100, False),
        ("x = a" + ".a" * 200, False),
        ("x = 'from " + "a." * 65 + "'", True),  # told from a statement by parsing alone
        ("# " + "a." * 200, False),
        ("a\n" * (syntax.MOST_TOKENS // 2 - 1), False),
        ("a\n" * (syntax.MOST_TOKENS // 2 + 1), True),
        ("x = '" + "\\x41" * syntax.MOST_TOKENS + "'", False),
        ("x = '" + "A" * 10 * syntax.MOST_TOKENS + "'", False),
        ("\n" * 3 * syntax.MOST_TOKENS, False),
    ],
)
def test_what_would_fill_the_memory_is_not_given_to_the_parser(source: str, refused: bool) -> None:
    if refused:
        with pytest.raises(syntax.ParseBoundError):
            syntax.parse(source)
    else:
        syntax.parse(source)


@pytest.mark.slow
def test_a_file_over_the_bound_is_read_as_far_as_it_goes_and_says_so() -> None:
    reading = reading_of("import os\nos.system('a')\n" + "a = 1\n" * syntax.MOST_TOKENS)
    first = reading.tree.body[1] if reading.tree is not None else None
    assert isinstance(first, ast.Expr)
    assert isinstance(first.value, ast.Call)
    assert reading.unread.limits[0].what == "not all of it was parsed: more than 200,000 words and signs"
    ((start, end),) = reading.unparsed
    assert start == reading.unread.limits[0].line
    assert end == len(reading.text.splitlines())


def test_a_long_dotted_import_costs_its_own_statement_alone() -> None:
    reading = reading_of("import os\nimport " + "a." * 50_000 + "a\nos.system('a')\n")
    assert [type(node).__name__ for node in reading.tree.body] == ["Import", "Expr"]  # type: ignore[union-attr]
    assert reading.unparsed == ((2, 2),)
    assert [limit.line for limit in reading.unread.limits] == [2]


def test_memory_of_a_hostile_import_stays_small() -> None:
    program = (
        "import resource, sys\n"
        "from codeguard.models import SourceFile, text_digest\n"
        "from codeguard.analysis import Reading\n"
        "text = 'import a' + '.a' * 49_000\n"
        "Reading(SourceFile('s', 'a = 1', text_digest('a = 1'), 'python', ())).names\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "Reading(SourceFile('s', text, text_digest(text), 'python', ())).names\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000  # kilobytes; 2.6 million without the bound


GROWING: dict[str, Callable[[int], str]] = {
    "functions": lambda count: "".join(f"def f{i}(a): return a + {i}\n" for i in range(count)),
    "functions of one name": lambda count: "def f(a):\n    return a\n" * count,
    "methods": lambda count: (
        "class C:\n" + "".join(f"    def m{i}(self): return self.m1()\n" for i in range(count))
    ),
    "functions that use many imports": lambda count: (
        "from m import "
        + ", ".join(f"n{i}" for i in range(count))
        + "\n"
        + "".join(f"def f{i}(): return n{i}\n" for i in range(count))
    ),
    "one long method": lambda count: (
        "class C:\n    def f(self):\n" + "        self.a = self.a + g(1)\n" * count * 4
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWING)
def test_reading_candidates_grows_with_the_file_and_not_with_its_square(name: str) -> None:
    def cost(count: int) -> int:
        file = chunk_file("sample.py", GROWING[name](count).encode())
        with steps(20_000_000) as counted:
            for chunk in file.chunks:
                found = read_candidate(chunk, file)
                if isinstance(found, CandidateFunction):
                    found.effects  # noqa: B018 - worked out when it is asked for
            return counted()

    cost(10)
    assert cost(160) < 3 * cost(80)  # the square would be four times


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(): pass\n" * (MOST_DEFINITIONS + 1), "its file is too large to be read"),
        ("a\n" * syntax.MOST_TOKENS + "def f(): pass\n", "its file is too large to be read"),
        (
            "def f():\n" + "    a('" + "b" * MAX_CHARACTERS + "')\n",
            "too large or nested too deeply to be run",
        ),
    ],
)
def test_a_function_that_is_too_much_to_read_says_so(source: str, reason: str) -> None:
    file = chunk_file("sample.py", source.encode())
    chunk = next(chunk for chunk in reversed(file.chunks) if chunk.kind is ChunkKind.FUNCTION)
    assert read_candidate(chunk, file) == reason


def test_a_function_with_more_around_it_than_is_followed_is_not_run() -> None:
    count = 2_500
    text = "".join(f"def f{i}(a): return f{i + 1}(a)\n" for i in range(count))
    module = read_module(text)
    listed = list(definitions(module.statements))
    assert surroundings(listed[0], module).runnable() is None
    assert surroundings(listed[-3], module).runnable() is not None
