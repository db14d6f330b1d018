"""What is written in the code of a text that is put together."""

from __future__ import annotations

import ast

import pytest

from codeguard.analysis import Reading
from codeguard.models import SourceFile, text_digest

_ABOVE = """
from string import Template
HEAD = "SELECT "
TAIL = HEAD + "x"
PARTS = ["a", value, "b"]
FORM = Template("$a c")
def make(x):
    grown = "a"
    grown += x
"""


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'a'", "a"),
        ("f'a {x} b'", "a \0 b"),
        ("f'{HEAD}{x}'", "SELECT \0"),
        ("'a' + x + 'b'", "a\0b"),
        ("TAIL + y", "SELECT x\0"),
        ("'a %s' % x", "a \0"),
        ("'a %d' % x", "a %d"),
        ("'a {}'.format(x).strip()", "a \0"),
        ("'a {} {}'.format(*x)", "a {} {}"),
        ("f'a {x:>3} {x!r} b'", "a \0 \0 b"),
        ("'a X'.replace('X', x)", "a \0"),
        ("', '.join(['a', x])", "a, \0"),
        ("' '.join(PARTS)", "a \0 b"),
        ("FORM.substitute(a=x)", "$a c"),
        ("Template('b').safe_substitute(a=x)", "b"),
        ("'a' if x else 'b'", "a"),
        ("make(x)", "\0"),
        ("x * y", "\0"),
        ("3", "\0"),
        ("'a'" + " + 'b'" * 900, "a" + "b" * 900),
    ],
)
def test_text_is_read_with_its_holes(expression: str, text: str) -> None:
    source = f"{_ABOVE}\nresult = {expression}\n"
    reading = Reading(SourceFile("x.py", source, text_digest(source), "python", ()))
    node = reading.tree.body[-1] if reading.tree else None
    assert isinstance(node, ast.Assign)
    assert reading.names.literal.text(node.value) == text


def test_a_text_of_many_steps_ends() -> None:
    names = "".join(f"a{index} = a{index - 1} + x + a{index - 1}\n" for index in range(1, 60))
    source = f"a0 = 'SELECT '\n{names}result = a59\n"
    reading = Reading(SourceFile("x.py", source, text_digest(source), "python", ()))
    node = reading.tree.body[-1] if reading.tree else None
    assert isinstance(node, ast.Assign)
    assert len(reading.names.literal.text(node.value)) <= 2_000
