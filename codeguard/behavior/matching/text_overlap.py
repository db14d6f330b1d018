"""The share of one function's text that another one contains, to detect edited copies.

Names of locals may differ between the two.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from codeguard.behavior.source.definitions import Function

LEAST_NODES = 20  # shorter texts may agree by chance
LEAST_SURE_NODES = 30  # the same for texts with other names
LEAST_KEPT = 0.85  # share of the trusted text's nodes that the candidate has, in the same order
LEAST_SURE_KEPT = 0.95
MAX_NODES = 1_500
MAX_UNEQUAL = 250  # nodes between the common beginning and the common end
GRAM = 6  # consecutive nodes in one shingle
GRAMS = 16  # shingles per text, those with the smallest digests (MinHash; Broder 1997)
LOCAL = "local"
_SKIPPED = (ast.expr_context, ast.arguments, ast.Load, ast.Expr)


@dataclass(frozen=True, slots=True)
class Text:
    """A function's syntax nodes in order, without docstring and annotations.

    `named` has every name and literal; `renamed` has one placeholder for all locals, and the types
    of literals. `grams` are digests of some runs of `renamed`, of which similar texts share some.
    """

    named: tuple[str, ...]
    renamed: tuple[str, ...]
    grams: frozenset[str]


@dataclass(frozen=True, slots=True)
class TextOverlap:
    """The shares of a trusted function's text that a candidate contains, 0 to 1.

    `named` counts nodes with their names, relative to the trusted text. `renamed` counts nodes
    without the names of locals, relative to the longer text.
    """

    named: float = 0.0
    renamed: float = 0.0
    nodes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether both are one text, apart from the function's name and description."""
        return self.nodes >= LEAST_NODES and self.named == self.renamed == 1.0

    @property
    def its_text(self) -> bool:
        """Whether the candidate contains nearly all of the trusted text, however short that is."""
        return max(self.named, self.renamed) >= LEAST_KEPT

    @property
    def near_copy(self) -> bool:
        """Whether the candidate's text is the trusted one except for a small part, its locals and literals."""
        return self.nodes >= LEAST_NODES and self.its_text

    @property
    def edited_copy(self) -> bool:
        """Whether the texts are too similar for an independent implementation."""
        if self.nodes < LEAST_NODES:
            return False
        return self.named >= LEAST_KEPT or (
            self.renamed >= LEAST_SURE_KEPT and self.nodes >= LEAST_SURE_NODES
        )


def comparable_text(function: Function) -> Text:
    """Return a function's text without layout, comments and names of locals."""
    own = _locals(function)
    named: list[str] = []
    renamed: list[str] = []
    for part in (function.args, *_undocumented(function)):
        for node in _in_order(part):
            name, plain = _node_texts(node, own)
            if name:
                named.append(sys.intern(name))
                renamed.append(sys.intern(plain))
            if len(named) > MAX_NODES:
                return Text((), (), frozenset())
    return Text(tuple(named), tuple(renamed), frozenset(_grams(renamed)))


def numbered_text(function: Function) -> tuple[str, ...]:
    """Return a function's syntax nodes in order, without docstring and annotations, its locals numbered.

    Two functions have the same one if nothing but names of locals, layout and comments differs.
    """
    own = _locals(function)
    numbers: dict[str, str] = {function.name: "itself"}
    found: list[str] = []
    for part in (function.args, *_undocumented(function)):
        for node in _in_order(part):
            name, plain = _node_texts(node, own)
            if isinstance(node, ast.Name | ast.arg) and plain == LOCAL:
                name = numbers.setdefault(name, f"{LOCAL} {len(numbers)}")
            found.append(name or type(node).__name__)
    return tuple(found)


def text_overlap(candidate: Text, reference: Text) -> TextOverlap:
    """Return the share of a trusted function's text that a candidate contains."""
    wanted = len(reference.named)
    if not wanted or not candidate.named:
        return TextOverlap()
    return TextOverlap(
        _share(reference.named, candidate.named, wanted),
        _share(reference.renamed, candidate.renamed, max(wanted, len(candidate.renamed))),
        wanted,
    )


def _undocumented(function: Function) -> list[ast.stmt]:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if documented else function.body


def _share(wanted: tuple[str, ...], found: tuple[str, ...], of: int) -> float:
    """Return the share of nodes in common, or 0 if it must be below `LEAST_KEPT`."""
    if min(len(wanted), len(found)) < LEAST_KEPT * of:
        return 0.0
    # An upper bound: common nodes in any order.
    if (Counter(wanted) & Counter(found)).total() < LEAST_KEPT * of:
        return 0.0
    return common_in_order(wanted, found) / of


def common_in_order(wanted: tuple[str, ...], found: tuple[str, ...]) -> int:
    """Return how many of the wanted nodes occur in the same order, at most."""
    least = min(len(wanted), len(found))
    start = next((i for i in range(least) if wanted[i] != found[i]), least)
    rest = least - start
    end = next((i for i in range(rest) if wanted[-1 - i] != found[-1 - i]), rest)
    first, second = wanted[start : len(wanted) - end], found[start : len(found) - end]
    if max(len(first), len(second)) > MAX_UNEQUAL:
        return start + end
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return start + end + sum(block.size for block in blocks)


def _grams(nodes: list[str]) -> list[str]:
    runs = {"\0".join(nodes[place : place + GRAM]) for place in range(max(1, len(nodes) - GRAM + 1))}
    digests = (hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6) for run in runs)
    return sorted(digest.hexdigest() for digest in digests)[:GRAMS]


def _locals(function: Function) -> frozenset[str]:
    """Return the names that a function binds, including its own; their choice is arbitrary."""
    found: set[str] = {function.name}
    outer: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, Function | ast.ClassDef | ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global):
            outer.update(node.names)
    return frozenset(found - outer)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(current, ast.AnnAssign):
            children: list[ast.AST] = [current.target, *([current.value] if current.value else [])]
        elif isinstance(current, ast.arg):
            children = []
        else:
            children = list(ast.iter_child_nodes(current))
        pending.extend(reversed(children))


def _node_texts(node: ast.AST, own: frozenset[str]) -> tuple[str, str]:
    """Return a node with its names, and without arbitrary names; empty if it carries no information."""
    if isinstance(node, ast.Name):
        return node.id, LOCAL if node.id in own else node.id
    if isinstance(node, ast.arg):
        return node.arg, LOCAL
    if isinstance(node, ast.Constant):
        return repr(node.value)[:80], type(node.value).__name__
    if isinstance(node, ast.Attribute):
        return f".{node.attr}", f".{node.attr}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}=", f"{node.arg}="
    if isinstance(node, _SKIPPED):
        return "", ""
    kind = type(node).__name__
    return kind, kind
