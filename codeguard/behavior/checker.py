"""The behavior checker: does a function do what is known of how it should behave?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeguard.behavior.budget import Budget
from codeguard.behavior.examples import Example, Prints, Raises, Returns
from codeguard.behavior.library import SpecLibrary
from codeguard.behavior.matching import Features, features
from codeguard.behavior.references import Reference
from codeguard.behavior.running import Runner, Runs, Steps, call_of, drive
from codeguard.behavior.source import Definition, find, read_module
from codeguard.behavior.surroundings import Runnable, extract
from codeguard.behavior.values import Comparison, magnitude, meets
from codeguard.models import CheckReport, Chunk, ChunkKind, Coverage, SourceFile, Verdict
from codeguard.sandbox.model import Call, CallResult, JobResult, Level, Outcome, Status

POLICY_VERSION = "behavior/1"
WINDOW = 64  # checks that run abreast
CHECKED = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})


@dataclass(frozen=True, slots=True)
class Candidate:
    """The function under examination, read from its chunk and its file."""

    definition: Definition
    runnable: Runnable
    features: Features


@dataclass(frozen=True, slots=True)
class Expectation:
    """The examples that a candidate has to meet, and who says so."""

    examples: tuple[Example, ...]
    origin: str
    reference: Reference | None = None


class BehaviorChecker:
    """Checks functions of unknown origin against a library, inside a sandbox.

    `seed` is the installation's secret: it decides the generated inputs and
    the order of the calls. Below `required_level` nothing is run.
    """

    def __init__(
        self,
        library: SpecLibrary,
        sandbox: Runs,
        *,
        seed: bytes,
        budget: Budget | None = None,
        required_level: Level = Level.L0,
    ) -> None:
        self._library = library
        self._sandbox = sandbox
        self._seed = seed
        self._budget = budget or Budget()
        self._required_level = required_level

    def check(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return what is found out about one function."""
        return drive(self._sandbox, [self._check(chunk, file)])[0]

    def check_many(self, subjects: Sequence[tuple[Chunk, SourceFile]]) -> Iterator[CheckReport]:
        """Yield the reports of many functions, in order; batches are spread over the sandbox's workers."""
        for start in range(0, len(subjects), WINDOW):
            window = subjects[start : start + WINDOW]
            yield from drive(self._sandbox, [self._check(chunk, file) for chunk, file in window])

    def cache_key(self, chunk: Chunk, file: SourceFile) -> str | None:
        """Return a digest over everything that the verdict depends on; None where no check would run."""
        if self._sandbox.level < self._required_level:
            return None
        candidate = read_candidate(chunk, file)
        if isinstance(candidate, str):
            return None
        expectations = self._expectations(candidate)
        if not expectations:
            return None
        parts = [
            POLICY_VERSION,
            self._budget.fingerprint(),
            self._sandbox.level.name,
            hashlib.sha256(b"codeguard seed id\0" + self._seed).hexdigest(),
            candidate.runnable.source,
            candidate.runnable.target,
            candidate.definition.docstring,
        ]
        for expectation in expectations:
            parts.append(expectation.origin)
            parts.append(expectation.reference.digest if expectation.reference else "")
            parts.extend(example.fingerprint() for example in expectation.examples)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _check(self, chunk: Chunk, file: SourceFile) -> Steps[CheckReport]:
        level = self._sandbox.level
        if level < self._required_level:
            reason = f"the sandbox offers {level.name}, {self._required_level.name} is required"
            return CheckReport(Verdict.UNSUPPORTED, reason, level.name)
        candidate = read_candidate(chunk, file)
        if isinstance(candidate, str):
            return CheckReport(Verdict.NO_SIGNAL, candidate, level.name)
        expectations = self._expectations(candidate)
        if not expectations:
            return CheckReport(Verdict.NO_SIGNAL, "no spec and no trusted function like it", level.name)
        report = CheckReport(Verdict.NO_SIGNAL, "nothing to call", level.name)
        for expectation in expectations:
            report = yield from self._examine(candidate, expectation)
            if report.verdict is not Verdict.NO_SIGNAL:
                return report
        return report

    def _expectations(self, candidate: Candidate) -> list[Expectation]:
        found = [Expectation(spec.cases, spec.origin) for spec in self._library.specs_for(candidate.features)]
        for reference, _ in self._library.references_for(candidate.features)[:1]:
            if reference.examples:
                found.append(Expectation(reference.examples, reference.origin, reference))
        return [expectation for expectation in found if _takes(candidate, expectation.examples)]

    def _examine(self, candidate: Candidate, expectation: Expectation) -> Steps[CheckReport]:
        level = self._sandbox.level
        examples = list(expectation.examples)
        if expectation.reference is not None:
            examples = yield from self._confirmed(expectation.reference, examples)
        pairs = [(example, call_of(example, candidate.runnable)) for example in examples]
        runnable = [(example, call) for example, call in pairs if call is not None]
        if not runnable:
            return CheckReport(Verdict.NO_SIGNAL, "no usable example", level.name)
        runner = Runner(candidate.runnable, level, self._budget)
        result = yield from runner.run([call for _, call in runnable])
        return judge(
            expectation, [example for example, _ in runnable], [call for _, call in runnable], result
        )

    def _confirmed(self, reference: Reference, examples: Sequence[Example]) -> Steps[list[Example]]:
        """Keep the examples that the trusted function itself meets; documentation may be wrong, too."""
        pairs = [(example, call_of(example, reference.runnable)) for example in examples]
        runner = Runner(reference.runnable, self._sandbox.level, self._budget)
        calls = [call for _, call in pairs if call is not None]
        result = yield from runner.run(calls)
        if result.status is not Status.COMPLETED:
            return [
                example for example in examples if example.args is not None and example.expected is not None
            ]
        kept: list[Example] = []
        answers = iter(result.calls)
        for example, call in pairs:
            if call is None:
                continue
            confirmed = _confirm(example, next(answers))
            if confirmed is not None:
                kept.append(confirmed)
        return kept


