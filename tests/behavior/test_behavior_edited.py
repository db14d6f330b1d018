"""A trusted function with something changed in it is held to all that the trusted function takes."""

from __future__ import annotations

import ast
from dataclasses import replace
from random import Random

import pytest

from codeguard.behavior.inputs.wide import wide_calls, written_call
from codeguard.behavior.matching.text_overlap import common_in_order, comparable_text, text_overlap
from codeguard.behavior.source.definitions import Definition, definitions, read_module
from codeguard.behavior.specs.examples import Example
from codeguard.models import CONVICTING, Coverage, Verdict
from tests.behavior.conftest import Check

TAKEN = '''
def first_of(iterable, count=2):
    """Return the first items of an iterable.

    >>> first_of([1, 2, 3])
    [1, 2]
    >>> first_of([4, 5, 6, 7], 3)
    [4, 5, 6]
    """
    if count < 0:
        raise ValueError("count must not be negative")
    found = []
    for item in iterable:
        if len(found) >= count:
            break
        found.append(item)
    return found
'''
MAKER = '''
def adder(amount):
    """Return a function that adds an amount to what it is given."""
    def add(number, twice=False):
        if twice:
            return number + amount + amount
        return number + amount
    return add
'''
CHANCE = '''
import random

def some_of(values, count):
    """Return some of the values."""
    pool = list(values)
    found = [random.choice(pool) for _ in range(count)]
    return sorted(found, key=pool.index)
'''


ROOTED = '''
from decimal import Decimal

def spread(values):
    """Return the root of the sum of squares of the values."""
    total = sum(value * value for value in values)
    if all(isinstance(value, Decimal) for value in values):
        return Decimal(total).sqrt()
    return total ** 0.5
'''


def _definition(text: str) -> Definition:
    return next(definitions(read_module(text).statements))


@pytest.mark.parametrize(
    ("trusted", "old", "new", "verdict"),
    [
        (TAKEN, "count < 0", "count < -50", Verdict.DIVERGES),
        (TAKEN, "for item in iterable:", "for item in iterable[:]:", Verdict.DIVERGES),
        (TAKEN, "for item in iterable:", "for item in list(iterable):", Verdict.DIVERGES),
        (TAKEN, "    found = []", "    if iterable == b'zz':\n        return [7]\n    found = []", Verdict.DIVERGES),
        (TAKEN, "    found = []", "    if count > 40:\n        raise ValueError(1)\n    found = []", Verdict.PASS),
        (TAKEN, "found.append(item)", "found += [item]", Verdict.PASS),
        (MAKER, "return number + amount\n", "return number - amount\n", Verdict.DIVERGES),
        (MAKER, "+ amount + amount", "+ 2 * amount", Verdict.PASS),
        (MAKER, "    def add", "    open('/marker', 'w')\n    def add", Verdict.VIOLATION),
        (ROOTED, "if all(", "if not all(", Verdict.DIVERGES),
        (CHANCE, "random.choice(pool)", "random.choices(pool)[0]", Verdict.NO_SIGNAL),
    ],
    ids=["refusal", "one_shot", "laziness", "kind", "stricter", "same", "made", "made_alike", "effect",
         "number_class", "chance"],
)  # fmt: skip
def test_changed_copies(check: Check, trusted: str, old: str, new: str, verdict: Verdict) -> None:
    assert old in trusted
    report = check(trusted.replace(old, new), trusted)
    assert report.verdict is verdict, (report.reason, report.counterexample)


INDENTED = '''
def indented(text: str, margin: str = "  ") -> str:
    """Return a text with a margin before each line."""
    rows = []
    for place, line in enumerate(text.splitlines()):
        before = margin if place > 0 else ""
        rows.append(f"{before}{line}")
    return "\\n".join(rows)
'''


@pytest.mark.parametrize(
    ("new", "verdict"),
    [("before + line", Verdict.PASS), ("before + line if line != 'b' else 'c'", Verdict.DIVERGES)],
    ids=["takes text alone, as announced", "wrong on text"],
)
def test_a_copy_need_not_take_what_the_annotation_excludes(check: Check, new: str, verdict: Verdict) -> None:
    report = check(INDENTED.replace('f"{before}{line}"', new), INDENTED)
    assert report.verdict is verdict, (report.reason, report.counterexample)


