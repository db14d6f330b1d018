"""Lower the syntax trees of other languages to nodes of Python's `ast`, which names and data flow are read from.

Which types of a grammar are calls, members, assignments and so on is in `front_ends.toml`. A type without
a row becomes the expressions of its children, so that values flow through what is not known. What a language
writes differently for the same thing becomes what Python writes: `parts.join("")` is `"".join(parts)`,
`require("os")` an import, and a member by a composed name `getattr`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from codeguard.corpus.chunking import grammars
from codeguard.corpus.chunking.parsing import syntax_root
from codeguard.syntax.unread import Unread

LARGEST = 400_000  # maximum bytes of a file to lower
DEEPEST = 150  # levels of a syntax tree
_TOO_LARGE = f"values were not followed in a file of more than {LARGEST:,} bytes"
_TOO_DEEP = f"values were not followed into more than {DEEPEST} levels of a syntax tree"
_NOT_PARSED = "values were not followed: parsing the file exceeded a limit"
Made = TypeVar("Made", bound=ast.expr | ast.stmt)


_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# Types of nodes with the fields of what counts in them.
CALLS: dict[str, list[str]] = _TABLES["calls"]
MEMBERS: dict[str, list[str]] = _TABLES["members"]
ASSIGNS: dict[str, list[str]] = _TABLES["assigns"]
# Fields with the object of a call whose function field is only a name.
OWNERS = ("object", "receiver", "scope")
_TYPES = {name: frozenset(types.split()) for name, types in _TABLES.items() if isinstance(types, str)}
_CONCATENATION = ("+", ".")
_WINDOWS = frozenset({"window", "globalThis", "self", "global"})
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL
)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}
_PLACEHOLDER = re.compile(r"\{(\w+)[^{}]*\}")
_LINE_END = re.compile(rb"\r\n|\r|\n")


def lowered(text: str, language: str, unread: Unread) -> ast.Module | None:
    """Return the tree of a text in another language than Python, or None without its grammar or beyond a limit."""
    loaded = None
    for name in (language, *(["javascript"] if language in ("typescript", "tsx") else [])):
        grammar = grammars.by_name(name)
        loaded = loaded or (grammars.load_grammar(grammar) if grammar is not None else None)
    if loaded is None:
        return None
    source = text.encode("utf-8", "replace")
    if len(source) > LARGEST:
        unread.note(_TOO_LARGE)
        return None
    root = syntax_root(loaded, source)
    if root is None:
        unread.note(_NOT_PARSED)
        return None
    return ast.Module(_Lowering(source, language, unread).block(root), [])


@dataclass(slots=True, eq=False)
class _Function:
    """What is known of the function that is being lowered."""

    declared: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)  # assigned here, and declared around it
    made: list[ast.stmt] = field(default_factory=list)  # statements of the expressions of the current one


class _Lowering:
    """Lowers one file."""

    def __init__(self, source: bytes, language: str, unread: Unread) -> None:
        self._source = source
        self._language = language
        self._unread = unread
        self._lines = [0, *(match.end() for match in _LINE_END.finditer(source))]
        self._depth = 0
        self._count = 0
        self._around: list[_Function] = [_Function()]

    def _at(self, made: Made, node: Any) -> Made:
        """Give a node the place of what it was made from."""
        places = (("lineno", "col_offset", node.start_byte), ("end_lineno", "end_col_offset", node.end_byte))
        for line, column, byte in places:
            at = bisect_right(self._lines, byte)
            setattr(made, line, at)
            setattr(made, column, byte - self._lines[at - 1])
        return made

    def _text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _name(self, name: str, node: Any) -> ast.expr:
        return self._at(ast.Name(name, ast.Load()), node)

    # Statements

    def block(self, node: Any) -> list[ast.stmt]:
        """Return the statements of a block."""
        made: list[ast.stmt] = []
        for child in node.named_children:
            made += self._statement(child)
        return made

    def _statement(self, node: Any) -> list[ast.stmt]:
        function = self._around[-1]
        before, function.made = function.made, []
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                self._unread.note(_TOO_DEEP, node.start_point[0] + 1)
                return []
            last = self._read(node)
            return [*function.made, *last]
        finally:
            self._depth -= 1
            function.made = before

    def _read(self, node: Any) -> list[ast.stmt]:
        if node.type in _TYPES["branches"]:
            return self._branch(node)
        if node.type in _TYPES["blocks"]:
            return self.block(node)
        if node.type in _TYPES["imports"] or node.type.startswith(("import_", "export_", "named_imports")):
            return list(self._import(node))
        if node.type in ("return_statement", "return", "return_expression"):
            children = [self._expression(child) for child in node.named_children]
            value = children[0] if len(children) == 1 else self._at(ast.Tuple(children, ast.Load()), node)
            return [self._at(ast.Return(value), node)]
        if node.type in ("class_declaration", "class", "module", "impl_item", "mod_item"):
            body = node.child_by_field_name("body")
            return self.block(body) if body is not None else []
        value = self._expression(node)
        return [] if isinstance(value, ast.Name | ast.Constant) else [self._at(ast.Expr(value), node)]

    def _branch(self, node: Any) -> list[ast.stmt]:
        """Return a statement with blocks as tests that nobody knows, one for each block that may run."""
        made: list[ast.stmt] = []
        if node.type in ASSIGNS:
            made += self._assigned(node)
        for child in node.named_children:
            if (
                child.type in _TYPES["blocks"]
                or child.type.endswith("_statement")
                or child.type in _TYPES["branches"]
            ):
                body = self._statement(child)
                if body:
                    test = self._at(ast.Constant(...), child)
                    made.append(self._at(ast.If(test, body, []), child))
            elif node.type not in ASSIGNS:
                made += self._statement(child)
        return made

    def _import(self, node: Any) -> Iterator[ast.stmt]:
        if node.type not in _TYPES["imports"]:
            for child in node.named_children:
                yield from self._statement(child)
            return
        at = node
        while at is not None and not (at.child_by_field_name("source") or at.child_by_field_name("path")):
            at = at.parent
        if at is None:
            return
        written = self._expression(at.child_by_field_name("source") or at.child_by_field_name("path"))
        module = module_name(written.value) if isinstance(written, ast.Constant) else ""
        alias = node.child_by_field_name("alias") or node.child_by_field_name("name")
        if node.type == "import_specifier":
            name = self._text(node.child_by_field_name("name"))
            alias = node.child_by_field_name("alias")
            listed = [ast.alias(name, self._text(alias) if alias is not None else None)]
            yield self._at(ast.ImportFrom(module, listed, 0), node)
        elif node.type == "import_spec":
            last = module.rpartition(".")[2]
            bound = self._text(alias) if alias is not None else last
            yield self._at(ast.Import([ast.alias(last, bound)]), node)
        else:
            for child in node.named_children:
                if child.type == "identifier":
                    yield self._at(ast.Import([ast.alias(module, self._text(child))]), node)
                else:
                    yield from self._statement(child)

    # Assignments

    def _assigned(self, node: Any) -> list[ast.stmt]:
        fields = ASSIGNS[node.type]
        target, value = node.child_by_field_name(fields[0]), node.child_by_field_name(fields[1])
        if value is None and node.named_child_count == len(fields):
            value = node.named_children[1]  # C#'s grammar has no field for it
        if target is None or value is None:
            return [self._at(ast.Expr(self._expression(value or target)), node)] if value or target else []
        made = self._expression(value)
        function = self._around[-1]
        added, function.made = function.made, []
        if (
            node.type in ("augmented_assignment_expression", "operator_assignment")
            and target.type in _TYPES["identifiers"]
        ):
            return [*added, self._at(ast.AugAssign(self._target(target, False), ast.Add(), made), node)]  # type: ignore[arg-type]
        declares = node.type in _TYPES["declaring"]
        pairs = self._pairs(target, made)
        return [
            *added,
            *(self._at(ast.Assign([self._target(item, declares)], given), item) for item, given in pairs),
        ]

    def _pairs(self, target: Any, value: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
        """Yield what a pattern binds, each with its value."""
        if target.type == "object_pattern":
            for item in target.named_children:
                names = item.named_children or [item]
                member = self._at(ast.Attribute(value, self._text(names[0]), ast.Load()), item)
                yield names[-1 if item.type == "pair_pattern" else 0], member
            return
        several = target.type in ("expression_list", "left_assignment_list")
        listed = target.named_children if several else [target]
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        if len(listed) == len(values):
            yield from zip(listed, values, strict=True)
            return
        # In `value, err := call()` only the first name is the call's result.
        yield listed[0], value
        for item in listed[1:]:
            yield item, self._at(ast.Tuple([self._expression(listed[0])], ast.Load()), target)

    def _target(self, node: Any, declares: bool) -> ast.expr:
        if node.type in _TYPES["identifiers"]:
            name = self._text(node).lstrip("$")
            self._assign(name, declares)
            return self._at(ast.Name(name, ast.Store()), node)
        if node.type in MEMBERS or node.type in _TYPES["elements"]:
            return self._expression(node)
        named = list(_named_in(node))
        if len(named) == 1:
            return self._target(named[0], declares)
        return self._at(ast.Tuple([self._target(child, declares) for child in named], ast.Store()), node)

    def _assign(self, name: str, declares: bool) -> None:
        """Record to which function a name belongs that is assigned; PHP's functions see no names around them."""
        function = self._around[-1]
        own = declares or name in function.declared or self._language == "php"
        around = self._language == "javascript" or any(name in outer.declared for outer in self._around[:-1])
        (function.outer if around and not own else function.declared).add(name)

    # Functions

    def _function(self, node: Any) -> ast.expr:
        """Define a function beside the current statement, and return its name."""
        name = node.child_by_field_name("name")
        self._count += 1
        called = self._text(name) if name is not None else f"function {self._count}"
        listed = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        parameters = (
            list(dict.fromkeys(self._text(item).lstrip("$") for item in _named_in(listed))) if listed else []
        )
        function = _Function(declared=set(parameters))
        self._around.append(function)
        try:
            body = node.child_by_field_name("body")
            if body is not None and body.type not in _TYPES["blocks"]:
                value = self._expression(body)
                statements = [*function.made, self._at(ast.Return(value), body)]
            else:
                statements = self.block(node if body is None else body)
        finally:
            self._around.pop()
        statements = [*self._outer(function, node), *statements] or [self._at(ast.Pass(), node)]
        given = ast.arguments([], [ast.arg(item) for item in parameters], None, [], [], None, [])
        made = self._at(ast.FunctionDef(called, given, statements, []), node)
        around = self._around[-1]
        around.made.append(made)
        around.declared.add(called)
        return self._name(called, node)

    def _outer(self, function: _Function, node: Any) -> Iterator[ast.stmt]:
        """Yield the declarations of names that a function assigns and that belong to one around it."""
        nested = {name for name in function.outer if any(name in item.declared for item in self._around[1:])}
        for kind, names in ((ast.Nonlocal, nested), (ast.Global, function.outer - nested)):
            if names:
                yield self._at(kind(sorted(names)), node)
        self._around[-1].outer |= nested - self._around[-1].declared

    # Expressions

    def _expression(self, node: Any) -> ast.expr:
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                self._unread.note(_TOO_DEEP, node.start_point[0] + 1)
                return self._at(ast.Constant(...), node)
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: Any) -> ast.expr:
        lower = _EXPRESSIONS.get(node.type)
        if lower is not None:
            return lower(self, node)
        values = self._values(node)
        if len(values) == 1 or (values and node.type.startswith(("as_", "satisfies"))):
            return values[0]
        return self._at(ast.Tuple(values, ast.Load()) if values else ast.Constant(...), node)

    def _last(self, node: Any) -> ast.expr:
        """Return the last of several expressions: that of a pair, a sequence or what is awaited."""
        values = self._values(node)
        return values[-1] if values else self._at(ast.Constant(...), node)

    def _put_before(self, node: Any) -> ast.expr:
        """Put the statements of a block before the current one."""
        self._around[-1].made += self._statement(node)
        return self._at(ast.Constant(...), node)

    def _list(self, node: Any) -> ast.expr:
        body = node.child_by_field_name("body") or node
        return self._at(ast.List(self._values(body), ast.Load()), node)

    def _values(self, node: Any) -> list[ast.expr]:
        return [
            self._expression(child) for child in node.named_children if child.type not in _TYPES["no_values"]
        ]

    def _string(self, node: Any) -> ast.expr:
        raw = node.type == "raw_string_literal"
        if not node.named_children:
            text = self._text(node)
            text = text.strip("`\"'") if len(text) < 3 else text[1:-1]
            return self._at(ast.Constant(text if raw else _ESCAPE.sub(_unescaped, text)), node)
        parts: list[ast.expr] = []
        at = None
        for child in node.named_children:
            if child.type in _TYPES["no_values"]:
                continue
            if child.type in _TYPES["pieces"]:
                text = self._text(child)
                piece = text if raw else _ESCAPE.sub(_unescaped, text)
                parts.append(self._at(ast.Constant(piece), child))
            else:
                # The grammars of some languages have no nodes for the text between what is put in.
                if at is not None and at < child.start_byte:
                    between = self._source[at : child.start_byte].decode("utf-8", "replace")
                    parts.append(self._at(ast.Constant(between), child))
                parts.append(self._at(ast.FormattedValue(self._expression(child), -1, None), child))
            at = child.end_byte
        if all(isinstance(part, ast.Constant) for part in parts):
            whole = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
            return self._at(ast.Constant(whole), node)
        return self._at(ast.JoinedStr(parts), node)

    def _access(self, node: Any) -> ast.expr:
        owner, part = (node.child_by_field_name(name) for name in MEMBERS[node.type])
        return self._member(owner or node.named_children[0], part, node)

    def _member(self, owner: Any, part: Any, node: Any) -> ast.expr:
        base = self._expression(owner)
        if part is None:
            return base
        while owner.type == "parenthesized_expression" and owner.named_child_count == 1:
            owner = owner.named_children[0]
        if self._text(part) == "constructor" and owner.type in _TYPES["functions"]:
            return self._name("Function", node)
        if isinstance(base, ast.Name) and base.id in _WINDOWS:
            return self._name(self._text(part), node)
        return self._at(ast.Attribute(base, self._text(part).lstrip("$"), ast.Load()), node)

    def _element(self, node: Any) -> ast.expr:
        """Return an element: a member where its name is written, `getattr` where it is put together."""
        base, index = node.named_children[0], node.named_children[-1]
        held = self._expression(base)
        key = self._expression(index) if index is not base else self._at(ast.Constant(...), node)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return self._at(ast.Attribute(held, key.value, ast.Load()), node)
        if isinstance(key, ast.BinOp | ast.Call | ast.Subscript | ast.Await):
            return self._at(ast.Call(self._name("getattr", node), [held, key], []), node)
        return self._at(ast.Subscript(held, key, ast.Load()), node)

    def _binary(self, node: Any) -> ast.expr:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return self._at(ast.Tuple(self._values(node), ast.Load()), node)
        between = self._source[left.end_byte : right.start_byte].decode("utf-8", "replace").strip()
        sides = [self._expression(left), self._expression(right)]
        if between in _CONCATENATION:
            return self._at(ast.BinOp(sides[0], ast.Add(), sides[1]), node)
        if between in ("||", "&&", "??", "or", "and"):
            return self._at(ast.BoolOp(ast.Or(), sides), node)
        return self._at(ast.Tuple(sides, ast.Load()), node)

    def _assignment(self, node: Any) -> ast.expr:
        """Put an assignment before the current statement, and return what was assigned to."""
        made = self._assigned(node)
        self._around[-1].made += made
        target = node.child_by_field_name(ASSIGNS[node.type][0])
        if target is None or node.parent is None or node.parent.type.endswith(("statement", "declaration")):
            return self._at(ast.Constant(...), node)
        return self._expression(target)

    # Calls

    def _call(self, node: Any) -> ast.expr:
        function = node.child_by_field_name(CALLS[node.type][0])
        if function is None and node.named_children:
            function = node.named_children[0]
        owner = next(
            (found for place in OWNERS if (found := node.child_by_field_name(place)) is not None), None
        )
        arguments = self._arguments(node)
        if function is None:
            return self._at(ast.Tuple(arguments, ast.Load()), node)
        if owner is not None:
            called: ast.expr = self._member(owner, function, node)
        elif function.type == "import":
            called = self._name("require", function)
        else:
            called = self._expression(function)
        if node.type == "macro_invocation":
            called = self._name(f"{self._text(function)}!", function)
        return self._same(called, arguments, node)

    def _arguments(self, node: Any) -> list[ast.expr]:
        place = CALLS[node.type][1]
        if not place:
            names = [self._name(name, node) for name in _PLACEHOLDER.findall(self._text(node))]
            return [*(value for child in node.named_children[1:] for value in self._values(child)), *names]
        listed = node.child_by_field_name(place)
        children = list(listed.named_children) if listed is not None else []
        block = node.child_by_field_name("block")
        children += [block] if block is not None else []
        made = []
        for item in children:
            if item.type == "argument" and item.named_children:
                item = item.named_children[-1]
            if item is block or item.type not in _TYPES["no_values"]:
                made.append(self._function(item) if item is block else self._expression(item))
        return made

    def _same(self, called: ast.expr, arguments: list[ast.expr], node: Any) -> ast.expr:
        """Return a call as Python writes what does the same."""
        method = called.attr if isinstance(called, ast.Attribute) else ""
        if (method or getattr(called, "id", "")) == "promisify" and len(arguments) == 1:
            return arguments[0]
        if isinstance(called, ast.Name) and called.id == "require" and len(arguments) == 1:
            written = arguments[0]
            if isinstance(written, ast.Constant) and isinstance(written.value, str):
                written.value = module_name(written.value)
            return self._at(ast.Call(self._name("__import__", node), arguments, []), node)
        if isinstance(called, ast.Attribute):
            base = called.value
            if method == "join" and len(arguments) < 2:
                separator = arguments[0] if arguments else self._at(ast.Constant(","), node)
                joining = self._at(ast.Attribute(separator, "join", ast.Load()), node)
                return self._at(ast.Call(joining, [base], []), node)
            if method == "toString" and len(arguments) < 2:
                return base
            if method == "reverse" and not arguments:
                step = self._at(ast.Constant(-1), node)
                return self._at(ast.Subscript(base, ast.Slice(None, None, step), ast.Load()), node)
            if method == "split" and len(arguments) == 1 and getattr(arguments[0], "value", None) == "":
                return self._at(ast.Call(self._name("list", node), [base], []), node)
        return self._at(ast.Call(called, arguments, []), node)


