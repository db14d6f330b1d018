"""Calls that plain arguments cannot write: without any, of methods on objects of their class, with other values.

What an argument may be follows from its annotation, or else from what the function does with it: the types that it
tests, the attributes that it reads, the constants that it compares, a call. An object is made as the file shows it, or
with arguments that follow from the constructor in the same way.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from codeguard.behavior.inputs.discovery import KINDS, described_values, rows_of_pools, values_for_hint
from codeguard.behavior.inputs.options import CALLABLES, Filled, compared_values, is_called, options_of
from codeguard.behavior.source.definitions import (
    Definition,
    Function,
    Module,
    Parameter,
    parse_or_none,
    unparse,
)
from codeguard.behavior.specs.docstrings import call_at
from codeguard.behavior.specs.examples import Example, plain_call
from codeguard.corpus.patterns import stored
from codeguard.corpus.syntax import unqualified_name

MOST_CALLS = 40
MOST_OBJECTS = 6  # of one class
MOST_DEPTH = 2  # of objects that are arguments of constructors, and of names that stand for annotations
MOST_SHOWN = 4  # texts of a description
MOST_READ, MOST_TEXT = 20, 200  # calls of a class in its file, and characters of one
MOST_NODES = 4_000  # of one function that are read
FITTING = 2  # types that have all attributes, and values of one option
RECORDS = frozenset({"dataclass", "define", "frozen", "NamedTuple"})
UNKNOWN_ARGUMENTS = ("", "'a'", "3", "[3, 1, 2]", "{'a': 1}", "'a', 3")  # of a constructor in another file
_MODULE = re.compile(r"(?<![\w.'\"])([a-z]+)\.(?=\w)")


_TABLES = Path(__file__).with_name("values.toml")


@functools.cache
def _types() -> Mapping[str, object]:
    """Return the types of the table by their names, in its order."""
    split = {name: name.rpartition(".") for name in stored(_TABLES)["types"]}
    return {
        name: getattr(importlib.import_module(at or "builtins"), last)
        for name, (at, _, last) in split.items()
    }


@functools.cache
def _named(name: str) -> tuple[str, ...]:
    """Return the values of a type by the last part of its name; empty if the table lacks it."""
    table = {key.rpartition(".")[2]: values for key, values in stored(_TABLES)["types"].items()}
    others = stored(_TABLES)["names"].get(name, "").split()
    return tuple(table.get(name) or _mixed(table[part.rpartition(".")[2]] for part in others))


def _mixed(pools: Iterable[Sequence[str]]) -> list[str]:
    """Return the values of several pools, the first ones of all pools first."""
    rows = itertools.zip_longest(*pools)
    return list(dict.fromkeys(value for row in rows for value in row if value is not None))


def written_guesses(definition: Definition, module: Module) -> list[Filled]:
    """Return calls as expressions, each with the optional parameter that it sets, those that set none first."""
    owner, name = definition.owner, definition.name
    if name.startswith("__"):  # every class has its own state to make and to show
        return []
    key = ("written values", 0)
    writer: _Writer = module.remembered.get(key) or module.remembered.setdefault(key, _Writer(module))
    is_bound = owner is not None and definition.binding == "instance"
    objects = writer.objects(owner.name) if owner and is_bound else [owner.name if owner else ""]
    rows = writer.rows(definition)
    if (
        not objects
        or not rows
        or len([*itertools.islice(ast.walk(definition.node), MOST_NODES)]) == MOST_NODES
    ):
        return []
    ends = [unqualified_name(item) for item in definition.node.decorator_list]
    is_read = any(end.endswith("property") for end in ends)
    gives = (ast.Return, ast.Yield, ast.YieldFrom)  # a method that gives nothing is there for what it changes
    changes = not any(isinstance(item, gives) and item.value for item in ast.walk(definition.node))
    modules = {kind.partition(".")[0] for kind in _types() if "." in kind}
    options = [(item, value) for item in options_of(definition) for value in item.values[:FITTING]]
    count = max(len(rows), len(objects))
    found: list[Filled] = []
    for at in range(min(MOST_CALLS, count + len(options))):
        option, value = options[at - count] if at >= count else (None, "")
        made, row = objects[at % len(objects)], rows[0 if option else at % len(rows)]
        row = f"{row}{', ' if row else ''}{option.parameter.name}={value}" if option else row
        text = f"{made}{'.' if made else ''}{name}{'' if is_read else f'({row})'}"
        if is_bound and changes:
            text = f"[one := {made}, one.{name}({row})][0]"
        setup = "".join(f"import {item}\n" for item in sorted(modules.intersection(_MODULE.findall(text))))
        example = Example(None, expression=text, setup=setup, callee=definition.qualified_name)
        call = call_at(text, 0)[0] if row and not (option or owner or setup) else None
        plain = plain_call(call, definition.parameters) if call is not None else None
        found.append((Example(*plain) if plain else example, (option,) if option else ()))
    return found


class _Writer:
    """Writes the values that parameters in one module may have."""

    def __init__(self, module: Module) -> None:
        self._text = module.text
        self._classes = {item.name: item for item in module.statements if isinstance(item, ast.ClassDef)}
        assigned = [item for item in module.statements if isinstance(item, ast.Assign)]
        self._bound = {unqualified_name(item.targets[0]): item.value for item in assigned}
        self._made: dict[str, list[str]] = {}

    @functools.cached_property
    def _attributes(self) -> Mapping[str, Set[str]]:
        """The names that objects of each class have by the statements of the class."""
        stored = {
            name: [
                item
                for item in ast.walk(node)
                if isinstance(getattr(item, "ctx", item), ast.Store | Function)
            ]
            for name, node in self._classes.items()
        }
        return {
            name: {getattr(item, "attr", getattr(item, "name", "")) for item in own}
            for name, own in stored.items()
        }

    def rows(self, definition: Definition, depth: int = 0) -> list[str]:
        """Return the arguments of several calls that set what is required."""
        needed = [item for item in definition.parameters if item.required or item.kind == "args"]
        pools = [self._values(item, definition.node, depth) for item in needed]
        names = [f"{item.name}=" if item.kind == "keyword" else "" for item in needed]
        rows = [row for row, _ in rows_of_pools(pools)] if pools and all(pools) else [] if pools else [()]
        return [", ".join(f"{name}{value}" for name, value in zip(names, row, strict=True)) for row in rows]

    def objects(self, name: str, depth: int = 0) -> list[str]:
        """Return expressions that make objects of a class of the module, those that the file shows first."""
        node = self._classes.get(name)
        if depth > MOST_DEPTH or node is None:
            return []
        if name not in self._made:
            self._made[name] = []  # of a class that needs an object of itself
            made = dict.fromkeys((*self._shown(node), *self._constructed(node, depth)))
            self._made[name] = [text for text in made if len(text) <= MOST_TEXT][:MOST_OBJECTS]
        return self._made[name]

    def _shown(self, node: ast.ClassDef) -> Iterator[str]:
        """Yield the calls of a class, or of a class method of it, with plain arguments in the file's text."""
        methods = [Definition(item, item.name, node) for item in node.body if isinstance(item, Function)]
        makers = {item.name for item in methods if item.binding == "class"} | {None}
        places = re.finditer(rf"(?<![\w.]){node.name}(?:\.(\w+))?\((?!\))", self._text)
        for match in itertools.islice(places, MOST_READ):
            text = self._text[match.start() : match.start() + MOST_TEXT]
            call, end = call_at(text, 0) if match.group(1) in makers else (None, 0)
            if call is not None and plain_call(call) is not None:
                yield text[:end]

    def _constructed(self, node: ast.ClassDef, depth: int) -> list[str]:
        """Return expressions that make an object by what its constructor takes, or else its bases."""
        bases = [unqualified_name(base) for base in node.bases]
        maker = self._constructor(node)
        if any(base.endswith(("Enum", "Flag")) for base in bases):
            return [f"list({node.name})[{place}]" for place in (0, -1)]
        rows = _mixed(map(_named, bases)) if maker is None else self.rows(maker, depth + 1)
        if maker is None and not {"object", "ABC", *self._classes}.issuperset(bases):
            rows += UNKNOWN_ARGUMENTS
        return [f"{node.name}({row})" for row in rows or ([""] if maker is None else [])]

    def _constructor(self, node: ast.ClassDef, depth: int = 0) -> Definition | None:
        """Return what takes the arguments of a class: a method of it or of its bases in the file, or its fields."""
        marks = {unqualified_name(item) for item in (*node.decorator_list, *node.bases)}
        made = [
            item for item in node.body if isinstance(item, Function) and item.name in ("__init__", "__new__")
        ]
        if not made and not RECORDS.isdisjoint(marks):
            fields = ", ".join(unparse(item) for item in node.body if isinstance(item, ast.AnnAssign))
            tree = parse_or_none(f"def __init__(self, {fields}): pass")
            made = [item for item in (tree.body if tree else ()) if isinstance(item, Function)]
        if made:
            return Definition(made[0], "__init__", node)
        above = [
            self._classes[name] for base in node.bases if (name := unqualified_name(base)) in self._classes
        ]
        found = (self._constructor(base, depth + 1) for base in above if depth < MOST_DEPTH)
        return next(filter(None, found), None)

    def _values(self, parameter: Parameter, node: Function, depth: int) -> list[str]:
        """Return what a parameter may be, as texts."""
        found = self._hinted(parse_or_none(parameter.annotation.strip()), depth)
        found = (
            found
            or self._by_use(parameter, node, depth)
            or _mixed([*([*map(repr, kind[:2])] for kind in KINDS), _named("str")])
        )
        if not found[0].startswith(("'", '"')):
            return found
        shown = [item for item in described_values(ast.get_docstring(node) or "") if isinstance(item, str)]
        return [*map(repr, shown[:MOST_SHOWN]), *found]

    def _hinted(self, node: ast.AST | None, depth: int) -> list[str]:
        """Return the values of a type that an expression names."""
        match node:
            case ast.Module([ast.Expr(value)]):
                return [*map(repr, values_for_hint(value))] or self._hinted(value, depth)
            case ast.BinOp(left, ast.BitOr(), right):
                return _mixed([self._hinted(part, depth) for part in (left, right)])
            case ast.Constant(value):
                return self._hinted(parse_or_none(value), depth) if isinstance(value, str) else [repr(value)]
            case ast.Subscript(value, part):
                name, parts = unqualified_name(value), part.elts if isinstance(part, ast.Tuple) else [part]
                if name in ("Union", "Optional", "Annotated"):
                    return _mixed(self._hinted(item, depth) for item in parts)
                return [*map(unparse, parts)] if name == "Literal" else self._hinted(value, depth)
        name = unqualified_name(node) if isinstance(node, ast.expr) else ""
        if "Callable" in name:
            return list(CALLABLES)
        if name in self._bound and depth < MOST_DEPTH:
            return self._hinted(self._bound[name], depth + 1)
        return self.objects(name, depth + 1) if name in self._classes else list(_named(name))

    def _by_use(self, parameter: Parameter, node: Function, depth: int) -> list[str]:
        """Return what a parameter may be by what a function does with it."""
        read, tested, computes = set[str](), list[ast.expr](), False
        for child in ast.walk(node):
            match child:
                case ast.Attribute(ast.Name(name), attribute) if name == parameter.name:
                    read.add(attribute)
                case ast.Call(ast.Name("isinstance"), [ast.Name(name), kinds]) if name == parameter.name:
                    tested += kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                case ast.BinOp(ast.Name(name), sign, _) | ast.BinOp(_, sign, ast.Name(name)) if (
                    name == parameter.name
                ):
                    computes = computes or isinstance(
                        sign, ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Pow
                    )
        pools: list[Sequence[str]] = [list(dict.fromkeys(compared_values(parameter.name, node)))]
        pools += [self._hinted(kind, depth) for kind in tested]
        pools += [_named("Number")] if computes else []
        if read:
            own = (name for name, known in self._attributes.items() if read <= known)
            pools += [self.objects(name, depth + 1) for name in itertools.islice(own, FITTING)]
            fitting = (name for name, kind in _types().items() if all(hasattr(kind, item) for item in read))
            pools += [stored(_TABLES)["types"][name] for name in itertools.islice(fitting, FITTING)]
        return _mixed([*pools, CALLABLES] if is_called(parameter, node) else pools)
