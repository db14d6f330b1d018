"""What is read from trusted text: docstrings, tests, surroundings, guards. Nothing runs here."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeguard.behavior.inputs.generation import generate
from codeguard.behavior.inputs.shapes import learn_shape
from codeguard.behavior.source.constants import Constants
from codeguard.behavior.source.definitions import Definition, definitions, read_module
from codeguard.behavior.source.reach import module_capabilities
from codeguard.behavior.source.surroundings import surroundings
from codeguard.behavior.specs.assertions import test_examples as examples_in_tests
from codeguard.behavior.specs.contract import learn_domain
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Raises, Returns
from codeguard.behavior.verdict.comparison import Comparison, same_value
from codeguard.behavior.verdict.profiles import random_for
from codeguard.corpus.chunking import chunk_file
from codeguard.sandbox.model import Iteration, Opaque
from codeguard.syntax.constants import UnknownValueError


def only(code: str) -> Definition:
    return list(definitions(read_module(code).statements))[-1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = = 1\n", []),
        ("def f():\n    return (\n\ndef g():\n    return 1\n", ["g"]),
        ("This is prose.\n\n@deco\ndef g():\n    return [\n        1,\n    ]\n", ["g"]),
        ("class A:\n    def f(self): return )\n    def h(self): return 1\n\ndef g(): pass\n", ["g"]),
        ("def g(): pass\n\n@deco(\n\ndef f(): pass\n\ndef h(): pass\n", ["g", "h"]),
        ("This is prose, and ends.\nimport os\n\nAnd more.\ndef g(): return os.sep\n", ["g"]),
        ('x = = 1 # """\ndef g(): pass\n\nA = """\ndef h(): pass\n"""\ndef i(): pass\n', ["g", "i"]),
        ('x = = 1\ndef g(): pass\n\nA = """\ndef h(): pass\n"""\ndef i(): pass\n', ["g", "i"]),
        ("def g[T](a: T) -> T:\n    return a\n\nx = = 1\n", ["g"]),
    ],
)
def test_what_a_broken_line_is_part_of_is_not_read(text: str, names: list[str]) -> None:
    module = read_module(text)
    assert not module.whole
    assert [found.name for found in definitions(module.statements)] == names


@pytest.mark.parametrize(
    ("docstring", "args", "expected"),
    [
        (">>> f([1, 2], 3)\n4", ([1, 2], 3), Returns(4)),
        (">>> f(y=3, x=[1])\n4", ([1], 3), Returns(4)),
        (">>> list(f([1], 2))\n[3]", ([1], 2), Returns([3])),
        (">>> v = [1, 2]\n>>> f(v, 0)\n7", ([1, 2], 0), Returns(7)),
        (
            ">>> f([], 0)\nTraceback (most recent call last):\nValueError: empty",
            ([], 0),
            Raises("ValueError"),
        ),
        (">>> f([1], 2) == 3\nTrue", ([1], 2), Returns(3)),
        ("f([1], 2) == 3", ([1], 2), Returns(3)),
        ("f([1], 2) ➞ 3", ([1], 2), Returns(3)),
        ("For example, f([1], 2) -> [3, (4,)].", ([1], 2), Returns([3, (4,)])),
        ("* f([1], 2) => 'a, b'", ([1], 2), Returns("a, b")),
        ("f([1], 2) returns True", ([1], 2), Returns(True)),
        ("For x = [1, 2], y = 3 the output should be 5.", ([1, 2], 3), Returns(5)),
        ("Input: x = [1], y = 2\nOutput: [3]", ([1], 2), Returns([3])),
        ("f([1], 2) = 1 + 2", ([1], 2), None),
        (">>> f([1], 2)\n<generator object f at 0x7f>", ([1], 2), None),
    ],
)
def test_docstrings_show_examples(docstring: str, args: tuple[object, ...], expected: object) -> None:
    indented = docstring.replace("\n", "\n    ")
    found = docstring_examples(only(f'def f(x, y):\n    """About f.\n\n    {indented}\n    """\n'), "t.py")
    assert [(example.args, example.expected) for example in found] == [(args, expected)]


