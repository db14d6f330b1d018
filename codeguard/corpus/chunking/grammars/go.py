"""Go."""

from __future__ import annotations

import re

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text

# The type of `(s *Stack[T])`, the receiver of a method.
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")


def _examine(node: Node) -> NodeRole | None:
    if node.type == "method_declaration":
        receiver = _RECEIVER.match(node_text(node.child_by_field_name("receiver")))
        owner = f"{receiver.group(1)}." if receiver else ""
        return NodeRole(Role.METHOD, owner + name_field(node))
    if node.type == "type_declaration":
        specs = [child for child in node.named_children if child.type == "type_spec"]
        return NodeRole(Role.CLASS, name_field(specs[0])) if len(specs) == 1 else None
    return None


GRAMMAR = Grammar(
    name="go",
    extensions=(".go",),
    wheel="tree-sitter-go",
    module="tree_sitter_go",
    roles={"function_declaration": Role.FUNCTION, "import_declaration": Role.IMPORT},
    blocks=frozenset({"source_file", "block", "statement_list"}),
    examine=_examine,
)
