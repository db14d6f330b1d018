"""Run a candidate and a reference on the same calls."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.expressions import written_guesses
from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.inputs.options import share_options
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.fingerprints import Calls
from codeguard.behavior.specs.docstrings import docstring_examples
from codeguard.behavior.specs.examples import Example
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.adequacy import Strength
from codeguard.behavior.verdict.comparison import (
    Case,
    CaseResult,
    Comparison,
    compare_results,
    compare_with_reference,
    result_kind,
)
from codeguard.behavior.verdict.profiles import Profile, reference_results
from codeguard.behavior.verdict.running import (
    SUBJECT,
    Answers,
    Batch,
    CallRunner,
    Steps,
    call_of,
    calls_of,
    makes_an_instance,
    own_answers,
)
from codeguard.sandbox.model import Call, CallResult, JobResult, Level, Outcome, Status

MAX_EXAMPLES = 8
MAX_SETTLED = 24
MOST_ALONE, ALONE_S = 8, 0.25  # calls of a function that nothing is compared with, and their CPU seconds


def _reordered(args: Sequence[object]) -> Iterator[tuple[object, ...]]:
    """Yield a call's arguments with one list in another order."""
    for position, value in enumerate(args):
        if isinstance(value, list) and len(value) > 1:
            half = len(value) // 2
            for items in (value[::-1], value[half:] + value[:half], sorted(value, key=repr)):
                if repr(items) != repr(value):
                    yield (*args[:position], items, *args[position + 1 :])


def exchange(args: Sequence[object]) -> tuple[object, ...]:
    """Return arguments with the first two exchanged."""
    return (*args[1::-1], *args[2:])


def _exchanged(case: Case) -> Case | None:
    """Return a case with its first two arguments exchanged; None if they are of one kind, whose order is no form."""
    args = case.call.args or ()
    if len(args) < 2 or result_kind(args[0]) == result_kind(args[1]):
        return None
    return replace(case, call=replace(case.call, args=exchange(args)))


def _differs(first: CallResult, other: CallResult) -> bool:
    differs = compare_with_reference(first, other) is Comparison.DIFFERENT
    return other.outcome is not Outcome.RETURNED or differs


