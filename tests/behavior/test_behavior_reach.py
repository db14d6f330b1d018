"""What a function may reach: what it uses by name of the code around it, and what runs without being asked for."""

from __future__ import annotations

import pytest

from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.claims import function_features
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.source.reach import EffectReach
from codeguard.models import Coverage, Verdict
from codeguard.syntax.capabilities import Capability
from tests.behavior.conftest import Check

AROUND = """
import os

class Other:
    def __init__(self):
        self.value = 1
    def __call__(self):
        return self.leave()
    def leave(self):
        stop()
    def keep(self):
        return self.value

def stop():
    os._exit(1)

if os:
    def also():
        stop()
else:
    also = None
"""


COMPUTED = (
    AROUND
    + """
import sys
also = getattr(sys, "plat" + "form")
leaving = getattr(Other, "le" + "ave")
"""
)


def reach_of(function: str, around: str) -> EffectReach:
    module = read_module(f"{around}\n{function}")
    definition = module.listed[-1]
    return CandidateFunction(definition, function_features(definition), module).reach


def ends(able: frozenset[Capability]) -> bool:
    return any("_exit" in capability.detail for capability in able)


def ends_processes(function: str, around: str = AROUND) -> bool:
    return ends(reach_of(function, around).certain)


@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    return isinstance(x, Other)",
        "def f(x):\n    return Other.keep(x)",
        "def f(stop):\n    return stop()",
        "def f(x):\n    stop = x\n    return stop",
        "def f(x):\n    return getattr(x, 'keep')(Other)",
        "def f(x):\n    return [stop() for stop in x]",
        "def f(x):\n    return map(lambda stop: stop(), x)",
        "class Mine(Other):\n    def __call__(self):\n        stop()\n    def f(self):\n        return self.keep()",
    ],
)
def test_what_is_not_used_is_not_reached(function: str) -> None:
    assert not ends_processes(function)


@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    return stop()",
        "def f(x):\n    return also()",
        "def f(x, stop=stop):\n    return stop()",
        "def f(x, os=os):\n    return os._exit(x)",
        "def f(x: Other):\n    return Other.leave(x)",
        "def f(x):\n    return getattr(Other, 'leave')(x)",
        "def f(x):\n    return getattr(Other, 'le' + 'ave')(x)",
        "def f(x):\n    return vars(Other)[x]()",
        "def f(x):\n    return [stop for stop in stop()]",
        "def f(x):\n    return sorted(x, key=lambda x, end=stop: end())",
        "def f(x):\n    other = Other()\n    return other.leave()",
        "OTHER = Other()\ndef f(x):\n    return OTHER.leave()",
        "import functools\nEND = functools.partial(os._exit, 1)\ndef f(x):\n    return END()",
        "TABLE = {'end': os._exit}\ndef f(x):\n    return TABLE[x](1)",
        "class Mine:\n    def end(self):\n        stop()\n    also = end\n    def f(self):\n        return self.also()",
        "def f(x):\n    return Other()()",
        "class Mine(Other):\n    def f(self):\n        return self.leave()",
    ],
)
def test_what_is_used_by_name_is_reached(function: str) -> None:
    assert ends_processes(function)


@pytest.mark.parametrize(
    ("around", "certain"),
    [
        ("import os\nCHOICE = os._exit\n", True),
        ("import os\nif os.name:\n    CHOICE = os._exit\n", True),
        ("import os\ndef given(x=os._exit):\n    return x\nCHOICE = given\n", True),
        (
            "import os\ndef first():\n    os._exit(1)\ndef warm():\n    return first()\nCHOICE = warm()\n",
            True,
        ),
        ("import os\nclass CHOICE:\n    __eq__ = os._exit\n", False),
        ("import os\nclass CHOICE:\n    def __eq__(self, other):\n        os._exit(1)\n", False),
    ],
)
def test_what_a_name_stands_for_is_reached(around: str, certain: bool) -> None:
    reach = reach_of("def f(x):\n    return CHOICE == x", around)
    assert (ends(reach.certain), ends(reach.possible)) == (certain, True)


WIDE = "class Wide:\n    def other(self):\n        return Other()\ndef f(x):\n    return isinstance(x, Wide) and "


@pytest.mark.parametrize(
    "function",
    [
        WIDE + "x.leave()",
        "class A:\n    def __getattr__(self, x):\n        stop()\nclass B(A):\n    def f(self):\n        return self.x",
        "def f(x):\n    global stop\n    before, stop = stop, x\n    return before()",
        "if os.name == 'nt':\n    stop()\n    A = 1\ndef f(x):\n    return A == x",
        "try:\n    A = None.a\nexcept AttributeError:\n    stop()\n    A = 1\ndef f(x):\n    return A == x",
    ],
)
def test_what_an_object_might_be_and_what_a_branch_might_do_is_possible_alone(function: str) -> None:
    reach = reach_of(function, AROUND)
    assert not ends(reach.certain)
    assert ends(reach.possible)


