"""C++."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field
from codeguard.corpus.chunking.grammars import c


def _examine(node: Node) -> NodeRole | None:
    if node.type == "namespace_definition":
        return NodeRole(Role.NAMESPACE, name_field(node).replace("::", "."))
    if node.type != "template_declaration":
        return c.examine(node)
    for child in node.named_children:
        found = c.examine(child)
        if found is not None:
            return NodeRole(found.role, found.name, child)
    return None


GRAMMAR = Grammar(
    name="cpp",
    extensions=(".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp", ".inl"),
    wheel="tree-sitter-cpp",
    module="tree_sitter_cpp",
    roles={
        **c.GRAMMAR.roles,
        "using_declaration": Role.IMPORT,
        # Encloses a nested class; function bodies in between are examined first.
        **dict.fromkeys(("field_declaration", "field_declaration_list"), Role.SCOPE),
    },
    blocks=c.GRAMMAR.blocks,
    examine=_examine,
)
