"""First inputs for trusted functions without examples, from type hints, docstrings, sample files and trial runs.

The function itself, run in the sandbox, decides which guesses it accepts. The most informative
kinds of input come first: type hints, literals in the docstring, then plain numbers, lists and
strings. The first kind of which the function accepts every call is taken as its domain.

Values of several parameters are combined without regard to each other, and a binary search, a matrix
product or a shortest path rejects most such calls. So there are also groups of related arguments, in
`related.toml`: a sorted list and an item, lists of one length, a graph and a node.

The sample files, defined in `sample_files.toml`, exist in memory, in the working directory of the sandboxed code, and
are the same in both worlds. A function accepts a kind of file if it returns a result for most files of that kind.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.source.definitions import Definition, Parameter
from codeguard.behavior.specs.calls import NotPlainError, read_literal
from codeguard.behavior.specs.contract import excluded_by
from codeguard.corpus.syntax import unqualified_name

MAX_LITERALS = 6
MAX_ROWS = 24
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
PAIRS: tuple[object, ...] = ([(2, "b"), (1, "a"), (2, "a")], [(5, "x"), (3, "y")])
GRIDS: tuple[object, ...] = ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[0, 1], [1, 0]])
GRAPHS: tuple[object, ...] = ({"a": ["b", "c"], "b": ["c"], "c": []}, {"x": ["y"], "y": ["x"]})
RECORDS: tuple[object, ...] = (
    [{"name": "ann", "age": 31}, {"name": "bob", "age": 25}, {"name": "cy", "age": 31}],
    [{"name": "dee", "age": 4}],
)
PATHS: tuple[object, ...] = (
    "a/b.txt", "notes.txt", "/usr/./lib//x.tar.gz", "~/c", "../$HOME/${A}/%B%",
    "C:\\dir\\..\\f.py", "//host/share/f", "",
)  # fmt: skip
URLS: tuple[object, ...] = (
    "http://user@example.org:80/a/b;p?q=1&r=%20#f", "mailto:a@example.org", "//example.org", "a/../b?x=1", "",
)  # fmt: skip
ENCODINGS: tuple[object, ...] = ("utf-8", "latin-1", "ascii", "utf-16")
ADDRESSES: tuple[object, ...] = (("example.org", 80), ("127.0.0.1", 8080))
ENVIRONMENTS: tuple[object, ...] = (
    {"HOME": "/home/ann", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "DEBUG": "1"},
    {
        "wsgi.url_scheme": "http", "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/app", "PATH_INFO": "/a/b",
        "QUERY_STRING": "x=1&y=2", "SERVER_NAME": "example.org", "SERVER_PORT": "8080", "HTTP_HOST": "example.org",
    },
)  # fmt: skip
KINDS = (NUMBERS, LISTS, TEXTS, TEXT_LISTS, REALS, MAPS, NESTED, PAIRS, GRIDS, GRAPHS, RECORDS, BYTES)
HINTS = {
    "bytes": BYTES,
    "int": NUMBERS,
    "float": REALS,
    "str": TEXTS,
    "bool": FLAGS,
    "complex": REALS,
    "Number": NUMBERS,
}
_BY_NAME: Mapping[str, tuple[object, ...]] = {
    "html line message msg name sentence str string text token word": TEXTS,
    "dir directory dirname filename filepath folder path pathname": PATHS,
    "href link uri url": URLS,
    "arr array iterable iterator list lst seq sequence": LISTS,
    "count i index k length limit n num size width x y": NUMBERS,
    "board grid matrix mat": GRIDS,
    "adj adjacency graph": GRAPHS,
    "people person record": RECORDS,
    "interval pair": PAIRS,
    "dict dct mapping d table": MAPS,
    "charset codec encoding enc": ENCODINGS,
    "addr address server_address": ADDRESSES,
    "env environ environment": ENVIRONMENTS,
}
_LISTS_OF = ((NUMBERS, LISTS), (REALS, REAL_LISTS), (TEXTS, TEXT_LISTS), ((), LISTS))
SEQUENCES = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
LITERAL = re.compile(
    r"\[[^\[\]]*\]|\([^()]*,[^()]*\)|'[^'\n]{0,40}'|\"[^\"\n]{0,40}\"|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])"
)


def guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls to try, the most informative group first."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    required = [parameter for parameter in needed if parameter.kind == "positional"]
    if not required or len(required) < len(needed):
        return
    hinted = [_hinted(parameter) for parameter in required]
    if all(hinted):
        yield _rows([values for values in hinted if values])
        return
    literals = _literals(definition.docstring)
    if literals and len(required) <= 3:
        for chosen in itertools.permutations(literals, len(required)):
            yield [(tuple(chosen), {})]
    named = [values or _named(item.name) for values, item in zip(hinted, required, strict=True)]
    if all(named):
        yield _rows([values for values in named if values])
    for known in (named, hinted) if len(required) <= 3 else ():
        pools = [[values] if values else list(KINDS) for values in known]
        for kinds in sorted(itertools.product(*pools), key=lambda row: len({id(kind) for kind in row})):
            yield _rows(list(kinds))


def related_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls with related arguments, in every order that the type hints allow."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    if any(parameter.kind != "positional" for parameter in needed):
        return
    kinds = [item.annotation for item in needed]
    for order in itertools.permutations(range(len(needed))):
        for group in _groups().get(len(needed), ()):
            rows = [tuple(row[place] for place in order) for row in group]
            if not any(excluded for row in rows for excluded in map(excluded_by, kinds, row)):
                yield [(row, {}) for row in rows]


@cache
def _groups() -> dict[int, list[list[tuple[object, ...]]]]:
    """Return the groups by the number of arguments."""
    found: dict[int, list[list[tuple[object, ...]]]] = {}
    for group in tomllib.loads(Path(__file__).with_name("related.toml").read_text("utf-8"))["group"]:
        rows = [ast.literal_eval(f"({text})") for text in group["calls"]]
        found.setdefault(len(rows[0]), []).append(rows)
    return found


def _rows(pools: Sequence[Sequence[object]]) -> list[Arguments]:
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


def suggested_values(parameter: Parameter) -> tuple[object, ...]:
    """Return the values suggested by a parameter's type hint or name; empty if there are none."""
    return _hinted(parameter) or _named(parameter.name)


