"""From a syntax tree to the functions, classes and imports in it. Nothing here recurses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from codeguard.chunking.base import Found, Grammar, Mark, Outline, Role
from codeguard.models import ChunkKind

MAX_NESTING = 64  # of classes and namespaces; deeper ones stay in the outer one
MAX_NAME = 200  # characters of one name

_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class _Level:
    """What is left to visit at one depth, the names around it, and whether a class is the innermost of them."""

    nodes: Iterator[Node]
    scope: tuple[str, ...]
    in_class: bool
    leading: int | None = None  # where the decorations directly before the next node begin


def outline_of(root: Node, grammar: Grammar, source: bytes) -> Outline:
    """Return what the tree of `source` holds; marks do not overlap except by nesting, outer ones first."""
    marks: list[Mark] = []
    imports: list[str] = []
    stack = [_Level(iter(root.children), (), False)]
    while stack:
        level = stack[-1]
        node = next(level.nodes, None)
        if node is None:
            stack.pop()
            continue
        if node.type in grammar.leading:
            level.leading = node.start_byte if level.leading is None else level.leading
            continue
        start = node.start_byte if level.leading is None else level.leading
        if not node.is_extra:
            level.leading = None
        found = _role(node, grammar, source)
        if found is None:
            continue
        inside = found.inside or node
        name = found.name if found.name.isidentifier() else _SPACE.sub(" ", found.name)
        name = name[:MAX_NAME]
        inner = (*level.scope, name) if name else level.scope
        symbol = ".".join(inner)
        if found.role is Role.IMPORT:
            if not level.in_class:
                imports.append(_text(node, source).strip())
        elif found.role is Role.FUNCTION or found.role is Role.METHOD:
            method = level.in_class or found.role is Role.METHOD
            marks.append(
                Mark(start, node.end_byte, ChunkKind.METHOD if method else ChunkKind.FUNCTION, symbol)
            )
        elif found.role is Role.SCOPE:
            stack.append(_Level(iter(inside.children), level.scope, level.in_class))
        elif len(level.scope) < MAX_NESTING:
            if found.role is Role.CLASS:
                marks.append(Mark(start, node.end_byte, ChunkKind.CLASS, symbol))
            body = inside.child_by_field_name("body") or inside
            stack.append(_Level(iter(body.children), inner, found.role is Role.CLASS))
    return Outline(tuple(marks), tuple(imports))


def _text(node: Node, source: bytes) -> str:
    # `Node.text` would have the parser read the text once more, character by character.
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _role(node: Node, grammar: Grammar, source: bytes) -> Found | None:
    found = grammar.examine(node)
    if found is not None:
        return found
    if node.is_error:
        return Found(Role.SCOPE)
    role = grammar.roles.get(node.type)
    if role is None or (node.type in grammar.bodiless and node.child_by_field_name("body") is None):
        return None
    name = node.child_by_field_name("name")
    return Found(role, "" if name is None else _text(name, source))


def statement_starts(
    root: Node, grammar: Grammar, start: int, end: int, smallest: int
) -> list[tuple[int, int]]:
    """Return where statements begin between two bytes, each with its depth.

    Nodes shorter than `smallest` bytes are not looked into: nobody would
    split them.
    """
    starts: list[tuple[int, int]] = []
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        is_block = node.type in grammar.blocks
        after_comment = False
        for child in node.children:
            if child.end_byte <= start:
                after_comment = False
                continue
            if child.start_byte >= end:
                break
            is_comment = child.is_extra
            if is_block and child.is_named and child.start_byte > start and not after_comment:
                starts.append((child.start_byte, depth))
            after_comment = is_comment
            if child.end_byte - child.start_byte >= smallest and child.child_count:
                stack.append((child, depth + 1))
    return starts
