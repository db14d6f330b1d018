"""Turn a recording into a file of recorded specs: a few varied calls of those that hold in the sandbox."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codeguard.behavior.budget import Budget
from codeguard.behavior.learning.samples import Privacy, Sample, example_of_sample, samples_of
from codeguard.behavior.specs.examples import Example, Raises, Spec
from codeguard.behavior.specs.files import RECORDED_NAME, SpecFile
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference, with_needed_code
from codeguard.behavior.specs.toml import merged_specs, recorded_specs, recorded_specs_text
from codeguard.behavior.verdict.comparison import (
    INCONCLUSIVE_EXCEPTIONS,
    Comparison,
    compare_with_example,
    same_value,
)
from codeguard.behavior.verdict.profiles import is_stable
from codeguard.behavior.verdict.running import (
    Batch,
    BudgetSpentError,
    CallRunner,
    Meter,
    Runs,
    Steps,
    call_of,
    drive,
    metered,
)
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.discovery import discover, read_file
from codeguard.corpus.secrets import without_secrets
from codeguard.errors import SpecError
from codeguard.models import SourceFile
from codeguard.sandbox.model import CallResult, Level, Outcome
from codeguard.syntax.capabilities import CONVICTING, observed_effects

Observation = tuple[Sample, Example]
"""A recorded call, and the example made from it, which still has to hold in the sandbox."""
KEPT = 16  # cases per function
# Exceptions of these types may come from the sandbox instead of the function.
_ENVIRONMENTAL = INCONCLUSIVE_EXCEPTIONS | {"NameError", "PermissionError", "OSError", "RecursionError"}


def confirm(
    reference: Reference, observed: Sequence[Observation], level: Level, budget: Budget
) -> Steps[list[Observation]]:
    """Run a trusted function on recorded calls; return those with the recorded result in two worlds."""
    runner = CallRunner(reference.runnable, level, budget)
    whole = [with_needed_code(example, reference.name, reference.module) for _, example in observed]
    made = [call_of(example, reference.runnable) for example in whole]
    pairs = [(item, call) for item, call in zip(observed, made, strict=True) if call is not None]
    calls = tuple(call for _, call in pairs)
    if not calls:
        return []
    first, second = yield from runner.run(Batch(calls), Batch(calls[::-1], other=True))
    # Where the sandbox refused an operation, a result that is not compared with the recorded one shows nothing.
    refused = any(capability.kind in CONVICTING for capability in observed_effects(first.effects))
    found: list[Observation] = []
    for ((sample, example), call), answer, again in zip(pairs, first.calls, second.calls[::-1], strict=False):
        confirmed = _confirmed(sample, example, answer, refused)
        if confirmed is not None and is_stable(answer, again, call):
            found.append((sample, confirmed))
    return found


def _confirmed(sample: Sample, example: Example, answer: CallResult, refused: bool) -> Example | None:
    """Return the example with its expected result; None if the sandbox gave another result."""
    if not sample.kind:
        is_own = answer.outcome is Outcome.RAISED and not _ENVIRONMENTAL.intersection(answer.exception)
        return replace(example, expected=Raises(answer.exception[0])) if is_own else None
    if answer.outcome is not Outcome.RETURNED:
        return None
    if example.expected is not None:
        return example if compare_with_example(example.expected, answer) is Comparison.SAME else None
    return None if refused or same_value(answer.value, answer.value) is not Comparison.SAME else example


def select(observed: Iterable[Observation], most: int) -> list[Example]:
    """Return at most `most` examples, short ones first, and one of each way to end before a second one of any."""
    ways: Counter[object] = Counter()
    ranked: list[tuple[int, Example]] = []
    for sample, example in sorted(observed, key=lambda item: (len(item[0].text), item[0].text)):
        way = (sample.line, sample.kind, tuple(text[:1] for text in (*sample.args, *sample.kwargs)))
        ranked.append((ways[way], example))
        ways[way] += 1
    return [example for _, example in sorted(ranked, key=lambda item: item[0])[:most]]


MOST_BYTES = 1_500_000  # bytes of a file of recorded specs; larger files are not indexed
ABREAST = 64
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class TrustedTree:
    """A trusted folder (or a file's folder) and its Python files, with paths relative to it."""

    folder: Path
    files: tuple[SourceFile, ...]

    @property
    def output(self) -> Path:
        """The file for its recorded specs."""
        return self.folder / RECORDED_NAME

    @property
    def package(self) -> str:
        """The folder's name if it is itself a package, or ""."""
        return self.folder.resolve().name if any(file.path == "__init__.py" for file in self.files) else ""

    def recorded(self) -> tuple[Spec, ...]:
        """Return the existing recorded specs.

        Raises:
            SpecError: the file is malformed or cannot be read.
        """
        try:
            data = self.output.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise SpecError(f"cannot read {self.output}", got=error.strerror) from None
        return recorded_specs(SpecFile(self.output, data))


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of a recording for one trusted tree.

    `functions` are those that callers can reach, `called` those with recorded calls, and those `with_evidence` have
    examples of any kind, with this recording or before it. `calls` are in the file now, `new_calls` added by this run,
    `stale_calls` those of functions that no longer exist. Left out were calls that look like secrets or contain local
    paths (`private`), and those of which the sandbox gave another result (`unrepeatable`). `unfinished` functions were
    not run within the budget, and nothing new of them is kept.
    """

    path: Path
    text: str
    functions: int
    called: int
    with_evidence_before: int
    with_evidence: int
    calls: int
    new_calls: int
    stale_calls: int
    left_out_private: int
    left_out_unrepeatable: int
    unfinished: int


def read_tree(path: Path) -> TrustedTree:
    """Read the Python files of a trusted path; secrets are masked as in an index."""
    folder = path if path.is_dir() else path.parent
    found = discover([path], root=folder, withhold_secrets=True)
    files = [
        without_secrets(chunk_file(item.name, read_file(item)))
        for item in found.files
        if item.name.endswith(".py") or item.name.rpartition("/")[2] == RECORDED_NAME
    ]
    return TrustedTree(folder, tuple(files))


def grouped(
    lines: Iterable[bytes], trees: Sequence[TrustedTree]
) -> list[dict[tuple[str, str], list[Sample]]]:
    """Return the samples of each tree, by path of the file in it and name of the function."""
    roots = [str(tree.folder.resolve()) + os.sep for tree in trees]
    found: list[dict[tuple[str, str], list[Sample]]] = [{} for _ in trees]
    for sample in samples_of(lines):
        for place, root in enumerate(roots):
            if sample.path.startswith(root):
                key = Path(sample.path[len(root) :]).as_posix(), sample.name
                found[place].setdefault(key, []).append(sample)
                break
    return found


class Learner:
    """Turns recorded samples into specs; the sandbox decides which of them hold."""

    def __init__(
        self, sandbox: Runs, privacy: Privacy, *, most: int = KEPT, seconds: float = math.inf
    ) -> None:
        """Take at most `seconds` CPU seconds of the sandbox; a child of one function has a limit of its own."""
        self._sandbox = sandbox
        self._meter = Meter(seconds)
        self._privacy = privacy
        self._most = most
        self._private = 0

    def learn(
        self,
        tree: TrustedTree,
        samples: Mapping[tuple[str, str], Sequence[Sample]],
        progress: Progress = lambda stage, done, total: None,
    ) -> Learned:
        """Return the file of recorded specs of a tree, with what is new in it.

        Raises:
            SpecError: the existing file is malformed.
        """
        old = tree.recorded()
        plain = SpecLibrary().with_trusted(
            [file for file in tree.files if file.path.endswith(".py")], package=tree.package
        )
        by_key = {
            (item.path, item.qualified_name): item for item in plain.references if not item.facts.is_setter
        }
        self._private = 0
        work = [
            (by_key[key], observed)
            for key, rows in sorted(samples.items())
            if key in by_key
            and (observed := self._observations(by_key[key], rows))
            and by_key[key].usable is not None
        ]
        new: list[Spec] = []
        unrepeatable = unfinished = 0
        for start in range(0, len(work), ABREAST):
            part = work[start : start + ABREAST]
            answers = drive(self._sandbox, [self._metered(*item) for item in part])
            for (reference, observed), found in zip(part, answers, strict=True):
                unfinished += found is None
                unrepeatable += len(observed) - len(found or ())
                cases = tuple(select(found or (), self._most))
                if cases:
                    name, path = reference.qualified_name, reference.path
                    new.append(Spec(name, (), "", cases, "recorded", path))
            progress("running recorded calls in the sandbox", start + len(part), len(work))
        specs = self._limited(merged_specs(old, new, self._most))
        shown = {key for key, reference in by_key.items() if reference.written}
        before, after = (shown | {spec.key for spec in part if spec.key in by_key} for part in (old, specs))
        return Learned(
            path=tree.output,
            text=recorded_specs_text(specs) if specs else "",
            functions=len(by_key),
            called=sum(key in by_key for key in samples),
            with_evidence_before=len(before),
            with_evidence=len(after),
            calls=_count(specs),
            new_calls=_count(specs) - _count(old),
            stale_calls=_count(spec for spec in old if spec.key not in by_key),
            left_out_private=self._private,
            left_out_unrepeatable=unrepeatable,
            unfinished=unfinished,
        )

    def _observations(self, reference: Reference, rows: Sequence[Sample]) -> list[Observation]:
        parameters = [parameter.name for parameter in reference.definition.parameters]
        found: dict[str, Observation] = {}
        for sample in rows:
            names = (["self", *parameters]) if len(sample.args) > len(parameters) else parameters
            if self._privacy.refuses(sample, names):
                self._private += 1
                continue
            example = example_of_sample(sample, reference.definition)
            if example is not None:
                found.setdefault(example.fingerprint(), (sample, example))
        return list(found.values())

    def _metered(
        self, reference: Reference, observed: Sequence[Observation]
    ) -> Steps[list[Observation] | None]:
        """Return the observations that hold; None if the budget is spent."""
        try:
            steps = confirm(reference, observed, self._sandbox.level, Budget())
            return (yield from metered(self._meter, steps))
        except BudgetSpentError:
            return None

    def _limited(self, specs: Sequence[Spec]) -> tuple[Spec, ...]:
        """Return the specs without as many cases as needed to limit the file's size.

        Cases of the functions with the most cases are dropped first.
        """
        most = self._most
        while most > 1 and len(recorded_specs_text(specs).encode()) > MOST_BYTES:
            most -= 1
            specs = [Spec(spec.name, (), "", spec.cases[:most], spec.origin, spec.path) for spec in specs]
        return tuple(specs)


def _count(specs: Iterable[Spec]) -> int:
    return sum(len(spec.cases) for spec in specs)
