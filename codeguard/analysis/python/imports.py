"""Find the packages that a file imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codeguard.analysis.reading import Reading
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name

SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_SCRIPT_IMPORT = lazy(
    r"""(?:\brequire\s{0,4}\(\s{0,4}|\bimport\s{0,4}\(\s{0,4}|\bfrom\s{1,4}|\bimport\s{1,4})(["'])([^"'\n]{1,200})\1"""
)


@dataclass(frozen=True, slots=True)
class Imported:
    """An import of a package: its top-level name and the position of the statement.

    `guarded` means that the code continues if the package is missing.
    """

    package: str
    start: int
    end: int
    guarded: bool = False


def imports_of(reading: Reading) -> Iterator[Imported]:
    """Yield the imported packages, each once per statement, without relative imports."""
    if reading.language in SCRIPTS:
        yield from _script_imports(reading)
    found: list[tuple[ast.AST, list[str]]] = [
        *((node, [alias.name for alias in node.names]) for node in reading.nodes_of(ast.Import)),
        *((node, [node.module or ""]) for node in reading.nodes_of(ast.ImportFrom) if not node.level),
    ]
    for call in reading.nodes_of(ast.Call):
        if call.args and unqualified_name(call.func) in ("__import__", "import_module"):
            found.append((call, [reading.names.text(call.args[0]) or ""]))
    for node, names in found:
        names = [name for name in names if name.partition(".")[0].isidentifier()]
        for package in dict.fromkeys(name.partition(".")[0] for name in names):
            yield Imported(package, *reading.place(node), _guarded(reading, node))


def _guarded(reading: Reading, node: ast.AST) -> bool:
    """Return whether an import is in a `try` that handles its failure, or for type checkers only."""
    child, at = node, reading.parents.get(node)
    while at is not None:
        if isinstance(at, ast.Try | ast.TryStar) and at.handlers and any(item is child for item in at.body):
            return True
        if isinstance(at, ast.If) and "TYPE_CHECKING" in ast.dump(at.test):
            return True
        child, at = at, reading.parents.get(at)
    return False


def _script_imports(reading: Reading) -> Iterator[Imported]:
    for match in _SCRIPT_IMPORT.finditer(reading.text):
        name = match.group(2)
        if (
            name.startswith((".", "/", "#", "~", "node:", "bun:", "data:"))
            or "://" in name
            or name.startswith("@/")
        ):
            continue
        parts = name.split("/")
        package = "/".join(parts[:2]) if name.startswith("@") else parts[0]
        yield Imported(package, match.start(), match.end())
