"""Patterns: ours, compiled on first use as each delays the start, their tables, and the user's to leave files out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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


# A pattern becomes a regular expression that backtracks: with k stars, matching a name of n characters may
# take n**k steps, and a hostile tree has names of 255. Real patterns have one or two.
MAX_STARS = 2
MAX_PATTERN_CHARS = 500

_STARS = re.compile(r"\*+")
_HARMLESS = re.compile(r"^!?(?:\*\*/)?|/\*\*$")  # matched without backtracking


class Exclusion:
    """The user's exclusions: .gitignore patterns matched against the names of files in the index."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec = _spec(patterns) if patterns else None

    def covers(self, name: str, is_folder: bool = False) -> bool:
        """Return whether a file or folder of this name is excluded."""
        return self._spec is not None and bool(
            self._spec.check_file(f"{name}/" if is_folder else name).include
        )


def pattern_problem(line: str) -> str:
    """Return why a user's pattern is rejected, or ""."""
    if not line.strip() or line.startswith("#"):
        return "no pattern"
    if len(_STARS.findall(_HARMLESS.sub("", line.rstrip()))) > MAX_STARS or len(line) > MAX_PATTERN_CHARS:
        return f"more than {MAX_STARS} stars, or more than {MAX_PATTERN_CHARS} characters"
    try:
        _spec([line])
    except (ValueError, re.error):
        return "a malformed pattern"
    return ""


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # only needed to walk folders: a hook names its files

    return GitIgnoreSpec.from_lines(lines)
