"""Trusted functions as references: what they are, and the examples that they come with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codeguard.behavior.docexamples import docstring_examples
from codeguard.behavior.examples import Example
from codeguard.behavior.matching import Features, features
from codeguard.behavior.source import Definition, definitions, read_module
from codeguard.behavior.surroundings import Runnable, extract
from codeguard.models import SourceFile


@dataclass(frozen=True, slots=True)
class Reference:
    """A trusted function: runnable source, examples, and where it stands.

    `digest` covers the source with its surroundings and the examples.
    """

    definition: Definition
    runnable: Runnable
    features: Features
    examples: tuple[Example, ...]
    origin: str
    digest: str

    @property
    def name(self) -> str:
        """The function's name."""
        return self.definition.name


def references_of(file: SourceFile) -> Iterator[Reference]:
    """Yield a file's functions and methods that a call can reach."""
    if file.language != "python":
        return
    module = read_module(file.text)
    for definition in definitions(module.statements):
        if definition.nested:
            continue
        runnable = extract(definition, module)
        if runnable is not None:
            yield make_reference(definition, runnable, docstring_examples(definition, file.path), file.path)


def make_reference(
    definition: Definition, runnable: Runnable, examples: Iterable[Example], path: str
) -> Reference:
    """Put a reference together, with its digest."""
    kept = tuple(examples)
    text = "\0".join((runnable.source, runnable.target, *(example.fingerprint() for example in kept)))
    return Reference(
        definition=definition,
        runnable=runnable,
        features=features(definition),
        examples=kept,
        origin=f"{path}:{definition.node.lineno}",
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )
