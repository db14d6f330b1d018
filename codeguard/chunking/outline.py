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
    telling = _telling_types(grammar)
    stack = [_Level(iter(root.children), (), False)]
    while stack:
        level = stack[-1]
        for node in level.nodes:
            kind = node.type
            if level.leading is None and telling is not None and kind not in telling:
                continue
            if kind in grammar.leading:
                level.leading = node.start_byte if level.leading is None else level.leading
                continue
            start = node.start_byte if level.leading is None else level.leading
            if not node.is_extra:
                level.leading = None
            found = _role(node, kind, grammar, source)
            if found is None:
                continue
            if found.role is Role.IMPORT:
                if not level.in_class:
                    imports.append(_text(node, source).strip())
                continue
            names = _names(level.scope, found.name)
            becomes = _chunk_kind(found.role, level)
            if becomes is not None:
                marks.append(Mark(start, node.end_byte, becomes, ".".join(names)))
            below = _level_below(level, found, node, names)
            if below is not None:
                stack.append(below)
                break
        else:
            stack.pop()
    return Outline(tuple(marks), tuple(imports))


def _telling_types(grammar: Grammar) -> frozenset[str] | None:
    """Return the node types that may mean something to the chunker, None for all."""
    if grammar.examined is None:
        return None
    return grammar.examined | grammar.roles.keys() | grammar.leading | {"ERROR"}


def _names(scope: tuple[str, ...], name: str) -> tuple[str, ...]:
    name = (name if name.isidentifier() else _SPACE.sub(" ", name))[:MAX_NAME]
    return (*scope, name) if name else scope


def _chunk_kind(role: Role, level: _Level) -> ChunkKind | None:
    if role is Role.FUNCTION or role is Role.METHOD:
        return ChunkKind.METHOD if level.in_class or role is Role.METHOD else ChunkKind.FUNCTION
    return ChunkKind.CLASS if role is Role.CLASS and len(level.scope) < MAX_NESTING else None


def _level_below(level: _Level, found: Found, node: Node, names: tuple[str, ...]) -> _Level | None:
    """Return what is to be visited inside a node, None where nothing is."""
    role = found.role
    if role is Role.FUNCTION or role is Role.METHOD:
        return None
    inside = found.inside or node
    if role is Role.SCOPE:
        return _Level(iter(inside.children), level.scope, level.in_class)
    if len(level.scope) >= MAX_NESTING:
        return None
    body = inside.child_by_field_name("body") or inside
    return _Level(iter(body.children), names, role is Role.CLASS)


def _text(node: Node, source: bytes) -> str:
    # `Node.text` would have the parser read the text once more, character by character.
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _role(node: Node, kind: str, grammar: Grammar, source: bytes) -> Found | None:
    found = grammar.examine(node) if grammar.examined is None or kind in grammar.examined else None
    if found is not None:
        return found
    if node.is_error:
        return Found(Role.SCOPE)
    role = grammar.roles.get(kind)
    if role is None or (kind in grammar.bodiless and node.child_by_field_name("body") is None):
        return None
    if role is Role.SCOPE or role is Role.IMPORT:
        return _NAMELESS[role]
    name = node.child_by_field_name("name")
    return Found(role, "" if name is None else _text(name, source))


_NAMELESS = {role: Found(role) for role in (Role.SCOPE, Role.IMPORT)}


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
