"""Trusted functions as references, with their examples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from codeguard.behavior.matching.claims import Features, function_features
from codeguard.behavior.matching.stubs import is_declaration, is_overload
from codeguard.behavior.source.definitions import (
    Definition,
    Module,
    definitions,
    dotted_uses,
    parse_or_none,
    read_module,
    unparse,
)
from codeguard.behavior.source.importing import Home
from codeguard.behavior.source.layout import part_of
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.names import bound_names, free_names
from codeguard.behavior.source.needed import (
    NO_MODULES,
    POSTPONED,
    Collected,
    future_annotations_import,
    needed_for,
    put_together,
)
from codeguard.behavior.source.surroundings import Runnable, Surroundings, surroundings
from codeguard.behavior.source.variables import NOTHING_CALLED, Called
from codeguard.behavior.specs.calls import positional
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Example
from codeguard.errors import SpecError
from codeguard.models import SourceFile, parts_digest

MAX_AROUND = 200_000  # characters of trusted code that an example may include
NO_EXAMPLES: Mapping[str, Sequence[Example]] = {}
NO_RECORDS: Mapping[tuple[str, str], Sequence[Example]] = {}


@dataclass(frozen=True)
class Reference:
    """A trusted function with its features and examples.

    The code that it needs to run is extracted when first used, because most references of a large
    corpus never are.
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
    def surroundings(self) -> Surroundings:
        """The statements of the trusted files that it needs."""
        return surroundings(self.definition, self.module, self.trusted, self.path)

    @cached_property
    def usable(self) -> Runnable | None:
        """The function with the code it needs; None if it is too large or nested too deeply."""
        tree = self.trusted.tree
        return self.surroundings.runnable(Home(tree, self.path) if tree.has(self.path) else None)

    @property
    def runnable(self) -> Runnable:
        """The function with the code it needs, for a reference that is usable."""
        if self.usable is None:
            raise SpecError(f"{self.origin} is too large or nested too deeply to be run")
        return self.usable

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples, each with the code that it needs from its module."""
        return tuple(
            with_needed_code(
                example, self.name, self.module, self.trusted, self.path, lambda: self.surroundings.called
            )
            for example in self.written
        )

    @cached_property
    def digest(self) -> str:
        """A digest of the source with the code it needs, and of the examples."""
        parts = [self.runnable.source, self.runnable.target]
        parts += [example.fingerprint() for example in self.examples]
        return parts_digest(*parts)


def references_of(
    file: SourceFile,
    trusted: TrustedModules = NO_MODULES,
    tested: Mapping[str, Sequence[Example]] = NO_EXAMPLES,
    recorded: Mapping[tuple[str, str], Sequence[Example]] = NO_RECORDS,
) -> Iterator[Reference]:
    """Yield the functions and methods of a file that callers can reach.

    `tested` are examples by function name, `recorded` those by path and qualified name.
    """
    if file.language != "python":
        return
    module = trusted.modules.get(file.path) or read_module(file.text)
    for definition in definitions(module.statements):
        node = definition.node
        declared = is_declaration(node, file.path) or is_overload(node, module.statements)
        if not definition.nested and not declared:
            shown = [_placed(example, definition) for example in tested.get(definition.name, ())]
            own = () if definition.is_setter else recorded.get((file.path, definition.qualified_name), ())
            written = (*docstring_examples(definition, file.path), *shown, *own)
            yield Reference(definition, function_features(definition), written, file.path, module, trusted)


def _placed(example: Example, definition: Definition) -> Example:
    args, kwargs = positional(example.args or (), example.kwargs, definition.parameters)
    return replace(example, args=args, kwargs=kwargs)


def with_needed_code(
    example: Example,
    callee: str,
    module: Module,
    trusted: TrustedModules,
    path: str,
    called: Callable[[], Called] = lambda: NOTHING_CALLED,
) -> Example:
    """Return an example with the code that it needs from its module and from other trusted files.

    What two files call by one name is called as in the function's own code, which `called` gives.
    The class of a recorded method call is the candidate's own, like the method itself.
    """
    if example.args is not None:
        return example
    callee = example.callee.partition(".")[0] if "." in example.callee else callee
    setup, expression = parse_or_none(example.setup), parse_or_none(example.expression)
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
    uses = dotted_uses(wrapper)
    collected = Collected()
    imported = needed_for(bound - {callee}, scene, "", trusted, path, collected=collected, uses=uses)
    around = needed_for(names, module, callee, trusted, path, collected=collected, uses=uses)
    both = replace(around, statements=(*around.statements, *imported.statements))
    before = called() if imported.borrowed or around.borrowed else NOTHING_CALLED
    both, _ = put_together(both, collected, [scene, module], body, before)
    texts = tuple(dict.fromkeys(text for item in both.statements if (text := part_of(item).plain)))
    own_future = future_annotations_import(module.statements) is not None
    # Annotations of fields may refer to later definitions.
    if (own_future or imported.postponed or around.postponed) and any("class " in text for text in texts):
        texts = (part_of(POSTPONED).plain, *texts)
    if sum(map(len, texts)) > MAX_AROUND:
        return example
    return replace(example, setup="".join(f"{unparse(item)}\n" for item in own), around=texts)


def _imports(statement: ast.stmt, callee: str, trusted: TrustedModules) -> bool:
    """Return whether a statement imports the function itself or something from the trusted files."""
    if isinstance(statement, ast.ImportFrom):
        return trusted.is_from_corpus(statement) or any(alias.name == callee for alias in statement.names)
    return False
