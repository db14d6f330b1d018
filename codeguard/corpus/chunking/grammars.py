"""The languages: a row each, with the functions that find what a node's type alone does not tell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from tree_sitter import Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text
from codeguard.corpus.chunking.indentation import outline


def _roles(
    functions: str = "", classes: str = "", namespaces: str = "", scopes: str = "", imports: str = ""
) -> dict[str, Role]:
    """Return the roles of node types, which are given as words."""
    given = {
        Role.FUNCTION: functions,
        Role.CLASS: classes,
        Role.NAMESPACE: namespaces,
        Role.SCOPE: scopes,
        Role.IMPORT: imports,
    }
    return {kind: role for role, words in given.items() for kind in words.split()}


def _types(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _bash(node: Node) -> NodeRole | None:
    is_import = node.type == "command" and name_field(node) in ("source", ".")
    return NodeRole(Role.IMPORT) if is_import else None


_BASH = Grammar(
    name="bash",
    extensions=(".sh", ".bash"),
    wheel="tree-sitter-bash",
    interpreters=("bash", "sh", "dash", "ksh"),
    filenames=(".bashrc", ".bash_profile", ".profile"),
    roles=_roles(
        functions="function_definition",
        scopes="if_statement elif_clause else_clause for_statement while_statement do_group case_statement"
        " case_item compound_statement list",
    ),
    comment=(b"#",),
    examine=_bash,
)

_C_TYPES = _types("struct_specifier union_specifier enum_specifier class_specifier")
_TEMPLATE = re.compile(r"<[^<>]*>")


def _c(node: Node) -> NodeRole | None:
    """Find functions by their declarator, and types that are defined rather than only named."""
    if node.type == "function_definition":
        if node.child_by_field_name("body") is None:
            return None
        name = _declared(node)
        return NodeRole(Role.METHOD if "." in name else Role.FUNCTION, name)
    if node.type in _C_TYPES and node.child_by_field_name("body") is not None:
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
    return _TEMPLATE.sub("", name).replace("::", ".").strip(".") if "::" in name else name


_C = Grammar(
    name="c",
    extensions=(".c", ".h"),
    wheel="tree-sitter-c",
    roles=_roles(
        scopes="declaration_list linkage_specification preproc_if preproc_ifdef preproc_elif preproc_elifdef"
        " preproc_else",
        imports="preproc_include",
    ),
    examine=_c,
)


def _cpp(node: Node) -> NodeRole | None:
    if node.type == "namespace_definition":
        return NodeRole(Role.NAMESPACE, name_field(node).replace("::", "."))
    if node.type != "template_declaration":
        return _c(node)
    for child in node.named_children:
        if (found := _c(child)) is not None:
            return NodeRole(found.role, found.name, child)
    return None


_CPP = Grammar(
    name="cpp",
    extensions=(".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp", ".inl"),
    wheel="tree-sitter-cpp",
    # A field encloses a nested class; function bodies in between are examined first.
    roles={
        **_C.roles,
        **_roles(scopes="field_declaration field_declaration_list", imports="using_declaration"),
    },
    examine=_cpp,
)

_CSHARP_FUNCTIONS = (
    "method_declaration constructor_declaration destructor_declaration operator_declaration"
    " conversion_operator_declaration local_function_statement"
)
_OPERATOR_FIELD = {"operator_declaration": "operator", "conversion_operator_declaration": "type"}


def _csharp(node: Node) -> NodeRole | None:
    """Name operators, which have no name node: `operator +`, `operator int`."""
    field = _OPERATOR_FIELD.get(node.type)
    if field is None or node.child_by_field_name("body") is None:
        return None
    return NodeRole(Role.FUNCTION, f"operator {node_text(node.child_by_field_name(field))}")


_CSHARP = Grammar(
    name="csharp",
    extensions=(".cs", ".csx"),
    wheel="tree-sitter-c-sharp",
    roles=_roles(
        functions=_CSHARP_FUNCTIONS,
        classes="class_declaration struct_declaration interface_declaration record_declaration"
        " enum_declaration",
        namespaces="namespace_declaration",
        scopes="global_statement declaration_list preproc_if preproc_elif preproc_else",
        imports="using_directive extern_alias_directive",
    ),
    bodiless=_types(_CSHARP_FUNCTIONS),
    examine=_csharp,
)

# The type of `(s *Stack[T])`, the receiver of a method.
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")


def _go(node: Node) -> NodeRole | None:
    if node.type == "method_declaration":
        receiver = _RECEIVER.match(node_text(node.child_by_field_name("receiver")))
        owner = f"{receiver.group(1)}." if receiver else ""
        return NodeRole(Role.METHOD, owner + name_field(node))
    if node.type == "type_declaration":
        specs = [child for child in node.named_children if child.type == "type_spec"]
        return NodeRole(Role.CLASS, name_field(specs[0])) if len(specs) == 1 else None
    return None


_GO = Grammar(
    name="go",
    extensions=(".go",),
    wheel="tree-sitter-go",
    roles=_roles(functions="function_declaration", imports="import_declaration"),
    examine=_go,
)

_JAVA = Grammar(
    name="java",
    extensions=(".java",),
    wheel="tree-sitter-java",
    roles=_roles(
        functions="method_declaration constructor_declaration compact_constructor_declaration",
        classes="class_declaration interface_declaration enum_declaration record_declaration"
        " annotation_type_declaration",
        scopes="enum_constant class_body enum_body_declarations",
        imports="import_declaration",
    ),
    bodiless=_types("method_declaration"),
)

_FUNCTION_VALUES = _types("arrow_function function_expression generator_function function")
_BINDINGS = _types("lexical_declaration variable_declaration")
_MEMBERS = _types("field_definition public_field_definition pair")
_EXPORTS = _types("module.exports exports this")
_JAVASCRIPT_ROLES = _roles(
    functions="function_declaration generator_function_declaration method_definition",
    classes="class_declaration",
    scopes="program class_body statement_block if_statement else_clause try_statement catch_clause"
    " finally_clause for_statement for_in_statement while_statement do_statement switch_statement switch_body"
    " switch_case switch_default labeled_statement with_statement",
    imports="import_statement",
)


def _javascript(node: Node, roles: Mapping[str, Role] = _JAVASCRIPT_ROLES) -> NodeRole | None:
    """Find functions and classes behind `export`, a binding, an assignment or an immediate call."""
    kind = node.type
    if kind == "export_statement":
        return _exported(node, roles)
    if kind in _BINDINGS:
        return _bound(node)
    if kind in _MEMBERS:
        value = node.child_by_field_name("value")
        if value is None or value.type not in _FUNCTION_VALUES:
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
    if inner.type in _FUNCTION_VALUES or inner.type == "class":
        return _valued(name_field(inner) or "default", inner)
    found = _javascript(inner)
    if found is not None:
        return found
    role = roles.get(inner.type)
    is_named = role in (Role.FUNCTION, Role.CLASS, Role.NAMESPACE)
    return NodeRole(role, name_field(inner), inner) if role is not None and is_named else None


def _bound(node: Node) -> NodeRole | None:
    """`const f = () => …`, `var C = class { … }`, `const x = require("x")`; with one name only."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    values = [declarator.child_by_field_name("value") for declarator in declarators]
    calls = [value for value in values if value is not None and value.type == "call_expression"]
    if any(node_text(call.child_by_field_name("function")) == "require" for call in calls):
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
    if value.type in _FUNCTION_VALUES:
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
        if argument.type in _FUNCTION_VALUES:
            return _block_of(argument)
    return None