def _confirm(example: Example, answer: CallResult) -> Example | None:
    if example.expected is None:
        if answer.outcome is not Outcome.RETURNED:
            return None
        expected = Prints(answer.stdout) if answer.value is None and answer.stdout else Returns(answer.value)
        return Example(
            example.args,
            example.kwargs,
            expected,
            example.origin,
            example.expression,
            example.setup,
            example.callee,
        )
    return example if meets(example.expected, answer, _scale(example)) is Comparison.SAME else None


def read_candidate(chunk: Chunk, file: SourceFile) -> Candidate | str:
    """Return the function that a chunk stands for, or why it cannot be called."""
    if chunk.kind not in CHECKED:
        return "not a function"
    if chunk.language != "python":
        return f"no checks for {chunk.language}"
    module = read_module(file.text)
    definition = find(module, chunk.symbol, chunk.start_line, chunk.end_line, chunk.text)
    if definition is None:
        return "the function does not parse"
    if definition.nested:
        return "defined inside another function, out of a caller's reach"
    runnable = extract(definition, module)
    if runnable is None:
        return "too large or nested too deeply to be run"
    return Candidate(definition, runnable, features(definition))


def _takes(candidate: Candidate, examples: Sequence[Example]) -> bool:
    plain = [example for example in examples if example.args is not None]
    if not plain:
        return True
    return any(candidate.features.takes(len(example.args or ()), list(example.kwargs)) for example in plain)


def _scale(example: Example) -> float:
    return magnitude(example.args) if example.args is not None else 1.0


ENDINGS = {
    Status.ERROR: Verdict.ERROR,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.MEMORY: Verdict.MEMORY,
    Status.VIOLATION: Verdict.VIOLATION,
    Status.POLICY: Verdict.POLICY,
    Status.CRASH: Verdict.CRASH,
    Status.MALFORMED: Verdict.MALFORMED,
    Status.NO_SIGNAL: Verdict.NO_SIGNAL,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
}


def judge(
    expectation: Expectation, examples: Sequence[Example], calls: Sequence[Call], result: JobResult
) -> CheckReport:
    """Turn one job's results into a report; the comparison happens here, outside the sandbox."""
    level, tier = result.level.name, result.tier.value
    if result.status in ENDINGS:
        detail = result.detail or f"ended with {result.status.value}"
        return CheckReport(ENDINGS[result.status], detail, level, tier, effects=result.effects)
    compared = [
        (example, call, answer, meets(example.expected, answer, _scale(example)))
        for example, call, answer in zip(examples, calls, result.calls, strict=False)
    ]
    known = [item for item in compared if item[3] is not Comparison.UNKNOWN]
    if not known:
        return CheckReport(
            Verdict.NO_SIGNAL, "no result that could be compared", level, tier, origin=expectation.origin
        )
    wrong = [item for item in known if item[3] is Comparison.DIFFERENT]
    if wrong:
        example, call, answer, _ = min(wrong, key=lambda item: len(repr(item[1].args)))
        return CheckReport(
            Verdict.FAIL,
            f"wrong on {len(wrong)} of {len(known)} examples",
            level,
            tier,
            origin=example.origin or expectation.origin,
            counterexample=show(call, example, answer),
            share=len(wrong) / len(known),
            calls=len(compared),
            effects=result.effects,
        )
    return CheckReport(
        Verdict.PASS,
        f"{len(known)} examples agree",
        level,
        tier,
        coverage=Coverage.PARTIAL,
        origin=expectation.origin,
        calls=len(compared),
        effects=result.effects,
    )


def show(call: Call, example: Example, answer: CallResult) -> str:
    """Write a differing call out: what was called, expected and got."""
    expected = example.expected
    if isinstance(expected, Raises):
        wanted = f"{expected.exception} to be raised"
    elif isinstance(expected, Prints):
        wanted = f"{_short(expected.text)} printed"
    else:
        wanted = _short(expected.value) if expected is not None else "nothing known"
    got = _short(answer.value) if answer.outcome is Outcome.RETURNED else f"{answer.exception[:1]} raised"
    if answer.outcome is Outcome.RAISED:
        got = f"{answer.exception[0] if answer.exception else 'an exception'} raised"
    return f"{write_call(call)}: expected {wanted}, got {got}"


def write_call(call: Call) -> str:
    """Write a call as source text, shortened."""
    if call.args is None:
        return _cut(call.target)
    parts = [repr(value) for value in call.args]
    parts.extend(f"{name}={value!r}" for name, value in call.kwargs.items())
    return _cut(f"{call.target}({', '.join(parts)})")


def _short(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