def test_a_formula_is_no_example() -> None:
    assert docstring_examples(only('def f(n):\n    """f(n) -> f(n - 1) + 1"""\n'), "t.py") == ()


TESTS = """
import pytest, unittest

@pytest.mark.parametrize("a, b", [(1, 2), pytest.param(3, 6)])
def test_table(a, b):
    assert double(a) == b

def test_plain():
    value = [1, 2]
    assert total(value) == 3
    assert 4 == double(2)
    assert not empty(value)
    with pytest.raises(ValueError):
        double("x", "y")

class Case(unittest.TestCase):
    def test_it(self):
        self.assertEqual(pkg.double(5), 10)
        self.assertIsNone(nothing())
        self.assertRaises(TypeError, double, None)
"""


def test_assertions_are_read_and_never_run() -> None:
    found = examples_in_tests(chunk_file("test_x.py", TESTS.encode()))
    doubles = {example.args: example.expected for example in found["double"]}
    assert doubles == {
        (1,): Returns(2),
        (3,): Returns(6),
        (2,): Returns(4),
        ("x", "y"): Raises("ValueError"),
        (5,): Returns(10),
        (None,): Raises("TypeError"),
    }
    assert found["total"][0].args == ([1, 2],)
    assert found["empty"][0].expected == Returns(False)
    assert found["nothing"][0].expected == Returns(None)


FILE = """
This text is prose, and does not parse.
import os, math
from typing import List
LIMIT = 3
TABLE = {}
for i in range(3):
    TABLE[i] = i * LIMIT
import glob
print("never run", glob.glob("*"))

def helper(x: List[int]) -> int:
    return math.floor(x) + LIMIT

def broken(:

class Box:
    def other(self): return os.sep
    def size(self, a: List[int], *, k=2):
        return helper(a) + TABLE[k]
"""


def test_a_function_gets_what_it_needs_and_nothing_else() -> None:
    module = read_module(FILE)
    definition = next(item for item in definitions(module.statements) if item.name == "size")
    runnable = surroundings(definition, module).runnable()
    assert runnable is not None
    assert runnable.target == "Box().size"
    assert runnable.unresolved == ()
    names = {node.id for node in ast.walk(ast.parse(runnable.source)) if isinstance(node, ast.Name)}
    assert {"LIMIT", "TABLE", "math"} <= names
    assert "print" not in runnable.source
    assert "glob" not in runnable.source


@pytest.mark.parametrize(
    ("seen", "inside", "outside"),
    [
        ([3, 12], [2, 100], [0, -1, 121, 2.5]),
        ([-3, 5], [0, -40, 50], [51]),
        (["(())", "()()"], ["()", "((()))"], ["(", ")(", "", "a"]),
        (["1/2", "10/3"], ["7/45"], ["7", "1/2/3", "/"]),
        (["abc", "Hello"], ["x", "World"], ["", "a1", "a b"]),
        ([[1, 2, 3, 4], [2, 5, 9]], [[1, 4]], [[4, 1], [], [1, 1], ["a"]]),
        ([[5, 3, 5], []], [[], [2, 2]], [[-1, 2], [3.5, 1]]),
        ([{"a": 1}], [{"b": 2}], [{"a": "x"}, {1: 1}]),
    ],
)
def test_the_domain_is_learned(seen: list[object], inside: list[object], outside: list[object]) -> None:
    shape = learn_shape(seen)
    assert [value for value in [*seen, *inside] if not shape.admits(value)] == []
    assert [value for value in outside if shape.admits(value)] == []


PLAIN = st.recursive(
    st.integers(-50, 50) | st.text("ab c1", max_size=6) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=4))
def test_generated_inputs_are_in_the_domain_and_repeatable(rows: list[tuple[object, ...]]) -> None:
    calls = [(row, {}) for row in rows]
    domain = learn_domain(calls)
    assert all(domain.admits(*call) for call in calls)
    made = list(generate(calls, domain, random_for(b"seed", "x"), 20))
    again = list(generate(calls, domain, random_for(b"seed", "x"), 20))
    assert repr(made) == repr(again)
    assert all(domain.admits(*call) for call in made)
    assert len({repr(call) for call in [*made, *calls]}) == len(made) + len({repr(call) for call in calls})