def module_name(written: object) -> str:
    """Return the dotted name of a module, as written in an import: `node:fs/promises`, `net/http`."""
    return str(written).removeprefix("node:").replace("/", ".")


def _named_in(node: Any) -> Iterator[Any]:
    """Yield the names that a pattern or a list of parameters binds."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at.type in _TYPES["identifiers"]:
            yield at
        elif at.type not in _TYPES["no_values"]:
            places = ("type", "key", "right", "return_type", "" if at.type == "pair_pattern" else "value")
            found = (at.child_by_field_name(place) for place in places)
            left_out = {child.id for child in found if child is not None}
            waiting += [child for child in reversed(at.named_children) if child.id not in left_out]


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        value = int(code, 16)
        return chr(value) if value < 0x110000 else ""
    if match[4]:
        return chr(int(match[4], 8))
    return _PLAIN_ESCAPES.get(match[5], match[5])


_EXPRESSIONS: dict[str, Callable[[_Lowering, Any], ast.expr]] = {
    **dict.fromkeys(_TYPES["identifiers"], lambda it, node: it._name(it._text(node).lstrip("$"), node)),
    **dict.fromkeys(_TYPES["strings"], _Lowering._string),
    **dict.fromkeys(
        _TYPES["shells"],
        lambda it, node: it._at(ast.Call(it._name("system", node), [it._string(node)], []), node),
    ),
    **dict.fromkeys(_TYPES["numbers"], lambda it, node: it._at(ast.Constant(_number(it._text(node))), node)),
    **dict.fromkeys(("binary_expression", "binary"), _Lowering._binary),
    **dict.fromkeys(("array", "array_literal", "composite_literal"), _Lowering._list),
    **dict.fromkeys(("pair", "keyed_element", "sequence_expression"), _Lowering._last),
    "await_expression": lambda it, node: it._at(ast.Await(it._last(node)), node),
    **dict.fromkeys((*_TYPES["branches"], *_TYPES["blocks"], "return_statement"), _Lowering._put_before),
    **dict.fromkeys(CALLS, _Lowering._call),
    **dict.fromkeys(MEMBERS, _Lowering._access),
    **dict.fromkeys(_TYPES["elements"], _Lowering._element),
    **dict.fromkeys(ASSIGNS, _Lowering._assignment),
    **dict.fromkeys(_TYPES["functions"], _Lowering._function),
}
