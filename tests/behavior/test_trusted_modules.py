"""What functions of trusted files take from each other, however they import it, is there in the sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from codeguard.behavior.budget import Budget
from codeguard.behavior.source.definitions import definitions, read_module
from codeguard.behavior.source.surroundings import surroundings
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference, with_needed_code
from codeguard.behavior.verdict.running import Batch, CallRunner, call_of, drive
from codeguard.corpus.chunking import chunk_file
from codeguard.sandbox import Call, CallResult, Sandbox

FILES = {
    "shop/__init__.py": "",
    "shop/units.py": '''
import typing as t


class Unit:
    """A unit of money."""

    kinds: t.ClassVar = ("euro", "crown")

    def __init__(self, name):
        self.name = name


def known(unit):
    return isinstance(unit, Unit) and unit.name in Unit.kinds
''',
    "shop/money.py": """
import typing as t
from . import units


class Money:
    none: t.ClassVar = 0

    def __init__(self, cents, unit=None):
        self.cents = cents
        self.unit = unit

    def rounded(self):
        from .rounding import to_euros

        return to_euros(self)

    def valid(self):
        return units.known(self.unit)

    def is_fine(self):
        return isinstance(self, Fine)


class Fine(Money):
    pass
""",
    "shop/rounding.py": """
def to_euros(money):
    from .money import Fine

    return (isinstance(money, Fine), round(money.cents / 100))
""",
    "shop/desk/__init__.py": "",
    "shop/desk/till.py": """
from .. import rates


def with_tax(cents):
    return rates.taxed(cents)
""",
    "shop/desk/rates.py": "def other(cents):\n    return 0\n",
    "shop/rates/__init__.py": "def taxed(cents):\n    return cents * 6 // 5\n",
    # names that come from elsewhere: by another name, and through the package itself
    "shop/defaults.py": "from .rates import taxed as gross\n",
    "shop/parts/__init__.py": "from .money import Coin\n",
    "shop/parts/money.py": "class Coin:\n    def __init__(self, cents):\n        self.cents = cents\n",
    # annotations that name what does not exist yet
    "shop/tree.py": """
from __future__ import annotations
from dataclasses import dataclass, field


@dataclass
class Node:
    below: list[Node] = field(default_factory=list)


def depth(node):
    return 1 + max(map(depth, node.below), default=0)
""",
    "shop/counter.py": """
import json
from . import parts
from .defaults import gross


def price(cents):
    return gross(cents)


def coin(cents):
    return parts.Coin(cents).cents


class Slip:
    encoder = json

    def json(self):
        return self.encoder.dumps(1)

    def both(self):
        return 2

    also = both

    def text(self):
        return self.json()
""",
    # what stands in conditions: another version of Python, a fast module that is not there, type checkers
    "mart/__init__.py": "from .codes import Code, code_of as coded\nfrom . import signs\n",
    "mart/compat.py": """
try:
    from itertools import filterfalse
    map, zip = map, zip
    texts = (bytes, str)
except ImportError:
    texts = basestring
""",
    "mart/slow.py": "def summed(items):\n    return sum(items)\n",
    "mart/sums.py": """
from .compat import map as _map, texts
try:
    from mart.native import summed
except ImportError:
    from .slow import summed


def map(function, items):
    return list(_map(function, items))


def total(items):
    return summed(item for item in map(float, items) if not isinstance(item, texts))
""",
    # a module with the name of a standard one, beside a file that means the standard one
    "mart/typing.py": "Kind = str\n",
    "mart/operator.py": "def itemgetter(key):\n    raise KeyError(key)\n",
    "mart/codes.py": """
from operator import itemgetter
from typing import TYPE_CHECKING
from typing_extensions import Self, override
import mart as m

if TYPE_CHECKING:
    from .typing import Kind


class Code:
    signs = "+"

    @override
    def __repr__(self) -> "Kind":
        return "code"


def code_of(pair):
    return itemgetter(1)(pair)


def first_code(pairs):
    return m.coded(pairs[0]), isinstance(m.Code(), Code)
""",
    "mart/signs.py": """
import mart
import mart.codes


def sign_of(number):
    return "-" if number < 0 else mart.codes.Code.signs


def signed(pair):
    return mart.signs.sign_of(mart.coded(pair)), mart.Code.signs
""",
    "mill/__init__.py": "",
    # what runs as soon as the file is imported needs what stands above it, and what is above needs it later
    "mill/tags.py": """
from __future__ import annotations


class Place:
    tag: Tag


def marked(kind):
    return Tag(kind)


class Tag:
    place = Place

    def __init__(self, kind):
        self.kind = kind

    def both(self):
        return self.kind + FIRST.kind


FIRST = marked("a")
""",
    "mill/kinds.py": """
from typing_extensions import TypeVar

T = TypeVar("T", default=int)


def kind():
    return T.__name__
