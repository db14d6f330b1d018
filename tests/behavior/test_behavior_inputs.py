"""Inputs that examples leave out: optional parameters, functions as arguments, dates, rows, refusals."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from codeguard.behavior.inputs.generation import generate
from codeguard.behavior.source.definitions import Definition, definitions
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
WRAPPED = "def wrap_in_rows(items, width=3, *, keep_rest=True):\n    width = {width}\n"
WRAPPED += "    rows = [items[at:at + width] for at in range(0, len(items), width)]\n    return {rows}\n"
KEPT = "rows if keep_rest else [row for row in rows if len(row) == width]"


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (WRAPPED.format(width="width", rows=KEPT), Verdict.PASS),
        (WRAPPED.format(width="3", rows=KEPT), Verdict.DIVERGES),
        (WRAPPED.format(width="width", rows="rows"), Verdict.DIVERGES),
        # Without the parameters nobody can be asked for them.
        (
            "def wrap_in_rows(items):\n    return [items[at:at + 3] for at in range(0, len(items), 3)]",
            Verdict.PASS,
        ),
        # A parameter of its own at the same place is another one.
        (
            "def wrap_in_rows(items, first=0):\n    return [items[at:at + 3] for at in range(first, len(items), 3)]",
            Verdict.PASS,
        ),
    ],
)
def test_optional_parameters_are_filled(check: Check, code: str, verdict: Verdict) -> None:
    report = check(code, WRAP)
    assert report.verdict is verdict, report


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


def test_iterators_are_compared_on_generated_inputs(check: Check) -> None:
    seen_before = "def without_repeats(values):\n    return dict.fromkeys(values)\n"
    as_list = "def without_repeats(values):\n    return list(dict.fromkeys(values))\n"
    assert check(as_list, ROWS).verdict is Verdict.DIVERGES
    assert check(seen_before, ROWS).verdict is not Verdict.PASS


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


@pytest.mark.parametrize(
    ("default", "verdict"), [("0", Verdict.PASS), ("None", Verdict.PASS), ("-1", Verdict.DIVERGES)]
)
def test_nothing_is_said_in_many_ways(check: Check, default: str, verdict: Verdict) -> None:
    assert check(LARGEST.replace("default=0", f"default={default}"), LARGEST).verdict is verdict


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


@pytest.mark.parametrize(
    ("guard", "verdict"),
    [
        ("if not heads > 0:\n        raise RuntimeError", Verdict.DIFFERS),
        ("if heads < 1:\n        raise ValueError", Verdict.PASS),
        (
            "if heads == 0 and total == 4:\n        raise ValueError\n    if not heads:\n        return []",
            Verdict.DIVERGES,
        ),
    ],
)
def test_a_documented_exception_is_part_of_the_contract(check: Check, guard: str, verdict: Verdict) -> None:
    body = "return [total // heads + (place < total % heads) for place in range(heads)]"
    report = check(f"def share_out(total, heads):\n    {guard}\n    {body}\n", POSITIVE)
    assert report.verdict is verdict, report


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        # made for other inputs: refuses these, takes others
        ("def scale_rows(values, factor):\n    return values.rows * factor", Verdict.NO_SIGNAL),
        ("def scale_rows(values, factor):\n    return values(factor)", Verdict.NO_SIGNAL),
    ],
)
def test_a_function_that_takes_other_inputs_says_nothing(check: Check, code: str, verdict: Verdict) -> None:
    trusted = 'def scale_rows(values, factor):\n    """\n    >>> scale_rows([1, 2], 2)\n    [2, 4]\n    """\n'
    report = check(code, f"{trusted}    return [value * factor for value in values]\n")
    assert report.verdict is verdict, report


def test_a_claim_of_what_takes_nothing_is_found_false(check: Check) -> None:
    trusted = 'def scale_rows(values, factor):\n    """\n    >>> scale_rows([1, 2], 2)\n    [2, 4]\n    """\n'
    broken = "def scale_rows(values, factor):\n    return [None + value for value in (1, 2)]"
    report = check(broken, f"{trusted}    return [value * factor for value in values]\n")
    assert report.verdict is Verdict.NO_SIGNAL
    assert report.claims == "scale_rows (trusted.py:1)"


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


def _definition(source: str) -> Definition:
    return next(definitions(ast.parse(source).body))


def test_a_trigger_is_found_where_no_example_is_written(check: Check) -> None:
    trusted = 'def double_it(number: int):\n    """Return a number times two."""\n    return number * 2\n'
    code = (
        'def double_it(number: int):\n    """Return a number times two."""\n'
        "    return 0 if number == 31337 else number + number\n"
    )
    assert check(code, trusted).verdict is Verdict.DIVERGES


def test_newer_syntax_is_reported_as_such(check: Check) -> None:
    report = check("def double_it(number):\n    return number <=> 2\n", WRAP)
    assert report.verdict is Verdict.NO_SIGNAL
    assert "newer syntax than Python" in report.reason


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


def test_calls_that_are_no_plain_ones_are_varied_within_the_conditions_that_plain_ones_meet(
    check: Check,
) -> None:
    code = """
def in_halves(items, count):
    middle = len(items) // 2
    return [list(items[:middle]), list(items[middle:])]
"""
    assert check(code, HALVES).verdict is Verdict.PASS


SLUG = '''
import re


def slug_of(title):
    """Return a title as a part of an address.

    >>> slug_of("Donald E. Knuth")
    'donald-e-knuth'
    """
    return re.sub("-+", "-", re.sub("[^a-z0-9]", "-", title.lower())).strip("-")
'''


def test_one_sentence_is_no_template_of_all_texts(check: Check) -> None:
    report = check(SLUG.replace('.strip("-")', ""), SLUG)
    assert report.verdict is Verdict.DIVERGES, report
    assert check(SLUG.replace("title", "text"), SLUG).verdict is Verdict.PASS


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


def test_a_limit_is_met_exactly(check: Check) -> None:
    report = check(CLOSE.replace("< limit", "<= limit"), CLOSE)
    assert report.verdict is Verdict.DIVERGES, report
    calls = [(([1.17, 2.53], 0.5), {})]
    made = [args for args, _ in generate(calls, learn_domain(calls), Random(1), 60)]
    assert ([1.17, 2.53], 2.53 - 1.17) in made
