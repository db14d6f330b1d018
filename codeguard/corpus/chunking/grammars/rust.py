"""Rust."""

from __future__ import annotations

import re

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, node_text

_GENERICS = re.compile(r"<.*", re.DOTALL)


def _examine(node: Node) -> NodeRole | None:
    """Qualify the methods of `impl Display for Stack<T>` with the name of the type."""
    if node.type != "impl_item":
        return None
    return NodeRole(
        Role.CLASS, _GENERICS.sub("", node_text(node.child_by_field_name("type"))).strip("&").strip()
    )


GRAMMAR = Grammar(
    name="rust",
    extensions=(".rs",),
    wheel="tree-sitter-rust",
    module="tree_sitter_rust",
    roles={
        **dict.fromkeys(("function_item", "macro_definition"), Role.FUNCTION),
        **dict.fromkeys(("struct_item", "enum_item", "union_item", "trait_item"), Role.CLASS),
        **dict.fromkeys(("use_declaration", "extern_crate_declaration"), Role.IMPORT),
        "mod_item": Role.NAMESPACE,
    },
    blocks=frozenset({"source_file", "block", "declaration_list", "match_block"}),
    leading=frozenset({"attribute_item"}),
    examine=_examine,
)
