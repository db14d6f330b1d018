"""The rules of .gitignore files, read from untrusted trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# A pattern becomes a regular expression that backtracks: with k stars, matching a name of n characters may
# take n**k steps, and a hostile tree has names of 255. Real patterns have one or two.
MAX_STARS = 2
MAX_PATTERN_CHARS = 500
# The total cost limit of the rules for a path; a pattern costs 1, one with two stars 20.
MAX_COST = 5_000
TWO_STARS_COST = 20

_STARS = re.compile(r"\*+")
_HARMLESS = re.compile(r"^!?(?:\*\*/)?|/\*\*$")  # matched without backtracking


class IgnoreRules:
    """The rules of one walked folder; deeper files override outer ones, later lines earlier ones."""

    MAX_BYTES: ClassVar[int] = 200_000

    def __init__(self) -> None:
        self._specs: dict[str, list[tuple[GitIgnoreSpec, str]]] = {}
        self._costs: dict[str, int] = {}

    def add(self, folder: str, data: bytes, shown: str) -> list[str]:
        """Add the rules of a file for `folder` (relative, empty for the top); return the rejected ones."""
        complaints = []
        if len(data) > self.MAX_BYTES:
            complaints.append(f"only its first {self.MAX_BYTES} bytes count as rules")
            data = data[: self.MAX_BYTES].rpartition(b"\n")[0]
        room = MAX_COST - sum(self._costs.get(above, 0) for above in (folder, *_above(folder)))
        patterns, cost = [], 0
        refused: Counter[str] = Counter()
        for line in data.decode("utf-8", "replace").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            stars = _stars(line)
            price = TWO_STARS_COST if stars > 1 else 1
            if stars > MAX_STARS or len(line) > MAX_PATTERN_CHARS:
                refused[f"more than {MAX_STARS} stars, or too long"] += 1
            elif cost + price > room:
                refused["too many of them"] += 1
            elif not _is_valid(line):
                refused["malformed"] += 1
            else:
                cost += price
                patterns.append(line)
        complaints += [f"{number} of its rules do not count: {why}" for why, number in refused.items()]
        self._costs[folder] = self._costs.get(folder, 0) + cost
        self._specs.setdefault(folder, []).append((_spec(patterns), shown))
        return complaints

    def ignored_by(self, relative: str, is_folder: bool) -> str | None:
        """Return the rule that ignores a path (relative to the top), or None."""
        for folder in _above(relative):
            for spec, shown in reversed(self._specs.get(folder, ())):
                inside = relative[len(folder) + 1 :] if folder else relative
                verdict = spec.check_file(inside + "/" if is_folder else inside).include
                if verdict is not None:
                    return shown if verdict else None
        return None


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
    if _stars(line) > MAX_STARS or len(line) > MAX_PATTERN_CHARS:
        return f"more than {MAX_STARS} stars, or more than {MAX_PATTERN_CHARS} characters"
    return "" if _is_valid(line) else "a malformed pattern"


def _stars(line: str) -> int:
    return len(_STARS.findall(_HARMLESS.sub("", line.rstrip())))


def _above(relative: str) -> Iterator[str]:
    """Yield the folders that contain a path, the nearest first, the top (empty) last."""
    while relative:
        relative = relative.rpartition("/")[0]
        yield relative


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # only needed to walk folders: a hook names its files

    return GitIgnoreSpec.from_lines(lines)


def _is_valid(line: str) -> bool:
    try:
        _spec([line])
    except (ValueError, re.error):
        return False
    return True
