"""Find the parts of a composed text whose values the file does not determine.

Data flow follows values that an attacker is known to control. This is the converse: where only
fixed texts belong, it finds a part that nothing in the file shows to be fixed. Parameters (covered
by data flow), attributes of the file's own classes, numbers, and values that were compared with
something count as harmless.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.flow.sanitizers import quoted
from codeguard.flow.tables import CLEANERS, CLEANING_METHODS, CLEANING_NAME, GUARD_NAME
from codeguard.flow.values import Use
from codeguard.syntax.literal_text import NUMERIC_FIELDS, fields
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import Binding, BindingKind

_STEPS = 300  # steps per text
STEPS_PER_FILE = 200_000
_TOO_LONG = "parts of texts were not looked up any further: it takes too many steps"
_DEEPEST = 25
_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_NUMBER = lazy(r"[^{}]{0,20}[dxXeEfFgG%]")


class UnknownParts:
    """Finds unknown parts in the texts of one file that are composed for one use."""

    def __init__(self, names: Names, parents: Mapping[ast.AST, ast.AST], use: Use) -> None:
        self._names = names
        self._parents = parents
        self._use = use
        self._left = STEPS_PER_FILE
        self._steps = 0
        self._seen: set[ast.AST] = set()
        self._checked: dict[ast.AST, frozenset[str]] = {}

    def of(self, node: ast.expr) -> ast.expr | None:
        """Return a part of a text with an unknown value, or None."""
        self._steps = granted = min(_STEPS, self._left)
        self._seen.clear()
        found = self._unknown(node, 0)
        self._left -= granted - max(self._steps, 0)
        if self._left <= 0:
            self._names.unread.note(_TOO_LONG, node.lineno)
        return found

    def _unknown(self, node: ast.expr, depth: int) -> ast.expr | None:
        self._steps -= 1
        if self._steps < 0 or depth > _DEEPEST or node in self._seen:
            return None
        self._seen.add(node)
        if (
            isinstance(node, ast.Constant | ast.Compare | ast.Lambda)
            or self._names.constant(node) is not None
        ):
            return None
        if isinstance(node, ast.Name):
            return self._name(node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._held(node, node.value, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Tuple):
            return self._first(self._filled(node.left, node.right), depth)
        return self._first(_parts(node), depth)

    def _filled(self, template: ast.expr, given: ast.Tuple) -> list[ast.expr]:
        """Return the parts of a text formatted with `%`, except those of number fields."""
        kinds = fields(self._names.text(template) or "")
        if len(kinds) != len(given.elts):
            return [template, *given.elts]
        listed = zip(kinds, given.elts, strict=True)
        return [template, *(item for kind, item in listed if kind not in NUMERIC_FIELDS)]

    def _first(self, nodes: Iterable[ast.expr], depth: int) -> ast.expr | None:
        for node in nodes:
            found = self._unknown(node, depth + 1)
            if found is not None:
                return found
        return None

    def _name(self, node: ast.Name, depth: int) -> ast.expr | None:
        scope = self._names.scopes.scope_of(node)
        found = self._names.scopes.find(node.id, scope)
        if node.id.isupper() or self._is_compared(node):
            return None
        if found is None:
            return node
        for binding in self._names.scopes.reaching(node, scope, *found):
            part = self._bound(binding, depth)
            if part is not None:
                return part
        return None

    def _bound(self, binding: Binding, depth: int) -> ast.expr | None:
        if binding.kind in (
            BindingKind.PARAMETER,
            BindingKind.RECEIVER,
            BindingKind.MODULE,
            BindingKind.DEFINED,
        ):
            return None
        if binding.value is not None:
            return self._unknown(binding.value, depth + 1)
        around = self._parents.get(binding.node)
        while isinstance(around, ast.Tuple | ast.List | ast.Starred):
            around = self._parents.get(around)
        if isinstance(around, _LOOPS):
            return self._unknown(around.iter, depth + 1)
        if isinstance(around, ast.Assign | ast.AnnAssign) and around.value is not None:
            return self._unknown(around.value, depth + 1)
        return None

    def _attribute(self, node: ast.Attribute, depth: int) -> ast.expr | None:
        if node.attr.isupper() or node.attr.startswith("_"):
            return None
        values = self._names.values_of(node)
        if values:
            return self._first(values, depth)
        if any(name.startswith(":") for name in self._names.names_of(node.value)):
            return None  # inherited by a class of the file
        return self._held(node, node.value, depth)

    def _held(self, node: ast.expr, holder: ast.expr, depth: int) -> ast.expr | None:
        """Return an object if it is unknown, since then its content is too."""
        if self._is_compared(node):
            return None
        return node if self._is_brought(holder) or self._unknown(holder, depth + 1) is not None else None

    def _is_brought(self, node: ast.expr) -> bool:
        """Return whether an object comes from another file, such as `current_user`; classes and modules do not."""
        if not isinstance(node, ast.Name) or not node.id.islower():
            return False
        found = self._names.scopes.find(node.id, self._names.scopes.scope_of(node))
        return found is not None and all(isinstance(item.node, ast.ImportFrom) for item in found[1])

    def _call(self, node: ast.Call, depth: int) -> ast.expr | None:
        name = self._names.called(node)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name.rpartition(".")[2]
        if name.startswith(":") or self._use in CLEANERS.get(name, ()) or CLEANING_NAME.search(last):
            return None
        given = [*node.args, *(item.value for item in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            if self._use in CLEANING_METHODS.get(last, ()):
                return None
            if last == "replace" and self._is_quoted([self._names.text(item) for item in node.args[:2]]):
                return None
            if last in _OF_TEXT:
                return self._first([node.func.value, *given], depth)
            if last in _OF_HOLDERS:
                return self._held(node, node.func.value, depth)
            if any(base.startswith(":") for base in self._names.names_of(node.func.value)):
                return None
        if name in _PASSING or name.partition(".")[0] in sys.stdlib_module_names:
            return self._first(given, depth)
        return node

    def _is_quoted(self, replaced: list[str | None]) -> bool:
        return self._use in quoted(*replaced) or (self._use is Use.SQL and replaced == ["'", "''"])

    def _is_compared(self, node: ast.expr) -> bool:
        """Return whether a value is compared with something, or checked by name, in its function."""
        function = self._names.function_of(node)
        if function is None:
            return False
        if function not in self._checked:
            self._checked[function] = frozenset(map(unparse, _checked(function)))
        return unparse(node) in self._checked[function]


def _checked(function: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in the tests of a function."""
    for part in walk(function):
        if isinstance(part, ast.Compare) and not isinstance(part.comparators[0], ast.Constant):
            if isinstance(part.left, _NAMED):
                yield part.left
        elif isinstance(part, ast.Call):
            last = unqualified_name(part.func)
            if last in _TESTS or GUARD_NAME.search(last):
                tested = [*part.args, part.func.value] if isinstance(part.func, ast.Attribute) else part.args
                yield from (item for item in tested if isinstance(item, _NAMED))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            spec = value.format_spec if isinstance(value, ast.FormattedValue) else None
            last = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
            if not (isinstance(last, ast.Constant) and _NUMBER.fullmatch(str(last.value))):
                yield value
    elif isinstance(node, ast.FormattedValue):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        yield node.elt
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Starred
                    | ast.Await | ast.NamedExpr | ast.UnaryOp):  # fmt: skip
        yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


_TESTS = frozenset({"isidentifier", "isalnum", "isdigit", "isalpha", "match", "fullmatch", "isinstance"})
_OF_TEXT = frozenset(
    {"format", "join", "replace", "strip", "lstrip", "rstrip", "lower", "upper", "title", "encode", "decode", "split",
     "substitute", "safe_substitute", "copy", "union", "format_map", "rjust", "ljust", "zfill", "partition"}
)  # fmt: skip
_OF_HOLDERS = frozenset({"get", "items", "keys", "values", "pop", "setdefault"})
_PASSING = frozenset(
    {"str", "list", "tuple", "set", "frozenset", "dict", "sorted", "reversed", "map", "filter", "zip", "enumerate",
     "range", "max", "min", "next", "iter", "repr", "bytes"}
)  # fmt: skip
