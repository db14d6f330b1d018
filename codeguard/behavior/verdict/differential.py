"""Run a candidate and a reference on the same calls."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.inputs.options import is_called, share_options
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.claims import DISTINCTIVE_DOC_WORDS, Similarity
from codeguard.behavior.matching.fingerprints import Calls
from codeguard.behavior.source.definitions import Function, parse_or_none
from codeguard.behavior.specs.contract import excluded_by
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.comparison import (
    NOT_TAKEN,
    Case,
    CaseResult,
    Comparison,
    case_of_observed,
    comparable_results,
    compare_results,
    compare_with_reference,
    rejects_arguments,
    wrong_results,
)
from codeguard.behavior.verdict.probing import Answers, Probes
from codeguard.behavior.verdict.profiles import Profile, reference_results
from codeguard.behavior.verdict.running import SUBJECT, Batch, CallRunner, Steps, makes_an_instance
from codeguard.sandbox.model import Call, CallResult, JobResult, Level, Outcome, Tier

MAX_EXAMPLES = 8
MAX_SETTLED = 24
MOST_REORDERED = 3  # arguments


_PLAIN_ATTRIBUTES = frozenset(
    name for kind in (str, bytes, int, float, complex, list, tuple, dict, set) for name in dir(kind)
)


def _needs_objects(node: Function) -> bool:
    """Return whether a function reads an attribute that no plain value has from a parameter or another local."""
    nodes = list(ast.walk(node))
    bound = {item.arg for item in nodes if isinstance(item, ast.arg)}
    bound |= {item.id for item in nodes if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    return any(
        isinstance(item, ast.Attribute)
        and isinstance(item.value, ast.Name)
        and item.value.id in bound
        and item.attr not in _PLAIN_ATTRIBUTES
        for item in nodes
    )


def _is_no_function(value: object, called: bool) -> bool:
    """Return whether a value is plain and goes to a parameter that is called; None may stand for no function."""
    return called and isinstance(value, int | float | str | bytes | list | tuple | dict | set)


def _reordered(args: Sequence[object]) -> Iterator[tuple[object, ...]]:
    """Yield a call's arguments with one list in another order."""
    for position, value in enumerate(args):
        if isinstance(value, list) and len(value) > 1:
            half = len(value) // 2
            for items in (value[::-1], value[half:] + value[:half], sorted(value, key=repr)):
                if repr(items) != repr(value):
                    yield (*args[:position], items, *args[position + 1 :])


def _differs(first: CallResult, other: CallResult) -> bool:
    differs = compare_with_reference(first, other) is Comparison.DIFFERENT
    return other.outcome is not Outcome.RETURNED or differs


