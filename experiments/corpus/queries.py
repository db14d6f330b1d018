"""The hand-written queries: what a person types, and which trusted function answers it."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.corpus.labels import BY_HAND


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, and the name of the trusted function that answers it."""

    text: str
    target: str


EXAMPLES = tuple(Query(text, target) for text, target in BY_HAND["examples"].items())
FURTHER = tuple(Query(text, target) for text, target in BY_HAND["further"].items())
ALL = EXAMPLES + FURTHER


def first_query(target: str) -> str:
    """Return the first query that a function answers; KeyError where none asks for it."""
    for query in ALL:
        if query.target == target:
            return query.text
    raise KeyError(target)
