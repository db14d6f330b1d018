"""Python."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role
from codeguard.corpus.chunking.indentation import outline

_SCOPES = (
    "module",
    "block",
    "if_statement",
    "elif_clause",
    "else_clause",
    "try_statement",
    "except_clause",
    "finally_clause",
    "with_statement",
    "for_statement",
    "while_statement",
    "match_statement",
    "case_clause",
)
_IMPORTS = ("import_statement", "import_from_statement", "future_import_statement")


def _examine(node: Node) -> NodeRole | None:
    inner = node.child_by_field_name("definition")
    if inner is None:
        return None
    role = Role.CLASS if inner.type == "class_definition" else Role.FUNCTION
    return NodeRole(role, None, inner)


GRAMMAR = Grammar(
    name="python",
    extensions=(".py", ".pyi", ".pyw"),
    wheel="tree-sitter-python",
    module="tree_sitter_python",
    extra="",
    interpreters=("python", "pypy"),
    filenames=("SConstruct", "SConscript", "wscript"),
    comment=(b"#",),
    roles={
        **dict.fromkeys(_SCOPES, Role.SCOPE),
        **dict.fromkeys(_IMPORTS, Role.IMPORT),
        "function_definition": Role.FUNCTION,
        "class_definition": Role.CLASS,
    },
    blocks=frozenset({"module", "block"}),
    examine=_examine,
    examined=frozenset({"decorated_definition"}),
    recover=outline,
    isolated=False,  # no known input makes this parser hang without rereading the text, which is limited
)
