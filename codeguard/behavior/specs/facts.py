"""What the text of a trusted file says of its functions: plain values, to be kept under the file's digest.

A library of trusted code is made of them. A file is parsed again only when one of its functions is run or shown.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from codeguard import behavior, sandbox
from codeguard.behavior.matching.candidate import is_declaration, is_overload
from codeguard.behavior.matching.claims import Features, function_features
from codeguard.behavior.source.definitions import Module
from codeguard.behavior.specs.docstrings import docstring_examples

BETWEEN = "\0"  # no node's text has it: constants are in the form of `repr`


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """One function that callers can reach.

    `place` is its number among the definitions of its file, `line` that of its `def`. `documented` means that its
    docstring has examples.
    """

    place: int
    name: str
    qualified_name: str
    line: int
    is_setter: bool
    documented: bool
    features: Features


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The functions of a file, the packages that it imports in any case, and what it shows if it is a test file."""

    functions: tuple[FunctionFacts, ...] = ()
    packages: frozenset[str] = frozenset()
    shown: Any = None  # see `codeguard.behavior.specs.assertions.shown_in`


def to_values(value: Any) -> Any:
    """Return facts as plain values, the same for the same facts."""
    if is_dataclass(value):
        return [to_values(getattr(value, item.name)) for item in fields(value)]
    if isinstance(value, Counter):
        return sorted(value.items())
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        is_text = not value or isinstance(value[0], str)
        return BETWEEN.join(value) if is_text else [to_values(item) for item in value]
    return value


@functools.cache
def reader_of(kind: Any) -> Callable[[Any], Any]:
    """Return what makes facts of a type of `to_values`."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        readers = [reader_of(hints[item.name]) for item in fields(kind)]
        return lambda values: kind(*(read(item) for read, item in zip(readers, values, strict=True)))
    if get_origin(kind) is tuple:
        if get_args(kind)[0] is str:
            return lambda text: tuple(map(sys.intern, text.split(BETWEEN))) if text else ()
        read_item = reader_of(get_args(kind)[0])
        return lambda values: tuple(map(read_item, values))
    if get_origin(kind) is Counter:
        return lambda values: Counter(dict(values))
    return frozenset if get_origin(kind) is frozenset else lambda value: value


def file_facts(path: str, module: Module) -> FileFacts:
    """Return the facts of a file with these statements."""
    functions = []
    for place, definition in enumerate(module.listed):
        node = definition.node
        if definition.nested or is_declaration(node, path) or is_overload(node, module.statements):
            continue
        functions.append(
            FunctionFacts(
                place,
                definition.name,
                definition.qualified_name,
                node.lineno,
                definition.is_setter,
                bool(docstring_examples(definition, path)),
                function_features(definition),
            )
        )
    return FileFacts(tuple(functions), module.imported_packages)


@functools.cache
def facts_version() -> str:
    """Return a digest of what derives facts of texts and of runs: the code for both, and the version of Python."""
    digest = hashlib.sha256(sys.version.encode())
    for package in (behavior, sandbox):
        for pattern in ("*.py", "*.toml"):
            for path in sorted(Path(package.__path__[0]).rglob(pattern)):
                digest.update(path.read_bytes())
    return digest.hexdigest()
