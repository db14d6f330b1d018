"""The effects that a function can have according to its syntax, and those that its runs showed.

They are read from the syntax tree of the function and the code that it needs. Names are followed
through imports, aliases and `getattr` with a literal name. The result is a lower bound, because
Python can hide any call. What cannot be followed (`getattr` on `os` with a computed name, a walk
through `__subclasses__`) is a capability of its own. The names that have effects are in `effect_tables.toml`.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeguard.behavior.source.definitions import parse_or_none
from codeguard.models import UNUSED

NETWORK, PROCESS, FILES, ENVIRONMENT = "network", "process", "files", "environment"
CODE, NATIVE, ESCAPE = "dynamic code", "native code", "interpreter internals"
CLOCK, CHANCE, EVALUATION, THREADS, EXIT = "clock", "randomness", "eval", "threads", "exit"

CONVICTING = frozenset({NETWORK, PROCESS, FILES, ENVIRONMENT, CODE, NATIVE, ESCAPE})
"""Effects that convict if the trusted function lacks them; honest implementations differ in the others."""

OUTWARD = frozenset({NETWORK, PROCESS, FILES})
"""Effects that are the purpose of a function that has them: code without any cannot do what it does."""

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("effect_tables.toml").read_text("utf-8"))


def _kinds(rows: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Turn kinds with their names into a mapping from names to kinds."""
    return {prefix + name: kind for kind, names in rows.items() for name in names.split()}


MODULES: Mapping[str, str] = _kinds(_TABLES["modules"])
"""Modules whose import makes an effect possible."""

_MEMBERS = {**_TABLES["members"], "posix": _TABLES["members"]["os"]}  # `os` is made of it
MEMBERS: Mapping[str, str] = {
    name: kind
    for module, rows in _MEMBERS.items()
    for name, kind in _kinds(rows, "" if module == "dotted" else f"{module}.").items()
}
"""Dotted names whose use makes an effect possible."""

INTERNALS = frozenset(_TABLES["internals"].split())
"""Attributes that lead from any object to everything else."""

OBSERVED: Mapping[str, str] = _kinds(_TABLES["observed"])
"""The sandbox's own names for what it observed."""

LOOKING = frozenset({"environ", "env"})
"""Of these, reading the environment without changing it."""

_ASKING = frozenset({"hasattr", "isinstance", "dir"})  # these reveal objects that the code was not given
_EXCEPTIONS = frozenset({"timeout", "error", "herror", "gaierror"})
_EFFECTFUL = frozenset(name.removeprefix("builtins.") for name in MEMBERS if name.startswith("builtins."))
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_HOST_MODULES = frozenset({"os", "sys", "builtins", "posix", "io"})