@pytest.mark.parametrize(
    ("expected", "got", "comparison"),
    [
        (1, True, Comparison.SAME),
        (2, 2.0, Comparison.SAME),
        (0.1 + 0.2, 0.3, Comparison.SAME),
        (float("nan"), float("nan"), Comparison.SAME),
        ([1, 2], (1, 2), Comparison.SAME),
        ([1, 2], Iteration("generator", (1, 2)), Comparison.SAME),
        ([1, 2, 3], Iteration("generator", (1, 2)), Comparison.DIFFERENT),
        (Iteration("count", (1, 2), False), Iteration("count", (1, 2, 3), False), Comparison.SAME),
        ({"a": [1.0]}, {"a": [1]}, Comparison.SAME),
        ({1, 2}, frozenset({2, 1}), Comparison.SAME),
        ("a", b"a", Comparison.DIFFERENT),
        (0, None, Comparison.DIFFERENT),
        ("1", 1, Comparison.DIFFERENT),
        (10**20, 10**20 + 1, Comparison.DIFFERENT),
        (Opaque("Box", (("x", 1),)), Opaque("Box", (("x", 2),)), Comparison.DIFFERENT),
        (Opaque("Box", (("x", 1),)), Opaque("Crate", (("x", 1),)), Comparison.UNKNOWN),
    ],
)
def test_values_are_compared_as_a_caller_would(expected: object, got: object, comparison: Comparison) -> None:
    assert same_value(expected, got) is comparison


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("import socket as s\ns.create_connection(('127.0.0.1', 9))", {"network"}),
        ("from os import environ as e\ne['A']", {"environment"}),
        ("import os\ngetattr(os, 'env' + 'iron')", {"environment"}),
        ("import os\ngetattr(os, name)", {"dynamic code"}),
        ("import os\ngetattr(os, 'system')('x')", {"process"}),
        ("getattr(x, y)()()\ngetattr()", set()),
        ("x = open\nx('f')", {"files"}),
        ("__import__('os').system('x')", {"dynamic code", "process"}),
        ("().__class__.__base__.__subclasses__()", {"interpreter internals"}),
        ("[base for base in type(x).__mro__ if base.__doc__]\ngetattr(x, 'a')", set()),
        ("type('A', x.__bases__, {})", set()),
        ("hasattr(__builtins__, 'cmp') or 'cmp' in dir(__builtins__)", set()),
        ("getattr(__builtins__, 'cmp')", {"interpreter internals"}),
        ("f.__code__.co_argcount", set()),
        ("f.__code__ = g.__code__", {"interpreter internals"}),
        ("import os\nos.path.join('a', 'b')", set()),
        ("import math, re, collections", set()),
        ("from http import HTTPStatus\nimport http.cookies\nhttp.cookies.SimpleCookie()", set()),
        ("import http.client as c\nc.HTTPConnection('127.0.0.1')", {"network"}),
        ("def open(x): return x\nopen(1)", set()),
    ],
)
def test_syntax_says_what_code_can_do(code: str, kinds: set[str]) -> None:
    assert {capability.kind for capability in module_capabilities(code)} == kinds


def test_an_import_that_nothing_reads_has_no_effect() -> None:
    text = "import socket\nfrom subprocess import run, call\nrun(['x'])\n"
    assert sorted(map(str, module_capabilities(text))) == [
        "process: import subprocess",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "2 ** 10 ** 9",
        "'a' * 10 ** 9",
        "[[0] * 2000] * 2000",
        "open('x')",
        "'%99999999d' % 1",
        "name",
        "().__class__",
    ],
)
def test_what_is_no_small_constant_is_not_worked_out(expression: str) -> None:
    with pytest.raises(UnknownValueError):
        Constants().fold(ast.parse(expression, mode="eval").body)
