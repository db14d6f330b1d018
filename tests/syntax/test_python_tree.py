"""Trees from tree-sitter: equal to Python's own where that reads the text, and a tree of the rest where it does not."""

from __future__ import annotations

import ast
import json
import sys
import warnings
from pathlib import Path

import pytest

from codeguard.syntax.python_tree import parse_with_errors

PLACES = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def plain(tree: ast.Module) -> str:
    """Write a tree out, without what differs by version: places inside f-strings, and the sign u of a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part in ast.walk(node):
                for name in PLACES if part is not node else ():
                    if hasattr(part, name):
                        setattr(part, name, 0)
        if isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree, include_attributes=True)


def written(text: str) -> str:
    tree, _ = parse_with_errors(text)
    return ast.unparse(ast.fix_missing_locations(tree))


FOLDERS = ("asyncio", "email", "json", "unittest", "importlib", "collections", "test/test_asyncio")
LIBRARY = Path(json.__file__).parent.parent
SINGLE = ("test_patma", "test_generators", "test_named_expressions", "test_dictcomps", "test_decorators")


# Not among them: unittest.mock, where the grammar takes `type(mock).name = value` for an alias of a type.


def library() -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((LIBRARY / folder).glob("*.py"))]
    return [path for path in found if path.name != "mock.py"] + [
        path for name in SINGLE if (path := LIBRARY / "test" / f"{name}.py").is_file()
    ]


@pytest.mark.parametrize("path", library(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_tree_is_the_one_that_python_makes(path: Path) -> None:
    text = path.read_text("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ast.parse(text)
    tree, unread = parse_with_errors(text)
    assert unread == []
    assert plain(tree) == plain(expected)


NEWER = {
    'x = f"{a["b"]} {c!r:>{w}}"': "x = f\"{a['b']} {c!r:>{w}}\"",
    "type X[T] = list[T]": "X = list[T]",
    "def f[T: int, *Ts, **P](a: T) -> T: return a": "def f(a: T) -> T:\n    return a",
    "class A[T](B, metaclass=C): pass": "class A(B, metaclass=C):\n    pass",
    "try:\n  a\nexcept A, B:\n  eval(b)": "try:\n    a\nexcept (A, B):\n    eval(b)",
    'f"{\n  x  # why\n}"': "f'{x}'",
}
OLDER = {
    'print "a", b': "print('a', b)",
    'print >>f, "a"': "print('a', file=f)",
    "exec code in space": "exec(code, space)",
    "try:\n  a\nexcept E, e:\n  raise": "try:\n    a\nexcept (E, e):\n    raise",
}


@pytest.mark.parametrize(("text", "expected"), (NEWER | OLDER).items())
def test_what_this_interpreter_does_not_read_is_read(text: str, expected: str) -> None:
    _, unread = parse_with_errors(text)
    assert (written(text), unread) == (expected, [])


BROKEN = [
    ("x = 1 +\n", "", [(1, 1)]),
    ("f(a b)\nos.system(a)", "os.system(a)", [(1, 1)]),
    ("def f(:\n  os.system(a)", "def f():\n    os.system(a)", [(1, 1)]),
    ("class A:\n  def f(self):\n    return 1 +\n  def g(self):\n    eval(x)", "eval(x)", [(3, 3)]),
    ("if x:\n  y = (1,\n  os.system(b)\nz = 3", "if x:\n    os.system(b)\nz = 3", [(2, 2)]),
    (
        "x = f(a,\nimport os\ndef g(x):\n    return eval(x)",
        "import os\n\ndef g(x):\n    return eval(x)",
        [(1, 1)],
    ),
    ('TEXT = """\nimport os\nos.system(a)', "import os\nos.system(a)", [(1, 1)]),
    ('TEXT = = """\nimport os\n"""\nos.system(a)', "os.system(a)", [(1, 1)]),
    ("@@@@\nimport os\n$$ os.system(1)", "import os\nos.system(1)", [(1, 1), (3, 3)]),
    ("a\nexcept:\n  os.system(a)", "os.system(a)", [(2, 2)]),
]


@pytest.mark.parametrize(("text", "expected", "lines"), BROKEN)
def test_an_error_costs_its_own_statement(text: str, expected: str, lines: list[tuple[int, int]]) -> None:
    _, unread = parse_with_errors(text)
    assert expected in written(text)
    assert unread == lines


DEEP = {
    "brackets": "(" * 400 + ")" * 400,
    "not": "x = " + "not " * 3000 + "y",
    "blocks": "".join(" " * level + "if a:\n" for level in range(300)) + " " * 300 + "a",
    # each level reads its body before the clause that cannot be read
    "clauses": "".join(" " * level + "try:\n" for level in range(90))
    + " " * 90
    + "x\n"
    + "".join(" " * level + "except (a b): x\n" for level in reversed(range(90))),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_costs_itself_alone(text: str) -> None:
    tree, unread = parse_with_errors(f"{text}\nos.system(a)\n")
    assert unread
    assert ast.unparse(tree.body[-1]) == "os.system(a)"


@pytest.mark.parametrize("text", ["a" + " + a" * 5000, "a" + ".b(c)[d]" * 5000, "a" + " and a" * 5000])
def test_long_chains_need_no_stack(text: str) -> None:
    limit = sys.getrecursionlimit()
    tree, unread = parse_with_errors(f"{text}\nos.system(a)\n")
    assert (len(tree.body), unread, sys.getrecursionlimit()) == (2, [], limit)


def test_what_takes_the_grammar_too_long_costs_its_own_part() -> None:
    tree, unread = parse_with_errors("import os\nx = " + "-" * 20_000 + "1\nos.system(a)\n")
    assert (ast.unparse(tree), unread) == ("import os\nos.system(a)", [(2, 2)])


def test_what_cannot_be_read_within_bounds_is_listed() -> None:
    _, unread = parse_with_errors("/*\n" * 5000)
    assert sum(last - first + 1 for first, last in unread) >= 5000
