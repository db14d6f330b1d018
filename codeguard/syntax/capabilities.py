"""The effects that names of the library and attributes make possible, and those that runs showed.

The names are in `capabilities.toml`, for rules as for behavior. What cannot be followed (`getattr` on `os` with a
computed name, a walk through `__subclasses__`) is an effect of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NETWORK, PROCESS, FILES, ENVIRONMENT = "network", "process", "files", "environment"
CODE, NATIVE, ESCAPE = "dynamic code", "native code", "interpreter internals"
CLOCK, CHANCE, EVALUATION, THREADS, EXIT = "clock", "randomness", "eval", "threads", "exit"

CONVICTING = frozenset({NETWORK, PROCESS, FILES, ENVIRONMENT, CODE, NATIVE, ESCAPE})
"""Effects that convict if the trusted function lacks them; honest implementations differ in the others."""

OUTWARD = frozenset({NETWORK, PROCESS, FILES})
"""Effects that are the purpose of a function that has them: code without any cannot do what it does."""

DOES: Mapping[str, str] = {
    NETWORK: "opens a connection",
    PROCESS: "starts a process",
    FILES: "opens a file",
    ENVIRONMENT: "reads the environment",
    NATIVE: "calls native code",
}
"""What is said of the effects that somebody else may be served by, the most serious first."""

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _kinds(rows: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Turn kinds with their names into a mapping from names to kinds."""
    return {prefix + name: kind for kind, names in rows.items() for name in names.split()}


MODULES: Mapping[str, str] = _kinds(_TABLES["modules"])
"""Modules whose import makes an effect possible."""

_MEMBERS = {**_TABLES["members"], "posix": _TABLES["members"]["os"]}  # `os` is made of it
MEMBERS: Mapping[str, str] = {
    name: kind
    for module, rows in _MEMBERS.items()
    for name, kind in _kinds(rows, "" if module in ("dotted", "builtins") else f"{module}.").items()
}
"""Dotted names whose use makes an effect possible."""

INTERNALS = frozenset(_TABLES["internals"].split())
"""Attributes that lead from any object to everything else."""

OBSERVED: Mapping[str, str] = _kinds(_TABLES["observed"])
"""The sandbox's own names for what it observed."""

ANNOUNCING: Mapping[str, frozenset[str]] = {
    kind: frozenset(words.split()) for kind, words in _TABLES["announced"].items()
}
"""By kind of effect, the words with which a name or a description announces it."""

LOOKING = frozenset({"environ", "env"})
"""Of these, reading the environment without changing it."""

CHANGING = frozenset({"write", "delete"})
"""Of these, changing files."""

_EXCEPTIONS = frozenset({"timeout", "error", "herror", "gaierror"})
_HOST_MODULES = frozenset({"os", "sys", "builtins", "posix", "io"})


@dataclass(frozen=True, slots=True)
class Capability:
    """One effect that a function can have: its kind, and the code or event that shows it."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def capabilities_of_name(name: str) -> Iterator[Capability]:
    """Yield what the use of a resolved name makes possible; exceptions and constants of a module do nothing."""
    parts = name.split(".")
    last = parts[-1]
    exception = last in _EXCEPTIONS or last.endswith(("Error", "Exception", "Expired", "Warning"))
    if len(parts) > 1 and (exception or last.isupper()):
        return
    if last == "__dict__" and parts[0] in _HOST_MODULES:
        yield Capability(CODE, f"computed attribute of {parts[0]}")
    prefixes = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    member = next((prefix for prefix in prefixes if prefix in MEMBERS), "")
    if member:
        yield Capability(MEMBERS[member], member)
    # A part of a package may do more than the package.
    module = next((prefix for prefix in reversed(prefixes) if prefix in MODULES), "")
    if module:
        yield Capability(MODULES[module], f"import {module}")


def effect_of_name(name: str) -> str:
    """Return the effect of a resolved name by its longest prefix that has one, or ""."""
    at = name.removesuffix("()")
    while at:
        kind = MEMBERS.get(at) or MODULES.get(at)
        if kind is not None:
            return kind
        at = at.rpartition(".")[0]
    return ""


def capabilities_of_computed(holder: str) -> Iterator[Capability]:
    """Yield what an attribute with a computed name makes possible, of what has this resolved name."""
    if holder.partition(".")[0] in _HOST_MODULES:
        yield Capability(CODE, f"computed attribute of {holder}")


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
    """Return the candidate's capabilities of kinds that the reference does not have, the worst first."""
    allowed = {capability.kind for capability in reference}
    extra = {capability for capability in candidate if capability.kind not in allowed}
    return tuple(sorted(extra, key=lambda item: (item.kind not in CONVICTING, item.kind, item.detail)))
