"""PHP, with the HTML around it."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role

_INCLUDES = frozenset(
    {"require_expression", "require_once_expression", "include_expression", "include_once_expression"}
)


def _examine(node: Node) -> NodeRole | None:
    if node.type == "expression_statement":
        inner = node.named_child(0)
        if inner is not None and inner.type in _INCLUDES:
            return NodeRole(Role.IMPORT)
    return None


GRAMMAR = Grammar(
    name="php",
    extensions=(".php", ".phtml"),
    wheel="tree-sitter-php",
    module="tree_sitter_php",
    entry="language_php",
    interpreters=("php",),
    roles={
        **dict.fromkeys(("function_definition", "method_declaration"), Role.FUNCTION),
        **dict.fromkeys(
            ("class_declaration", "trait_declaration", "interface_declaration", "enum_declaration"),
            Role.CLASS,
        ),
        **dict.fromkeys(
            ("compound_statement", "if_statement", "else_clause", "else_if_clause", "colon_block"), Role.SCOPE
        ),
        "namespace_definition": Role.NAMESPACE,
        "namespace_use_declaration": Role.IMPORT,
    },
    blocks=frozenset({"program", "compound_statement", "declaration_list", "switch_block", "colon_block"}),
    bodiless=frozenset({"method_declaration"}),
    comment=(b"//", b"/*", b"*", b"#"),
    examine=_examine,
)
