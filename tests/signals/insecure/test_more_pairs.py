"""Pairs in several ways of writing, and over libraries that many projects use: found, and told apart from the twin."""

from __future__ import annotations

import pytest

from experiments.audit_training.insecure_pairs import Pair, load, serious

PAIRS = [*load("ways"), *load("libraries")]
# Flaws of logic, and usual code that only its surroundings make wrong.
MISSED = frozenset(
    {
        "exists before mkdir",
        "threads per request",
        "request without a timeout",
        "division by a parameter",
        "ctypes copy",
        "path of a command line",
    }
)
# The mended text has the other flaw still: a password in clear, a route that asks for nobody.
FLAGGED = frozenset({"yaml full loader of a body", "password in json", "fastapi admin without dependency"})


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_the_insecure_text_is_found_and_its_twin_is_not(pair: Pair) -> None:
    assert bool(serious(pair.bad)) is (pair.title not in MISSED)
    assert bool(serious(pair.good)) is (pair.title in FLAGGED)


def test_no_pair_is_held_out_that_rules_were_made_with() -> None:
    assert len(held_out := load("libraries_held_out")) >= 29
    assert not {pair.title for pair in PAIRS} & {pair.title for pair in held_out}
