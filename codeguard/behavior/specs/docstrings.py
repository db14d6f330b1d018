"""Examples in docstrings: doctests, `f(x) == y`, `f(x) -> y`, `For x = 3 the result is 5`."""

from __future__ import annotations

import ast
import contextlib
import doctest
import re
from collections.abc import Iterator, Sequence

from codeguard.behavior.source.definitions import Definition, Parameter
from codeguard.behavior.specs.calls import NotPlainError, example_of, literal_value, plain_call, read_literal
from codeguard.behavior.specs.examples import Example, Expected, Raises, Returns
from codeguard.corpus.syntax import variables_in

MAX_EXAMPLES = 60
MAX_SETUP = 4_000
SEPARATORS = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|==|->|→|➞|⟶|⇒|=|:|(?:(?:will|would|should|must)\s*)?(?:returns?|gives?|equals?|yields?|is|be)\b)\s*",
    re.IGNORECASE,
)
OUTPUT = re.compile(
    r"(?:outputs?|results?|returns?|answer|expected)\b(?:\s+(?:(?:should|will|would|must)\s+be|is|are|equals?))?\s*[:=]?\s*",
    re.IGNORECASE,
)
INPUT = re.compile(r"\binputs?\s*:\s*", re.IGNORECASE)


def docstring_examples(definition: Definition, path: str) -> tuple[Example, ...]:
    """Return the calls in a function's docstring, in order, without duplicates."""
    node = definition.node.body[0] if definition.node.body else None
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return ()
    text = node.value.value
    if not isinstance(text, str):
        return ()
    owner = "" if definition.owner is None else definition.owner.name
    reader = _Reader(definition.name, definition.parameters, path, node.lineno, owner)
    found: dict[str, Example] = {}
    for example in (*reader.doctests(text), *reader.prose(text)):
        key = repr((example.args, example.kwargs, example.expression, example.setup))
        known = found.get(key)
        if known is None or (known.expected is None and example.expected is not None):
            found[key] = example
    return tuple(found.values())[:MAX_EXAMPLES]


class _Reader:
    """Reads the docstring of one function."""

    def __init__(
        self, callee: str, parameters: Sequence[Parameter], path: str, line: int, owner: str
    ) -> None:
        self.callee = callee
        self.owner = owner
        self.parameters = parameters
        self.path = path
        self.line = line

    def origin(self, offset: int) -> str:
        return f"{self.path}:{self.line + offset}"

    def doctests(self, text: str) -> Iterator[Example]:
        try:
            examples = doctest.DocTestParser().get_examples(text)
        except ValueError:
            return
        setup = ""
        values: dict[str, object] = {}
        bound: set[str] = set()
        for example in examples:
            try:
                body = ast.parse(example.source).body
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                continue
            if len(body) == 1 and isinstance(body[0], ast.Expr):
                node, expected = _comparison(_without_print(body[0].value), _doctest_expectation(example))
                origin = self.origin(example.lineno)
                made = example_of(
                    node, self.callee, self.parameters, expected, origin, setup, values, self.owner
                )
                if made is not None:
                    yield made
                if made is not None and made.args is not None:
                    continue  # a plain call leaves no state for the next line
                if not bound.intersection(variables_in(body[0])):
                    continue  # neither does an expression without an effect
            for statement in body:
                self._remember(statement, values, bound)
            if example.exc_msg is None and len(setup) + len(example.source) < MAX_SETUP:
                setup += example.source if example.source.endswith("\n") else example.source + "\n"

    def _remember(self, statement: ast.stmt, values: dict[str, object], bound: set[str]) -> None:
        """Record the names that a doctest's statement binds, and their plain values."""
        names = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        bound.update(names)
        for name in names | variables_in(statement):
            values.pop(name, None)  # rebound, or passed to code that may modify it
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            with contextlib.suppress(NotPlainError):
                values[statement.targets[0].id] = literal_value(statement.value)

    def prose(self, text: str) -> Iterator[Example]:
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if self.callee in line:
                yield from self._written_calls(line, lines, number)
            yield from self._named_inputs(line, lines, number)

    def _written_calls(self, line: str, lines: Sequence[str], number: int) -> Iterator[Example]:
        for match in re.finditer(rf"(?<![\w.]){re.escape(self.callee)}\s*\(", line):
            end = _closing_bracket(line, match.end() - 1)
            if end is None:
                continue
            try:
                node = ast.parse(line[match.start() : end], mode="eval").body
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                continue
            if not isinstance(node, ast.Call):
                continue
            found = plain_call(node, self.parameters)
            if found is None and ">>>" not in line:
                found = plain_call(node, self.parameters, bare_words=True)
            if found is not None:
                expected = _following_value(line[end:], lines[number + 1 : number + 2])
                yield Example(found[0], found[1], expected, self.origin(number))

    def _named_inputs(self, line: str, lines: Sequence[str], number: int) -> Iterator[Example]:
        required = [
            parameter
            for parameter in self.parameters
            if parameter.kind == "positional" and parameter.required
        ]
        if not required:
            return
        values: list[object] = []
        position = 0
        for parameter in required:
            match = re.compile(rf"(?<!\w){re.escape(parameter.name)}\s*=(?!=)\s*").search(line)
            found = _leading_literal(line[match.end() :]) if match else None
            if match is None or found is None:
                break
            values.append(found[0])
            position = max(position, match.end() + found[1])
        if len(values) != len(required):
            match = INPUT.search(line)
            found = _leading_literal(line[match.end() :], several=len(required) > 1) if match else None
            if match is None or found is None:
                return
            values = list(found[0]) if len(required) > 1 and isinstance(found[0], tuple) else [found[0]]
            position = match.end() + found[1]
            if len(values) != len(required):
                return
        rest = [line[position:], *lines[number + 1 : number + 3]]
        yield Example(tuple(values), {}, _announced_value(rest), self.origin(number))


