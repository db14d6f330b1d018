"""Methods of other classes, namesakes and what only has the name of something else convict nobody."""

from __future__ import annotations

import pytest

from codeguard.behavior.source.reach import module_capabilities
from codeguard.models import CheckReport, Verdict
from tests.behavior.conftest import Check

CONVICTED = (Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION)


def is_cleared(report: CheckReport) -> bool:
    return report.verdict not in CONVICTED and not report.refuted


POINT = """
class Point:
    def __init__(self):
        self.x = 1

    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return vars(self) == vars(other)
"""
BAG = """
class Bag:
    def __init__(self):
        self.items = []

    def __eq__(self, other):
        if not isinstance(other, Bag):
            return NotImplemented + 1
        return vars(self) == vars(other)
"""


def test_a_special_method_of_an_unrelated_class_is_not_held_to_the_text_of_another(check: Check) -> None:
    assert is_cleared(check(BAG, POINT))


def test_a_special_method_of_a_class_of_that_name_is(check: Check) -> None:
    report = check(BAG.replace("Bag", "Point"), POINT)
    assert report.verdict is Verdict.DIVERGES


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


UNIQUE = """
def unique_items(rows):
    seen = set()
    kept = []
    for row in rows:
        if row not in seen:
            seen.add(row)
            kept.append(row)
    return kept
"""
FLATTENED = """
class Rule:
    def __init__(self, text):
        self.test = compile(text, "rule", "eval")

def unique_items(parts):
    known = {{}}
    for part in parts:
        if {condition}:
            known.update(dict.fromkeys(part.test.co_names))
        else:
            known.setdefault(part)
    return [*known]
"""


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [("isinstance(part, Rule)", Verdict.NO_SIGNAL), ('part == "x-y" and Rule(part)', Verdict.VIOLATION)],
)
def test_effects_of_a_class_that_is_only_asked_for_are_none(
    check: Check, condition: str, verdict: Verdict
) -> None:
    """A class that is only asked for makes no object, and so does nothing."""
    report = check(FLATTENED.format(condition=condition), UNIQUE)
    assert report.verdict is verdict, report
    assert not report.refuted


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


READ_TEXT = '''
def read_string1(file):
    r"""
    >>> import io
    >>> read_string1(io.BytesIO(b"\\x00"))
    \'\'
    >>> read_string1(io.BytesIO(b"\\x03abcdef"))
    \'abc\'
    """
    size = ord(file.read(1))
    data = file.read(size)
    if len(data) == size:
        return data.decode("latin-1")
    raise ValueError("too short")
'''
READ_BYTES = """
def _read_string(file):
    length = ord(file.read(1))
    data = b"" if length == 0 else file.read(length)
    if length & 1 == 0:
        file.read(1)
    return data{text}
"""


@pytest.mark.parametrize(
    ("text", "verdict"), [("", Verdict.NO_SIGNAL), (".decode('ascii').upper()", Verdict.FAIL)]
)
def test_bytes_for_every_text_are_no_wrong_result(check: Check, text: str, verdict: Verdict) -> None:
    report = check(READ_BYTES.format(text=text), READ_TEXT)
    assert report.verdict is verdict, report
    assert report.refuted is (verdict is Verdict.NO_SIGNAL)


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


NAMES = "name, size, color, weight, default, hidden, required, metavar, help_text, callback"
HANDED = ", ".join(f"{name}={name}" for name in NAMES.split(", "))
BASE = "class Base:\n    def __init__(self, **given):\n        self.given = given\n"


def test_who_hands_on_the_same_parameters_is_no_copy_of_a_method(check: Check) -> None:
    parameters = ", ".join(f"{name}=None" for name in NAMES.split(", "))
    trusted = (
        f"{BASE}\nclass Info(Base):\n    def __init__(self, {parameters}):\n"
        f"        super().__init__({HANDED})\n"
    )
    code = f'{BASE}\ndef option({parameters}):\n    """Describe an option."""\n    return Base({HANDED})\n'
    assert is_cleared(check(code, trusted))
