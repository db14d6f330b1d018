"""Lookalikes of well-known packages, and install commands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.imports import SCRIPTS, Imported, imports_of
from codeguard.analysis.rules.base import (
    IMPORTED,
    LESS_SURE,
    DetectorContext,
    FileSignal,
    Match,
    rules_of,
)
from codeguard.analysis.rules.imports.known import (
    NODE_MODULES,
)
from codeguard.analysis.rules.imports.lookalikes import Lookalike, npm_lookalike, python_lookalike
from codeguard.analysis.rules.imports.urging import installs, is_strange_source, is_unverified_source
from codeguard.models import Confidence, Severity

_INSTALLERS = frozenset(
    {"pip.main", "pip._internal.main", "pip._internal.cli.main.main", "setuptools.command.easy_install.main"}
)
_RUNNERS = frozenset(
    """
    os.system os.popen subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen
    subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_exec asyncio.create_subprocess_shell
    """.split()  # noqa: SIM905 - words read better as words
)


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    """Yield matches for imports and the text around them."""
    seen: set[str] = set()
    apart = reading.unread.apart
    for imported in imports_of(reading):
        if imported.package not in seen:
            seen.add(imported.package)
            yield from apart("the rules about packages", _package, reading, imported)
    yield from apart("the rules about instructions", _instructions, reading)
    if reading.tree is not None and "install" in reading.text:
        yield from apart("runtime-install", _runtime_installs, reading)


def _package(reading: Reading, imported: Imported) -> Iterator[Match]:
    name, script = imported.package, reading.language in SCRIPTS
    alike = npm_lookalike(name) if script else python_lookalike(name)
    if alike is not None and not (script and name in NODE_MODULES):
        # Projects have such names by chance; hardly one adds `safe` or `official` to that of another.
        named: dict[str, str | bool] = {IMPORTED: name, LESS_SURE: alike.near}
        # Optional packages need not be installed.
        graded = Severity.LOW if imported.guarded else _graded(alike)
        yield Match("lookalike", imported.start, imported.end, _alike(alike), graded, measurements=named)


def _alike(found: Lookalike) -> str:
    return f"{found.name} looks like {found.known}: {found.how}"


def _graded(found: Lookalike) -> Severity:
    if not found.slip or (not found.near and found.name[-1:].isdigit()):
        return Severity.LOW  # an independent name, or a successor such as `httpx2`
    return Severity.HIGH if found.near else Severity.MEDIUM


def _instructions(reading: Reading) -> Iterator[Match]:
    if "install" not in reading.text and " add " not in reading.text:
        return
    for segment in reading.segments:
        if segment.kind is SegmentKind.IDENTIFIER or len(segment.text) < 12:
            continue
        raw = reading.text[segment.start : segment.end]
        for command in installs(raw):
            start, end = segment.start + command.start, segment.start + command.end
            if command.source:
                severity, confidence = _graded_source(command.source)
                reason = f"installs from {command.source}"
                yield Match("install-source", start, end, reason, severity, confidence)
            for package in command.packages:
                alike = npm_lookalike(package) if command.npm else python_lookalike(package)
                if alike is not None and alike.near and alike.slip:
                    yield Match("lookalike", start, end, f"to be installed: {_alike(alike)}", Severity.MEDIUM)


def _runtime_installs(reading: Reading) -> Iterator[Match]:
    for node in reading.nodes:
        if type(node) is not ast.Call or not node.args:
            continue
        called = reading.names.called(node)
        words = _command(reading, node.args[0]) if called in _RUNNERS | _INSTALLERS else ""
        padded = f" {words} "
        if (called in _INSTALLERS and " install " in padded) or any(
            f" {tool} " in padded
            for tool in ("pip install", "pip3 install", "npm install", "npm i", "yarn add", "easy_install")
        ):
            start, end = reading.place(node)
            sources = [item.source for item in installs(words) if item.source]
            severity, confidence = next(
                (found for item in sources if (found := _graded_source(item))[0] is Severity.HIGH),
                (None, None),
            )
            yield Match("runtime-install", start, end, f"runs {words[:80]!r}", severity, confidence)


def _graded_source(source: str) -> tuple[Severity | None, Confidence | None]:
    if is_unverified_source(source):
        return Severity.HIGH, Confidence.HIGH
    return (None if is_strange_source(source) else Severity.LOW), None


def _command(reading: Reading, node: ast.expr) -> str:
    if isinstance(node, ast.List | ast.Tuple):
        return " ".join(str(reading.names.constant(item, "?")) for item in node.elts)
    return str(reading.names.constant(node, ""))


SIGNAL = FileSignal(
    "imports",
    "lookalikes of well-known packages, installs from strange sources",
    tuple(rules_of(__file__).values()),
    _inspect,
    intent=True,
)
