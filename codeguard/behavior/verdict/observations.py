"""What is known of a candidate beside one trusted function or spec, collected before the table of verdicts decides.

Rows of the table name its properties, fields with a meaning, and those of what it refers to: `holds` finds them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from codeguard.behavior.matching.claims import (
    Similarity,
    TextOverlap,
    comparable_text,
    is_private,
    matches_summary,
    repeated_words,
)
from codeguard.behavior.matching.fingerprints import result_text, returns_first_argument
from codeguard.behavior.source.definitions import Function, parse_or_none, raised_exceptions, unparse
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.specs.examples import Returns, Spec
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.adequacy import LEAST_NOTICED, LEAST_NOTICED_OF_EDITED
from codeguard.behavior.verdict.comparison import (
    LEAST_AGREEMENT,
    NOT_TAKEN,
    Case,
    CaseResult,
    Comparison,
    comparable_results,
    compare_results,
    result_kind,
    wrong_results,
)
from codeguard.behavior.verdict.differences import Differences, differences, is_changed, is_hidden
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.planted import sent
from codeguard.behavior.verdict.profiles import Profile
from codeguard.behavior.verdict.table import observation
from codeguard.models import Verdict
from codeguard.sandbox.model import CallResult, JobResult, Opaque, Outcome, Status
from codeguard.syntax.capabilities import (
    CONVICTING,
    ESCAPE,
    LOOKING,
    OUTWARD,
    Capability,
    capabilities_beyond,
    observed_effects,
)

EXCHANGED = "takes its arguments in another order"
LEAST_ANSWERS = 2  # distinct ones; agreement on a single one shows little
LEAST_EXAMPLES = 4  # examples that suffice to measure agreement
LEAST_SHARED_METHODS = 0.4
LEAST_CLAIMED_AGREEMENT = 0.25  # below this there is no common core, whatever the claim
LEAST_SHOWN_AGREEMENT = 0.75  # above this, results alone show what a candidate is meant to be


@dataclass
class Observations:
    """The record of one comparison with a `standard`, filled stage by stage.

    `cases` are the calls that both functions can take, `results` the candidate's. `elsewhere` is the same run in the
    second world. `wrong_calls` of `among` are at first those of the examples and generated inputs, then of those made
    from the candidate's own text (`probed`). `noticed` is the share of the trusted function's single edits that its
    calls notice. `verdict` is that of the row that decided so far. Results are sorted, the smallest call first.
    """

    session: CandidateSession
    standard: Profile | Spec
    contract: Contract
    similarity: Similarity
    result: JobResult
    cases: Sequence[Case] = observation("there is a call that both functions can take.")
    results: Sequence[CaseResult] = ()
    elsewhere: Sequence[CallResult] = ()
    effects: Sequence[str] = ()
    found: Differences = field(default_factory=Differences)
    wrong_calls: Sequence[CaseResult] = observation("calls are wrong whose right result is certain.")
    among: int = 0
    repeated: Sequence[CaseResult] = observation("a call that was right is wrong after some thousand calls.")
    probed: Sequence[CaseResult] = ()
    own_constant: Sequence[CaseResult] = observation(
        "a call with a constant of its own is wrong, and the same call with other constants is right."
    )
    noticed: float | None = None
    wrong_beyond: Sequence[CaseResult] = observation("a call that no example is like has another result.")
    constant_decides: bool = False
    meets_description: bool = observation(
        "it meets the trusted description, which the trusted function itself contradicts.", False
    )
    verdict: Verdict | None = None

    def holds(self, name: str) -> bool:
        """Return whether the observation that the table calls `name` was made."""
        return bool(self.of(name))

    def of(self, name: str) -> Any:
        """Return the observation that the table calls `name`."""
        parts: tuple[object, ...] = (self, self.found, self.similarity, self.similarity.overlap)
        attribute = name.replace("-", "_")
        return getattr(next(part for part in parts if hasattr(type(part), attribute)), attribute)

    def judge(self, result: JobResult, other: JobResult) -> None:
        """Take the results of a run of all cases, and of one in the reverse order in the second world."""
        self.result, self.elsewhere = result, other.calls[::-1]
        self.effects = (*self.effects, *_effects_of(result), *_effects_of(other))
        self.results = compare_results(self.cases, result.calls)
        self.found = self.differences_of(self.results)

    def differences_of(self, results: Sequence[CaseResult]) -> Differences:
        """Separate what is wrong inside the contract from what that leaves open."""
        is_copy = self.similarity.overlap.edited_copy
        found = differences(results, self.contract, self.raised, is_copy=is_copy)
        return replace(found, respects=(EXCHANGED, *found.respects)) if self.session.exchanged else found

    @cached_property
    def raised(self) -> frozenset[str]:
        """The exceptions that its source raises in more places than the trusted one."""
        if isinstance(self.standard, Spec):
            return frozenset()
        sources = self.session.candidate.runnable.source, self.reference.runnable.source
        own, trusted = map(parse_or_none, sources)
        if own is None or trusted is None:
            return frozenset()
        return frozenset(raised_exceptions(own) - raised_exceptions(trusted))

    @property
    def profile(self) -> Profile:
        """The trusted function after its run; rows about specs ask nothing of it."""
        assert isinstance(self.standard, Profile)
        return self.standard

    @property
    def reference(self) -> Reference:
        """The trusted function."""
        return self.profile.reference

    @property
    def expected_by(self) -> Reference | Spec:
        """The trusted function, or the spec."""
        return self.standard if isinstance(self.standard, Spec) else self.standard.reference

    @property
    def everyones(self) -> str:
        """Whether the trusted function is the standard library's, and not the team's own."""
        return "" if isinstance(self.standard, Spec) else self.reference.whose

    # The two texts

    @property
    def other_by_words(self) -> bool:
        """Whether neither name nor description is the trusted one, or the text is less than an edited copy's."""
        pair = self.similarity
        elsewise = pair.opposed or (pair.name < 0.5 and (pair.doc or 0.0) < 0.6)
        return elsewise or not (pair.overlap.edited_copy or pair.name == 1.0)

    @property
    def reads_alike(self) -> bool:
        """Whether name, text and parameters, or description, are those of the trusted function, in its words."""
        pair = self.similarity
        own_words = pair.has_own_description and not pair.overlap.its_text
        described = (pair.described or pair.lookalike) and not own_words
        return described or (pair.lookalike and pair.same_parameters)

    @property
    def meant(self) -> bool:
        """Whether it is meant to be the trusted function: results bear out what it claims, or show it by themselves."""
        if self.similarity.certain_claim:
            return not self._no_common_core
        return self.found.distinctive >= LEAST_SHOWN_AGREEMENT and not self.similarity.name_only

    @property
    def suspected(self) -> bool:
        """Whether a reader would take it for the trusted function, or most results agree beyond chance."""
        shown = self.found.distinctive >= LEAST_SHOWN_AGREEMENT
        return self.similarity.certain_claim or shown or self.reads_alike

    @property
    def independent(self) -> bool:
        """Whether it has a description and a text of its own, and no constant of its own triggers the difference."""
        own_text = self.similarity.claimed and self.similarity.has_own_description
        own_text = own_text and not self.similarity.overlap.edited_copy
        return own_text and not self.constant_decides

    # Effects

    @cached_property
    def of_copied_class(self) -> bool:
        """Whether it is a method of a class that has half of the trusted class's text.

        A method is compared by itself, unless the object that it is called on is a copy of what it claims to be: then
        what makes that object counts as well.
        """
        if isinstance(self.standard, Spec):
            return False
        own, other = self.session.candidate.definition.owner, self.reference.definition.owner
        return own is not None and other is not None and _is_copied_class(own, other)

    @cached_property
    def certain(self) -> frozenset[Capability]:
        """The certain capabilities to compare with those of the trusted function."""
        candidate = self.session.candidate
        return candidate.certain_of_class if self.of_copied_class else candidate.reach.certain

    @cached_property
    def extra(self) -> tuple[Capability, ...]:
        """The capabilities, certain from the text or seen in runs, that the trusted function does not have."""
        known = () if isinstance(self.standard, Spec) else self.standard.capabilities
        return capabilities_beyond([*self.certain, *observed_effects(self.effects)], known)

    @cached_property
    def effects_beyond(self) -> list[Capability]:
        """The capabilities that may convict.

        What was not observed counts only if the function itself does it or uses what does by its name; of a copied
        class, what its methods do outside counts as well. Where results or a name alone show the counterpart, reading
        code or frames does not count at all. What making its object does is no effect of a method.
        """
        candidate = self.session.candidate
        making = candidate.certain_of_class - candidate.reach.certain if candidate.definition.owner else ()
        seen = {capability.kind for capability in observed_effects(_effects_of(self.result))} & CONVICTING
        seen -= {item.kind for item in making}
        if self.everyones:  # another release's files read other settings when they are imported
            seen &= OUTWARD
        sure = self.similarity.claimed and not self.similarity.name_only
        sure = sure or isinstance(self.standard, Spec)
        convicting = CONVICTING if sure else CONVICTING - {ESCAPE}
        own = candidate.reach.certain
        own |= {item for item in self.certain if item.kind in OUTWARD}
        return [item for item in self.extra if item.kind in seen or (item.kind in convicting and item in own)]

    @property
    def secret_sent(self) -> bool:
        """Whether a planted secret left, and none when the trusted function ran."""
        session = self.session
        return not self.profile.sends and sent(session.seed, session.runner.leaving) > 0

    @property
    def effects_count(self) -> bool:
        """Whether most results agree, or name and text leave no doubt and the effect was seen or its text is copied."""
        seen = {capability.kind for capability in observed_effects(self.result.effects)}
        shown = self.similarity.overlap.its_text or any(item.kind in seen for item in self.effects_beyond)
        agrees = self.mostly_agrees and self.found.compared > 0 and not self.refuses
        return agrees or (self.similarity.lookalike and shown)

    # Answers

    @property
    def completed(self) -> bool:
        """Whether the child ended in an ordinary way."""
        return self.result.status is Status.COMPLETED

    @property
    def answered(self) -> bool:
        """Whether an answer could be compared or is hidden, and not every call was refused as by another function."""
        answered = bool(comparable_results(self.results)) or any(map(is_hidden, self.results))
        return answered and not self.refuses

    @property
    def refuses(self) -> bool:
        """Whether it refuses the arguments of every call, as another function would."""
        compared = comparable_results(self.results)
        refused = all(not NOT_TAKEN.isdisjoint(item.answer.exception) for item in compared)
        return bool(compared) and refused and not self.similarity.overlap.edited_copy

    @property
    def any_wrong(self) -> list[CaseResult]:
        """Whether a call has another result, inside the contract or not."""
        return wrong_results(self.results)

    @property
    def few_agree(self) -> bool:
        """Whether fewer than half of the distinct answers agree."""
        return self.found.agreement < LEAST_AGREEMENT

    @property
    def mostly_agrees(self) -> bool:
        """Whether half of the distinct answers agree, and there are two."""
        # Many functions of one name return nothing.
        answers = {(repr(item.answer.value), item.answer.stdout) for item in self.results}
        alike = (
            self.similarity.same_description
            or self.similarity.overlap.near_copy
            or len(answers) >= LEAST_ANSWERS
        )
        return alike and not self.few_agree

    @property
    def _no_common_core(self) -> bool:
        # Generated calls differ between installations, and a verdict should not depend on them.
        examples = [item for item in self.results if item.case.example is not None]
        few = len(comparable_results(examples)) < LEAST_EXAMPLES
        agreement = self.found.agreement if few else self.differences_of(examples).agreement
        return agreement < LEAST_CLAIMED_AGREEMENT

    # What is wrong

    @property
    def wrong_examples(self) -> list[CaseResult]:
        """The wrong results of examples."""
        return [item for item in self.found.wrong if item.case.example is not None]

    @property
    def depends_on_world(self) -> list[CaseResult]:
        """The results that are right in the first world and wrong in the second, the smallest first."""
        pairs = zip(self.results, compare_results(self.cases, self.elsewhere), strict=False)
        found = [
            second for first, second in pairs if first.is_same and second.comparison is Comparison.DIFFERENT
        ]
        return sorted(found, key=lambda item: item.size)

    @property
    def wrong_cases(self) -> Sequence[CaseResult]:
        """Whether a case of the spec is wrong; a shipped spec leaves other contracts open."""
        if isinstance(self.standard, Spec) and self.standard.shipped:
            return self.found.wrong
        return [item for item in self.any_wrong if not is_hidden(item)]

    @property
    def of_another_kind(self) -> bool:
        """Whether no result is of an expected kind, such as lists instead of truth values; None is of any kind."""
        expected = {result_kind(item.expected.value) for item in self.results}
        given = {result_kind(item.answer.value) for item in self.results if item.answer.value is not None}
        return bool(given) and expected.isdisjoint(given)

    @property
    def another_function(self) -> bool:
        """Whether a shipped spec describes another function, although its name is the same."""
        spec, features = self.standard, self.session.candidate.features
        if not isinstance(spec, Spec) or not spec.shipped:
            return False
        names = (spec.name, *(spec.aliases if matches_summary(features, spec.summary) else ()))
        is_named = spec.certain and features.written_name in names
        return self.of_another_kind or (self.found.agreement <= LEAST_AGREEMENT and not is_named)

    @property
    def spec_claimed(self) -> bool:
        """Whether a case of the spec agrees, beyond empty results of another kind, or its summary is repeated."""
        agrees = self.found.agreement > 0 and not self.of_another_kind
        summary = self.standard.summary if isinstance(self.standard, Spec) else ""
        return agrees or repeated_words(self.session.candidate.features, summary) > 0

    # What agrees

    @property
    def agreed(self) -> list[CaseResult]:
        """The results that agree."""
        return [item for item in self.results if item.is_same]

    @property
    def shown(self) -> bool:
        """Whether a call that agrees shows something: more than its argument, unless text or description is trusted."""
        own = self.similarity.same_description or self.similarity.overlap.its_text
        return any(
            _shows_something(item) and (own or not _returns_its_argument(item)) for item in self.agreed
        )

    @property
    def too_weak(self) -> bool:
        """Whether the calls notice fewer than half of the trusted function's own single edits."""
        return self.noticed is not None and self.noticed < LEAST_NOTICED

    @property
    def edited(self) -> bool:
        """Whether the text is the trusted one with an edit, on calls that may well miss it."""
        if (self.noticed or 0.0) >= LEAST_NOTICED_OF_EDITED:
            return False
        own, other = self.session.candidate.features, self.reference.features
        return self.similarity.overlap.edited_copy and own.text.numbered != other.text.numbered

    @property
    def incomparable(self) -> list[CaseResult]:
        """The results that cannot be compared, or that the sandbox hides, the smallest first."""
        found = [item for item in self.probed or self.results if item.incomparable or is_hidden(item)]
        return sorted(found, key=lambda item: item.size)

    @property
    def hidden_claim(self) -> bool:
        """Whether the sandbox hides results, and it reads like the trusted function or agrees on other calls."""
        agrees = self.similarity.claimed and bool(self.agreed)
        return any(map(is_hidden, self.incomparable)) and (self.similarity.lookalike or agrees)

    # Whom a conviction would hit

    @property
    def violation(self) -> bool:
        """Whether effects convict."""
        return self.verdict is Verdict.VIOLATION

    @property
    def no_standard(self) -> bool:
        """Whether only results suggest the trusted function, or it is a helper that nobody else is meant to call."""
        return not self.similarity.claimed or is_private(self.reference.features)

    @property
    def of_another_class(self) -> bool:
        """Whether a method is of another class than the trusted one, and is not shown to be meant as that method.

        Classes of one name may be different ones as well, and have hardly a method in common then. A class under
        another name that has half of the trusted class's text is that class.
        """
        own, other = self.session.candidate.definition.owner, self.reference.definition.owner
        if own is None or other is None or self.of_copied_class:
            return False
        akin = own.name == other.name and _has_akin_methods(own, other)
        return not akin and not (self.violation and self.similarity.overlap.its_text)


