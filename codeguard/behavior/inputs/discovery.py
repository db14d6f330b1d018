"""First inputs for trusted functions without examples, from type hints, names, descriptions and sample files.

The function itself, run in the sandbox, decides which guesses it accepts. The most informative kinds of input come
first; the first kind of which the function accepts nearly every call is taken as its domain.

Values of several parameters are combined without regard to each other, and a binary search, a matrix product or a
shortest path rejects most such calls. So there are also groups of related arguments, in `related.toml`: a sorted list
and an item, lists of one length, a graph and a node.

The sample files, defined in `sample_files.toml`, exist in memory, in the working directory of the sandboxed code, and
are the same in both worlds.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.source.definitions import Definition, Parameter, parse_or_none
from codeguard.behavior.specs.contract import excluded_by
from codeguard.behavior.specs.examples import NO_VALUE, value_of
from codeguard.corpus.patterns import stored
from codeguard.corpus.syntax import unqualified_name

MAX_LITERALS = 6
MAX_ROWS = 40
MOST_GUESSED = 3  # parameters of which nothing is known
NUMBERS: tuple[object, ...] = (3, 10, 7, 2, 24)
REALS: tuple[object, ...] = (2.5, 10.0, 0.75, 3.0)
TEXTS: tuple[object, ...] = (
    "hello world", "abcab", "Level", "one two two",
    "<a href='x'>\"b\" & c</a>", "Größe 1,024", " a_b-c\td\n", "3.5", "first\n  second\n\n    third\n", "",
)  # fmt: skip
LISTS: tuple[object, ...] = ([3, 1, 2, 3], [5, 4, 10, 7, 7], [2, 9])
TEXT_LISTS: tuple[object, ...] = (["pear", "fig", "apple"], ["a", "bb", "a"])
REAL_LISTS: tuple[object, ...] = ([1.5, 3.0, 2.25], [4.0, 0.5, 4.0, 8.5])
MAPS: tuple[object, ...] = ({"a": 1, "b": 2}, {"x": 3, "y": 1, "z": 3})
NESTED: tuple[object, ...] = ([[1, 2], [3], [4, 5]], [[7], [8, 9]])
FLAGS: tuple[object, ...] = (True, False)
BYTES: tuple[object, ...] = (b"hello world", b"a,b\nc", b"gr\xc3\xb6\xc3\x9fe 1", b"")
PATHS: tuple[object, ...] = (
    "a/b.txt", "notes.txt", "/usr/./lib//x.tar.gz", "~/c", "../$HOME/${A}/%B%",
    "C:\\dir\\..\\f.py", "//host/share/f", "",
)  # fmt: skip
PAIRS: tuple[object, ...] = ((3, 10), (0.5, 0.25), (0, 24), (90, 1.0))
TRIPLES: tuple[object, ...] = ((3, 10, 7), (0.5, 0.25, 0.75), (0, 24, 3), (90, 1.0, 0.5))
KINDS = (NUMBERS, LISTS, TEXTS, TEXT_LISTS, REALS, MAPS, NESTED, BYTES)
HINTS = {
    "bytes": BYTES,
    "int": NUMBERS,
    "float": REALS,
    "str": TEXTS,
    "bool": FLAGS,
    "complex": REALS,
    "Number": NUMBERS,
}
_LISTS_OF = ((NUMBERS, LISTS), (REALS, REAL_LISTS), (TEXTS, TEXT_LISTS), ((), LISTS))
SEQUENCES = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
LITERAL = re.compile(
    r"\[[^\[\]]*\]|\([^()]*,[^()]*\)|'[^'\n]{0,40}'|\"[^\"\n]{0,40}\"|(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)"
)


def guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls to try, the most informative group first; one that takes any number is given one."""
    needed = [item for item in definition.parameters if item.required or item.kind == "args"]
    required = [item for item in needed if item.kind != "keyword"]
    if not required or len(required) < len(needed):
        return
    hinted = [_hinted(parameter) for parameter in required]
    if all(hinted):
        yield rows_of_pools([values for values in hinted if values])
        return
    literals = described_values(definition.docstring)
    literals = sorted(literals, key=lambda value: isinstance(value, int | float))[:MAX_LITERALS]
    if literals and len(required) <= MOST_GUESSED:
        for chosen in itertools.permutations(literals, len(required)):
            yield [(chosen, {})]
    if len(required) <= MOST_GUESSED:
        paths = [PATHS if _PATH.search(item.name.lower()) else () for item in required]
        known = [values or path for values, path in zip(hinted, paths, strict=True)]
        kinds = (*KINDS, PAIRS, TRIPLES) if len(required) == 1 else KINDS
        pools = [[values] if values else list(kinds) for values in known]
        for chosen in sorted(itertools.product(*pools), key=lambda row: len({id(kind) for kind in row})):
            yield rows_of_pools(list(chosen))