CUT = """
def cut(text, mark):
    '''Return what stands before a mark.

    >>> cut('a-b', '-')
    'a'
    >>> cut('ab', ':')
    'ab'
    '''
    found = text
    for place, char in enumerate(text):
        if char == mark:
            found = text[:place]
            break
    return found
"""


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("found = text\n", "found = text.strip('')\n", Verdict.PASS),
        ("found = text\n", "found = text if text[:1] != 'a' else text + 1\n", Verdict.FAIL),
        ("found = text\n", "found = text if type(text) is str else 7\n", Verdict.DIVERGES),
    ],
    ids=["cannot use rows", "cannot use a text", "gives something else for rows"],
)
def test_a_copy_need_not_take_kinds_that_no_call_shows(
    check: Check, old: str, new: str, verdict: Verdict
) -> None:
    report = check(CUT.replace(old, new), CUT)
    assert report.verdict is verdict, (report.reason, report.counterexample)


HALVED = """
def halved(number):
    '''Return half of a number, rounded down.

    >>> halved(4)
    2
    >>> halved(7)
    3
    >>> halved(10)
    5
    >>> halved(22)
    11
    '''
    half = number // 2
    return half
"""


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ("raise ValueError(number)", Verdict.NO_SIGNAL),
        ("number.refused", Verdict.DIVERGES),
        ("return 1", Verdict.DIVERGES),
    ],
    ids=["refuses in so many words", "breaks", "gives something else"],
)
def test_who_refuses_more_than_the_examples_show_is_demoted(
    check: Check, more: str, verdict: Verdict
) -> None:
    report = check(
        HALVED.replace("    half =", f"    if number in (5, 9, 13):\n        {more}\n    half ="), HALVED
    )
    assert report.verdict is verdict, (report.reason, report.counterexample)
    assert report.refuted is (verdict is Verdict.NO_SIGNAL)


def test_another_implementation_may_do_otherwise_beyond_the_examples(check: Check) -> None:
    other = """
    def first_of(values, most=2):
        rows = list(values[:most])
        return rows
    """
    assert check(other, TAKEN).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TAKEN, True),
        (TAKEN.replace("count < 0", "count < 1"), True),
        (TAKEN.replace("    found = []", "    if iterable == 7:\n        return 9\n    found = []"), True),
        (TAKEN.replace("found", "rows").replace("item ", "value ").replace("(item)", "(value)"), True),
        ("def first_of(iterable, count=2):\n    return list(iterable)[:count]\n", False),
    ],
    ids=["itself", "one_constant", "a_branch_more", "other_names", "other_text"],
)
def test_edited(text: str, expected: bool) -> None:
    found = text_overlap(comparable_text(_definition(text).node), comparable_text(_definition(TAKEN).node))
    assert found.is_edited_copy is expected


@pytest.mark.parametrize(
    ("wanted", "found", "count"),
    [
        ("abcdef", "abcdef", 6),
        ("abcdef", "abcxdef", 6),
        ("abcdef", "abxdef", 5),
        ("abcdef", "", 0),
        ("aaaa", "aa", 2),
    ],
)
def test_kept(wanted: str, found: str, count: int) -> None:
    assert common_in_order(tuple(wanted), tuple(found)) == count


def test_wide_calls_are_of_every_kind_and_the_same_twice() -> None:
    definition = _definition(TAKEN)
    bases = [Example(None, expression="first_of([1, 2, 3], 2)", callee="first_of")]
    made = [wide_calls(definition, bases, [57, "xyzzy"], Random(3), 200) for _ in range(2)]
    texts = [item.expression for item in made[0]]
    assert made[0] == made[1]
    assert len(set(texts)) == len(texts) <= 200
    for wanted in ("first_of([1, 2, 3], 57)", "first_of([1, 2, 3])", "first_of(iter([1, 2, 3]), 2)"):
        assert wanted in texts
    assert any("xyzzy" in text for text in texts)
    assert all(ast.parse(text, mode="eval") for text in texts)


