"""Trusted functions as references, with their examples."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from codeguard.analysis.python.bindings import name_bound_by
from codeguard.behavior.matching.claims import Features
from codeguard.behavior.source.definitions import (
    Definition,
    Module,
    parse_or_none,
    unparse,
)
from codeguard.behavior.source.import_paths import is_known
from codeguard.behavior.source.importing import NO_MODULES, Home, TrustedModules
from codeguard.behavior.source.layout import plain_source
from codeguard.behavior.source.surroundings import (
    Runnable,
    Surroundings,
    bound_names,
    free_names,
    future_annotations_import,
    needed_for,
    surroundings,
)
from codeguard.behavior.specs.assertions import MAX_EXAMPLES, example_from
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Example, positional
from codeguard.behavior.specs.facts import FileFacts, FunctionFacts, file_facts
from codeguard.errors import SpecError
from codeguard.models import SourceFile, parts_digest, text_digest

MAX_AROUND = 200_000  # characters of trusted code that an example may include
NO_EXAMPLES: Mapping[str, Sequence[Any]] = {}


@dataclass(frozen=True)
class Reference:
    """A trusted function with its features and examples.

    Its file is parsed, and the code that it needs to run extracted, when first used, because most references of a
    large corpus never are. `shown` are examples of its name in trusted tests. `whose` module it is
    in, "" for the team's own: what is everyone's convicts nobody.
    """

    facts: FunctionFacts = field(repr=False)
    path: str
    text: str = field(repr=False)
    trusted: TrustedModules = field(repr=False)
    shown: tuple[Example, ...] = ()
    whose: str = ""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.facts.name

    @property
    def qualified_name(self) -> str:
        """The name with the class as a prefix."""
        return self.facts.qualified_name

    @property
    def features(self) -> Features:
        """What it is found by."""
        return self.facts.features

    @property
    def prose(self) -> str:
        """Its name and description."""
        return f"{self.name} {self.definition.docstring}"

    @property
    def origin(self) -> str:
        """File and line, or whose module and line."""
        return f"{self.whose or self.path}:{self.facts.line}"

    @cached_property
    def module(self) -> Module:
        """The statements of its file."""
        return self.trusted.module_of(self.path, self.text)

    @cached_property
    def definition(self) -> Definition:
        """The function in its file."""
        return self.module.listed[self.facts.place]

    @property
    def has_examples(self) -> bool:
        """Whether anything shows what it returns."""
        return self.facts.documented or bool(self.shown)

    @cached_property
    def written(self) -> tuple[Example, ...]:
        """The examples as they are written: in its docstring, in tests."""
        if not self.has_examples:
            return ()
        own = docstring_examples(self.definition, self.path) if self.facts.documented else ()
        return (*own, *(_placed(example, self.definition) for example in self.shown))

    @property
    def home(self) -> Home | None:
        """Its file among the trusted ones."""
        tree = self.trusted.tree
        return Home(tree, self.path) if tree.has(self.path) else None

    @cached_property
    def surroundings(self) -> Surroundings:
        """The statements of the trusted files that it needs."""
        return surroundings(self.definition, self.module)

    @cached_property
    def usable(self) -> Runnable | None:
        """The function with the code it needs; None if it is too large or nested too deeply."""
        return self.surroundings.runnable(self.home)

    @property
    def runnable(self) -> Runnable:
        """The function with the code it needs, for a reference that is usable."""
        if self.usable is None:
            raise SpecError(f"{self.origin} is too large or nested too deeply to be run")
        return self.usable

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples, each with the code that it needs from its module."""
        return tuple(with_needed_code(item, self.name, self.module) for item in self.written)

    @cached_property
    def basis(self) -> str:
        """A digest of what all that can be said of it depends on; it takes none of its source together."""
        home = self.home
        return parts_digest(
            self.origin,
            self.qualified_name,
            text_digest(self.text),
            home.digest() if home is not None else "",
            *(example.fingerprint() for example in self.shown),
        )

    @cached_property
    def digest(self) -> str:
        """A digest of the source with the code it needs, and of the examples."""
        home = self.runnable.home
        parts = [self.runnable.source, self.runnable.target, *([] if home is None else [home.digest()])]
        parts += [example.fingerprint() for example in self.examples]
        return parts_digest(*parts)


def references_of(
    file: SourceFile,
    trusted: TrustedModules = NO_MODULES,
    tested: Mapping[str, Sequence[Any]] = NO_EXAMPLES,
    facts: FileFacts | None = None,
) -> Iterator[Reference]:
    """Yield the functions and methods of a file that callers can reach.

    `tested` are examples by function name, of `shown_in`. Without `facts` they are derived from the file.
    """
    if file.language != "python":
        return
    if facts is None:
        facts = file_facts(file.path, trusted.module_of(file.path, file.text))
    for item in facts.functions:
        shown = map(example_from, tested.get(item.name, ())[:MAX_EXAMPLES])
        yield Reference(item, file.path, file.text, trusted, tuple(shown))


def _placed(example: Example, definition: Definition) -> Example:
    args, kwargs = positional(example.args or (), example.kwargs, definition.parameters)
    return replace(example, args=args, kwargs=kwargs)


def with_needed_code(example: Example, callee: str, module: Module) -> Example:
    """Return an example with the code that it needs from the function's file.

    What it imports beside that stays an import. The class of a method's call is the candidate's own, like the method
    itself.
    """
    if example.args is not None:
        return example
    callee = example.callee.partition(".")[0] if "." in example.callee else callee
    setup, expression = parse_or_none(example.setup), parse_or_none(example.expression)
    if setup is None or expression is None:
        return example
    used = _names_beside(callee, [*setup.body, *expression.body])
    own = [kept for item in setup.body if (kept := _without_known(item, used, callee, module)) is not None]
    bound = {name for statement in (*own, *expression.body) for name in bound_names(statement)}
    wrapper = ast.parse("def example():\n    pass").body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.body = [*own, *expression.body]
    around = needed_for(free_names(wrapper, Module((wrapper,))) - bound - {callee}, module, callee)
    texts = tuple(dict.fromkeys(text for item in around.statements if (text := plain_source(item))))
    # Annotations of fields may refer to later definitions.
    future = future_annotations_import(module.statements)
    if future is not None and any("class " in text for text in texts):
        texts = (plain_source(future), *texts)
    if sum(map(len, texts)) > MAX_AROUND:
        return example
    return replace(example, setup="".join(f"{unparse(item)}\n" for item in own), around=texts)


def _names_beside(callee: str, statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements use, except for the modules that the function is taken from."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    modules = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == callee}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in modules}


def _without_known(statement: ast.stmt, used: Set[str], callee: str, module: Module) -> ast.stmt | None:
    """Return an import without what is not used, is the function itself, or has its name in the function's file."""
    if isinstance(statement, ast.Import):
        names = [item for item in statement.names if is_known(item.name) or name_bound_by(item) in used]
        return ast.Import(names) if names else None
    if not isinstance(statement, ast.ImportFrom) or (
        not statement.level and is_known(statement.module or "")
    ):
        return statement
    names = [
        item
        for item in statement.names
        if item.name != callee
        and (item.name == "*" or name_bound_by(item) in used)
        and (item.asname or item.name not in module.bound_names)
    ]
    return ast.ImportFrom(statement.module, names, statement.level) if names else None
