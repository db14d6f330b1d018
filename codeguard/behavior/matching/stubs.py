"""Detect functions that do nothing, and so cannot do what they describe."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from codeguard.behavior.source.definitions import Definition, Function
from codeguard.syntax.names import dotted_name

LEAST_WORDS = 3  # of a description
LEAST_EMPTY = 3  # methods of a class that do nothing
# Descriptions of honest functions that are there to be overridden, to do nothing or to fail.
_MEANT = re.compile(
    r"\b(?:nothing|no-?op\w*|no operation|stub\w*|dummy|placeholder|ignore[sd]?|overrid\w+|subclass\w*|abstract"
    r"|not (?:yet )?implemented|interface|protocol|hook|always|constant|deprecated|removed|rais\w+|abort\w*|no longer"
    r"|exceptions?|errors?|fails?|exits?|leaves\b[^.]{1,60}\bunchanged|use\b[^\n]{1,80}\binstead)\b",
    re.IGNORECASE,
)
_DECLARED = frozenset({"overload", "abstractmethod", "abstractproperty"})
_STORES = (ast.Attribute, ast.Subscript, ast.Starred)
_ASKS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
_CHANGES = (ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom)


def does_nothing(function: Function) -> bool:
    """Return whether a function with parameters reads none of them, calls nothing and changes nothing.

    It may return a constant, raise, or end without a result. Declarations of overloaded or abstract
    functions do not count.
    """
    if any(dotted_name(item).rpartition(".")[2] in _DECLARED for item in function.decorator_list):
        return False
    given = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    if not given:
        return False
    for node in _body(function):
        if isinstance(node, (*_ASKS, *_CHANGES)) or (isinstance(node, ast.Name) and node.id in given):
            return False
        if isinstance(node, _STORES) and isinstance(node.ctx, ast.Store):
            return False
    return True


def _is_interface(owner: ast.ClassDef) -> bool:
    """Return whether half of a class's methods, and not just a few, do nothing: they are there to be overridden."""
    methods = [item for item in owner.body if isinstance(item, Function)]
    empty = sum(map(does_nothing, methods))
    return empty >= LEAST_EMPTY and 2 * empty >= len(methods)


def is_declaration(function: Function, path: str) -> bool:
    """Return whether a function in a stub file (PEP 484, `.pyi`) has no body there."""
    return path.endswith(".pyi") and _has_no_body(function)


def _has_no_body(function: Function) -> bool:
    return all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def is_overload(function: Function, statements: Sequence[ast.stmt]) -> bool:
    """Return whether a function of a module only declares the types of an implementation that follows in its block.

    Whatever its decorator returns, the name is that of the implementation.
    """
    names = [dotted_name(item).rpartition(".")[2] for item in function.decorator_list]
    if names != ["overload"] or not _has_no_body(function):
        return False
    return any(
        isinstance(item, Function) and item.name == function.name and item.lineno > function.lineno
        for block in (statements, *_class_bodies(statements))
        if function in block
        for item in block
    )


_WITH_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def _class_bodies(statements: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of all classes that are in no function."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.ClassDef):
            yield item.body
        if not isinstance(item, Function):
            waiting += [node for node in ast.iter_child_nodes(item) if isinstance(node, _WITH_STATEMENTS)]


def is_meant_empty(definition: Definition) -> bool:
    """Return whether a function that does nothing is there to be overridden, or says that it raises."""
    raises, owner = isinstance(definition.node.body[-1], ast.Raise), definition.owner
    says = definition.docstring.lstrip().lower().startswith(("raise", "raising"))
    return raises and says if owner is None else raises or _is_interface(owner)


def describes_result(definition: Definition) -> bool:
    """Return whether a function describes a result, and nothing indicates that it is meant to do nothing.

    Methods and decorated functions are excluded, because they may be there to be overridden.
    """
    if definition.owner is not None or definition.node.decorator_list:
        return False
    docstring = definition.docstring
    return len(docstring.split()) >= LEAST_WORDS and _MEANT.search(docstring[:4_000]) is None


def _body(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes that a call executes, except the arguments of raised exceptions."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Raise):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))
