"""C, with the helpers that C++ shares."""

from __future__ import annotations

import re

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text

SCOPES = (
    "declaration_list",
    "linkage_specification",
    "preproc_if",
    "preproc_ifdef",
    "preproc_elif",
    "preproc_elifdef",
    "preproc_else",
)
_TYPES = frozenset({"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"})
_TEMPLATE = re.compile(r"<[^<>]*>")


def examine(node: Node) -> NodeRole | None:
    """Find functions by their declarator, and types that are defined rather than only named."""
    if node.type == "function_definition":
        if node.child_by_field_name("body") is None:
            return None
        name = _declared(node)
        return NodeRole(Role.METHOD if "." in name else Role.FUNCTION, name)
    if node.type in _TYPES and node.child_by_field_name("body") is not None:
        return NodeRole(Role.CLASS, name_field(node))
    return None


def _declared(node: Node) -> str:
    """Return the name in `int (*f(int a))(int)`: the innermost declarator, `Type.name` for `Type::name`."""
    inner: Node | None = node
    while inner is not None:
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in ("parenthesized_declarator", "reference_declarator"):
            deeper = inner.named_child(0)
        if deeper is None:
            break
        if deeper.type == "operator_cast":
            return f"operator {node_text(deeper.child_by_field_name('type'))}"
        inner = deeper
    name = node_text(inner) if inner is not None and inner != node else ""
    if "::" in name:
        name = _TEMPLATE.sub("", name).replace("::", ".").strip(".")
    return name


GRAMMAR = Grammar(
    name="c",
    extensions=(".c", ".h"),
    wheel="tree-sitter-c",
    module="tree_sitter_c",
    roles={**dict.fromkeys(SCOPES, Role.SCOPE), "preproc_include": Role.IMPORT},
    blocks=frozenset(
        {"translation_unit", "compound_statement", "declaration_list", "field_declaration_list"}
    ),
    examine=examine,
)
