"""Coroutines, parameters named like paths, and methods of objects."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

ASYNCHRONOUS = '''
import asyncio

async def fetch_all(count: int) -> list[int]:
    """Return the squares of the numbers below a count, each fetched in a task of its own."""
    return list(await asyncio.gather(*(fetch_one(number) for number in range(count))))

async def fetch_one(number):
    await asyncio.sleep({seconds})
    return number * {factor}
'''


def _last(text: str) -> str:
    """Return a file whose last function is the first of the text."""
    head, _, rest = text.partition("async def fetch_all")
    first, _, second = rest.partition("async def fetch_one")
    return f"{head}async def fetch_one{second}\nasync def fetch_all{first}"


@pytest.mark.parametrize(("factor", "verdict"), [("number", Verdict.PASS), ("count", Verdict.DIVERGES)])
def test_coroutines_are_compared_by_what_they_return(check: Check, factor: str, verdict: Verdict) -> None:
    trusted = _last(ASYNCHRONOUS.format(seconds="1", factor="number"))
    wrong = "number" if factor == "number" else "2"
    assert check(_last(ASYNCHRONOUS.format(seconds="0.5", factor=wrong)), trusted).verdict is verdict


@pytest.mark.parametrize(
    ("test", "verdict"), [('path.startswith("~")', Verdict.PASS), ('path.startswith("~~")', Verdict.DIVERGES)]
)
def test_a_parameter_that_is_named_like_a_path_is_given_paths(
    check: Check, test: str, verdict: Verdict
) -> None:
    code = '''
def without_tilde(path):
    """Return a path with the home folder in the place of the tilde."""
    if {test}:
        return "/home/anna" + path[1:]
    return path
'''
    assert check(code.format(test=test), code.format(test='path[:1] == "~"')).verdict is verdict


WRONG = (Verdict.FAIL, Verdict.DIVERGES)
COLLECTED = '''
from collections.abc import MutableSet

class Numbers(MutableSet):
    """Numbers in the order in which they came."""

    def __init__(self, {given}=()):
        self.items = []
        for item in {given}:
            self.add(item)

    def __contains__(self, item):
        return item in self.items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)

    def discard(self, item):
        if item in self.items:
            log.append(item)
            self.items.remove(item)

    def add(self, item):
        if item not in self.items:
            self.items.append(item)

    def intersection(self, *others):
        """Return what all have.

        >>> both = Numbers.intersection(Numbers([0, 1, 2, 3]), [1, 2, 3])
        >>> list(both)
        [1, 2, 3]
        >>> list(both.intersection([2, 4], [1, 2]))
        [2]
        """
        common = set.intersection(*map(set, others)) if others else self
        return type(self)(item for item in self if item {test} common)

log = []
'''
TEMPLATE = '''
class Base:
    def total(self, numbers):
        return sum(self.part_of(number) for number in numbers)

class Scaled(Base):
    def part_of(self, number):
        return FACTOR * number

    def scaled_total(self, numbers: list[int]):
        """Return the sum of all numbers, scaled."""
        return {before}self.total(numbers){behind}

FACTOR = 3
'''


def test_an_object_keeps_what_its_abstract_base_asks_for(check: Check) -> None:
    """`discard` is neither called nor without surroundings, and without it no object could be made."""
    trusted = COLLECTED.format(given="given", test="in")
    same = check(COLLECTED.format(given="wanted", test="in"), trusted)
    assert same.verdict is Verdict.PASS, same.reason
    wrong = check(COLLECTED.format(given="wanted", test="not in"), trusted)
    assert wrong.verdict in WRONG, wrong.reason


def test_an_object_keeps_what_its_base_calls(check: Check) -> None:
    trusted = TEMPLATE.format(before="", behind="")
    same = check(TEMPLATE.format(before="0 + ", behind=""), trusted)
    assert same.verdict is Verdict.PASS, same.reason
    assert check(TEMPLATE.format(before="", behind=" + 1"), trusted).verdict in WRONG
