"""Path patterns of a signing policy: anchored at the root, `*` within a part, `**` any number of parts.

Matched without regular expressions: the time is bounded by the product of the lengths, even for hostile
patterns and paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codeguard.errors import ConfigError
from codeguard.trust.escape import shown

MAX_PATTERN = 1024  # characters
_ANY_NAME = "\0"  # a name that no path has and no pattern contains


def unusable_pattern(pattern: str) -> str | None:
    """Return why a pattern is not usable, None if it is."""
    parts = pattern.split("/")
    if len(pattern) > MAX_PATTERN:
        return f"{len(pattern)} characters, more than {MAX_PATTERN}"
    if "\0" in pattern or any(part in ("", ".", "..") for part in parts):
        return shown(pattern)
    if any("**" in part and part != "**" for part in parts):
        return f"'**' beside other characters in {shown(pattern)}"
    return None


def check_pattern(pattern: str) -> str:
    """Return `pattern` if it is usable; ConfigError otherwise."""
    problem = unusable_pattern(pattern)
    if problem:
        raise ConfigError(
            "unusable path pattern",
            got=problem,
            expected="a path relative to the root such as src/** or docs/*.md",
        )
    return pattern


def matches(patterns: Iterable[str], path: str) -> bool:
    """Return whether one of the patterns matches the whole path.

    `*` stands for any characters within a part, `?` for one, `**` for any
    number of whole parts, at the end for at least one. Unlike gitignore's, a
    pattern is anchored: `docs/**` does not match `src/docs/x.py`, so that a
    right to sign one folder is not a right to sign any folder of that name.
    """
    parts = path.split("/")
    return any(_parts_match(pattern.split("/"), parts) for pattern in patterns)


def matches_all_below(patterns: Iterable[str], folder: str) -> bool:
    """Return whether one of the patterns matches every path there may be below a folder (`.` is the root)."""
    open_ended = [pattern for pattern in patterns if pattern.split("/")[-1] == "**"]
    return matches(open_ended, _ANY_NAME if folder == "." else f"{folder}/{_ANY_NAME}")


def _parts_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Track all positions in `parts` that the pattern read so far can reach."""
    reached = {0}
    for number, piece in enumerate(pattern, 1):
        if piece == "**":
            first = min(reached)
            reached = set(range(first + (number == len(pattern)), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and _part_matches(piece, parts[at])}
        if not reached:
            return False
    return len(parts) in reached


def _part_matches(pattern: str, name: str) -> bool:
    """Match `*` and `?` greedily; on failure, only the last `*` needs to take more."""
    here = there = 0  # positions in the pattern and the name
    star: int | None = None
    taken = 0  # position in the name after what the last star has taken
    while there < len(name):
        if here < len(pattern) and pattern[here] == "*":
            star, taken = here, there
            here += 1
        elif here < len(pattern) and pattern[here] in ("?", name[there]):
            here, there = here + 1, there + 1
        elif star is not None:
            taken += 1
            here, there = star + 1, taken
        else:
            return False
    return not pattern[here:].strip("*")
