"""Path patterns of a signing policy: anchored at the root, `*` within a part, `**` any number of parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from codeguard.errors import ConfigError
from codeguard.provenance.escape import shown

MAX_PATTERN = 1024  # characters
_ANY_NAME = "\0"  # a name that no path has and no pattern spells


def check_pattern(pattern: str) -> str:
    """Return `pattern` where it is usable; ConfigError otherwise."""
    parts = pattern.split("/")
    if (
        not pattern
        or len(pattern) > MAX_PATTERN
        or "\0" in pattern
        or any(part in ("", ".", "..") for part in parts)
        or any("**" in part and part != "**" for part in parts)
        or parts.count("**") > 4
    ):
        raise ConfigError(
            "unusable path pattern",
            got=shown(pattern),
            expected="a path relative to the root such as src/** or docs/*.md",
        )
    return pattern


def matches(patterns: Iterable[str], path: str) -> bool:
    """Return whether one of the patterns matches the whole path.

    Unlike gitignore's, a pattern is anchored: `docs/**` does not match
    `src/docs/x.py`, so that a right to sign one folder is not a right to
    sign any folder of that name.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def matches_all_below(patterns: Iterable[str], folder: str) -> bool:
    """Return whether one of the patterns matches every path there may be below a folder (`.` is the root)."""
    open_ended = [pattern for pattern in patterns if pattern.split("/")[-1] == "**"]
    return matches(open_ended, _ANY_NAME if folder == "." else f"{folder}/{_ANY_NAME}")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    check_pattern(pattern)
    parts = pattern.split("/")
    expression = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            expression += ".+" if last else "(?:[^/]+/)*"
        else:
            expression += "".join(
                "[^/]*" if letter == "*" else "[^/]" if letter == "?" else re.escape(letter)
                for letter in re.sub(r"\*+", "*", part)
            )
            expression += "" if last else "/"
    return re.compile(expression, re.DOTALL)
