"""The pairs of the survey: what was written before rules were changed for it, found and told apart from its twin."""

from __future__ import annotations

import pytest

from experiments.audit_training.insecure_pairs import Pair, load, serious

PAIRS = load("survey")
# Flaws that need to know what the program is for, or usual code that only its surroundings make wrong.
MISSED = frozenset(
    {
        "descriptors inherited",
        "type that the client says",
        "nesting of a stranger",
        "part of a password",
        "owner by name in the path",
        "sha1 signature",
        "check then open",
        "csv",
        "no limit of tries",
    }
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_the_insecure_text_is_found_and_its_twin_is_not(pair: Pair) -> None:
    assert bool(serious(pair.bad)) is (pair.title not in MISSED)
    assert not serious(pair.good)
