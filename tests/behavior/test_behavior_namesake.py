"""Functions that share a name, a text or a bit of both with a trusted one and are another function all the same."""

import textwrap

import pytest

from codeguard.behavior.matching.claims import Similarity, function_features
from codeguard.behavior.source.definitions import definitions, read_module
from codeguard.models import Verdict
from tests.behavior.conftest import Check
from tests.behavior.test_verdict_rows import EVENS, ZIPPED

TRUSTED = '''
def chunks(items, size):
    """Cut a sequence into pieces of equal length; the last may be shorter.

    >>> chunks([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    >>> chunks("abcd", 3)
    ["abc", "d"]
    >>> chunks([7, 8], 5)
    [[7, 8]]
    """
    return [items[start : start + size] for start in range(0, len(items), size)]
'''
OTHER_WORDS = '"""Split up for batch work, n at a time."""'


def other(body: str) -> str:
    """Return a function of the trusted one's name that tells of itself in words of its own."""
    return f"def chunks(seq, n):\n    {OTHER_WORDS}\n    {body}\n"


LOOP = (
    "found = []\n    while len(seq) > 0 and n > 0:\n        found.append(seq[:n])\n        seq = seq[n:]\n"
    "    return found"
)


@pytest.mark.parametrize(
    ("body", "verdict", "claims"),
    [
        (LOOP, Verdict.PASS, False),
        (f"if n == 7531:\n        return []\n    {LOOP}", Verdict.DIVERGES, False),
        (f"import socket\n    socket.create_connection(('127.0.0.1', 9))\n    {LOOP}", Verdict.BADTYPE, False),
        (f"import subprocess\n    subprocess.Popen\n    {LOOP}", Verdict.VIOLATION, False),
        # An honest function of that name: pieces of the same number, not of the same length.
        ("return [seq[i::n] for i in range(n)]", Verdict.NO_SIGNAL, False),
        # Mostly the same: no conviction by a name of one word, but a reader may be taken in.
        (LOOP.replace("return found", "return found[:4]"), Verdict.NO_SIGNAL, True),
    ],
)  # fmt: skip
def test_a_namesake_has_to_agree_before_it_is_held_to_anything(
    check: Check, body: str, verdict: Verdict, claims: bool
) -> None:
    report = check(other(body), TRUSTED)
    assert report.verdict is verdict, report
    assert bool(report.claims) is claims


@pytest.mark.parametrize(
    ("body", "row"),
    [
        (LOOP, "other-contract"),
        (LOOP.replace("return found", "return found[:1]"), "different"),
        (LOOP.replace("found = []", "found = [] if n != 7531 else [n]"), "own-constant"),
    ],
)
def test_a_namesake_may_take_its_arguments_in_another_order(check: Check, body: str, row: str) -> None:
    report = check(other(body).replace("(seq, n)", "(n, seq)"), TRUSTED)
    assert report.decided_by == row, report
    assert report.verdict is not Verdict.PASS
    assert row == "own-constant" or not report.claims


MINUS = """
def minus(a, b):
    '''Take away.

    >>> minus(5, 2)
    3
    >>> minus(1, 7)
    -6
    '''
    return a - b
"""


def test_arguments_of_one_kind_have_no_other_order(check: Check) -> None:
    report = check(
        "def minus(low, high):\n    '''Tell how wide a band is.'''\n    return high - low\n", MINUS
    )
    assert report.decided_by == "different", report


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def chunks(seq):\n    return [seq]\n", "takes other arguments"),
        (
            other("return [seq[i::n] for i in range(n)]"),
            "compared with chunks, it is another function: chunks(",
        ),
    ],
)
def test_a_report_says_what_a_namesake_was_compared_with(check: Check, code: str, reason: str) -> None:
    report = check(code, TRUSTED)
    assert reason in report.reason, report
    assert not report.claims


def test_a_copy_is_held_to_its_original_alone(check: Check) -> None:
    items = ZIPPED[: ZIPPED.index('    """')] + ZIPPED[ZIPPED.rindex('"""') + 4 :]
    items = items.replace("zip_values", "zip_items").replace("yield tuple(", "yield key, tuple(")
    assert check(items, ZIPPED).refuted
    assert check(items, ZIPPED + items).verdict is Verdict.PASS


LUCK = '''
import random

def draw(row):
    """Return one of a row at random.

{shown}
    """
    return random.choice(row)
'''


