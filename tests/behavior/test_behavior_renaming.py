"""A name of a module is replaced wherever Python means it, and nowhere else."""

from __future__ import annotations

import ast

import pytest

from codeguard.behavior.source.renaming import RenamingError, renamed

NAMES = {"a": "a_of_x", "b": "b_of_x"}


def changed(source: str) -> str:
    (statement,) = ast.parse(source).body
    return ast.unparse(renamed(statement, NAMES))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("c = a + b.a(a=a)", "c = a_of_x + b_of_x.a(a=a_of_x)"),
        ("def a(a=a): return a", "def a_of_x(a=a_of_x): return a"),
        ("def f():\n    a = b\n    return a", "def f():\n    a = b_of_x\n    return a"),
        ("def f():\n    global a\n    a = b", "def f():\n    global a_of_x\n    a_of_x = b_of_x"),
        (
            "def f(a):\n    def g():\n        nonlocal a\n        a = b\n    return g, a",
            "def f(a):\n    def g():\n        nonlocal a\n        a = b_of_x\n    return g, a",
        ),
        ("def f(a):\n    def g():\n        return a, b\n    return g", None),
        ("f = lambda a, c=a: a + b + c", "f = lambda a, c=a_of_x: a + b_of_x + c"),
        ("x = [a for a in a if b]", "x = [a for a in a_of_x if b_of_x]"),
        ("def f(): return [a for a in b], a", "def f(): return [a for a in b_of_x], a_of_x"),
        ("def f():\n    return [(a := c) for c in b], a", "def f():\n    return [(a := c) for c in b_of_x], a"),
        ("import a as c, b", "import a as c, b as b_of_x"),
        ("from c import a, d as b", "from c import a as a_of_x, d as b_of_x"),
        ("def f():\n    import a\n    return a", "def f():\n    import a\n    return a"),
        (
            "class a(b):\n    a = a\n    def f(self):\n        return a, self.b",
            "class a_of_x(b_of_x):\n    a = a_of_x\n    def f(self):\n        return a_of_x, self.b",
        ),
        ("class C:\n    def a(self):\n        return b", "class C:\n    def a(self):\n        return b_of_x"),
        ("try:\n    a()\nexcept b as a:\n    a", "try:\n    a_of_x()\nexcept b_of_x as a_of_x:\n    a_of_x"),
        (
            "match a:\n    case [b, *_] | {'k': b}:\n        b",
            "match a_of_x:\n    case [b_of_x, *_] | {'k': b_of_x}:\n        b_of_x",
        ),
        ("@a\nasync def f(x: b) -> a: await b(x)", "@a_of_x\nasync def f(x: b_of_x) -> a_of_x: await b_of_x(x)"),
        ("x = f'{a}'", "x = f'{a_of_x}'"),
    ],
)  # fmt: skip
def test_names_of_the_module_alone_are_replaced(source: str, expected: str | None) -> None:
    wanted = source.replace("a, b\n", "a, b_of_x\n") if expected is None else expected
    assert changed(source) == ast.unparse(ast.parse(wanted))


@pytest.mark.parametrize("source", ["import a.c", "class C:\n    for a in a:\n        pass"])
def test_what_cannot_be_replaced_is_refused(source: str) -> None:
    with pytest.raises(RenamingError):
        changed(source)


def test_a_statement_is_left_as_it_is_and_gives_one_other() -> None:
    (statement,) = ast.parse("def f(x):\n    return a(x)").body
    before = ast.dump(statement)
    assert renamed(statement, NAMES) is renamed(statement, dict(NAMES))
    assert ast.dump(statement) == before
    assert renamed(statement, {"c": "d"}) is statement
