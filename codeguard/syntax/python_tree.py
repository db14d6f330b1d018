"""Python's syntax tree from tree-sitter, for texts that this interpreter's own parser refuses.

A newer grammar than the interpreter's, Python 2, or a text with errors must not be a way around the analysis. The nodes
are those of `ast`, so that nothing that reads them has to know which parser made them. What newer grammars add is
expressed by older nodes: type parameters are left out, `type X = …` is an assignment. Statements with errors are left
out and their lines listed.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from codeguard.corpus.chunking.parsing import syntax_root
from codeguard.corpus.syntax import MOST_PARTS

if TYPE_CHECKING:
    from tree_sitter import Language, Node

Ranges = list[tuple[int, int]]
_T = TypeVar("_T", bound=ast.AST)

DEEPEST = 150  # nesting of expressions and blocks; a level takes some six frames of the interpreter's stack
MOST_PARSES = 40  # of one text
MOST_BLANKED = 16  # lines that are left out, one after the other, to read what follows them
_OPERATORS: dict[str, ast.operator] = {
    "+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div(), "//": ast.FloorDiv(), "%": ast.Mod(),
    "**": ast.Pow(), "@": ast.MatMult(), "<<": ast.LShift(), ">>": ast.RShift(), "&": ast.BitAnd(),
    "|": ast.BitOr(), "^": ast.BitXor(),
}  # fmt: skip
_UNARY: dict[str, ast.unaryop] = {"+": ast.UAdd(), "-": ast.USub(), "~": ast.Invert()}
_COMPARISONS: dict[str, ast.cmpop] = {
    "<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(), ">=": ast.GtE(), "==": ast.Eq(), "!=": ast.NotEq(),
    "<>": ast.NotEq(), "in": ast.In(), "not in": ast.NotIn(), "is": ast.Is(), "is not": ast.IsNot(),
}  # fmt: skip
_CONSTANTS = {"true": True, "false": False, "none": None, "ellipsis": ...}


def parse_with_errors(text: str) -> tuple[ast.Module, Ranges]:
    """Return a module of the statements that could be read, and the lines of the rest (1-based, inclusive).

    The positions are those of `ast`: lines end as Python's do, columns count UTF-8 bytes.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    reader = _Reader(plain.encode("utf-8", "replace"))
    body = reader.read(0, plain.count("\n") + 1)
    return ast.Module(body, []), _merged(reader.unread)


