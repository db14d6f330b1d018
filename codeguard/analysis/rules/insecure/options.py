"""Insecure options of libraries, as a table of names and values that match wherever they are set."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View
from codeguard.analysis.rules.insecure.surroundings import is_for_debugging
from codeguard.analysis.rules.insecure.transport import asked_for
from codeguard.corpus.syntax import unqualified_name
from codeguard.models import Severity

_SETTERS = frozenset({"set_option", "setopt", "set", "setdefault", "setattr"})


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One row of `options.toml`, which documents its fields."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    says: str
    of: frozenset[str] = frozenset()
    near: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    at: int = 99
    severity: Severity | None = None

    def holds(self, view: View, value: ast.expr) -> bool:
        """Return whether a value is one of the row's."""
        if isinstance(value, ast.Lambda):
            value = value.body
        given = view.names.constant(value, ...)
        if given is not ...:
            members = given if isinstance(given, tuple) else (given,)
            return any(repr(member) in self.values for member in members)
        return view.names.resolve(value).removesuffix("()").rpartition(".")[2] in self.values


class Options:
    """The options of all rules, by name."""

    def __init__(self, checks: Iterable[Check]) -> None:
        by_rule = {check.rule.id: check for check in checks}
        self._known: dict[str, list[tuple[Check, OptionRow]]] = {}
        self._left_out: dict[str, tuple[Check, OptionRow]] = {}
        for rule, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
            for row in rows:
                severity = Severity[row["severity"].upper()] if "severity" in row else None
                made = {
                    "values": tuple(row["values"]),
                    "near": tuple(row.get("near", ())),
                    "calls": tuple(row.get("calls", ())),
                    "severity": severity,
                }
                option = OptionRow(**{**row, **made, "of": frozenset(row.get("of", ()))})
                self._left_out.update((call, (by_rule[rule], option)) for call in option.calls)
                for name in option.names if not option.calls else ():
                    self._known.setdefault(name, []).append((by_rule[rule], option))

    def found(self, view: View) -> Iterator[tuple[Check, NodeMatch]]:
        """Yield the insecure options in a file, at most once per position and rule."""
        for call in view.reading.nodes_of(ast.Call):
            for called in view.names.names_of(call.func):
                if called in self._left_out:
                    check, option = self._left_out[called]
                    given = any(item.arg in (None, *option.names) for item in call.keywords)
                    if (
                        not given
                        and len(call.args) <= option.at
                        and (not option.near or view.has(*option.near))
                    ):
                        yield check, NodeMatch(call, f"no {option.names[0]}: {option.says}", option.severity)
        for kind in (ast.keyword, ast.Assign, ast.AnnAssign, ast.Dict, ast.Call, ast.Tuple):
            for node in view.reading.nodes_of(kind):
                for name, value in _told(view, node):
                    for check, option in self._known.get(name, ()):
                        if _imports(view, node, option) and option.holds(view, value):
                            far = bool(option.near) and not view.has(*option.near)
                            asked = asked_for(view, node) or (
                                check.rule.id == "debug-server" and is_for_debugging(view, node)
                            )
                            severity = Severity.LOW if far or asked else option.severity
                            yield check, NodeMatch(_place(node, value), f"{name}: {option.says}", severity)


def _imports(view: View, node: ast.AST, option: OptionRow) -> bool:
    """Return whether the file uses a library of the option, and a keyword is not passed to another one."""
    if not option.of:
        return True
    if not view.modules & option.of:
        return False
    call = view.parent(node) if isinstance(node, ast.keyword) else None
    root = view.names.called(call).partition(".")[0] if isinstance(call, ast.Call) else ""
    return root not in view.modules or root in option.of


def _place(node: ast.AST, value: ast.expr) -> ast.AST:
    return value if isinstance(node, ast.Dict) else node


def _told(view: View, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and values that a node sets."""
    if isinstance(node, ast.keyword):
        if node.arg:
            yield node.arg, node.value
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for name in _names(view, target) if node.value is not None else ():
                yield name, node.value  # type: ignore[misc]
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from ((name, value) for name in ([] if key is None else _names(view, key)))
    elif isinstance(node, ast.Call):
        yield from _set(view, node)
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
        yield from ((name, node.elts[1]) for name in _names(view, node.elts[0]))


def _set(view: View, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield names and values of `line.set_debuglevel(1)` or `ldap.set_option(name, value)`."""
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return
    if len(node.args) == 1:
        yield node.func.attr, node.args[0]
    elif node.func.attr in _SETTERS:
        yield from ((name, node.args[-1]) for name in _names(view, node.args[-2]))


def _names(view: View, node: ast.expr) -> tuple[str, ...]:
    """Return the names of a variable, an attribute (with and without its object) or a key."""
    if isinstance(node, ast.Attribute):
        return node.attr, f"{unqualified_name(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Subscript):
        node = node.slice
    return (node.value,) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()
