"""Random Python modules that use every node of the running Python's grammar, in every place where it may stand.

Which nodes there are, and of what, is read from `ast` itself: each node's
class says its fields in the notation of the grammar. Where the grammar alone
does not say what is legal (what may be assigned to, what an `except` may
follow), a builder of the class's name does. What does not compile is left out.
"""

from __future__ import annotations

import ast
import inspect
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

_FIELD = re.compile(r"(\w+)([*?]?) (\w+)")
_NAMES = (
    "a",
    "b",
    "c",
    "value",
    "os",
    "self",
    "cls",
    "data",
    "é",
    "_x",
    "__y",
    "print",
    "f",
    "match",
    "type",
)
_WALRUS = ("w", "walrus")  # no name of a comprehension may be bound so
_ATTRIBUTES = ("a", "system", "path", "__class__", "join", "run", "append", "format")
_MODULES = ("os", "sys", "a", "subprocess", "a.b.c", "collections.abc", "numpy")
_TEXTS = (
    "",
    "a",
    "text with words",
    "SELECT a FROM b",
    "\x00\n\t",
    "é\u202e",
    "{a} %s",
    "\\",
    "'\"",
    "YWJjZGVm" * 4,
)
_OTHER = (0, 1, 7, 10**30, 1.5, 1e400, 2j, True, None, ..., b"", b"\x00\xff", b"data")
_DEEPEST = 6
_MOST_TRIES = 40


def kinds() -> dict[str, type[ast.AST]]:
    """Return the nodes that a module of the running Python may be made of, by name."""
    found: dict[str, type[ast.AST]] = {}
    for name, kind in inspect.getmembers(ast, inspect.isclass):
        if not issubclass(kind, ast.AST) or kind.__module__ not in ("ast", "_ast"):
            continue
        sum_or_node = (kind.__doc__ or "").partition("(")[0].partition(" ")[0]
        is_sum = " = " in (kind.__doc__ or "").partition("(")[0]
        if sum_or_node == name and not is_sum and not issubclass(kind, ast.mod | ast.type_ignore):
            found[name] = kind
    return found


KINDS = kinds()


def fields_of(kind: type[ast.AST]) -> list[tuple[str, str, str]]:
    """Return type, quantifier (`*`, `?` or nothing) and name of each field of a node, as the grammar has them."""
    return _FIELD.findall((kind.__doc__ or "").partition("(")[2])