class _Reader:
    """Reads a text whole or, where that passes a bound of the parser, in pieces that begin at the left margin."""

    def __init__(self, source: bytes) -> None:
        self.unread: Ranges = []
        self._lines = source.split(b"\n")
        self._parses = MOST_PARSES

    def read(self, start: int, end: int) -> list[ast.stmt]:
        """Return the statements of a range of lines (0-based, end exclusive) at their places in the text."""
        source = bytearray(b"\n" * start + b"\n".join(self._lines[start:end]))
        root = self._parsed(source)
        if root is None:
            margins = [line for line in range(start + 1, end) if self._lines[line][:1].strip(b" \t\f)]}#")]
            if not margins or self._parses <= 0:
                self.unread.append((start + 1, end))
                return []
            middle = min(margins, key=lambda line: abs(2 * line - start - end))
            return [*self.read(start, middle), *self.read(middle, end)]
        for _ in range(MOST_BLANKED):
            # An open bracket or quote makes the grammar take what follows for its content.
            line = _swallowing(root)
            if line is None:
                break
            first = _start_of(source, line)
            last = source.find(b"\n", first)
            last = len(source) if last < 0 else last
            if not source[first:last].strip():
                break
            source[first:last] = b" " * (last - first)
            again = self._parsed(source)
            if again is None:
                break
            self.unread.append((line + 1, line + 1))
            root = again
        builder = _Builder()
        body = builder.statements(root)
        self.unread += [*builder.unread, *_unrecognized(root)]
        return body

    def _parsed(self, source: bytearray) -> Node | None:
        self._parses -= 1
        return syntax_root(_language(), bytes(source)) if self._parses >= 0 else None


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def _swallowing(root: Node) -> int | None:
    """Return the line (0-based) of the first error that goes on over later lines; None if there is none."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            wrong = next((item for item in node.children if item.type not in _STATEMENTS), node)
            if node.end_point[0] > wrong.start_point[0] and node.end_point[1]:
                return wrong.start_point[0]
        if node.has_error:
            waiting += reversed(node.children)
    return None


def _start_of(source: bytes | bytearray, line: int) -> int:
    at = 0
    for _ in range(line):
        at = source.index(b"\n", at) + 1
    return at


class _UnreadableError(Exception):
    """A statement holds what the grammar did not recognize."""


def _named(node: Node) -> list[Node]:
    """Return the parts of a node without punctuation and comments."""
    return [item for item in node.named_children if item.type not in ("comment", "line_continuation")]


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    if found is None:
        raise _UnreadableError
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _has(node: Node, word: str) -> bool:
    return any(item.type == word for item in node.children)


class _Builder:
    """Makes nodes; `unread` are the lines of what could not be read."""

    def __init__(self) -> None:
        self.unread: Ranges = []
        self._depth = 0
        self._made: dict[int, list[ast.stmt]] = {}

    # Statements

    def statements(self, block: Node) -> list[ast.stmt]:
        """Return the statements of a block."""
        found: list[ast.stmt] = []
        for node in block.children:
            found += self._statement(node)
        return found

    def _statement(self, node: Node) -> list[ast.stmt]:
        # What stands in a statement that turns out to be unreadable is visited again: without this record,
        # each level of nesting would double the work.
        known = self._made.get(node.id)
        if known is None:
            known = self._made[node.id] = self._read(node)
        return known

    def _read(self, node: Node) -> list[ast.stmt]:
        if not node.is_named or node.type in ("comment", "line_continuation"):
            return []
        make = _STATEMENTS.get(node.type)
        broken = node.has_error and node.type not in _COMPOUND
        if make is None or broken or self._depth > DEEPEST:
            return self._pieces(node)
        self._depth += 1
        try:
            made = [*make(self, node)]
            return [_ended(item) for item in made] if node.type in _COMPOUND else made
        except (_UnreadableError, RecursionError):
            return self._pieces(node)
        finally:
            self._depth -= 1

    def _pieces(self, node: Node) -> list[ast.stmt]:
        """Return the statements and calls inside of what could not be read as a whole."""
        found: list[ast.stmt] = []
        waiting = [*reversed(node.children)]
        self.unread.append((node.start_point[0] + 1, node.start_point[0] + 1))
        while waiting:
            item = waiting.pop()
            if item.type in _STATEMENTS and self._depth <= DEEPEST:
                self._depth += 1
                found += self._statement(item)
                self._depth -= 1
            elif item.type == "call" and not item.has_error:
                found += self._loose(item)
            else:
                waiting += reversed(item.children)
        return found

    def _loose(self, node: Node) -> list[ast.stmt]:
        try:
            return [_at(ast.Expr(self.expression(node)), node)]
        except (_UnreadableError, RecursionError):
            return []

    def _body(self, node: Node | None) -> list[ast.stmt]:
        if node is None:
            raise _UnreadableError
        found = self.statements(node)
        return found or [_at(ast.Pass(), node)]

    def _block_of(self, node: Node) -> Node:
        """Return the block of a clause, whose field has several names and sometimes none."""
        return next(item for item in reversed(node.children) if item.type == "block")

    def _orelse(self, node: Node) -> list[ast.stmt]:
        found = next((item for item in node.children if item.type == "else_clause"), None)
        return [] if found is None else self._body(self._block_of(found))

    def _expression_statement(self, node: Node) -> Iterator[ast.stmt]:
        parts = _named(node)
        first = parts[0]
        if len(parts) > 1 or _has(node, ","):
            yield _at(ast.Expr(self._sequence(node)), node)
        elif first.type == "assignment":
            yield self._assignment(first)
        elif first.type == "augmented_assignment":
            operator = _OPERATORS.get(_text(_field(first, "operator"))[:-1])
            if operator is None:
                raise _UnreadableError
            target = self._target(_field(first, "left"))
            value = self.expression(_field(first, "right"))
            yield _at(ast.AugAssign(target, operator, value), first)  # type: ignore[arg-type]
        else:
            yield _at(ast.Expr(self.expression(first)), node)

    def _assignment(self, node: Node) -> ast.stmt:
        kind = node.child_by_field_name("type")
        value = node.child_by_field_name("right")
        if kind is not None:
            left = _field(node, "left")
            target = self._target(left)
            inner = target.elts[0] if isinstance(target, ast.Tuple) and not _has(left, ",") else target
            if not isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
                raise _UnreadableError
            given = None if value is None else self.expression(value)
            return _at(
                ast.AnnAssign(
                    inner, self.expression(kind), given, int(inner is target and isinstance(inner, ast.Name))
                ),
                node,
            )
        targets = [self._target(_field(node, "left"))]
        while value is not None and value.type == "assignment" and value.child_by_field_name("type") is None:
            targets.append(self._target(_field(value, "left")))
            value = value.child_by_field_name("right")
        if value is None:
            raise _UnreadableError
        return _at(ast.Assign(targets, self.expression(value)), node)

    def _type_alias(self, node: Node) -> Iterator[ast.stmt]:
        name = _named(_field(node, "left"))[0]
        if name.type == "generic_type":
            name = _named(name)[0]
        if name.type != "identifier":  # the grammar takes `type(a).b = c` for an alias
            raise _UnreadableError
        value = self.expression(_field(node, "right"))
        yield _at(ast.Assign([_at(ast.Name(_text(name), ast.Store()), name)], value), node)

    def _import(self, node: Node) -> Iterator[ast.stmt]:
        yield _at(ast.Import([self._alias(item) for item in _named(node)]), node)

    def _import_from(self, node: Node) -> Iterator[ast.stmt]:
        names = [self._alias(item) for item in node.children_by_field_name("name")]
        wildcard = next((item for item in node.children if item.type == "wildcard_import"), None)
        if wildcard is not None:
            names = [_at(ast.alias("*"), wildcard)]
        whence = node.child_by_field_name("module_name")
        level, module = 0, "__future__" if whence is None else _dotted(whence)
        if whence is not None and whence.type == "relative_import":
            level = _text(whence.children[0]).count(".")
            module = _dotted(whence.children[1]) if len(whence.children) > 1 else ""
        yield _at(ast.ImportFrom(module or None, names, level), node)

    def _alias(self, node: Node) -> ast.alias:
        if node.type == "aliased_import":
            return _at(ast.alias(_dotted(_field(node, "name")), _text(_field(node, "alias"))), node)
        return _at(ast.alias(_dotted(node)), node)

    def _print(self, node: Node) -> Iterator[ast.stmt]:
        arguments = [self.expression(item) for item in node.children_by_field_name("argument")]
        keywords = [
            ast.keyword("file", self.expression(_named(item)[0]))
            for item in node.children
            if item.type == "chevron"
        ]
        call = ast.Call(_at(ast.Name("print", ast.Load()), node.children[0]), arguments, keywords)
        yield _at(ast.Expr(_at(call, node)), node)

    def _exec(self, node: Node) -> Iterator[ast.stmt]:
        arguments = [self.expression(item) for item in _named(node)]
        call = ast.Call(_at(ast.Name("exec", ast.Load()), node.children[0]), arguments, [])
        yield _at(ast.Expr(_at(call, node)), node)

    def _return(self, node: Node) -> Iterator[ast.stmt]:
        parts = _named(node)
        yield _at(ast.Return(self.expression(parts[0]) if parts else None), node)

    def _delete(self, node: Node) -> Iterator[ast.stmt]:
        part = _named(node)[0]
        listed = _named(part) if part.type == "expression_list" else [part]
        yield _at(ast.Delete([_context(self.expression(item), ast.Del()) for item in listed]), node)

    def _raise(self, node: Node) -> Iterator[ast.stmt]:
        cause = node.child_by_field_name("cause")
        parts = [item for item in _named(node) if item != cause]
        raised = self.expression(parts[0]) if parts else None
        yield _at(ast.Raise(raised, None if cause is None else self.expression(cause)), node)

    def _assert(self, node: Node) -> Iterator[ast.stmt]:
        parts = [self.expression(item) for item in _named(node)]
        yield _at(ast.Assert(parts[0], parts[1] if len(parts) > 1 else None), node)

    def _scope(self, node: Node) -> Iterator[ast.stmt]:
        kind = ast.Global if node.type == "global_statement" else ast.Nonlocal
        yield _at(kind([_text(item) for item in _named(node)]), node)

    def _word(self, node: Node) -> Iterator[ast.stmt]:
        made: dict[str, type[ast.stmt]] = {"pass": ast.Pass, "break": ast.Break, "continue": ast.Continue}
        yield _at(made[node.type.partition("_")[0]](), node)

    def _if(self, node: Node) -> Iterator[ast.stmt]:
        first = self._branch(node, node)
        last = first
        for clause in node.children_by_field_name("alternative"):
            if clause.type == "elif_clause":
                branch = self._branch(clause, node)
                last.orelse = [branch]
                last = branch
            else:
                last.orelse = self._body(self._block_of(clause))
        yield first

    def _branch(self, node: Node, whole: Node) -> ast.If:
        test = self.expression(_field(node, "condition"))
        return _at(ast.If(test, self._body(node.child_by_field_name("consequence")), []), node, whole)

    def _for(self, node: Node) -> Iterator[ast.stmt]:
        kind = ast.AsyncFor if node.children[0].type == "async" else ast.For
        target, items = self._target(_field(node, "left")), self.expression(_field(node, "right"))
        body = self._body(node.child_by_field_name("body"))
        yield _at(kind(target, items, body, self._orelse(node)), node)

    def _while(self, node: Node) -> Iterator[ast.stmt]:
        test = self.expression(_field(node, "condition"))
        yield _at(ast.While(test, self._body(node.child_by_field_name("body")), self._orelse(node)), node)

    def _try(self, node: Node) -> Iterator[ast.stmt]:
        handlers: list[ast.ExceptHandler] = []
        final: list[ast.stmt] = []
        star = False
        body = self._body(node.child_by_field_name("body"))
        for clause in node.children:
            if clause.type in ("except_clause", "except_group_clause"):
                star = star or _has(clause, "*") or clause.type == "except_group_clause"
                handlers.append(self._handler(clause))
            elif clause.type == "finally_clause":
                final = self._body(self._block_of(clause))
        made = ast.TryStar if star else ast.Try
        yield _at(made(body, handlers, self._orelse(node), final), node)

    def _handler(self, node: Node) -> ast.ExceptHandler:
        caught = node.children_by_field_name("value") or [
            item for item in _named(node) if item.type not in ("block", "ERROR")
        ]
        name: str | None = None
        kind: ast.expr | None = None
        if len(caught) == 1 and caught[0].type == "as_pattern":
            kind = self.expression(caught[0].children[0])
            name = _text(caught[0].children[-1])
        elif caught:
            types = [self.expression(item) for item in caught]
            kind = types[0] if len(types) == 1 else _at(ast.Tuple(types, ast.Load()), caught[0], caught[-1])
        return _at(ast.ExceptHandler(kind, name, self._body(self._block_of(node))), node)

    def _with(self, node: Node) -> Iterator[ast.stmt]:
        kind = ast.AsyncWith if node.children[0].type == "async" else ast.With
        clause = next(item for item in node.children if item.type == "with_clause")
        items: list[ast.withitem] = []
        for item in _named(clause):
            value = _field(item, "value")
            if value.type == "as_pattern":
                target = _context(self.expression(_named(_field(value, "alias"))[0]), ast.Store())
                items.append(ast.withitem(self.expression(value.children[0]), target))
            else:
                items.append(ast.withitem(self.expression(value), None))
        yield _at(kind(items, self._body(node.child_by_field_name("body"))), node)

    def _function(self, node: Node, decorators: Sequence[ast.expr] = ()) -> Iterator[ast.stmt]:
        kind = ast.AsyncFunctionDef if node.children[0].type == "async" else ast.FunctionDef
        returned = node.child_by_field_name("return_type")
        given = self._parameters(_field(node, "parameters"))
        result = None if returned is None else self.expression(returned)
        body = self._body(node.child_by_field_name("body"))
        yield _at(kind(_text(_field(node, "name")), given, body, [*decorators], result), node)

    def _class(self, node: Node, decorators: Sequence[ast.expr] = ()) -> Iterator[ast.stmt]:
        bases = node.child_by_field_name("superclasses")
        arguments, keywords = ([], []) if bases is None else self._arguments(bases)
        body = self._body(node.child_by_field_name("body"))
        yield _at(ast.ClassDef(_text(_field(node, "name")), arguments, keywords, body, [*decorators]), node)

    def _decorated(self, node: Node) -> Iterator[ast.stmt]:
        decorators = [self.expression(_named(item)[0]) for item in node.children if item.type == "decorator"]
        definition = _field(node, "definition")
        make = self._class if definition.type == "class_definition" else self._function
        yield from make(definition, decorators)

    def _match(self, node: Node) -> Iterator[ast.stmt]:
        subjects = [self.expression(item) for item in node.children_by_field_name("subject")]
        subject = subjects[0]
        commas = [item for item in node.children if item.type == ","]
        if commas:
            first, last = (
                node.children_by_field_name("subject")[0],
                node.children_by_field_name("subject")[-1],
            )
            subject = _at(
                ast.Tuple(subjects, ast.Load()), first, max(last, commas[-1], key=lambda item: item.end_byte)
            )
        cases = []
        for clause in _named(_field(node, "body")):
            if clause.type != "case_clause":
                raise _UnreadableError
            listed = [item for item in clause.children if item.type == "case_pattern"]
            pattern = self._pattern(listed[0])
            commas = [item for item in clause.children if item.type == ","]
            if commas:
                last = max(listed[-1], commas[-1], key=lambda item: item.end_byte)
                pattern = _at(ast.MatchSequence([self._pattern(item) for item in listed]), listed[0], last)
            guard = clause.child_by_field_name("guard")
            test = None if guard is None else self.expression(_named(guard)[0])
            cases.append(ast.match_case(pattern, test, self._body(clause.child_by_field_name("consequence"))))
        yield _at(ast.Match(subject, cases), node)

    def _pattern(self, node: Node) -> ast.pattern:
        parts = _named(node)
        if node.type == "case_pattern":
            inner = parts[0] if parts else node.children[-1]
            if len(node.children) == 2 and node.children[0].type == "-":
                return _at(ast.MatchValue(self._negated(node, parts[0])), node)
            return self._pattern(inner)
        if node.type == "as_pattern":
            return _at(ast.MatchAs(self._pattern(parts[0]), _text(parts[-1])), node)
        if node.type == "union_pattern":
            options = [item for item in node.children if item.type not in ("|", "comment")]
            return _at(ast.MatchOr([self._pattern(item) for item in options]), node)
        if node.type in ("list_pattern", "tuple_pattern"):
            if node.type == "tuple_pattern" and len(parts) == 1 and not _has(node, ","):
                return self._pattern(parts[0])
            return _at(ast.MatchSequence([self._pattern(item) for item in parts]), node)
        if node.type == "splat_pattern":
            name = _text(node.children[-1])
            return _at(ast.MatchStar(None if name == "_" else name), node)
        if node.type == "dict_pattern":
            keys = [self._key(item) for item in node.children_by_field_name("key")]
            values = [self._pattern(item) for item in node.children_by_field_name("value")]
            rest = next((_text(item.children[-1]) for item in parts if item.type == "splat_pattern"), None)
            return _at(ast.MatchMapping(keys, values, rest), node)
        if node.type == "class_pattern":
            return self._class_pattern(node, parts)
        if node.type == "_":
            return _at(ast.MatchAs(), node)
        if node.type in ("true", "false", "none"):
            return _at(ast.MatchSingleton(_CONSTANTS[node.type]), node)  # type: ignore[arg-type]
        if node.type == "dotted_name":
            name = _text(node)
            if "." not in name:
                return _at(ast.MatchAs(None, None if name == "_" else name), node)
        return _at(ast.MatchValue(self._key(node)), node)

    def _key(self, node: Node) -> ast.expr:
        if node.type == "dotted_name":
            return self._dotted_expression(node)
        if node.type == "complex_pattern":
            *signs, left, operator, right = node.children
            real = self._negated(node, left) if signs else self.expression(left)
            if signs:
                _at(real, signs[0], left)
            return _at(ast.BinOp(real, _OPERATORS[operator.type], self.expression(right)), node)
        return self.expression(node)

    def _class_pattern(self, node: Node, parts: Sequence[Node]) -> ast.pattern:
        plain: list[ast.pattern] = []
        names: list[str] = []
        values: list[ast.pattern] = []
        for item in parts[1:]:
            inner = _named(item)[0] if _named(item) else item
            if inner.type != "keyword_pattern":
                plain.append(self._pattern(item))
                continue
            names.append(_text(inner.children[0]))
            value = inner.children[-1]
            if inner.children[-2].type == "-":
                values.append(_at(ast.MatchValue(self._negated(inner, value)), value))
            else:
                values.append(self._pattern(value))
        return _at(ast.MatchClass(self._dotted_expression(parts[0]), plain, names, values), node)

    def _negated(self, node: Node, value: Node) -> ast.expr:
        return _at(ast.UnaryOp(ast.USub(), self.expression(value)), node)

    def _dotted_expression(self, node: Node) -> ast.expr:
        parts = _named(node)
        made: ast.expr = _at(ast.Name(_text(parts[0]), ast.Load()), parts[0])
        for item in parts[1:]:
            made = _at(ast.Attribute(made, _text(item), ast.Load()), node, item)
        return made

    # Expressions

    def expression(self, node: Node) -> ast.expr:
        """Return an expression.

        Raises:
            _UnreadableError: it holds something that is no expression, or is nested too deeply.
        """
        make = _EXPRESSIONS.get(node.type)
        if make is None or node.is_missing or self._depth > DEEPEST:
            raise _UnreadableError
        self._depth += 1
        try:
            return make(self, node)
        finally:
            self._depth -= 1

    def _target(self, node: Node) -> ast.expr:
        return _context(self.expression(node), ast.Store())

    def _name(self, node: Node) -> ast.expr:
        return _at(ast.Name(_text(node), ast.Load()), node)

    def _number(self, node: Node) -> ast.expr:
        text = _text(node)
        old = text[:1] == "0" and text.isdigit() and text.strip("0")  # Python 2: 0777
        try:
            value = int(text, 8) if old else ast.literal_eval(text.rstrip("lL"))
        except (ValueError, SyntaxError):
            raise _UnreadableError from None
        return _at(ast.Constant(value), node)

    def _constant(self, node: Node) -> ast.expr:
        return _at(ast.Constant(_CONSTANTS[node.type]), node)

    def _string(self, node: Node) -> ast.expr:
        return self._joined(node, [node])

    def _concatenated(self, node: Node) -> ast.expr:
        return self._joined(node, _named(node))

    def _joined(self, node: Node, strings: Iterable[Node]) -> ast.expr:
        """Return the constant or the f-string that neighboring literals make."""
        parts: list[ast.expr] = []
        plain: list[str] = []
        octets: list[bytes] = []
        formatted = False
        for item in strings:
            prefix = _text(item.children[0]).rstrip("\"'`").lower()
            if "f" not in prefix and "t" not in prefix:
                value = _literal(item)
                if isinstance(value, bytes):
                    octets.append(value)
                else:
                    plain.append(value)
                continue
            formatted = True
            for part in item.children[1:-1]:
                if part.type != "interpolation":
                    plain.append(_unescaped(_text(part), "r" in prefix))
                    continue
                plain += self._debugged(part)
                parts += _flushed(plain, node)
                parts.append(self._interpolation(part, "r" in prefix))
        if formatted:
            return _at(ast.JoinedStr([*parts, *_flushed(plain, node)]), node)
        return _at(ast.Constant(b"".join(octets) if octets else "".join(plain)), node)

    def _debugged(self, node: Node) -> Iterator[str]:
        """Yield the text that `{x=}` writes in front of the value."""
        signs = [item for item in node.children if item.type == "="]
        if signs:
            start = node.start_byte + 1
            whole = node.text or b""
            end = signs[0].end_byte - start + 1
            after = whole[end:]
            yield (whole[1:end] + after[: len(after) - len(after.lstrip())]).decode("utf-8", "replace")

    def _interpolation(self, node: Node, raw: bool) -> ast.expr:
        how = node.child_by_field_name("type_conversion")
        wanted = node.child_by_field_name("format_specifier")
        shown = ord(_text(how)[1]) if how is not None else -1
        if how is None and wanted is None and _has(node, "="):
            shown = ord("r")
        specification = None if wanted is None else self._format(wanted, raw)
        value = self.expression(_field(node, "expression"))
        return _at(ast.FormattedValue(value, shown, specification), node)

    def _format(self, node: Node, raw: bool) -> ast.JoinedStr:
        source = node.text or b""
        parts: list[ast.expr] = []
        at = node.start_byte + 1
        for item in node.children[1:]:
            if item.type not in ("format_expression", "interpolation"):
                continue
            before = source[at - node.start_byte : item.start_byte - node.start_byte].decode(
                "utf-8", "replace"
            )
            parts += _flushed([_unescaped(before, raw)], node)
            parts.append(self._interpolation(item, raw))
            at = item.end_byte
        parts += _flushed([_unescaped(source[at - node.start_byte :].decode("utf-8", "replace"), raw)], node)
        return _at(ast.JoinedStr(parts), node)

    def _binary(self, node: Node) -> ast.expr:
        """Return an arithmetic expression; chains like a + b + c, which nest to the left, take no stack."""
        chain: list[Node] = []
        at = node
        while at.type == "binary_operator":
            chain.append(at)
            at = _field(at, "left")
        made = self.expression(at)
        for item in reversed(chain):
            operator = _OPERATORS.get(_field(item, "operator").type)
            if operator is None:
                raise _UnreadableError
            made = _at(ast.BinOp(made, operator, self.expression(_field(item, "right"))), item)
        return made

    def _boolean(self, node: Node) -> ast.expr:
        word = _field(node, "operator").type
        values: list[ast.expr] = []
        at = node
        while at.type == "boolean_operator" and _field(at, "operator").type == word:
            values.append(self.expression(_field(at, "right")))
            at = _field(at, "left")
        values.append(self.expression(at))
        return _at(ast.BoolOp(ast.And() if word == "and" else ast.Or(), values[::-1]), node)

    def _unary(self, node: Node) -> ast.expr:
        return _at(
            ast.UnaryOp(_UNARY[_field(node, "operator").type], self.expression(_field(node, "argument"))),
            node,
        )

    def _not(self, node: Node) -> ast.expr:
        return _at(ast.UnaryOp(ast.Not(), self.expression(_field(node, "argument"))), node)

    def _comparison(self, node: Node) -> ast.expr:
        operators = [_COMPARISONS[item.type] for item in node.children_by_field_name("operators")]
        values = [self.expression(item) for item in _named(node) if item.type not in _COMPARISONS]
        return _at(ast.Compare(values[0], operators, values[1:]), node)

    def _lambda(self, node: Node) -> ast.expr:
        given = node.child_by_field_name("parameters")
        parameters = self._parameters(given) if given is not None else _no_parameters()
        return _at(ast.Lambda(parameters, self.expression(_field(node, "body"))), node)

    def _conditional(self, node: Node) -> ast.expr:
        body, test, other = (self.expression(item) for item in _named(node))
        return _at(ast.IfExp(test, body, other), node)

    def _walrus(self, node: Node) -> ast.expr:
        target = self._target(_field(node, "name"))
        return _at(ast.NamedExpr(target, self.expression(_field(node, "value"))), node)  # type: ignore[arg-type]

    def _await(self, node: Node) -> ast.expr:
        return _at(ast.Await(self.expression(_named(node)[0])), node)

    def _yield(self, node: Node) -> ast.expr:
        parts = _named(node)
        if _has(node, "from"):
            return _at(ast.YieldFrom(self.expression(parts[0])), node)
        return _at(ast.Yield(self.expression(parts[0]) if parts else None), node)

    def _trailer(self, node: Node) -> ast.expr:
        """Return a.b, a[b] or a(b); chains of them take no stack."""
        chain: list[Node] = []
        at = node
        while at.type in _TRAILERS:
            chain.append(at)
            at = _field(at, _TRAILERS[at.type])
        splat = at.type == "list_splat"  # the grammar binds the star of `[*f(x)]` too closely
        first = _named(at)[0] if splat else at
        made = self._inner(at) if splat else self.expression(at)
        for item in reversed(chain):
            if item.type == "attribute":
                made = _at(ast.Attribute(made, _text(_field(item, "attribute")), ast.Load()), first, item)
            elif item.type == "subscript":
                made = _at(ast.Subscript(made, self._index(item), ast.Load()), first, item)
            else:
                arguments, keywords = self._arguments(_field(item, "arguments"))
                made = _at(ast.Call(made, arguments, keywords), first, item)
        return _at(ast.Starred(made, ast.Load()), node) if splat else made

    def _index(self, node: Node) -> ast.expr:
        listed = node.children_by_field_name("subscript")
        parts = [self.expression(item) for item in listed]
        opening = next(i for i, item in enumerate(node.children) if item.type == "[")
        if len(parts) == 1 and not any(item.type == "," for item in node.children[opening:]):
            return parts[0]
        return _at(ast.Tuple(parts, ast.Load()), listed[0], node.children[-2])

    def _slice(self, node: Node) -> ast.expr:
        bounds: list[ast.expr | None] = [None, None, None]
        place = 0
        for item in node.children:
            if item.type == ":":
                place += 1
            elif item.is_named and item.type != "comment":
                bounds[place] = self.expression(item)
        return _at(ast.Slice(*bounds), node)

    def _arguments(self, node: Node) -> tuple[list[ast.expr], list[ast.keyword]]:
        if node.type == "generator_expression":
            return [self.expression(node)], []
        plain: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for item in _named(node):
            if item.type == "keyword_argument":
                value = self.expression(_field(item, "value"))
                keywords.append(_at(ast.keyword(_text(_field(item, "name")), value), item))
            elif item.type == "dictionary_splat":
                keywords.append(_at(ast.keyword(None, self.expression(_named(item)[0])), item))
            else:
                plain.append(self.expression(item))
        return plain, keywords

    def _sequence(self, node: Node) -> ast.expr:
        kind = ast.List if node.type in ("list", "list_pattern") else ast.Tuple
        parts = [self.expression(item) for item in _named(node)]
        return _at(kind(parts, ast.Load()), node)

    def _set(self, node: Node) -> ast.expr:
        return _at(ast.Set([self.expression(item) for item in _named(node)]), node)

    def _dictionary(self, node: Node) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for item in _named(node):
            if item.type == "pair":
                keys.append(self.expression(_field(item, "key")))
                values.append(self.expression(_field(item, "value")))
            elif item.type == "dictionary_splat":
                keys.append(None)
                values.append(self.expression(_named(item)[0]))
            else:
                raise _UnreadableError
        return _at(ast.Dict(keys, values), node)

    def _comprehension(self, node: Node) -> ast.expr:
        loops: list[ast.comprehension] = []
        for item in _named(node)[1:]:
            if item.type == "for_in_clause":
                target, items = self._target(_field(item, "left")), self._iterated(item)
                loops.append(ast.comprehension(target, items, [], int(_has(item, "async"))))
            else:
                loops[-1].ifs.append(self.expression(_named(item)[0]))
        body = _field(node, "body")
        if node.type == "dictionary_comprehension":
            key, value = self.expression(_field(body, "key")), self.expression(_field(body, "value"))
            return _at(ast.DictComp(key, value, loops), node)
        made = {
            "list_comprehension": ast.ListComp,
            "set_comprehension": ast.SetComp,
            "generator_expression": ast.GeneratorExp,
        }[node.type]
        return _at(made(self.expression(body), loops), node)

    def _iterated(self, node: Node) -> ast.expr:
        listed = node.children_by_field_name("right")
        parts = [self.expression(item) for item in listed if item.is_named]
        return parts[0] if len(parts) == 1 else _at(ast.Tuple(parts, ast.Load()), listed[0], listed[-1])

    def _inner(self, node: Node) -> ast.expr:
        """Return what stands in parentheses or where a type is expected."""
        parts = _named(node)
        if len(parts) != 1:
            raise _UnreadableError
        return self.expression(parts[0])

    def _splat(self, node: Node) -> ast.expr:
        return _at(ast.Starred(self._inner(node), ast.Load()), node)

    def _generic_type(self, node: Node) -> ast.expr:
        name, given = _named(node)
        parts = [self.expression(item) for item in _named(given)]
        index = (
            parts[0]
            if len(parts) == 1
            else _at(ast.Tuple(parts, ast.Load()), given.children[1], given.children[-2])
        )
        return _at(ast.Subscript(self.expression(name), index, ast.Load()), node)

    def _member_type(self, node: Node) -> ast.expr:
        owner, name = _named(node)
        return _at(ast.Attribute(self.expression(owner), _text(name), ast.Load()), node)

    def _union_type(self, node: Node) -> ast.expr:
        left, right = (self.expression(item) for item in _named(node))
        return _at(ast.BinOp(left, ast.BitOr(), right), node)

    # Parameters

    def _parameters(self, node: Node) -> ast.arguments:
        made = _no_parameters()
        plain, only = made.args, False
        for item in _named(node):
            if item.type == "positional_separator":
                made.posonlyargs, made.args = made.args, []
                plain = made.args
            elif item.type == "keyword_separator":
                plain, only = made.kwonlyargs, True
            elif item.type == "list_splat_pattern" or _splats(item, "list_splat_pattern"):
                made.vararg = self._parameter(item)
                plain, only = made.kwonlyargs, True
            elif item.type == "dictionary_splat_pattern" or _splats(item, "dictionary_splat_pattern"):
                made.kwarg = self._parameter(item)
            elif item.type == "tuple_pattern":  # Python 2: def f(a, (b, c))
                plain += [_at(ast.arg(_text(name)), name) for name in _named(item)]
            else:
                plain.append(self._parameter(item))
                value = item.child_by_field_name("value")
                default = None if value is None else self.expression(value)
                if only:
                    made.kw_defaults.append(default)
                elif default is not None:
                    made.defaults.append(default)
        return made

    def _parameter(self, node: Node) -> ast.arg:
        name = node.child_by_field_name("name") or node
        while name.type != "identifier":
            if not _named(name):
                raise _UnreadableError
            name = _named(name)[0]
        kind = node.child_by_field_name("type")
        made = ast.arg(_text(name), None if kind is None else self.expression(kind))
        return _at(made, name, kind or name)


def _unrecognized(root: Node) -> Iterator[tuple[int, int]]:
    """Yield the lines of what the grammar did not recognize or missed."""
    waiting = [(root, root)]
    while waiting:
        node, parent = waiting.pop()
        if node.is_missing and node.type == "string_end":
            node = parent  # what a text without an end holds may be code
        inside = parent.type == "ERROR" and node.type not in _STATEMENTS
        if (
            node.is_missing
            or inside
            or node is parent is not root
            or (node.type == "ERROR" and not node.children)
        ):
            yield node.start_point[0] + 1, node.end_point[0] + 1
        elif node.has_error:
            waiting += [(item, node) for item in node.children]


def _splats(node: Node, kind: str) -> bool:
    return node.type == "typed_parameter" and node.children[0].type == kind


def _no_parameters() -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )


def _dotted(node: Node) -> str:
    parts = _named(node) if node.type == "dotted_name" else [node]
    if len(parts) > MOST_PARTS + 1:
        raise _UnreadableError
    return ".".join(map(_text, parts))


def _at(made: _T, node: Node, last: Node | None = None) -> _T:
    """Give a new node the place of what it was made from."""
    end = (last or node).end_point
    made.lineno, made.col_offset = node.start_point[0] + 1, node.start_point[1]  # type: ignore[attr-defined]
    made.end_lineno, made.end_col_offset = end[0] + 1, end[1]  # type: ignore[attr-defined]
    return made


def _ended(node: ast.stmt) -> ast.stmt:
    """End a compound statement, and its clauses, where its last statement ends: a block takes comments along."""
    waiting: list[ast.AST] = [node]
    while isinstance(waiting[-1], ast.If) and waiting[-1].orelse:
        waiting.append(waiting[-1].orelse[-1])
    waiting += getattr(node, "handlers", ())
    for item in reversed(waiting):
        last = _last_of(item)
        if last is not None:
            item.end_lineno, item.end_col_offset = last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]
    return node


def _last_of(node: ast.AST) -> ast.AST | None:
    """Return the last statement, or clause, of a compound statement."""
    if isinstance(node, ast.Match):
        return node.cases[-1].body[-1]
    for name in ("finalbody", "orelse", "handlers", "body"):
        held = getattr(node, name, None)
        if held:
            return held[-1]  # type: ignore[no-any-return]
    return None


def _context(node: ast.expr, context: ast.expr_context) -> ast.expr:
    """Turn an expression that is read into a target."""
    waiting = [node]
    for item in waiting:
        if isinstance(item, ast.Name | ast.Attribute | ast.Subscript | ast.Starred | ast.List | ast.Tuple):
            item.ctx = context
        if isinstance(item, ast.List | ast.Tuple):
            waiting += item.elts
        elif isinstance(item, ast.Starred):
            waiting.append(item.value)
    return node


def _flushed(plain: list[str], node: Node) -> list[ast.expr]:
    """Return the constant that some texts make, and empty their list."""
    text = "".join(plain)
    plain.clear()
    return [_at(ast.Constant(text), node)] if text else []


def _literal(node: Node) -> str | bytes:
    """Return the value of a literal; as written where Python refuses it."""
    text = _text(node)
    if text.startswith("`"):  # Python 2's repr
        return text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(text[2:] if text[:2].lower() == "ur" else text)
        except (ValueError, SyntaxError, MemoryError):
            return text[len(_text(node.children[0])) : -1]
    return value if isinstance(value, str | bytes) else text


def _unescaped(text: str, raw: bool) -> str:
    """Return the value of the literal part of an f-string."""
    text = text.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in text:
        return text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        except UnicodeDecodeError:
            return text


def _merged(ranges: Ranges) -> Ranges:
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


_TRAILERS = {"attribute": "object", "subscript": "value", "call": "function"}
_STATEMENTS: dict[str, Callable[[_Builder, Node], Iterator[ast.stmt]]] = {
    "expression_statement": _Builder._expression_statement,
    "type_alias_statement": _Builder._type_alias,
    "import_statement": _Builder._import,
    "import_from_statement": _Builder._import_from,
    "future_import_statement": _Builder._import_from,
    "print_statement": _Builder._print,
    "exec_statement": _Builder._exec,
    "return_statement": _Builder._return,
    "delete_statement": _Builder._delete,
    "raise_statement": _Builder._raise,
    "assert_statement": _Builder._assert,
    "global_statement": _Builder._scope,
    "nonlocal_statement": _Builder._scope,
    "pass_statement": _Builder._word,
    "break_statement": _Builder._word,
    "continue_statement": _Builder._word,
    "if_statement": _Builder._if,
    "for_statement": _Builder._for,
    "while_statement": _Builder._while,
    "try_statement": _Builder._try,
    "with_statement": _Builder._with,
    "function_definition": _Builder._function,
    "class_definition": _Builder._class,
    "decorated_definition": _Builder._decorated,
    "match_statement": _Builder._match,
}
# What holds statements is read in part: an error in one of them costs that one.
_COMPOUND = frozenset(
    {"if_statement", "for_statement", "while_statement", "try_statement", "with_statement", "function_definition",
     "class_definition", "decorated_definition", "match_statement"}
)  # fmt: skip
_EXPRESSIONS: dict[str, Callable[[_Builder, Node], ast.expr]] = {
    "identifier": _Builder._name,
    "integer": _Builder._number,
    "float": _Builder._number,
    **dict.fromkeys(_CONSTANTS, _Builder._constant),
    "string": _Builder._string,
    "concatenated_string": _Builder._concatenated,
    "binary_operator": _Builder._binary,
    "boolean_operator": _Builder._boolean,
    "unary_operator": _Builder._unary,
    "not_operator": _Builder._not,
    "comparison_operator": _Builder._comparison,
    "lambda": _Builder._lambda,
    "conditional_expression": _Builder._conditional,
    "named_expression": _Builder._walrus,
    "await": _Builder._await,
    "yield": _Builder._yield,
    **dict.fromkeys(_TRAILERS, _Builder._trailer),
    "slice": _Builder._slice,
    **dict.fromkeys(
        ("list", "tuple", "expression_list", "pattern_list", "list_pattern", "tuple_pattern"),
        _Builder._sequence,
    ),
    "set": _Builder._set,
    "dictionary": _Builder._dictionary,
    **dict.fromkeys(
        ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
        _Builder._comprehension,
    ),
    **dict.fromkeys(("parenthesized_expression", "type", "as_pattern_target"), _Builder._inner),
    **dict.fromkeys(
        ("list_splat", "list_splat_pattern", "parenthesized_list_splat", "splat_type"), _Builder._splat
    ),
    "generic_type": _Builder._generic_type,
    "member_type": _Builder._member_type,
    "union_type": _Builder._union_type,
}
