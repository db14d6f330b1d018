"""Pairs in several ways of writing, and over libraries that many projects use: found, and told apart from the twin."""

from __future__ import annotations

import pytest

from experiments.audit_training.insecure_pairs import Pair, load, serious

PAIRS = [item for part in ("ways", "libraries", "kinds", "frameworks", "indirect") for item in load(part)]
# Flaws of logic, and usual code that only its surroundings make wrong.
MISSED = frozenset(
    {
        "exists before mkdir",
        "request without a timeout",
        "path of a command line",
        "account of PAM not looked at",
        "no password means an empty one",
        "length that is cut to one byte",
        "file that stays open in a view",
        "other server waited for in a view",
        "text of the visitor put into the session",
        "order sent before it is paid for",
        "short question, long answer",
        "groups of root are kept",
        "default list that all calls share",
        "bits compared where both must hold",
        "money compared as floating point",
        "refused logins are written nowhere",
        "letter of a customer, template of a row",
    }
)
# The fixed text has the other flaw still: a password in clear, a route that asks for nobody, a text in a page.
FLAGGED = frozenset(
    {
        "yaml full loader of a body",
        "password in json",
        "fastapi admin without dependency",
        "folded to plain letters after the check",
        "socket for each call, never closed",
    }
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_the_insecure_text_is_found_and_its_twin_is_not(pair: Pair) -> None:
    assert bool(serious(pair.bad)) is (pair.title not in MISSED)
    assert bool(serious(pair.good)) is (pair.title in FLAGGED)


def test_no_pair_is_held_out_that_rules_were_made_with() -> None:
    parts = ("libraries", "kinds", "frameworks", "indirect")
    held_out = [item for part in parts for item in load(f"{part}_held_out")]
    assert len(held_out) >= 124
    assert not {pair.title for pair in PAIRS} & {pair.title for pair in held_out}
