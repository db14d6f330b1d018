"""The parts of a rule about insecure code, and the view of a file that rules use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Rule
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.flow.engine import Flow
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import Sink, SinkHit, SinkIndex
from codeguard.flow.tables import ANSWER, SETTING, STORED
from codeguard.flow.values import Origin, Reach, Value
from codeguard.models import Confidence, Severity
from codeguard.syntax.literal_text import LiteralTexts
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FunctionNode

if TYPE_CHECKING:
    from codeguard.analysis.rules.insecure.rows import Row

_SHOWN = 60  # characters of a part that are shown
_LONGEST = 20_000  # characters of a node that patterns look at
_MOST_BEHIND = 40  # expressions that another is made of
_WORD = lazy(r"\w+")


@lru_cache(maxsize=4096)
def _longest_word(text: str) -> str:
    """Return the longest run of letters and digits of a text; empty if it has none."""
    return max(_WORD.findall(text), key=len, default="")


_REFUSES = lazy(r"^(?:abort|deny|reject|forbid\w*|refuse|redirect|exit)$")
INPUTS = frozenset({"input", ANSWER, SAID})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class NodeMatch:
    """A match at a node. Severity and confidence default to the rule's."""

    node: ast.AST
    reason: str
    severity: Severity | None = None
    confidence: Confidence | None = None


