"""From a syntax tree to the functions, classes and imports in it. Nothing here recurses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from codeguard.corpus.chunking.base import ERROR, Grammar, Mark, NodeRole, Outline, Role
from codeguard.models import ChunkKind

MAX_NESTING = 64  # of classes and namespaces; deeper ones stay in the outer one
MAX_NAME = 200  # characters of one name

_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class _Level:
    """The remaining nodes at one depth, the enclosing name, and whether the innermost scope is a class."""

    nodes: Iterator[Node]
    scope: str = ""
    depth: int = 0  # how many names the scope holds
    in_class: bool = False
    leading: int | None = None  # start of the decorations directly before the next node

    def named(self, name: str) -> str:
        """Return the qualified name of a local name."""
        if not name.isidentifier():
            name = _SPACE.sub(" ", name)
        return f"{self.scope}.{name[:MAX_NAME]}" if name and self.scope else name[:MAX_NAME] or self.scope


def outline_of(root: Node, grammar: Grammar, source: bytes) -> Outline:
    """Return the outline of `source`; marks overlap only by nesting, outer ones first."""
    marks: list[Mark] = []
    imports: list[str] = []
    relevant, leading = grammar.relevant, grammar.leading
    stack = [_Level(iter(root.children))]
    while stack:
        level = stack[-1]
        for node in level.nodes:
            kind = node.type
            # Most nodes are irrelevant: skip them before accessing any of their attributes.
            if level.leading is None:
                if relevant is not None and kind not in relevant:
                    continue
                start = node.start_byte
            else:
                start = level.leading
            if kind in leading:
                level.leading = start
                continue
            if level.leading is not None and not node.is_extra:
                level.leading = None
            found = _role(node, kind, grammar)
            if found is None:
                continue
            role, name, inside = found
            if role is Role.IMPORT:
                if not level.in_class:
                    imports.append(_text(node, source).strip())
                continue
            if name is None:
                named = (inside or node).child_by_field_name("name")
                name = "" if named is None else _text(named, source)
            if role is Role.FUNCTION or role is Role.METHOD:
                becomes = ChunkKind.METHOD if level.in_class or role is Role.METHOD else ChunkKind.FUNCTION
                marks.append(Mark(start, node.end_byte, becomes, level.named(name)))
                continue
            if role is Role.CLASS and level.depth < MAX_NESTING:
                marks.append(Mark(start, node.end_byte, ChunkKind.CLASS, level.named(name)))
            below = _level_below(level, role, name, inside or node)
            # This level continues where it is once the one below is done: no recursion, so no depth limit.
            if below is not None:
                stack.append(below)
                break
        else:
            stack.pop()
    return Outline(tuple(marks), tuple(imports))


def _level_below(level: _Level, role: Role, name: str, inside: Node) -> _Level | None:
    """Return the nodes to visit inside a node that is not a function, or None."""
    if role is Role.SCOPE:
        return _Level(iter(inside.children), level.scope, level.depth, level.in_class)
    if level.depth >= MAX_NESTING:
        return None
    body = inside.child_by_field_name("body") or inside
    return _Level(iter(body.children), level.named(name), level.depth + bool(name), role is Role.CLASS)


def _text(node: Node, source: bytes) -> str:
    # `Node.text` would make the parser read the text again, character by character.
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _role(node: Node, kind: str, grammar: Grammar) -> NodeRole | None:
    if grammar.examined is None or kind in grammar.examined:
        found = grammar.examine(node)
        if found is not None:
            return found
    role = grammar.roles.get(kind, Role.SCOPE if kind == ERROR else None)
    if role is None or (kind in grammar.bodiless and node.child_by_field_name("body") is None):
        return None
    return _PLAIN[role]


_PLAIN = {role: NodeRole(role, "" if role is Role.SCOPE or role is Role.IMPORT else None) for role in Role}
