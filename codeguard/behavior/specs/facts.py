"""What the text of a trusted file says of its functions: plain values, to be kept under the file's digest.

A library of trusted code is made of them. A file is parsed again only when one of its functions is run or shown.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard import behavior
from codeguard.behavior.matching.claims import Features, function_features
from codeguard.behavior.matching.fingerprints import is_short, worth_probing
from codeguard.behavior.matching.stubs import is_declaration, is_overload
from codeguard.behavior.matching.text_overlap import Text, numbered_text
from codeguard.behavior.source.definitions import Module
from codeguard.behavior.specs.docstrings import docstring_examples

BETWEEN = "\0"  # no node's text has it: constants are in the form of `repr`


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """One function that callers can reach.

    `place` is its number among the definitions of its file, `line` that of its `def`. `documented` means that its
    docstring has examples. `numbered` is the text of a short one; see `numbered_text`.
    """

    place: int
    name: str
    qualified_name: str
    line: int
    is_setter: bool
    documented: bool
    features: Features
    numbered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The functions of a file, and the packages that it imports in any case."""

    functions: tuple[FunctionFacts, ...] = ()
    packages: frozenset[str] = frozenset()

    def to_values(self) -> dict[str, Any]:
        """Return plain values, the same for the same facts."""
        functions = [
            [
                item.place, item.name, item.qualified_name, item.line, item.is_setter, item.documented,
                BETWEEN.join(item.numbered), _feature_values(item.features),
            ]
            for item in self.functions
        ]  # fmt: skip
        return {"functions": functions, "packages": sorted(self.packages)}

    @classmethod
    def from_values(cls, value: Mapping[str, Any]) -> FileFacts:
        """Inverse of `to_values`."""
        functions = []
        for place, name, qualified, line, is_setter, documented, numbered, features in value["functions"]:
            own, texts = _features(features), _texts(numbered)
            functions.append(FunctionFacts(place, name, qualified, line, is_setter, documented, own, texts))
        return cls(tuple(functions), frozenset(value["packages"]))


def file_facts(path: str, module: Module) -> FileFacts:
    """Return the facts of a file with these statements."""
    functions = []
    for place, definition in enumerate(module.listed):
        node = definition.node
        if definition.nested or is_declaration(node, path) or is_overload(node, module.statements):
            continue
        features = function_features(definition)
        short = is_short(features) and worth_probing(features)
        functions.append(
            FunctionFacts(
                place,
                definition.name,
                definition.qualified_name,
                node.lineno,
                definition.is_setter,
                bool(docstring_examples(definition, path)),
                features,
                numbered_text(node) if short else (),
            )
        )
    return FileFacts(tuple(functions), module.imported_packages)


@functools.cache
def facts_version() -> str:
    """Return a digest of what derives facts: this package's code, and the version of Python."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(behavior.__path__[0]).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _feature_values(item: Features) -> list[Any]:
    return [
        list(item.name), sorted(item.doc), sorted(item.body.items()), item.least_args, item.most_args,
        sorted(item.keywords), sorted(item.required_keywords), item.takes_any_keyword,
        BETWEEN.join(item.text.named), BETWEEN.join(item.text.renamed), sorted(item.text.grams),
        sorted(item.words), item.headline, item.opening, item.owner, item.bound,
        item.written_name,
    ]  # fmt: skip


def _features(value: Sequence[Any]) -> Features:
    name, doc, body, least, most, keywords, required, any_keyword, named, renamed, grams, *rest = value
    words, headline, opening, owner, bound, written_name = rest
    return Features(
        tuple(name),
        frozenset(doc),
        Counter(dict(body)),
        least,
        most,
        frozenset(keywords),
        frozenset(required),
        any_keyword,
        Text(_texts(named), _texts(renamed), frozenset(grams)),
        frozenset(words),
        headline,
        opening,
        owner,
        bound,
        written_name,
    )


def _texts(joined: str) -> tuple[str, ...]:
    return tuple(map(sys.intern, joined.split(BETWEEN))) if joined else ()
