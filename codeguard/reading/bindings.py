"""What binds a name in a Python file, and where its value takes effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class BindingKind(Enum):
    """How a name came by its value."""

    MODULE = auto()  # an import; `name` is the dotted name
    VALUE = auto()  # `value` is the expression
    PARAMETER = auto()  # `value` is the annotation, or None
    RECEIVER = auto()  # the first parameter of a method; `name` is the class
    DEFINED = auto()  # a function or class of this file; `name` is its qualified name
    OPAQUE = auto()  # a loop variable, an exception, a part of something unpacked


@dataclass(slots=True, eq=False)
class Binding:
    """One place where a name gets a value. `line` and `column` are where the value takes effect."""

    kind: BindingKind
    node: ast.AST
    line: int
    column: int
    name: str = ""
    value: ast.expr | None = None
    open_ended: bool = False  # one of several values, as the elements that a loop runs over


def at_end(
    kind: BindingKind,
    node: ast.AST,
    *,
    name: str = "",
    value: ast.expr | None = None,
    open_ended: bool = False,
) -> Binding:
    """Return a binding that takes effect where a node ends."""
    line = int(getattr(node, "end_lineno", None) or 0)
    column = int(getattr(node, "end_col_offset", None) or 0)
    return Binding(kind, node, line, column, name, value, open_ended)


def _decorators(node: FunctionNode | ast.Lambda) -> Iterator[str]:
    for decorator in getattr(node, "decorator_list", []):
        yield decorator.id if isinstance(decorator, ast.Name) else ""


def is_static(node: FunctionNode | ast.Lambda) -> bool:
    """Whether a method is given neither its class nor an instance."""
    return "staticmethod" in _decorators(node)


def is_class_method(node: FunctionNode | ast.Lambda) -> bool:
    """Whether a method is given its class."""
    return "classmethod" in _decorators(node) or getattr(node, "name", "") in (
        "__new__",
        "__init_subclass__",
        "__class_getitem__",
    )
