"""What names mean: vocabularies in `words.toml`, and the name of an expression."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name

_ALTERNATIVES: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def vocabulary(name: str) -> re.Pattern[str]:
    """Return a pattern for a list of `words.toml`, for names in lower case; raise KeyError if there is none."""
    return lazy("|".join(_ALTERNATIVES[name]))


def mentions(text: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a name, or a line of code, matches a pattern in any case."""
    return pattern.search(text[:2000].lower()) is not None


def last_name(node: ast.expr) -> str:
    """Return the last name of an expression: of a variable, an attribute, or a key."""
    if isinstance(node, ast.Call):
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return node.args[0].value
        return last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else last_name(node.value)
    return unqualified_name(node)