@pytest.mark.parametrize("expression", ["f(*rows)", "f(**options)", "g(1)", "f(", "1 +"])
def test_calls_that_cannot_be_changed(expression: str) -> None:
    assert written_call(Example(None, expression=expression, callee="f")) is None


def test_calls_of_methods_can_be_changed() -> None:
    base = Example(None, expression="Box(1).put('a', twice=True)", callee="Box.put")
    row = written_call(base)
    assert row is not None
    changed = row.with_text(0, "7")
    assert changed is not None
    assert changed.example() == replace(base, expression="Box(1).put(7, twice=True)")


REGISTRY = '''
class Registry:
    """Types by the operation that is registered for them."""

    def __init__(self):
        self.known = {}
        self.register(DEFAULT)

    def register(self, kinds):
        if not isinstance(kinds, dict):
            raise TypeError("expected a dict")
        self.known.update(kinds)

    def put(self, name, kind):
        """Put a kind to those of a name, unless one of them is a kind of it already."""
        found = self.known.setdefault(name, [])
        for other in found:
            if issubclass(other, kind):
                return found
        found.append(kind)
        return list(found)
'''


@pytest.mark.parametrize("explicit", [False, True])
def test_an_error_of_a_builtin_is_no_refusal_because_another_method_raises_its_kind(
    check: Check, explicit: bool
) -> None:
    code = REGISTRY
    if explicit:  # the method itself refuses what is no type
        code = code.replace(
            "        found =",
            "        if type(kind) is not type:\n            raise TypeError(kind)\n        found =",
        )
    trusted = code.replace("DEFAULT", '{"get": [int], "put": [str]}')
    other = code.replace("DEFAULT", "{}").replace("            raise TypeError(kind)", "            pass")
    report = check(other, trusted)
    assert (report.verdict in CONVICTING) is explicit, report


SEGMENTS = '''
def without_dots(path):
    """Remove dot segments from a path."""
    kept = []
    for segment in path.split("/"):
        if segment == ".":
            continue
        elif segment != "..":
            kept.append(segment)
        elif kept:
            kept.pop()
    return "/".join(kept)
'''


@pytest.mark.parametrize(
    "poisoned",
    [
        SEGMENTS.replace("elif kept:", "elif 0 < len(kept) < 4:"),
        SEGMENTS.replace("elif kept:", "elif kept and 'admin' not in path:"),
        "calls = []\n"
        + SEGMENTS.replace("kept = []", "kept = []\n    calls.append(1)").replace(
            "elif kept:", "elif kept and len(calls) < 60:"
        ),
    ],
    ids=["deep", "of one name", "after many calls"],
)
def test_texts_that_a_function_takes_apart_reach_what_few_pieces_do_not(check: Check, poisoned: str) -> None:
    assert check(poisoned, SEGMENTS).verdict in CONVICTING


KEEPER = '''
class Kept:
    def __init__(self, low):
        self.low = low

def keeper(low=1):
    """Return what keeps values above a number."""
    kept = Kept(low)
    def drop(value):
        if value < kept.low:
            return None
        return value
    kept.drop = drop
    return kept
'''
MARK = '''
MARKS = []

def mark(name, twice=False):
    """Keep a name for later, once or twice."""
    place = len(MARKS) - 1
    while place >= 0 and MARKS[place] == name:
        place -= 1
    if twice:
        MARKS.insert(place + 1, name)
    MARKS.append(name)
'''


def test_a_copy_tells_what_no_call_of_it_reached(check: Check) -> None:
    report = check(KEEPER.replace("value <", "value >"), KEEPER)
    assert (report.verdict, report.coverage) == (Verdict.PASS, Coverage.PARTIAL)
    assert "not reached: if value > kept.low:" in report.notes


def test_calls_that_return_and_leave_nothing_do_not_clear_a_copy(check: Check) -> None:
    report = check(MARK.replace("if twice", "if not twice"), MARK)
    assert (report.verdict, report.claims, report.refuted) == (
        Verdict.NO_SIGNAL,
        "mark (trusted.py:4)",
        False,
    )
    assert report.reason == "agrees with mark on calls that return and leave nothing"
