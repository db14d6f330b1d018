"""Extraction of archives: paths of their members."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import is_kept_upload
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.flow.sinks import Sink
from codeguard.flow.tables import GUARD_NAME
from codeguard.flow.values import Use
from codeguard.models import Severity

_RULES = rules_of(__file__)

_WRITES = word_set("open io.open os.open os.makedirs os.mkdir shutil.copyfileobj os.symlink")


def _extracts(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    opened = view.names.resolve(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if "tar" not in opened.lower() and not name.startswith("tarfile."):
        return
    if view.constant(node, "filter", default="") in ("data", "tar"):
        return
    listed = view.argument(node, "members")
    if listed is not None and view.constant(node, "filter", default="") != "fully_trusted":
        if not _by_ending(view, listed):
            return
        yield NodeMatch(node, "how a member's name ends says nothing of the folder that it is written to")
        return
    if view.argument(node, "filter") is not None and view.constant(node, "filter") is None:
        return
    if view.constant(node, "filter", default="") == "fully_trusted" and not _members_checked(view, node):
        yield NodeMatch(node, "fully_trusted members named .. or / are written outside the folder")
        return
    if _members_checked(view, node):
        return
    own = view.has("importlib.resources", "importlib_resources", "pkgutil.get_data", "pkg_resources")
    severity = Severity.LOW if own or _for_old_pythons(view, node) else None
    yield NodeMatch(node, "members named .. or / are written outside the folder", severity)


def _by_ending(view: View, node: ast.expr) -> bool:
    """Return whether members are chosen by how their names end alone: `[m for m in tar if m.name.endswith(".sav")]`."""
    made = [
        value
        for value in (node, *view.names.values_of(node))
        if isinstance(value, ast.ListComp | ast.GeneratorExp)
    ]
    if not made:
        return False
    tests = " ".join(unparse(test) for value in made for part in value.generators for test in part.ifs)
    return ".endswith(" in tests and not _LOOKS.search(tests)


_LOOKS = lazy(
    r"startswith|'\.\.'|isfile|isreg|islnk|issym|isabs|resolve|commonpath|is_relative|safe|\bis_\w+\(|parts|match"
)


def _for_old_pythons(view: View, node: ast.Call) -> bool:
    """Return whether the filter is omitted only for Python versions without it."""
    function = view.function_of(node)
    return function is not None and any(
        isinstance(part, ast.If | ast.IfExp) and _ASKS_FOR_FILTER.search(unparse(part))
        for part in walk(function)
    )


_ASKS_FOR_FILTER = lazy(r"(?s)(?=.*(?:version_info|hasattr\(tarfile)).*\bfilter\b\W{1,4}'(?:data|tar)'")


def _unpacks(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find `shutil.unpack_archive(path, folder)` on uploads, which may be tar archives."""
    assert isinstance(node, ast.Call)
    if node.args and view.argument(node, "filter") is None and is_kept_upload(view, node, node.args[0]):
        yield NodeMatch(node, "members of a tar archive named .. or / are written outside the folder")


def _members_checked(view: View, node: ast.Call) -> bool:
    """Return whether the function checks the members' names before it extracts."""
    function: ast.AST | None = view.function_of(node) or view.reading.tree
    if function is None:
        return False
    before = [item for item in walk(function) if getattr(item, "lineno", 1 << 30) < node.lineno]
    looks = any(
        (
            isinstance(item, ast.Attribute)
            and item.attr in ("name", "filename", "issym", "isfile", "isdir", "isreg")
        )
        or (isinstance(item, ast.Call) and view.names.called(item).endswith(("namelist", "getnames")))
        for item in before
    )
    for item in before:
        if (
            isinstance(item, ast.For)
            and "member" in unparse(item.iter)
            and GUARD_NAME.search(unparse(item.body[0]))
        ):
            return True  # a helper that rejects members is called for each one
    return looks and any(isinstance(item, ast.Raise | ast.Continue | ast.Return) for item in before)


CHECKS = (
    Check(
        _RULES["archive-traversal"],
        methods=word_set("extractall extract"),
        calls=word_set("shutil.unpack_archive"),
        look=lambda view, node, name: (
            _unpacks(view, node) if name == "shutil.unpack_archive" else _extracts(view, node, name)
        ),
        sinks=(
            Sink(
                "archive",
                Use.ARCHIVE,
                names=word_set("shutil.unpack_archive"),
                accepts=lambda names, call, name: not any(item.arg == "filter" for item in call.keywords),
            ),
        ),
        grades=(Severity.MEDIUM, None, Severity.LOW),
    ),
    Check(
        _RULES["archive-member-path"],
        sinks=(
            Sink("member", Use.ARCHIVE, names=_WRITES, arguments=(0, "file", "path")),
            Sink(
                "member-path",
                Use.ARCHIVE,
                methods=word_set("write_bytes write_text"),
                arguments=(),
                receiver=True,
            ),
        ),
        tags=frozenset({"archive"}),
    ),
)
