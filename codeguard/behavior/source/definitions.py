"""Read the definitions in Python source without running it, even if the source does not fully parse."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from codeguard.analysis.python.bindings import bindings
from codeguard.corpus import syntax
from codeguard.syntax.names import dotted_name

MAX_TEXT = 2_000_000  # characters; larger sources are data, not code
_BEGINNING = re.compile(r"(?!(?:elif|else|except|finally)\b)[^\W\d]|@")
_DECORATED = ("def ", "async ", "class ")
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
T = TypeVar("T")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def by_node(work: Callable[[Any], T]) -> Callable[[ast.AST], T]:
    """Cache what a function returns for a node, as long as the node exists."""
    known: WeakKeyDictionary[ast.AST, T] = WeakKeyDictionary()

    @wraps(work)
    def remembered(node: ast.AST) -> T:
        if node not in known:
            known[node] = work(node)
        return known[node]

    return remembered


@dataclass(frozen=True)
class Module:
    """The top-level statements of a file, with line numbers of the file.

    `whole` is False if the source, `text`, does not parse; the statements are then those of the parts that do. A source
    that is `too_large` is not read.
    """

    statements: tuple[ast.stmt, ...]
    whole: bool = True
    too_large: bool = False
    text: str = field(default="", repr=False)
    remembered: dict[tuple[str, int], Any] = field(default_factory=dict, compare=False, repr=False)

    def size(self, definition: Definition) -> int:
        """Return the number of characters in the lines of a definition."""
        return sum(map(len, self._lines[definition.first_line - 1 : definition.node.end_lineno]))

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """The names that the top level binds, including those in conditions."""
        return frozenset(bindings(self.statements))

    @cached_property
    def imported_packages(self) -> frozenset[str]:
        """The first parts of the names of modules that are imported in any case, relative imports left out."""
        names: list[str] = []
        for item in self.statements:
            match item:
                case ast.Import(aliases):
                    names += [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(name), level=0):
                    names.append(name)
        return frozenset(name.partition(".")[0] for name in names)

    @cached_property
    def listed(self) -> tuple[Definition, ...]:
        """All functions and methods, in order."""
        return tuple(definitions(self.statements))

    @cached_property
    def definitions(self) -> Mapping[str, Sequence[Definition]]:
        """All functions and methods by name."""
        found: dict[str, list[Definition]] = {}
        for definition in self.listed:
            found.setdefault(definition.name, []).append(definition)
        return found


@lru_cache(maxsize=8)
def parse_or_none(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if the text does not parse.

    The last trees are cached, because a candidate is read several times. Callers must not change
    the tree.
    """
    if len(text) > MAX_TEXT:
        return None
    try:
        return syntax.parse(text)
    except PARSE_ERRORS:
        return None


@lru_cache(maxsize=4)
def read_module(text: str) -> Module:
    """Return a file's statements, without prose and statements that do not parse.

    The last modules are cached, because every chunk of a file needs the same one.
    """
    text = text.removeprefix("\ufeff")
    tree = parse_or_none(text)
    if tree is not None:
        return Module(tuple(tree.body), text=text)
    if len(text) > MAX_TEXT or syntax.within_bounds(text) < len(text):
        return Module((), whole=False, too_large=True)
    return Module(tuple(_readable_statements(re.split("\r\n|\r|\n", text))), whole=False, text=text)


def _readable_statements(lines: Sequence[str], before: int = 0, quoted: bool = True) -> Iterator[ast.stmt]:
    """Yield the top-level statements that are read completely; `before` are the lines above.

    A lone word or sentence that happens to be an expression is prose, not code.
    """
    from codeguard.syntax.python_tree import parse_with_errors  # imported late because few files need it

    for first, block in _blocks(lines, quoted):
        tree, unread = parse_with_errors("\n".join(block))
        if unread and quoted:  # what was taken for a text of several lines may be none
            yield from _readable_statements(block, before + first, quoted=False)
        for statement in tree.body if not unread else ():
            if not isinstance(statement, ast.Expr):
                ast.increment_lineno(statement, before + first)
                yield statement


