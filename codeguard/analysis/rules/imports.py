"""Lookalikes of well-known packages, and commands that install packages.

The list of known packages has the most downloaded names on PyPI and npm, and their import names if these differ.
Being listed proves nothing; it prevents honest similar names (`toml`, `tomli`; `mock`, `nock`) from
being reported as imitations of each other.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.reading import SCRIPTS
from codeguard.analysis.rules.base import (
    IMPORTED,
    LESS_SURE,
    DetectorContext,
    Match,
    signal_of,
)
from codeguard.corpus.confusables import skeleton
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name
from codeguard.flow.effects import RUNNING_COMMANDS
from codeguard.models import Confidence, Severity


def normalised(name: str) -> str:
    """Return a package's name as PyPI compares it: lower case, `-`, `_` and `.` equal (PEP 503)."""
    return name.lower().replace("_", "-").replace(".", "-")


_KNOWN = {
    sort: frozenset(names.split())
    for sort, names in tomllib.loads(
        Path(__file__).with_name("known_packages.toml").read_text("utf-8")
    ).items()
}
STANDARD_LIBRARY = frozenset(sys.stdlib_module_names) | _KNOWN["legacy"]
"""Top-level modules of Python's standard library, those of older versions among them."""
PYTHON_PACKAGES = frozenset(map(normalised, _KNOWN["pypi"] | _KNOWN["imports"]))
"""Well-known distributions of PyPI and the names they are imported by, normalised."""

_INSTALLERS = frozenset(
    {"pip.main", "pip._internal.main", "pip._internal.cli.main.main", "setuptools.command.easy_install.main"}
)
_TOOLS = lazy(r" (?:pip3? install|npm i(?:nstall)?|yarn add|easy_install) ")


_SCRIPT_IMPORT = lazy(
    r"""(?:\brequire\s{0,4}\(\s{0,4}|\bimport\s{0,4}\(\s{0,4}|\bfrom\s{1,4}|\bimport\s{1,4})(["'])([^"'\n]{1,200})\1"""
)


@dataclass(frozen=True, slots=True)
class Imported:
    """An import of a package: its top-level name and the position of the statement.

    `guarded` means that the code continues if the package is missing.
    """

    package: str
    start: int
    end: int
    guarded: bool = False


def imports_of(reading: Reading) -> Iterator[Imported]:
    """Yield the imported packages, each once per statement, without relative imports."""
    if reading.language in SCRIPTS:
        yield from _script_imports(reading)
    found: list[tuple[ast.AST, list[str]]] = [
        *((node, [alias.name for alias in node.names]) for node in reading.nodes_of(ast.Import)),
        *((node, [node.module or ""]) for node in reading.nodes_of(ast.ImportFrom) if not node.level),
    ]
    for call in reading.nodes_of(ast.Call):
        if call.args and unqualified_name(call.func) in ("__import__", "import_module"):
            found.append((call, [reading.names.text(call.args[0]) or ""]))
    for node, names in found:
        names = [name for name in names if name.partition(".")[0].isidentifier()]
        for package in dict.fromkeys(name.partition(".")[0] for name in names):
            yield Imported(package, *reading.place(node), _guarded(reading, node))


def _guarded(reading: Reading, node: ast.AST) -> bool:
    """Return whether an import is in a `try` that handles its failure, or for type checkers only."""
    child, at = node, reading.parents.get(node)
    while at is not None:
        if isinstance(at, ast.Try | ast.TryStar) and at.handlers and any(item is child for item in at.body):
            return True
        if isinstance(at, ast.If) and "TYPE_CHECKING" in ast.dump(at.test):
            return True
        child, at = at, reading.parents.get(at)
    return False


def _script_imports(reading: Reading) -> Iterator[Imported]:
    for match in _SCRIPT_IMPORT.finditer(reading.text):
        name = match.group(2)
        if (
            name.startswith((".", "/", "#", "~", "node:", "bun:", "data:"))
            or "://" in name
            or name.startswith("@/")
        ):
            continue
        parts = name.split("/")
        package = "/".join(parts[:2]) if name.startswith("@") else parts[0]
        yield Imported(package, match.start(), match.end())


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    apart = reading.unread.apart
    first: dict[str, Imported] = {}
    for imported in imports_of(reading):
        first.setdefault(imported.package, imported)
    for imported in first.values():
        yield from apart("the rules about packages", _package, reading, imported, first)
    yield from apart("the rules about instructions", _instructions, reading)
    if reading.tree is not None and "install" in reading.text:
        yield from apart("runtime-install", _runtime_installs, reading)