def _hinted(parameter: Parameter) -> tuple[object, ...]:
    """Return values for a type hint; empty if the hint is missing or not usable."""
    text = parameter.annotation.strip()
    if not text:
        return ()
    try:
        return _for_hint(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _named(name: str) -> tuple[object, ...]:
    bare = name.rstrip("0123456789s_")
    return next((values for names, values in _BY_NAME.items() if bare in names.split()), ())


def _for_hint(node: ast.expr) -> tuple[object, ...]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _for_hint(node.left) or _for_hint(node.right)
    name, parts = unqualified_name(node), list[ast.expr]()
    if isinstance(node, ast.Subscript):
        name = unqualified_name(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in MAPPINGS:
        return MAPS
    inner = [_for_hint(part) for part in parts]
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


def _literals(docstring: str) -> list[object]:
    found: dict[str, object] = {}
    for match in LITERAL.finditer(docstring[:4_000]):
        try:
            value = read_literal(match.group())
        except NotPlainError:
            continue
        found.setdefault(repr(value), value)
    return sorted(found.values(), key=lambda value: isinstance(value, int | float))[:MAX_LITERALS]


MOST_REQUIRED = 3
OTHERS = (TEXTS, NUMBERS, LISTS)  # for what stands beside a path and tells nothing of itself
NEW = ("made.txt", "docs/made.txt", "made.out", "docs/new.csv")
_NAMED = re.compile(
    r"(?:^|_)(?:path|file|files|filename|fname|filepath|dir|directory|dirname|folder|fn|infile|outfile|src|dst"
    r"|source|target|destination|dest|root|log|config|location|output|input)\d?$"
)
_WRITTEN = re.compile(r"(?:^|_)(?:out|outfile|output|dst|dest|destination|target)(?:_|\d?$)")


@cache
def sample_files() -> Mapping[str, bytes]:
    """Return the contents of the files by path."""
    return {
        file["path"]: bytes.fromhex(file["hex"]) if "hex" in file else file["text"].encode()
        for file in _data()["file"]
    }


@cache
def path_groups() -> tuple[tuple[str, ...], ...]:
    """Return the paths grouped by kind of file, in the order in which they are tried."""
    return tuple(tuple(group["paths"]) for group in _data()["group"])


@cache
def _data() -> Mapping[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_name("sample_files.toml").read_text("utf-8"))


def requires_path(definition: Definition) -> bool:
    """Return whether a required parameter is named like a path."""
    return any(item.required and _names_path(item) for item in definition.parameters)


def _names_path(parameter: Parameter) -> bool:
    return bool(_NAMED.search(parameter.name.lower()))


def file_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls to try with paths of the sample files, one group per kind of file."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    if not 0 < len(needed) <= MOST_REQUIRED or any(item.kind != "positional" for item in needed):
        return
    named = [place for place, item in enumerate(needed) if _names_path(item)]
    for chosen in [named] if named else [[place] for place in range(len(needed))]:
        if any(excluded_by(needed[place].annotation, "notes.txt") for place in chosen):
            continue
        suggested = [() if at in chosen else suggested_values(item) for at, item in enumerate(needed)]
        others = (
            OTHERS if any(not suggested[at] for at in range(len(needed)) if at not in chosen) else OTHERS[:1]
        )
        for group, values in itertools.product(path_groups(), others):
            pools: list[Sequence[object]] = [found or values for found in suggested]
            for place in chosen:  # of several paths, those that may be written to are new
                is_new = place != chosen[0] and (
                    _WRITTEN.search(needed[place].name.lower()) or place == chosen[-1]
                )
                pools[place] = NEW if is_new else group
            yield [(tuple(pool[row % len(pool)] for pool in pools), {}) for row in range(len(group))]
