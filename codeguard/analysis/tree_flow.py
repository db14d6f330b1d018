"""Taint in JavaScript, Go, Java, Rust, Ruby and PHP files, by syntax tree.

It works like `codeguard.analysis.python.taint`, with the same labels: a variable that is ever
assigned something labelled has that label in its whole function and in nested functions. What
library functions do is defined in `tree_flow.toml`, the node types of each grammar in the tables
below. The result is a lower bound, computed in a limited number of rounds, each linear in the size
of the file.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.analysis.python.capabilities import SECRET_PLACE, STARTUP_PLACE
from codeguard.analysis.python.taint import (
    BLOB,
    DECODED,
    DROPPED,
    ENVIRONMENT,
    FETCHED,
    FILE,
    HOST,
    SECRET,
    SECRET_NAME,
    STARTUP_NAME,
    Labels,
    labels_of_variable,
)
from codeguard.analysis.reading import Reading
from codeguard.corpus.chunking import registry
from codeguard.corpus.chunking.parsing import syntax_root
from codeguard.corpus.patterns import lazy

CONNECTION, PROCESS = "connection", "process"
ROUNDS = 8
DEEPEST = 60
LARGEST = 400_000  # maximum bytes of a file to analyse
_TOO_LARGE = f"taint was not tracked in a file of more than {LARGEST:,} bytes"
_NOTHING: Labels = frozenset()
_FOREIGN = frozenset({FETCHED, BLOB})
_LANGUAGES = {"typescript": "javascript", "tsx": "javascript"}

CALLS = {
    "call_expression": ("function", "arguments"), "new_expression": ("constructor", "arguments"),
    "method_invocation": ("name", "arguments"), "object_creation_expression": ("type", "arguments"),
    "call": ("method", "arguments"), "function_call_expression": ("function", "arguments"),
    "member_call_expression": ("name", "arguments"), "scoped_call_expression": ("name", "arguments"),
    "macro_invocation": ("macro", ""),
}  # fmt: skip
_OWNERS = (
    "object",
    "receiver",
    "scope",
)  # fields with the object of a call whose function field is only a name
MEMBERS = {
    "member_expression": ("object", "property"), "selector_expression": ("operand", "field"),
    "field_access": ("object", "field"), "field_expression": ("value", "field"),
    "scoped_identifier": ("path", "name"), "scope_resolution": ("scope", "name"),
    "member_access_expression": ("object", "name"), "subscript_expression": ("object", "index"),
    "index_expression": ("operand", "index"), "element_reference": ("object", ""),
}  # fmt: skip
ASSIGNS = {
    "variable_declarator": ("name", "value"), "assignment_expression": ("left", "right"),
    "augmented_assignment_expression": ("left", "right"), "short_var_declaration": ("left", "right"),
    "assignment_statement": ("left", "right"), "var_spec": ("name", "value"), "range_clause": ("left", "right"),
    "let_declaration": ("pattern", "value"), "assignment": ("left", "right"), "resource": ("name", "value"),
    "for_in_statement": ("left", "right"), "operator_assignment": ("left", "right"),
    "enhanced_for_statement": ("name", "value"), "for_expression": ("pattern", "value"),
}  # fmt: skip
FUNCTIONS = frozenset(
    """
    function_declaration function_expression arrow_function method_definition generator_function func_literal
    generator_function_declaration method_declaration lambda_expression function_item closure_expression method
    anonymous_function block do_block lambda function_definition constructor_declaration
    """.split()  # noqa: SIM905 - words read better as words
) - {"block"}
IDENTIFIERS = frozenset(
    """
    identifier shorthand_property_identifier shorthand_property_identifier_pattern constant variable_name
    property_identifier field_identifier type_identifier name package_identifier private_property_identifier
    global_variable
    """.split()  # noqa: SIM905 - words read better as words
)
STRINGS = frozenset(
    """
    string template_string interpreted_string_literal raw_string_literal string_literal encapsed_string heredoc_body
    """.split()  # noqa: SIM905 - words read better as words
)
_PIECES = frozenset(
    """
    string_fragment string_content interpreted_string_literal_content raw_string_literal_content escape_sequence
    """.split()  # noqa: SIM905 - words read better as words
)
_WRAPPERS = frozenset(
    """
    parenthesized_expression await_expression sequence_expression as_expression non_null_expression try_expression
    reference_expression unary_expression satisfies_expression pointer_expression error_suppression_expression argument
    expression_list
    """.split()  # noqa: SIM905 - words read better as words
)  # nodes around the one expression that counts
_SHELLS = frozenset({"subshell", "shell_command_expression"})
_STEPS = _SHELLS | {"return_statement", "arrow_function", "lambda_expression"}
_QUICK = {
    "javascript": lazy(
        r"child_process|execa|shelljs|\beval\b|\bFunction\b|\bvm\b|_compile|constructor|\bfetch\b|axios|https?\b"
        r"|\bgot\b|request|\bdns\b|sendBeacon|\bnet\b|WebSocket|\bws\b|\bImage\b|writeFile|appendFile|copyFile"
        r"|\.rmSync|XMLHttp|require\s*\(\s*[^'\"\s)]"
    ),
}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL
)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}
_PLACEHOLDER = re.compile(r"\{(\w+)[^{}]*\}")


@dataclass(frozen=True, slots=True)
class TreeArrival:
    """Labelled data at a call that sends, runs or writes it; `start` and `end` are character offsets.

    `text` is the literal part of a command; `hidden` means that the called name is composed at run
    time.
    """

    start: int
    end: int
    name: str
    what: str  # "send", "code", "command", "load", "write", "joins" or "destroy"
    labels: Labels
    text: str = ""
    hidden: bool = False


@dataclass(slots=True, eq=False)
class _Node:
    """A named node of a syntax tree."""

    type: str
    start: int
    end: int
    parent: _Node | None
    role: str = ""  # its field in the parent
    children: list[_Node] = field(default_factory=list)
    text: str = ""  # text of leaves

    def at(self, name: str) -> _Node | None:
        """Return the child in a field."""
        return next((child for child in self.children if child.role == name), None)


@dataclass(slots=True, eq=False)
class _Scope:
    node: _Node
    outer: _Scope | None
    variables: dict[str, set[str]] = field(default_factory=dict)
    aliases: dict[str, list[_Node | str]] = field(
        default_factory=dict
    )  # name to the nodes or names it is bound to
    parameters: list[str] = field(default_factory=list)
    returned: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Table:
    """What a language's library functions do: their names by use, with the relevant argument if needed."""

    uses: Mapping[str, Mapping[str, str]]
    prefix: str

    def has(self, use: str, name: str) -> bool:
        """Return whether a dotted name belongs to a use, by its last parts."""
        return self.of(use, name) is not None

    def of(self, use: str, name: str) -> str | None:
        """Return the table's entry for a dotted name in a use, or None."""
        known = self.uses.get(use, {})
        parts = name.split(".")
        for count in range(min(4, len(parts)), 0, -1):
            found = known.get(".".join(parts[-count:]))
            if found is not None and (
                count > 1 or len(parts) == 1 or parts[0] in ("window", "globalThis", "self")
            ):
                return found
        return None


