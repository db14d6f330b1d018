"""The library of expected behavior: hand-written specs and trusted functions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from codeguard.analysis.python.counterparts import name_words
from codeguard.behavior.matching.claims import Features, ReferenceIndex, Similarity
from codeguard.behavior.matching.fingerprints import FingerprintIndex, Kinds, is_short, worth_probing
from codeguard.behavior.source.import_paths import KNOWN_PACKAGES
from codeguard.behavior.source.importing import NO_MODULES, Tree, TrustedModules
from codeguard.behavior.specs.assertions import shown_in
from codeguard.behavior.specs.everyones import Everyones, Shelf
from codeguard.behavior.specs.examples import Spec
from codeguard.behavior.specs.facts import FileFacts, file_facts
from codeguard.behavior.specs.files import SHIPPED, SpecFile, spec_files
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.behavior.specs.toml import parse_specs
from codeguard.models import SourceFile, SpecCoverage, parts_digest

MOST_NAMESAKES = 3


@dataclass(frozen=True)
class SpecLibrary:
    """Specs and references. The library is immutable; `with_trusted` returns a larger one."""

    specs: tuple[Spec, ...] = ()
    references: tuple[Reference, ...] = ()
    modules: TrustedModules = field(default=NO_MODULES, repr=False)
    locked: Sequence[Shelf] = field(default=(), repr=False)
    standard: Mapping[str, Sequence[str]] | None = field(default=None, repr=False)  # its names, where known

    @classmethod
    def load(cls, folders: Sequence[Path] = (), *, shipped: bool = True) -> SpecLibrary:
        """Read the hand-written specs of the user's folders, and those shipped with codeguard.

        Raises:
            SpecError: a folder or file cannot be read or is malformed.
        """
        return cls.of(spec_files(folders), spec_files([SHIPPED] if shipped else []))

    @classmethod
    def of(cls, own: Iterable[SpecFile], shipped: Iterable[SpecFile]) -> SpecLibrary:
        """Return the library of these files, the user's own first.

        A shipped spec is dropped if the user has a spec for a function of the same name.

        Raises:
            SpecError: a file is malformed.
        """
        specs = [spec for file in own for spec in parse_specs(file)]
        own_names = {name_words(name) for spec in specs for name in (spec.name, *spec.aliases)}
        known = [replace(spec, shipped=True) for file in shipped for spec in parse_specs(file)]
        rest = [spec for spec in known if name_words(spec.name) not in own_names]
        return cls(specs=(*specs, *rest))

    def with_trusted(
        self,
        files: Iterable[SourceFile],
        tests: Iterable[SourceFile] = (),
        *,
        package: str = "",
        facts: Mapping[str, FileFacts] | None = None,
    ) -> SpecLibrary:
        """Return this library with the functions of verified trusted files as references.

        `package` is the import name of the folder that the paths are relative to, if it is itself a
        package. `tests` are trusted test files, whose assertions are read, never run. `facts` are those of files by
        path; those of other files are derived.
        """
        read = sorted(files, key=lambda file: file.path)  # the order decides between equal matches
        asserting = sorted(tests, key=lambda file: file.path)
        known = facts or {}
        tested: dict[str, list[Any]] = {}
        for file in asserting:
            own = known.get(file.path)
            shown = shown_in(file) if own is None or own.shown is None else own.shown
            for name, examples in shown.items():
                tested.setdefault(name, []).extend(examples)
        python = [file for file in read if file.language == "python"]
        tree = Tree({**self.modules.tree.texts, **{file.path: file.text for file in python}}, package)
        packages = dict(self.modules.packages)
        trusted = TrustedModules(tree, packages)
        references: list[Reference] = []
        for file in python:
            own = known.get(file.path) or file_facts(file.path, trusted.module_of(file.path, file.text))
            packages[file.path] = own.packages
            references.extend(references_of(file, trusted, tested, own))
        return replace(self, references=(*self.references, *references), modules=trusted)

    def coverage(self, given: Iterable[str] = ()) -> SpecCoverage:
        """Count the trusted functions, those with examples, and those whose file needs a missing module.

        `given` are the names of the modules that the user gives the sandbox.
        """
        with_examples = sum(reference.has_examples for reference in self.references)
        have = {*sys.stdlib_module_names, *KNOWN_PACKAGES, *given}
        missing: Counter[str] = Counter()
        for reference in self.references:
            missing.update(self.modules.packages_of(reference.path) - have)
        return SpecCoverage(len(self.references), with_examples, len(self.specs), dict(missing.most_common()))

    def specs_for(self, wanted: Features) -> tuple[Spec, ...]:
        """Return the hand-written specs for a function's name; the shipped ones describe no methods."""
        found = self._by_name.get(wanted.name, ())
        return tuple(spec for spec in found if not spec.shipped) if wanted.owner else found

    def references_for(self, wanted: Features) -> list[tuple[Reference, Similarity]]:
        """Return the references that a function may be meant to be, best match first.

        If the function's own class is among the trusted ones, methods of other classes do not
        count.
        """
        found = self._matches(wanted, lambda similarity: similarity.claimed)
        name = (wanted.owner, wanted.name)
        own = [
            pair for pair in found if wanted.owner and (pair[0].features.owner, pair[0].features.name) == name
        ]
        return own or found

    def namesakes_of(self, wanted: Features) -> list[tuple[Reference, Similarity]]:
        """Return the few trusted functions with most of a function's name, or its description, best match first."""
        if wanted.owner or wanted.bound:
            return []
        found = self._matches(wanted, lambda similarity: similarity.is_namesake)
        named = sorted(found, key=lambda pair: -pair[1].name)
        return [pair for pair in named if pair[0].usable is not None][:MOST_NAMESAKES]

    def similarity(self, wanted: Features, reference: Reference) -> Similarity:
        """Return the similarity of a function and a trusted one."""
        return self._index.compare(wanted, reference.features)

    def lookalikes_of(self, wanted: Features) -> list[Reference]:
        """Return the trusted functions that a reader would take a function for, most similar first."""
        return [item for item, _ in self._matches(wanted, lambda similarity: similarity.lookalike)]

    def _matches(
        self, wanted: Features, match: Callable[[Similarity], bool]
    ) -> list[tuple[Reference, Similarity]]:
        return [(self.references[place], found) for place, found in self._index.matches(wanted, match)]

    def met_by(
        self,
        wanted: Features,
        names: Iterable[str],
        answers: Mapping[Kinds, Sequence[str | None]] | None,
        *,
        varied: bool,
    ) -> Iterator[str]:
        """Yield all of the trusted code that a function's report depends on, as digests.

        `names` are the parts of names of modules that its file may import, `answers` its own to the probes, if asked.
        Where it was `varied`, it may be one edit away from any function.
        """
        found = self._matches(wanted, lambda pair: pair.claimed or pair.is_namesake or pair.lookalike)
        if answers is not None:
            index = self.fingerprints
            alike = [self.references[place] for place in index.matches(answers)]
            found += [(item, self.similarity(wanted, item)) for item in alike]
            yield index.view(-1, wanted)
        if varied:
            yield self._all_bases[is_short(wanted)]
        for reference, pair in found:
            yield from (reference.basis, pair.standing)
        yield str(bool(self.references))
        yield from self.modules.tree.texts_for(names)

    @cached_property
    def _all_bases(self) -> tuple[str, str]:
        """The digests of the trusted functions that are probed, and of those that have a short text."""
        probed = (self.references[place] for place in self.fingerprints.places)
        every = (probed, self.short_texts.values())
        first, second = (parts_digest(*(item.basis for item in some)) for some in every)
        return first, second

    def build_indexes(self) -> SpecLibrary:
        """Build the indexes now, so that no function's time limit is charged for them."""
        _ = self._by_name, self._index, self.fingerprints
        return self

    @cached_property
    def everyones(self) -> Everyones:
        """What is compared with where nothing of the team's own is: locked packages, and the standard library."""
        return Everyones(self.locked, self.standard)

    @cached_property
    def short_texts(self) -> Mapping[tuple[str, ...], Reference]:
        """The trusted functions with a short body by their text, each text once; see `Text.numbered`."""
        short = (item for item in self.references if is_short(item.features) and worth_probing(item.features))
        return {item.features.text.numbered: item for item in reversed(list(short))}

    @cached_property
    def fingerprints(self) -> FingerprintIndex:
        """The probes by which a function is matched to trusted ones regardless of its name."""
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