def _block_of(function: Node) -> Node | None:
    body = function.child_by_field_name("body")
    return body if body is not None and body.type == "statement_block" else None


def _immediate(node: Node) -> Node | None:
    """Return the body of `(function () { … })()`, `!function () { … }()` and the like."""
    for _ in range(4):
        if node.type in _FUNCTION_VALUES:
            return _block_of(node)
        if node.type == "call_expression":
            inner = node.child_by_field_name("function")
        elif node.type in ("unary_expression", "parenthesized_expression") and node.named_child_count:
            inner = node.child_by_field_name("argument") or node.named_children[0]
        else:
            return None
        if inner is not None and inner.type == "member_expression":
            inner = inner.child_by_field_name("object")
        if inner is None:
            return None
        node = inner
    return None


_JAVASCRIPT = Grammar(
    name="javascript",
    extensions=(".js", ".mjs", ".cjs", ".jsx"),
    wheel="tree-sitter-javascript",
    extra="",
    interpreters=("node", "nodejs", "deno", "bun"),
    roles=_JAVASCRIPT_ROLES,
    leading=_types("decorator"),
    examine=_javascript,
)
_TYPESCRIPT_ROLES = {
    **_JAVASCRIPT_ROLES,
    **_roles(
        classes="abstract_class_declaration interface_declaration",
        namespaces="internal_module module",
        scopes="ambient_declaration",
    ),
}


def _typescript(node: Node) -> NodeRole | None:
    if node.type == "expression_statement":
        inner = node.named_child(0)
        if inner is not None and inner.type == "internal_module":
            return NodeRole(Role.NAMESPACE, name_field(inner), inner)
    return _javascript(node, _TYPESCRIPT_ROLES)