def _of(base: type[ast.AST]) -> list[str]:
    return [name for name, kind in KINDS.items() if issubclass(kind, base) and kind is not base]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands, as far as that decides what is legal there."""

    function: bool = False
    is_async: bool = False
    loop: bool = False
    in_class: bool = False
    starred_group: bool = False  # in `except*`, where no return, break or continue may be
    depth: int = 0
    enclosing: tuple[str, ...] = ()  # names of the functions around, for nonlocal
    comprehension: bool = False
    constant: bool = False  # in an annotation or a pattern: no yield, await, walrus

    @property
    def deeper(self) -> Place:
        """The same, one level further down."""
        return replace(self, depth=self.depth + 1)


class Grammar:
    """Makes modules from a source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._captured = 0
        self._statements = [
            name for name in _of(ast.stmt) if name not in ("Break", "Continue", "Return", "Nonlocal")
        ]
        self._expressions = [
            name
            for name in _of(ast.expr)
            if name
            not in ("Starred", "Slice", "FormattedValue", "Interpolation", "Await", "Yield", "YieldFrom")
        ]

    def module(self, statements: int) -> str:
        """Return the source of a module of about so many statements, all of which compiles."""
        parts: list[str] = []
        while len(parts) < statements:
            source = self._statement_source(Place())
            if source:
                parts.append(source)
        text = "\n".join(parts) + "\n"
        return text if compiles(text) else self._largest(parts)

    def _largest(self, parts: list[str]) -> str:
        """Return what compiles together: a `global` may come too late for another statement's name."""
        kept: list[str] = []
        for part in parts:
            if compiles("\n".join([*kept, part]) + "\n"):
                kept.append(part)
        return "\n".join(kept) + "\n"

    def _statement_source(self, place: Place) -> str:
        for _ in range(_MOST_TRIES):
            source = written(self.statement(place))
            if source and compiles(source):
                return source
        return ""

    def nested(self, levels: int) -> str:
        """Return a module with one statement nested so deep, or as deep as Python takes, all of it in turn."""
        for _ in range(_MOST_TRIES):
            blocks = self.chance.randint(0, min(levels, 18))
            inner: ast.expr = self.expression(Place(depth=_DEEPEST))
            for _ in range(levels - blocks):
                inner = self._around(inner)
            body: list[ast.stmt] = [
                ast.Expr(inner) if self.chance.random() < 0.5 else ast.Assign([_store("x")], inner)
            ]
            for _ in range(blocks):
                body = [self._block_around(body)]
            source = written(body[0])
            if source and compiles(source):
                return source + "\n"
            levels = max(1, min(levels, 200) * 9 // 10)
        return "pass\n"

    def _around(self, inner: ast.expr) -> ast.expr:
        """Return an expression that holds another one."""
        name = _load(self.chance.choice(_NAMES))
        makers: tuple[Callable[[], ast.expr], ...] = (
            lambda: ast.BinOp(name, ast.Add(), inner),
            lambda: ast.BinOp(inner, ast.Mult(), name),
            lambda: ast.Call(name, [inner], []),
            lambda: ast.Call(ast.Attribute(inner, "join", ast.Load()), [name], []),
            lambda: ast.Call(name, [], [ast.keyword("key", inner)]),
            lambda: ast.Subscript(name, inner, ast.Load()),
            lambda: ast.Subscript(inner, ast.Constant(0), ast.Load()),
            lambda: ast.List([inner], ast.Load()),
            lambda: ast.Tuple([inner, name], ast.Load()),
            lambda: ast.Dict([ast.Constant("k")], [inner]),
            lambda: ast.Set([inner]),
            lambda: ast.Lambda(self.arguments(Place(depth=_DEEPEST), annotated=False), inner),
            lambda: ast.IfExp(name, inner, name),
            lambda: ast.IfExp(inner, name, name),
            lambda: ast.BoolOp(ast.And(), [name, inner]),
            lambda: ast.Compare(inner, [ast.Lt()], [name]),
            lambda: ast.UnaryOp(ast.Not(), inner),
            lambda: ast.ListComp(inner, [ast.comprehension(_store("a"), name, [], 0)]),
            lambda: ast.ListComp(name, [ast.comprehension(_store("a"), inner, [name], 0)]),
            lambda: ast.NamedExpr(_store("w"), inner),
            lambda: ast.Attribute(inner, "a", ast.Load()),
            lambda: ast.JoinedStr([ast.Constant("t"), ast.FormattedValue(inner, -1, None)]),
        )
        # A text within a text takes other quotation marks before 3.12: few levels of it can be written.
        weights = [1.0] * (len(makers) - 1) + [0.05]
        return self.chance.choices(makers, weights)[0]()

    def _block_around(self, body: list[ast.stmt]) -> ast.stmt:
        """Return a statement that holds others."""
        name = _load(self.chance.choice(_NAMES))
        makers: tuple[Callable[[], ast.stmt], ...] = (
            lambda: ast.If(name, body, []),
            lambda: ast.If(name, [ast.Pass()], body),
            lambda: ast.For(_store("i"), name, body, []),
            lambda: ast.While(name, body, []),
            lambda: ast.With([ast.withitem(name, _store("w"))], body),
            lambda: ast.Try(body, [ast.ExceptHandler(name, "e", [ast.Pass()])], [], []),
            lambda: ast.Try([ast.Pass()], [], [], body),
            lambda: ast.Match(name, [ast.match_case(ast.MatchAs(None, "m"), None, body)]),
            lambda: self._definition(body),
            lambda: self._class(body),
        )
        return self.chance.choice(makers)()

    def _definition(self, body: list[ast.stmt]) -> ast.stmt:
        made = ast.parse("def f(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = self.arguments(Place(depth=_DEEPEST)), body
        return made

    def _class(self, body: list[ast.stmt]) -> ast.stmt:
        made = ast.parse("class C: pass").body[0]
        assert isinstance(made, ast.ClassDef)
        made.body = body
        return made

    # statements

    def statement(self, place: Place) -> ast.stmt:
        """Return any statement that may stand in a place."""
        names = list(self._statements)
        if place.depth >= 3:
            names = [name for name in names if "body" not in KINDS[name]._fields and name != "Match"]
        if place.function and not place.starred_group:
            names += ["Return"] * 3
        if place.is_async and place.depth < 3:
            names += ["AsyncFor", "AsyncWith"] * 3
        if place.loop and not place.starred_group:
            names += ["Break", "Continue"]
        if place.enclosing and place.function:
            names += ["Nonlocal"] * 2
        return self._node(self.chance.choice(names), place)  # type: ignore[return-value]

    def body(self, place: Place, least: int = 1) -> list[ast.stmt]:
        """Return the statements of a block."""
        return [self.statement(place.deeper) for _ in range(self.chance.randint(least, 3))]

    def _node(self, name: str, place: Place) -> ast.AST:
        """Return a node of a kind: by its own builder, or as the grammar says."""
        build = getattr(self, f"_{name.lower()}", None)
        node: ast.AST = self._by_grammar(name, place) if build is None else build(place)
        return node

    def _by_grammar(self, name: str, place: Place) -> ast.AST:
        kind = KINDS[name]
        node = kind()
        for type_name, quantifier, field in fields_of(kind):
            setattr(node, field, self._field(type_name, quantifier, place.deeper))
        return node

    def _field(self, type_name: str, quantifier: str, place: Place) -> object:
        if quantifier == "?" and self.chance.random() < 0.5:
            return None
        if quantifier == "*":
            least = 0 if type_name == "stmt" or place.depth > _DEEPEST else self.chance.randint(0, 1)
            return [self._field(type_name, "", place) for _ in range(self.chance.randint(least, 2))]
        if type_name == "expr":
            return self.expression(place)
        if type_name == "stmt":
            return self.statement(place)
        if type_name == "identifier":
            return self.chance.choice(_NAMES)
        if type_name == "int":
            return 0
        if type_name == "string":
            return None
        if type_name == "constant":
            return self.chance.choice(_OTHER)
        concrete = [type_name] if type_name in KINDS else _of(getattr(ast, type_name))
        return self._node(self.chance.choice(concrete), place)

    def _functiondef(self, place: Place) -> ast.AST:
        return self._function("FunctionDef", place, is_async=False)

    def _asyncfunctiondef(self, place: Place) -> ast.AST:
        return self._function("AsyncFunctionDef", place, is_async=True)

    def _function(self, kind: str, place: Place, *, is_async: bool) -> ast.AST:
        node = self._by_grammar(kind, replace(place, depth=max(place.depth, _DEEPEST - 1)))
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        node.name = self.chance.choice(_NAMES)
        node.args = self.arguments(place.deeper)
        names = (*place.enclosing, *(arg.arg for arg in node.args.args)) if place.function else ()
        inside = Place(
            True, is_async, depth=place.depth, enclosing=names or tuple(arg.arg for arg in node.args.args)
        )
        node.body = self._declared(inside) + self.body(inside)
        node.decorator_list = [self.expression(place.deeper) for _ in range(self.chance.choice((0, 0, 1, 2)))]
        node.returns = self._annotation(place) if self.chance.random() < 0.3 else None
        return node

    def _declared(self, place: Place) -> list[ast.stmt]:
        """Return `global` and `nonlocal` statements as a body may begin with them."""
        chosen: list[ast.stmt] = []
        if self.chance.random() < 0.2:
            chosen.append(ast.Global([self.chance.choice(_NAMES)]))
        if place.enclosing and self.chance.random() < 0.2:
            chosen.append(ast.Nonlocal([self.chance.choice(place.enclosing)]))
        return chosen

    def _classdef(self, place: Place) -> ast.AST:
        node = self._by_grammar("ClassDef", replace(place, depth=max(place.depth, _DEEPEST - 1)))
        assert isinstance(node, ast.ClassDef)
        node.name = self.chance.choice(_NAMES)
        node.bases = [self._starrable(place) for _ in range(self.chance.choice((0, 1, 2)))]
        inside = Place(in_class=True, depth=place.depth, enclosing=place.enclosing)
        node.body = self._declared(inside) + self.body(inside)
        node.decorator_list = [self.expression(place.deeper) for _ in range(self.chance.choice((0, 0, 1)))]
        return node

    def _global(self, place: Place) -> ast.AST:
        return ast.Global([self.chance.choice(_NAMES) for _ in range(self.chance.randint(1, 2))])

    def _nonlocal(self, place: Place) -> ast.AST:
        return ast.Nonlocal([self.chance.choice(place.enclosing or _NAMES)])

    def _delete(self, place: Place) -> ast.AST:
        return ast.Delete(
            [_with(self._target(place, starred=False), ast.Del()) for _ in range(self.chance.randint(1, 2))]
        )

    def _assign(self, place: Place) -> ast.AST:
        targets = [self._target(place) for _ in range(self.chance.choice((1, 1, 2)))]
        return ast.Assign(targets, self._value(place))

    def _augassign(self, place: Place) -> ast.AST:
        return ast.AugAssign(self._single_target(place), self._operator(ast.operator), self._value(place))

    def _annassign(self, place: Place) -> ast.AST:
        target = self._single_target(place)
        value = self._value(place) if self.chance.random() < 0.6 else None
        return ast.AnnAssign(target, self._annotation(place), value, int(isinstance(target, ast.Name)))

    def _typealias(self, place: Place) -> ast.AST:
        node = self._by_grammar("TypeAlias", replace(place, constant=True, depth=_DEEPEST))
        node.name = _store(self.chance.choice(_NAMES))  # type: ignore[attr-defined]
        return node

    def _typevar(self, place: Place) -> ast.AST:
        return self._type_parameter("TypeVar", place)

    def _paramspec(self, place: Place) -> ast.AST:
        return self._type_parameter("ParamSpec", place)

    def _typevartuple(self, place: Place) -> ast.AST:
        return self._type_parameter("TypeVarTuple", place)

    def _type_parameter(self, kind: str, place: Place) -> ast.AST:
        node = self._by_grammar(kind, Place(constant=True, depth=_DEEPEST + 1))
        self._captured += 1
        node.name = f"T{self._captured}"  # type: ignore[attr-defined]
        if hasattr(node, "default_value"):
            node.default_value = None
        return node

    def _for(self, place: Place) -> ast.AST:
        return ast.For(
            self._target(place), self._value(place), self.body(replace(place, loop=True)), self._else(place)
        )

    def _asyncfor(self, place: Place) -> ast.AST:
        if not place.is_async:
            return self._for(place)
        body = self.body(replace(place, loop=True))
        return ast.AsyncFor(self._target(place), self._value(place), body, self._else(place))

    def _while(self, place: Place) -> ast.AST:
        return ast.While(
            self.expression(place.deeper), self.body(replace(place, loop=True)), self._else(place)
        )

    def _if(self, place: Place) -> ast.AST:
        return ast.If(self.expression(place.deeper), self.body(place), self._else(place))

    def _else(self, place: Place) -> list[ast.stmt]:
        return self.body(place) if self.chance.random() < 0.3 else []

    def _with(self, place: Place) -> ast.AST:
        return ast.With(self._items(place), self.body(place))

    def _asyncwith(self, place: Place) -> ast.AST:
        if not place.is_async:
            return self._with(place)
        return ast.AsyncWith(self._items(place), self.body(place))

    def _items(self, place: Place) -> list[ast.withitem]:
        return [self._withitem(place) for _ in range(self.chance.randint(1, 2))]

    def _withitem(self, place: Place) -> ast.withitem:
        target = self._target(place) if self.chance.random() < 0.6 else None
        return ast.withitem(self.expression(place.deeper), target)

    def _match(self, place: Place) -> ast.AST:
        cases = [self._match_case(place) for _ in range(self.chance.randint(1, 3))]
        return ast.Match(self._value(place), cases)

    def _match_case(self, place: Place) -> ast.match_case:
        self._captured = 0
        guard = self.expression(place.deeper) if self.chance.random() < 0.3 else None
        return ast.match_case(self.pattern(place), guard, self.body(place))

    def _raise(self, place: Place) -> ast.AST:
        raised = self.expression(place.deeper) if self.chance.random() < 0.8 else None
        return ast.Raise(
            raised, self.expression(place.deeper) if raised and self.chance.random() < 0.3 else None
        )

    def _try(self, place: Place) -> ast.AST:
        handlers = [self._excepthandler(place) for _ in range(self.chance.randint(0, 2))]
        if handlers and self.chance.random() < 0.3:
            handlers[-1].type, handlers[-1].name = None, None
        final = self.body(place) if not handlers or self.chance.random() < 0.3 else []
        return ast.Try(self.body(place), handlers, self._else(place) if handlers else [], final)

    def _trystar(self, place: Place) -> ast.AST:
        handlers = [
            self._excepthandler(replace(place, starred_group=True)) for _ in range(self.chance.randint(1, 2))
        ]
        return ast.TryStar(self.body(place), handlers, self._else(place), self._else(place))

    def _excepthandler(self, place: Place) -> ast.ExceptHandler:
        name = self.chance.choice(_NAMES) if self.chance.random() < 0.5 else None
        return ast.ExceptHandler(self.expression(place.deeper), name, self.body(place))

    def _import(self, place: Place) -> ast.AST:
        return ast.Import([self._alias(place) for _ in range(self.chance.randint(1, 3))])

    def _alias(self, place: Place) -> ast.alias:
        return ast.alias(self.chance.choice(_MODULES), self.chance.choice((None, None, *_NAMES)))

    def _importfrom(self, place: Place) -> ast.AST:
        level = self.chance.choice((0, 0, 1, 2))
        module = self.chance.choice(_MODULES) if not level or self.chance.random() < 0.5 else None
        if not place.function and not place.in_class and self.chance.random() < 0.2:
            return ast.ImportFrom(module, [ast.alias("*", None)], level)
        names = [
            ast.alias(self.chance.choice(_ATTRIBUTES), self.chance.choice((None, *_NAMES)))
            for _ in range(self.chance.randint(1, 3))
        ]
        return ast.ImportFrom(module, names, level)

    def _return(self, place: Place) -> ast.AST:
        return ast.Return(self._value(place) if self.chance.random() < 0.8 else None)

    def _expr(self, place: Place) -> ast.AST:
        return ast.Expr(self._value(place))

    # expressions

    def expression(self, place: Place) -> ast.expr:
        """Return any expression that may stand in a place."""
        if place.depth > _DEEPEST:
            return self.chance.choice((self._name, self._constant))(place)
        names = list(self._expressions)
        if place.constant:
            names.remove("NamedExpr")
        elif place.function and not place.comprehension:
            names += ["Yield", "YieldFrom"] if not place.is_async else ["Yield", "Await", "Await"]
        return self._node(self.chance.choice(names), place.deeper)  # type: ignore[return-value]

    def _value(self, place: Place) -> ast.expr:
        return self.expression(place.deeper)

    def _annotation(self, place: Place) -> ast.expr:
        return self.expression(Place(constant=True, depth=max(place.depth, _DEEPEST - 1)))

    def _starrable(self, place: Place) -> ast.expr:
        value = self.expression(place.deeper)
        return ast.Starred(value, ast.Load()) if self.chance.random() < 0.2 else value

    def _several(self, place: Place, least: int = 0) -> list[ast.expr]:
        return [self._starrable(place) for _ in range(self.chance.randint(least, 3))]

    def _operator(self, kind: type[ast.AST]) -> Any:
        return KINDS[self.chance.choice(_of(kind))]()

    def _name(self, place: Place) -> ast.expr:
        return _load(self.chance.choice(_NAMES))

    def _constant(self, place: Place) -> ast.expr:
        return ast.Constant(self.chance.choice((*_TEXTS, *_OTHER)), None)

    def _boolop(self, place: Place) -> ast.expr:
        return ast.BoolOp(
            self._operator(ast.boolop), [self.expression(place) for _ in range(self.chance.randint(2, 4))]
        )

    def _namedexpr(self, place: Place) -> ast.expr:
        return ast.NamedExpr(_store(self.chance.choice(_WALRUS)), self.expression(place))

    def _lambda(self, place: Place) -> ast.expr:
        inside = replace(place, function=True, is_async=False, comprehension=place.constant)
        return ast.Lambda(
            self.arguments(replace(place, depth=_DEEPEST), annotated=False), self.expression(inside)
        )

    def _dict(self, place: Place) -> ast.expr:
        values = [self.expression(place) for _ in range(self.chance.randint(0, 3))]
        keys = [None if self.chance.random() < 0.2 else self.expression(place) for _ in values]
        return ast.Dict(keys, values)

    def _set(self, place: Place) -> ast.expr:
        return ast.Set(self._several(place, 1))

    def _list(self, place: Place) -> ast.expr:
        return ast.List(self._several(place), ast.Load())

    def _tuple(self, place: Place) -> ast.expr:
        return ast.Tuple(self._several(place), ast.Load())

    def _listcomp(self, place: Place) -> ast.expr:
        inside = replace(place, comprehension=True)
        return ast.ListComp(self.expression(inside), self._clauses(inside))

    def _setcomp(self, place: Place) -> ast.expr:
        inside = replace(place, comprehension=True)
        return ast.SetComp(self.expression(inside), self._clauses(inside))

    def _generatorexp(self, place: Place) -> ast.expr:
        inside = replace(place, comprehension=True)
        return ast.GeneratorExp(self.expression(inside), self._clauses(inside))

    def _dictcomp(self, place: Place) -> ast.expr:
        inside = replace(place, comprehension=True)
        return ast.DictComp(self.expression(inside), self.expression(inside), self._clauses(inside))

    def _clauses(self, place: Place) -> list[ast.comprehension]:
        return [self._comprehension(place) for _ in range(self.chance.randint(1, 2))]

    def _comprehension(self, place: Place) -> ast.comprehension:
        conditions = [self.expression(place) for _ in range(self.chance.choice((0, 0, 1, 2)))]
        is_async = int(place.is_async and self.chance.random() < 0.3)
        # No walrus among what is iterated over.
        iterated = self.expression(replace(place, constant=True))
        return ast.comprehension(self._target(place), iterated, conditions, is_async)

    def _await(self, place: Place) -> ast.expr:
        return ast.Await(self.expression(place))

    def _yield(self, place: Place) -> ast.expr:
        return ast.Yield(self.expression(place) if self.chance.random() < 0.7 else None)

    def _yieldfrom(self, place: Place) -> ast.expr:
        return ast.YieldFrom(self.expression(place))

    def _compare(self, place: Place) -> ast.expr:
        count = self.chance.randint(1, 3)
        operators = [self._operator(ast.cmpop) for _ in range(count)]
        return ast.Compare(self.expression(place), operators, [self.expression(place) for _ in range(count)])

    def _call(self, place: Place) -> ast.expr:
        names = [
            None if self.chance.random() < 0.2 else f"k{number}"
            for number in range(self.chance.randint(0, 2))
        ]
        keywords = [ast.keyword(name, self.expression(place)) for name in names]
        return ast.Call(self.expression(place), self._several(place), keywords)

    def _joinedstr(self, place: Place) -> ast.expr:
        whole = ast.JoinedStr(self._pieces(place, "FormattedValue"))
        return whole if written(whole) else ast.JoinedStr([ast.Constant("a")])

    def _templatestr(self, place: Place) -> ast.expr:
        node = KINDS["TemplateStr"]()
        node.values = self._pieces(place, "Interpolation")  # type: ignore[attr-defined]
        return node  # type: ignore[return-value]

    def _pieces(self, place: Place, kind: str) -> list[ast.expr]:
        pieces: list[ast.expr] = []
        for _ in range(self.chance.randint(1, 3)):
            pieces.append(ast.Constant(self.chance.choice(("a", " and ", "{", "SELECT "))))
            pieces.append(self._inserted(place, kind))
        return pieces

    def _inserted(self, place: Place, kind: str) -> ast.expr:
        node = KINDS[kind]()
        node.conversion = self.chance.choice((-1, 115, 114, 97))  # type: ignore[attr-defined]
        node.format_spec = ast.JoinedStr([ast.Constant(">10")]) if self.chance.random() < 0.3 else None  # type: ignore[attr-defined]
        # Before 3.12 no backslash and not every quotation mark may stand in it: a name always may.
        for inner in (self.expression(replace(place, depth=max(place.depth, _DEEPEST - 1))), _load("a")):
            node.value = inner  # type: ignore[attr-defined]
            if kind == "Interpolation":
                node.str = written(inner)  # type: ignore[attr-defined]
            if written(ast.JoinedStr([node])) or kind == "Interpolation":  # type: ignore[list-item]
                break
        return node  # type: ignore[return-value]

    def _attribute(self, place: Place) -> ast.expr:
        return ast.Attribute(self.expression(place), self.chance.choice(_ATTRIBUTES), ast.Load())

    def _subscript(self, place: Place) -> ast.expr:
        return ast.Subscript(self.expression(place), self._index(place), ast.Load())

    def _index(self, place: Place) -> ast.expr:
        if self.chance.random() < 0.3:
            parts = [self.expression(place) if self.chance.random() < 0.5 else None for _ in range(3)]
            sliced = ast.Slice(*parts)
            return (
                ast.Tuple([sliced, self.expression(place)], ast.Load())
                if self.chance.random() < 0.2
                else sliced
            )
        return self.expression(place)

    # targets

    def _target(self, place: Place, *, starred: bool = True) -> ast.expr:
        if self.chance.random() < 0.7 or place.depth > _DEEPEST:
            return self._single_target(place)
        parts = [self._target(place.deeper, starred=False) for _ in range(self.chance.randint(1, 3))]
        if starred and self.chance.random() < 0.4:
            parts[-1] = ast.Starred(parts[-1], ast.Store())
        kind = self.chance.choice((ast.List, ast.Tuple))
        return kind(parts, ast.Store())

    def _single_target(self, place: Place) -> ast.Name | ast.Attribute | ast.Subscript:
        roll = self.chance.random()
        inside = replace(place.deeper, constant=True)
        if roll < 0.6:
            return _store(self.chance.choice(_NAMES))
        if roll < 0.8:
            return ast.Attribute(self.expression(inside), self.chance.choice(_ATTRIBUTES), ast.Store())
        return ast.Subscript(self.expression(inside), self._index(inside), ast.Store())

    def arguments(self, place: Place, *, annotated: bool = True) -> ast.arguments:
        """Return the parameters of a function or, not annotated, of a lambda, with names of their own."""
        names = self.chance.sample(_NAMES[:-2], self.chance.randint(0, 6))
        args = [
            ast.arg(name, self._annotation(place) if annotated and self.chance.random() < 0.2 else None)
            for name in names
        ]
        cuts = sorted(self.chance.randint(0, len(args)) for _ in range(2))
        only_positional, plain, by_name = args[: cuts[0]], args[cuts[0] : cuts[1]], args[cuts[1] :]
        several = by_name.pop() if by_name and self.chance.random() < 0.4 else None
        rest = by_name.pop() if by_name and self.chance.random() < 0.4 else None
        small = Place(constant=True, depth=_DEEPEST)
        defaults = [
            self.expression(small) for _ in range(self.chance.randint(0, len(only_positional) + len(plain)))
        ]
        by_name_defaults = [self.expression(small) if self.chance.random() < 0.5 else None for _ in by_name]
        return ast.arguments(only_positional, plain, several, by_name, by_name_defaults, rest, defaults)

    _arguments = arguments

    # patterns

    def pattern(self, place: Place) -> ast.pattern:
        """Return any pattern but one that takes the rest of a sequence."""
        names = [name for name in _of(ast.pattern) if name != "MatchStar"]
        if place.depth > _DEEPEST:
            names = ["MatchSingleton", "MatchValue", "MatchAs"]
        return self._node(self.chance.choice(names), place.deeper)  # type: ignore[return-value]

    def _capture(self) -> str | None:
        self._captured += 1
        return f"m{self._captured}" if self.chance.random() < 0.7 else None

    def _matchvalue(self, place: Place) -> ast.pattern:
        number, dotted = ast.Constant(2), ast.Attribute(_load("a"), "b", ast.Load())
        complex_number = ast.BinOp(ast.UnaryOp(ast.USub(), number), ast.Add(), ast.Constant(3j))
        text = ast.Constant(self.chance.choice(_TEXTS))
        return ast.MatchValue(
            self.chance.choice((number, dotted, complex_number, text, ast.UnaryOp(ast.USub(), number)))
        )

    def _matchsingleton(self, place: Place) -> ast.pattern:
        return ast.MatchSingleton(self.chance.choice((None, True, False)))

    def _matchsequence(self, place: Place) -> ast.pattern:
        parts = [self.pattern(place) for _ in range(self.chance.randint(0, 3))]
        if self.chance.random() < 0.4:
            parts.insert(self.chance.randint(0, len(parts)), ast.MatchStar(self._capture()))
        return ast.MatchSequence(parts)

    def _matchmapping(self, place: Place) -> ast.pattern:
        patterns = [self.pattern(place) for _ in range(self.chance.randint(0, 2))]
        keys: list[ast.expr] = [ast.Constant(f"key {number}") for number in range(len(patterns))]
        rest = f"rest{self._captured}" if self.chance.random() < 0.3 else None
        self._captured += 1
        return ast.MatchMapping(keys, patterns, rest)

    def _matchclass(self, place: Place) -> ast.pattern:
        positional = [self.pattern(place) for _ in range(self.chance.randint(0, 2))]
        named = [self.pattern(place) for _ in range(self.chance.randint(0, 2))]
        owner = self.chance.choice((_load("C"), ast.Attribute(_load("a"), "C", ast.Load())))
        return ast.MatchClass(owner, positional, [f"k{number}" for number in range(len(named))], named)

    def _matchas(self, place: Place) -> ast.pattern:
        name = self._capture()
        inner = self.pattern(place) if name and self.chance.random() < 0.4 else None
        return ast.MatchAs(inner, name)

    def _matchor(self, place: Place) -> ast.pattern:
        # The same names would have to be bound in each.
        small = [self.chance.choice((self._matchvalue, self._matchsingleton))(place) for _ in range(2)]
        return ast.MatchOr([*small, ast.MatchClass(_load("C"), [], [], [])])


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _with(target: ast.expr, context: ast.expr_context) -> ast.expr:
    """Return a target of an assignment as one of another statement."""
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript | ast.List | ast.Tuple | ast.Starred):
        target.ctx = context
    if isinstance(target, ast.List | ast.Tuple):
        target.elts = [_with(part, context) for part in target.elts]
    return target


def written(node: ast.AST) -> str:
    """Return the source of a node, empty where it cannot be written."""
    try:
        return ast.unparse(ast.fix_missing_locations(node))  # some kinds cannot be written without a place
    except (ValueError, RecursionError, AttributeError, TypeError):
        return ""


def compiles(source: str) -> bool:
    """Return whether the running Python takes a source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<generated>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
    return True


def kinds_in(source: str) -> set[str]:
    """Return the names of the node kinds in a source."""
    return {type(node).__name__ for node in ast.walk(ast.parse(source))}


def modules(seed: int, statements: int = 8) -> Iterator[str]:
    """Yield modules without end, the same for the same seed and Python."""
    grammar = Grammar(random.Random(seed))
    while True:
        yield grammar.module(statements)
