"""The behavior checker: does a function do what is known of how it should behave?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from codeguard.behavior.budget import Budget
from codeguard.behavior.candidate import TOO_LARGE, Candidate, read_candidate
from codeguard.behavior.effects import capabilities
from codeguard.behavior.examination import Examination
from codeguard.behavior.library import SpecLibrary
from codeguard.behavior.matching import Similarity
from codeguard.behavior.profiles import Profile, observe
from codeguard.behavior.references import Reference
from codeguard.behavior.running import Runs, Steps, drive
from codeguard.behavior.version import POLICY_VERSION
from codeguard.errors import SandboxError
from codeguard.models import CheckReport, Chunk, SourceFile, Verdict
from codeguard.sandbox.model import Level

WINDOW = 64  # checks that run abreast
MAX_PROFILES = 4_096
MAX_PLANS = 512
DECIDED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION})
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
        self._budget = budget or Budget()
        self._required_level = required_level
        self._profiles: dict[str, Profile] = {}
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
            }
            self._observe([item for digest, item in wanted.items() if digest not in self._profiles])
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
        ]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _prepare(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        """Return what would be run, remembered for the next to ask: the cache's key, then the check."""
        subject = (file.path, file.sha256, chunk.sha256, chunk.symbol, chunk.span)
        if subject not in self._plans:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[subject] = self._planned(chunk, file)
        return self._plans[subject]

    def _planned(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        level = self._sandbox.level
        if level < self._required_level:
            reason = f"the sandbox offers {level.name}, {self._required_level.name} is required"
            return CheckReport(Verdict.UNSUPPORTED, reason, level.name)
        candidate = read_candidate(chunk, file, self._library.modules)
        if isinstance(candidate, str):
            return CheckReport(Verdict.NO_SIGNAL, candidate, level.name)
        references = self._references(candidate)
        if not references and not self._library.specs_for(candidate.features):
            reason = "no spec and no trusted function like it that takes its arguments"
            report = CheckReport(Verdict.NO_SIGNAL, reason, level.name, effects=candidate.effects)
            return replace(report, claims=self._claimed(candidate))
        if candidate.usable is None:
            return CheckReport(Verdict.NO_SIGNAL, TOO_LARGE, level.name)
        return candidate, references

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
            if reference.usable is not None and candidate.takes(reference.examples):
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
            report = yield from self._check(plan)
        except SandboxError:
            raise
        except Exception as error:  # nor may it pass for checked: the report says what happened
            report = CheckReport(Verdict.ERROR, _internal(error), self._sandbox.level.name)
        if isinstance(plan, CheckReport) or report.claims or report.verdict in DECIDED:
            return report
        return replace(report, claims=self._claimed(plan[0]))

    def _check(self, plan: Plan | CheckReport) -> Steps[CheckReport]:
        if isinstance(plan, CheckReport):
            return plan
        candidate, references = plan
        examination = Examination(candidate, self._sandbox.level, self._budget, self._seed)
        report: CheckReport | None = None
        for spec in self._library.specs_for(candidate.features):
            if not candidate.takes(spec.cases):
                continue
            report = yield from examination.against_spec(spec)
            if report.verdict is not Verdict.PASS:
                break
        if report is not None and report.verdict not in (Verdict.PASS, Verdict.NO_SIGNAL):
            return report
        for place, (reference, likeness) in enumerate(references):
            profile = self._profiles.get(reference.digest)
            if profile is None:  # not the most alike, so not run beforehand
                profile = self._profiles[reference.digest] = yield from self._observed(reference)
            found = yield from examination.against_reference(profile, likeness, best=place == 0)
            if found.verdict is not Verdict.NO_SIGNAL:
                return found
            report = report or found
        if report is None:
            reason = "does not take the inputs of its spec"
            report = CheckReport(Verdict.NO_SIGNAL, reason, self._sandbox.level.name)
        return replace(report, effects=report.effects or candidate.effects)


def _internal(error: Exception) -> str:
    return f"error inside codeguard: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