@lru_cache(maxsize=4096)
def _written_arguments(*texts: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the number of positional arguments and the keywords of each call of the function in some code.

    Calls with arguments that are unpacked are left out.
    """
    return tuple(
        (len(call.args), names)
        for text in texts
        for call in calls_of(SUBJECT, text)
        if not any(isinstance(item, ast.Starred) for item in call.args)
        if len(names := tuple(item.arg for item in call.keywords if item.arg is not None))
        == len(call.keywords)
    )


@dataclass
class CandidateSession:
    """A candidate under test with the limits of its check.

    `runner` remembers the sandbox tier that accepts the candidate's source. `strengths` are, by the digest of a
    trusted function, what agreement with it shows; all checks share them. While `exchanged`, a call of the trusted
    function is made with its first two arguments exchanged.
    """

    candidate: CandidateFunction
    level: Level
    budget: Budget
    seed: bytes
    strengths: dict[str, Strength] = field(default_factory=dict)
    runner: CallRunner = field(init=False)
    calls: int = 0
    exchanged: bool = False
    answers: tuple[str, ...] = ()  # what the report keeps of those to probes

    def __post_init__(self) -> None:
        self.runner = CallRunner(self.candidate.runnable, self.level, self.budget)

    @property
    def idle(self) -> JobResult:
        """The result of a check that has run nothing."""
        return JobResult(Status.NO_SIGNAL, self.level, self.runner.tier)

    def ask(self, cases: Sequence[Case], twice: bool = False) -> Steps[tuple[JobResult, ...]]:
        """Run the candidate on cases; with `twice`, again in reverse order in another world."""
        calls = tuple(case.call for case in cases)
        self.calls += len(calls)
        batches = (Batch(calls), Batch(calls[::-1], other=True)) if twice else (Batch(calls),)
        return (yield from self.runner.run(*batches))

    def cases(self, profile: Profile) -> list[Case]:
        """Return the trusted function's examples and generated calls as calls of the candidate."""
        runnable, own = self.candidate.runnable, self.candidate.definition.parameters
        shown = self.shown(profile.examples)
        made = [item.case(runnable) for item in profile.generated if item.has_options(own)]
        return self.known(profile.reference, [*shown, *filter(None, made)])

    def shown(self, examples: Iterable[Example]) -> list[Case]:
        """Return examples as calls of the candidate."""
        pairs = [(example, call_of(example, self.candidate.runnable)) for example in examples]
        return [Case(call, example) for example, call in pairs if call is not None]

    def known(self, reference: Reference, cases: Iterable[Case]) -> list[Case]:
        """Return the cases of which the candidate takes the arguments, each for what the trusted function does."""
        own, other = self.candidate.definition.parameters, reference.definition.parameters
        shared = (case for case in cases if share_options(len(case.call.args or ()), own, other))
        taken = [case for case in shared if self._accepts(case.call)]
        return list(filter(None, map(_exchanged, taken))) if self.exchanged else taken

    def _accepts(self, call: Call) -> bool:
        """Return whether the candidate's class can be made as the call does, and the arguments bind."""
        runnable = self.candidate.runnable
        made = runnable.target.partition(".")[0]
        if f"{made}()" in call.target and not makes_an_instance(runnable.target, runnable.source):
            return False
        accepts = self.candidate.features.accepts
        if call.args is None:
            return all(
                accepts(count, list(names)) for count, names in _written_arguments(call.target, call.setup)
            )
        return accepts(len(call.args), list(call.kwargs))

    def run_probes(self, calls: Calls) -> Steps[Answers]:
        """Return the candidate's answers to probes."""
        self.calls += len(calls)
        return (yield from own_answers(self.runner, calls))

    def call_alone(self) -> Steps[None]:
        """Call a candidate that answered nothing yet, for what its calls do."""
        definition, runnable = self.candidate.definition, self.candidate.runnable
        guessed = [example for example, _ in written_guesses(definition, self.candidate.module)]
        made = (*docstring_examples(definition, "")[:MAX_EXAMPLES], *guessed[:MOST_ALONE])
        calls = [call for example in made if (call := call_of(example, runnable))]
        if calls:
            self.calls += len(calls)
            self.runner.budget = replace(self.budget, wall_s=4 * ALONE_S, cpu_s=ALONE_S)
            yield from self.runner.run(Batch(tuple(calls)), patient=False)

    def both(
        self, profile: Profile, inputs: Sequence[Arguments]
    ) -> Steps[tuple[list[CaseResult], JobResult | None]]:
        """Run the reference and the candidate on the same inputs, each in a child of its own."""
        runner = CallRunner(profile.reference.runnable, self.level, self.budget)
        seen = yield from reference_results(
            runner, profile.reference, inputs, profile.examples, twice=not profile.steady
        )
        asked = [item.case(self.candidate.runnable) for item in seen]
        cases = self.known(profile.reference, filter(None, asked))
        if not cases:
            return [], None
        (result,) = yield from self.ask(cases)
        return compare_results(cases, result.calls), result

    def without_arbitrary(self, profile: Profile, wrong: Sequence[CaseResult]) -> Steps[list[CaseResult]]:
        """Leave out the inputs for which the reference's own result depends on an order that examples leave open."""
        runnable, examples = profile.reference.runnable, profile.plain_calls[:MAX_EXAMPLES]
        rows = [
            *examples,
            *((item.case.call.args or (), item.case.call.kwargs) for item in wrong[:MAX_SETTLED]),
        ]
        own = [Call(runnable.target, tuple(args), dict(kwargs)) for args, kwargs in rows]
        variants = [[replace(call, args=made) for made in _reordered(call.args or ())] for call in own]
        if not any(variants[: len(examples)]) or not any(variants[len(examples) :]):
            return list(wrong[:MAX_SETTLED])
        runner = CallRunner(runnable, self.level, self.budget)
        (result,) = yield from runner.run(Batch((*own, *(call for calls in variants for call in calls))))
        others = iter(result.calls[len(own) :])
        moves = [
            True in [_differs(answer, next(others)) for _ in calls]
            for answer, calls in zip(result.calls, variants, strict=False)
        ]
        arbitrary = [] if any(moves[: len(examples)]) else moves[len(examples) :]
        return [item for item, tie in itertools.zip_longest(wrong[:MAX_SETTLED], arbitrary) if not tie]
