"""A description whose examples the function contradicts is false, with no trusted code at all."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check


def described(examples: str, body: str, head: str = "def rest(xs)", before: str = "") -> str:
    return f'{before}{head}:\n    """Return all but the first item.\n\n{examples}\n    """\n    {body}\n'


DOCTEST = "    >>> rest([1, 2, 3])\n    [2, 3]"
WRONG = [
    (DOCTEST, "return xs[2:]", "rest([1, 2, 3]): expected [2, 3], got [3]"),
    (DOCTEST, "xs[2:]", "rest([1, 2, 3]): expected [2, 3], got None"),
    ("    >>> list(rest([1, 2, 3]))\n    [2, 3]", "yield from xs[2:]", "got generator of [3]"),
    ("    rest([1, 2, 3]) -> [2, 3]", "return xs[:-1]", "expected [2, 3], got [1, 2]"),
    ("    >>> sorted(rest([3, 2, 1]))\n    [1, 2]", "return xs[:-1]", "expected [1, 2], got [2, 3]"),
    (
        "    >>> rest([5])\n    []\n    >>> rest([1.5, 2.5])\n    [2.5]",
        "return xs[:1]",
        "rest([5]): expected [], got [5]",
    ),
]


@pytest.mark.parametrize(("examples", "body", "shown"), WRONG)
def test_a_contradicted_description_is_a_false_claim(
    check: Check, examples: str, body: str, shown: str
) -> None:
    report = check(described(examples, body))
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert report.reason == "contradicts its own description"
    assert shown in report.counterexample


HONEST = {
    "as described": described(DOCTEST, "return xs[1:]"),
    "text for bytes, as in old descriptions": described("    >>> rest([1])\n    'a'", "return bytes(xs)"),
    "bytes within": described("    >>> rest([1])\n    {'a': 'b'}", "return {b'a': bytes(xs)}"),
    "another kind of container": described(DOCTEST, "return tuple(xs)"),
    "rounded": described("    rest([1]) returns 0.33", "return xs[0] / 3"),
    "random": described(DOCTEST, "return random.sample(xs, 2)", before="import random\n\n\n"),
    "an order of hashes": described("    >>> rest('ab')\n    ['b', 'a']", "return list(set(xs + 'cdefgh'))"),
    "prints": described("    >>> rest([1])\n    7", "print(xs[0] + 6)"),
    "goes on where the sandbox refuses": described(
        DOCTEST,
        "try:\n        import _no_such_module\n    except ImportError:\n        return xs[2:]\n    return xs[1:]",
    ),
    "shortened": described("    >>> rest('abcdefgh')\n    'bc...h'", "return xs[1:]"),
    "left out": described("    >>> rest([1, 2, 3, 4])\n    [2, ...]", "return xs[1:]"),
    "raises, perhaps for want of something": described(DOCTEST, "return {}[len(xs)]"),
    "a state that other lines make": described(
        "    >>> put(4)\n    >>> rest([])\n    [4]", "return xs + KEPT", before="KEPT = []\n\n\n"
    ),
}


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_what_only_looks_like_a_contradiction_is_none(check: Check, code: str) -> None:
    report = check(code)
    assert not report.false_claim, report
    assert report.verdict is Verdict.NO_SIGNAL


def test_meeting_ones_own_examples_earns_nothing(check: Check) -> None:
    report = check(described(DOCTEST, "return xs[1:]"))
    assert (report.verdict, report.claims) == (Verdict.NO_SIGNAL, "")


def test_what_the_trusted_code_says_comes_first(check: Check) -> None:
    trusted = described(DOCTEST, "return xs[1:]")
    wrong = described("    >>> rest([1, 2, 3])\n    [3]", "return xs[2:]")
    assert check(wrong, trusted).verdict is Verdict.FAIL
    right = described("    >>> rest([1, 2, 3])\n    [3]", "return xs[1:]")
    assert check(right, trusted).verdict is Verdict.PASS
