"""Code to measure on: the standard library of the running Python, and packages installed beside it."""

from __future__ import annotations

import ast
import hashlib
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LEFT_OUT = frozenset({"test", "tests", "idle_test", "idlelib", "lib2to3", "site-packages", "turtledemo"})


def standard_files() -> list[Path]:
    """Return the files of the standard library but its tests, sorted."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return [
        path for path in sorted(root.rglob("*.py")) if not LEFT_OUT & set(path.relative_to(root).parts[:-1])
    ]


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


def shuffled_by(found: list[T], text: Callable[[T], str]) -> list[T]:
    """Return things in an order that depends on a text of theirs alone."""
    return sorted(found, key=lambda item: hashlib.sha256(text(item).encode()).digest())
