"""Names similar to a well-known package: one edit, swap, affix or lookalike character away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from codeguard.analysis.rules.imports.known import (
    AFFIXES,
    NPM_PACKAGES,
    ORDINARY_NAMES,
    PYTHON_PACKAGES,
    STANDARD_LIBRARY,
    normalised,
)
from codeguard.corpus.confusables import skeleton

LEAST_EDITED = 5  # letters; shorter names are similar to many honest ones
LEAST_SWAPPED = 4
LEAST_AFFIXED = 4
MAX_NAME = 60
_KEYS = ("1234567890-", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_SOUNDS = frozenset("iy ck sz uv ei ae mn ou ph".split())  # noqa: SIM905 - words read better as words
_WEAK = ("one letter more", "another letter")
_GLYPHS = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("3", "e"), ("5", "s"), ("4", "a"))


@dataclass(frozen=True, slots=True)
class Lookalike:
    """An imitated name, and how it is imitated; `near` for one edit or character, not an affix.

    `slip` is False for an edit that is no typing error (`parsy` for `parso`), which is often an
    independent project.
    """

    name: str
    known: str
    how: str
    near: bool
    slip: bool = True


def python_lookalike(name: str) -> Lookalike | None:
    """Return what a Python package's name imitates; None if it is well known or dissimilar."""
    if normalised(name) in PYTHON_PACKAGES or name in STANDARD_LIBRARY:
        return None
    return _lookalike(name, _python())


def npm_lookalike(name: str) -> Lookalike | None:
    """Return what an npm package's name imitates; scoped names (`@org/name`) imitate none."""
    if name in NPM_PACKAGES or name.startswith("@"):
        return None
    return _lookalike(name, _npm())


def _lookalike(name: str, known: _Known) -> Lookalike | None:
    plain = normalised(name)
    if name.startswith("_"):
        return None  # a C module next to a Python one, such as `_pickle`
    if len(plain) > MAX_NAME or plain in ORDINARY_NAMES or plain.replace("-", "") in ORDINARY_NAMES:
        return None
    for found in (
        _glyph(name, plain, known),
        _separators(plain, known),
        _edited(plain, known),
        _affixed(plain, known),
    ):
        if found is not None:
            return Lookalike(name, *found, slip=found[1] not in _WEAK or _is_slip(plain, found[0]))
    return None


class _Known:
    """Well-known names, indexed by their variants with one deletion (symmetric deletes, Garbe 2012)."""

    def __init__(self, names: Iterable[str], loose: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.loose = frozenset(loose)  # compared by edits only
        self.collapsed = {name.replace("-", ""): name for name in sorted(self.names) if "-" in name}
        self.shapes = {_shape(name): name for name in sorted(self.names) if "-" in name}
        self.deletions: dict[str, set[str]] = {}
        for name in sorted(self.names | self.loose):
            for key in (name, *_deletions(name)):
                self.deletions.setdefault(key, set()).add(name)


@lru_cache(maxsize=1)
def _python() -> _Known:
    standard = {normalised(name) for name in STANDARD_LIBRARY if len(name) > LEAST_EDITED and name[0] != "_"}
    return _Known(PYTHON_PACKAGES, standard - PYTHON_PACKAGES)


@lru_cache(maxsize=1)
def _npm() -> _Known:
    return _Known((normalised(name) for name in NPM_PACKAGES), ())


def _deletions(name: str) -> Iterator[str]:
    return (name[:at] + name[at + 1 :] for at in range(len(name)))


def _shape(name: str) -> str:
    return "-".join(sorted(name.split("-")))


def _glyph(name: str, plain: str, known: _Known) -> tuple[str, str, bool] | None:
    looks = {
        normalised(skeleton(name)),
        *(plain.replace(glyph, meant) for glyph, meant in _GLYPHS if glyph in plain),
    }
    for look in sorted(looks - {plain}):
        if look in known.names and len(look) >= LEAST_SWAPPED:
            return look, "a glyph that looks the same", True
    return None


def _separators(plain: str, known: _Known) -> tuple[str, str, bool] | None:
    joined = plain.replace("-", "")
    if joined != plain and joined in known.names and len(joined) >= LEAST_EDITED:
        return joined, "another separator", True
    if plain in known.collapsed:
        return known.collapsed[plain], "a missing separator", True
    if "-" in plain and known.shapes.get(_shape(plain), plain) != plain:
        return known.shapes[_shape(plain)], "its words in another order", True
    return None


def _edited(plain: str, known: _Known) -> tuple[str, str, bool] | None:
    near: set[str] = set()
    for key in (plain, *_deletions(plain)):
        near |= known.deletions.get(key, set())
    for other in sorted(near):
        how = _one_edit(plain, other)
        least = LEAST_SWAPPED if how == "two letters exchanged" else LEAST_EDITED
        if how and len(other) >= least:
            return other, how, True
    return None


def _is_slip(plain: str, other: str) -> bool:
    """Return whether an edit is a typing error: a doubled letter, or a neighboring key."""
    at = next((n for n, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), len(other))
    typed = plain[at]
    if len(plain) > len(other):
        return typed in other[max(0, at - 1) : at + 1] or _are_neighbours(typed, other[at - 1 : at + 1])
    return _are_neighbours(typed, other[at])


def _are_neighbours(typed: str, meant: str) -> bool:
    """Return whether a key is next to one of some others, or its letter sounds like one of them."""
    if any(f"{typed}{key}" in _SOUNDS or f"{key}{typed}" in _SOUNDS for key in meant):
        return True
    places = {key: (row, column) for row, keys in enumerate(_KEYS) for column, key in enumerate(keys)}
    row, column = places.get(typed, (9, 9))
    return any(
        abs(row - places[key][0]) <= 1 and abs(column - places[key][1]) <= 1 for key in meant if key in places
    )


def _one_edit(first: str, second: str) -> str:
    """Return the edit (Damerau-Levenshtein) that turns one name into the other, or ""."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return ""
    at = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    rest, other = first[at:], second[at:]
    if rest[1:] == other:
        return "one letter more"
    if rest == other[1:]:
        return "one letter less"
    if rest[1:] == other[1:]:
        return "another letter"
    if rest[:1] == other[1:2] and rest[1:2] == other[:1] and rest[2:] == other[2:]:
        return "two letters exchanged"
    return ""


def _affixed(plain: str, known: _Known) -> tuple[str, str, bool] | None:
    parts = plain.split("-")
    for affix, rest in ((parts[0], "-".join(parts[1:])), (parts[-1], "-".join(parts[:-1]))):
        if affix in AFFIXES and rest in known.names and len(rest) >= LEAST_AFFIXED:
            return rest, f"with {affix!r} added", False
    bare = plain.rstrip("0123456789")
    if bare != plain and len(plain) - len(bare) == 1 and bare in known.names and len(bare) >= LEAST_EDITED:
        return bare, f"with {plain[len(bare) :]!r} added", False
    for affix in ("py", "python", "js", "node"):
        rest = (
            plain[len(affix) :]
            if plain.startswith(affix)
            else plain[: -len(affix)]
            if plain.endswith(affix)
            else ""
        )
        if rest in known.names and len(rest) >= LEAST_EDITED and "-" not in plain:
            return rest, f"with {affix!r} added", False
    return None
