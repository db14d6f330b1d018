"""What an importer of a module gets under a name; what rebinds it is tested by its trust, in `audit`."""

from __future__ import annotations

import pytest
from rebinding_forms import HONEST, RIGHT, honest

from codeguard.analysis.python.bindings import module_bindings


def test_a_binding_above_that_runs_later_counts() -> None:
    text = f"later = ((factorial := print) for _ in [1])\n{RIGHT}\nlist(later)\n"
    found = module_bindings(text).doubt("factorial", range(2, 2 + RIGHT.count("\n")))
    assert found is not None


def test_of_two_branches_that_exclude_each_other_either_is_possible() -> None:
    text = f"if OTHER:\n    factorial = print\nelse:\n{''.join(f'    {line}' for line in RIGHT.splitlines(True))}"
    found = module_bindings(text).doubt("factorial", range(4, 4 + RIGHT.count("\n")))
    assert found is not None
    assert not found.certain


@pytest.mark.parametrize("form", HONEST.values(), ids=HONEST)
def test_an_honest_module_exports_the_text(form: str) -> None:
    text = honest(form)
    first = next(
        number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "def factorial(n):"
    )
    lines = range(first, first + len(RIGHT.splitlines()))
    assert module_bindings(text).doubt("factorial", lines, {"range"}) is None
