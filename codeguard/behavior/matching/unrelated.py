"""Detect functions whose body has nothing to do with what they describe.

A body that was put under another function's name and description is right Python, does something, and cannot be held
against a trusted function where there is none. What an honest body has and this one lacks is the connection to its
description: it reads its parameters, uses what the file and the libraries offer for the purpose, and calls things by
the words of its description.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.behavior.matching.claims import WORD, description_stems
from codeguard.behavior.matching.stubs import describes_result, uses_plain_values_only
from codeguard.behavior.source.definitions import Definition, dotted_name

LEAST_NODES = 4  # of a body: what is shorter may be one word for what the description says in others
LEAST_COMPUTING = 20  # nodes of a body that computes something from how its arguments are written
_AS_TEXT = frozenset({"str", "repr", "ascii", "format", "print"})
# Descriptions of functions that look at how a value is written, or that need none of what they are given.
_OF_TEXT = re.compile(
    r"\b(?:texts?|textual\w*|strings?|str|repr\w*|characters?|chars?|digits?|letters?|words?|hash\w*|checksums?"
    r"|digests?|fingerprints?|format\w*|pretty|seriali[sz]\w*|random\w*|seed\w*|\w*(?:upper|lower)\w*)\b",
    re.IGNORECASE,
)


def is_unrelated(definition: Definition) -> bool:
    """Return whether a function's body has nothing in common with its description.

    It works on plain values alone, shares no word with its name and its description, and either leaves parameters
    unread that a caller has to give, or looks at nothing but how its arguments are written. Where it computes
    something from that, the names of its locals are no connection: they may be any.
    """
    node = definition.node
    if not describes_result(definition) or not uses_plain_values_only(node):
        return False
    body = node.body[1:]  # what describes a result has a docstring
    raises = not body or isinstance(body[-1], ast.Raise)
    if raises or sum(1 for statement in body for _ in ast.walk(statement)) < LEAST_NODES:
        return False
    return _ignores_arguments(definition, body) and not _common_words(definition, body)


def _ignores_arguments(definition: Definition, body: list[ast.stmt]) -> bool:
    return _leaves_unread(definition, body) or (
        _reads_as_text_only(definition, body) and _OF_TEXT.search(definition.docstring[:4_000]) is None
    )


def _leaves_unread(definition: Definition, body: list[ast.stmt]) -> bool:
    """Return whether at least half of the parameters are not read."""
    given = [item.name for item in definition.parameters if item.kind in ("positional", "keyword")]
    read = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    unread = [name for name in given if name not in read and not name.startswith("_")]
    return bool(unread) and 2 * len(unread) >= len(given)


def _reads_as_text_only(definition: Definition, body: list[ast.stmt]) -> bool:
    """Return whether all that a function reads of its parameters is how they are written."""
    given = {item.name for item in definition.parameters}
    loads = written = 0
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in given:
                loads += 1
            elif isinstance(node, ast.Call) and dotted_name(node.func) in _AS_TEXT:
                written += sum(isinstance(item, ast.Name) and item.id in given for item in node.args)
            elif isinstance(node, ast.FormattedValue):
                written += isinstance(node.value, ast.Name) and node.value.id in given
    return 0 < loads == written


def _common_words(definition: Definition, body: list[ast.stmt]) -> frozenset[str]:
    described = description_stems(f"{definition.name.replace('_', ' ')} {definition.docstring}")
    ignored = {item.arg for item in ast.walk(definition.node.args) if isinstance(item, ast.arg)}
    nodes = [node for statement in body for node in ast.walk(statement)]
    if len(nodes) >= LEAST_COMPUTING and _reads_as_text_only(definition, body):
        ignored |= {
            node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    own = " ".join(word for statement in body for word in _words(statement, ignored))
    return described & description_stems(own)


def _words(statement: ast.stmt, ignored: set[str]) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id not in ignored and node.id not in _AS_TEXT:
            yield " ".join(WORD.findall(node.id))
        elif isinstance(node, ast.Attribute):
            yield " ".join(WORD.findall(node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
