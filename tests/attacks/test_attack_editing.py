"""Edits of source text and mutation operators, as tables."""

from __future__ import annotations

import ast

from experiments.attacks import editing
from experiments.attacks.mutation import mutants
from experiments.corpus.build_poison import project_targets

SOURCE = 'def f(a: int, b: str = "x") -> str:\n    """Say."""\n    # why\n    return b * a'


def test_no_mutant_touches_docstring_or_type_hints_and_all_parse() -> None:
    for target in project_targets():
        original = editing.parse_function(target.source)
        for mutant in mutants(target.source):
            changed = editing.parse_function(mutant.source)
            assert ast.get_docstring(changed) == ast.get_docstring(original)
            assert ast.unparse(changed.args) == ast.unparse(original.args)
            assert ast.dump(changed) != ast.dump(original)
