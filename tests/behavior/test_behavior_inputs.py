"""Inputs that examples leave out: optional parameters, rows, refusals, boundaries, calls that are not plain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from codeguard.behavior.inputs.generation import generate
from codeguard.behavior.specs.contract import learn_domain
from codeguard.behavior.specs.files import spec_files
from codeguard.behavior.specs.toml import parse_specs
from codeguard.models import CheckReport, Verdict

Check = Callable[..., CheckReport]

WRAP = '''
def wrap_in_rows(items, width=3, *, keep_rest=True):
    """Cut a list into rows.

    >>> wrap_in_rows([1, 2, 3, 4])
    [[1, 2, 3], [4]]
    >>> wrap_in_rows([7, 8])
    [[7, 8]]
    """
    rows = [items[at:at + width] for at in range(0, len(items), width)]
    return rows if keep_rest else [row for row in rows if len(row) == width]
'''
ROWS = '''
def without_repeats(values):
    """Leave out values that follow their like.

    >>> list(without_repeats([1, 1, 2]))
    [1, 2]
    >>> list(without_repeats([3, 3]))
    [3]
    """
    last = object()
    for value in values:
        if value != last:
            yield value
        last = value
'''
LARGEST = '''
def largest_even(values):
    """Return the largest even value.

    >>> largest_even([1, 4, 6, 3, 2])
    6
    >>> largest_even([2, 1, 8])
    8
    """
    return max([value for value in values if value % 2 == 0], default=0)
'''
POSITIVE = '''
def share_out(total, heads):
    """Share a number of things out.

    >>> share_out(7, 2)
    [4, 3]
    >>> share_out(3, 3)
    [1, 1, 1]
    >>> share_out(4, 0)
    Traceback (most recent call last):
    ValueError: nobody there
    """
    if heads < 1:
        raise ValueError("nobody there")
    return [total // heads + (place < total % heads) for place in range(heads)]
'''
HALVES = '''
def in_halves(items, count):
    """Cut so many items into two halves.

    >>> in_halves([1, 2, 3, 4], 4)
    [[1, 2], [3, 4]]
    >>> in_halves([5, 6], 2)
    [[5], [6]]
    >>> in_halves(range(0, 6), 6)
    [[0, 1, 2], [3, 4, 5]]
    """
    items = list(items)
    return [items[:count // 2], items[count // 2:]]
'''
SLUG = '''
import re


def slug_of(title):
    """Return a title as a part of an address.

    >>> slug_of("Donald E. Knuth")
    'donald-e-knuth'
    """
    return re.sub("-+", "-", re.sub("[^a-z0-9]", "-", title.lower())).strip("-")
'''
CLOSE = '''
def any_closer(numbers, limit):
    """Return whether two numbers that follow each other are closer than a limit.

    >>> any_closer([1.17, 2.53, 3.91], 0.5)
    False
    >>> any_closer([1.13, 2.83, 3.01], 0.3)
    True
    """
    return any(abs(a - b) < limit for a, b in zip(numbers, numbers[1:]))
'''
SCALE = '''
def scale_rows(values, factor):
    """
    >>> scale_rows([1, 2], 2)
    [2, 4]
    """
    return [value * factor for value in values]
'''
DOUBLE = 'def double_it(number: int):\n    """Return a number times two."""\n    return {}\n'
WRAPPED = "def wrap_in_rows(items, {}):\n    return [items[at:at + {}] for at in range({}, len(items), {})]"
SHARED = "def share_out(total, heads):\n    {}\n"
SHARED += "    return [total // heads + (place < total % heads) for place in range(heads)]\n"
RAISES = "if heads == 0 and total == 4:\n        raise ValueError\n    if not heads:\n        return []"
HALVED = """
def in_halves(items, count):
    middle = len(items) // 2
    return [list(items[:middle]), list(items[middle:])]
