"""Calls that plain arguments cannot write: without any, of methods on objects of their class, with other values.

What an argument may be follows from its annotation, or else from what the function does with it: the types that it
tests, the attributes that it reads, the constants that it compares, a call. An object is made as the file shows it, or
with arguments that follow from the constructor in the same way.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codeguard.behavior.inputs.discovery import KINDS, MAPPINGS, SEQUENCES, rows_of_pools
from codeguard.behavior.inputs.options import CALLABLES, Filled, compared_values, is_called, options_of
from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition, Function, Module, Parameter, unparse
from codeguard.behavior.specs.calls import plain_call
from codeguard.behavior.specs.docstrings import call_at
from codeguard.behavior.specs.examples import Example
from codeguard.corpus.syntax import unqualified_name
from codeguard.syntax.names import dotted_name

MOST_CALLS = 24
MOST_OBJECTS = 6  # of one class
MOST_DEPTH = 2  # of objects that are arguments of constructors, and of names that stand for annotations
MOST_TEXT = 200  # characters of one value
MOST_NODES = 4_000  # of one function that are read
FITTING = 2  # types that have all attributes
ENUMERATIONS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
RECORDS = frozenset({"dataclass", "define", "frozen", "attrs", "NamedTuple"})
UNKNOWN_ARGUMENTS = ("", "'a'", "3", "[3, 1, 2]", "{'a': 1}", "'a', 3")  # of a constructor in another file
_MODULE = re.compile(r"(?<![\w.'\"])([a-z]+)\.(?=\w)")


@functools.cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("values.toml").read_text("utf-8"))


@functools.cache
def _types() -> Mapping[str, type]:
    """Return the types of the table by their names, in its order."""
    split = ((name, name.rpartition(".")) for name in _tables()["types"])
    found = {name: getattr(importlib.import_module(parts[0] or "builtins"), parts[2]) for name, parts in split}
    return {name: kind for name, kind in found.items() if isinstance(kind, type)}


@functools.cache
def _named(name: str) -> tuple[str, ...]:
    """Return the values of a type by the last part of its name; empty if the table lacks it."""
    table = {key.rpartition(".")[2]: values for key, values in _tables()["types"].items()}
    if name in table:
        return tuple(table[name])
    parts = [part.rpartition(".")[2] for part in _tables()["names"].get(name, "").split()]
    if "iterator" in parts:
        return tuple(f"iter({value})" for value in table["list"])
    return tuple(_mixed([table[part] for part in parts]))


def _mixed(pools: Iterable[Sequence[str]]) -> list[str]:
    """Return the values of several pools, the first ones of all pools first."""
    rows = itertools.zip_longest(*pools)
    return list(dict.fromkeys(value for row in rows for value in row if value is not None))


def written_guesses(definition: Definition, module: Module) -> list[Filled]:
    """Return calls as expressions, those that set optional parameters last; empty for what no caller can reach."""
    writer, owner = _Writer(module), definition.owner
    bound = owner is not None and definition.binding == "instance"
    objects = writer.objects(owner.name) if owner is not None and bound else [owner.name if owner else ""]
    if not objects or len(list(itertools.islice(ast.walk(definition.node), MOST_NODES))) == MOST_NODES:
        return []
    callee = definition.qualified_name
    rows = writer.rows(definition)
    ends = {dotted_name(item).rpartition(".")[2] for item in definition.node.decorator_list}
    calls = [""] if bound and any("property" in end for end in ends) else [f"({row})" for row in rows]
    written: list[Filled] = []

    def write(made: str, call: str, *options: Any) -> None:
        text = f"{made}.{definition.name}{call}" if made else f"{definition.name}{call}"
        setup = "".join(f"import {name}\n" for name in sorted({*_MODULE.findall(text)} & _modules()))
        written.append((Example(None, {}, None, "", expression=text, setup=setup, callee=callee), options))

    for place in range(max(len(calls), len(objects))):
        write(objects[place % len(objects)], calls[place % len(calls)])
    for option in options_of(definition) if calls != [""] and rows else ():
        for value in option.values[:FITTING]:
            write(objects[0], f"({', '.join(filter(None, (rows[0], f'{option.parameter.name}={value}')))})", option)
    return written[:MOST_CALLS]


@functools.cache
def _modules() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in _tables()["types"] if "." in name)


class _Writer:
    """Writes the values that parameters in one module may have."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._classes = {item.name: item for item in module.statements if isinstance(item, ast.ClassDef)}
        self._made: dict[str, list[str]] = {}

    def rows(self, definition: Definition, depth: int = 0) -> list[str]:
        """Return the arguments of several calls that set what is required."""
        needed = [item for item in definition.parameters if item.required or item.kind == "args"]
        pools = [self._values(item, definition.node, depth) for item in needed]
        if not all(pools):
            return []
        names = [f"{item.name}=" if item.kind == "keyword" else "" for item in needed]
        made = rows_of_pools(pools) if pools else [((), {})]
        return [", ".join(f"{name}{value}" for name, value in zip(names, row, strict=True)) for row, _ in made]

    def objects(self, name: str, depth: int = 0) -> list[str]:
        """Return expressions that make objects of a class of the module, those that the file shows first."""
        if depth > MOST_DEPTH or name not in self._classes:
            return []
        if name not in self._made:
            self._made[name] = []  # of a class that needs an object of itself
            node = self._classes[name]
            made = [*self._shown(node), *self._constructed(node, depth)]
            self._made[name] = [text for text in dict.fromkeys(made) if len(text) <= MOST_TEXT][:MOST_OBJECTS]
        return self._made[name]

    def _shown(self, node: ast.ClassDef) -> Iterator[str]:
        """Yield the calls of a class, or of a class method of it, with plain arguments in the file's text."""
        methods = {item.name: item for item in node.body if isinstance(item, Function)}
        for match in re.finditer(rf"(?<![\w.]){node.name}(?:\.(\w+))?\((?!\))", self._module.text):
            method = methods.get(match.group(1) or "")
            line = self._module.text[match.start() : match.start() + MOST_TEXT]
            if match.group(1) is None or (method and Definition(method, method.name, node).binding == "class"):
                call, end = call_at(line, 0)
                if call is not None and plain_call(call) is not None:
                    yield line[:end]

    def _constructed(self, node: ast.ClassDef, depth: int) -> Iterator[str]:
        bases = [unqualified_name(base) for base in node.bases]
        made_by = self._constructor(node)
        if not ENUMERATIONS.isdisjoint(bases):
            yield from (f"list({node.name})[{place}]" for place in (0, -1))
        elif made_by is not None:
            yield from (f"{node.name}({row})" for row in self.rows(made_by, depth + 1))
        else:
            known = [value for base in bases for value in _named(base)]
            elsewhere = [base for base in bases if base not in self._classes and base not in ("object", "ABC")]
            yield from (f"{node.name}({text})" for text in (*known, *(UNKNOWN_ARGUMENTS if elsewhere else ("",))))

    def _constructor(self, node: ast.ClassDef, depth: int = 0) -> Definition | None:
        """Return what takes the arguments of a class: a method of it or of its bases in the file, or its fields."""
        for item in node.body:
            if isinstance(item, Function) and item.name in ("__init__", "__new__"):
                return Definition(item, item.name, node)
        marks = {dotted_name(item).rpartition(".")[2] for item in (*node.decorator_list, *node.bases)}
        if not RECORDS.isdisjoint(marks):
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            arguments = [ast.arg(unqualified_name(item.target), item.annotation) for item in fields if not item.value]
            made = ast.FunctionDef("__init__", ast.arguments([], [ast.arg("self"), *arguments], None, [], [], None, []))
            made.body, made.decorator_list = node.body, []
            return Definition(made, "__init__", node)
        above = (self._classes.get(unqualified_name(base)) for base in node.bases)
        found = (self._constructor(base, depth + 1) for base in above if base is not None and depth < MOST_DEPTH)
        return next((item for item in found if item is not None), None)

    def _values(self, parameter: Parameter, node: Function, depth: int) -> list[str]:
        """Return what a parameter may be, as texts."""
        hinted = list[str]()
        with contextlib.suppress(*PARSE_ERRORS):
            hinted = self._hinted(ast.parse(parameter.annotation.strip(), mode="eval").body, depth)
        return hinted or self._by_use(parameter, node, depth) or _mixed([[*map(repr, kind[:3])] for kind in KINDS])

    def _hinted(self, node: ast.expr, depth: int) -> list[str]:
        match node:
            case ast.BinOp(left, ast.BitOr(), right):
                return _mixed([self._hinted(part, depth) for part in (left, right)])
            case ast.Constant(value=str(text)) if depth <= MOST_DEPTH:
                return self._hinted(ast.parse(text, mode="eval").body, depth + 1)
            case ast.Constant(value=value):
                return [] if value is ... else [repr(value)]
            case ast.Subscript(value, part):
                name, parts = unqualified_name(value), part.elts if isinstance(part, ast.Tuple) else [part]
                inner = [self._hinted(item, depth) for item in parts]
                if name == "Literal":
                    return [unparse(item) for item in parts]
                if name in ("Union", "Optional", "Annotated", "Final"):
                    return _mixed(inner[:1] if name == "Annotated" else inner)
                if name in MAPPINGS and len(inner) == 2 and all(inner):
                    pairs = [f"{key}: {item}" for key, item in zip(*inner, strict=False)]
                    return [f"{{{', '.join(pairs[:size])}}}" for size in (2, 1)]
                if name in SEQUENCES and inner and inner[0]:
                    begins, ends = ("iter([", "])") if name == "Iterator" else ("[", "]")
                    return [f"{begins}{', '.join(inner[0][:size])}{ends}" for size in (3, 1)]
                if name in ("type", "Type", "tuple", "Tuple", "set", "Set", "frozenset") or name not in self._classes:
                    return self._hinted(value, depth)
                return self.objects(name, depth + 1)
        name = unqualified_name(node)
        if "Callable" in name:
            return list(CALLABLES)
        if name in self._classes:
            return self.objects(name, depth + 1)
        for item in self._module.statements if depth < MOST_DEPTH else ():
            match item:
                case ast.Assign([ast.Name(bound)], ast.Call(_, args, keywords)) if bound == name:
                    return _mixed(self._hinted(part, depth + 1) for part in (*args[1:], *(k.value for k in keywords)))
                case ast.Assign([ast.Name(bound)], value) | ast.AnnAssign(ast.Name(bound), _, value) if bound == name:
                    return self._hinted(value, depth + 1) if value is not None else []
        return list(_named(name))

    def _by_use(self, parameter: Parameter, node: Function, depth: int) -> list[str]:
        """Return what a parameter may be by what a function does with it."""
        read, tested = set[str](), list[ast.expr]()
        for child in ast.walk(node):
            match child:
                case ast.Attribute(ast.Name(name), attribute) if name == parameter.name:
                    read.add(attribute)
                case ast.Call(ast.Name("isinstance"), [ast.Name(name), kinds]) if name == parameter.name:
                    tested += kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        pools = [self._hinted(kind, depth) for kind in tested]
        if read:
            own = [name for name, item in self._classes.items() if read <= _attributes(item)]
            pools += [self.objects(name, depth + 1) for name in own[:FITTING]]
            fitting = (name for name, kind in _types().items() if all(hasattr(kind, item) for item in read))
            pools += [_tables()["types"][name] for name in itertools.islice(fitting, FITTING)]
        if is_called(parameter, node):
            pools.append(CALLABLES)
        return _mixed([list(dict.fromkeys(compared_values(parameter.name, node))), *pools])


def _attributes(node: ast.ClassDef) -> set[str]:
    """Return the names that objects of a class have by its own statements."""
    found = {item.name for item in node.body if isinstance(item, Function)}
    return found | {
        item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store)
    }
