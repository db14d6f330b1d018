"""Objects to pass to functions, as source text: files, dates, exceptions, and generic stand-ins.

A stand-in has every attribute, so it does not show how the real object would behave. A difference
that shows on stand-ins only convicts nobody.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeguard.behavior.inputs.discovery import LISTS, MAPS, TEXTS, suggested_values
from codeguard.behavior.inputs.options import CALLABLES, is_called
from codeguard.behavior.source.definitions import Definition, Parameter
from codeguard.behavior.specs.examples import Example

MAX_REQUIRED = 4
MAX_GROUPS = 24
MAX_ROWS = 8


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STAND_INS = """
class StandInText(str):
    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return StandInText(name)
    def __call__(self, *given, **named):
        return StandInText("-".join([self, *map(str, given)])[:60])
    def __enter__(self):
        return self
    def __exit__(self, *given):
        return None
class StandInNumber(int):
    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return StandInNumber(len(name) % 7 + 1)
    def __call__(self, *given, **named):
        return self
    def __iter__(self):
        return iter([StandInNumber(1), StandInNumber(2)])
    def __len__(self):
        return 2
    def __getitem__(self, key):
        return StandInNumber(len(str(key)))
"""
STOOD_IN = "StandIn"
STAND_IN_TEXTS = ("StandInText('made')", "StandInNumber(3)", "[StandInText('made')]")


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of objects: attributes and parameter names that identify it, and source that makes them.

    `pools` are alternatives: a function that takes one value of a pool takes all of them.
    """

    used: frozenset[str]
    names: frozenset[str]
    setup: str
    pools: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The sources of all its objects."""
        return tuple(text for pool in self.pools for text in pool)


FILES = ObjectKind(
    _names("read readline readlines write writelines seek tell getvalue close flush"),
    _names("file fp fileobj stream infile outfile"),
    "import io\n",
    (
        ("io.StringIO('ab\\nc\\n\\nd')", "io.StringIO('')"),
        ("io.BytesIO(b'ab\\nc\\n\\nd\\n')", "io.BytesIO()"),
    ),
)
KINDS = (
    FILES,
    ObjectKind(
        _names(
            "read_text read_bytes write_text write_bytes iterdir glob rglob is_file is_dir mkdir unlink touch stem "
            "suffix suffixes parent parents resolve joinpath with_suffix with_name relative_to as_posix is_absolute"
        ),
        _names("path filepath file_path folder directory"),
        "import pathlib\n",
        (
            ("pathlib.Path('notes.txt')", "pathlib.Path('data.csv')"),
            ("pathlib.Path('docs')", "pathlib.Path('.')"),
            ("pathlib.Path('data.json')", "pathlib.Path('settings.json')"),
            ("pathlib.Path('made.txt')", "pathlib.Path('docs/made')"),
        ),
    ),
    ObjectKind(
        _names("tzinfo year month day hour isoformat strftime timetuple"),
        _names("date datetime dt"),
        "import datetime\n",
        (
            (
                "datetime.datetime(2001, 2, 3, 4, 5, 6)",
                "datetime.datetime(1960, 12, 31, tzinfo=datetime.timezone.utc)",
            ),
            ("datetime.date(2024, 2, 29)", "datetime.date(1999, 12, 31)"),
        ),
    ),
    ObjectKind(
        _names("__traceback__ __cause__ __context__ args errno with_traceback"),
        _names("e err error exc exception"),
        "",
        (("ValueError('made', 2)", "KeyError('made')"), ("OSError(2, 'made')",)),
    ),
    ObjectKind(
        _names("__code__ __defaults__ __wrapped__ __annotations__ __qualname__"),
        _names("function func fun fn method callable"),
        "def made_function(first, second: int = 2, *rest, **named):\n    '''Made.'''\n    return first\n",
        (("made_function",), ("len",)),
    ),
    ObjectKind(
        _names("__mro__ __bases__ __subclasses__ __slots__"),
        _names("cls klass tp typ class_"),
        "class MadeClass:\n    '''Made.'''\n    value = 1\n    def method(self, given):\n        return given\n",
        (("MadeClass", "int"), ("list[int]",)),
    ),
)
FUNCTIONS = KINDS[-2:]
# For a parameter of which neither name nor use tells anything: a function and a class.
_UNTOLD = (("made_function", "MadeClass"),)
PLAIN_ATTRIBUTES = frozenset(
    name for kind in (str, bytes, int, float, complex, list, tuple, dict, set) for name in dir(kind)
)
PLAIN = tuple((frozenset(dir(type(values[0]))), tuple(map(repr, values))) for values in (TEXTS, LISTS, MAPS))


def needs_objects(definition: Definition) -> bool:
    """Return whether a function reads an attribute that no plain value has from a parameter or from `self`."""
    nodes = list(ast.walk(definition.node))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in bound
        and node.attr not in PLAIN_ATTRIBUTES
        for node in nodes
    )


def object_guesses(definition: Definition) -> Iterator[list[Example]]:
    """Yield groups of calls with objects to try on a function that rejects plain values, one per kind.

    What is in a file after the call is part of the result.
    """
    needed = [item for item in definition.parameters if item.required]
    if not 0 < len(needed) <= MAX_REQUIRED or any(item.kind != "positional" for item in needed):
        return
    choices = [_pools(item, definition) for item in needed]
    for pools in itertools.islice(itertools.product(*choices), MAX_GROUPS):
        longest = min(max(map(len, pools)), MAX_ROWS)
        yield [
            _call(
                definition.name,
                [pool[(row + shift) % len(pool)] for shift, pool in enumerate(pools)],
            )
            for row in range(longest)
        ]


def _pools(parameter: Parameter, definition: Definition) -> list[Sequence[str]]:
    """Return the alternatives for a parameter by kind: suggested values, or else an object or a stand-in."""
    used = _attributes_of(parameter.name, definition)
    if is_called(parameter, definition.node) and not used:
        return [CALLABLES, *(pool for kind in FUNCTIONS for pool in kind.pools)]
    kinds = [kind for kind in KINDS if kind.used & used or parameter.name.lower() in kind.names]
    found: list[Sequence[str]] = [pool for kind in kinds for pool in kind.pools]
    found += [texts for names, texts in PLAIN if used and used <= names]
    values = suggested_values(parameter)
    if values and not used:
        found.append(tuple(map(repr, values)))
    return found or [*_UNTOLD, *(STAND_IN_TEXTS[place : place + 1] for place in range(len(STAND_IN_TEXTS)))]


def _attributes_of(name: str, definition: Definition) -> set[str]:
    return {
        node.attr
        for node in ast.walk(definition.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }


def _call(name: str, values: Sequence[str]) -> Example:
    """Return a call with objects, followed by the contents of those that are files."""
    files = {f"file{place}": value for place, value in enumerate(values) if value in FILES.texts}
    given = [f"file{place}" if f"file{place}" in files else value for place, value in enumerate(values)]
    text = f"{name}({', '.join(given)})"
    if files:
        after = ", ".join(f"{file}.closed or {file}.getvalue()" for file in files)
        text = f"(lambda {', '.join(files)}: [{text}, {after}])({', '.join(files.values())})"
    setups = [kind.setup for kind in KINDS if any(value in kind.texts for value in values)]
    setups += [STAND_INS] if STOOD_IN in text else []
    return Example(None, {}, None, "", expression=text, setup="".join(setups), callee=name)
