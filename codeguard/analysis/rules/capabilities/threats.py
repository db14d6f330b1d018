"""Threats that no row of a rule describes: what runs at import or install, and what no trusted counterpart reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from codeguard.analysis import Reading
from codeguard.analysis.python.bindings import is_main_guard
from codeguard.analysis.python.counterparts import TrustedFunction, TrustedFunctions
from codeguard.analysis.rules.base import Match
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING
from codeguard.models import Chunk, ChunkKind, Severity
from codeguard.syntax import capabilities as effects
from codeguard.syntax.capabilities import effect_of_name

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HOOKS = lazy(r"setuptools\.command\.(?:install|develop|egg_info|build_py)\.|distutils\.command\.install\.")


def threats(reading: Reading) -> Iterator[Match]:
    """Yield what runs when the file is imported or its package installed."""
    at_import = False  # one place is enough to see that the file is a script
    for call in reading.nodes_of(ast.Call):
        for found in _at_import(reading, call, reading.names.called(call)):
            yield replace(found, severity=Severity.LOW if at_import or _is_script(reading) else None)
            at_import = True
    for definition in reading.nodes_of(ast.ClassDef):
        yield from _install_hook(reading, definition)


def _at_import(reading: Reading, node: ast.Call, name: str) -> Iterator[Match]:
    if name not in SENDING and name not in RUNNING_COMMANDS:
        return
    if _runs_at_import(reading, node):
        kind = "network" if name in SENDING else "process"
        reason = f"{name} runs as soon as the file is imported ({kind})"
        yield Match("import-effect", *reading.place(node), reason)


_OF_SCRIPTS = frozenset({"input", "sys.exit", "argparse.ArgumentParser.parse_args", "getpass.getpass"})


def _is_script(reading: Reading) -> bool:
    """Return whether a file asks, reads arguments or ends the process outside of functions: nobody imports it."""
    return any(
        reading.names.called(node) in _OF_SCRIPTS and _runs_at_import(reading, node)
        for node in reading.nodes_of(ast.Call)
    )


def _runs_at_import(reading: Reading, node: ast.AST) -> bool:
    """Return whether a node runs on import, outside of functions and of the main guard."""
    child, at = node, reading.parents.get(node)
    while at is not None:
        if isinstance(at, ast.Lambda) and child is at.body:
            return False
        if isinstance(at, _FUNCTIONS) and any(child is item for item in at.body):
            return False
        if isinstance(at, ast.If) and any(child is item for item in at.body) and is_main_guard(at):
            return False
        child, at = at, reading.parents.get(at)
    return True


def _install_hook(reading: Reading, node: ast.ClassDef) -> Iterator[Match]:
    if not any(_HOOKS.match(f"{base}.") or _HOOKS.match(base) for base in reading.names.bases(node)):
        return
    for call in (item for item in walk(node) if isinstance(item, ast.Call)):
        name = reading.names.called(call)
        kind = effect_of_name(name)
        if kind in (effects.NETWORK, effects.PROCESS) or name in RUNNING_CODE - {"compile"}:
            severity = Severity.MEDIUM if kind == effects.PROCESS else None
            reason = f"{name} while a package is installed"
            yield Match("install-hook", *reading.place(call), reason, severity)
            return


_HARMLESS = frozenset({effects.HOST, effects.FRAMES})


def _able(reading: Reading) -> dict[ast.AST | None, dict[str, str]]:
    """Return the capabilities of the file's functions and of its module level (None), with the names that show them."""
    found: dict[ast.AST | None, dict[str, str]] = {}
    for node in reading.nodes:
        of = type(node)
        if of is ast.Call:
            name = reading.names.called(node)  # type: ignore[arg-type]
        elif of is ast.Attribute and node.attr == "environ":  # type: ignore[attr-defined]
            name = reading.names.resolve(node)  # type: ignore[arg-type]
        else:
            continue
        kind = effect_of_name(name) if name and name[0] != ":" else ""
        if kind:
            found.setdefault(reading.names.function_of(node), {}).setdefault(kind, name)
    return found


def beyond_counterparts(reading: Reading, trusted: TrustedFunctions) -> Iterator[Match]:
    """Yield the capabilities that a function has and no trusted function of its name and class has."""
    chunks = {
        chunk.symbol: chunk
        for chunk in reading.file.chunks
        if chunk.kind in (ChunkKind.FUNCTION, ChunkKind.METHOD)
    }
    for owner, kinds in _able(reading).items():
        risky = {kind: name for kind, name in kinds.items() if kind not in _HARMLESS}
        chunk = None if owner is None else chunks.get(reading.names.symbol(owner))
        counterparts = _counterparts(chunk, trusted) if risky and chunk is not None else []
        if not counterparts or owner is None:
            continue
        allowed = frozenset[str]().union(*map(_kinds_of, counterparts))
        extra = [f"{kind} ({name})" for kind, name in sorted(risky.items()) if kind not in allowed]
        if extra:
            twin = counterparts[0]
            reason = f"reaches {', '.join(extra)}; its trusted twin {twin.symbol} ({twin.origin}) does not"
            start, end = reading.place(owner)
            line_end = reading.text.find("\n", start)
            shown = end if line_end < 0 else min(end, line_end)
            yield Match("beyond-twin", start, shown, reason, Severity.MEDIUM)


def _counterparts(chunk: Chunk, trusted: TrustedFunctions) -> list[TrustedFunction]:
    """Return the trusted functions that a reader would take for this one, by name and parameters or code."""
    wanted = _parameters(chunk.text)
    return [
        counterpart.function
        for counterpart in trusted.counterparts(chunk)
        if counterpart.named
        and (counterpart.likeness >= 0.3 or (wanted and wanted == _parameters(counterpart.function.text)))
    ]


def _parameters(text: str) -> int:
    header = text[text.find("(") + 1 :].partition(")")[0]
    return header.count(",") + 1 if header.strip() else 0


def _kinds_of(function: TrustedFunction) -> frozenset[str]:
    return _kinds(function.text, function.imports) if function.language == "python" else frozenset()


@lru_cache(maxsize=4_096)
def _kinds(text: str, imports: tuple[str, ...]) -> frozenset[str]:
    source = "\n".join((*imports, *(("if True:",) if text[:1].isspace() else ()), text))
    reading = Reading(chunk_file("twin.py", source.encode("utf-8", "surrogatepass")))
    return frozenset(kind for kinds in _able(reading).values() for kind in kinds)