def _blocks(lines: Sequence[str], quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines up to the next one that begins a statement, each time with the number of lines above.

    So what does not parse takes nothing with it but its own lines, and those that it decorates. A line inside of a text
    of several lines begins none where texts are `quoted`.
    """
    first, block, quotes, decorates = 0, list[str](), 0, False
    for number, line in enumerate(lines):
        if block and quotes % 2 == 0 and not decorates and _BEGINNING.match(line):
            yield first, block
            first, block = number, []
        block.append(line)
        quotes += line.count('"""') + line.count("'''") if quoted else 0
        decorates = line.startswith("@") or (decorates and not line.startswith(_DECORATED))
    yield first, block


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: `kind` is positional, keyword, args or kwargs; `default` is source text."""

    name: str
    kind: str
    required: bool
    annotation: str = ""
    default: str = ""


@dataclass(frozen=True)
class Definition:
    """A function or method in its file.

    `owner` is the class statement that contains it. `nested` means that it is inside another
    function, where callers cannot reach it.
    """

    node: Function
    name: str
    owner: ast.ClassDef | None = None
    nested: bool = False

    @cached_property
    def docstring(self) -> str:
        """The docstring without indentation, or ""."""
        return ast.get_docstring(self.node) or ""

    @cached_property
    def text(self) -> str:
        """The source of the function only, in a normalised layout."""
        return unparse(self.node)

    @cached_property
    def first_line(self) -> int:
        """The first line including decorators, 1-based in the file."""
        return min([self.node.lineno, *(decorator.lineno for decorator in self.node.decorator_list)])

    @property
    def qualified_name(self) -> str:
        """The name with the class as a prefix."""
        return self.name if self.owner is None else f"{self.owner.name}.{self.name}"

    @property
    def binding(self) -> str:
        """How a method is bound: `instance`, `class`, `static`, or `` for a function."""
        if self.owner is None:
            return ""
        names = {dotted_name(decorator) for decorator in self.node.decorator_list}
        kinds = {"staticmethod": "static", "classmethod": "class"}
        return next((kind for name, kind in kinds.items() if name in names), "instance")

    @property
    def is_setter(self) -> bool:
        """Whether it is the setter or deleter of a property, which has the same name as the getter."""
        ends = {dotted_name(decorator).rpartition(".")[2] for decorator in self.node.decorator_list}
        return bool(ends & {"setter", "deleter"})

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a caller fills, without self or cls."""
        listed = tuple(_parameters(self.node.args))
        return listed[1:] if self.binding in ("instance", "class") else listed


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(positional) - len(arguments.defaults))
    rows: list[tuple[str, ast.arg | None, ast.expr | None]] = [
        *(("positional", *row) for row in zip(positional, [*missing, *arguments.defaults], strict=True)),
        ("args", arguments.vararg, None),
        *(("keyword", *row) for row in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)),
        ("kwargs", arguments.kwarg, None),
    ]
    for kind, argument, default in rows:
        if argument is not None:
            required = default is None and kind in ("positional", "keyword")
            text = unparse(default) if default is not None else ""
            yield Parameter(argument.arg, kind, required, _annotation(argument.annotation), text)


def _annotation(node: ast.expr | None) -> str:
    match node:
        case None:
            return ""
        case ast.Constant(value=str(text)):
            return text
    return unparse(node)


def unparse(node: ast.AST) -> str:
    """Return the source of a tree, or "" if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError, MemoryError):
        return ""


def raised_exceptions(tree: ast.AST) -> Counter[str]:
    """Count the exceptions that a source raises by name, or by an assertion."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found[dotted_name(node.exc).rpartition(".")[2]] += 1
        elif isinstance(node, ast.Assert):
            found["AssertionError"] += 1
    return found


def definitions(statements: tuple[ast.stmt, ...] | list[ast.stmt]) -> Iterator[Definition]:
    """Yield every function and method, including those inside compound statements and functions."""
    pending: list[tuple[ast.stmt, ast.ClassDef | None, bool]] = [
        (node, None, False) for node in reversed(statements)
    ]
    while pending:
        node, owner, nested = pending.pop()
        if isinstance(node, Function):
            yield Definition(node, node.name, owner, nested)
            inner: list[tuple[ast.stmt, ast.ClassDef | None, bool]] = [
                (child, None, True) for child in node.body
            ]
        elif isinstance(node, ast.ClassDef):
            # Callers cannot directly reach a class inside a class or a function.
            inner = [(child, node, nested or owner is not None) for child in node.body]
        else:
            inner = [(child, owner, nested) for child in child_statements(node)]
        pending.extend(reversed(inner))


def child_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements directly inside of a statement."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def definition_of(
    module: Module, symbol: str, first_line: int, last_line: int, text: str
) -> Definition | None:
    """Return the definition that a chunk stands for.

    It has the chunk's name, and its lines overlap the chunk's. If the file around it does not
    parse, only the chunk's own text is read.
    """
    name = symbol.rpartition(".")[2]
    named = module.definitions.get(name, ())
    starting = [item for item in named if first_line <= item.first_line <= last_line]
    around = [item for item in named if item.first_line < first_line <= (item.node.end_lineno or 0)]
    if starting or around:
        return (starting or around)[0]
    tree = parse_or_none(textwrap.dedent(text.removeprefix("\ufeff")))
    if tree is None:
        return None
    return next((found for found in definitions(tree.body) if found.name == name or not name), None)
