"""What is known of how functions should behave: hand-written specs and trusted functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from codeguard.behavior.matching.claims import Features, ReferenceIndex, Similarity, name_words
from codeguard.behavior.matching.fingerprints import FingerprintIndex
from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.source.modules import TrustedModules
from codeguard.behavior.source.surroundings import NO_MODULES
from codeguard.behavior.specs.assertions import merged_examples, test_examples
from codeguard.behavior.specs.examples import Spec
from codeguard.behavior.specs.files import SHIPPED, SpecFile, spec_files
from codeguard.behavior.specs.recorded import recorded_examples
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.behavior.specs.toml import parsed
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
    """Specs and references, immutable; `with_trusted` gives a larger one."""

    specs: tuple[Spec, ...] = ()
    references: tuple[Reference, ...] = ()
    modules: TrustedModules = field(default=NO_MODULES, repr=False)

    @classmethod
    def load(cls, folders: Sequence[Path] = (), *, shipped: bool = True) -> SpecLibrary:
        """Read hand-written specs: those of the user's own folders, and those that come with codeguard.

        Raises SpecError, one line, where a folder or file cannot be read or is malformed.
        """
        return cls.of(spec_files(folders), spec_files([SHIPPED] if shipped else []))

    @classmethod
    def of(cls, own: Iterable[SpecFile], shipped: Iterable[SpecFile]) -> SpecLibrary:
        """Return the library of these files, the user's own first; SpecError where one is malformed.

        A function of the user's own spec is not held to a shipped spec of the same name.
        """
        specs = [spec for file in own for spec in parsed(file)]
        taken = {name_words(name) for spec in specs for name in (spec.name, *spec.aliases)}
        known = [replace(spec, shipped=True) for file in shipped for spec in parsed(file)]
        rest = [spec for spec in known if name_words(spec.name) not in taken]
        return cls(specs=(*specs, *rest))

    def with_trusted(
        self, files: Iterable[SourceFile], tests: Iterable[SourceFile] = (), *, package: str = ""
    ) -> SpecLibrary:
        """Return this library with what verified trusted text says of its own functions.

        `package` is what the folder is imported as that the paths are relative to, if it is a package itself.
        `tests` are trusted test files: their assertions are read, never run. Files of recorded specs
        among the trusted ones speak for the functions that they name; SpecError where one is malformed.
        """
        read = list(files)
        tested = merged_examples(test_examples(file) for file in tests)
        modules = {file.path: read_module(file.text) for file in read if file.language == "python"}
        trusted = TrustedModules({**self.modules.modules, **modules}, package)
        recorded = recorded_examples(read)
        references = [
            reference for file in read for reference in references_of(file, trusted, tested, recorded)
        ]
        return SpecLibrary(self.specs, (*self.references, *references), trusted)

    def coverage(self) -> SpecCoverage:
        """Count the trusted functions and those with examples."""
        with_examples = sum(bool(reference.written) for reference in self.references)
        return SpecCoverage(len(self.references), with_examples, len(self.specs))

    def specs_for(self, wanted: Features) -> tuple[Spec, ...]:
        """Return the hand-written specs that bear a function's name."""
        return self._by_name.get(wanted.name, ())

    def references_for(self, wanted: Features) -> list[tuple[Reference, Similarity]]:
        """Return the references that a function may be meant to be, the best first.

        A method that its own class has among the trusted ones is no method of another class.
        """
        found = [(self.references[index], likeness) for index, likeness in self._index.candidates(wanted)]
        own = [pair for pair in found if wanted.owner and _is_own(wanted, pair[0].features)]
        return own or found

    def likeness(self, wanted: Features, reference: Reference) -> Similarity:
        """Return how alike a function and a trusted one are."""
        return self._index.compare(wanted, reference.features)

    def lookalikes_of(self, wanted: Features) -> list[Reference]:
        """Return the trusted functions that a reader would take a function for, the most alike first."""
        return [self.references[index] for index in self._index.lookalikes(wanted)]

    def make_ready(self) -> SpecLibrary:
        """Make what functions are looked up in: it is ours, and no part of what a function costs."""
        _ = self._by_name, self._index, self.fingerprints
        return self

    @cached_property
    def fingerprints(self) -> FingerprintIndex:
        """The calls that trusted functions show, by which a function is found that bears another name."""
        return FingerprintIndex(self.references)

    @cached_property
    def _by_name(self) -> dict[tuple[str, ...], tuple[Spec, ...]]:
        found: dict[tuple[str, ...], tuple[Spec, ...]] = {}
        for spec in self.specs:
            for name in dict.fromkeys(name_words(name) for name in (spec.name, *spec.aliases)):
                found[name] = (*found.get(name, ()), spec)
        return found

    @cached_property
    def _index(self) -> ReferenceIndex:
        return ReferenceIndex([reference.features for reference in self.references])


def _is_own(wanted: Features, trusted: Features) -> bool:
    return (wanted.owner, wanted.name) == (trusted.owner, trusted.name)
