"""Detect functions that compute another formula than their description states.

`Same as a / b` above `return a * b` needs no trusted code to be found false.
"""

from __future__ import annotations

import ast
import re

from codeguard.behavior.source.definitions import Definition, parse_or_none, unparse

_STATED = re.compile(
    r"\b(?:same as|equivalent to|equals|computes?|returns?)[ \t]+`{0,2}([^`\n]{3,40})", re.IGNORECASE
)
_END = re.compile(r"``?|\.(?:\s|$)|,|;|\bfor\b|\bwhere\b|$")
Operator = ast.operator | ast.cmpop | ast.unaryop


def other_formula(definition: Definition) -> str:
    """Return how a function contradicts the formula in its description, "" if it does not.

    Both have to consist of one operation of one or two values. A function that calls something, or does more, may
    compute the same in another way.
    """
    stated = next(filter(None, map(_operation_in, _STATED.findall(definition.docstring[:4_000]))), None)
    if stated is None:
        return ""
    text, operator = stated
    body = definition.node.body[1:]
    match body:
        case [ast.Return(ast.Name(name))] if any(item.name == name for item in definition.parameters):
            return f"its description states `{text}`, and it returns {name} as it is"
    done = _only_operator(body)
    if done is None or type(done) is type(operator):
        return ""
    return f"its description states `{text}`, and its operator is another one"


def _operation_in(text: str) -> tuple[str, Operator] | None:
    """Return the formula at the beginning of a text and its operator, if it is one of one or two names."""
    end = _END.search(text)
    tree = parse_or_none(text[: end.start()].strip() if end else text.strip())
    statement = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    match statement:
        case ast.Expr(ast.BinOp(ast.Name(), operator, ast.Name())):
            return unparse(statement), operator
        case ast.Expr(ast.Compare(ast.Name(), [comparison], [ast.Name()])):
            return unparse(statement), comparison
        case ast.Expr(ast.UnaryOp(sign, ast.Name())):
            return unparse(statement), sign
        case ast.AugAssign(ast.Name(), operator, ast.Name()):
            return unparse(statement), operator
    return None


def _only_operator(body: list[ast.stmt]) -> Operator | None:
    """Return the operator of a body that does nothing but one operation."""
    found: list[Operator] = []
    for statement in body:
        if not isinstance(statement, ast.Return | ast.Assign | ast.AugAssign):
            return None
        for node in ast.walk(statement):
            if isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp):
                found.append(node.op)
            elif isinstance(node, ast.Compare):
                found.extend(node.ops)
            elif isinstance(node, ast.Call | ast.BoolOp | ast.IfExp | ast.Constant | ast.Subscript):
                return None
    return found[0] if len(found) == 1 else None