@dataclass(frozen=True, slots=True)
class Capability:
    """One effect that a function can have: its kind, and the code or event that shows it."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Chain:
    """A dotted expression: its first name, or the module in a call of `__import__`, and the other names."""

    root: str
    rest: tuple[str, ...]
    imported: bool = False


@dataclass(slots=True)
class Facts:
    """What one piece of source contributes before names are resolved.

    `imports` and `assigned` are local names with dotted names and with expressions. `modules` are the
    capabilities of imported modules with the local names of these. `lookups` are calls of getattr
    and vars with the attribute's name, or None if that is computed.
    """

    imports: list[tuple[str, str]] = field(default_factory=list)
    assigned: list[tuple[str, Chain]] = field(default_factory=list)
    modules: set[tuple[Capability, str]] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    certain: set[Capability] = field(default_factory=set)
    chains: set[Chain] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    lookups: set[tuple[Chain, str | None]] = field(default_factory=set)


def module_capabilities(source: str) -> frozenset[Capability]:
    """Return the capabilities of a module according to its syntax; empty if it does not parse."""
    tree = parse_or_none(source)
    return resolved([effect_facts(tree)]) if tree is not None else frozenset()


def effect_facts(tree: ast.AST) -> Facts:
    """Collect the facts of one piece of source, such as a top-level statement."""
    found = Facts()
    harmless: set[ast.AST] = _own_locals(tree)
    # One walk for all facts, because it is the cost of this function. Enclosing nodes come before inner ones, so
    # `harmless` is filled in time.
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found.imports.append((alias.asname or top, alias.name if alias.asname else top))
                found.modules.update((item, alias.asname or top) for item in _of_module(alias.name))
        # A relative import is of this package.
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found.imports.append((alias.asname or alias.name, f"{node.module}.{alias.name}"))
                found.modules.update((item, alias.asname or alias.name) for item in _of_module(node.module))
                found.certain.update(_of_name(f"{node.module}.{alias.name}"))
        elif isinstance(node, ast.Attribute):
            if _does_nothing(node):
                harmless.add(node.value)
            if node.attr in INTERNALS and node not in harmless:
                found.certain.add(Capability(ESCAPE, node.attr))
            elif node.attr.startswith("co_"):  # the names and numbers of a code object
                harmless.add(node.value)
            found.chains.update(_chain(node))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in INTERNALS and node not in harmless:
                found.certain.add(Capability(ESCAPE, node.id))
            if node not in harmless:
                found.loaded.add(node.id)
        elif isinstance(node, ast.Call):
            found.lookups.update(_lookup(node))
            if isinstance(node.func, ast.Name) and node.func.id in _ASKING:
                harmless.update(node.args[:1])
                # To ask whether an object is of a class of a module does nothing of what the module can do.
                harmless.update(_roots(node.args[1:2]) if node.func.id == "isinstance" else ())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in INTERNALS:
            # `getattr` and other attribute lookups take the name as text.
            found.certain.add(Capability(ESCAPE, repr(node.value)))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.defined.add(node.name)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                found.assigned.extend((target.id, chain) for chain in _chain(node.value))
    return found


def together(pieces: Iterable[Facts]) -> Facts:
    """Return the facts of pieces of source as those of one."""
    whole = Facts()
    for piece in pieces:
        whole.imports += piece.imports
        whole.assigned += piece.assigned
        for name in ("modules", "defined", "certain", "chains", "loaded", "lookups"):
            getattr(whole, name).update(getattr(piece, name))
    return whole


def _roots(classes: Sequence[ast.expr]) -> Iterator[ast.Name]:
    """Yield the modules that classes are written with, as `ssl` in `ssl.SSLSocket`."""
    for node in classes:
        if isinstance(node, ast.Tuple):
            yield from _roots(node.elts)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.value


def _own_locals(tree: ast.AST) -> set[ast.AST]:
    """Return the uses of a function's own parameter or local that only has the name of a builtin with effects.

    `def decode(self, input)` reads nothing from a terminal. Uses in functions that are nested in it are left out,
    and count as the builtin.
    """
    found: set[ast.AST] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            own = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
            names = [node for node in _of_scope(function.body) if isinstance(node, ast.Name)]
            own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
            own &= _EFFECTFUL
            if own:
                shared = {
                    name
                    for node in _of_scope(function.body)
                    if isinstance(node, ast.Global | ast.Nonlocal)
                    for name in node.names
                }
                found.update(node for node in names if node.id in own - shared)
    return found


def _of_scope(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of scopes nested in it."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))


def _does_nothing(node: ast.Attribute) -> bool:
    """Return whether an attribute of a module is an exception or a constant, as in `except socket.timeout`."""
    exception = node.attr in _EXCEPTIONS or node.attr.endswith(("Error", "Exception", "Expired", "Warning"))
    return (
        isinstance(node.value, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (exception or node.attr.isupper())
    )


def resolved(pieces: Sequence[Facts]) -> frozenset[Capability]:
    """Return the capabilities of pieces of one module together, with names resolved across all of them.

    Plain assignments of imported names are followed once.
    """
    names = {local: dotted for piece in pieces for local, dotted in piece.imports}
    for piece in pieces:
        for local, chain in piece.assigned:
            if dotted := _dotted(chain, names):
                names.setdefault(local, dotted)
    starred = {
        dotted.removesuffix(".*") for piece in pieces for local, dotted in piece.imports if local == "*"
    }
    known = names.keys() | {name for piece in pieces for name in piece.defined}
    used = {name for piece in pieces for name in piece.loaded}
    found: set[Capability] = set()
    for piece in pieces:
        found |= piece.certain
        for capability, local in piece.modules:
            read = local in used or local == "*"
            found.add(capability if read else Capability(capability.kind, capability.detail + UNUSED))
        for chain in piece.chains:
            found.update(_of_name(_dotted(chain, names)))
        for name in piece.loaded - known:
            for module in ("builtins", *starred):
                found.update(_of_name(f"{module}.{name}"))
        for chain, wanted in piece.lookups:
            found.update(_of_lookup(_dotted(chain, names), wanted))
    return frozenset(found)


def observed_effects(effects: Iterable[str]) -> frozenset[Capability]:
    """Return the effects that the sandbox reported, as capabilities."""
    found = set()
    for effect in effects:
        kind = OBSERVED.get(effect.partition(":")[0])
        if kind is not None:
            found.add(Capability(kind, f"ran {effect}"))
    return frozenset(found)


def capabilities_beyond(
    candidate: Iterable[Capability], reference: Iterable[Capability]
) -> tuple[Capability, ...]:
    """Return the candidate's capabilities of kinds that the reference does not have, the worst first.

    An import that is not used does not count.
    """
    allowed = {capability.kind for capability in reference}
    used = [capability for capability in candidate if not capability.detail.endswith(UNUSED)]
    extra = [capability for capability in used if capability.kind not in allowed]
    return tuple(sorted(extra, key=lambda item: (item.kind not in CONVICTING, item.kind, item.detail)))


def _chain(node: ast.expr) -> Iterator[Chain]:
    """Yield the dotted expression of a node; nothing if it does not start with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    rest = tuple(reversed(parts))
    if isinstance(node, ast.Name):
        yield Chain(node.id, rest)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "__import__"
        and node.args
        and isinstance(first := node.args[0], ast.Constant)
        and isinstance(first.value, str)
    ):
        yield Chain(first.value, rest, imported=True)


def _dotted(chain: Chain, names: Mapping[str, str]) -> str:
    base = chain.root if chain.imported else names.get(chain.root, "")
    return ".".join((base, *chain.rest)) if base else ""


def _of_module(name: str) -> Iterator[Capability]:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):  # a part of a package may do more than the package
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


def _lookup(node: ast.Call) -> Iterator[tuple[Chain, str | None]]:
    if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "vars") and node.args:
        wanted = node.args[1] if len(node.args) > 1 else None
        written = isinstance(wanted, ast.Constant) and isinstance(wanted.value, str)
        for chain in _chain(node.args[0]):
            yield chain, str(wanted.value) if written and isinstance(wanted, ast.Constant) else None


def _of_lookup(base: str, wanted: str | None) -> Iterator[Capability]:
    if base and wanted is not None:
        yield from _of_name(f"{base}.{wanted}")
    elif base and base.partition(".")[0] in _HOST_MODULES:
        yield Capability(CODE, f"computed attribute of {base}")
