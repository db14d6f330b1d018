"""Methods of other classes, namesakes and what only has the name of something else convict nobody."""

from __future__ import annotations

import pytest

from codeguard.behavior.source.reach import module_capabilities
from codeguard.models import CheckReport, Verdict
from tests.behavior.conftest import Check

CONVICTED = (Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION)


def is_cleared(report: CheckReport) -> bool:
    return report.verdict not in CONVICTED and not report.refuted


DELEGATOR = """
class Delegator:
    def __init__(self):
        self.target = None
        self.seen = []

    def pointed(self, target):
        self.target = target
        self.seen.append(target)
        return len(self.seen)

    def freed(self):
        self.seen.clear()
        self.target = None
        return [target for target in self.seen if target is not None]
"""
OVERRIDDEN = """
class UndoDelegator:
    def __init__(self):
        self.target = None
        self.undone = {}

    def pointed(self, target):
        self.undone[repr(target)] = self.target
        self.target = target
        return len(self.undone) + (len(repr(target)) > 2)
"""


def test_a_method_that_another_class_overrides_is_demoted(check: Check) -> None:
    report = check(OVERRIDDEN, DELEGATOR)
    assert report.verdict is Verdict.NO_SIGNAL
    assert report.refuted
    assert report.claims.startswith("pointed")


def test_a_copied_class_under_another_name_is_convicted(check: Check) -> None:
    start, end = DELEGATOR.index("    def pointed"), DELEGATOR.index("    def freed")
    moved = DELEGATOR[:start] + DELEGATOR[end:] + "\n" + DELEGATOR[start:end]
    code = moved.replace("class Delegator", "class UndoDelegator").replace(
        "len(self.seen)", "len(self.seen) + (len(repr(target)) > 2)"
    )
    assert check(code, DELEGATOR).verdict is Verdict.DIVERGES


@pytest.mark.parametrize(
    ("code", "has_effect"),
    [
        ("def decode(self, input):\n    return input[0]\n", False),
        ("def decode(text):\n    input = text.strip()\n    return input\n", False),
        ("def decode(text, open=open):\n    return open(text)\n", True),
        ("def decode(text):\n    return [input for input in text], input\n", True),
        ("def decode(text):\n    global input\n    input = text\n    return input\n", False),
        ("def decode(input):\n    return lambda: input\n", False),
        ("def outer(input):\n    return input\n\ndef decode(text):\n    return input()\n", True),
        ("import posix\n\ndef decode(text):\n    return posix.getpid()\n", False),
        ("import posix\n\ndef decode(text):\n    return posix.system(text)\n", True),
        ("from os import *\n\ndef decode(text):\n    return system(text)\n", True),
        ("from os import *\n\ndef decode(text):\n    return fspath(text)\n", False),
        ("import ssl\n\ndef decode(text):\n    return isinstance(text, (str, ssl.SSLSocket))\n", False),
        ("import ssl\n\ndef decode(text):\n    return isinstance(text, ssl.wrap_socket(text))\n", True),
    ],
)
def test_a_local_with_the_name_of_a_builtin_has_no_effect(code: str, has_effect: bool) -> None:
    found = module_capabilities(code)
    assert bool(found) is has_effect, found


PRINTS = '''
def announced(name):
    """Print a name with the sign of its house in front of it.

    >>> announced("ada")
    the house of the rising sun: ada
    """
    print("the house of the rising sun:", name{end})
'''


def test_output_beyond_what_the_sandbox_keeps_is_not_compared(check: Check) -> None:
    """Some hundred of the four thousand repetitions fill it."""
    report = check(
        PRINTS.format(end=", *[]").replace("def announced", "CALLS = []\n\ndef announced"),
        PRINTS.format(end=""),
    )
    assert report.verdict is Verdict.PASS, report


WARN = """
_told = set()

def warn(text, *keys):
    _told.add((text, *keys))
"""
OTHER_WARN = """
import os

class Handler:
    def handle(self, text):
        os.system("true " + text)

_handlers = []

def warn(message, *arguments):
    for handler in _handlers:
        Handler.handle(handler, message % arguments)
"""


def test_namesakes_that_return_nothing_are_not_held_to_each_others_effects(check: Check) -> None:
    assert is_cleared(check(OTHER_WARN, WARN))


SAFE_NAME = """
def safe_name(name):
    return name.replace("-", "_")
"""


@pytest.mark.parametrize(("name", "cleared"), [("func_get_name", True), ("safe_name", False)])
def test_one_word_and_fillers_are_no_claim_of_a_name(check: Check, name: str, cleared: bool) -> None:
    code = f"def {name}(func):\n    kept = func[0:2]\n    return kept if len(func) > 1 else func * 2\n"
    report = check(code, SAFE_NAME)
    assert is_cleared(report) is cleared, report


PARSER = '''
class Parser:
    """Parser of rows."""

    def __init__(self):
        self.rows = []

    def parse(self, text):
        return [part for part in text.split(",") if part]

    def reset(self):
        self.rows.clear()

    def feed(self, text):
        self.rows.extend(self.parse(text))
'''
OTHER_PARSER = """
class Parser:
    def __init__(self):
        self.depth = 0
{methods}
    def parse(self, text):
        found, rest = [], text
        while rest:
            head, _, rest = rest.partition(",")
            found.append(head[:8])
        return found
"""
UNRELATED = "".join(
    f"\n    def {name}(self):\n        self.depth += 1\n" for name in ("opened", "closed", "seen")
)
RELATED = "".join(f"\n    def {name}(self, text):\n        self.depth += 1\n" for name in ("reset", "feed"))


@pytest.mark.parametrize(("methods", "convicted"), [(UNRELATED, False), (RELATED, True)])
def test_classes_of_one_name_may_have_nothing_else_in_common(
    check: Check, methods: str, convicted: bool
) -> None:
    report = check(OTHER_PARSER.format(methods=methods), PARSER)
    assert (report.verdict in CONVICTED) is convicted, report
