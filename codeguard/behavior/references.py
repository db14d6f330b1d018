"""Trusted functions as references: what they are, and the examples that they come with."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from codeguard.behavior.docexamples import docstring_examples
from codeguard.behavior.examples import Example
from codeguard.behavior.matching import Features, features
from codeguard.behavior.modules import TrustedModules
from codeguard.behavior.source import Definition, Module, definitions, parse, read_module, unparse
from codeguard.behavior.surroundings import NO_MODULES, Runnable, bound_names, extract, free_names, needed_for
from codeguard.models import SourceFile

MAX_SETUP = 20_000


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


def references_of(file: SourceFile, trusted: TrustedModules = NO_MODULES) -> Iterator[Reference]:
    """Yield a file's functions and methods that a call can reach."""
    if file.language != "python":
        return
    module = trusted.modules.get(file.path) or read_module(file.text)
    for definition in definitions(module.statements):
        if definition.nested:
            continue
        runnable = extract(definition, module, trusted, file.path)
        if runnable is None:
            continue
        found = docstring_examples(definition, file.path)
        completed = (complete(example, definition.name, module, trusted, file.path) for example in found)
        yield make_reference(definition, runnable, completed, file.path)


def complete(example: Example, callee: str, module: Module, trusted: TrustedModules, path: str) -> Example:
    """Put in front of an example what it takes from its own module and from other trusted files."""
    if example.args is not None:
        return example
    setup, expression = parse(example.setup), parse(example.expression)
    if setup is None or expression is None:
        return example
    body = [*setup.body, *expression.body]
    scene = Module(tuple(statement for statement in setup.body if isinstance(statement, ast.ImportFrom)))
    own = [statement for statement in setup.body if not _imports(statement, callee, trusted)]
    bound = {name for statement in body for name in bound_names(statement)}
    wrapper = ast.parse("def example():\n    pass").body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.body = [*own, *expression.body]
    names = free_names(wrapper) - bound - {callee}
    imported = needed_for(bound - {callee}, scene, "", trusted, path).statements
    around = needed_for(names, module, callee, trusted, path).statements
    lines = [unparse(statement) for statement in (*around, *imported, *own)]
    text = "\n".join(line for line in lines if line)
    if len(text) > MAX_SETUP:
        return example
    return replace(example, setup=f"{text}\n" if text else "")


def _imports(statement: ast.stmt, callee: str, trusted: TrustedModules) -> bool:
    """Say whether a statement imports the function itself or something of the trusted files."""
    if isinstance(statement, ast.ImportFrom):
        return trusted.knows(statement) or any(alias.name == callee for alias in statement.names)
    return False


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
