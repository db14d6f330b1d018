"""Calls that plain arguments cannot write: which are made, and what they show of trusted functions and candidates."""

from __future__ import annotations

import pytest

from codeguard.behavior.inputs.expressions import written_guesses
from codeguard.behavior.inputs.options import plain_base
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import ListedFiles, Siblings
from codeguard.models import Verdict
from codeguard.sandbox import Sandbox
from tests.behavior.conftest import Check
from tests.behavior.test_verdict_rows import UNIQUE

FILE = '''
"""`Shelf(4)` has room for four."""
from dataclasses import dataclass
from enum import Enum
from typing import Union
import datetime

Text = Union[bytes, "Book"]

@dataclass
class Book:
    title: str
    pages: int = 3

class Size(Enum):
    SMALL = 1

    def label(self): return ""

class Shelf:
    def __init__(self, room, *, books: list = ()): self.room = room

    @classmethod
    def of(cls, books): ...

    @property
    def free(self): return 1

    def put(self, book: Book, front=False): return book

    def clear(self): self.room = 0

class Board(Shelf):
    def width(self): return 1

class Own(dict):
    def first(self): return 1

def now(): ...
def day(when: datetime.date): ...
def either(what: Text): ...
def lines(source): return [line for line in source.readline()]
def rooms(one): return one.room
def kinds(value): return isinstance(value, (bytearray, Size))
def calls(visit, *, mode): return visit(mode == "fast")
'''
WRITTEN = {
    "now": "now()",
    "day": "day(datetime.date(2024, 2, 29))",
    "either": "either(b'hello world')",
    "lines": "lines(io.StringIO())",
    "rooms": "rooms(Shelf(4))",
    "kinds": "kinds(list(Size)[0])",
    "calls": "calls(lambda *given: given[-1], mode='fast')",
    "Size.label": "list(Size)[-1].label()",
    "Shelf.of": "Shelf.of([3, 1, 2, 3])",
    "Shelf.free": "Shelf(4).free",
    "Shelf.put": "Shelf(4).put(Book('hello world'), front=True)",
    "Shelf.clear": "[one := Shelf(4), one.clear()][0]",
    "Board.width": "Board(3).width()",
    "Own.first": "Own({'a': 1, 'b': 2}).first()",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_arguments_and_objects_follow_from_annotations_and_use(name: str) -> None:
    module = read_module(FILE)
    definition = next(item for item in module.listed if item.qualified_name == name)
    made = {
        item.expression or plain_base(name, (item.args or (), item.kwargs)).expression: item.setup
        for item, _ in written_guesses(definition, module)
    }
    assert WRITTEN[name] in made, made
    assert ("datetime." in WRITTEN[name]) is ("import datetime" in made[WRITTEN[name]])


TILL = '''
class Till:
    """Money in a till."""

    def __init__(self, start: int, rate: int):
        self.{field} = start
        self.rate = rate

    def grown(self, days: int) -> int:
        """Return the money in the till after some days of interest."""
        total = self.{field}
        for _ in range(days):
            total = total + self.rate {sign} 2
        return total
'''
RESET = (
    TILL
    + """
    def reset(self, start: int) -> None:
        \"\"\"Begin again with other money in the till.\"\"\"
        self.{field} = start {sign} 1
"""
)
UNITS = '''
def known_units():
    """Return the units of weight that are known, the lightest first."""
    units = sorted({{"gram": 1, "pound": 454, "ounce": 28, "ton": {ton}}}.items(), key=lambda unit: unit[1])
    return [name for name, _ in units]
'''


@pytest.mark.parametrize(
    ("code", "trusted", "verdict"),
    [
        (TILL.format(field="sum", sign="*"), TILL.format(field="cash", sign="*"), Verdict.PASS),
        (TILL.format(field="cash", sign="+"), TILL.format(field="cash", sign="*"), Verdict.DIVERGES),
        (RESET.format(field="cash", sign="+"), RESET.format(field="cash", sign="-"), Verdict.DIVERGES),
        (UNITS.format(ton=10**6), UNITS.format(ton=2 * 10**6), Verdict.NO_SIGNAL),
        (UNITS.format(ton=2), UNITS.format(ton=10**6), Verdict.DIVERGES),
    ],
    ids=["method", "wrong method", "wrong state", "no argument", "no argument, wrong"],
)
def test_what_takes_no_plain_call_is_compared(
    code: str, trusted: str, verdict: Verdict, check: Check
) -> None:
    report = check(code, trusted)
    assert report.verdict is verdict, report


RARELY = """
        if days > 10 ** 6 and self.rate < -7 ** 9:
            total, days = days * 3 + 4 - self.rate, days // 2 + 1 - self.rate * 5 % 3
"""


def test_a_method_whose_edits_no_call_notices_is_too_weak_a_standard(check: Check) -> None:
    trusted = TILL.replace("        for", f"{RARELY[1:]}        for").format(field="cash", sign="*")
    assert check(trusted.replace("start\n", "start + 0\n"), trusted).decided_by == "too-weak"


SENDING = """
import urllib.request

{}
    try:
        urllib.request.urlopen('http://127.0.0.1:9/')
    except OSError:
        pass
    return {}
"""
ALONE = {
    "no argument": ("def zz():", "1"),
    "no argument is required": ("def zz(one=1, *, other=2):", "one"),
    "a method": (
        "class Row:\n  def __init__(self, cells):\n    self.cells = cells\n\n  def zz(self):",
        "self.cells",
    ),
    "four arguments": ("def zz(one, other, third, fourth):", "fourth"),
    "a keyword": ("def zz(*, one):", "one"),
}


@pytest.mark.parametrize("what", ALONE)
def test_what_nothing_is_compared_with_is_called_for_its_effects(what: str, check: Check) -> None:
    assert check(SENDING.format(*ALONE[what]), UNIQUE).decided_by == "unannounced"


IN_PLACE = {
    "shop/__init__.py": "",
    "shop/rates.py": "REDUCED = 5\n",
    "shop/till.py": '''
from __future__ import annotations
from typing import TYPE_CHECKING
from .rates import REDUCED
if TYPE_CHECKING:
    from collections.abc import Sequence as Row

def total_of(prices: Row[int], names: Row[str], limit: int = 10 ** 9) -> int:
    """Return the sum of prices, the reduced ones of names that end with a star.

    >>> total_of([10, 20], ["a", "b*"])
    25
    """
    total = 0
    for price, name in zip(prices, names):
        total += price - REDUCED if name.endswith("*") else price
    if total > limit * 7 and limit < -9 ** 9 and len(names) * 3 + 4 - limit > 8:
        total = total // 2 + 1 - limit * 5 % 3 + len(prices) * 2 - 9 + limit // 4 + total % 11
    return total
''',
}


def test_edits_of_a_function_that_needs_its_module_are_run_there(sandbox: Sandbox) -> None:
    """Its annotations name what only a type checker imports: an edit that ends in an error shows nothing."""
    trusted = [chunk_file(path, text.encode()) for path, text in IN_PLACE.items()]
    edited = {**IN_PLACE, "shop/till.py": IN_PLACE["shop/till.py"].replace("* 3 + 4", "* 4 + 4")}
    copied = [chunk_file(f"copied/{path}", text.encode()) for path, text in edited.items()]
    file = Siblings(ListedFiles(copied)).beside(copied[-1])
    (chunk,) = [item for item in file.chunks if item.symbol == "total_of"]
    report = BehaviorChecker(SpecLibrary().with_trusted(trusted), sandbox, seed=bytes(32)).check(chunk, file)
    assert report.decided_by == "too-weak", report