@cache
def _table(language: str) -> _Table | None:
    stored: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = stored.get(language)
    if rows is None:
        return None
    uses: dict[str, dict[str, str]] = {}
    for use, names in rows.items():
        if use == "host":
            uses["host"] = {name: kind for kind, listed in names.items() for name in listed.split()}
        elif use == "constants":
            uses[use] = dict(item.split("=") for item in names.split())
        elif use != "modules":
            parted = (name.partition(":") for name in names.split())
            uses[use] = {name: number for name, _, number in parted}
    return _Table(uses, rows.get("modules", ""))


def tree_arrivals(reading: Reading) -> tuple[TreeArrival, ...]:
    """Return the arrivals in a file; empty if its language has no table or its grammar is not installed."""
    language = _LANGUAGES.get(reading.language, reading.language)
    table = _table(language)
    quick = _QUICK.get(language)
    if table is None or (quick is not None and not quick.search(reading.text)):
        return ()
    grammar = registry.by_name(reading.language)
    loaded = registry.load_grammar(grammar) if grammar is not None else None
    if loaded is None and language == "javascript":
        javascript = registry.by_name("javascript")
        loaded = registry.load_grammar(javascript) if javascript is not None else None
    if loaded is None:
        return ()
    source = reading.text.encode("utf-8", "replace")
    if len(source) > LARGEST:
        reading.unread.note(_TOO_LARGE)
        return ()
    root = syntax_root(loaded, source)
    if root is None:
        reading.unread.note("taint was not tracked: parsing the file exceeded a limit")
        return ()
    return tuple(_Flow(reading, _light(root, source, reading.text), table, language).run())


