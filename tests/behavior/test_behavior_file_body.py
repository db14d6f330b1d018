"""Poison beside a clean function: what the rest of its file does on import."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeguard.models import CheckReport, Coverage, Verdict

Check = Callable[..., CheckReport]
TRUSTED = '''
def total(values):
    """Return the sum of the values.

    >>> total([1, 2])
    3
    >>> total([4])
    4
    """
    return sum(values)
'''
FUNCTION = '''
def total(values):
    """Return the sum of the values."""
    found = sum(map(scale, values))
    return found
'''
HELPER = "def scale(value):\n    return value\n"
MORE = "lambda value: value + 1"
POISONED = {
    "unless it is the program": f'if __name__ != "__main__":\n    scale = {MORE}',
    "else of the main guard": f'if __name__ == "__main__":\n    pass\nelse:\n    scale = {MORE}',
    "a text that is always true": f'if "__name__":\n    scale = {MORE}',
    "a default": f"def other(a=(scale := {MORE})):\n    pass",
    "a decorator": "@(scale := lambda value: lambda: value)\ndef other():\n    pass",
    "a base": f"class Other((scale := {MORE}) and object):\n    pass",
    "a pattern": f"match ({MORE}):\n    case scale:\n        pass",
    "a named pattern": f"match ({MORE}):\n    case object() as scale:\n        pass",
    "globals": f'globals()["scale"] = {MORE}',
    "globals of a function": f"def other(names):\n    names['scale'] = {MORE}\n\n\nother(globals())",
    "exec": f'exec("scale = {MORE}")',
    "vars": f'vars()["scale"] = {MORE}',
    "a global of a function": f"def other():\n    global scale\n    scale = {MORE}\n\n\nother()",
    "a global of a class": f"class Other:\n    global scale\n    scale = {MORE}",
    "setattr": f'import sys\nsetattr(sys.modules[__name__], "scale", {MORE})',
    "the module's attribute": f"import sys\nsys.modules[__name__].scale = {MORE}",
    "the module's dict": f"import sys\nsys.modules[__name__].__dict__.update(scale={MORE})",
    "a builtin": f"import builtins\nbuiltins.sum = {MORE}",
    "a star import": "from helpers import *",
    "its code": "scale.__code__ = (lambda value: value + 1).__code__",
    "a line that Python ends with a carriage return": f"# honest\rscale = {MORE}",
}
AFTER = {
    "its name": "total = lambda values: 0",
    "its name in another width": "\uff54otal = lambda values: 0",
    "its name in a loop": "for total in [lambda values: 0]:\n    pass",
    "its code": "total.__code__ = (lambda values: 0).__code__",
    "its globals": "total.__globals__['scale'] = lambda value: 0",
    "a function that takes it": "def other(function):\n    function.__defaults__ = (1,)\n\n\nother(total)",
}
HONEST = {
    "nothing": "",
    "other code": (
        "import logging\nfrom pathlib import Path\n\n__all__ = ['total']\nlogger = logging.getLogger(__name__)\n"
        "HOME = Path('a') / 'b'\n\n\ndef other(text):\n    return text.strip()\n\n\n"
        "class Item:\n    kind = frozenset({1, 2})\n\n    def __init__(self, price):\n        self.price = price\n"
    ),
    "a main guard": "if __name__ == '__main__':\n    print(total([1]))",
}


def earns(report: CheckReport) -> bool:
    return report.verdict is Verdict.PASS and report.coverage is Coverage.FULL


@pytest.mark.parametrize("rest", POISONED.values(), ids=POISONED)
def test_a_helper_exchanged_on_import_earns_no_bonus(rest: str, check: Check) -> None:
    report = check(f"{HELPER}\n\n{rest}\n\n{FUNCTION}", TRUSTED)
    assert not earns(report), report.reason


@pytest.mark.parametrize("rest", AFTER.values(), ids=AFTER)
def test_a_function_exchanged_after_its_definition_earns_no_bonus(rest: str, check: Check) -> None:
    report = check(f"{HELPER}\n\n{FUNCTION}\n\n{rest}", TRUSTED)
    assert not earns(report), report.reason


@pytest.mark.parametrize("rest", HONEST.values(), ids=HONEST)
def test_an_ordinary_file_costs_no_bonus(rest: str, check: Check) -> None:
    report = check(f"{rest}\n\n{HELPER}\n\n{FUNCTION}", TRUSTED)
    assert earns(report), report.notes
