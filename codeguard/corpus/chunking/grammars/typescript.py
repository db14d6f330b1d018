"""TypeScript: JavaScript's grammar with types."""

from __future__ import annotations

import dataclasses

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field
from codeguard.corpus.chunking.grammars import javascript

_ROLES = {
    **javascript.ROLES,
    "abstract_class_declaration": Role.CLASS,
    "interface_declaration": Role.CLASS,
    "internal_module": Role.NAMESPACE,
    "module": Role.NAMESPACE,
    "ambient_declaration": Role.SCOPE,
}


def _examine(node: Node) -> NodeRole | None:
    if node.type == "expression_statement":
        inner = node.named_child(0)
        if inner is not None and inner.type == "internal_module":
            return NodeRole(Role.NAMESPACE, name_field(inner), inner)
    return javascript.examine(node, _ROLES)


GRAMMAR: Grammar = dataclasses.replace(
    javascript.GRAMMAR,
    name="typescript",
    extensions=(".ts", ".mts", ".cts"),
    wheel="tree-sitter-typescript",
    module="tree_sitter_typescript",
    entry="language_typescript",
    extra="languages",
    interpreters=("ts-node", "tsx"),
    roles=_ROLES,
    examine=_examine,
)