def _package(reading: Reading, imported: Imported, beside: Iterable[str]) -> Iterator[Match]:
    name, script = imported.package, reading.language in SCRIPTS
    if (script and name in _KNOWN["node"]) or is_known(name, npm=script):
        return
    alike = lookalike(name, npm=script)
    # An imitation is recommended: hardly anyone takes it of their own accord. Who adds to a package imports both.
    held = _held(normalised(name), _known_names(npm=script)) | ({alike.known} if alike else set())
    replaced = _replaced(reading, name, held - set(map(normalised, beside)))
    if replaced:
        reason = (
            f"{name} has the name of {min(replaced)} and more, and a text recommends one beside the other"
        )
        yield Match("lookalike", imported.start, imported.end, reason, measurements={IMPORTED: name})
        return
    if alike is None:
        return
    # Projects have such names by chance; hardly one adds `safe` or `official` to that of another.
    named: dict[str, str | bool] = {IMPORTED: name, LESS_SURE: alike.near}
    graded = Severity.HIGH if alike.near else Severity.MEDIUM
    # Optional packages need not be installed; others are independent, or a successor such as `httpx2`.
    if imported.guarded or not alike.slip or (not alike.near and name[-1:].isdigit()):
        graded = Severity.LOW
    yield Match("lookalike", imported.start, imported.end, alike.reason, graded, measurements=named)


_SENTENCE = lazy(r"(?<=[.!?])\s|[\u3002\uff01\uff1f]")
_WORD = lazy(r"[a-z0-9]\w*(?:[.-]\w+)*", re.ASCII | re.IGNORECASE)


def _replaced(reading: Reading, name: str, known: frozenset[str]) -> set[str]:
    """Return which of some well-known packages a sentence of the file names beside another one."""
    own, found = normalised(name), set[str]()
    for segment in reading.segments if known else ():
        if segment.kind is not SegmentKind.IDENTIFIER and name in segment.text:
            for sentence in _SENTENCE.split(segment.text):
                words = set(map(normalised, _WORD.findall(sentence)))
                found |= known & words if own in words else set()
    return found


def _instructions(reading: Reading) -> Iterator[Match]:
    if "install" not in reading.text and " add " not in reading.text:
        return
    for segment in reading.segments:
        if segment.kind is SegmentKind.IDENTIFIER or len(segment.text) < 12:
            continue
        raw = reading.text[segment.start : segment.end]
        for found in _INSTALL.finditer(raw):
            start, end = segment.start + found.start(), segment.start + found.end()
            source = _source(found["rest"])
            if source:
                reason = f"installs from {source}"
                yield Match("install-source", start, end, reason, *_graded_source(source))
            for package in _packages(found["rest"], quoted=raw[found.start() - 1 : found.start()] == "`"):
                alike = lookalike(package, npm=bool(found["npm"]))
                if alike is not None and alike.near and alike.slip:
                    reason = f"to be installed: {alike.reason}"
                    yield Match("lookalike", start, end, reason, Severity.MEDIUM)


def _runtime_installs(reading: Reading) -> Iterator[Match]:
    for node in reading.nodes_of(ast.Call):
        called = reading.names.called(node)
        if not node.args or called not in RUNNING_COMMANDS | _INSTALLERS:
            continue
        given = node.args[0]
        parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
        words = " ".join(str(reading.names.constant(part, "?")) for part in parts)
        if _TOOLS.search(f" {words} ") or (called in _INSTALLERS and " install " in f" {words} "):
            sources = map(_source, (found["rest"] for found in _INSTALL.finditer(words)))
            grades = (_graded_source(source) for source in sources if source)
            worst = next((grade for grade in grades if grade[0] is Severity.HIGH), (None, None))
            yield Match("runtime-install", *reading.place(node), f"runs {words[:80]!r}", *worst)


