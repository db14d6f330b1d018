"""Constants that no arithmetic of ours survives switch no check off: a candidate chooses its own."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from codeguard.corpus.syntax import MOST_BITS, parse
from codeguard.models import CheckReport, Verdict

Check = Callable[..., CheckReport]

TRUSTED = '''
def gcd_of(a, b):
    """Return the greatest common divisor of two numbers.

    >>> gcd_of(4, 6)
    2
    >>> gcd_of(12, 18)
    6
    """
    while b:
        a, b = b, a % b
    return a
'''
LONG = "0x" + "f" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        f"k = {LONG}",
        f"k = ({LONG}, '')",
        "k = 0b" + "1" * 20_000,
        "k = 0o" + "7" * 6_000,
        f"if a == {LONG}: return 0",
        "k = '\\ud800'",
        "if a == '\\ud800': return 0",
        "if a == 1e999: return 0",
        "if a * a == 1e999: return 0",
        "if a + 0.5 > 10**400: return 0",
        "if a == 5e-324: return 0",
        "if a == float('nan'): return 0",
        "if a > 7: return 10**5000",
        "if a > 7: return [10**5000]",
    ],
)
def test_a_wrong_copy_is_convicted_whatever_it_spells_out(check: Check, line: str) -> None:
    wrong = TRUSTED.replace("    while b:", f"    {line}\n    while b:").replace(
        "    return a\n", "    return a + (a > 7)\n"
    )
    report = check(wrong, trusted=TRUSTED)
    assert report.verdict in (Verdict.FAIL, Verdict.DIVERGES), report


@pytest.mark.parametrize("odd", ["float('inf')", "float('nan')", "5e-324", "-0.0", "1e308", "10**400"])
def test_examples_with_odd_numbers_are_examples(check: Check, odd: str) -> None:
    shown = '"""Return the number, and nothing for one.\n\n    >>> kept(1)\n    >>> kept(5)\n    5\n'
    shown += f"    >>> repr(kept({odd})) == repr({odd})\n    True\n    >>> kept({odd}) is None\n    False\n"
    trusted = f'def kept(number):\n    {shown}    """\n    return None if number == 1 else number\n'
    wrong = (
        f'def kept(number):\n    {shown}    """\n    return None if number == 1 else number + (number == 5)\n'
    )
    assert (
        check(
            trusted.replace("None if number == 1 else number", "number if number != 1 else None"),
            trusted=trusted,
        ).verdict
        is Verdict.PASS
    )
    assert check(wrong, trusted=trusted).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "text",
    [
        f"x = {LONG}",
        f"x = [{LONG}, {{1: {LONG}}}]",
        f"def f(a={LONG}, *, b={LONG}): return a < {LONG} < b",
        f"-{LONG}",
    ],
)
def test_an_integer_that_cannot_be_written_out_becomes_a_call_of_the_same_value(text: str) -> None:
    tree = parse(text)
    for node in ast.walk(tree):
        assert not (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int)
            and node.value.bit_length() > MOST_BITS
        )
    ours, theirs = {}, {}
    exec(compile(ast.unparse(tree), "x", "exec"), ours)
    exec(text, theirs)
    assert ours.get("x") == theirs.get("x")
    assert ("f" in ours) == ("f" in theirs)
    assert "f" not in ours or ours["f"].__defaults__ == theirs["f"].__defaults__