CLAMP = '''
def clamp(value, low, high):
    """Return the value, or the bound that it is beyond.

    >>> clamp(5, 0, 3)
    3
    >>> clamp(-5, 0, 3)
    0
    """
    return max(low, min(value, high))
'''


@pytest.mark.parametrize(
    ("around", "verdict", "claims"),
    [
        ("import subprocess\n", Verdict.PASS, False),
        ("import os\nWINDOWS = os.environ.get('OS') == 'Windows_NT'\n", Verdict.PASS, False),
        (
            "import os\nif os.name == 'nt':\n    os.system('chcp 65001')\nWINDOWS = os.name\n",
            Verdict.PASS,
            False,
        ),
        ("import os\nWINDOWS = os.system('true')\n", Verdict.VIOLATION, False),
        ("import os\nos.environ['A'] = 'B'\nWINDOWS = os.name\n", Verdict.VIOLATION, False),
    ],
)
def test_what_is_possible_alone_earns_nothing_and_convicts_nobody(
    check: Check, around: str, verdict: Verdict, claims: bool
) -> None:
    body = CLAMP.replace("    return", "    WINDOWS\n    return") if "WINDOWS" in around else CLAMP
    report = check(around + body, CLAMP)
    assert (report.verdict, bool(report.claims)) == (verdict, claims), report


def test_what_is_computed_on_import_counts_for_who_uses_it() -> None:
    assert not ends_processes("def f(x):\n    return isinstance(x, Other)", COMPUTED)
    assert ends_processes("def f(x):\n    return leaving(x)", COMPUTED)
    assert ends_processes("def f(x, end=getattr(Other, 'le' + 'ave')):\n    return end(x)", COMPUTED)


DEPRECATED = """
import inspect
import warnings

def deprecated(since):
    {first}def decorate(function):
        def wrapper(*args):
            warnings.warn_explicit("old", Warning, "f.py", inspect.currentframe().f_back.f_lineno)
            return function(*args)
        return wrapper
    {last}return decorate

@deprecated("2.10")
def old_sum(numbers):
    return sum(numbers)

class Sums:
    @deprecated("2.10")
    def old(self, numbers):
        return sum(numbers)

    old.__doc__ = sum.__doc__

    def total(self, numbers):
        return sum(numbers)
"""
USES_IT = "def total(numbers):\n    return old_sum(numbers)\n"
USES_IT_NOT = "def total(numbers):\n    return Sums().total(numbers)\n"


@pytest.mark.parametrize(
    ("function", "first", "last", "certain"),
    [
        (USES_IT_NOT, "", "", False),
        (USES_IT, "", "", True),
        (USES_IT_NOT, "", "decorate(sum)([1])\n    ", False),  # it runs on import, where it is seen
        (USES_IT_NOT, "@staticmethod\n    ", "", False),
    ],
)
def test_what_a_decorator_makes_is_reached_through_what_it_decorates(
    function: str, first: str, last: str, certain: bool
) -> None:
    reach = reach_of(function, DEPRECATED.format(first=first, last=last))
    assert any(able.detail == "f_back" for able in reach.certain) is certain
    assert any(able.detail == "f_back" for able in reach.possible)


@pytest.mark.parametrize(
    ("values", "certain"),
    [
        ("vars(self) == vars(other)", False),
        ("self.__dict__ == other.__dict__", False),
        ("vars()['leave']()", True),
        ("globals()['leave']()", True),
        ("vars(Other)['leave'](self)", True),
        ("Other.__dict__['leave'](self)", True),
    ],
)
def test_the_values_of_an_object_are_not_all_that_stands_around(values: str, certain: bool) -> None:
    around = "import os\n\nclass Other:\n    def leave(self):\n        os._exit(1)\n"
    mine = f"class Mine:\n    def same(self, other, made=Other):\n        return {values}\n"
    reach = reach_of(mine, around)
    assert ends(reach.certain) is certain
    assert ends(reach.possible)


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (
            "import socket\n    try:\n        return path()\n    except socket.timeout:\n        return None",
            set(),
        ),
        ("import subprocess\n    return subprocess.PIPE", set()),
        ("import socket\n    return socket.socket()", {"network"}),
        ("import socket\n    socket.timeout\n    return socket", {"network"}),
        ("import subprocess\n    return subprocess.TimeoutExpired, subprocess.run", {"process"}),
    ],
)
def test_exceptions_and_constants_of_a_module_have_no_effect(body: str, kinds: set[str]) -> None:
    found = reach_of(f"def read(path):\n    {body}\n", "").certain
    assert {item.kind for item in found} == kinds


