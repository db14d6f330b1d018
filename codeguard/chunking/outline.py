"""From a syntax tree to the functions, classes and imports in it. Nothing here recurses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from codeguard.chunking.base import Found, Grammar, Mark, Outline, Role, name_of
from codeguard.models import ChunkKind

MAX_NESTING = 64  # of classes and namespaces; deeper ones stay in the outer one
MAX_NAME = 200  # characters of one name

_SPACE = re.compile(r"\s+")


def outline_of(root: Node, grammar: Grammar) -> Outline:
    """Return what the tree holds; marks do not overlap except by nesting, outer ones first."""
    marks: list[Mark] = []
    imports: list[str] = []
    # One entry a level: what is left to visit, the names around it, and whether a class is the innermost.
    stack: list[tuple[Iterator[Node], tuple[str, ...], bool]] = [(iter(root.children), (), False)]
    while stack:
        nodes, scope, in_class = stack[-1]
        node = next(nodes, None)
        if node is None:
            stack.pop()
            continue
        found = _role(node, grammar)
        if found is None:
            continue
        inside = found.inside or node
        name = _SPACE.sub(" ", found.name)[:MAX_NAME]
        if found.role is Role.IMPORT:
            if not in_class and node.text is not None:
                imports.append(node.text.decode("utf-8", "replace"))
        elif found.role is Role.FUNCTION:
            kind = ChunkKind.METHOD if in_class else ChunkKind.FUNCTION
            marks.append(Mark(node.start_byte, node.end_byte, kind, ".".join((*scope, name))))
        elif found.role is Role.SCOPE:
            stack.append((iter(inside.children), scope, in_class))
        elif len(scope) < MAX_NESTING:
            inner = (*scope, name) if name else scope
            if found.role is Role.CLASS:
                marks.append(Mark(node.start_byte, node.end_byte, ChunkKind.CLASS, ".".join(inner)))
            body = inside.child_by_field_name("body") or inside
            stack.append((iter(body.children), inner, found.role is Role.CLASS))
    return Outline(tuple(marks), tuple(imports))


def _role(node: Node, grammar: Grammar) -> Found | None:
    found = grammar.examine(node)
    if found is not None:
        return found
    if node.is_error:
        return Found(Role.SCOPE)
    role = grammar.roles.get(node.type)
    return None if role is None else Found(role, name_of(node))


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
