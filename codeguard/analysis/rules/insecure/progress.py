"""Work that does not end, or not soon: loops that stand still, recursion into what others send, locks in two orders."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.outside import from_outside
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, names
from codeguard.corpus.patterns import lazy

_RULES = rules_of(__file__)

_READ = names("struct.unpack struct.unpack_from int int.from_bytes ord")
_LOCK = lazy(r"lock|mutex|(?:^|_)sem(?:aphore)?$")
_DEPTH = lazy(r"depth|level|limit|max_|nest|seen|visited|recurs", 2)


def _stands_still(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """`while pos < len(data): size = data[pos]; …; pos += size`, where a size of zero goes on for ever."""
    assert isinstance(node, ast.While)
    asked = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    parts = [part for statement in node.body for part in ast.walk(statement)]
    moves = [
        part
        for part in parts
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id in asked
    ]
    if len(moves) != 1 or not isinstance(moves[0].op, ast.Add) or not isinstance(moves[0].value, ast.Name):
        return
    step = moves[0].value.id
    compared = any(
        isinstance(part, ast.Name) and part.id == step
        for test in parts
        if isinstance(test, ast.Compare | ast.If | ast.IfExp)
        for part in ast.walk(test if isinstance(test, ast.Compare) else test.test)
    )
    read = any(
        isinstance(part, ast.Assign)
        and any(
            isinstance(item, ast.Name) and item.id == step
            for target in part.targets
            for item in ast.walk(target)
        )
        and _is_read(view, part.value)
        for part in parts
    )
    if read and not compared:
        yield NodeMatch(moves[0], f"where {step} is zero the loop never ends, and the data says what it is")


def _is_read(view: View, node: ast.expr) -> bool:
    """Return whether a number is read out of data: `data[pos]`, `struct.unpack(">H", …)[0]`."""
    while isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        node = node.value
    if isinstance(node, ast.Call):
        return view.names.called(node) in _READ or getattr(node.func, "attr", "") == "from_bytes"
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Constant)


def _recursing(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """A function that goes into whatever depth somebody sends, as far as the interpreter's stack reaches."""
    assert isinstance(node, FUNCTIONS)
    given = from_outside(node)
    if not given or _bounded(node):
        return
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        called = part.func
        own = isinstance(called, ast.Name) and called.id == node.name
        method = (
            isinstance(called, ast.Attribute)
            and called.attr == node.name
            and isinstance(called.value, ast.Name)
            and called.value.id == "self"
        )
        if (own or method) and part.args:
            yield NodeMatch(
                part, "how deep it goes is what was sent: count the levels, or keep a list of what is left"
            )
            return


def _bounded(node: FunctionNode) -> bool:
    for part in ast.walk(node):
        word = part.id if isinstance(part, ast.Name) else part.arg if isinstance(part, ast.arg) else ""
        word = part.attr if isinstance(part, ast.Attribute) else word
        if word and _DEPTH.search(word):
            return True
    return False


def _two_orders(view: View) -> Iterator[NodeMatch]:
    """`with a: with b:` here and `with b: with a:` there: each waits for the other."""
    taken: dict[tuple[str, str], ast.AST] = {}
    for kind in (ast.With, ast.AsyncWith):
        for node in view.reading.nodes_of(kind) if view.has("lock", "mutex") else ():
            assert isinstance(node, ast.With | ast.AsyncWith)
            held = _locks_around(view, node)
            for item in node.items:
                inner = ast.unparse(item.context_expr)[:100]
                if _LOCK.search(inner.lower()) is None:
                    continue
                for outer in held:
                    if (inner, outer) in taken and inner != outer:
                        yield NodeMatch(
                            node,
                            f"{outer} and {inner} are taken in the other order elsewhere: both wait for ever",
                        )
                    taken.setdefault((outer, inner), node)
                held.append(inner)


def _locks_around(view: View, node: ast.AST) -> list[str]:
    found: list[str] = []
    at = view.parent(node)
    while at is not None and not isinstance(at, FUNCTIONS):
        if isinstance(at, ast.With | ast.AsyncWith):
            written = [ast.unparse(item.context_expr)[:100] for item in at.items]
            found += [text for text in written if _LOCK.search(text.lower())]
        at = view.parent(at)
    return found


CHECKS = (
    Check(_RULES["loop-stands-still"], nodes=(ast.While,), look=_stands_still),
    Check(_RULES["recursion-by-input"], nodes=FUNCTIONS, look=_recursing),
    Check(_RULES["locks-in-two-orders"], look_at_file=_two_orders),
)
