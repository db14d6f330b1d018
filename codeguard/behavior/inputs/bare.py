"""Calls of functions that need no argument, with and without command-line options in `sys.argv`.

A single call is weak evidence, so these calls are only used for edited copies of the trusted
function, which have to behave like it in every respect.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.behavior.source.definitions import Definition, parse_or_none
from codeguard.behavior.specs.examples import Example
from codeguard.corpus.syntax import unqualified_name

MOST_OPTIONS = 8
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_SHORT = re.compile(r"(?:[A-Za-z]:?){1,16}")  # as getopt takes them
_GIVEN: tuple[list[str], ...] = (
    [],
    ["notes.txt"],
    ["notes.txt", "made.txt"],
    ["3", "7"],
    ["module.py"],
    ["docs"],
)


def bare_calls(definition: Definition, source: str) -> list[Example]:
    """Return the calls without an argument of a function in this source; empty if it needs an argument."""
    if any(parameter.required for parameter in definition.parameters):
        return []
    call = Example(None, {}, None, "", expression=f"{definition.name}()", callee=definition.name)
    if "argv" not in source and "argparse" not in source:
        return [call]
    lines = [*_GIVEN, *([option, *given] for option in _options(source) for given in ([], ["notes.txt"]))]
    return [
        Example(
            *(None, {}, None, ""),
            expression=call.expression,
            setup=f"import sys\nsys.argv[1:] = {line!r}\n",
            callee=call.callee,
        )
        for line in lines
    ]


def _options(source: str) -> list[str]:
    """Return the command-line options that a source names, including getopt's option letters."""
    found: dict[str, None] = {}
    tree = parse_or_none(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OPTION.fullmatch(node.value):
            found[node.value] = None
        elif isinstance(node, ast.Call):
            found.update(dict.fromkeys(_letters(node)))
    return list(found)[:MOST_OPTIONS]


def _letters(node: ast.Call) -> Iterator[str]:
    name = unqualified_name(node.func)
    texts = [item.value for item in node.args if isinstance(item, ast.Constant)]
    if name == "getopt" and texts and isinstance(texts[0], str) and _SHORT.fullmatch(texts[0]):
        yield from (f"-{letter}" for letter in texts[0].replace(":", ""))