def _light(root: Any, source: bytes, text: str) -> list[_Node]:
    """Return the named nodes of a tree in the order of the text, with character offsets."""
    places: list[int] | None = None
    if not text.isascii():
        places = [0] * (len(source) + 1)
        at = 0
        for index, char in enumerate(text):
            width = len(char.encode("utf-8", "replace"))
            places[at : at + width] = [index] * width
            at += width
        places[at:] = [len(text)] * (len(source) + 1 - at)
    found: list[_Node] = []
    cursor = root.walk()
    stack: list[_Node] = []
    while True:
        node = cursor.node
        start, end = node.start_byte, node.end_byte
        if places is not None:
            start, end = places[start], places[end]
        made = _Node(node.type, start, end, stack[-1] if stack else None, cursor.field_name or "")
        if node.is_named or not stack:
            found.append(made)
            if stack:
                stack[-1].children.append(made)
            if cursor.goto_first_child():
                stack.append(made)
                continue
            made.text = text[start:end]
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
            stack.pop()
            if not stack:
                return found


class _Flow:
    """The arrivals of one file."""

    def __init__(self, reading: Reading, nodes: list[_Node], table: _Table, language: str) -> None:
        self._text = reading.text
        self._nodes = nodes
        self._table = table
        self._language = language
        self._unread = reading.unread
        self._module = _Scope(nodes[0], None)
        self._scopes: dict[_Node, _Scope] = {nodes[0]: self._module}
        self._owner: dict[_Node, _Scope] = {}
        self._functions: dict[str, _Scope] = {}
        self._opened: dict[tuple[_Scope, str], _Node] = {}
        self._dropped: set[str] = set()
        self._found: dict[tuple[int, str], TreeArrival] = {}
        self._names: dict[_Node, tuple[str, bool]] = {}
        self._folded: dict[_Node, str | None] = {}
        self._work: list[_Node] = []

    def run(self) -> Iterator[TreeArrival]:
        """Yield the arrivals in the order of the text."""
        self._divide()
        for _ in range(ROUNDS):
            before = self._size()
            for node in self._work:
                self._step(node)
            if self._size() == before:
                break
        yield from sorted(self._found.values(), key=lambda item: (item.start, item.what))

    def _size(self) -> int:
        return (
            sum(len(labels) for scope in self._scopes.values() for labels in scope.variables.values())
            + sum(len(scope.returned) for scope in self._scopes.values())
            + len(self._dropped)
            + sum(len(item.labels) for item in self._found.values())
        )

    def _divide(self) -> None:
        """Find the scopes and the bindings of their names."""
        for node in self._nodes:
            around = self._module if node.parent is None else self._owner[node.parent]
            if node.type in FUNCTIONS and node.parent is not None:
                made = _Scope(node, around)
                self._scopes[node] = made
                name = node.at("name")
                if name is not None:
                    self._functions.setdefault(name.text, made)
                elif node.parent.type in ASSIGNS and (target := node.parent.at("name")) is not None:
                    self._functions.setdefault(target.text, made)
                for place in ("parameters", "parameter"):
                    listed = node.at(place)
                    for item in self._targets(listed) if listed is not None else ():
                        made.parameters.append(item)
                        made.variables.setdefault(item, set())
                around = made
            self._owner[node] = around
            self._bind(node, around)
            if node.type in _STEPS or node.type in CALLS or node.type in ASSIGNS:
                self._work.append(node)

    def _bind(self, node: _Node, scope: _Scope) -> None:
        if node.type in ("import_specifier", "namespace_import", "import_clause", "import_spec"):
            self._import(node, scope)
            return
        fields = ASSIGNS.get(node.type)
        if fields is None:
            return
        target, value = node.at(fields[0]), node.at(fields[1])
        if target is None or value is None:
            return
        if node.type in (
            "variable_declarator",
            "short_var_declaration",
            "let_declaration",
            "resource",
            "var_spec",
        ):
            for name in self._targets(target):
                scope.variables.setdefault(name, set())  # shadows the name in outer scopes
        if target.type in IDENTIFIERS:
            scope.aliases.setdefault(target.text, []).append(value)
        elif target.type == "object_pattern":
            for item in target.children:
                if item.type == "shorthand_property_identifier_pattern":
                    self._member_of(scope, item.text, value, item.text)
                elif item.type == "pair_pattern" and len(item.children) == 2:
                    self._member_of(scope, item.children[1].text, value, item.children[0].text)
        elif target.type == "expression_list" and value.type == "expression_list":
            for index, item in enumerate(target.children):
                given = value.children[min(index, len(value.children) - 1)]
                # In `value, err := call()` only the first name is the call's result.
                if item.type in IDENTIFIERS and (index == 0 or len(value.children) > 1):
                    scope.aliases.setdefault(item.text, []).append(given)

    def _member_of(self, scope: _Scope, name: str, value: _Node, member: str) -> None:
        made = _Node("member_expression", value.start, value.end, value.parent)
        held = _Node("property_identifier", value.start, value.end, made, "property", text=member)
        made.children = [value, held]
        self._owner[made] = self._owner[held] = scope
        scope.aliases.setdefault(name, []).append(made)

    def _import(self, node: _Node, scope: _Scope) -> None:
        at: _Node | None = node
        while at is not None and at.at("source") is None and at.at("path") is None:
            at = at.parent
        if at is None:
            return
        module = self._fold(at.at("source") or at.at("path")) or ""
        module = (
            module.removeprefix(self._table.prefix).replace("/", ".")
            if self._language != "go"
            else module.rpartition("/")[2]
        )
        if node.type == "import_specifier" and node.children:
            name = node.children[0].text
            alias = node.at("alias") or node.children[0]
            scope.aliases.setdefault(alias.text, []).append(f"{module}.{name}")
        elif node.type == "import_spec":
            alias_node = node.at("name")
            scope.aliases.setdefault(alias_node.text if alias_node else module, []).append(module)
        else:
            for child in node.children:
                if child.type == "identifier":
                    scope.aliases.setdefault(child.text, []).append(module)

    def _targets(self, node: _Node) -> Iterator[str]:
        """Yield the names that a pattern binds."""
        if node.type in IDENTIFIERS:
            yield node.text or self._text[node.start : node.end]
            return
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at.type == "variable_name":
                yield self._text[at.start : at.end]
            elif at.type in IDENTIFIERS and at.role not in ("type", "key", "right", "value"):
                yield at.text
            elif at.type in MEMBERS:
                waiting += at.children[:1]
            elif at.role != "type":
                waiting += at.children

    # Names

    def _name(self, node: _Node | None, depth: int = 0) -> tuple[str, bool]:
        """Return the dotted name of an expression, and whether a part of it is composed from texts."""
        if node is None or depth > 12:
            return "", False
        known = self._names.get(node)
        if known is not None:
            return known
        self._names[node] = ("", False)  # ends for a name that is bound to itself
        found = self._named(node, depth)
        self._names[node] = found
        return found

    def _named(self, node: _Node, depth: int) -> tuple[str, bool]:
        if node.type == "variable_name":
            return self._text[node.start : node.end].lstrip("$"), False
        if node.type in IDENTIFIERS:
            scope: _Scope | None = self._owner.get(node, self._module)
            while scope is not None:
                bound = scope.aliases.get(node.text)
                if bound:
                    for item in bound:
                        name, hidden = (item, False) if isinstance(item, str) else self._name(item, depth + 1)
                        if name:
                            return name, hidden
                    return node.text, False
                if node.text in scope.variables:  # a local variable, not the name in an outer scope
                    return node.text, False
                scope = scope.outer
            return node.text, False
        if node.type in MEMBERS:
            owner, part = MEMBERS[node.type]
            base, hidden = self._name(
                node.at(owner) or (node.children[0] if node.children else None), depth + 1
            )
            member = node.at(part) if part else None
            if member is None:
                return base, hidden
            if member.type in IDENTIFIERS and node.type not in ("subscript_expression", "index_expression"):
                said = member.text
            else:
                said = self._fold(member) or ""
                # `process["env"]` is plain; `process["e" + "nv"]` is obfuscated.
                hidden = hidden or (bool(said) and member.type not in STRINGS)
            return (f"{base}.{said}" if base and said else said or base), hidden
        if node.type in CALLS:
            return self._name_of_call(node, depth)
        if node.type in _WRAPPERS and node.children:
            first = node.type.startswith(("as_", "satisfies"))
            return self._name(node.children[0 if first else -1], depth + 1)
        return "", False

    def _name_of_call(self, node: _Node, depth: int) -> tuple[str, bool]:
        """Return the name of a call's result: the module of a `require`, or else the function's name."""
        name, hidden = self._called(node, depth)
        first = self._arguments(node)[:1]
        if name in ("require", "import") and first:
            said = self._fold(first[0])
            return (said.removeprefix(self._table.prefix).replace("/", ".") if said else ""), hidden or first[
                0
            ].type not in STRINGS
        if self._table.has("wraps", name) and first:
            return self._name(first[0], depth + 1)
        return name, hidden

    def _called(self, node: _Node, depth: int = 0) -> tuple[str, bool]:
        function = node.at(CALLS[node.type][0])
        if function is None and node.children:
            function = node.children[0]
        owner = next((found for place in _OWNERS if (found := node.at(place)) is not None), None)
        if function is not None and function.type == "import":
            return "import", False
        if owner is not None and function is not None:
            base, hidden = self._name(owner, depth + 1)
            return (f"{base}.{function.text}" if base else function.text), hidden
        name, hidden = self._name(function, depth + 1)
        return (f"{name}!" if node.type == "macro_invocation" else name), hidden

    def _arguments(self, node: _Node) -> list[_Node]:
        listed = node.at(CALLS[node.type][1]) if CALLS[node.type][1] else None
        found = listed.children if listed is not None else []
        return [
            item.children[-1] if item.type == "argument" and item.children else item
            for item in found
            if item.type != "comment"
        ]

    # Texts

    def _fold(self, node: _Node | None, depth: int = 0) -> str | None:
        """Return the text of a constant expression, or None."""
        if node is None or depth > 20:
            return None
        if node in self._folded:
            return self._folded[node]
        self._folded[node] = None
        found = self._text_of(node, depth + 1)
        self._folded[node] = found if found is None or len(found) <= 100_000 else None
        return self._folded[node]

    def _text_of(self, node: _Node, depth: int) -> str | None:
        if node.type in STRINGS:
            if not all(child.type in _PIECES for child in node.children):
                return None
            raw = self._text[node.start : node.end]
            raw = raw.strip("`\"'") if node.children or len(raw) < 3 else raw[1:-1]
            return _ESCAPE.sub(_unescaped, raw) if node.type != "raw_string_literal" else raw
        if node.type in ("binary_expression", "binary"):
            left, right = self._fold(node.at("left"), depth), self._fold(node.at("right"), depth)
            between = self._text[node.children[0].end : node.children[-1].start] if node.children else ""
            return (
                left + right
                if left is not None and right is not None and between.strip() in ("+", ".")
                else None
            )
        if node.type in ("parenthesized_expression", "expression_list", "argument"):
            return self._fold(node.children[-1], depth) if node.children else None
        if node.type in IDENTIFIERS:
            return self._fold(self._bound(node), depth)
        if node.type in ("subscript_expression", "index_expression"):
            return self._element(node, depth)
        if node.type in CALLS:
            return self._built(node, depth)
        return None

    def _array(self, node: _Node | None, depth: int) -> list[str] | None:
        """Return the texts of a literal list."""
        if node is None or depth > 20:
            return None
        if node.type in IDENTIFIERS:
            return self._array(self._bound(node), depth + 1)
        if node.type == "expression_list" and len(node.children) == 1:
            return self._array(node.children[0], depth + 1)
        if node.type == "composite_literal":
            body = node.at("body")
            items = (
                [child.children[0] for child in body.children if child.children] if body is not None else []
            )
        elif node.type == "array":
            items = node.children
        else:
            return None
        texts = [self._fold(item, depth + 1) for item in items[:5_000]]
        return (
            [text for text in texts if text is not None] if all(text is not None for text in texts) else None
        )

    def _element(self, node: _Node, depth: int) -> str | None:
        held, index = node.children[0], node.at("index")
        items = self._array(held, depth)
        if items is None or index is None:
            return None
        try:
            return items[int(index.text, 0)]
        except (ValueError, IndexError):
            return None

    def _built(self, node: _Node, depth: int) -> str | None:
        """Return the result of common ways to compose a text."""
        name, _ = self._called(node)
        last = name.rpartition(".")[2]
        arguments = self._arguments(node)
        function = node.at(CALLS[node.type][0])
        owner = (
            function.children[0] if function is not None and function.type in MEMBERS else node.at("receiver")
        )
        if last == "join" and owner is not None:
            items = self._array(owner, depth)
            separator = self._fold(arguments[0], depth) if arguments else ","
            if items is None and owner.type in CALLS:
                text = self._reversed(owner, depth)
                return text if separator == "" else None
            return separator.join(items) if items is not None and separator is not None else None
        if last == "toString" and owner is not None:
            return self._fold(owner, depth)
        if last in ("atob", "from", "decode64", "base64_decode") and arguments:
            text = self._fold(arguments[0], depth)
            way = self._fold(arguments[1], depth) if len(arguments) > 1 else "base64"
            return _decoded(text, way) if text is not None else None
        if last == "fromCharCode":
            codes = [item.text for item in arguments]
            if codes and all(re.fullmatch(r"\d{1,6}|0x[0-9a-fA-F]{1,5}", code) for code in codes):
                return "".join(chr(int(code, 0)) for code in codes if int(code, 0) < 0x110000)
        return None

    def _reversed(self, node: _Node, depth: int) -> str | None:
        """Return the joined result of `text.split('').reverse()`."""
        names = []
        at: _Node | None = node
        while at is not None and at.type in CALLS:
            function = at.at("function")
            if function is None or function.type not in MEMBERS:
                return None
            names.append(function.children[-1].text)
            at = function.children[0]
        text = self._fold(at, depth)
        return text[::-1] if names == ["reverse", "split"] and text is not None else None

    # Labels

    def _step(self, node: _Node) -> None:
        scope = self._owner[node]
        if node.type in ASSIGNS:
            self._assign(node, scope)
        if node.type in CALLS:
            self._call(node)
        elif node.type in _SHELLS:
            text = self._text[node.start : node.end].strip("`")
            self._arrive(node, "a shell", "command", self._labels(node), text)
        elif node.type == "return_statement":
            scope.returned |= {label for child in node.children for label in self._labels(child)}
        elif node.type in ("arrow_function", "lambda_expression"):
            body = node.at("body")
            if body is not None and not body.type.endswith("block"):
                self._scopes[node].returned |= self._labels(body)

    def _assign(self, node: _Node, scope: _Scope) -> None:
        target_field, value_field = ASSIGNS[node.type]
        target, value = node.at(target_field), node.at(value_field)
        if target is None or value is None:
            return
        labels = self._labels(value)
        if target.type in MEMBERS:
            name, _ = self._name(target)
            if self._table.has("sends", name):
                self._arrive(node, name, "send", labels)
            if labels & {CONNECTION} and PROCESS in self._labels(target):
                self._arrive(node, name, "joins", labels)
        if target.type == "expression_list" and value.type == "expression_list":
            for item, given in zip(target.children, value.children, strict=False):
                if CONNECTION in self._labels(given) and PROCESS in self._labels(item):
                    self._arrive(node, "", "joins", labels)
        if labels:
            for name in self._targets(target):
                self._give(name, labels, scope)
        opened = self._opens(value)
        if opened is not None:
            for name in self._targets(target):
                self._opened[(scope, name)] = opened

    def _opens(self, value: _Node) -> _Node | None:
        """Return the path of a file that an expression opens for writing."""
        at: _Node | None = value
        while at is not None and at.type not in CALLS and at.children:
            at = at.children[0]
        if at is None or at.type not in CALLS:
            return None
        number = self._table.of("open", self._called(at)[0])
        arguments = self._arguments(at)
        return arguments[int(number)] if number and len(arguments) > int(number) else None

    def _give(self, name: str, labels: Labels | set[str], scope: _Scope) -> None:
        at: _Scope | None = scope
        while at is not None:
            if name in at.variables:
                at.variables[name] |= labels
                return
            at = at.outer
        self._module.variables.setdefault(name, set()).update(labels)

    def _call(self, node: _Node) -> None:
        name, hidden = self._called(node)
        arguments = self._arguments(node)
        given: Labels = frozenset(label for item in arguments for label in self._labels(item))
        receiver = self._receiver(node)
        self._callbacks(name, receiver, arguments)
        table = self._table
        if table.has("sends", name):
            self._arrive(node, name, "send", given)
        elif table.has("looks_up", name):
            host_labels = frozenset(label for label in given if label.startswith(HOST)) | (
                given & {ENVIRONMENT, SECRET}
            )
            self._arrive(node, name, "look-up", host_labels)
        if table.has("code", name):
            self._arrive(node, name, "code", given, hidden=hidden)
        if table.has("commands", name):
            texts = [self._words(item) for item in arguments]
            self._arrive(
                node, name, "command", given | self._started(arguments), " ".join(filter(None, texts)), hidden
            )
        if table.has("loads", name):
            self._arrive(node, name, "load", given)
        if name.endswith(".pipe") and {CONNECTION, PROCESS} <= (receiver | given):
            self._arrive(node, name, "joins", receiver | given)
        self._files(node, name, arguments, given, receiver)
        known = self._functions.get(name)
        if known is not None:
            for parameter, argument in zip(known.parameters, arguments, strict=False):
                known.variables.setdefault(parameter, set()).update(self._labels(argument))

    def _bound(self, node: _Node) -> _Node | None:
        """Return the only expression that a name is bound to."""
        scope: _Scope | None = self._owner.get(node, self._module)
        while scope is not None:
            bound = scope.aliases.get(node.text)
            if bound:
                return bound[0] if len(bound) == 1 and isinstance(bound[0], _Node) else None
            scope = scope.outer
        return None

    def _words(self, node: _Node, depth: int = 0) -> str:
        """Return the literal parts of a command."""
        text = self._fold(node)
        if text is not None or depth > 6:
            return text or ""
        if node.type in FUNCTIONS or node.type in ("object", "hash"):
            return ""
        if node.type in IDENTIFIERS:
            bound = self._bound(node)
            return self._words(bound, depth + 1) if bound is not None else ""
        return " ".join(
            filter(
                None,
                (
                    self._words(child, depth + 1) if child.type not in _PIECES else child.text
                    for child in node.children
                ),
            )
        )

    def _started(self, arguments: list[_Node]) -> Labels:
        texts = [self._words(item) for item in arguments[:2]]
        dropped = any(place in text for place in self._dropped for text in texts if text)
        return frozenset({DROPPED}) if dropped else _NOTHING

    def _files(self, node: _Node, name: str, arguments: list[_Node], given: Labels, receiver: Labels) -> None:
        """Record what a call writes, and to which file."""
        for use in ("store", "copies", "open", "destroys"):
            number = self._table.of(use, name)
            if number is None or len(arguments) <= int(number or 0):
                continue
            place = arguments[int(number or 0)]
            where = self._words(place)
            if use == "destroys":
                if f"{HOST}home" in self._labels(place) or where in ("/", "~", "C:\\"):
                    self._arrive(node, name, "destroy", frozenset({FILE}))
                continue
            startup = STARTUP_NAME in self._labels(place) or _is_startup(where)
            if startup:
                self._arrive(node, name, "write", frozenset({STARTUP_NAME}))
            if use != "open" and given & _FOREIGN:
                self._drop(place)
        if (given | receiver) & _FOREIGN:
            for item in (*arguments, *self._owner_nodes(node)):
                opened = self._opened_by(item)
                if opened is not None:
                    self._drop(opened)

    def _owner_nodes(self, node: _Node) -> list[_Node]:
        function = node.at(CALLS[node.type][0])
        if function is not None and function.type in MEMBERS:
            return function.children[:1]
        return [found for place in _OWNERS if (found := node.at(place)) is not None]

    def _opened_by(self, node: _Node) -> _Node | None:
        if node.type not in IDENTIFIERS:
            return self._opens(node)
        scope: _Scope | None = self._owner.get(node, self._module)
        while scope is not None:
            if (scope, node.text) in self._opened:
                return self._opened[(scope, node.text)]
            scope = scope.outer
        return None

    def _drop(self, place: _Node) -> None:
        text = self._fold(place)
        if text is not None and len(text) >= 4:
            self._dropped.add(text)
        for name in self._targets(place) if place.type in IDENTIFIERS else ():
            self._give(name, {DROPPED}, self._owner.get(place, self._module))

    def _receiver(self, node: _Node) -> Labels:
        return frozenset(label for item in self._owner_nodes(node) for label in self._labels(item))

    def _callbacks(self, name: str, receiver: Labels, arguments: list[_Node]) -> None:
        """Give the parameters of functions passed as arguments the labels of the values they are called with."""
        labels = set(receiver - {CONNECTION, PROCESS})
        if self._table.has("fetched", name) or CONNECTION in receiver:
            labels.add(FETCHED)
        if self._table.has("reads", name):
            labels |= {label for item in arguments for label in self._read(item)}
        if not labels:
            return
        for item in arguments:
            scope = self._scopes.get(item)
            if scope is not None:
                for parameter in scope.parameters:
                    scope.variables.setdefault(parameter, set()).update(labels)

    def _read(self, path: _Node) -> Labels:
        around = self._labels(path) | (
            frozenset({SECRET_NAME}) if SECRET_PLACE.search(self._words(path).replace(" ", "/")) else _NOTHING
        )
        return frozenset({SECRET if SECRET_NAME in around else FILE})

    def _labels(self, node: _Node, depth: int = 0) -> Labels:
        if depth > DEEPEST:
            self._unread.note(f"taint was not tracked into more than {DEEPEST} levels of expressions")
            return _NOTHING
        if node.type in IDENTIFIERS:
            return self._variable(node)
        if node.type in CALLS:
            return self._result(node, depth + 1)
        if node.type in MEMBERS:
            return self._member(node, depth + 1)
        if node.type in FUNCTIONS:
            return _NOTHING
        labels: set[str] = set()
        if node.type in STRINGS:
            labels |= self._place(self._text[node.start : node.end])
        for child in node.children:
            labels |= self._labels(child, depth + 1)
        return frozenset(labels)

    def _place(self, text: str) -> set[str]:
        if len(text) > 400:
            return set()
        inside = text.strip("`\"'")
        found = {SECRET_NAME} if SECRET_PLACE.search(inside) else set()
        return found | ({STARTUP_NAME} if STARTUP_PLACE.search(inside) else set())

    def _variable(self, node: _Node) -> Labels:
        name = self._text[node.start : node.end] if node.type == "variable_name" else node.text
        scope: _Scope | None = self._owner.get(node, self._module)
        found: set[str] = set()
        while scope is not None:
            if name in scope.variables:
                found |= scope.variables[name]
                break
            scope = scope.outer
        return frozenset(found) | self._known(self._name(node)[0])

    def _known(self, name: str) -> Labels:
        """Return the labels that a name has by itself."""
        if not name:
            return _NOTHING
        if self._table.has("environment", name):
            return frozenset({ENVIRONMENT})
        if self._table.has("fetched", name) and self._language == "php" and name.startswith("_"):
            return frozenset({FETCHED})
        constant = self._table.of("constants", name)
        if constant is not None:
            return frozenset({constant})
        host = self._table.of("host", name)
        return frozenset({f"{HOST}{host}"}) if host else _NOTHING

    def _member(self, node: _Node, depth: int) -> Labels:
        name, _ = self._name(node)
        base, _, last = name.rpartition(".")
        if self._table.has("environment", base):
            return labels_of_variable(last)
        known = self._known(name)
        if known:
            return known
        labels = self._labels(node.children[0], depth) if node.children else _NOTHING
        if ENVIRONMENT in labels:
            return frozenset({ENVIRONMENT}) if node.type == "subscript_expression" else labels
        return labels

    def _result(self, node: _Node, depth: int) -> Labels:
        name, _ = self._called(node)
        arguments = self._arguments(node)
        table = self._table
        if table.has("environment", f"{name}()") and not arguments:
            return frozenset({ENVIRONMENT})
        known = self._known(name)
        if known:
            return known
        if table.has("variable", name):
            return labels_of_variable(self._fold(arguments[0]) or "" if arguments else "")
        if table.has("reads", name):
            return frozenset(label for item in arguments[:1] for label in self._read(item))
        labels = {label for item in arguments for label in self._labels(item, depth)}
        if node.type == "macro_invocation":
            labels |= self._in_macro(node, depth)
        labels |= {label for item in self._owner_nodes(node) for label in self._labels(item, depth)}
        if name.rpartition(".")[2].lower() in ("join", "resolve") and any(map(self._is_step, arguments[1:])):
            labels.discard(f"{HOST}home")  # a folder below it
        if table.has("connects", name):
            labels.add(CONNECTION)
        if table.has("processes", name):
            labels.add(PROCESS)
        if table.has("fetched", name):
            return frozenset({FETCHED} | (labels & {CONNECTION}))
        ways = table.of("decodes", name)
        if ways is not None and arguments and self._decodes(ways, arguments):
            text = self._fold(arguments[0])
            labels.add(BLOB if text is not None and len(text) >= 8 else DECODED)
        function = self._functions.get(name)
        if function is not None:
            labels |= function.returned
        return frozenset(labels)

    def _is_step(self, node: _Node) -> bool:
        """Return whether a part of a path is fixed, and leads to another folder."""
        text = self._fold(node)
        return text is not None and any(map(str.isalnum, text))

    def _decodes(self, ways: str, arguments: list[_Node]) -> bool:
        return not ways or (len(arguments) > 1 and self._fold(arguments[1]) in ways.split(","))

    def _in_macro(self, node: _Node, depth: int) -> set[str]:
        """Return the labels of a macro's arguments, including names inside its texts."""
        found: set[str] = set()
        for child in node.children:
            found |= self._labels(child, depth)
        for name in _PLACEHOLDER.findall(self._text[node.start : node.end]):
            scope: _Scope | None = self._owner.get(node, self._module)
            while scope is not None:
                found |= scope.variables.get(name, set())
                scope = scope.outer
        return found

    def _arrive(
        self, node: _Node, name: str, what: str, labels: Labels, text: str = "", hidden: bool = False
    ) -> None:
        if not labels and not text and not hidden:
            return
        before = self._found.get((node.start, what))
        together = labels if before is None else labels | before.labels
        self._found[(node.start, what)] = TreeArrival(
            node.start, node.end, name, what, together, text, hidden
        )


def _is_startup(words: str) -> bool:
    return any(STARTUP_PLACE.search(text) is not None for text in (words, words.replace(" ", "/")))


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        value = int(code, 16)
        return chr(value) if value < 0x110000 else ""
    if match[4]:
        return chr(int(match[4], 8))
    return _PLAIN_ESCAPES.get(match[5], match[5])


def _decoded(text: str, way: str | None) -> str | None:
    try:
        if way == "base64":
            return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "replace")
        if way == "hex":
            return bytes.fromhex(text).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
    return None
