"""Regular expressions that are compiled when they are first used: few of an audit's are, and each costs its start."""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _Lazy:
    """Stands for a compiled pattern; its methods are kept once they were asked for."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(self._source, self._flags), name)
        self.__dict__[name] = value
        return value


def lazy(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` returns, compiled when a method or attribute of it is first asked for.

    A pattern that does not compile raises `re.error` only then: `tests/reading/test_patterns.py` compiles
    every one.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))
