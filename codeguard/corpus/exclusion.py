"""The user's patterns for files to leave out, in the syntax of .gitignore."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
