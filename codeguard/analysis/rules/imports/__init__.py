"""Unknown packages, lookalikes of well-known ones, and install commands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import ClassVar

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.imports import SCRIPTS, Imported, imports_of
from codeguard.analysis.rules.base import IMPORTED, LESS_SURE, DetectorContext, Match, Rule, rules_of
from codeguard.analysis.rules.imports.known import (
    DISTRIBUTION_OF,
    NODE_MODULES,
    NPM_PACKAGES,
    PYTHON_PACKAGES,
    STANDARD_LIBRARY,
    normalised,
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


class ImportsSignal:
    """Compares imports with declared packages and with well-known ones.

    The optional service `packages` has every name that may be imported: distributions in lock
    files, and modules of the trusted and the audited files. Without it no package counts as
    unknown.
    """

    name: ClassVar[str] = "imports"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "unknown packages, lookalikes of well-known ones, installs from strange sources"
    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset({"packages"})
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        """Yield matches for imports and the text around them."""
        given = context.services.packages
        declared = _normalised(given) if given is not None else None
        seen: set[str] = set()
        apart = reading.unread.apart
        for imported in imports_of(reading):
            if imported.package not in seen:
                seen.add(imported.package)
                yield from apart("the rules about packages", _package, reading, imported, declared)
        yield from apart("the rules about instructions", _instructions, reading, declared)
        if reading.tree is not None and "install" in reading.text:
            yield from apart("runtime-install", _runtime_installs, reading)


@lru_cache(maxsize=4)
def _normalised(given: frozenset[str]) -> frozenset[str]:
    return frozenset(map(normalised, given))


def _package(reading: Reading, imported: Imported, declared: frozenset[str] | None) -> Iterator[Match]:
    name, script = imported.package, reading.language in SCRIPTS
    if _is_known(name, script, declared):
        return
    alike = npm_lookalike(name) if script else python_lookalike(name, declared or frozenset())
    if alike is not None:
        # Projects have such names by chance; hardly one adds `safe` or `official` to that of another.
        named: dict[str, str | bool] = {IMPORTED: name, LESS_SURE: alike.near}
        # Optional packages need not be installed.
        graded = Severity.LOW if imported.guarded else _graded(alike)
        yield Match("lookalike", imported.start, imported.end, _alike(alike), graded, measurements=named)
        return
    if _is_well_known(name, script):
        if declared is not None and not script:
            reason = f"{name} is well known, and no lock file names it"
            yield Match("unknown-package", imported.start, imported.end, reason, Severity.LOW)
        return
    if declared is not None and not script:
        severity = Severity.LOW if imported.guarded else None
        reason = f"{name} is named by no lock file, and no module of the trusted files"
        yield Match("unknown-package", imported.start, imported.end, reason, severity)


def _is_known(name: str, script: bool, declared: frozenset[str] | None) -> bool:
    if script:
        return name in NODE_MODULES or (declared is not None and normalised(name) in declared)
    plain = normalised(name)
    return name in STANDARD_LIBRARY or (
        declared is not None and (plain in declared or DISTRIBUTION_OF.get(plain, plain) in declared)
    )


def _is_well_known(name: str, script: bool) -> bool:
    return name in NPM_PACKAGES if script else normalised(name) in PYTHON_PACKAGES


def _alike(found: Lookalike) -> str:
    return f"{found.name} looks like {found.known}: {found.how}"


def _graded(found: Lookalike) -> Severity:
    if not found.slip or (not found.near and found.name[-1:].isdigit()):
        return Severity.LOW  # an independent name, or a successor such as `httpx2`
    return Severity.HIGH if found.near else Severity.MEDIUM


def _instructions(reading: Reading, declared: frozenset[str] | None) -> Iterator[Match]:
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
                alike = (
                    npm_lookalike(package)
                    if command.npm
                    else python_lookalike(package, declared or frozenset())
                )
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


SIGNAL = ImportsSignal()
