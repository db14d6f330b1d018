"""Edit Python source in place, by syntax-tree positions, so that the author's style survives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from `start` up to `end` by `text`."""

    start: int
    end: int
    text: str


class Positions:
    """Character offsets of the nodes of one source (the syntax tree counts UTF-8 bytes)."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a 1-based line and a byte column."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return where a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return where a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)


def walk(node: ast.AST, *, annotations: bool = True) -> Iterator[ast.AST]:
    """Yield a node and its descendants, but none inside f-strings, on request none inside type hints.

    Python 3.11 gives the nodes of f-strings positions that are not the file's.
    """
    yield node
    skipped = () if annotations else (getattr(node, "annotation", None), getattr(node, "returns", None))
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr) and not any(child is hint for hint in skipped):
            yield from walk(child, annotations=annotations)


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap; their offsets refer to the source as given."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def parse_function(source: str) -> ast.FunctionDef:
    """Return the only function that a source defines; ValueError where it is something else."""
    body = ast.parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise ValueError("the source is not one plain function")
    first = body[0].body[0]
    if source.splitlines()[first.lineno - 1].encode()[: first.col_offset].strip():
        raise ValueError("the source is not one plain function: its body stands in the line of the def")
    return body[0]


def docstring_node(function: ast.FunctionDef) -> ast.Expr | None:
    """Return the statement that is the function's docstring."""
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first
    return None


def code_body(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements after the docstring."""
    return function.body[1:] if docstring_node(function) else function.body


def indentation(source: str) -> str:
    """Return the white space in front of the body of a function."""
    first = parse_function(source).body[0]
    line = source.splitlines()[first.lineno - 1]
    return line[: len(line) - len(line.lstrip())] or "    "


def with_docstring(source: str, text: str) -> str:
    """Return the function with another docstring (plain lines, not indented)."""
    function = parse_function(source)
    positions = Positions(source)
    indent = indentation(source)
    lines = text.strip("\n").split("\n")
    body = "\n".join([lines[0], *(f"{indent}{line}" if line else "" for line in lines[1:])])
    body = body.replace("\\", "\\\\").replace('"""', "'''")
    literal = f'"""{body}"""' if len(lines) == 1 else f'"""{body}\n{indent}"""'
    node = docstring_node(function)
    if node is not None:
        if len(function.body) == 1:
            literal += f"\n{indent}return None"
        return apply_edits(source, [Edit(positions.start(node), positions.end(node), literal)])
    start = positions.start(function.body[0])
    return apply_edits(source, [Edit(start, start, f"{literal}\n{indent}")])


def without_docstring(source: str) -> str:
    """Return the function without its docstring."""
    function = parse_function(source)
    node = docstring_node(function)
    if node is None or len(function.body) == 1:
        return source
    positions = Positions(source)
    start = positions.start(node)
    return apply_edits(source, [Edit(start, positions.start(function.body[1]), "")])


def with_body(source: str, lines: Iterable[str]) -> str:
    """Return the function with other statements after its docstring (lines not indented)."""
    function = parse_function(source)
    positions = Positions(source)
    indent = indentation(source)
    text = "\n".join(f"{indent}{line}" if line else "" for line in lines).lstrip()
    body = code_body(function)
    if not body:
        end = positions.end(function.body[-1])
        return apply_edits(source, [Edit(end, end, f"\n{indent}{text}")])
    return apply_edits(source, [Edit(positions.start(body[0]), positions.end(body[-1]), text)])


def with_prologue(source: str, lines: Iterable[str]) -> str:
    """Return the function with statements put in front of its body, after its docstring."""
    function = parse_function(source)
    positions = Positions(source)
    indent = indentation(source)
    text = "".join(f"{line}\n{indent}" if line else f"\n{indent}" for line in lines)
    body = code_body(function)
    if not body:
        return with_body(source, lines)
    start = positions.start(body[0])
    return apply_edits(source, [Edit(start, start, text)])


def body_lines(source: str) -> list[str]:
    """Return the statements after the docstring as text, dedented, comments inside included."""
    function = parse_function(source)
    positions = Positions(source)
    body = code_body(function)
    if not body:
        return ["pass"]
    indent = indentation(source)
    text = source[positions.start(body[0]) : positions.end(body[-1])]
    return [line.removeprefix(indent) for line in text.split("\n")]


def renamed(source: str, name: str) -> str:
    """Return the function under another name, its own recursive calls included."""
    function = parse_function(source)
    positions = Positions(source)
    match = re.compile(r"def\s+").match(source, positions.start(function))
    assert match is not None
    edits = [Edit(match.end(), match.end() + len(function.name), name)]
    edits += [
        Edit(positions.start(node), positions.end(node), name)
        for node in walk(function)
        if isinstance(node, ast.Name) and node.id == function.name
    ]
    return apply_edits(source, edits)


def renamed_variables(source: str, names: dict[str, str]) -> str:
    """Return the function with parameters and local variables renamed."""
    function = parse_function(source)
    for text in (node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)):
        inside = {node.id for node in ast.walk(text) if isinstance(node, ast.Name)}
        names = {old: new for old, new in names.items() if old not in inside}
    positions = Positions(source)
    edits = []
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id in names:
            edits.append(Edit(positions.start(node), positions.end(node), names[node.id]))
        elif isinstance(node, ast.arg) and node.arg in names:
            start = positions.start(node)
            edits.append(Edit(start, start + len(node.arg), names[node.arg]))
    return apply_edits(source, edits)


def without_annotations(source: str) -> str:
    """Return the function without type hints on parameters, result and variables."""
    function = parse_function(source)
    positions = Positions(source)
    edits = []
    for node in walk(function):
        if isinstance(node, ast.arg) and node.annotation is not None:
            end = positions.end(node.annotation)
            equals = re.match(r"\s*=\s*", source[end:])
            edits.append(
                Edit(
                    positions.start(node) + len(node.arg),
                    end + (equals.end() if equals else 0),
                    "=" if equals else "",
                )
            )
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            edits.append(Edit(positions.end(node.target), positions.end(node.annotation), ""))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            arrow = source.rindex("->", 0, positions.start(node.returns))
            while source[arrow - 1] == " ":
                arrow -= 1
            edits.append(Edit(arrow, positions.end(node.returns), ""))
    return apply_edits(source, edits)


def names_used(source: str) -> set[str]:
    """Return every name that a source reads, in annotations too."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def imported_names(statement: str) -> Iterator[str]:
    """Yield the names that an import statement binds."""
    for node in ast.parse(statement).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield (alias.asname or alias.name).split(".")[0]
