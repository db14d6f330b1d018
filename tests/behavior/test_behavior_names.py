"""The names that a statement needs when it is run."""

from __future__ import annotations

import ast

import pytest

from codeguard.behavior.source.needed import names_used_on_execution


@pytest.mark.parametrize(
    ("code", "used", "used_by_annotations"),
    [
        ("x: A = f(b)", {"f", "b"}, {"A"}),
        ("x.y: A = b", {"x", "b"}, {"A"}),
        ("x: A", set(), {"A"}),
        ("@c(d)\ndef g(a=b, *, e=f):\n    return h", {"c", "d", "b", "f"}, set()),
        ("class C(B):\n    x: A = b\n    def g(self):\n        return h", {"B", "b"}, {"A"}),
        ("f = lambda a: b", set(), set()),
        ("if a:\n    b = c\nelse:\n    d()", {"a", "c", "d"}, set()),
    ],
)
def test_names_used_on_execution(code: str, used: set[str], used_by_annotations: set[str]) -> None:
    (statement,) = ast.parse(code).body
    assert names_used_on_execution(statement, postponed=True) == used
    assert names_used_on_execution(statement) == used | used_by_annotations
