"""C#."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, node_text

_FUNCTIONS = (
    "method_declaration",
    "constructor_declaration",
    "destructor_declaration",
    "operator_declaration",
    "conversion_operator_declaration",
    "local_function_statement",
)


def _examine(node: Node) -> NodeRole | None:
    """Name operators, which have no name node: `operator +`, `operator int`."""
    if node.type == "operator_declaration" and node.child_by_field_name("body") is not None:
        return NodeRole(Role.FUNCTION, f"operator {node_text(node.child_by_field_name('operator'))}")
    if node.type == "conversion_operator_declaration" and node.child_by_field_name("body") is not None:
        return NodeRole(Role.FUNCTION, f"operator {node_text(node.child_by_field_name('type'))}")
    return None


GRAMMAR = Grammar(
    name="csharp",
    extensions=(".cs", ".csx"),
    wheel="tree-sitter-c-sharp",
    module="tree_sitter_c_sharp",
    roles={
        **dict.fromkeys(_FUNCTIONS, Role.FUNCTION),
        **dict.fromkeys(
            (
                "class_declaration",
                "struct_declaration",
                "interface_declaration",
                "record_declaration",
                "enum_declaration",
            ),
            Role.CLASS,
        ),
        **dict.fromkeys(
            ("global_statement", "declaration_list", "preproc_if", "preproc_elif", "preproc_else"), Role.SCOPE
        ),
        "namespace_declaration": Role.NAMESPACE,
        "using_directive": Role.IMPORT,
        "extern_alias_directive": Role.IMPORT,
    },
    blocks=frozenset({"compilation_unit", "declaration_list", "block", "switch_body"}),
    bodiless=frozenset(_FUNCTIONS),
    examine=_examine,
)
