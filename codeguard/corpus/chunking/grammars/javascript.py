"""JavaScript, with the helpers that TypeScript shares."""

from __future__ import annotations

from collections.abc import Mapping

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text

FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_BINDINGS = frozenset({"lexical_declaration", "variable_declaration"})
_MEMBERS = frozenset({"field_definition", "public_field_definition", "pair"})
_EXPORTS = frozenset({"module.exports", "exports", "this"})

ROLES = {
    "function_declaration": Role.FUNCTION,
    "generator_function_declaration": Role.FUNCTION,
    "method_definition": Role.FUNCTION,
    "class_declaration": Role.CLASS,
    "import_statement": Role.IMPORT,
    **dict.fromkeys(
        (
            "program",
            "class_body",
            "statement_block",
            "if_statement",
            "else_clause",
            "try_statement",
            "catch_clause",
            "finally_clause",
            "for_statement",
            "for_in_statement",
            "while_statement",
            "do_statement",
            "switch_statement",
            "switch_body",
            "switch_case",
            "switch_default",
            "labeled_statement",
            "with_statement",
        ),
        Role.SCOPE,
    ),
}
BLOCKS = frozenset({"program", "statement_block", "class_body", "switch_body", "object"})


def examine(node: Node, roles: Mapping[str, Role] = ROLES) -> NodeRole | None:
    """Find functions and classes behind `export`, a binding, an assignment or an immediate call."""
    kind = node.type
    if kind == "export_statement":
        return _exported(node, roles)
    if kind in _BINDINGS:
        return _bound(node)
    if kind in _MEMBERS:
        value = node.child_by_field_name("value")
        if value is None or value.type not in FUNCTION_VALUES:
            return None
        name = node_text(node.child_by_field_name("property") or node.child_by_field_name("key"))
        return NodeRole(Role.FUNCTION, name or name_field(node), value)
    if kind == "expression_statement" and node.named_child_count:
        return _expression(node)
    return None


def _exported(node: Node, roles: Mapping[str, Role]) -> NodeRole | None:
    if node.child_by_field_name("source") is not None:
        return NodeRole(Role.IMPORT)
    inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
    if inner is None:
        return None
    if inner.type in FUNCTION_VALUES:
        return NodeRole(Role.FUNCTION, name_field(inner) or "default", inner)
    if inner.type == "class":
        return NodeRole(Role.CLASS, name_field(inner) or "default", inner)
    found = examine(inner)
    if found is not None:
        return found
    role = roles.get(inner.type)
    return (
        NodeRole(role, name_field(inner), inner)
        if role in (Role.FUNCTION, Role.CLASS, Role.NAMESPACE)
        else None
    )


def _bound(node: Node) -> NodeRole | None:
    """`const f = () => …`, `var C = class { … }`, `const x = require("x")`; with one name only."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    values = [declarator.child_by_field_name("value") for declarator in declarators]
    if any(value is not None and _is_require(value) for value in values):
        return NodeRole(Role.IMPORT)
    if len(declarators) != 1 or values[0] is None:
        return None
    return _valued(name_field(declarators[0]), values[0])


def _expression(node: Node) -> NodeRole | None:
    inner = node.named_children[0]
    if inner.type == "assignment_expression":
        target, value = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        return None if value is None else _valued(node_text(target), value)
    body = _called(inner)
    return None if body is None else NodeRole(Role.SCOPE, "", body)


def _valued(name: str, value: Node) -> NodeRole | None:
    if value.type in FUNCTION_VALUES:
        return NodeRole(Role.FUNCTION, name, value)
    if value.type == "class":
        return NodeRole(Role.CLASS, name, value)
    if value.type == "object":
        return NodeRole(Role.NAMESPACE, "" if name in _EXPORTS else name, value)
    return None


def _called(node: Node) -> Node | None:
    """Return the body of the function that a call wraps around a module: its callee's, or an argument's."""
    body = _immediate(node)
    if body is not None or node.type != "call_expression":
        return body
    arguments = node.child_by_field_name("arguments")
    for argument in reversed(arguments.named_children if arguments is not None else []):
        if argument.type in FUNCTION_VALUES:
            return _block_of(argument)
    return None


def _block_of(function: Node) -> Node | None:
    body = function.child_by_field_name("body")
    return body if body is not None and body.type == "statement_block" else None


def _immediate(node: Node) -> Node | None:
    """Return the body of `(function () { … })()`, `!function () { … }()` and the like."""
    for _ in range(4):
        if node.type in FUNCTION_VALUES:
            return _block_of(node)
        if node.type == "call_expression":
            inner = node.child_by_field_name("function")
        elif node.type in ("unary_expression", "parenthesized_expression") and node.named_child_count:
            inner = node.child_by_field_name("argument") or node.named_children[0]
        else:
            return None
        if inner is None or inner.type == "member_expression":
            inner = None if inner is None else inner.child_by_field_name("object")
        if inner is None:
            return None
        node = inner
    return None


def _is_require(value: Node) -> bool:
    function = value.child_by_field_name("function") if value.type == "call_expression" else None
    return node_text(function) == "require" if function is not None else False


GRAMMAR = Grammar(
    name="javascript",
    extensions=(".js", ".mjs", ".cjs", ".jsx"),
    wheel="tree-sitter-javascript",
    module="tree_sitter_javascript",
    extra="",
    interpreters=("node", "nodejs", "deno", "bun"),
    roles=ROLES,
    blocks=BLOCKS,
    leading=frozenset({"decorator"}),
    examine=examine,
)