@lru_cache(maxsize=4096)
def _written_arguments(*texts: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the number of positional arguments and the keywords of each call of the function in some code.

    Calls with arguments that are unpacked are left out.
    """
    trees = [tree for text in texts if SUBJECT in text and (tree := parse_or_none(text)) is not None]
    calls = [
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == SUBJECT
    ]
    return tuple(
        (len(call.args), names)
        for call in calls
        if not any(isinstance(item, ast.Starred) for item in call.args)
        if len(names := tuple(item.arg for item in call.keywords if item.arg is not None))
        == len(call.keywords)
    )


@dataclass
class CandidateSession:
    """A candidate under test with the limits of its check.

    `runner` remembers the sandbox tier that accepts the candidate's source.
    """

    candidate: CandidateFunction
    level: Level
    budget: Budget
    seed: bytes
    probes: Probes
    runner: CallRunner = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.runner = CallRunner(self.candidate.runnable, self.level, self.budget)

    def ask(self, cases: Sequence[Case], twice: bool = False) -> Steps[tuple[JobResult, ...]]:
        """Run the candidate on cases; with `twice`, again in reverse order in another world."""
        calls = tuple(case.call for case in cases)
        self.calls += len(calls)
        batches = (Batch(calls), Batch(calls[::-1], other=True)) if twice else (Batch(calls),)
        return (yield from self.runner.run(*batches))

    def accepts_call(self, case: Case) -> bool:
        """Return whether the candidate's class can be made as the call does, and the arguments bind."""
        call, runnable = case.call, self.candidate.runnable
        made = runnable.target.partition(".")[0]
        if made in call.target and not makes_an_instance(runnable.target, runnable.source):
            return False
        accepts = self.candidate.features.accepts
        if call.args is None:
            return all(
                accepts(count, list(names)) for count, names in _written_arguments(call.target, call.setup)
            )
        return accepts(len(call.args), list(call.kwargs))

    def has_options_of(self, reference: Reference, case: Case) -> bool:
        """Return whether the optional parameters that a plain call sets by their places are the candidate's as well."""
        given = len(case.call.args or ())
        return share_options(given, self.candidate.definition.parameters, reference.definition.parameters)

    def run_probes(self, calls: Calls) -> Steps[Answers]:
        """Return the candidate's answers to probes."""
        self.calls += len(calls)
        return (yield from self.probes.answers(self.runner, calls))

    def both(
        self, profile: Profile, inputs: Sequence[Arguments]
    ) -> Steps[tuple[list[CaseResult], JobResult | None]]:
        """Run the reference and the candidate on the same inputs, each in a child of its own."""
        runner = CallRunner(profile.reference.runnable, self.level, self.budget)
        seen = yield from reference_results(
            runner, profile.reference, inputs, profile.examples, twice=not profile.steady
        )
        asked = [case_of_observed(item, self.candidate.runnable, profile.silence_free) for item in seen]
        known = [case for case in asked if case is not None and self.has_options_of(profile.reference, case)]
        cases = [case for case in known if self.accepts_call(case)]
        if not cases:
            return [], None
        (result,) = yield from self.ask(cases)
        return compare_results(cases, result.calls), result

    def rejects_inputs(self, results: Sequence[CaseResult], similarity: Similarity) -> Steps[bool]:
        """Return whether the candidate accepts other inputs than these, so that it is another function."""
        distinctive = similarity.name == 1.0 or similarity.doc_words >= DISTINCTIVE_DOC_WORDS
        described = similarity.described and distinctive
        if not rejects_arguments(results):
            return False
        if similarity.has_own_description and self.expects_other_kinds(results):
            return True
        return not described or (yield from self._accepts_other_order(results))

    def expects_other_kinds(self, results: Sequence[CaseResult]) -> bool:
        """Return whether the candidate's code shows that it expects arguments of other kinds.

        It reads attributes that no plain value has, or in every call its annotations exclude an argument, or an
        argument that it calls is no function.
        """
        definition = self.candidate.definition
        lacking = any("AttributeError" in item.answer.exception for item in results)
        if lacking and _needs_objects(definition.node):
            return True
        positional = [part for part in definition.parameters if part.kind == "positional"]
        called = [is_called(part, definition.node) for part in positional]
        kinds = [part.annotation for part in positional]
        given = [item.case.call.args for item in comparable_results(results)]
        return bool(given) and all(
            args is not None
            and (any(map(excluded_by, kinds, args)) or any(map(_is_no_function, args, called)))
            for args in given
        )

    def _accepts_other_order(self, results: Sequence[CaseResult]) -> Steps[bool]:
        """Return whether the candidate expects its arguments in another order.

        It does if it is right then, or if it accepts every call then and mostly gives other
        results, in which case nobody can tell whether these are right.
        """
        taken = False
        called = [(item.case, item.case.call.args or ()) for item in comparable_results(results)]
        count = max((len(args) for _, args in called), default=0)
        orders = itertools.permutations(range(count)) if 1 < count <= MOST_REORDERED else iter(())
        for order in itertools.islice(orders, 1, None):  # the first one is that of the calls
            cases = [
                replace(case, call=replace(case.call, args=tuple(args[place] for place in order)))
                for case, args in called
                if len(args) == count
            ]
            if cases:
                (result,) = yield from self.ask(cases)
                compared = comparable_results(compare_results(cases, result.calls))
                wrong = wrong_results(compared)
                if compared and not wrong:
                    return True
                if compared and 2 * len(wrong) <= len(compared):
                    return False  # this order is the right one, and some results are wrong
                taken = taken or not any(
                    NOT_TAKEN.intersection(item.answer.exception[:1]) for item in compared
                )
        return taken

    def is_wrong_natively(self, wrong: Sequence[CaseResult], among: Sequence[CaseResult] = ()) -> Steps[bool]:
        """Return whether wrong results stay wrong without the restricted tier's policy.

        `among` are all results, in the order of their calls: what a call gives may depend on those before it.
        """
        if self.runner.tier is not Tier.RESTRICTED or self.level < Level.L2:
            return True
        native = CallRunner(self.candidate.runnable, self.level, self.budget, Tier.NATIVE)
        cases = [item.case for item in wrong[:MAX_SETTLED]]
        for asked in (cases, [item.case for item in among]):
            (result,) = yield from native.run(Batch(tuple(case.call for case in asked)))
            found = {id(item.case) for item in wrong_results(compare_results(asked, result.calls))}
            if found.issuperset(map(id, cases)):
                return True
        return False

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