def _without_print(node: ast.expr) -> ast.expr:
    is_print = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    if is_print and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return node.args[0]
    return node


def _doctest_expectation(example: doctest.Example) -> Expected:
    """Return the expectation of a doctest; None if it is no literal and the reference has to provide it."""
    if example.exc_msg is not None:
        name = example.exc_msg.partition(":")[0].strip()
        return Raises(name) if name.replace(".", "").isidentifier() else None
    if not example.want.strip() or example.source.lstrip().startswith("print("):
        return None
    try:
        return Returns(read_literal(example.want))
    except NotPlainError:
        return None


def _comparison(node: ast.expr, expected: Expected) -> tuple[ast.expr, Expected]:
    """Read `f(x) == y` as a call and its expected value, if the doctest shows no result or True."""
    is_equality = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
    says_true = expected is None or (isinstance(expected, Returns) and expected.value is True)
    if not isinstance(node, ast.Compare) or not is_equality or not says_true:
        return node, expected
    try:
        return node.left, Returns(literal_value(node.comparators[0]))
    except NotPlainError:
        return node, expected


def _closing_bracket(line: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one at `start`, ignoring strings."""
    depth, quote, index = 0, "", start
    while index < len(line):
        char = line[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1
    return None


def _following_value(rest: str, following: Sequence[str]) -> Expected:
    """Read the value after a call, on the same line or on the next."""
    match = SEPARATORS.match(rest)
    if match is not None:
        found = _leading_literal(rest[match.end() :], to_end=True)
        return Returns(found[0]) if found is not None else None
    del following  # a value on its own line belongs to a doctest, which is read elsewhere
    return None


def _announced_value(rest: Sequence[str]) -> Expected:
    """Read the value after `the output should be …` or `Output: …`."""
    for line in rest:
        if INPUT.search(line):
            return None
        match = OUTPUT.search(line)
        if match is not None:
            found = _leading_literal(line[match.end() :], to_end=True)
            return Returns(found[0]) if found is not None else None
    return None


def _leading_literal(text: str, several: bool = False, to_end: bool = False) -> tuple[object, int] | None:
    """Return the literal at the start of a text and its length, or None.

    With `several`, a comma-separated list without brackets is a tuple. With `to_end`, only a
    comment, an explanation or a full stop may follow, so that `2 + 3 = 5` is not read as 2.
    """
    text = text.rstrip()
    head = text.lstrip()
    offset = len(text) - len(head)
    if not head:
        return None
    end = _literal_end(head)
    if several:
        end = len(head)
    while end > 0:
        try:
            value = read_literal(head[:end])
        except NotPlainError:
            if not several:
                return None
            end = head.rfind(",", 0, end)
            continue
        if to_end and not _is_end(head[end:]):
            return None
        return value, offset + end
    return None


def _literal_end(text: str) -> int:
    if text[0] in "([{":
        return _closing_bracket(text, 0) or 0
    if text[0] in "'\"":
        end = text.find(text[0], 1)
        while end > 0 and text[end - 1] == "\\":
            end = text.find(text[0], end + 1)
        return end + 1
    match = re.match(r"[-+]?(?:\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)|True\b|False\b|None\b", text)
    return match.end() if match else 0


def _is_end(rest: str) -> bool:
    if rest and (rest[0].isalnum() or rest[0] in "'\"_"):
        return False
    rest = rest.strip()
    return not rest or rest[0] in "#.;,)" or rest[0].isalpha()
