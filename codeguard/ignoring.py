"""The rules of .gitignore files, read from trees that nobody vouches for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from pathspec import GitIgnoreSpec

# A pattern becomes a regular expression that backtracks: with k stars, matching a name of n characters
# may take n**k steps. Real patterns have one or two.
MAX_STARS = 4
MAX_PATTERNS = 2_000  # of one file
MAX_PATTERN_CHARS = 500

_STARS = re.compile(r"\*+")


class IgnoreRules:
    """The rules that hold in one walked folder; deeper files override outer ones, later lines earlier ones."""

    MAX_BYTES: ClassVar[int] = 200_000

    def __init__(self, own: Sequence[str]) -> None:
        self._own = GitIgnoreSpec.from_lines(own)
        self._specs: dict[str, list[tuple[GitIgnoreSpec, str]]] = {}

    def add(self, folder: str, data: bytes, shown: str) -> list[str]:
        """Add the rules of a file that count in `folder` (relative, empty for the top); return what does not count."""
        complaints = []
        if len(data) > self.MAX_BYTES:
            complaints.append(f"only its first {self.MAX_BYTES} bytes count as rules")
            data = data[: self.MAX_BYTES].rpartition(b"\n")[0]
        lines = data.decode("utf-8", "replace").splitlines()
        simple = [line for line in lines if not _is_costly(line)]
        if len(simple) > MAX_PATTERNS:
            complaints.append(f"only its first {MAX_PATTERNS} rules count")
            simple = simple[:MAX_PATTERNS]
        if len(simple) < len(lines) and any(map(_is_costly, lines)):
            complaints.append(
                f"rules with more than {MAX_STARS} stars or {MAX_PATTERN_CHARS} characters do not count"
            )
        usable, refused = _compile(simple)
        if refused:
            complaints.append(f"{refused} of its rules are malformed and do not count")
        self._specs.setdefault(folder, []).append((usable, shown))
        return complaints

    def ignored_by(self, relative: str, is_folder: bool) -> str | None:
        """Return what ignores a path (relative to the top), None where nothing does."""
        if self._own.check_file(relative + "/" if is_folder else relative).include:
            return "the configuration"
        folder = relative
        while folder:
            folder = folder.rpartition("/")[0]
            for spec, shown in reversed(self._specs.get(folder, ())):
                inside = relative[len(folder) + 1 :] if folder else relative
                verdict = spec.check_file(inside + "/" if is_folder else inside).include
                if verdict is not None:
                    return shown if verdict else None
        return None


def _is_costly(line: str) -> bool:
    return len(line) > MAX_PATTERN_CHARS or len(_STARS.findall(line)) > MAX_STARS


def _compile(lines: Sequence[str]) -> tuple[GitIgnoreSpec, int]:
    try:
        return GitIgnoreSpec.from_lines(lines), 0
    except ValueError:
        good = []
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:
                continue
            good.append(line)
        return GitIgnoreSpec.from_lines(good), len(lines) - len(good)
