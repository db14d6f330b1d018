"""What a function's syntax says it can do to the world, and what it did when it ran.

Read from the tree of the function with its surroundings: names are followed
through imports, aliases and `getattr` with a written name. It is a lower
bound, for Python can hide any call; what cannot be followed (`getattr` of
`os` with a computed name, a walk through `__subclasses__`) is a capability
of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from codeguard.behavior.effecttables import (
    CODE,
    CONVICTING,
    ESCAPE,
    INTERNALS,
    MEMBERS,
    MODULES,
    OBSERVED,
)
from codeguard.behavior.source import parse

_HOST_MODULES = frozenset({"os", "sys", "builtins", "posix", "io"})


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that a function can do: its kind, and how it is written or was seen."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def capabilities(source: str) -> frozenset[Capability]:
    """Return what a module's syntax says it can do; nothing where it does not parse."""
    tree = parse(source)
    return frozenset(_found(tree)) if tree is not None else frozenset()


def observed(effects: Iterable[str]) -> frozenset[Capability]:
    """Return what the sandbox saw code attempt, as capabilities."""
    found = set()
    for effect in effects:
        kind = OBSERVED.get(effect.partition(":")[0])
        if kind is not None:
            found.add(Capability(kind, f"ran {effect}"))
    return frozenset(found)


def beyond(candidate: Iterable[Capability], reference: Iterable[Capability]) -> tuple[Capability, ...]:
    """Return the candidate's capabilities of kinds that the reference has none of, the worst first."""
    allowed = {capability.kind for capability in reference}
    extra = [capability for capability in candidate if capability.kind not in allowed]
    return tuple(sorted(extra, key=lambda item: (item.kind not in CONVICTING, item.kind, item.detail)))


def _found(tree: ast.Module) -> Iterator[Capability]:
    names = _imported(tree)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _of_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from _of_module(node.module)
            for alias in node.names:
                yield from _of_name(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Attribute):
            if node.attr in INTERNALS:
                yield Capability(ESCAPE, node.attr)
            dotted = _dotted(node, names)
            if dotted:
                yield from _of_name(dotted)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in INTERNALS:
                yield Capability(ESCAPE, node.id)
            if node.id not in defined and node.id not in names:
                yield from _of_name(f"builtins.{node.id}")
        elif isinstance(node, ast.Call):
            yield from _of_getattr(node, names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in INTERNALS:
            yield Capability(ESCAPE, repr(node.value))


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what local names stand for, as dotted names; plain assignments of them are followed once."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            dotted = _dotted(node.value, names)
            if dotted:
                names.setdefault(node.targets[0].id, dotted)
    return names


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "__import__"
        and node.args
    ):
        first = node.args[0]
        base = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    else:
        base = names.get(node.id, "") if isinstance(node, ast.Name) else ""
    return ".".join([base, *reversed(parts)]) if base else ""


def _of_module(name: str) -> Iterator[Capability]:
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        kind = MODULES.get(".".join(parts[:length]))
        if kind is not None:
            yield Capability(kind, f"import {name}")
            return


def _of_name(dotted: str) -> Iterator[Capability]:
    parts = dotted.split(".")
    for length in range(1, len(parts) + 1):
        prefix = ".".join(parts[:length])
        kind = MEMBERS.get(prefix)
        if kind is not None:
            yield Capability(kind, prefix.removeprefix("builtins."))
            return


def _of_getattr(node: ast.Call, names: Mapping[str, str]) -> Iterator[Capability]:
    if not isinstance(node.func, ast.Name) or node.func.id not in ("getattr", "vars") or not node.args:
        return
    base = _dotted(node.args[0], names)
    if not base:
        return
    wanted = node.args[1] if len(node.args) > 1 else None
    if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
        yield from _of_name(f"{base}.{wanted.value}")
    elif base.partition(".")[0] in _HOST_MODULES:
        yield Capability(CODE, f"computed attribute of {base}")
