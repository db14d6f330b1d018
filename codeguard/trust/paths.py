"""The names that a manifest may list: relative, plain, and not confusable with each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from codeguard.corpus.confusables import look
from codeguard.errors import ManifestError
from codeguard.escaping import shown

MAX_PATH = 1024  # characters
_FORBIDDEN = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "bytes that are not text"}
_FORBIDDEN |= {"Zl": "a line separator", "Zp": "a paragraph separator", "Cn": "an unassigned character"}
_SEPARATORS = {"\\": "a backslash", ":": "a colon"}  # both have a special meaning on Windows


def path_problem(path: str) -> str | None:
    """Return why a manifest may not list `path`, or None if it may.

    A path is relative to the root, with `/`, without `.`, `..`, empty
    parts, control or invisible characters, and nothing that another
    operating system reads as a path elsewhere.
    """
    if not path:
        return "an empty path"
    if len(path) > MAX_PATH:
        return f"a path of {len(path)} characters, more than {MAX_PATH}"
    if path.startswith("/"):
        return "an absolute path"
    for character in path:
        if (problem := _SEPARATORS.get(character)) or (
            problem := _FORBIDDEN.get(unicodedata.category(character))
        ):
            return problem
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return {"": "an empty part", ".": "a part '.'", "..": "a part '..'"}[part]
        if part[-1] in ". ":
            return "a part that ends in a dot or a space"
    return None


def check_path(path: str, where: str = "manifest") -> None:
    """Raise ManifestError if a manifest may not list `path`."""
    if problem := path_problem(path):
        raise ManifestError(
            f"{where} lists an unsafe path",
            got=f"{problem} in {shown(path)}",
            expected="a plain path relative to the root, with /",
        )


class NameIndex:
    """The names seen so far, to find one that a new name could be mistaken for.

    Two names pass for one another if they are equal after NFKC and case
    folding (one name to a case-insensitive or normalizing file system), or
    if one has a letter outside ASCII and both have the same look
    (UTS #39, section 4: one name to a reader). Two ASCII names are distinguished by case folding only: `l.py`
    next to `1.py` is common.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._folded: dict[str, str] = {}
        self._ascii_looks: dict[str, str] = {}
        self._other_looks: dict[str, str] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> str | None:
        """Add a name; return an earlier one, other than itself, that it could be mistaken for."""
        lookalike = self.lookalike(name)
        self._folded.setdefault(_folded(name), name)
        looks = self._ascii_looks if name.isascii() else self._other_looks
        looks.setdefault(look(name), name)
        return lookalike

    def lookalike(self, name: str) -> str | None:
        """Return an earlier name, other than this one, that it could be mistaken for."""
        looks_like = look(name)
        lookalikes = [self._folded.get(_folded(name)), self._other_looks.get(looks_like)]
        if not name.isascii():
            lookalikes.append(self._ascii_looks.get(looks_like))
        return next(
            (lookalike for lookalike in lookalikes if lookalike is not None and lookalike != name), None
        )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def check_distinct(paths: Iterable[str]) -> None:
    """Raise ManifestError if a path is also a folder, or could be mistaken for another."""
    index = NameIndex()
    listed: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        lookalike = index.add(path)
        if lookalike is not None:
            raise ManifestError(
                "manifest lists two paths that pass for one another",
                got=f"{shown(path)} beside {shown(lookalike)}",
                expected="names that differ beyond case and look",
            )
        listed.add(path)
        folders.update(path[:end] for end, letter in enumerate(path) if letter == "/")
    if both := listed & folders:
        raise ManifestError(
            "manifest lists a file that is also a folder", got=shown(min(both)), expected="a file or a folder"
        )


def unlistable(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that no manifest may list, each with the reason; colliding pairs both."""
    listed = list(paths)
    problems = {path: problem for path in listed if (problem := path_problem(path))}
    index = NameIndex()
    for path in listed:
        if path not in problems and (lookalike := index.add(path)) is not None:
            problems[path] = f"passes for {shown(lookalike)}"
            problems.setdefault(lookalike, f"passes for {shown(path)}")
    return problems
