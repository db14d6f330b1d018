"""Examples in docstrings: doctests, and calls with their result: `f(x) == y`, `f(x) -> y`."""

from __future__ import annotations

import ast
import contextlib
import doctest
import itertools
import re
from collections.abc import Iterator, Sequence

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition
from codeguard.behavior.specs.examples import (
    NO_VALUE,
    Example,
    Expected,
    Raises,
    Returns,
    example_of,
    literal_value,
    plain_call,
    remember,
    unwrapped,
    value_of,
)
from codeguard.corpus.syntax import variables_in

MAX_EXAMPLES = 60
MAX_SETUP = 4_000
MOST_ENDS = 40  # places in a line at which a call or a value may end
SEPARATORS = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|==|->|→|➞|⟶|⇒|=|:|(?:(?:will|would|should|must)\s*)?(?:returns?|gives?|equals?|yields?|is|be)\b)\s*",
    re.IGNORECASE,
)

# Where a value in prose may end: a comment, an explanation or a full stop follows. So `2 + 3 = 5` is not read as 2.
_END = re.compile(r"$|[#;,)]|\.(?!\d)|\s[^\W\d_]")
_BRACKET = re.compile(r"\)")
_INPUT = re.compile(r"\binputs?\s*:\s*", re.IGNORECASE)
_OUTPUT = re.compile(
    r"(?:outputs?|results?|returns?|answer|expected)\b(?:\s+(?:(?:should|will|would|must)\s+be|is|are|equals?))?\s*[:=]?\s*",
    re.IGNORECASE,
)


def docstring_examples(definition: Definition, path: str) -> tuple[Example, ...]:
    """Return the calls in a function's docstring, in order, without duplicates."""
    node = definition.node.body[0] if definition.node.body else None
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return ()
    text = node.value.value
    if not isinstance(text, str):
        return ()
    reader = _Reader(definition, path, node.lineno)
    found: dict[str, Example] = {}
    for example in (*reader.doctests(text), *reader.prose(text)):
        key = repr((example.args, example.kwargs, example.expression, example.setup))
        known = found.get(key)
        if known is None or (known.expected is None and example.expected is not None):
            found[key] = example
    return tuple(found.values())[:MAX_EXAMPLES]


class _Reader:
    def __init__(self, definition: Definition, path: str, line: int) -> None:
        self.callee, self.parameters = definition.name, definition.parameters
        self.owner = "" if definition.owner is None else definition.owner.name
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
            except PARSE_ERRORS:
                continue
            if len(body) == 1 and isinstance(body[0], ast.Expr):
                shown = unwrapped(body[0].value, "print")
                node, expected = _comparison(shown, _doctest_expectation(example))
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
                remember(statement, values)
                nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                bound.update(node.id for node in nodes if isinstance(node.ctx, ast.Store))
            if example.exc_msg is None and len(setup) + len(example.source) < MAX_SETUP:
                setup += example.source if example.source.endswith("\n") else example.source + "\n"

    def prose(self, text: str) -> Iterator[Example]:
        """Yield the calls in the lines of a text that are followed by their result, and named or listed inputs."""
        lines = text.splitlines()
        for number, line in enumerate(lines):
            for match in re.finditer(rf"(?<![\w.]){re.escape(self.callee)}\s*\(", line):
                call, end = call_at(line, match.start())
                found = plain_call(call, self.parameters) if call is not None else None
                if found is not None:
                    separator = SEPARATORS.match(line, end)
                    expected = _written_value(line[separator.end() :]) if separator is not None else None
                    yield Example(found[0], found[1], expected, self.origin(number))
            values, end = self._inputs(line)
            if values:
                expected = _announced_value([line[end:], *lines[number + 1 : number + 3]])
                yield Example(tuple(values), {}, expected, self.origin(number))

    def _inputs(self, line: str) -> tuple[list[object], int]:
        """Return what a line gives for all required parameters: `x = 3, y = 4`, or `Input: 3, 4`."""
        names = [item.name for item in self.parameters if item.kind == "positional" and item.required]
        match = re.search(rf"(?<!\w){re.escape(names[0])}\s*=(?!=)", line) if names else None
        start = _INPUT.search(line)
        position = match.start() if match is not None else start.end() if start is not None else -1
        values: list[object] = []
        for name in names if position >= 0 else ():
            gap = re.compile(rf"[\s,]*(?:and\s+)?(?:{re.escape(name)}\s*=(?!=)\s*)?").match(line, position)
            found = _literal_at(line, gap.end() if gap is not None else position)
            if found is None:
                return [], 0
            values.append(found[0])
            position = found[1]
        return values, position


def _doctest_expectation(example: doctest.Example) -> Expected:
    """Return the expectation of a doctest; None if it is no literal and the reference has to provide it."""
    if example.exc_msg is not None:
        name = example.exc_msg.partition(":")[0].strip()
        return Raises(name) if name.replace(".", "").isidentifier() else None
    if not example.want.strip() or example.source.lstrip().startswith("print("):
        return None
    value = value_of(example.want)
    return None if value is NO_VALUE else Returns(value)


def _comparison(node: ast.expr, expected: Expected) -> tuple[ast.expr, Expected]:
    """Read `f(x) == y` as a call and its expected value, if the doctest shows no result or True."""
    is_equality = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
    says_true = expected is None or (isinstance(expected, Returns) and expected.value is True)
    if not isinstance(node, ast.Compare) or not is_equality or not says_true:
        return node, expected
    value = literal_value(node.comparators[0])
    return (node, expected) if value is NO_VALUE else (node.left, Returns(value))


def call_at(line: str, start: int) -> tuple[ast.Call | None, int]:
    """Return the call that begins at a place, the shortest text that is one, and the position after it."""
    for bracket in itertools.islice(_BRACKET.finditer(line, start), MOST_ENDS):
        with contextlib.suppress(*PARSE_ERRORS):
            node = ast.parse(line[start : bracket.end()], mode="eval").body
            return (node if isinstance(node, ast.Call) else None), bracket.end()
    return None, 0


def _literal_at(text: str, start: int = 0) -> tuple[object, int] | None:
    """Return the literal at a place, the shortest text that is one, and the position after it."""
    for end in itertools.islice(_END.finditer(text, start), MOST_ENDS):
        value = value_of(text[start : end.start()])
        if value is not NO_VALUE:
            return value, end.start()
    return None


def _written_value(text: str) -> Expected:
    """Read the literal at the beginning of a text."""
    found = _literal_at(text)
    return Returns(found[0]) if found is not None else None


def _announced_value(lines: Sequence[str]) -> Expected:
    """Read the value after `the output should be …` or `Output: …`."""
    for line in lines:
        match = None if _INPUT.search(line) else _OUTPUT.search(line)
        if match is not None or _INPUT.search(line):
            return _written_value(line[match.end() :]) if match is not None else None
    return None
