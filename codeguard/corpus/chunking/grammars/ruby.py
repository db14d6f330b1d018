"""Ruby."""

from __future__ import annotations

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text

_REQUIRES = frozenset({"require", "require_relative", "load"})


def _examine(node: Node) -> NodeRole | None:
    if node.type in ("class", "module") and node.is_named:
        return NodeRole(Role.CLASS, name_field(node).replace("::", "."))
    if node.type != "call":
        return None
    method = node_text(node.child_by_field_name("method"))
    if method in _REQUIRES and node.child_by_field_name("receiver") is None:
        return NodeRole(Role.IMPORT)
    arguments = node.child_by_field_name("arguments")
    if arguments is not None:  # `private def secret …`
        for argument in arguments.named_children:
            if argument.type in ("method", "singleton_method"):
                return NodeRole(Role.FUNCTION, name_field(argument), argument)
    return None


GRAMMAR = Grammar(
    name="ruby",
    extensions=(".rb", ".rake", ".gemspec"),
    wheel="tree-sitter-ruby",
    module="tree_sitter_ruby",
    interpreters=("ruby", "jruby"),
    filenames=("Rakefile", "Gemfile"),
    roles={
        **dict.fromkeys(("method", "singleton_method"), Role.FUNCTION),
        **dict.fromkeys(
            (
                "singleton_class",
                "body_statement",
                "if",
                "unless",
                "then",
                "else",
                "elsif",
                "begin",
                "rescue",
                "ensure",
                "while",
                "do",
            ),
            Role.SCOPE,
        ),
    },
    blocks=frozenset({"program", "body_statement", "block_body", "then", "else", "do"}),
    comment=(b"#",),
    examine=_examine,
)
