"""How far the text of a candidate is that of a trusted function, with the class and the code that it needs."""

from __future__ import annotations

import ast
import sys

from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.text_overlap import comparable_text
from codeguard.behavior.source.definitions import PARSE_ERRORS, Function, parse_or_none, raised_exceptions
from codeguard.behavior.specs.references import Reference
from codeguard.corpus import syntax

LEAST_SHARED_METHODS = 0.4


def added_refusals(candidate: CandidateFunction, reference: Reference) -> frozenset[str]:
    """Return the exceptions that a candidate's source raises more often than the trusted one's."""
    own, trusted = parse_or_none(candidate.runnable.source), parse_or_none(reference.runnable.source)
    if own is None or trusted is None:
        return frozenset()
    return frozenset(raised_exceptions(own) - raised_exceptions(trusted))


def is_copied_class(own: ast.ClassDef, trusted: ast.ClassDef) -> bool:
    """Return whether half of a trusted class's text is in methods that a class has, apart from names of locals."""
    texts = {comparable_text(item).renamed for item in own.body if isinstance(item, Function)}
    known = [comparable_text(item).renamed for item in trusted.body if isinstance(item, Function)]
    return 2 * sum(len(text) for text in known if text in texts) >= sum(map(len, known))


def has_akin_methods(own: ast.ClassDef, trusted: ast.ClassDef) -> bool:
    """Return whether two classes have so many public methods in common that they are one kind of class."""
    first, second = (
        {item.name for item in one.body if isinstance(item, Function) and not item.name.startswith("_")}
        for one in (own, trusted)
    )
    shared = len(first & second)
    return shared > 0 and shared >= LEAST_SHARED_METHODS * len(first | second)


def is_same_source(candidate: CandidateFunction, reference: Reference) -> bool:
    """Return whether candidate and trusted function, with all they need, are equal except for docstrings."""
    own, trusted = candidate.runnable, reference.runnable
    if own.target != trusted.target or _without_docstrings(own.source) != _without_docstrings(trusted.source):
        return False
    return not own.borrowed or (
        own.home is not None and trusted.home is not None and own.home.has_modules_of(trusted.home)
    )


def third_party_imports(source: str) -> tuple[str, ...]:
    """Return the imported modules outside of the standard library, which may differ between the two."""
    tree = parse_or_none(source)
    found: list[str] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append("." * node.level + (node.module or ""))
    return tuple(
        f"import {name}"
        for name in dict.fromkeys(found)
        if name.partition(".")[0] not in sys.stdlib_module_names
    )


def _without_docstrings(source: str) -> str:
    """Return a source without docstrings and comments."""
    try:
        tree = syntax.parse(source)
    except PARSE_ERRORS:
        return source
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