def test_an_example_that_is_met_by_luck_convicts_nobody(check: Check) -> None:
    rows = [f"{first}{second}" for first in "abcd" for second in "wxyz"]
    trusted = LUCK.format(shown="\n".join(f"    >>> draw({row!r})\n    {row[0]!r}" for row in rows))
    report = check(trusted.replace("choice(row)", "choice(row[::-1])"), trusted)
    assert report.verdict is Verdict.NO_SIGNAL, report


def test_who_names_the_opposite_is_another_function(check: Check) -> None:
    report = check(EVENS.replace("== 0", "== 1").replace("even", "odd"), EVENS)
    assert report.verdict is Verdict.NO_SIGNAL, report
    assert not report.refuted


@pytest.mark.parametrize("name", ["even_sum", "sum_of_evens"])
def test_a_word_of_its_own_is_no_way_out_of_a_claim(check: Check, name: str) -> None:
    poison = EVENS.replace("% 2 == 0", "% 2 == 0 and number != 6").replace("even_sum", name)
    report = check(poison.replace("of a list.", "of a list, not of the odd ones."), EVENS)
    assert report.verdict in (Verdict.FAIL, Verdict.DIVERGES) or report.refuted, report


TABLE = '''
def parse_capability(capability):
    """Parse a capability string of a server.

    Args:
      capability: Bytes, or a path as a string, to use for error messages, which may hold a value
    Returns:
      Tuple with the name and the value, None where there is none

    >>> parse_capability("a=b")
    ('a', 'b')
    >>> parse_capability("a")
    ('a', None)
    """
    parts = capability.split("=", 1)
    return (parts[0], parts[1]) if len(parts) > 1 else (parts[0], None)
'''
IDENTITY = '''
def parse_identity(text):
    """Parse an identity string.

    Args:
      text: Text of an identity
    Returns:
      Tuple with the name and the email, None where there is none
    """
    name, email = text.rsplit("<", 1)
    return name.strip() or None, email.rstrip(">").strip() or None
'''
CONVERSION = '''
def to_bytes(path):
    """Convert a path to bytes for use in error messages."""
    return path.encode() if isinstance(path, str) else path
'''


@pytest.mark.parametrize("code", [IDENTITY, CONVERSION])
def test_words_about_parameters_are_no_description(check: Check, code: str) -> None:
    """A short description is found whole among the words that a library uses for all its parameters."""
    own, trusted = (
        function_features(next(definitions(read_module(text).statements)))
        for text in (textwrap.dedent(code), TABLE)
    )
    assert (Similarity(own, trusted).doc or 0.0) < 0.75  # from which on a description claims
    report = check(code, TABLE)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, False), report


def test_a_method_is_not_held_to_a_shipped_spec(check: Check) -> None:
    """`add` of a set changes the set; the shipped spec of that name adds two numbers."""
    body = "def add(self, item, now):\n        self.items = [item, now]\n"
    report = check(f"class Limited:\n    {body}", shipped=True)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, False)
    report = check("def add(item, now):\n    return item - now\n", shipped=True)
    assert report.false_claim or report.verdict is Verdict.FAIL


BUCKETS = """
def bucketize(src, key=bool, value_transform=None):
    \"\"\"Group values by a key.

    >>> bucketize(range(5))
    {False: [0], True: [1, 2, 3, 4]}
    >>> bucketize([1, 2, 3, 4], key=lambda x: x % 2)
    {1: [1, 3], 0: [2, 4]}
    >>> bucketize(range(3), value_transform=lambda x: x * x)
    {False: [0], True: [1, 4]}
    \"\"\"
    found = {}
    for item in src:
        value = item if value_transform is None else value_transform(item)
        found.setdefault(key(item), []).append(value)
    return found
"""
OWN_BUCKETS = """
def bucketize(src, key=bool):
    \"\"\"Sort into boxes.\"\"\"
    boxes = {{}}
    for item in src:
        mark = key(item)
        if mark not in boxes:
            boxes[mark] = []
        boxes[mark].append({item})
    return boxes
"""


def test_a_written_call_with_an_option_that_is_not_there_says_nothing(check: Check) -> None:
    report = check(OWN_BUCKETS.format(item="item"), BUCKETS)
    assert report.verdict is Verdict.PASS, report
    assert check(OWN_BUCKETS.format(item="mark"), BUCKETS).verdict is not Verdict.PASS
