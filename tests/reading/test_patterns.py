"""Patterns that compile when they are used: each does, and works like the compiled one."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import codeguard.analysis
import codeguard.analysis.rules
from codeguard.corpus.patterns import _Lazy, lazy


def _modules(package: ModuleType) -> list[str]:
    return [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


def test_every_lazy_pattern_compiles() -> None:
    for name in (*_modules(codeguard.analysis), *_modules(codeguard.analysis.rules)):
        importlib.import_module(name)
    gc.unfreeze()  # workers of other tests may have frozen what there was
    patterns = [item for item in gc.get_objects() if type(item) is _Lazy]
    assert len(patterns) > 100
    for item in patterns:
        assert isinstance(re.compile(item._source, item._flags), re.Pattern)


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    pattern = lazy("a(?P<rest>b+)", re.IGNORECASE)
    assert [match["rest"] for match in pattern.finditer("ab aBB")] == ["b", "BB"]
    assert pattern.sub("-", "xABx") == "x-x"
    assert pattern.pattern == "a(?P<rest>b+)"
    assert pattern.groupindex == {"rest": 1}


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    pattern = lazy("(")
    with pytest.raises(re.error):
        pattern.search("")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that ends a search")
def test_no_pattern_takes_long_for_a_repeated_part() -> None:
    """Each pattern searches texts made of its own words and of single characters, repeated.

    A pattern with two ways to read the same text takes exponential time on some of these.
    """
    found = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).parent / "long_searches.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    *slow, last = found.stdout.splitlines()
    assert slow == []
    assert int(last) > 300
