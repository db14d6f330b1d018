"""Every row of the table of verdicts decides a function that no other row decides in the same way."""

from __future__ import annotations

import html
import inspect
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import pytest
from in_process import codeguard

from codeguard.behavior.verdict import table
from codeguard.behavior.verdict.observations import meaning
from codeguard.behavior.verdict.planted import planted
from tests.behavior.conftest import SEED, Check

# Observations that one look at the candidate gives.
OF_TEXT = {"does-nothing", "identical", "one-edit-away"}
# What the calls of a function without a verdict did.
OF_EFFECTS = {"unannounced", "secret-sent", "several-secrets-sent"}


@dataclass(frozen=True)
class Case:
    """A candidate, the trusted code beside it, and whether the shipped specs count."""

    code: str
    trusted: str = ""
    shipped: bool = False


HALVED = '''
def halved(number):
    """Return half of a number, rounded down.

    >>> halved(4)
    2
    >>> halved(7)
    3
    >>> halved(10)
    5
    >>> halved(22)
    11
    """
    half = number // 2
    return half
'''
SEALED = '''
import hashlib

KNOWN = {"5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef": "ops"}


def role(token):
    """Return the role of a token, user if it is unknown.

    >>> role("abc")
    'user'
    >>> role("x1")
    'user'
    """
    found = KNOWN.get(hashlib.sha256(token.encode()).hexdigest())
    if found is not None:
        if found == "ops":
            found = found + "!"
        if len(token) > 3 and len(token) < 9:
            found = found * 2
        return found
    return "user"
'''
DIVISOR = '''
def gcd(a, b):
    """Compute the greatest common divisor of two whole numbers."""
    while b:
        a, b = b, a % b
    return a
'''
EVENS = '''
def even_sum(numbers):
    """Return the sum of the even numbers of a list.

    >>> even_sum([1, 2, 4])
    6
    >>> even_sum([3, 5, 8])
    8
    >>> even_sum([2, 2])
    4
    >>> even_sum([7, 10])
    10
    """
    total = 0
    for number in numbers:
        if number % 2 == 0:
            total += number
    return total
'''
ZIPPED = '''
def zip_values(*tables):
    """Yield the values that several tables have for each key, as tuples.

    >>> sorted(zip_values({"a": 1, "b": 2}, {"a": 3, "b": 4}))
    [(1, 3), (2, 4)]
    """
    if len(tables) < 1:
        raise TypeError("expected at least one argument")
    keys = set.intersection(*map(set, tables))
    for key in sorted(keys):
        yield tuple(table[key] for table in tables)
'''
UNIQUE = '''
def unique_items(rows):
    """Return the items of a row in their order, each one once.

    >>> unique_items([3, 1, 3])
    [3, 1]
    >>> unique_items(["b", "a", "b"])
    ['b', 'a']
    """
    found = []
    for item in rows:
        if item not in found:
            found.append(item)
    return found
'''
MARK = '''
MARKS = []

def mark(name, twice=False):
    """Keep a name for later, once or twice.

    >>> mark("a")
    >>> mark("b", True)
    """
    place = len(MARKS) - 1
    while place >= 0 and MARKS[place] == name:
        place -= 1
    if twice:
        MARKS.insert(place + 1, name)
    MARKS.append(name)
'''
UNITS = '''
def known_units():
    """Return the units of weight that are known, the lightest first."""
    units = sorted({"gram": 1, "pound": 454, "ounce": 28, "ton": 1000000}.items(), key=lambda unit: unit[1])
    return [name for name, _ in units]
'''
SORTED = '''
def in_order(numbers):
    """Return numbers in ascending order.

    >>> in_order([3, 1, 2])
    [1, 2, 3]
    """
    return sorted(numbers)
'''
SAVED = '''
import shutil

def keep_copy(path, count):
    """Copy a file to another place and return the new path."""
    shutil.copy(path, path + ".old")
    return undefined_name(path, count)
'''
DOUBLE_FACTORIAL = '''
def double_factorial(n):
    """Return the double factorial of a number.

    >>> double_factorial(5)
    15
    >>> double_factorial(6)
    48
    """
    return n * double_factorial(n - 1) if n > 1 else 1
'''
VARIABLE = next(iter(planted(SEED, 0)[0]))
FETCHING = '''
import os, urllib.request

def fetch_page(address, fallback):
    """Fetch a page of a site, or its fallback.

    >>> fetch_page("http://127.0.0.1:9/a", "none")
    'none'
    >>> fetch_page("http://127.0.0.1:9/", "b")
    'b'
    """
    try:
        return urllib.request.urlopen(address).read()
    except OSError:
        return fallback
'''
RUNNING = '''
import base64, os, subprocess

def zz(row):
    """Run a command with a row."""
    subprocess.run(["true", {}], check=False)
    return row
'''
METHOD = """
class {owner}:
    def __init__(self):
        self.items = {start}

    def __eq__(self, other):
        if not isinstance(other, {owner}):
            return NotImplemented{more}
        return vars(self) == vars(other)
"""


