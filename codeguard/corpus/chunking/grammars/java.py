"""Java."""

from __future__ import annotations

from codeguard.corpus.chunking.base import Grammar, Role

GRAMMAR = Grammar(
    name="java",
    extensions=(".java",),
    wheel="tree-sitter-java",
    module="tree_sitter_java",
    roles={
        **dict.fromkeys(
            ("method_declaration", "constructor_declaration", "compact_constructor_declaration"),
            Role.FUNCTION,
        ),
        **dict.fromkeys(
            (
                "class_declaration",
                "interface_declaration",
                "enum_declaration",
                "record_declaration",
                "annotation_type_declaration",
            ),
            Role.CLASS,
        ),
        **dict.fromkeys(("enum_constant", "class_body", "enum_body_declarations"), Role.SCOPE),
        "import_declaration": Role.IMPORT,
    },
    blocks=frozenset(
        {"program", "block", "class_body", "interface_body", "enum_body", "constructor_body", "switch_block"}
    ),
    bodiless=frozenset({"method_declaration"}),
)
