"""Code to measure on: the standard library of the running Python, and packages installed beside it."""

from __future__ import annotations

import ast
import hashlib
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LEFT_OUT = frozenset({"test", "tests", "idle_test", "idlelib", "lib2to3", "site-packages", "turtledemo"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its name, its source without the docstring, and the docstring's first line."""

    name: str
    source: str
    body: str
    summary: str


def standard_files() -> list[Path]:
    """Return the files of the standard library but its tests, sorted."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return [
        path for path in sorted(root.rglob("*.py")) if not LEFT_OUT & set(path.relative_to(root).parts[:-1])
    ]


def read(path: Path) -> str:
    """Return a file's text; what is not UTF-8 is replaced."""
    return path.read_text("utf-8", errors="replace")


def functions(text: str) -> Iterator[Function]:
    """Yield the functions and methods of a file in order, none of those inside functions."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    yield from _walk(tree, text.splitlines(keepends=True))


def dedented(text: str) -> str:
    """Return a text without the indentation of its first line that is not blank."""
    lines = text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    depth = len(first) - len(first.lstrip())
    return "".join(line[depth:] if line.strip() else line for line in lines)


def function_in(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the first function of a text; None where there is none or it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return next((node for node in tree.body if isinstance(node, kinds)), None)


def shuffled(found: list[Function]) -> list[Function]:
    """Return functions in an order that depends on their text alone."""
    return shuffled_by(found, lambda function: function.source)


def shuffled_by(found: list[T], text: Callable[[T], str]) -> list[T]:
    """Return things in an order that depends on a text of theirs alone."""
    return sorted(found, key=lambda item: hashlib.sha256(text(item).encode()).digest())


def described(least_words: int = 4, every: int = 1) -> list[Function]:
    """Return the functions of every n-th standard file with a summary of some words and a body, shuffled."""
    chosen: dict[str, Function] = {}
    for path in standard_files()[::every]:
        for function in functions(read(path)):
            if len(function.summary.split()) >= least_words and len(function.body.splitlines()) >= 2:
                chosen.setdefault(function.summary, function)
    return shuffled(list(chosen.values()))


def _walk(tree: ast.AST, lines: list[str]) -> Iterator[Function]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _function(node, lines)
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try):
            yield from _walk(node, lines)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Function:
    source = "".join(lines[node.lineno - 1 : node.end_lineno])
    summary = (ast.get_docstring(node) or "").strip().partition("\n")[0].strip()
    if not summary or len(node.body) < 2:
        return Function(node.name, source, source if not summary else "", summary)
    docstring = node.body[0]
    kept = [*lines[node.lineno - 1 : docstring.lineno - 1], *lines[docstring.end_lineno : node.end_lineno]]
    return Function(node.name, source, "".join(kept), summary)