_INSTALL = lazy(
    r"\b(?:(?P<pip>(?:pip[23]?|uv pip|pipx|poetry|easy_install|conda)\s{1,3}(?:install|add|inject))"
    r"|(?P<npm>(?:npm|yarn|pnpm|bun)\s{1,3}(?:install|i|add)))\s{1,3}(?P<rest>[^\n\"'`;|&)]{1,300})"
)
_SOURCE = lazy(
    r"(?:(?:--(?:extra-)?index-url|-i|--find-links|-f|--registry)[ =]{1,2}(?P<index>\S{4,200}))"
    r"|(?P<direct>(?:git\+\w{1,8}|https?)://(?!\.\.\.|…)\S{3,200})|(?P<trusted>--trusted-host[ =]\S{1,100})"
)
_USUAL = lazy(
    r"(?:git\+)?(?:https|ssh)://(?:git@)?(?:pypi\.org|test\.pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org"
    r"|download\.pytorch\.org|github\.com|gitlab\.com|bitbucket\.org|codeload\.github\.com)(?:[:/]|\Z)"
    r"|file:///",  # a folder of the machine, in which whoever writes the text has nothing
    re.IGNORECASE,
)
# The network, or the owner of an IP address, controls what is installed.
_UNVERIFIED = lazy(
    r"(?:git\+)?http://(?!localhost[:/])|(?:git\+)?https://(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]{2,60}\])",
    re.IGNORECASE,
)
_WITH_VALUE = ("-i", "-f", "-r", "--index-url", "--extra-index-url", "--trusted-host", "--registry")
_PACKAGE = lazy(r"@?[A-Za-z][A-Za-z0-9_.\-/]{1,59}\Z")
_GOES_ON, _SPOKEN_OF = _KNOWN["going_on"], _KNOWN["speaking"] | _KNOWN["going_on"]


def _source(rest: str) -> str:
    found = _SOURCE.search(rest)
    source = "" if found is None else next(part for part in found.groups() if part)
    # Without an index, from a folder, which the same job has filled.
    return "" if "--no-index" in rest and "://" not in source else source


def _graded_source(source: str) -> tuple[Severity | None, Confidence | None]:
    plain = source.strip("<>()[]")
    if _USUAL.match(plain) is not None:
        return Severity.LOW, None
    return (Severity.HIGH, Confidence.HIGH) if _UNVERIFIED.match(plain) else (None, None)


def _packages(rest: str, *, quoted: bool) -> list[str]:
    """Return the packages that an install command names, at most six."""
    words = rest.split("#")[0].split()
    packages: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        name = re.split(r"[=<>~!\[;,@]", word.lstrip("@"), maxsplit=1)[0].rstrip(".:")
        if before in _WITH_VALUE or word.startswith("-") or not _PACKAGE.match(name):
            continue
        if word.lower() in (_GOES_ON if packages else _SPOKEN_OF) and not quoted:
            break
        if len(packages) > 3 and not re.search(r"[=<>~\[]", word):
            break  # prose after the command
        packages.append(name)
    return packages[:6]


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

    @property
    def reason(self) -> str:
        """What imitates what, and how."""
        return f"{self.name} looks like {self.known}: {self.how}"


def is_known(name: str, *, npm: bool) -> bool:
    """Return whether a package is well known or a module of the standard library; scoped ones imitate none."""
    if npm:
        return name in _KNOWN["npm"] or name.startswith("@")
    return normalised(name) in PYTHON_PACKAGES or name in STANDARD_LIBRARY


def lookalike(name: str, *, npm: bool) -> Lookalike | None:
    """Return what a package's name imitates; None if it is well known or dissimilar."""
    return None if is_known(name, npm=npm) else _lookalike(name, _known_names(npm=npm))


class _Names:
    """Well-known names, indexed by their variants with one deletion (symmetric deletes, Garbe 2012)."""

    def __init__(self, names: frozenset[str], loose: frozenset[str]) -> None:
        """Take names, and others that are compared by edits only."""
        self.names = names
        self.collapsed = {name.replace("-", ""): name for name in sorted(names) if "-" in name}
        self.shapes = {_shape(name): name for name in sorted(names) if "-" in name}
        self.deletions: dict[str, set[str]] = {}
        for name in sorted(names | loose):
            for key in (name, *_deletions(name)):
                self.deletions.setdefault(key, set()).add(name)