""",
}


def references() -> dict[str, Reference]:
    files = [chunk_file(path, text.encode()) for path, text in FILES.items()]
    found = SpecLibrary().with_trusted(files).references
    return {reference.definition.qualified_name: reference for reference in found}


def answer(sandbox: Sandbox, name: str, expression: str, setup: str = "") -> CallResult:
    reference = references()[name]
    example = Example(None, {}, None, "", expression, setup, name)
    whole = with_needed_code(example, reference.name, reference.module)
    call = call_of(whole, reference.runnable)
    assert call is not None
    runner = CallRunner(reference.runnable, sandbox.level, Budget())
    ((result,),) = drive(sandbox, [runner.run(Batch((call,)))])
    return result.calls[0]


@pytest.mark.parametrize(
    ("name", "expression", "setup", "value"),
    [
        # imported when the function is called, from a file that imports this one in the same way
        ("Money.rounded", "Money(210).rounded()", "", (False, 2)),
        # a module by its name, and an object of a class that the function asks for
        ("Money.valid", "Money(1, Unit('euro')).valid()", "from shop.units import Unit\n", True),
        ("known", "known(Unit('crown'))", "from shop.units import Unit\n", True),
        # a class that is derived from the one that the method stands in
        ("Money.is_fine", "Money(1).is_fine()", "", False),
        # a module of the package above, not the one beside the file
        ("with_tax", "with_tax(100)", "", 120),
        # a class body that needs what the function's own file has as well
        ("to_euros", "to_euros(Fine(150))", "from shop.money import Fine\n", (True, 2)),
        ("depth", "depth(Node([Node()]))", "from shop.tree import Node\n", 2),
        # what the module named has from another one, under another name
        ("price", "price(100)", "", 120),
        ("coin", "coin(3)", "", 3),
        # a class that takes a name of the module's and then binds it, and has a method under two names
        ("Slip.text", "Slip().text()", "", "1"),
        ("total", "total(['1', '2'])", "", 3.0),
        ("first_code", "first_code([(1, 2)])", "", (2, True)),
        ("signed", "signed((1, -2))", "", ("-", "+")),
        ("Tag.both", "Tag('b').both()", "", "ba"),
        ("kind", "kind()", "", "T"),
    ],
)
def test_a_call_finds_what_it_takes_from_other_trusted_files(
    sandbox: Sandbox, name: str, expression: str, setup: str, value: object
) -> None:
    result = answer(sandbox, name, expression, setup)
    assert (result.exception, result.message, result.value) == ((), "", value)


def test_a_call_that_lacks_a_name_leaves_the_module_of_the_next_calls(sandbox: Sandbox) -> None:
    runner = CallRunner(references()["with_tax"].runnable, sandbox.level, Budget())
    lacking, right = Batch((Call("shop.with_tax(100)", None),)), Batch((Call("with_tax(100)", None),))
    ((first, second),) = drive(sandbox, [runner.run(lacking, right)])
    assert (first.calls[0].exception[0], second.calls[0].value) == ("NameError", 120)


@pytest.mark.parametrize(("package", "known"), [("shop", True), ("", False)])
def test_a_trusted_folder_may_be_the_package_itself(package: str, known: bool) -> None:
    texts = {"__init__.py": "", "rates.py": "def taxed(cents):\n    return cents\n"}
    texts["till.py"] = "from shop.rates import taxed\n\ndef price(cents):\n    return taxed(cents)\n"
    files = [chunk_file(path, text.encode()) for path, text in texts.items()]
    found = SpecLibrary().with_trusted(files, package=package).references
    price = next(item for item in found if item.name == "price")
    assert price.runnable.borrowed == (("shop.rates",) if known else ())


def test_the_package_itself_is_what_its_own_file_says() -> None:
    texts = {"__init__.py": "from .rates import taxed\n", "rates.py": "def taxed(cents):\n    return cents\n"}
    texts["till.py"] = "import shop\n\ndef price(cents):\n    return shop.taxed(cents)\n"
    files = [chunk_file(path, text.encode()) for path, text in texts.items()]
    found = SpecLibrary().with_trusted(files, package="shop").references
    price = next(item for item in found if item.name == "price")
    assert price.runnable.borrowed == ("shop",)
    assert price.runnable.home is not None
    assert price.runnable.home.importable().modules.keys() == {"shop", "shop.rates", "shop.till"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "made",
    [
        lambda size: (
            "".join(f"import shop.a as a{at}\n" for at in range(size))
            + f"def g(x):\n    return [{', '.join(f'a{at}.f{at}' for at in range(size))}]\n"
        ),
        lambda size: (
            "import shop.a\ndef g(x):\n"
            + "".join(f"    shop.a.f{'.b' * (size // 10)}.c{at}\n" for at in range(40))
        ),
    ],
    ids=["imports", "attributes"],
)
def test_many_imports_and_long_chains_cost_no_more_than_their_length(made: Callable[[int], str]) -> None:
    def seconds(size: int) -> float:
        module = read_module(made(size))
        (definition,) = definitions(module.statements)
        begun = time.process_time()
        surroundings(definition, module)
        return time.process_time() - begun

    seconds(500)
    assert seconds(4_000) < 40 * max(seconds(500), 0.02)  # 64 times where it grows with the square
