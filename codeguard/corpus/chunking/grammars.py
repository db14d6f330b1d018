"""The languages: a row each in `grammars.toml`, what a node's type alone does not tell, and how a file's is found."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

from tree_sitter import Language, Node

from codeguard.corpus.chunking.base import Grammar, NodeRole, Role, name_field, node_text
from codeguard.corpus.chunking.indentation import outline
from codeguard.models import SourceFile


def _bash(node: Node) -> NodeRole | None:
    is_import = node.type == "command" and name_field(node) in ("source", ".")
    return NodeRole(Role.IMPORT) if is_import else None


_C_TYPES = frozenset({"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"})
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


def _cpp(node: Node) -> NodeRole | None:
    if node.type == "namespace_definition":
        return NodeRole(Role.NAMESPACE, name_field(node).replace("::", "."))
    if node.type != "template_declaration":
        return _c(node)
    for child in node.named_children:
        if (found := _c(child)) is not None:
            return NodeRole(found.role, found.name, child)
    return None


_OPERATOR_FIELD = {"operator_declaration": "operator", "conversion_operator_declaration": "type"}


def _csharp(node: Node) -> NodeRole | None:
    """Name operators, which have no name node: `operator +`, `operator int`."""
    field = _OPERATOR_FIELD.get(node.type)
    if field is None or node.child_by_field_name("body") is None:
        return None
    return NodeRole(Role.FUNCTION, f"operator {node_text(node.child_by_field_name(field))}")


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


_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_BINDINGS = frozenset({"lexical_declaration", "variable_declaration"})
_MEMBERS = frozenset({"field_definition", "public_field_definition", "pair"})
_EXPORTS = frozenset({"module.exports", "exports", "this"})


def _javascript(node: Node) -> NodeRole | None:
    """Find functions and classes behind `export`, a binding, an assignment or an immediate call."""
    kind = node.type
    if kind == "export_statement":
        return _exported(node)
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


def _exported(node: Node) -> NodeRole | None:
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
    role = _ROLES["typescript"].get(inner.type)  # which has all of JavaScript's
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


def _typescript(node: Node) -> NodeRole | None:
    if node.type == "expression_statement":
        inner = node.named_child(0)
        if inner is not None and inner.type == "internal_module":
            return NodeRole(Role.NAMESPACE, name_field(inner), inner)
    return _javascript(node)


_INCLUDES = frozenset(
    {"require_expression", "require_once_expression", "include_expression", "include_once_expression"}
)


def _php(node: Node) -> NodeRole | None:
    inner = node.named_child(0) if node.type == "expression_statement" else None
    return NodeRole(Role.IMPORT) if inner is not None and inner.type in _INCLUDES else None


def _python(node: Node) -> NodeRole | None:
    inner = node.child_by_field_name("definition")
    if inner is None:
        return None
    return NodeRole(Role.CLASS if inner.type == "class_definition" else Role.FUNCTION, None, inner)


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


_GENERICS = re.compile(r"<.*", re.DOTALL)


def _rust(node: Node) -> NodeRole | None:
    """Qualify the methods of `impl Display for Stack<T>` with the name of the type."""
    if node.type != "impl_item":
        return None
    name = _GENERICS.sub("", node_text(node.child_by_field_name("type"))).strip("&").strip()
    return NodeRole(Role.CLASS, name)


_EXAMINE = {
    "bash": _bash,
    "c": _c,
    "cpp": _cpp,
    "csharp": _csharp,
    "go": _go,
    "javascript": _javascript,
    "php": _php,
    "python": _python,
    "ruby": _ruby,
    "rust": _rust,
    "tsx": _typescript,
    "typescript": _typescript,
}
_WORDS = ("extensions", "interpreters", "filenames")
_TYPES = ("bodiless", "leading", "examined")
_ROLE_KEYS = {
    "functions": Role.FUNCTION,
    "classes": Role.CLASS,
    "namespaces": Role.NAMESPACE,
    "scopes": Role.SCOPE,
    "imports": Role.IMPORT,
}


def _whole(name: str) -> dict[str, Any]:
    """Return a row with what it takes from another one; node types become roles."""
    row = dict(_TABLE[name])
    base = _whole(row.pop("like")) if "like" in row else {"roles": {}}
    own = {kind: role for key, role in _ROLE_KEYS.items() for kind in row.pop(key, "").split()}
    return {**base, **row, "roles": {**base["roles"], **own}}


def _grammar(name: str) -> Grammar:
    row = {"wheel": f"tree-sitter-{name}", **_whole(name)}
    given: dict[str, Any] = {key: tuple(row.pop(key, "").split()) for key in _WORDS}
    given |= {key: frozenset(row.pop(key).split()) for key in _TYPES if key in row}
    if "comment" in row:
        given["comment"] = tuple(row.pop("comment").encode().split())
    if name in _EXAMINE:
        given["examine"] = _EXAMINE[name]
    return Grammar(name, recover=outline if name == "python" else None, **given, **row)


_TABLE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ROLES: dict[str, dict[str, Role]] = {name: _whole(name)["roles"] for name in _TABLE}
GRAMMARS = tuple(map(_grammar, sorted(_TABLE)))


GAVE_UP = "gave up on it"  # part of the note about such a file
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")
_loaded: dict[str, Language] = {}


def languages() -> tuple[Grammar, ...]:
    """Return every known language, by name."""
    return GRAMMARS


def load_grammar(grammar: Grammar) -> Language | None:
    """Return the tree-sitter language, or None if its wheel is missing or cannot be loaded.

    Only successes are cached: a worker that once ran out of memory tries again.
    """
    if grammar.name not in _loaded:
        try:
            module = importlib.import_module(grammar.module)
            _loaded[grammar.name] = Language(getattr(module, grammar.entry)())
        except ImportError:
            return None
    return _loaded[grammar.name]


def by_name(name: str) -> Grammar | None:
    """Return the language of that name, or of that file extension without its dot (`py`), in any case."""
    wanted = name.lower()
    found = (item for item in languages() if wanted == item.name or f".{wanted}" in item.extensions)
    return next(found, None)


def suffix_of(name: str) -> str:
    """Return the extension of a file's name in lower case, with its dot, or ""."""
    base = name.rpartition("/")[2]
    return base[base.rfind(".") :].lower() if base.rfind(".") > 0 else ""


def language_of_file(name: str, data: bytes) -> Grammar | None:
    """Return the language of a file by its name, its extension, or its `#!` line."""
    base, suffix = name.rpartition("/")[2], suffix_of(name)
    for grammar in languages():
        if suffix in grammar.extensions or base in grammar.filenames:
            return grammar
    match = None if suffix else _SHEBANG.match(data[:200])
    interpreter = "" if match is None else match.group(1).decode().lower()
    return next((item for item in languages() if interpreter in item.interpreters), None)


def gave_up(file: SourceFile) -> bool:
    """Return whether the parser gave up on a file, which is then cut by lines or indentation."""
    return uncut(file) or any(GAVE_UP in note for note in file.notes)


def uncut(file: SourceFile) -> bool:
    """Return whether a file is cut by lines although its language has a grammar."""
    if file.parsed or not file.text:
        return False
    grammar = by_name(file.language)
    return grammar is not None and grammar.installed