@lru_cache(maxsize=2)
def _known_names(*, npm: bool) -> _Names:
    if npm:
        return _Names(frozenset(map(normalised, _KNOWN["npm"])), frozenset())
    standard = (name for name in STANDARD_LIBRARY if len(name) > LEAST_EDITED and name[0] != "_")
    return _Names(PYTHON_PACKAGES, frozenset(map(normalised, standard)) - PYTHON_PACKAGES)


def _deletions(name: str) -> Iterator[str]:
    return (name[:at] + name[at + 1 :] for at in range(len(name)))


def _shape(name: str) -> str:
    return "-".join(sorted(name.split("-")))


def _lookalike(name: str, known: _Names) -> Lookalike | None:
    plain = normalised(name)
    if name.startswith("_"):
        return None  # a C module next to a Python one, such as `_pickle`
    if len(plain) > MAX_NAME or not _KNOWN["ordinary"].isdisjoint({plain, plain.replace("-", "")}):
        return None
    near, far = next(_near(name, plain, known), None), next(_affixed(plain, known), None)
    if near is not None:
        return Lookalike(name, *near, near=True, slip=near[1] not in _WEAK or _is_slip(plain, near[0]))
    return None if far is None else Lookalike(name, *far, near=False)


def _held(plain: str, known: _Names) -> frozenset[str]:
    """Return the well-known names that a name consists of in part."""
    words = plain.split("-") if len(plain) <= MAX_NAME else []
    spans = ("-".join(words[start:end]) for end in range(len(words) + 1) for start in range(end))
    return known.names.intersection(spans) - _KNOWN["ordinary"]


def _near(name: str, plain: str, known: _Names) -> Iterator[tuple[str, str]]:
    """Yield known names that are one character, separator or edit away, and how."""
    looks = {normalised(skeleton(name)), *(plain.replace(glyph, meant) for glyph, meant in _GLYPHS)}
    for look in sorted(looks - {plain}):
        if look in known.names and len(look) >= LEAST_SWAPPED:
            yield look, "a glyph that looks the same"
    joined = plain.replace("-", "")
    if joined != plain and joined in known.names and len(joined) >= LEAST_EDITED:
        yield joined, "another separator"
    if plain in known.collapsed:
        yield known.collapsed[plain], "a missing separator"
    if "-" in plain and known.shapes.get(_shape(plain), plain) != plain:
        yield known.shapes[_shape(plain)], "its words in another order"
    edited = (known.deletions.get(key, set()) for key in (plain, *_deletions(plain)))
    for other in sorted(set().union(*edited)):
        how = _one_edit(plain, other)
        if how and len(other) >= (LEAST_SWAPPED if how == "two letters exchanged" else LEAST_EDITED):
            yield other, how


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


def _affixed(plain: str, known: _Names) -> Iterator[tuple[str, str]]:
    """Yield known names to which something was added, and what."""
    parts = plain.split("-")
    for affix, rest in ((parts[0], "-".join(parts[1:])), (parts[-1], "-".join(parts[:-1]))):
        if affix in _KNOWN["affixes"] and rest in known.names and len(rest) >= LEAST_AFFIXED:
            yield rest, f"with {affix!r} added"
    bare = plain.rstrip("0123456789")
    if len(plain) - len(bare) == 1 and bare in known.names and len(bare) >= LEAST_EDITED:
        yield bare, f"with {plain[len(bare) :]!r} added"
    for affix in ("py", "python", "js", "node"):
        rest = plain.removeprefix(affix)
        rest = plain.removesuffix(affix) if rest == plain else rest
        if rest != plain and rest in known.names and len(rest) >= LEAST_EDITED and "-" not in plain:
            yield rest, f"with {affix!r} added"


SIGNAL = signal_of(
    __file__, "lookalikes of well-known packages, installs from strange sources", _inspect, intent=True
)
