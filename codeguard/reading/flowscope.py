"""Which functions of a file data flow has to look at: most hold no sink and pass nothing on to one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from codeguard.reading.flowsinks import SinkIndex
from codeguard.reading.flowtables import HEADER_HOLDERS
from codeguard.reading.names import Names
from codeguard.reading.scopes import FunctionNode

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign)


def functions_that_matter(
    names: Names, nodes: Sequence[ast.AST], sinks: SinkIndex, is_entry: Callable[[FunctionNode], bool]
) -> set[ast.AST | None]:
    """Return the functions whose flow can be told of, None among them for the top of the file.

    Those that hold a sink or a header that is set, and those that strangers
    call, whose answers count. With any of these also whoever calls them, what
    they stand in, and whoever stores attributes. Empty where nothing matters.
    """
    matter: set[ast.AST | None] = set()
    storing: list[ast.AST] = []
    callers: dict[ast.AST, set[ast.AST | None]] = {}
    for node in nodes:
        kind = type(node)
        if kind is ast.Call:
            resolved = names.names_of(node.func)  # type: ignore[attr-defined]
            if sinks.may_hold(node, resolved):  # type: ignore[arg-type]
                matter.add(names.function_of(node))
            for name in resolved:
                definition = names.definition(name) if name[:1] == ":" else None
                if isinstance(definition, _FUNCTIONS):
                    callers.setdefault(definition, set()).add(names.function_of(node))
        elif kind in _STORES:
            targets = node.targets if kind is ast.Assign else (node.target,)  # type: ignore[attr-defined]
            for target in targets:
                if isinstance(target, ast.Attribute):
                    storing.append(node)
                elif isinstance(target, ast.Subscript) and sets_header(target):
                    matter.add(names.function_of(node))
        elif kind in _FUNCTIONS:
            if is_entry(node):  # type: ignore[arg-type]
                matter.add(node)
            around = names.function_of(node)
            if around is not None:
                callers.setdefault(node, set()).add(around)
    if not matter:
        return matter
    waiting = [item for item in matter if item is not None]
    matter.update(names.function_of(node) for node in storing)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller is None or caller in matter:
                continue
            matter.add(caller)
            waiting.append(caller)
    return matter


def sets_header(target: ast.Subscript) -> bool:
    """Whether an assignment sets a header of a response."""
    holder = target.value
    name = (
        holder.attr
        if isinstance(holder, ast.Attribute)
        else holder.id
        if isinstance(holder, ast.Name)
        else ""
    )
    return name in HEADER_HOLDERS
