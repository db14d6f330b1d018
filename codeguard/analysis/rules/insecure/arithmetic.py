"""Numbers that come out wrong: cents by floats, numbers compared as texts, limits and places that are off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import is_from_request, is_handler
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, variables_in, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_MONEY = lazy(r"cents|amount|price|money|dollar|euro|payment|fee(?:_|$)|invoice|balance|charge|salary", 2)


def _cents(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `int(float(text) * 100)`, which makes 1998 of 19.99."""
    assert isinstance(node, ast.Call)
    product = node.args[0] if len(node.args) == 1 else None
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return
    sides = (product.left, product.right)
    given = next((side for side in sides if view.names.constant(side) not in (100, 100.0)), None)
    if given is None or all(given is not side for side in sides) or len({*map(id, sides)} - {id(given)}) != 1:
        return
    if not any(view.names.constant(side) in (100, 100.0) for side in sides) or not _is_float(view, given):
        return
    statement, function = view.statement(node), view.function_of(node)
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    if _MONEY.search(f"{target} {getattr(function, 'name', '')} {ast.unparse(given)[:100]}"):
        yield NodeMatch(node, "of 19.99 this makes 1998: take Decimal, or round")


def _is_float(view: View, node: ast.expr) -> bool:
    values = [node, *view.names.values_of(node)]
    if any(isinstance(value, ast.Call) and view.names.called(value) == "float" for value in values):
        return True
    return isinstance(node, ast.Name) and "float()" in view.names.names_of(node)


_NUMBER = lazy(r"^\d{1,3}(?:\.\d{1,4}){0,3}$")
_BOUND = lazy(
    r"min|max|least|most|require|allow|limit|support|admit|permit|below|above|update|newer|older|outdated", 2
)


def _as_text(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `version >= "2.9.0"` and `str(percent) > "30"`, which compare character by character."""
    assert isinstance(node, ast.Compare)
    if len(node.ops) > 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return
    left, right = node.left, node.comparators[0]
    if not isinstance(right, ast.Constant) and not (isinstance(right, ast.Name) and right.id.isupper()):
        return
    text = view.names.constant(right)
    if not isinstance(text, str) or len(text) < 2 or not _NUMBER.match(text) or view.names.constant(left):
        return
    function = view.function_of(node)
    around = f"{ast.unparse(node)[:100]} {getattr(function, 'name', '')}"
    decides = isinstance(left, ast.Call) and view.names.called(left) == "str"
    decides = decides or _BOUND.search(around) is not None
    # Objects of a class for versions are compared with texts as well.
    own = "__version__" in around or "sys.version" in around or function is None or view.has("import version")
    yield NodeMatch(
        node,
        f"texts are compared character by character: '10' comes before {text!r}",
        None if decides and not own else Severity.LOW,
    )


_LIMIT = lazy(r"^_?(?:max|limit)(?:_|$)|_(?:max|limit|quota|capacity)$|^(?:quota|capacity)$", 2)
_ADDS = word_set("append add create insert register push enqueue save_new")


def _one_too_many(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if loans.count() > MAX: raise` before one more is made."""
    assert isinstance(node, ast.If)
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.ops[0], ast.Gt):
        return
    function = view.function_of(node)
    if function is None or not leaves(node.body):
        return
    if not _LIMIT.search(last_name(test.comparators[0])):
        return
    counted = _counted(view, test.left)
    # A name counts rounds of a loop; an attribute or an entry counts what is let in.
    for part in walk(function) if not isinstance(test.left, ast.Name) else ():
        if (
            not isinstance(part, ast.AugAssign)
            or part.lineno < node.lineno
            or not isinstance(part.op, ast.Add)
        ):
            continue
        if ast.unparse(part.target) == ast.unparse(test.left) and view.names.constant(part.value) == 1:
            yield NodeMatch(test, "with as many as the limit allows, one more is let in: take >=")
            return
    for part in walk(function) if counted else ():
        if (
            not isinstance(part, ast.Call)
            or part.lineno <= node.lineno
            or not isinstance(part.func, ast.Attribute)
        ):
            continue
        written = ast.unparse(part.func.value)
        if part.func.attr in _ADDS and (written == counted or written.partition(".")[0] == counted):
            yield NodeMatch(test, "with as many as the limit allows, one more is let in: take >=")
            return


def _counted(view: View, node: ast.expr) -> str:
    """Return what is counted: the list in `len(list)`, the model in `Model.objects.filter(…).count()`."""
    for value in (node, *view.names.values_of(node)):
        if isinstance(value, ast.Call) and view.names.called(value) == "len" and value.args:
            return ast.unparse(value.args[0])
        if (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr == "count"
        ):
            at: ast.expr = value
            while isinstance(at, ast.Call | ast.Attribute):
                at = at.func if isinstance(at, ast.Call) else at.value
            return at.id if isinstance(at, ast.Name) and at.id[:1].isupper() else ""
    return ""


def _from_the_end(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `n = int(text)`, `if n >= len(rows): raise` and `rows[n]`, where -1 is the last one."""
    assert isinstance(node, ast.Compare)
    if (
        len(node.ops) != 1
        or not isinstance(node.ops[0], ast.GtE | ast.Gt)
        or not isinstance(node.left, ast.Name)
    ):
        return
    held, function = node.left.id, view.function_of(node)
    if function is None or isinstance(view.names.constant(node.comparators[0]), int):
        return
    if not isinstance(view.parent(node), ast.If | ast.BoolOp) or not _is_sent(view, function, node.left):
        return
    parts = list(walk(function))
    if any(
        isinstance(test, ast.Compare) and test is not node and held in variables_in(test) for test in parts
    ):
        return
    for used in parts:
        if not isinstance(used, ast.Subscript) or not isinstance(used.ctx, ast.Load):
            continue
        if isinstance(used.slice, ast.Name) and used.slice.id == held:
            yield NodeMatch(used, f"where {held} is below zero, the places are counted from the end")
            return


def _is_sent(view: View, function: FunctionNode, node: ast.Name) -> bool:
    """Return whether a number was typed or sent: by a call of the function, or as a part of its address."""
    if any(_typed(view, function, value) for value in view.names.values_of(node)):
        return True
    numbers = {item.arg for item in function.args.args if unqualified_name(item.annotation) == "int"}
    return node.id in numbers and is_handler(view, function)


def _typed(view: View, function: FunctionNode, node: ast.expr) -> bool:
    """Return whether a value is a number that was typed or sent as a text: `int(number) - 1`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Add):
        node = node.left
    if isinstance(node, ast.Call) and unqualified_name(view.argument(node, "type")) == "int":
        return is_from_request(view, node)
    if not (isinstance(node, ast.Call) and len(node.args) == 1 and view.names.called(node) == "int"):
        return False
    given = node.args[0]
    texts = {
        item.arg
        for item in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if item.annotation is not None and unqualified_name(item.annotation) == "str"
    }
    return (isinstance(given, ast.Name) and given.id in texts) or is_from_request(view, given)


CHECKS = (
    Check(_RULES["cents-by-float"], calls=word_set("int"), look=_cents),
    Check(_RULES["numbers-as-text"], nodes=(ast.Compare,), look=_as_text),
    Check(_RULES["one-too-many"], nodes=(ast.If,), look=_one_too_many),
    Check(_RULES["place-from-the-end"], nodes=(ast.Compare,), look=_from_the_end),
)
