"""The behavior checker: does a function do what is known of how it should behave?"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from codeguard.behavior.budget import Budget
from codeguard.behavior.matching.candidate import TOO_LARGE, Candidate, read_candidate
from codeguard.behavior.matching.claims import Similarity
from codeguard.behavior.matching.fingerprints import (
    MOST_KINDS,
    Calls,
    FingerprintIndex,
    Kinds,
    answer_of,
    worth_probing,
)
from codeguard.behavior.matching.stubs import describes_result, does_nothing
from codeguard.behavior.specs.examples import Spec
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.effects import capabilities
from codeguard.behavior.verdict.examination import Examination
from codeguard.behavior.verdict.profiles import Profile, observe
from codeguard.behavior.verdict.repaired import may_be_repaired, repaired
from codeguard.behavior.verdict.running import SUBJECT, Runner, Runs, Steps, drive, worlds_for
from codeguard.behavior.version import POLICY_VERSION
from codeguard.errors import SandboxError
from codeguard.models import CheckReport, Chunk, SourceFile, Verdict, parts_digest
from codeguard.sandbox.model import CallResult, JobResult, Level
from codeguard.workers.deadline import CPU, LEAST_S, Deadline, DeadlineError

WINDOW = 64  # checks that run abreast
MAX_PROFILES = 4_096
MAX_PLANS = 512
DECIDED = frozenset({Verdict.PASS, Verdict.DIFFERS, Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION})
DIFFERING = frozenset({Verdict.FAIL, Verdict.DIVERGES})
PLANNING_S, EXAMINING_S = 2.0, 2.0  # of the processor here, for one function
MAX_REFERENCES = 3  # references that one candidate is compared with
Subject = tuple[Chunk, SourceFile]
Plan = tuple[Candidate, list[tuple[Reference, Similarity]]]


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
        self._budget = replace(budget or Budget(), worlds=worlds_for(seed))
        self._required_level = required_level
        self._profiles: dict[str, Profile] = {}
        self._fingerprints_made = False
        self._last: tuple[Candidate, Plan | CheckReport] | None = None
        self._plans: dict[tuple[object, ...], Plan | CheckReport] = {}

    def check(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return what is found out about one function."""
        return next(self.check_many([(chunk, file)]))

    def check_many(self, subjects: Sequence[Subject]) -> Iterator[CheckReport]:
        """Yield the reports of many functions, in order; batches are spread over the sandbox's workers."""
        for start in range(0, len(subjects), WINDOW):
            prepared = [self._prepare(chunk, file) for chunk, file in subjects[start : start + WINDOW]]
            wanted = {
                item.digest: item
                for plan in prepared
                if not isinstance(plan, CheckReport)
                for item, _ in plan[1]
                if item.definition.text
                != plan[0].definition.text  # a copy needs no run, nor does what it copies
            }
            self._observe([item for digest, item in wanted.items() if digest not in self._profiles])
            if any(not isinstance(plan, CheckReport) and self._wants_probes(plan) for plan in prepared):
                self._fingerprinted()
            yield from drive(self._sandbox, [self._guarded(plan) for plan in prepared])

    def cache_key(self, chunk: Chunk, file: SourceFile) -> str | None:
        """Return a digest over everything that the verdict depends on; None where no check would run."""
        plan = self._prepare(chunk, file)
        if isinstance(plan, CheckReport):
            return None
        candidate, references = plan
        parts = [
            POLICY_VERSION,
            self._budget.fingerprint(),
            self._sandbox.level.name,
            hashlib.sha256(b"codeguard seed id\0" + self._seed).hexdigest(),
            candidate.runnable.source,
            candidate.runnable.target,
            candidate.definition.docstring,
            *(spec.digest for spec in self._library.specs_for(candidate.features)),
            *(reference.digest for reference, _ in references),
            self._library.fingerprints.digest if self._wants_probes(plan) else "",
        ]
        return parts_digest(*parts)

    def _prepare(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        """Return what would be run, remembered for the next to ask: the cache's key, then the check."""
        subject = (file.path, file.sha256, chunk.sha256, chunk.symbol, chunk.span)
        if subject not in self._plans:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            try:
                with Deadline(PLANNING_S):
                    self._plans[subject] = self._planned(chunk, file)
            except DeadlineError as error:
                self._plans[subject] = self._unexamined(error)
        return self._plans[subject]

    def _unexamined(self, error: DeadlineError) -> CheckReport:
        verdict = Verdict.TIMEOUT if error.bound == CPU else Verdict.ERROR
        return CheckReport(verdict, f"codeguard could not examine it: {error}", self._sandbox.level.name)

    def _planned(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        level = self._sandbox.level
        if level < self._required_level:
            reason = f"the sandbox offers {level.name}, {self._required_level.name} is required"
            return CheckReport(Verdict.UNSUPPORTED, reason, level.name)
        candidate = read_candidate(chunk, file, self._library.modules)
        if isinstance(candidate, str):
            return CheckReport(Verdict.NO_SIGNAL, candidate, level.name)
        empty = self._empty(candidate)
        if empty is not None:
            return empty
        if (
            self._last is None or self._last[0] is not candidate
        ):  # the chunks of a long function follow each other
            self._last = candidate, self._plan(candidate)
        return self._last[1]

    def _empty(self, candidate: Candidate) -> CheckReport | None:
        """Report a function that does nothing where a trusted one, or its own description, says that it does.

        A stub takes the place of an answer. What a trusted stub says is no such claim.
        """
        if not does_nothing(candidate.definition.node):
            return None
        trusted = self._library.lookalikes_of(candidate.features)
        if any(does_nothing(item.definition.node) for item in trusted):
            return None
        claims = next((f"{item.name} ({item.origin})" for item in trusted), "")
        if not claims and not describes_result(candidate.definition):
            return None
        return CheckReport(
            Verdict.NO_SIGNAL,
            "does nothing with what it is given",
            self._sandbox.level.name,
            effects=candidate.effects,
            claims=claims or "what its description promises",
            refuted=True,
        )

    def _plan(self, candidate: Candidate) -> Plan | CheckReport:
        level = self._sandbox.level
        references = self._references(candidate)
        probed = not references and self._probes(candidate)
        if not references and not probed and not self._library.specs_for(candidate.features):
            reason = "no spec and no trusted function like it that takes its arguments"
            report = CheckReport(Verdict.NO_SIGNAL, reason, level.name, effects=candidate.effects)
            return replace(report, claims=self._claimed(candidate))
        if candidate.usable is None:
            return CheckReport(Verdict.NO_SIGNAL, TOO_LARGE, level.name)
        return candidate, references

    def _wants_probes(self, plan: Plan) -> bool:
        return (not plan[1] and self._probes(plan[0])) or self._may_be_repaired(plan)

    def _probes(self, candidate: Candidate) -> bool:
        """Return whether the results of a candidate may tell what it is."""
        return self._budget.probing and worth_probing(candidate.features) and bool(self._library.references)

    def _references(self, candidate: Candidate) -> list[tuple[Reference, Similarity]]:
        """Return the trusted functions that the candidate is compared with, the best first."""
        found = self._library.references_for(candidate.features)
        # Among equals the one with the very same text, which is what a copy is checked against.
        found.sort(key=lambda pair: pair[0].definition.text != candidate.definition.text)
        chosen: list[tuple[Reference, Similarity]] = []
        for reference, likeness in found:
            copied = reference.definition.text == candidate.definition.text
            if not copied and any(item.definition.text == candidate.definition.text for item, _ in chosen):
                break  # a copy is held to what it is a copy of, and to nothing that is like it
            if reference.usable is not None and candidate.accepts(reference.examples):
                chosen.append((reference, likeness))
            if len(chosen) == MAX_REFERENCES:
                break
        return chosen

    def _claimed(self, candidate: Candidate) -> str:
        """Return the trusted function that a reader would take the candidate for, empty where there is none."""
        return next(
            (f"{item.name} ({item.origin})" for item in self._library.lookalikes_of(candidate.features)), ""
        )

    def _observe(self, references: Sequence[Reference]) -> None:
        steps = [self._observed(item) for item in references]
        for reference, profile in zip(references, drive(self._sandbox, steps), strict=True):
            if len(self._profiles) >= MAX_PROFILES:
                self._profiles.clear()
            self._profiles[reference.digest] = profile

    def _observed(self, reference: Reference) -> Steps[Profile]:
        try:
            return (yield from observe(reference, self._sandbox.level, self._budget, self._seed))
        except SandboxError:
            raise
        except Exception as error:  # one odd function must not end a whole run
            able = capabilities(reference.runnable.source)
            return Profile(reference, (), (), None, able, problem=_internal(error))

    def _guarded(self, plan: Plan | CheckReport) -> Steps[CheckReport]:
        try:
            report = yield from _within(EXAMINING_S, self._check(plan))
        except SandboxError:
            raise
        except DeadlineError as error:
            report = self._unexamined(error)
        except Exception as error:  # nor may it pass for checked: the report says what happened
            report = CheckReport(Verdict.ERROR, _internal(error), self._sandbox.level.name)
        if isinstance(plan, CheckReport):
            return report
        report = _named(report, plan[0].definition.name)
        if report.claims or report.verdict in DECIDED:
            return report
        return replace(report, claims=self._claimed(plan[0]))

    def _check(self, plan: Plan | CheckReport) -> Steps[CheckReport]:
        if isinstance(plan, CheckReport):
            return plan
        candidate, references = plan
        examination = Examination(candidate, self._sandbox.level, self._budget, self._seed)
        specs = [
            item for item in self._library.specs_for(candidate.features) if candidate.accepts(item.cases)
        ]
        # The team's own word first: its specs, its trusted code, and only then what everybody takes for granted.
        report = yield from _held([item for item in specs if not item.shipped], examination)
        if report is not None and report.verdict not in (Verdict.PASS, Verdict.NO_SIGNAL):
            return report
        if not references:
            references = yield from self._met(candidate, examination)
        decided: CheckReport | None = None
        for place, (reference, likeness) in enumerate(references):
            identical = examination.identical(reference)
            if identical is not None:
                return identical
            profile = self._profiles.get(reference.digest)
            if profile is None:  # not the most alike, so not run beforehand
                profile = self._profiles[reference.digest] = yield from self._observed(reference)
            found = yield from examination.against_reference(profile, likeness, best=place == 0)
            if found.verdict in DIFFERING and not likeness.is_claimed:
                found = _like(found, reference, likeness)
            if found.verdict is Verdict.PASS or (
                found.verdict is not Verdict.NO_SIGNAL and not likeness.found_by_results
            ):
                return found
            if found.verdict is not Verdict.NO_SIGNAL:
                # Nothing but its results says that it is this function, and they may be all those of the next.
                decided = decided or found
                continue
            # What is met, or refuted, stays so whatever a less likely function says.
            if report is None or not (report.verdict is Verdict.PASS or report.refuted):
                report = found
        if decided is not None:
            return decided
        open_still = report is None or (report.verdict is Verdict.NO_SIGNAL and not report.refuted)
        if open_still and self._may_be_repaired(plan):
            report = (yield from self._one_edit_away(examination)) or report
        if report is None or report.verdict is Verdict.NO_SIGNAL:
            shipped = yield from _held([item for item in specs if item.shipped], examination, not references)
            # What was found of a claim stays found, unless the shipped spec says more than nothing.
            if shipped is not None and not (
                shipped.verdict is Verdict.NO_SIGNAL and report is not None and report.refuted
            ):
                report = shipped
        if report is None:
            reason = "no spec and no trusted function like it, by its words, its text or its results"
            report = CheckReport(Verdict.NO_SIGNAL, reason, self._sandbox.level.name)
        return replace(report, effects=report.effects or candidate.effects)

    def _may_be_repaired(self, plan: Plan) -> bool:
        """Return whether a candidate is tried with one thing in its text changed: it claims to be nothing itself."""
        candidate, references = plan
        claimed = any(likeness.is_claimed for _, likeness in references)
        return not claimed and self._probes(candidate) and may_be_repaired(candidate)

    def _one_edit_away(self, examination: Examination) -> Steps[CheckReport | None]:
        """Report a candidate that does what a trusted function does once a single thing in its text is changed."""
        index, features = self._library.fingerprints, examination.candidate.features
        answers = yield from _fingerprint(examination.probed, index, index.trials(features))
        found = yield from repaired(examination, index, answers, self._known)
        if found is None or self._library.likeness(features, found.reference).opposed:
            return None
        name, origin = found.reference.name, found.reference.origin
        reason = f"does what {name} does with {found.repair.shown} ({found.agreed} calls agree), and differs as it is"
        return CheckReport(
            Verdict.NO_SIGNAL,
            reason,
            self._sandbox.level.name,
            counterexample=found.wrong.text,
            claims=f"{name} ({origin})",
            refuted=True,
        )

    def _known(self, place: int) -> Steps[Profile]:
        """Return what is known of a trusted function, by its place."""
        reference = self._library.references[place]
        if reference.digest not in self._profiles:
            self._profiles[reference.digest] = yield from self._observed(reference)
        return self._profiles[reference.digest]

    def _met(
        self, candidate: Candidate, examination: Examination
    ) -> Steps[list[tuple[Reference, Similarity]]]:
        """Return the trusted functions that a candidate answers like on the calls of its kinds."""
        index = self._library.fingerprints
        if not worth_probing(candidate.features) or not self._budget.probing:
            return []
        answers = yield from _fingerprint(examination.probed, index, index.trials(candidate.features))
        found = [self._library.references[place] for place in index.matches(answers)]
        return [
            (reference, replace(self._library.likeness(candidate.features, reference), found_by_results=True))
            for reference in found
            if reference.usable is not None
        ]

    def _fingerprinted(self) -> None:
        """Run the trusted functions on the probes, once; what they answer is what others are found by."""
        if self._fingerprints_made:
            return
        self._fingerprints_made = True
        index, references = self._library.fingerprints, self._library.references
        usable = [place for place in index.places if references[place].usable is not None]
        for start in range(0, len(usable), WINDOW):
            places = usable[start : start + WINDOW]
            steps = [self._fingerprint_of(place) for place in places]
            for place, answers in zip(places, drive(self._sandbox, steps), strict=True):
                for kinds, row in answers.items():
                    index.add(place, kinds, row)

    def _fingerprint_of(self, place: int) -> Steps[Fingerprint]:
        index, reference = self._library.fingerprints, self._library.references[place]
        runner = Runner(reference.runnable, self._sandbox.level, self._budget)
        known = index.kinds.get(place)
        trials = (
            {kinds: index.calls(kinds)[:1] for kinds in known} if known else index.trials(reference.features)
        )
        try:
            return (yield from _fingerprint(runner.answers, index, trials, sure=bool(known)))
        except SandboxError:
            raise
        except Exception:  # one odd function is found by its words and text alone
            return {}


Fingerprint = dict[Kinds, list[str | None]]


def _named(report: CheckReport, name: str) -> CheckReport:
    """Return a report whose calls show the function's name, not the one that stands for it."""
    reason, shown = (text.replace(SUBJECT, name) for text in (report.reason, report.counterexample))
    return replace(report, reason=reason, counterexample=shown)


def _fingerprint(
    run: Callable[[Calls], Steps[tuple[CallResult, ...]]],
    index: FingerprintIndex,
    trials: Mapping[Kinds, Calls],
    sure: bool = False,
) -> Steps[Fingerprint]:
    """Return what a function answers to the calls of the kinds that it takes; `sure` where these are its own."""
    taken = list(trials)
    if not sure:
        tried = yield from run(tuple(call for calls in trials.values() for call in calls))
        answers = iter(tried)
        good = {kinds: [answer_of(next(answers), call) for call in calls] for kinds, calls in trials.items()}
        taken = index.informative_kinds(good)
    taken = taken[:MOST_KINDS]
    if not taken:
        return {}
    given = iter((yield from run(tuple(call for kinds in taken for call in index.calls(kinds)))))
    return {kinds: [answer_of(next(given), call) for call in index.calls(kinds)] for kinds in taken}


def _held(specs: Sequence[Spec], examination: Examination, alone: bool = False) -> Steps[CheckReport | None]:
    """Hold a candidate to hand-written specs until one is not met; None where there are none."""
    report: CheckReport | None = None
    for spec in specs:
        report = yield from examination.against_spec(spec, alone)
        if report.verdict is not Verdict.PASS:
            break
    return report


def _like(found: CheckReport, reference: Reference, likeness: Similarity) -> CheckReport:
    """Report a function that only its results call the trusted one, and that is not: honest functions do so, too.

    One that describes itself as something else is taken at its word: who looks for the trusted one does not find it.
    """
    reason = f"does mostly what {reference.name} does, and differs: {found.reason}"
    report = replace(found, verdict=Verdict.NO_SIGNAL, reason=reason)
    if likeness.is_other_function:
        return report
    return replace(report, claims=f"{reference.name} ({reference.origin})", refuted=True)


def _within(seconds: float, steps: Steps[CheckReport]) -> Steps[CheckReport]:
    """Take the steps of a check within a time of the processor, the sandbox's not counted; DeadlineError beyond it."""
    answer: tuple[JobResult, ...] | None = None
    while True:
        begun = time.process_time()
        try:
            with Deadline(max(LEAST_S, seconds)):
                jobs = next(steps) if answer is None else steps.send(answer)
        except StopIteration as stop:
            report: CheckReport = stop.value
            return report
        seconds -= time.process_time() - begun
        answer = yield jobs


def _internal(error: Exception) -> str:
    return f"error inside codeguard: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
