"""What an importer of a module gets under a name, decided from its syntax."""

from __future__ import annotations

import pytest
from rebinding_forms import HONEST, POSSIBLE, REBOUND, RIGHT, honest, rebound

from codeguard.analysis.python.bindings import Doubt, module_bindings


def doubt(text: str, symbol: str = "factorial", code: str = RIGHT) -> Doubt | None:
    body = text.partition(code.splitlines()[0].strip())[0]
    first = body.count("\n") + 1
    used = {"range"} if symbol == "factorial" else set()
    return module_bindings(text).doubt(symbol, range(first, first + code.count("\n")), used)


@pytest.mark.parametrize("form", REBOUND)
def test_a_name_that_may_mean_something_else_is_not_settled(form: str) -> None:
    found = doubt(rebound(REBOUND[form]))
    assert found is not None
    assert found.certain is (form not in POSSIBLE)


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
