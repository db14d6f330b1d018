"""What an importer of a module gets under a name, decided from its syntax."""

from __future__ import annotations

import pytest
from rebinding_forms import HONEST, REBOUND, RIGHT, honest, rebound

from codeguard.analysis.python.bindings import module_bindings


def why(text: str, symbol: str = "factorial", code: str = RIGHT) -> str:
    body = text.partition(code.splitlines()[0].strip())[0]
    first = body.count("\n") + 1
    used = {"range"} if symbol == "factorial" else set()
    return module_bindings(text).why_unsettled(symbol, range(first, first + code.count("\n")), used)


@pytest.mark.parametrize("form", REBOUND.values(), ids=REBOUND)
def test_a_name_that_may_mean_something_else_is_not_settled(form: str) -> None:
    assert why(rebound(form))


@pytest.mark.parametrize("form", HONEST.values(), ids=HONEST)
def test_an_honest_module_exports_the_text(form: str) -> None:
    text = honest(form)
    first = next(
        number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "def factorial(n):"
    )
    lines = range(first, first + len(RIGHT.splitlines()))
    assert module_bindings(text).why_unsettled("factorial", lines, {"range"}) == ""
