"""Decide whether the rest of a file can give the names of a function another meaning.

A function is run with the statements that its names refer to, and the rest of its file is left out.
For a full pass the rest may only define, import and assign. What it runs on import, including the
functions that it calls, must neither mention what the function uses nor reach namespaces by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from codeguard.behavior.source.definitions import Function, Module, unparse
from codeguard.behavior.source.layout import part_of
from codeguard.behavior.source.names import bound_names, is_main_guard

_NAMESPACES = frozenset(
    """
    __builtins__ __import__ builtins compile ctypes delattr eval exec gc getattr globals importlib inspect locals
    operator runpy setattr types vars
    """.split()  # noqa: SIM905 - words read better as words
)
_NAMESPACE_ATTRIBUTES = frozenset({"_getframe", "modules"})
_PLAIN_ATTRIBUTES = frozenset(
    {"__class__", "__doc__", "__file__", "__init__", "__module__", "__name__", "__qualname__"}
)
_OWN = frozenset({"cls", "self"})


def disturbing_statement(module: Module, own: ast.stmt, tree: ast.Module, included: frozenset[str]) -> str:
    """Return a statement of a file that may give a name of a function another meaning, or "".

    `own` is the function, `tree` everything that is run with it, and `included` the statements that are run, as text.
    """
    if not module.whole:
        return "a part that does not parse"
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | bound_names(own)
    return next(_Rest(module, used).disturbing(own, included), "")


class _Rest:
    """The statements of a file besides a function, which uses the names `used`."""

    def __init__(self, module: Module, used: set[str]) -> None:
        self.module = module
        self.used = used
        self.local: Mapping[str, list[ast.stmt]] = _defined(module)
        imported = {
            name
            for statement in module.statements
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for name in bound_names(statement)
        }
        self.protected = used & (self.local.keys() - imported)

    def disturbing(self, own: ast.stmt, included: frozenset[str]) -> Iterator[str]:
        for statement in self.module.statements:
            for node in ast.walk(statement):
                if isinstance(node, ast.Global) and not self.used.isdisjoint(node.names):
                    yield _text(node)
            if statement is own:
                yield from self._definition(own)
            elif part_of(statement).plain not in included:
                yield from self._statement(statement)

    def _statement(self, statement: ast.stmt) -> Iterator[str]:
        kept = isinstance(statement, ast.Import | ast.ImportFrom)
        taken = bound_names(statement) & (self.protected if kept else self.used)
        if taken or "*" in bound_names(statement):
            yield _text(statement)
        elif is_main_guard(statement) or kept:
            return
        elif isinstance(statement, Function | ast.ClassDef):
            yield from self._definition(statement)
        elif isinstance(statement, ast.If | ast.Try):
            nodes = ast.iter_child_nodes(statement)
            parts = [
                part
                for node in nodes
                for part in (node.body if isinstance(node, ast.ExceptHandler) else [node])
            ]
            if not self._is_quiet(part for part in parts if isinstance(part, ast.expr)):
                yield _text(statement)
            for part in parts:
                if isinstance(part, ast.stmt):
                    yield from self._statement(part)
        elif isinstance(
            statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Assert | ast.Pass
        ):
            stored = [node for node in ast.walk(statement) if isinstance(node, ast.Attribute | ast.Subscript)]
            if any(not isinstance(node.ctx, ast.Load) for node in stored) or not self._is_quiet([statement]):
                yield _text(statement)
        else:
            yield _text(statement)

    def _definition(self, statement: ast.stmt) -> Iterator[str]:
        """Yield a definition if what it runs on import is not quiet; the names in a class are its own."""
        heads, calls = _heads(statement)
        if not self._is_quiet(heads, calls):
            yield _text(statement)
        for inner in statement.body if isinstance(statement, ast.ClassDef) else ():
            if isinstance(inner, Function | ast.ClassDef):
                yield from self._definition(inner)
            elif not self._is_quiet([inner]):
                yield _text(inner)

    def _is_quiet(self, parts: Iterable[ast.AST], calls: bool = False) -> bool:
        """Return whether code that runs on import, and all of the file that it mentions, leaves `used` alone."""
        pending = list(parts)
        nodes = [node for part in pending for node in ast.walk(part)]
        if any(isinstance(node, ast.NamedExpr) and node.target.id in self.used for node in nodes):
            return False
        if not calls and not any(isinstance(node, ast.Call) for node in nodes):
            return True
        seen: set[str] = set()
        while pending:
            for node in ast.walk(pending.pop()):
                if _reaches_namespaces(node):
                    return False
                if isinstance(node, ast.Name) and node.id not in seen:
                    if node.id in self.protected:
                        return False
                    seen.add(node.id)
                    pending.extend(self.local.get(node.id, ()))
        return True


def _reaches_namespaces(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _NAMESPACES
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in _NAMESPACES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {node.module or "", *(alias.name for alias in node.names)}
        return not names.isdisjoint(_NAMESPACES | _NAMESPACE_ATTRIBUTES | {"*"})
    if not isinstance(node, ast.Attribute):
        return False
    stored = not isinstance(node.ctx, ast.Load)
    of_self = isinstance(node.value, ast.Name) and node.value.id in _OWN
    special = node.attr.startswith("__") and node.attr.endswith("__") and node.attr not in _PLAIN_ATTRIBUTES
    return node.attr in _NAMESPACE_ATTRIBUTES or special or (stored and not of_self)


def _heads(statement: ast.stmt) -> tuple[list[ast.AST], bool]:
    """Return the parts of a definition that run when it is executed, and whether that calls code that is not read."""
    definition = cast("ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef", statement)
    decorators = definition.decorator_list
    if isinstance(definition, ast.ClassDef):
        bases = [*definition.bases, *definition.keywords]
        return [*decorators, *bases], bool(decorators or bases)
    parts = [*decorators, definition.args, definition.returns]
    return [part for part in parts if part is not None], bool(decorators)


def _defined(module: Module) -> Mapping[str, list[ast.stmt]]:
    """Return the statements that bind each name of a file."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in module.statements:
        for name in bound_names(statement):
            found.setdefault(name, []).append(statement)
    return found


def _text(node: ast.stmt) -> str:
    return unparse(node).partition("\n")[0][:60]