"""
KEEPS_ONE_OF_EACH = "def without_repeats(values):\n    return list(dict.fromkeys(values))"
CASES = {
    "optional parameters": (WRAP, WRAP.replace("at +", "width * 0 + at +"), Verdict.PASS),
    "an option is ignored": (WRAP, WRAP.replace("rows = [", "width = 3\n    rows = ["), Verdict.DIVERGES),
    "a keyword is ignored": (WRAP, WRAP.replace("if keep_rest", "if 1"), Verdict.DIVERGES),
    "no such option": (WRAP, WRAPPED.format("", 3, 0, 3), Verdict.PASS),
    "another option at its place": (WRAP, WRAPPED.format("first=0", 3, "first", 3), Verdict.PASS),
    "rows of an iterator": (
        ROWS,
        "def without_repeats(values):\n    return list(dict.fromkeys(values))",
        Verdict.DIVERGES,
    ),
    "nothing is 0": (LARGEST, LARGEST, Verdict.PASS),
    "nothing is None": (LARGEST, LARGEST.replace("default=0", "default=None"), Verdict.DIVERGES),
    "nothing is -1": (LARGEST, LARGEST.replace("default=0", "default=-1"), Verdict.DIVERGES),
    "another exception": (
        POSITIVE,
        SHARED.format("if not heads > 0:\n        raise RuntimeError"),
        Verdict.DIFFERS,
    ),
    "the documented exception": (
        POSITIVE,
        SHARED.format("if heads < 1:\n        raise ValueError"),
        Verdict.PASS,
    ),
    "the exception of one call": (POSITIVE, SHARED.format(RAISES), Verdict.DIVERGES),
    "takes objects": (
        SCALE,
        "def scale_rows(values, factor):\n    return values.rows * factor",
        Verdict.NO_SIGNAL,
    ),
    "takes functions": (
        SCALE,
        "def scale_rows(values, factor):\n    return values(factor)",
        Verdict.NO_SIGNAL,
    ),
    "a trigger without examples": (
        DOUBLE.format("number * 2"),
        DOUBLE.format("0 if number == 31337 else number + number"),
        Verdict.DIVERGES,
    ),
    # Calls that are not plain are varied within the conditions that plain ones meet.
    "related arguments": (HALVES, HALVED, Verdict.PASS),
    "one sentence is no template": (SLUG, SLUG.replace('.strip("-")', ""), Verdict.DIVERGES),
    "in other words": (SLUG, SLUG.replace("title", "text"), Verdict.PASS),
    "a limit that is met exactly": (CLOSE, CLOSE.replace("< limit", "<= limit"), Verdict.DIVERGES),
}


@pytest.mark.parametrize(("trusted", "code", "verdict"), CASES.values(), ids=CASES)
def test_what_examples_leave_out_is_tried(check: Check, trusted: str, code: str, verdict: Verdict) -> None:
    report = check(code.replace(", )", ")"), trusted)
    assert report.verdict is verdict, report


def test_a_number_beside_a_row_meets_its_steps() -> None:
    calls = [(([1.17, 2.53], 0.5), {})]
    made = [args for args, _ in generate(calls, learn_domain(calls), Random(1), 60)]
    assert ([1.17, 2.53], 2.53 - 1.17) in made


def test_newer_syntax_is_reported_as_such(check: Check) -> None:
    report = check("def double_it(number):\n    return number <=> 2\n", WRAP)
    assert report.verdict is Verdict.NO_SIGNAL
    assert "newer syntax than Python" in report.reason


def test_a_spec_says_where_its_cases_stand(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        '[[spec]]\nname = "f"\n  [[spec.case]]\n  args = [1]\n  expected = 2\n\n'
        '[[spec]]\nname = "g"\n  [[spec.case]]\n  args = [1]\n  expected = 2\n'
    )
    specs = parse_specs(*spec_files([tmp_path]))
    assert [spec.origin for spec in specs] == ["spec f (own.toml)", "spec g (own.toml)"]
    assert [spec.cases[0].origin for spec in specs] == [
        "spec f (own.toml, case 1)",
        "spec g (own.toml, case 1)",
    ]