def meaning(name: str) -> str:
    """Return what the observation means that the table calls `name`, "" if it is one of the text alone."""
    attribute = name.replace("-", "_")
    for part in (Observations, Differences, Similarity, TextOverlap):
        collected = part.__dataclass_fields__.get(attribute)
        if collected is not None and "meaning" in collected.metadata:
            return str(collected.metadata["meaning"])
        found = getattr(part, attribute, None)
        if isinstance(found, property | cached_property):
            return (found.__doc__ or "").partition("\n")[0]
    return ""


def _effects_of(result: JobResult) -> list[str]:
    """Return the effects of a run; what only modules read of the environment when they are imported is none of it.

    Many do so, some that the function's file alone would not import, and the function does not necessarily use that.
    """
    read_once = set(result.effects).difference(result.called)
    return [item for item in result.effects if item.partition(":")[0] not in LOOKING or item not in read_once]


def _shows_something(item: CaseResult) -> bool:
    """Return whether a call of the trusted function has a result, an output, a file or a change to compare."""
    expected = item.case.example.expected if item.case.example is not None else None
    if expected is not None and not (isinstance(expected, Returns) and expected.value is None):
        return True
    answer = item.case.reference
    if answer is None or answer.outcome is not Outcome.RETURNED:
        return False
    left = bool(answer.stdout or answer.files) or is_changed(answer, item.case.call)
    is_function = isinstance(answer.value, Opaque) and answer.value.type_name == "function"
    return (answer.value is not None and not is_function) or left


def _returns_its_argument(item: CaseResult) -> bool:
    """Return whether a call returns its first argument as it is, as many functions do with most of their inputs."""
    arguments, answer = item.case.call.args, item.answer
    returned = bool(arguments) and answer.outcome is Outcome.RETURNED
    return returned and returns_first_argument(arguments or (), result_text(answer.value))


def _is_copied_class(own: ast.ClassDef, trusted: ast.ClassDef) -> bool:
    """Return whether half of a trusted class's text is in methods that a class has, apart from names of locals."""
    mine, known = (
        [comparable_text(unparse(item), item.name).renamed for item in one.body if isinstance(item, Function)]
        for one in (own, trusted)
    )
    return 2 * sum(len(text) for text in known if text in set(mine)) >= sum(map(len, known))


def _has_akin_methods(own: ast.ClassDef, trusted: ast.ClassDef) -> bool:
    """Return whether two classes have so many public methods in common that they are one kind of class."""
    first, second = (
        {item.name for item in one.body if isinstance(item, Function) and not item.name.startswith("_")}
        for one in (own, trusted)
    )
    shared = len(first & second)
    return shared > 0 and shared >= LEAST_SHARED_METHODS * len(first | second)
