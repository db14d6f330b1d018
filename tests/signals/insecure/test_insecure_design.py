"""The pairs that the rules were made with stay found, and their fixed counterparts quiet."""

from __future__ import annotations

import pytest

from experiments.audit_training.insecure_pairs import Pair, load, serious

PAIRS = load("design")
# What the text of one file does not tell, or tells of too much honest code as well.
MISSED = frozenset(
    {
        "login keeps the session of before",
        "answer of a server read whole",
        "client without a timeout",
        "user of one request in a class",
        "parser as deep as its input",
        "encrypted and not authenticated",
        "preview of a link in a post",
        "table of a class that its subclasses name",
        "mogrified values beside a table that is not",
    }
)
FLAGGED = frozenset({"price of a product in a document"})  # whoever calls chooses the file that lxml parses


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_the_insecure_text_is_found_and_its_twin_is_not(pair: Pair) -> None:
    assert bool(serious(pair.bad)) is (pair.title not in MISSED)
    assert bool(serious(pair.good)) is (pair.title in FLAGGED)


def test_both_halves_are_pairs_of_python() -> None:
    assert len(PAIRS) >= 120
    assert len(load("held_out")) >= 60
    assert not {pair.title for pair in PAIRS} & {pair.title for pair in load("held_out")}
