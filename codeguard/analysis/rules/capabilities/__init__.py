"""What code can do, and combinations of effects and data that are a threat."""

from __future__ import annotations

import ast
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.bindings import is_main_guard
from codeguard.analysis.reading import PROSE, SCRIPTS
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.analysis.rules.capabilities.shells import (
    pattern,
    script_places,
    shell_places,
    shell_threats,
)
from codeguard.analysis.rules.insecure import RuleIndex, load_checks
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import nodes_and_parents, walk
from codeguard.flow import labels as label
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING, effects_of
from codeguard.flow.front_ends import lowered
from codeguard.flow.labels import Arrival, TaintFlow, labels_of_kind
from codeguard.models import Severity
from codeguard.syntax.capabilities import NETWORK, PROCESS, effect_of_name
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FUNCTIONS

_RUNNING, _REACHING = pattern("<running>"), pattern("<reaching>")
_ADDRESS, _INSTALLERS = pattern("<address>", re.I), pattern(r"<installers>\S*", re.I)
_ROWS = RuleIndex(check for check in load_checks(__path__) if check.rows)


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    if reading.language == "bash":
        yield from _graded(reading, _without_comments(reading, shell_places(reading.text)))
    elif reading.language in PROSE:
        text = _without_inline_marks(reading.text) if reading.language == "markdown" else reading.text
        yield from _graded(reading, _in_prose(text))
    elif reading.language != "python":
        yield from reading.unread.apart("the data flow", _flowing, reading)
        if reading.language in SCRIPTS:
            yield from _without_comments(reading, script_places(reading.text))
    elif reading.tree is not None:
        apart = reading.unread.apart
        for item in apart("what runs at import", _early, reading):
            if not (reading.within and item.rule == "import-effect"):  # nobody imports examples or notebooks
                yield item
        yield from apart("the rules that are rows", _ROWS.inspect, reading)
        yield from apart("the data flow", _flowing, reading)


def _flowing(reading: Reading) -> Iterator[Match]:
    """Yield what the data flow shows, in any language that has a table of effects."""
    effects = effects_of(reading.language)
    if effects is None or not (effects.may_act(reading.text) or _COMPOSED.search(reading.text)):
        return
    nodes, names = reading.nodes, reading.names
    if reading.language != "python":
        tree = lowered(reading.text, reading.language, reading.unread)
        if tree is None:
            return
        nodes, parents = nodes_and_parents(tree)
        names = Names(tree, nodes, parents, reading.unread)
    for arrival in TaintFlow(names, nodes, effects).arrivals:
        yield from _arrived(reading, arrival)


# Names that are put together need not hold a word of the table.
_COMPOSED = lazy(r"child_process|\bconstructor\b|require\s*\(\s*[^'\"\s)]|getattr|__import__|import_module")
_FENCED = lazy(r"^[ \t]{0,12}(```|~~~)[^\n]{0,200}$", re.MULTILINE)
_INLINE = lazy(r"(?<!`)`([^`\n]{1,400})`(?!`)")


def _without_inline_marks(text: str) -> str:
    """Return Markdown with other marks around inline code: in a shell those run what is between them.

    "5. `curl -f …`" is no dot command, and "the host's user (`id -u`)" sends nobody's name. Offsets are the same.
    """
    parts, at, fence = [], 0, ""
    for found in _FENCED.finditer(text):
        between = text[at : found.start()]
        parts.append(between if fence else _INLINE.sub(r'´\1"', between))
        parts.append(found[0])
        at = found.end()
        fence = "" if fence == found[1] else fence or found[1]
    parts.append(text[at:] if fence else _INLINE.sub(r'´\1"', text[at:]))
    return "".join(parts)


def _in_prose(text: str) -> Iterator[Match]:
    """Yield the commands in build files, workflows, settings and documentation."""
    for rule, what, start, end in shell_places(text):
        yield Match(rule, start, end, what)
    for found in _INSTALL_SCRIPT.finditer(text) if _SCRIPTS.search(text) else ():
        command = found[2].replace('\\"', '"').replace("\\\\", "\\")
        threats_in = [what for _, what in shell_threats(command)]
        if not threats_in and _REACHING.search(command):
            threats_in = ["uses the network or runs text"]
        for what in threats_in:
            yield Match("install-hook", *found.span(), f"the script {found[1]} {what}")