_TYPESCRIPT = dataclasses.replace(
    _JAVASCRIPT,
    name="typescript",
    extensions=(".ts", ".mts", ".cts"),
    wheel="tree-sitter-typescript",
    entry="language_typescript",
    extra="languages",
    interpreters=("ts-node", "tsx"),
    roles=_TYPESCRIPT_ROLES,
    examine=_typescript,
)
_TSX = dataclasses.replace(  # a grammar of its own in the same wheel
    _TYPESCRIPT, name="tsx", extensions=(".tsx",), entry="language_tsx", interpreters=()
)

_INCLUDES = _types("require_expression require_once_expression include_expression include_once_expression")


def _php(node: Node) -> NodeRole | None:
    inner = node.named_child(0) if node.type == "expression_statement" else None
    return NodeRole(Role.IMPORT) if inner is not None and inner.type in _INCLUDES else None


_PHP = Grammar(
    name="php",
    extensions=(".php", ".phtml"),
    wheel="tree-sitter-php",
    entry="language_php",
    interpreters=("php",),
    roles=_roles(
        functions="function_definition method_declaration",
        classes="class_declaration trait_declaration interface_declaration enum_declaration",
        namespaces="namespace_definition",
        scopes="compound_statement if_statement else_clause else_if_clause colon_block",
        imports="namespace_use_declaration",
    ),
    bodiless=_types("method_declaration"),
    comment=(b"//", b"/*", b"*", b"#"),
    examine=_php,
)


def _python(node: Node) -> NodeRole | None:
    inner = node.child_by_field_name("definition")
    if inner is None:
        return None
    return NodeRole(Role.CLASS if inner.type == "class_definition" else Role.FUNCTION, None, inner)


_PYTHON = Grammar(
    name="python",
    extensions=(".py", ".pyi", ".pyw"),
    wheel="tree-sitter-python",
    extra="",
    interpreters=("python", "pypy"),
    filenames=("SConstruct", "SConscript", "wscript"),
    comment=(b"#",),
    roles=_roles(
        functions="function_definition",
        classes="class_definition",
        scopes="module block if_statement elif_clause else_clause try_statement except_clause finally_clause"
        " with_statement for_statement while_statement match_statement case_clause",
        imports="import_statement import_from_statement future_import_statement",
    ),
    examine=_python,
    examined=_types("decorated_definition"),
    recover=outline,
    isolated=False,  # no known input makes this parser hang without rereading the text, which is limited
)


def _ruby(node: Node) -> NodeRole | None:
    if node.type in ("class", "module") and node.is_named:
        return NodeRole(Role.CLASS, name_field(node).replace("::", "."))
    if node.type != "call":
        return None
    method = node_text(node.child_by_field_name("method"))
    if method in ("require", "require_relative", "load") and node.child_by_field_name("receiver") is None:
        return NodeRole(Role.IMPORT)
    arguments = node.child_by_field_name("arguments")
    for argument in [] if arguments is None else arguments.named_children:  # `private def secret …`
        if argument.type in ("method", "singleton_method"):
            return NodeRole(Role.FUNCTION, name_field(argument), argument)
    return None


_RUBY = Grammar(
    name="ruby",
    extensions=(".rb", ".rake", ".gemspec"),
    wheel="tree-sitter-ruby",
    interpreters=("ruby", "jruby"),
    filenames=("Rakefile", "Gemfile"),
    roles=_roles(
        functions="method singleton_method",
        scopes="singleton_class body_statement if unless then else elsif begin rescue ensure while do",
    ),
    comment=(b"#",),
    examine=_ruby,
)

_GENERICS = re.compile(r"<.*", re.DOTALL)


def _rust(node: Node) -> NodeRole | None:
    """Qualify the methods of `impl Display for Stack<T>` with the name of the type."""
    if node.type != "impl_item":
        return None
    name = _GENERICS.sub("", node_text(node.child_by_field_name("type"))).strip("&").strip()
    return NodeRole(Role.CLASS, name)


_RUST = Grammar(
    name="rust",
    extensions=(".rs",),
    wheel="tree-sitter-rust",
    roles=_roles(
        functions="function_item macro_definition",
        classes="struct_item enum_item union_item trait_item",
        namespaces="mod_item",
        imports="use_declaration extern_crate_declaration",
    ),
    leading=_types("attribute_item"),
    examine=_rust,
)

GRAMMARS = (
    _BASH, _C, _CPP, _CSHARP, _GO, _JAVA, _JAVASCRIPT, _PHP, _PYTHON, _RUBY, _RUST, _TSX, _TYPESCRIPT,
)  # fmt: skip