def related_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls with related arguments, in every order that the type hints allow."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    groups = _groups().get(len(needed), ())
    if not groups or any(parameter.kind != "positional" for parameter in needed):
        return
    kinds = [item.annotation for item in needed]
    for order in itertools.permutations(range(len(needed))):
        for group in groups:
            rows = [tuple(row[place] for place in order) for row in group]
            if not any(excluded for row in rows for excluded in map(excluded_by, kinds, row)):
                yield [(row, {}) for row in rows]


@cache
def _groups() -> dict[int, list[list[tuple[object, ...]]]]:
    """Return the groups by the number of arguments."""
    found: dict[int, list[list[tuple[object, ...]]]] = {}
    for calls in stored(Path(__file__).with_name("related.toml"))["calls"].values():
        rows = [ast.literal_eval(f"({text})") for text in calls]
        found.setdefault(len(rows[0]), []).append(rows)
    return found


def rows_of_pools(pools: Sequence[Sequence[object]]) -> list[Arguments]:
    """Combine the values of several parameters, first in parallel, then crosswise."""
    longest = max(len(pool) for pool in pools)
    rows = [
        tuple(pool[(index + shift * place) % len(pool)] for place, pool in enumerate(pools))
        for shift in (0, 1)
        for index in range(longest)
    ]
    distinct = {repr(row): row for row in rows}
    calls: list[Arguments] = [(row, {}) for row in distinct.values()]
    return calls[:MAX_ROWS]


def _hinted(parameter: Parameter) -> tuple[object, ...]:
    """Return values for a type hint; empty if the hint is missing or not usable."""
    match parse_or_none(parameter.annotation.strip()):
        case ast.Module([ast.Expr(value)]):
            return values_for_hint(value)
    return ()


def values_for_hint(node: ast.expr) -> tuple[object, ...]:
    """Return plain values for a type hint; empty if it names another type."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return values_for_hint(node.left) or values_for_hint(node.right)
    name, parts = unqualified_name(node), list[ast.expr]()
    if isinstance(node, ast.Subscript):
        name = unqualified_name(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in MAPPINGS:
        return MAPS
    inner = [values_for_hint(part) for part in parts]
    if name in ("Optional", "Union"):
        return inner[0] if inner else ()
    if name in SEQUENCES:
        values = inner[0] if inner else ()
        return next(
            (lists for element, lists in _LISTS_OF if values is element), (list(values), list(values)[:1])
        )
    if name in ("tuple", "Tuple") and inner and all(inner):
        # The values of columns of one kind differ: a share or a distance of equal ones is always the same.
        shifts = [sum(other is values for other in inner[:place]) for place, values in enumerate(inner)]
        columns = [values[-shift:] + values[:-shift] for shift, values in zip(shifts, inner, strict=True)]
        return tuple(tuple(values[row % len(values)] for values in columns) for row in range(3))
    return HINTS.get(name, ()) if not parts else ()


def described_values(docstring: str) -> list[object]:
    """Return the plain values in a description, each once."""
    values = map(value_of, LITERAL.findall(docstring[:4_000]))
    return list({repr(value): value for value in values if value is not NO_VALUE}.values())


NEW = ("made.txt", "docs/made.txt", "made.out", "docs/new.csv")
_PATH = re.compile(
    r"(?:^|_)(?:path|file|files|filename|fname|filepath|dir|directory|dirname|folder|fn|infile|outfile|src|dst"
    r"|source|target|destination|dest|root|log|config|location|output|input)\d?$"
)


_FILES = Path(__file__).with_name("sample_files.toml")


@cache
def sample_files() -> Mapping[str, bytes]:
    """Return the contents of the files by path."""
    return {file["path"]: file["text"].encode() for file in stored(_FILES)["file"]}


def file_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls with sample files for parameters named like paths, one per kind of file.

    Of several paths, the last is that of a new file.
    """
    needed = [parameter for parameter in definition.parameters if parameter.required]
    named = [place for place, item in enumerate(needed) if _PATH.search(item.name.lower())]
    if not named or any(item.kind != "positional" for item in needed):
        return
    for group in stored(_FILES)["groups"].values():
        pools: list[Sequence[object]] = [_hinted(item) or TEXTS for item in needed]
        for place in named:
            pools[place] = NEW if place == named[-1] and len(named) > 1 else group
        yield [(tuple(pool[row % len(pool)] for pool in pools), {}) for row in range(len(group))]
