"""Guess from a function's source and examples what its parameters and its result are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.attacks.base import CallText, TargetFunction
from experiments.attacks.editing import parse_function

KINDS = {
    "number": r"int|float|complex|Number",
    "text": r"str",
    "bool": r"bool",
    "tuple": r"tuple\[.*|Tuple\[.*|tuple",
    "sequence": r"(list|List|Sequence|Iterable|Collection)(\[.*)?",
    "mapping": r"(dict|Dict|Mapping)(\[.*)?",
    "iterator": r"(Iterator|Generator)(\[.*)?",
}
PARAMETER_NAMES = {
    "number": {"n", "x", "y", "k", "number", "value", "num", "i", "count", "size", "width", "base"},
    "text": {
        "s",
        "text",
        "string",
        "str",
        "line",
        "word",
        "name",
        "path",
        "filename",
        "data",
        "msg",
        "source",
    },
    "sequence": {"items", "seq", "sequence", "iterable", "lst", "values", "xs", "lines", "args"},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its kind is number, text, bool, tuple, sequence, mapping or other."""

    name: str
    kind: str
    keyword_only: bool
    optional: bool


def parameters(target: TargetFunction) -> tuple[Parameter, ...]:
    """Return the named parameters of a function; starred ones are left out."""
    arguments = parse_function(target.source).args
    positional = arguments.posonlyargs + arguments.args
    samples = dict(
        zip((node.arg for node in positional), next(iter(_values(target.examples)), ()), strict=False)
    )
    first_optional = len(positional) - len(arguments.defaults)
    found = [
        Parameter(node.arg, _kind(node, samples.get(node.arg)), False, index >= first_optional)
        for index, node in enumerate(positional)
    ]
    found += [
        Parameter(node.arg, _kind(node, None), True, default is not None)
        for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return tuple(found)


def result_kind(target: TargetFunction) -> str:
    """Return what a function gives: a kind of `Parameter`, or iterator."""
    function = parse_function(target.source)
    if is_generator(target.source):
        return "iterator"
    return _hinted(function.returns) or "other"


def is_generator(source: str) -> bool:
    """Return whether a function yields (nested functions apart)."""

    def outside_nested(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                yield child
                yield from outside_nested(child)

    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in outside_nested(parse_function(source)))


def forwarded(source: str) -> str:
    """Return the arguments with which a function of the same signature passes its own on."""
    arguments = parse_function(source).args
    parts = [node.arg for node in arguments.posonlyargs + arguments.args]
    if arguments.vararg:
        parts.append(f"*{arguments.vararg.arg}")
    parts += [f"{node.arg}={node.arg}" for node in arguments.kwonlyargs]
    if arguments.kwarg:
        parts.append(f"**{arguments.kwarg.arg}")
    return ", ".join(parts)


def replaced_argument(target: TargetFunction, name: str, value: str) -> tuple[CallText, ...]:
    """Return the known calls with one argument replaced by another, as source text."""
    names = [parameter.name for parameter in parameters(target) if not parameter.keyword_only]
    position = names.index(name)
    calls = []
    for call in target.calls:
        parts = [ast.unparse(node) for node in _elements(call)]
        if position < len(parts):
            parts[position] = value.replace("{}", parts[position])
            calls.append(CallText(f"({', '.join(parts)},)", call.kwargs))
    return tuple(dict.fromkeys(calls))


def _elements(call: CallText) -> list[ast.expr]:
    node = ast.parse(call.args, mode="eval").body
    return list(node.elts) if isinstance(node, ast.Tuple) else []


def _values(calls: tuple[CallText, ...]) -> Iterator[tuple[object, ...]]:
    for call in calls:
        try:
            yield tuple(ast.literal_eval(call.args))
        except (ValueError, SyntaxError, TypeError):
            continue


def _hinted(annotation: ast.expr | None) -> str:
    text = "" if annotation is None else ast.unparse(annotation).strip("'\"")
    return next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, text)), "")


def _kind(node: ast.arg, sample: object) -> str:
    hinted = _hinted(node.annotation)
    if hinted:
        return hinted
    if isinstance(sample, bool):
        return "bool"
    for kind, types in (("number", int | float), ("text", str), ("sequence", list), ("mapping", dict)):
        if isinstance(sample, types):
            return kind
    return next((kind for kind, names in PARAMETER_NAMES.items() if node.arg in names), "other")