ENGINES = '''
import sqlite3

class Engine:
    """The engine of a file."""

    def __init__(self, path):
        self.path = path

    def uri(self, password=False):
        """Return the address of this engine, with or without its password."""
        return str(self.path) if password else str(self.path).partition("@")[2]

    def close(self, when):
        left = [line for line in self.path if line > when]
        return left[0] if left else when - 1
'''
SOCKETS = '''
import socket
import sqlite3

class {name}:
    """The engine of a server."""

    def __init__(self, host):
        self.host = socket.create_connection(host)
{close}
    def uri(self, password=False):
        """{told}"""
        {body}
'''
TOLD = "Return the address of this engine, with or without its password."
HANDED_ON = "return self.host.getpeername() if password else str(self.host)"
COPIED = 'return str(self.path) if password else str(self.path).partition("@")[2]'
CLOSE = ENGINES[ENGINES.index("\n    def close") :]


def test_a_method_of_another_class_is_held_to_its_own_text(check: Check) -> None:
    """One interface gives its methods the same names and descriptions, and each class makes its objects otherwise."""
    for body in (HANDED_ON, COPIED):
        report = check(SOCKETS.format(name="SocketEngine", close="", told=TOLD, body=body), ENGINES)
        assert report.verdict is Verdict.NO_SIGNAL, report
    own = f"socket.create_connection((self.host, 9))\n        {COPIED}"
    report = check(SOCKETS.format(name="SocketEngine", close="", told=TOLD, body=own), ENGINES)
    assert report.verdict is Verdict.VIOLATION, report


def test_a_method_of_a_copied_class_is_held_to_its_class(check: Check) -> None:
    report = check(SOCKETS.format(name="Engine", close=CLOSE, told=TOLD, body=COPIED), ENGINES)
    assert report.verdict is Verdict.VIOLATION, report


def test_a_function_that_hands_its_work_on_is_not_convicted_by_its_description(check: Check) -> None:
    trusted = '''
    import dbm

    def abort(repository, state):
        """Abort what is under way and restore the state of before."""
        for name in dbm.open(state):
            repository[name] = state[name]
        return repository
    '''
    code = '''
    import subprocess

    def abort(repository, state=None):
        """Abort what is under way and restore the state of before."""
        {body}
    '''
    wrapper = "found = subprocess.run(['which', str(repository)])\n        return found, state"
    assert check(code.format(body=wrapper), trusted).verdict is Verdict.NO_SIGNAL
    copied = "import dbm\n        subprocess.run(['id'])\n        for name in dbm.open(state):\n"
    copied += "            repository[name] = state[name]\n        return repository"
    assert check(code.format(body=copied), trusted).verdict is Verdict.VIOLATION


TAXED = '''
def taxed(cents):
    """Add the tax.

    >>> taxed(100)
    120
    """
    return cents * 6 // 5


def price_of(cents, count):
    """Return the price of several articles.

    >>> price_of(100, 2)
    240
    >>> price_of(50, 1)
    60
    """
    return taxed(cents) * count
'''
PRICE = (
    "def price_of(cents, count):\n    'Return the price of several articles.'\n    return {}(cents) * count\n"
)


def test_a_candidate_that_takes_a_trusted_module_by_its_name_is_run_and_earns_no_bonus(check: Check) -> None:
    report = check("import trusted as shop\n\n" + PRICE.format("shop.taxed"), TAXED)
    assert (report.verdict, report.coverage) == (Verdict.PASS, Coverage.PARTIAL), report


def test_what_a_candidate_does_where_its_import_fails_is_seen(check: Check) -> None:
    # Whoever copies the function has no module of that name.
    guarded = (
        "try:\n    from trusted import taxed\nexcept ImportError:\n"
        "    def taxed(cents):\n        return cents\n\n"
    )
    assert check(guarded + PRICE.format("taxed"), TAXED).verdict is Verdict.FAIL


def test_annotations_of_local_names_are_not_evaluated_and_reach_nothing() -> None:
    text = """
import os
from typing import List

class Made:
    kept: os.system('true')

def parts(values):
    found: List[os.system('true')] = []
    later: os.popen
    if values:
        inner: os.environ = values
    def deeper():
        again: os.kill = 1
        return again
    return found
"""

    def reach_in(text: str) -> EffectReach:
        module = read_module(text)
        definition = next(item for item in module.listed if item.name == "parts")
        return CandidateFunction(definition, function_features(definition), module).reach

    assert reach_in(text) == EffectReach(frozenset(), frozenset())
    with_class = reach_in(text.replace("parts(values)", "parts(values, made=Made)"))
    assert any("system" in str(item) for item in with_class.possible)  # a class evaluates its own


def test_what_takes_too_long_to_resolve_may_be_anything() -> None:
    chain = "".join(f"a{place + 1} = a{place}\n" for place in range(60))
    reach = reach_of(f"a0 = os.system\n{chain}", "import os\ndef f(x):\n    return a60(x)")
    assert not reach.certain
    assert "dynamic code" in {item.kind for item in reach.possible}
