"""Trusted functions as references: what they are, and the examples that they come with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from codeguard.behavior.matching.claims import Features, features
from codeguard.behavior.matching.stubs import is_declaration
from codeguard.behavior.source.definitions import Definition, Module, definitions, parse, read_module, unparse
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.surroundings import (
    NO_MODULES,
    Runnable,
    bound_names,
    deferring,
    extract,
    free_names,
    needed_for,
    part_of,
)
from codeguard.behavior.specs.calls import positional
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Example
from codeguard.errors import SpecError
from codeguard.models import SourceFile, parts_digest

MAX_AROUND = 200_000  # characters that an example may take from the trusted files
NO_EXAMPLES: Mapping[str, Sequence[Example]] = {}
NO_RECORDS: Mapping[tuple[str, str], Sequence[Example]] = {}


@dataclass(frozen=True)
class Reference:
    """A trusted function: where it stands, what it says of itself, and the examples that it comes with.

    What it needs to be run is put together when it is first wanted: most
    references of a large corpus never are.
    """

    definition: Definition
    features: Features
    written: tuple[Example, ...]
    path: str
    module: Module = field(repr=False)
    trusted: TrustedModules = field(repr=False)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.definition.name

    @property
    def origin(self) -> str:
        """File and line."""
        return f"{self.path}:{self.definition.node.lineno}"

    @cached_property
    def usable(self) -> Runnable | None:
        """The function with its surroundings; None where it is too large or too deep."""
        return extract(self.definition, self.module, self.trusted, self.path)

    @property
    def runnable(self) -> Runnable:
        """The function with its surroundings, of a reference that is usable."""
        if self.usable is None:
            raise SpecError(f"{self.origin} is too large or nested too deeply to be run")
        return self.usable

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples, with what each takes from the module around it."""
        return tuple(
            complete(example, self.name, self.module, self.trusted, self.path) for example in self.written
        )

    @cached_property
    def digest(self) -> str:
        """A digest of the source with its surroundings and of the examples."""
        parts = [self.runnable.source, self.runnable.target]
        parts += [example.fingerprint() for example in self.examples]
        return parts_digest(*parts)


def references_of(
    file: SourceFile,
    trusted: TrustedModules = NO_MODULES,
    tested: Mapping[str, Sequence[Example]] = NO_EXAMPLES,
    recorded: Mapping[tuple[str, str], Sequence[Example]] = NO_RECORDS,
) -> Iterator[Reference]:
    """Yield a file's functions and methods that a call can reach.

    `tested` are examples by the name of the function, `recorded` those by the path of the file and the
    name with that of the class.
    """
    if file.language != "python":
        return
    module = trusted.modules.get(file.path) or read_module(file.text)
    for definition in definitions(module.statements):
        if not definition.nested and not is_declaration(definition.node, file.path):
            shown = [_placed(example, definition) for example in tested.get(definition.name, ())]
            own = () if definition.sets else recorded.get((file.path, definition.qualified_name), ())
            written = (*docstring_examples(definition, file.path), *shown, *own)
            yield Reference(definition, features(definition), written, file.path, module, trusted)


def _placed(example: Example, definition: Definition) -> Example:
    args, kwargs = positional(example.args or (), example.kwargs, definition.parameters)
    return replace(example, args=args, kwargs=kwargs)


def complete(example: Example, callee: str, module: Module, trusted: TrustedModules, path: str) -> Example:
    """Put in front of an example what it takes from its own module and from other trusted files.

    The class that the method of a recorded call belongs to is the candidate's own, like the method.
    """
    if example.args is not None:
        return example
    callee = example.callee.partition(".")[0] if "." in example.callee else callee
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
    texts = tuple(dict.fromkeys(text for item in (*around, *imported) if (text := part_of(item).plain)))
    future = deferring(module.statements)
    if future is not None and any("class " in text for text in texts):  # fields may name what comes later
        texts = (part_of(future).plain, *texts)
    if sum(map(len, texts)) > MAX_AROUND:
        return example
    return replace(example, setup="".join(f"{unparse(item)}\n" for item in own), around=texts)


def _imports(statement: ast.stmt, callee: str, trusted: TrustedModules) -> bool:
    """Return whether a statement imports the function itself or something of the trusted files."""
    if isinstance(statement, ast.ImportFrom):
        return trusted.knows(statement) or any(alias.name == callee for alias in statement.names)
    return False
