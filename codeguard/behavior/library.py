"""What is known of how functions should behave: hand-written specs and trusted functions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from codeguard.behavior import tomlspecs
from codeguard.behavior.examples import Spec
from codeguard.behavior.matching import Features, ReferenceIndex, Similarity, words
from codeguard.behavior.modules import TrustedModules
from codeguard.behavior.references import Reference, references_of
from codeguard.behavior.source import read_module
from codeguard.behavior.surroundings import NO_MODULES
from codeguard.behavior.testexamples import merged_examples, test_examples
from codeguard.models import SourceFile


@dataclass(frozen=True, slots=True)
class SpecCoverage:
    """How much of the trusted code says how it should behave.

    `functions` counts trusted functions and methods that a call can reach,
    `with_examples` those with at least one example, `hand_written` the specs
    from TOML files.
    """

    functions: int
    with_examples: int
    hand_written: int


@dataclass(frozen=True)
class SpecLibrary:
    """Specs and references, immutable; `with_trusted` gives a larger one.

    `files` are the digests of the trusted files that the references are from.
    """

    specs: tuple[Spec, ...] = ()
    references: tuple[Reference, ...] = ()
    modules: TrustedModules = field(default=NO_MODULES, repr=False)
    files: tuple[str, ...] = ()

    @classmethod
    def load(cls, folders: Sequence[Path] = (), *, shipped: bool = True) -> SpecLibrary:
        """Read hand-written specs: the user's own folders first, then those that come with codeguard.

        Raises SpecError, one line, where a file is malformed. A function of
        the user's own spec is not held to a shipped spec of the same name.
        """
        own = [spec for folder in folders for spec in tomlspecs.load_folder(Path(folder))]
        taken = {words(name) for spec in own for name in (spec.name, *spec.aliases)}
        rest = [spec for spec in tomlspecs.shipped() if words(spec.name) not in taken] if shipped else []
        return cls(specs=(*own, *rest))

    def with_trusted(self, files: Iterable[SourceFile], tests: Iterable[SourceFile] = ()) -> SpecLibrary:
        """Return this library with what verified trusted text says of its own functions.

        `tests` are trusted test files: their assertions are read, never run.
        """
        read = list(files)
        tested = merged_examples(test_examples(file) for file in tests)
        modules = {file.path: read_module(file.text) for file in read if file.language == "python"}
        trusted = TrustedModules({**self.modules.modules, **modules})
        references = [reference for file in read for reference in references_of(file, trusted, tested)]
        digests = (*self.files, *(file.sha256 for file in read))
        return SpecLibrary(self.specs, (*self.references, *references), trusted, digests)

    @cached_property
    def digest(self) -> str:
        """A digest that changes when an expectation changes."""
        parts = sorted([*(spec.digest for spec in self.specs), *self.files])
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def coverage(self) -> SpecCoverage:
        """Count the trusted functions and those with examples."""
        with_examples = sum(bool(reference.written) for reference in self.references)
        return SpecCoverage(len(self.references), with_examples, len(self.specs))

    def specs_for(self, wanted: Features) -> tuple[Spec, ...]:
        """Return the hand-written specs that bear a function's name."""
        return self._by_name.get(wanted.name, ())

    def references_for(self, wanted: Features) -> list[tuple[Reference, Similarity]]:
        """Return the references that a function may be meant to be, the best first."""
        return [(self.references[index], likeness) for index, likeness in self._index.candidates(wanted)]

    def lookalikes_of(self, wanted: Features) -> list[Reference]:
        """Return the trusted functions that a reader would take a function for, the most alike first."""
        return [self.references[index] for index in self._index.lookalikes(wanted)]

    @cached_property
    def _by_name(self) -> dict[tuple[str, ...], tuple[Spec, ...]]:
        found: dict[tuple[str, ...], tuple[Spec, ...]] = {}
        for spec in self.specs:
            for name in dict.fromkeys(words(name) for name in (spec.name, *spec.aliases)):
                found[name] = (*found.get(name, ()), spec)
        return found

    @cached_property
    def _index(self) -> ReferenceIndex:
        return ReferenceIndex([reference.features for reference in self.references])