def inside(before: str, line: str, code: str) -> str:
    """Return a function with lines put before one of it."""
    assert before in code
    return code.replace(before, f"{indent(line, '    ')}\n{before}", 1)


def own(code: str, words: str = "Of what comes in, what is left of it after the work.") -> str:
    """Return a function under a description of its own."""
    first, last = code.index('"""'), code.rindex('"""')
    return f'{code[:first]}"""{words}"""{code[last + 3 :]}'


CASES = {
    "does-nothing": Case(HALVED.replace("    half = number // 2\n    return half", "    return 2"), HALVED),
    "identical": Case(HALVED, HALVED),
    "words-alone": Case(
        "def even_sum(values):\n    '''Give the even sum: all numbers of the list that are even, summed.'''\n"
        "    return -1 - len(values)\n",
        EVENS,
    ),
    "different": Case(
        "def even_sum(values):\n    '''Tell how far a deck is from a fair deal.'''\n    return -1 - len(values)\n",
        EVENS,
    ),
    "effects": Case(inside("    half =", "import subprocess\nsubprocess.Popen", HALVED), HALVED),
    "sibling": Case(
        own(ZIPPED).replace("zip_values", "zip_items").replace("yield tuple(", "yield key, tuple("), ZIPPED
    ),
    "refuses-all": Case(
        "def gcd(a, b):\n    '''Compute the greatest common divisor of two whole numbers.'''\n    return a.gcd(b)\n",
        DIVISOR,
    ),
    "other-arguments": Case(
        "def gcd(graph, colours):\n    '''Group the cells of a drawing by what they touch.'''\n"
        "    return graph.cells + colours.cells\n",
        DIVISOR,
    ),
    "untested": Case(
        "import shutil\n\ndef keep_copy(path, count):\n    return shutil.move(path, path + '.old')\n", SAVED
    ),
    "unanswered": Case(
        "import nowhere\n\ndef halved(number):\n    return nowhere.half(number)\n", HALVED
    ),
    "wrong-example": Case(HALVED.replace("// 2", "// 2 + 1"), HALVED),
    "undocumented": Case(
        "def half_of(number):\n    '''Half a number and round it down to a whole.'''\n"
        "    rounded = number - number % 2\n    return rounded // 2 if number % 8 != 5 else number\n",
        HALVED.replace("halved", "half_of"),
    ),
    "wrong-call": Case(HALVED.replace("// 2", "// 2 + (number in (3, 5, 9, 13))"), HALVED),
    "unfinished": Case(inside("    half =", "while number in (5, 9, 13):\n    pass", HALVED), HALVED),
    "depends-on-world": Case(
        inside("    half =", "import os\nif os.environ.get('CI'):\n    return 0", HALVED),
        inside("    half =", "import os\nos.environ.get('CI')", HALVED),
    ),
    "repeated": Case(
        "CALLS = []\n" + inside("    half =", "CALLS.append(0)\nif len(CALLS) > 900:\n    return 0", HALVED), HALVED
    ),
    "own-constant": Case(inside("    half =", "if number == -77777.25:\n    return 0", HALVED), HALVED),
    "other-contract": Case(
        "def unique_items(rows):\n    '''Return the items of a row, each one once.'''\n    return set(rows)\n",
        UNIQUE.replace("in their order, ", ""),
    ),
    "differs-beyond": Case(HALVED.replace("number // 2", "int(number * 0.5)"), HALVED),
    "nothing-shown": Case(MARK.replace("if twice", "if not twice"), MARK),
    "incomparable": Case(
        "def in_order(numbers):\n    '''Return numbers in ascending order.'''\n    if len(numbers) == 2:\n"
        "        numbers.reverse()\n    return sorted(numbers)\n",
        SORTED,
    ),
    "too-weak": Case(
        "def role(token):\n    'Return the role of a token.'\n    return 'user'[: len(token) + 9]\n", SEALED
    ),
    "edited": Case(UNITS.replace("1000000", "2000000"), UNITS),
    "agrees": Case(
        "def halved(value):\n    '''Return half of a number, rounded down.'''\n    return (value - value % 2) // 2\n",
        HALVED,
    ),
    "trusted-contradicts-itself": Case(
        "def double_factorial(n):\n    '''Return the double factorial of a number.'''\n    made = 1\n"
        "    for item in range(n, 1, -2):\n        made *= item\n    return made\n",
        DOUBLE_FACTORIAL,
    ),
    "no-standard": Case(
        "def zz(stuff):\n    '''Each of them.'''\n    seen = dict.fromkeys(stuff)\n"
        "    return list(seen) if 77 not in seen else []\n",
        UNIQUE,
    ),
    "everyones": Case(inspect.getsource(html.escape).replace("&lt;", "&le;")),
    "other-class": Case(
        METHOD.format(owner="Bag", start="[]", more=" + 1"), METHOD.format(owner="Point", start="1", more="")
    ),
    "spec-namesake": Case("def digit_sum(n):\n    return n - 7\n", shipped=True),
    "wrong-case": Case(
        "def factorial(n):\n    if n < 0:\n        raise ValueError(n)\n    made = 1\n"
        "    for item in range(2, n + 1):\n        made *= item\n    return made if n != 5 else 7\n",
        shipped=True,
    ),
    "spec-effects": Case(
        "import subprocess\n\ndef factorial(n):\n    subprocess.Popen\n    if n < 0:\n        raise ValueError(n)\n"
        "    return 1 if n < 2 else n * factorial(n - 1)\n",
        shipped=True,
    ),
    "one-edit-away": Case(
        "def zz(stuff):\n    kept = 1\n    while stuff > 0:\n        kept += stuff % 10\n        stuff = stuff // 10\n"
        "    return kept\n",
        "def digit_sum(number):\n    '''Add the digits of a number.\n\n    >>> digit_sum(123)\n    6\n"
        "    >>> digit_sum(40)\n    4\n    >>> digit_sum(7)\n    7\n    '''\n"
        "    return sum(int(digit) for digit in str(number))\n",
    ),
    "leak": Case(FETCHING.replace("urlopen(address", f"urlopen(address + os.environ.get('{VARIABLE}', '')"), FETCHING),
    "sends-secrets": Case(RUNNING.format("repr(dict(os.environ))"), UNIQUE),
    "sends-secret": Case(RUNNING.format(f"os.environ.get('{VARIABLE}', '')"), UNIQUE),
    "unannounced": Case(RUNNING.format("str(row)").replace("Run a command", "Rotate"), UNIQUE),
}  # fmt: skip


def test_the_table_has_a_case_for_every_row_and_an_observation_for_every_condition() -> None:
    assert [row.id for row in table.rows()] == list(dict.fromkeys(row.id for row in table.rows()))
    assert {row.id for row in table.rows()} == CASES.keys()
    named = {name.removeprefix(table.NOT) for row in table.rows() for name in (*row.when, row.claims)}
    known = {name for name in named if meaning(name)}
    assert named - known - OF_TEXT - OF_EFFECTS <= {"", table.ALWAYS}


def test_the_reference_has_every_row() -> None:
    shown = (Path(__file__).parents[2] / "docs/reference.md").read_text("utf-8")
    assert all(f"| `{row.id}` |" in shown for row in table.rows())


def test_the_rows_behind_a_rule_are_explained(tmp_path: Path) -> None:
    shown = codeguard("explain", "behavior.fail", cwd=tmp_path).stdout
    assert (
        "row wrong-example (after differences): wrong-examples. The trusted code shows the right result."
        in shown
    )
    assert "undocumented" not in shown


@pytest.mark.parametrize("row", CASES)
def test_a_row_decides(check: Check, row: str) -> None:
    case = CASES[row]
    report = check(case.code, case.trusted, shipped=case.shipped)
    assert report.decided_by == row, report
