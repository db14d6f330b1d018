"""Threats that no row of a rule describes: what runs at import or install."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from codeguard.analysis import Reading
from codeguard.analysis.python.bindings import is_main_guard
from codeguard.analysis.rules.base import Match
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING
from codeguard.models import Severity
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
