"""Bash and similar shells."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field


def _examine(node: Node) -> NodeRole | None:
    if node.type == "command" and name_field(node) in ("source", "."):
        return NodeRole(Role.IMPORT)
    return None


GRAMMAR = Grammar(
    name="bash",
    extensions=(".sh", ".bash"),
    wheel="tree-sitter-bash",
    module="tree_sitter_bash",
    interpreters=("bash", "sh", "dash", "ksh"),
    filenames=(".bashrc", ".bash_profile", ".profile"),
    roles={
        **dict.fromkeys(
            (
                "if_statement",
                "elif_clause",
                "else_clause",
                "for_statement",
                "while_statement",
                "do_group",
                "case_statement",
                "case_item",
                "compound_statement",
                "list",
            ),
            Role.SCOPE,
        ),
        "function_definition": Role.FUNCTION,
    },
    blocks=frozenset({"program", "compound_statement", "do_group", "subshell"}),
    comment=(b"#",),
    examine=_examine,
)