def _graded(reading: Reading, found: Iterable[Match]) -> Iterator[Match]:
    """Yield commands with their severity: low for well-known installers, and where no address is named in prose."""
    for match in found:
        if match.rule == "download-and-run":
            line_end = reading.text.find("\n", match.end)
            command = reading.text[match.start : len(reading.text) if line_end < 0 else line_end]
            address = _ADDRESS.search(command)
            unnamed = address is None and reading.language in PROSE
            if unnamed or (address is not None and _INSTALLERS.match(address[1] or "")):
                match = replace(match, severity=Severity.LOW)
        yield match


_SCRIPTS = lazy(r"\"scripts\"\s{0,5}:\s{0,5}\{")
_INSTALL_SCRIPT = lazy(
    r"\"(preinstall|install|postinstall|prepare|preprepare|postprepare|prepack"
    r"|preuninstall)\"\s{0,5}:\s{0,5}\"((?:[^\"\\\n]|\\.){1,4000})\""
)


def _without_comments(reading: Reading, found: Iterable[tuple[str, str, int, int]]) -> Iterator[Match]:
    comments = [item for item in reading.segments if item.kind is SegmentKind.COMMENT]
    starts = [item.start for item in comments]
    for rule, what, start, end in found:
        before = bisect_right(starts, start) - 1
        if before < 0 or start >= comments[before].end:
            yield Match(rule, start, end, what)


def _arrived(reading: Reading, arrival: Arrival) -> Iterator[Match]:
    start, end = reading.place(arrival.call)
    name = arrival.name
    if arrival.what == "joins":
        yield Match("reverse-shell", start, end, "joins the streams of a process with a connection")
    elif arrival.what == "destroy":
        reason = f"{name.removeprefix('.')} deletes everything below the home folder or the root"
        yield Match("destroys", start, end, reason)
    else:
        row, reason = _judged(arrival)
        if row is not None and not (row["of"] == label.DROPPED and _starts_another(arrival.call)):
            severity = Severity[row["severity"].upper()] if "severity" in row else None
            yield Match(row["rule"], start, end, reason, severity)
        elif arrival.hidden:
            reason = f"calls {name} by a name that is put together"
            yield Match("decoded-exec", start, end, reason, Severity.HIGH)
    if arrival.what == "command" and arrival.text:
        for rule, what in shell_threats(arrival.text):
            yield Match(rule, start, end, f"runs a command that {what}")


_ARRIVALS = tomllib.loads(Path(__file__).with_name("arrivals.toml").read_text("utf-8"))["arrival"]


def _judged(arrival: Arrival) -> tuple[Mapping[str, Any] | None, str]:
    """Return the row that says what an arrival means, and the reason."""
    for row in _ARRIVALS:
        least = row.get("least", 0)
        if row["at"] == arrival.what:
            labels = labels_of_kind(arrival.labels, row["of"])
            if len(labels) >= least if least else row["of"] in arrival.labels:
                details = " and ".join(labels[:3])
                return row, f"{arrival.name.removeprefix(':')} {row['says'].format(details)}"
    return None, ""


def _starts_another(call: ast.AST) -> bool:
    """Return whether a call names a program that runs nothing it is given, such as `gunzip` or `chmod`."""
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    program = given.elts[0] if isinstance(given, ast.List | ast.Tuple) and given.elts else None
    named = program.value if isinstance(program, ast.Constant) and isinstance(program.value, str) else ""
    return bool(named) and _RUNNING.search(named) is None


# What runs at import or install

_HOOKS = lazy(r"setuptools\.command\.(?:install|develop|egg_info|build_py)\.|distutils\.command\.install\.")


def _early(reading: Reading) -> Iterator[Match]:
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
        if isinstance(at, FUNCTIONS) and any(child is item for item in at.body):
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
        if kind in (NETWORK, PROCESS) or name in RUNNING_CODE - {"compile"}:
            # A build starts compilers, which run nothing that they are given.
            mild = Severity.LOW if _starts_another(call) else Severity.MEDIUM
            severity = mild if kind == PROCESS else None
            reason = f"{name} while a package is installed"
            yield Match("install-hook", *reading.place(call), reason, severity)
            return


SIGNAL = signal_of(__file__, "what code can do, and the threats in it", _inspect, intent=True)
