"""Patterns for the names of secrets."""

from __future__ import annotations

import ast
import re

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name

PASSWORD = lazy(r"passw|passphrase|\bpwd|_pwd|passcode|\bpw\b|(?<![a-z])pin(?:_?code)?(?![a-z])")
SECRET = lazy(
    r"passw|passphrase|pwd|secret|token|api_?key|access_?key|private_?key|auth_?key|credential|signature|"
    r"session_?id|otp|csrf|encryption_?key|signing_?key|master_?key|reset_?code|verification_?code|nonce|"
    r"invite_?code|activation|cookie|licen[cs]e_?key|(?<![a-z])salt|(?<![a-z])sid(?![a-z])"
)


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
