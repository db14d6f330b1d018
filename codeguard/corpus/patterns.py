"""Regular expressions that are compiled on first use, since each delays the start, and the tables that hold them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, AnyStr, cast


class _Lazy:
    """Proxy for a compiled pattern; its methods are cached on first access."""

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
    """Return a pattern like `re.compile` does, compiled when one of its attributes is first accessed.

    A pattern that does not compile raises `re.error` only then: `tests/reading/test_patterns.py` compiles
    every one.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))


@cache
def stored(place: Path) -> dict[str, Any]:
    """Return the tables of a TOML file of ours, read once for all who look for a part of it; nobody changes them.

    Raises:
        OSError, ValueError: the file is missing or no TOML.
    """
    return tomllib.loads(place.read_text(encoding="utf-8"))