class View:
    """One file as the rules see it."""

    def __init__(self, reading: Reading, sinks: SinkIndex) -> None:
        self.reading = reading
        self.names: Names = reading.names
        self._sinks = sinks
        self._words: dict[tuple[str, ...], bool] = {}
        self._written: dict[ast.AST, str] = {}
        self._stand_for: dict[ast.AST, ast.AST] = {}
        self._returned: dict[ast.AST, list[ast.expr]] = {}
        self.told: set[tuple[str, str]] = set()  # pairs of a rule and a reported setting

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the file."""
        return self.reading.nodes

    @cached_property
    def flow(self) -> Flow:
        """The data flow through the file, computed when first used."""
        tree = self.reading.tree or ast.Module([], [])
        return Flow(self.names, tree, self.nodes, self._sinks)

    @cached_property
    def writer(self) -> LiteralTexts:
        """The writer of texts that the file composes."""
        return LiteralTexts(self.names, len(self.nodes))

    @cached_property
    def lowered(self) -> str:
        """The text in lower case, to test quickly whether a word occurs."""
        return self.reading.text.lower()

    @cached_property
    def _distinct(self) -> str:
        """The different words of the text in lower case, which is much shorter than the text."""
        return " ".join(set(_WORD.findall(self.lowered)))

    def has(self, *words: str) -> bool:
        """Return whether one of some lower-case words occurs anywhere; cached per file."""
        known = self._words.get(words)
        if known is None:
            known = self._words[words] = any(self._occurs(word) for word in words)
        return known

    def _occurs(self, word: str) -> bool:
        longest = _longest_word(word)
        return longest in self._distinct and (longest == word or word in self.lowered)

    def written(self, node: ast.AST) -> str:
        """Return the text of a node, written uniformly; of a long one the beginning."""
        known = self._written.get(node)
        if known is None:
            # Of a branch only how it begins: each elif would write out all that follow it.
            short = ast.If(node.test, node.body[:4], []) if isinstance(node, ast.If) else node
            known = self._written[node] = unparse(short)[:_LONGEST]
        return known

    @cached_property
    def modules(self) -> frozenset[str]:
        """The first parts of all names that are imported in the file."""
        found: set[str] = set()
        for node in self.reading.nodes_of(ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        for whence in self.reading.nodes_of(ast.ImportFrom):
            if whence.module and not whence.level:
                found.add(whence.module.partition(".")[0])
        return frozenset(found)

    def argument(self, call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
        """Return an argument of a call by keyword or position."""
        for item in call.keywords:
            if item.arg == keyword:
                return item.value
            if item.arg is None:
                found = self._spread(item.value, keyword)
                if found is not None:
                    return found
        if position is not None and position < len(call.args):
            found = call.args[position]
            return None if isinstance(found, ast.Starred) else found
        return None

    def _spread(self, node: ast.expr, keyword: str) -> ast.expr | None:
        """Return an entry of a mapping that is unpacked into keywords, if it is written in the file."""
        for value in [node, *self.names.values_of(node)]:
            if isinstance(value, ast.Dict):
                for key, given in zip(value.keys, value.values, strict=True):
                    if key is not None and self.names.text(key) == keyword:
                        return given
        return None

    def constant(
        self, call: ast.Call, keyword: str, position: int | None = None, default: object = None
    ) -> object:
        """Return the constant value of an argument, or `default` if it is missing or not constant."""
        return self.value(self.argument(call, keyword, position), default)

    def value(self, node: ast.expr | None, default: object = None) -> object:
        """Return the value of a constant expression, or that a parameter has where a caller names none."""
        found = self.names.constant(node, ...)
        if found is ... and isinstance(node, ast.Name):
            found = self.names.constant(self._omitted(node), ...)
        return default if found is ... else found

    def _omitted(self, node: ast.Name) -> ast.expr:
        """Return the default of the parameter that a name stands for; the name itself if it stands for none."""
        function = self.function_of(node)
        if function is None or self.names.values_of(node):
            return node
        listed = [*function.args.posonlyargs, *function.args.args]
        pairs = [
            *zip(reversed(listed), reversed(function.args.defaults), strict=False),
            *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
        ]
        return next((given for item, given in pairs if item.arg == node.id and given is not None), node)

    def behind(self, node: ast.expr, depth: int = 3) -> Iterator[ast.AST]:
        """Yield the nodes of an expression and of what it is made of, at most `_MOST_BEHIND`.

        Variables and attributes lead to the values that they are bound to, calls of functions of the file to what
        these return.
        """
        waiting: list[tuple[ast.AST, int]] = [(node, 0)]
        seen = {node}
        for at, far in waiting:
            for part in walk(at):
                yield part
                if far == depth or not isinstance(part, ast.Name | ast.Attribute | ast.Call):
                    continue
                for value in self._made_of(part):
                    if value not in seen and len(waiting) < _MOST_BEHIND:
                        seen.add(value)
                        waiting.append((value, far + 1))

    def _made_of(self, node: ast.Name | ast.Attribute | ast.Call) -> list[ast.expr]:
        if not isinstance(node, ast.Call):
            return self.names.values_of(node)
        called = self.names.definition(self.names.called(node))
        if not isinstance(called, FUNCTIONS) or called in self._returned:
            return self._returned.get(called, [])  # type: ignore[arg-type]
        found = [
            part.value for part in walk(called) if isinstance(part, ast.Return) and part.value is not None
        ]
        return self._returned.setdefault(called, found)

    def stands_for(self, made: ast.AST, node: ast.AST) -> ast.AST:
        """Give a synthetic node the position of the node that it stands for, and return it."""
        self._stand_for[made] = node
        return made

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the parent of a node."""
        return self.reading.parents.get(self._stand_for.get(node, node))

    def function_of(self, node: ast.AST) -> FunctionNode | None:
        """Return the innermost function around a node."""
        return self.names.function_of(self._stand_for.get(node, node))

    def is_route(self, node: ast.AST) -> bool:
        """Return whether a node is in an entry point, such as a view of a web framework."""
        function = self.function_of(node)
        return function is not None and self.flow.entry(function) is Reach.REMOTE

    def statement(self, node: ast.AST) -> ast.AST:
        """Return the statement that contains a node."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.parent(at)
        return node if at is None else at


@dataclass(frozen=True, slots=True)
class Check:
    """A rule with the rows of its table: `rows` under `match`, `flows` under `flow`."""

    rule: Rule
    rows: tuple[Row, ...] = ()
    flows: tuple[FlowRow, ...] = ()


def parameters_of(function: FunctionNode | None) -> frozenset[str]:
    """Return the names of a function's parameters; empty for None."""
    if function is None:
        return frozenset()
    listed = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return frozenset(argument.arg for argument in listed)
