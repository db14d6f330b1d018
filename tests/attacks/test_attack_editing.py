"""Edits of source text and mutation operators, as tables."""

from __future__ import annotations

import ast

import pytest

from experiments.attacks import editing
from experiments.attacks.mutation import mutants
from experiments.corpus.build_poison import project_targets

SOURCE = 'def f(a: int, b: str = "x") -> str:\n    """Say."""\n    # why\n    return b * a'


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (editing.with_docstring(SOURCE, "One."), SOURCE.replace("Say.", "One.")),
        (editing.with_docstring("def f():\n    return 1", "One."), 'def f():\n    """One."""\n    return 1'),
        (
            editing.with_docstring(SOURCE, "One.\n\nTwo."),
            SOURCE.replace('"""Say."""', '"""One.\n\n    Two.\n    """'),
        ),
        (editing.without_docstring("def f():\n    'Say.'\n    return 1"), "def f():\n    return 1"),
        (editing.renamed(SOURCE, "g"), SOURCE.replace("def f", "def g")),
        (editing.renamed("def f(n):\n    return f(n - 1)", "g"), "def g(n):\n    return g(n - 1)"),
        (
            editing.renamed_variables(SOURCE, {"a": "n"}),
            SOURCE.replace("a: int", "n: int").replace("* a", "* n"),
        ),
        (
            editing.without_annotations(SOURCE),
            'def f(a, b="x"):\n    """Say."""\n    # why\n    return b * a',
        ),
        (editing.with_body(SOURCE, ["return 1"]), SOURCE.replace("return b * a", "return 1")),
        (
            editing.with_prologue(SOURCE, ["if a:", "    return b"]),
            SOURCE.replace("return b * a", "if a:\n        return b\n    return b * a"),
        ),
        (
            editing.renamed_variables("def f(ü):\n    return 'é' + ü", {"ü": "u"}),
            "def f(u):\n    return 'é' + u",
        ),
    ],
)
def test_edit(got: str, expected: str) -> None:
    assert got == expected


def test_a_variable_inside_an_f_string_keeps_its_name() -> None:
    source = "def f(a, b):\n    return f'{a}' + b"
    assert editing.renamed_variables(source, {"a": "x", "b": "y"}) == "def f(a, y):\n    return f'{a}' + y"


@pytest.mark.parametrize("source", ["x = 1", "def f():\n    pass\ndef g():\n    pass", "class A:\n    pass"])
def test_anything_but_one_function_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="one plain function"):
        editing.parse_function(source)


@pytest.mark.parametrize(
    ("body", "kind", "operator", "expected"),
    [
        ("return a < b", "", "boundary", "return a <= b"),
        ("return a == b", "", "negated comparison", "return a != b"),
        ("return a + b", "", "operator", "return a - b"),
        ("a *= b\n    return a", "", "operator", "a += b\n    return a"),
        ("return a[1:]", "", "constant", "return a[2:]"),
        ("return 'ab'", "", "constant", 'return "a"'),
        ("return list(range(a))", "", "off by one", "return list(range(a - 1))"),
        ("return divmod(a, b)", "", "swapped arguments", "return divmod(b, a)"),
        ("a, b = b, 1\n    return a", "", "swapped pair", "a, b = 1, b\n    return a"),
        ("if a < 0:\n        raise ValueError\n    return a", "", "dropped guard", "return a"),
        ("if a:\n        return 1", "", "dropped guard", "pass"),
        (
            "if a:\n        b = 1\n    return b",
            "",
            "negated condition",
            "if not (a):\n        b = 1\n    return b",
        ),
        ("return a and b", "", "logic", "return a or b"),
        ("return -a", "", "dropped sign", "return a"),
        ("return a.lower()", "", "sibling", "return a.upper()"),
        ("return [x for x in a]", "", "lost elements", "return [x for x in a if x]"),
        ("return sorted(a)", "", "reversed order", "return sorted(a, reverse=True)"),
        ("for x in a:\n        break", "", "loop control", "for x in a:\n        continue"),
        ("return a", "number", "result", "return a + 1"),
        ("return a or b", "bool", "result", "return not (a or b)"),
    ],
)
def test_mutation_operator(body: str, kind: str, operator: str, expected: str) -> None:
    found = [
        mutant.source for mutant in mutants(f"def f(a, b):\n    {body}", kind) if mutant.operator == operator
    ]
    assert f"def f(a, b):\n    {expected}" in found


def test_no_mutant_touches_docstring_or_type_hints_and_all_parse() -> None:
    for target in project_targets():
        original = editing.parse_function(target.source)
        for mutant in mutants(target.source):
            changed = editing.parse_function(mutant.source)
            assert ast.get_docstring(changed) == ast.get_docstring(original)
            assert ast.unparse(changed.args) == ast.unparse(original.args)
            assert ast.dump(changed) != ast.dump(original)
