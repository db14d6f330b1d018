"""Instrument a module so that each part of its code records what it did, and list what it has to show.

The instrumented code behaves like the original and calls the functions of `recorder.py`. A
condition has to be true and to be false; an operation has to give more than one result, different
from its operand; a selection (`min`, a table, a default) has to choose each alternative; a slice, a
character filter and a rounding have to drop something; a loop has to run to its end.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from codeguard.behavior.exercise.closed import CONVERTING, PREFIX, UNKNOWN_CODE
from codeguard.behavior.source.constants import UnknownError, fold
from codeguard.behavior.source.definitions import PARSE_ERRORS, unparse

TRUE, FALSE, VARIED, EFFECT, REACHED, MISSED = 1, 2, 4, 8, 16, 32
BOTH = TRUE | FALSE
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.MatMult: "matmul",
}  # fmt: skip
_COMPARISONS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is_",
    ast.IsNot: "is_not", ast.In: "in", ast.NotIn: "not_in",
}  # fmt: skip
_PREDICATES = frozenset({"all", "any", "bool", "isinstance"})
_SELECTING = frozenset({"min", "max", "sorted"})


@dataclass(frozen=True, slots=True)
class Need:
    """What one part of the code has to show: the bits of its record, and the part as text."""

    bits: int
    text: str

    def missing(self, note: int) -> str:
        """Return what a record does not show yet, or "" if it is complete."""
        lacking = self.bits & ~note
        if not lacking:
            return ""
        if lacking & REACHED:
            return self.text
        if lacking & BOTH:
            return f"one way out of: {self.text}"
        return f"without effect: {self.text}"


@dataclass(frozen=True, slots=True)
class Instrumented:
    """The instrumented source, and the need of each part by its number.

    `future_imports` have to stand in front of everything else that is run with it.
    """

    future_imports: str
    source: str
    needs: Mapping[int, Need]


def instrument(tree: ast.Module, constants: Mapping[str, object]) -> Instrumented | None:
    """Return the instrumented source of a module in the closed subset, or None if it cannot be unparsed.

    `tree` is modified.
    """
    maker = _Instrumenter(tree, constants)
    try:
        made = ast.fix_missing_locations(maker.visit(tree))
        future: list[ast.stmt] = [
            node for node in made.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ]
        future_imports = unparse(ast.Module(future, []))
        text = unparse(ast.Module([node for node in made.body if node not in future], []))
    except PARSE_ERRORS:
        return None
    # A type alias, which only annotations need, is no state.
    mentioned = {
        node.id
        for statement in made.body
        if isinstance(statement, ast.FunctionDef)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    kept = ", ".join(name for name in maker.kept if name in mentioned)
    head = f"{PREFIX}formats = frozenset({sorted(maker.formats)!r})\n"
    return Instrumented(future_imports, f"{head}{text}\n{PREFIX}kept = lambda: [{kept}]\n", maker.needs)


class _Instrumenter(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, constants: Mapping[str, object]) -> None:
        self.needs: dict[int, Need] = {}
        self.formats: set[int] = set()
        self.constants = constants
        self.kept = [
            target.id
            for statement in tree.body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            if isinstance(target, ast.Name)
        ]
        self.modules = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }

    def _need(self, bits: int, node: ast.AST) -> ast.Constant:
        number = len(self.needs)
        self.needs[number] = Need(bits, unparse(node).partition("\n")[0][:80])
        return ast.Constant(number)

    def _is_constant(self, node: ast.AST) -> bool:
        """Return whether an expression contains only names that no call can change."""
        try:
            fold(node, self.constants)  # type: ignore[arg-type]
        except UnknownError:
            return not any(
                isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in CONVERTING
                for part in ast.walk(node)
            )
        return True

    # Statements

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom | ast.Nonlocal):
                made.extend(_statement_list(self.visit(statement)))
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            made.append(ast.Expr(_recorder_call("reached", self._need(REACHED, statement))))
            made.extend(_statement_list(self.visit(statement)))
        return made or [ast.Pass()]

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = [
            self.visit(item) if isinstance(item, ast.FunctionDef) else _without_annotation(item)
            for item in node.body
        ]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        _drop_annotations(node)
        node.body = self._block(node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._recorded_condition(node.test)
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse) if node.orelse else []
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = node.test if isinstance(node.test, ast.Constant) else self._recorded_condition(node.test)
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse) if node.orelse else []
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        left_early = any(
            isinstance(part, ast.Break | ast.Return) for item in node.body for part in ast.walk(item)
        )
        node.iter = self.visit(node.iter)
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse) if node.orelse else []
        if left_early:
            number = len(self.needs)
            self.needs[number] = Need(REACHED, "the end of a loop")
            node.orelse.insert(0, ast.Expr(_recorder_call("reached", ast.Constant(number))))
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        node.body = self._block(node.body)
        for handler in node.handlers:
            handler.body = self._block(handler.body)
        node.orelse = self._block(node.orelse) if node.orelse else []
        node.finalbody = self._block(node.finalbody) if node.finalbody else []
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.test = self.visit(node.test)
        node.msg = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.AST]:
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        number, target = self._need(EFFECT, node), node.target
        if isinstance(target, ast.Subscript):
            index = self._index(target.slice)
            operator = ast.Constant(f"i{_OPERATORS[type(node.op)].rstrip('_')}")
            parts = (number, operator, self.visit(target.value), index, self.visit(node.value))
            return ast.Expr(_recorder_call("changing_item", *parts))
        assert isinstance(target, ast.Name)  # others are outside of the closed subset
        name = ast.Name(target.id, ast.Load())
        before = ast.Name(f"{PREFIX}before", ast.Store())
        node.value = self.visit(node.value)
        noted = _recorder_call("changing", number, ast.Name(f"{PREFIX}before", ast.Load()), name)
        return [ast.Assign([before], _recorder_call("copy", name)), node, ast.Expr(noted)]

    # Expressions

    def _recorded_condition(self, node: ast.expr) -> ast.expr:
        """Return a condition that has to be true and to be false."""
        if self._is_constant(node):
            return node
        number = self._need(BOTH, node)
        return _recorder_call("truth", number, self._unrecorded_condition(node))

    def _unrecorded_condition(self, node: ast.expr) -> ast.expr:
        """Return a condition whose record is made by the enclosing expression."""
        if isinstance(node, ast.Compare):
            made = self._comparison(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._unrecorded_condition(node.operand)
            made = node
        else:
            made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made

    def _comparison(self, node: ast.Compare) -> ast.AST:
        """Return a comparison: each of a chain has to be true and false, each entry of a table has to be met."""
        if len(node.ops) > 1:
            numbers = ast.Tuple(
                [
                    self._need(BOTH, ast.Compare(left, [operator], [right]))
                    for left, operator, right in zip(
                        [node.left, *node.comparators], node.ops, node.comparators, strict=False
                    )
                ],
                ast.Load(),
            )
            names = ast.Tuple([ast.Constant(_COMPARISONS[type(item)]) for item in node.ops], ast.Load())
            first, *others = [self.visit(item) for item in (node.left, *node.comparators)]
            return _recorder_call("chain", numbers, names, first, *(_lambda(item) for item in others))
        if isinstance(node.ops[0], ast.In | ast.NotIn) and self._is_literal_table(node.comparators[0]):
            number = self._need(MISSED, node)
            left, table = self.visit(node.left), node.comparators[0]
            found = _recorder_call("entry", number, left, table)
            return found if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), found)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self._recorded_condition(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._recorded_condition(value) for value in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = self._recorded_condition(node.operand)
            return node
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        body, orelse = self._need(REACHED, node.body), self._need(REACHED, node.orelse)
        node.test = self._recorded_condition(node.test)
        node.body = _recorder_call("body", body, self.visit(node.body))
        node.orelse = _recorder_call("body", orelse, self.visit(node.orelse))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.ifs = [self._recorded_condition(item) for item in node.ifs]
        return node

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.AST:
        number = self._need(REACHED, node.elt)
        made = self.generic_visit(node)
        assert isinstance(made, ast.ListComp | ast.SetComp | ast.GeneratorExp)
        made.elt = _recorder_call("body", number, made.elt)
        return made

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        number = self._need(REACHED, node)
        node.body = _recorder_call("body", number, self.visit(node.body))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if self._is_constant(node):
            return node
        left = node.left
        template = (
            isinstance(node.op, ast.Mod)
            and isinstance(left, ast.Constant)
            and isinstance(left.value, str | bytes)
        )
        # An f-string has no need of its own either: what it shows has been recorded.
        number = self._need(REACHED if template else VARIED | EFFECT, node)
        if template:
            self.formats.add(int(number.value))  # type: ignore[arg-type]
        name = ast.Constant(_OPERATORS[type(node.op)])
        return _recorder_call("binary", number, name, self.visit(node.left), self.visit(node.right))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        if self._is_constant(node):
            return node
        table = self._is_literal_table(node.value)
        text = node
        bits = REACHED | EFFECT | (MISSED if table else 0)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bits = REACHED if all(part is None for part in parts) else REACHED | EFFECT
            if isinstance(node.slice.step, ast.UnaryOp):
                bits &= ~EFFECT if parts[0] is None and parts[1] is None else bits
        index = self._index(node.slice)
        number = self._need(bits, text)
        return _recorder_call("item", number, self.visit(node.value), index)

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            bounds = [self.visit(part) if part is not None else ast.Constant(None) for part in parts]
            return ast.Call(ast.Name("slice", ast.Load()), bounds, [])
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made

    def _is_literal_table(self, node: ast.expr) -> bool:
        """Return whether an expression is a table written out in the source."""
        if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set):
            return True
        known = self.constants.get(node.id) if isinstance(node, ast.Name) else None
        return isinstance(known, list | tuple | dict | set | frozenset)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method_call(node, function)
        name = function.id if isinstance(function, ast.Name) else ""
        if name == "super" or self._is_constant(node):
            return node
        if (
            name in _SELECTING
            and len(node.args) == 1
            and isinstance(node.args[0], ast.List | ast.Tuple | ast.Set)
        ):
            number = self._need(REACHED | EFFECT, node)
            display = ast.List([self.visit(item) for item in node.args[0].elts], ast.Load())
            return _recorder_call("selection", number, function, display, self._keywords(node))
        bits = REACHED | EFFECT | (BOTH if name in _PREDICATES else VARIED)
        number = self._need(bits, node)
        made = _recorder_call("call", number, self.visit(function), *(self.visit(item) for item in node.args))
        made.keywords = [ast.keyword(item.arg, self.visit(item.value)) for item in node.keywords]
        return made

    def _keywords(self, node: ast.Call) -> ast.Dict:
        return ast.Dict(
            [ast.Constant(item.arg) for item in node.keywords],
            [self.visit(item.value) for item in node.keywords],
        )

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        base, name = function.value, function.attr
        args = ast.List([self.visit(item) for item in node.args], ast.Load())
        of_module = isinstance(base, ast.Name) and base.id in self.modules
        bits = REACHED
        if name in UNKNOWN_CODE or (of_module and name not in ("sub", "split", "subn")):
            bits |= 0 if name in UNKNOWN_CODE else VARIED
        elif name in ("get", "pop", "setdefault") and len(node.args) > 1:
            bits |= BOTH | (MISSED if self._is_literal_table(base) else 0)
        elif name in ("get", "pop"):
            bits |= MISSED if self._is_literal_table(base) else 0
        elif name in (
            "items",
            "keys",
            "values",
            "join",
            "format",
            "update",
            "encode",
            "decode",
            "popitem",
            "remove",
        ):
            bits |= EFFECT if name in ("remove", "update") else 0
        else:
            bits |= EFFECT | VARIED
        number = self._need(bits, node)
        return _recorder_call(
            "method", number, self.visit(base), ast.Constant(name), args, self._keywords(node)
        )

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = _recorder_call("shown", self.visit(node.value))
        if isinstance(node.format_spec, ast.JoinedStr):
            for part in node.format_spec.values:
                if isinstance(part, ast.FormattedValue):
                    part.value = _recorder_call("width", self.visit(part.value))
        return node


def _recorder_call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(PREFIX + name, ast.Load()), list(args), [])


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _statement_list(made: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]  # type: ignore[list-item]


def _drop_annotations(node: ast.FunctionDef) -> None:
    node.returns = None
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            part.annotation = None


def _without_annotation(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.AnnAssign):
        if statement.value is None:
            return ast.Pass()
        return ast.Assign([statement.target], statement.value)
    return statement
