"""Which names a manifest may list: relative, plain, and no two that a person or a disk confuses."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from codeguard.errors import ManifestError
from codeguard.provenance.confusables import skeleton
from codeguard.provenance.escape import shown

MAX_PATH = 1024  # characters
_FORBIDDEN = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "bytes that are not text"}
_FORBIDDEN |= {"Zl": "a line separator", "Zp": "a paragraph separator", "Cn": "an unassigned character"}
_SEPARATORS = {"\\": "a backslash", ":": "a colon"}  # both lead elsewhere on Windows


def path_problem(path: str) -> str | None:
    """Return why a manifest may not list `path`, None where it may.

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


def check_path(path: str, where: str = "manifest") -> str:
    """Return `path` where a manifest may list it; ManifestError otherwise."""
    problem = path_problem(path)
    if problem:
        raise ManifestError(
            f"{where} lists an unsafe path",
            got=f"{problem} in {shown(path)}",
            expected="a plain path relative to the root, with /",
        )
    return path


def collision_keys(path: str) -> tuple[str, ...]:
    """Return the keys under which `path` collides with others.

    Two paths collide where they share a key: equal after NFKC and case
    folding (what case-insensitive and normalising file systems take for one
    name), or, where a character outside ASCII is in play, equal in skeleton
    (UTS #39, section 4: what a reader takes for one name).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
    if folded.isascii() and path.isascii():
        return (f"folded:{folded}",)
    return (f"folded:{folded}", f"skeleton:{skeleton(folded)}")


def collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of paths that collide, each as (earlier, later)."""
    listed = list(paths)
    outside_ascii = {path for path in listed if not path.isascii()}
    wanted = {key for path in outside_ascii for key in collision_keys(path) if key.startswith("skeleton:")}
    owner: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for path in listed:
        keys = set(collision_keys(path))
        if wanted and path not in outside_ascii:
            # Pure ASCII names meet skeletons only of names outside ASCII: 1 and l in
            # two ASCII names are an everyday sight, a Cyrillic twin is not.
            key = f"skeleton:{skeleton(path.casefold())}"
            if key in wanted:
                keys.add(f"{key}")
        for key in sorted(keys):
            if key in owner and owner[key] != path:
                if not (owner[key].isascii() and path.isascii() and key.startswith("skeleton:")):
                    found.append((owner[key], path))
                    break
            else:
                owner[key] = path
    return found


def check_distinct(paths: Iterable[str], where: str = "manifest") -> None:
    """Raise ManifestError where a path is listed twice or two of them collide."""
    listed = list(paths)
    if len(set(listed)) != len(listed):
        seen: set[str] = set()
        for path in listed:
            if path in seen:
                raise ManifestError(
                    f"{where} lists a path twice", got=f"{shown(path)} again", expected="every path once"
                )
            seen.add(path)
    for first, second in collisions(listed):
        raise ManifestError(
            f"{where} lists two paths that pass for one another",
            got=f"{shown(second)} beside {shown(first)}",
            expected="names that differ beyond case and look",
        )


def unlistable(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that no manifest may list, each with the reason; colliding pairs both."""
    listed = list(paths)
    problems = {path: problem for path in listed if (problem := path_problem(path))}
    for first, second in collisions(path for path in listed if path not in problems):
        problems[second] = f"passes for {shown(first)}"
        problems.setdefault(first, f"passes for {shown(second)}")
    return problems
