"""Memory of C: copies without a limit, lengths that are believed, numbers that wrap around, old contents."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk

_RULES = rules_of(__file__)

_LIBRARIES = word_set(
    "ctypes.CDLL ctypes.cdll ctypes.cdll.LoadLibrary ctypes.PyDLL ctypes.WinDLL ctypes.windll"
)
_ENDLESS_COPIES = frozenset(
    f"{library}.{function}"
    for library in _LIBRARIES
    for function in ("strcpy", "strcat", "sprintf", "vsprintf", "gets", "wcscpy", "wcscat", "stpcpy")
)
_LENGTH = lazy(r"len|size|count|num")
_UNSIGNED = word_set(
    "c_ubyte c_uint c_uint8 c_uint16 c_uint32 c_uint64 c_ulong c_ulonglong c_ushort c_size_t"
)
_SENDS = word_set("tobytes tofile save savez send sendall write sendto")


def _copied(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `memmove(buffer, data, len(data))` and `string_at(address, record.length)` without a look at the size."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    if function is None or not node.args:
        return
    size = node.args[-1]
    if name.endswith("memmove"):
        measured = isinstance(size, ast.Call) and view.names.called(size) == "len" and len(node.args) == 3
        # A second look at the length makes the buffer, or refuses the data.
        if measured and ast.unparse(function).count(ast.unparse(size)) == 1:
            yield NodeMatch(node, f"{ast.unparse(size)[:40]} bytes are copied, however small the buffer is")
    elif isinstance(size, ast.Attribute) and _LENGTH.search(size.attr) and size.attr in _beside_arrays(view):
        looked_at = any(
            (
                isinstance(part, ast.Compare)
                or (isinstance(part, ast.Call) and view.names.called(part) == "min")
            )
            and size.attr in ast.unparse(part)
            for part in walk(function)
        )
        if not looked_at:
            yield NodeMatch(node, f"{size.attr} may say more than the field beside it holds")


def _beside_arrays(view: View) -> set[str]:
    """Return the fields of structures that have an array of a fixed size as well."""
    found: set[str] = set()
    for listed in _fields(view):
        if any(isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.Mult) for _, kind in listed):
            found.update(field for field, _ in listed)
    return found


def _fields(view: View) -> Iterator[list[tuple[str, ast.expr]]]:
    """Yield the fields of each `ctypes.Structure` of the file, with their types."""
    for node in view.reading.nodes_of(ast.Assign):
        if unqualified_name(node.targets[0]) == "_fields_" and isinstance(node.value, ast.List | ast.Tuple):
            yield [
                (view.names.text(item.elts[0]) or "", item.elts[1])
                for item in node.value.elts
                if isinstance(item, ast.Tuple) and len(item.elts) >= 2
            ]


def _endless(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    yield NodeMatch(node, f"{name.rpartition('.')[2]} copies up to the end of the text, not of the buffer")


def _below_zero(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `quota.left < 0` of an unsigned field, which wraps around instead."""
    assert isinstance(node, ast.Compare)
    if "ctypes" not in view.modules or not isinstance(node.ops[0], ast.Lt) or len(node.ops) > 1:
        return
    left = node.left
    if not isinstance(left, ast.Attribute) or view.names.constant(node.comparators[0]) != 0:
        return
    kinds = [
        unqualified_name(kind) for listed in _fields(view) for field, kind in listed if field == left.attr
    ]
    if kinds and all(kind in _UNSIGNED for kind in kinds):
        yield NodeMatch(node, f"{left.attr} is unsigned: below zero it becomes a large number")


def _unfilled(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `block = numpy.empty(n)`, of which one part is set before all of it is sent."""
    assert isinstance(node, ast.Call)
    statement, function = view.statement(node), view.function_of(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or function is None:
        return
    held = target.id
    parts = list(walk(function))
    filled = [
        part.slice
        for part in parts
        if isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == held
    ]
    sent = any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in _SENDS
        and any(isinstance(item, ast.Name) and item.id == held for item in (part.func.value, *part.args))
        for part in parts
    )
    first = filled[0] if len(filled) == 1 else None
    if sent and isinstance(first, ast.Slice) and first.lower is None and first.upper is not None:
        yield NodeMatch(node, f"what is not set of {held} is what the memory held before")


CHECKS = (
    Check(_RULES["memory-by-length"], calls=word_set("ctypes.memmove ctypes.string_at"), look=_copied),
    Check(_RULES["endless-copy"], calls=_ENDLESS_COPIES, look=_endless),
    Check(_RULES["unsigned-below-zero"], nodes=(ast.Compare,), look=_below_zero),
    Check(_RULES["memory-shown"], calls=word_set("numpy.empty numpy.empty_like"), look=_unfilled),
)
