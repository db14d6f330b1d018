"""What a function may reach: what it uses by name of the code around it, and what runs without being asked for."""

from __future__ import annotations

import pytest

from codeguard.behavior.source.definitions import definitions, read_module
from codeguard.behavior.source.surroundings import surroundings

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


def ends_processes(function: str, around: str = AROUND) -> bool:
    module = read_module(f"{around}\n{function}")
    definition = list(definitions(module.statements))[-1]
    able = surroundings(definition, module).capabilities
    return any("_exit" in capability.detail for capability in able)


@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    return isinstance(x, Other)",
        "def f(x):\n    return Other.keep(x)",
        "def f(stop):\n    return stop()",
        "def f(x):\n    stop = x\n    return stop",
        "def f(x):\n    return getattr(x, 'keep')(Other)",
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
        "def f(x):\n    global stop\n    before, stop = stop, x\n    return before()",
        "def f(x: Other):\n    return Other.leave(x)",
        "def f(x):\n    return getattr(Other, 'leave')(x)",
        "def f(x):\n    return getattr(Other, 'le' + 'ave')(x)",
        "def f(x):\n    return vars(Other)[x]()",
        "def f(x):\n    return Other()()",
        "class Mine(Other):\n    def f(self):\n        return self.leave()",
        "class A:\n    def __getattr__(self, x):\n        stop()\nclass B(A):\n    def f(self):\n        return self.x",
    ],
)
def test_what_is_used_by_name_is_reached(function: str) -> None:
    assert ends_processes(function)


@pytest.mark.parametrize(
    "around",
    [
        "import os\nCHOICE = os._exit\n",
        "import os\nclass CHOICE:\n    end = os._exit\n",
        "import os\nclass CHOICE:\n    def __eq__(self, other):\n        os._exit(1)\n",
        "import os\ndef given(x=os._exit):\n    return x\nCHOICE = given\n",
        "import os\nif os.name:\n    CHOICE = os._exit\n",
        "import os\ndef first():\n    os._exit(1)\ndef warm():\n    return first()\nCHOICE = warm()\n",
    ],
)
def test_what_runs_without_being_asked_for_is_reached(around: str) -> None:
    assert ends_processes("def f(x):\n    return CHOICE == x", around)


def test_what_is_computed_on_import_counts_for_who_uses_it() -> None:
    assert not ends_processes("def f(x):\n    return isinstance(x, Other)", COMPUTED)
    assert ends_processes("def f(x):\n    return leaving(x)", COMPUTED)
    assert ends_processes("def f(x, end=getattr(Other, 'le' + 'ave')):\n    return end(x)", COMPUTED)
