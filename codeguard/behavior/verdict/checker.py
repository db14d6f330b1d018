"""The behavior checker: does a function behave like the specs and trusted functions that it claims to be?"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

from codeguard.behavior.budget import CROWDED, SPENT, Budget
from codeguard.behavior.matching.candidate import (
    TOO_LARGE,
    CandidateFunction,
    describes_result,
    does_nothing,
    is_meant_empty,
    read_candidate,
)
from codeguard.behavior.matching.claims import LEAST_DOC_WORDS, Features, Similarity
from codeguard.behavior.matching.fingerprints import worth_probing
from codeguard.behavior.rivals import answers_to_keep
from codeguard.behavior.source.reach import module_capabilities
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.specs.examples import Spec
from codeguard.behavior.specs.facts import facts_version, reader_of, to_values
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.adequacy import Strength
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.examination import against_reference, against_spec, identical
from codeguard.behavior.verdict.profiles import Profile, observe
from codeguard.behavior.verdict.repaired import one_edit_away
from codeguard.behavior.verdict.reports import row_report
from codeguard.behavior.verdict.running import (
    SUBJECT,
    Answered,
    Answers,
    BudgetSpentError,
    CallRunner,
    Meter,
    RunMemory,
    Runs,
    Steps,
    drive,
    fingerprint,
    fingerprint_from,
    fingerprint_rows,
    metered,
    own_answers,
    shared_runs,
    worlds_for,
)
from codeguard.behavior.verdict.table import named
from codeguard.behavior.verdict.unannounced import has_unsaid_effect, judged_by_effects
from codeguard.behavior.version import POLICY_VERSION
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import SandboxError
from codeguard.models import CheckReport, Chunk, Coverage, SourceFile, Verdict, parts_digest
from codeguard.sandbox import Sandbox
from codeguard.sandbox.model import JobResult, Level, Tier
from codeguard.sandbox.zygotes import Texts
from codeguard.workers.tasks import CPU, LEAST_S, Deadline, DeadlineError

WINDOW = 64  # concurrent checks
MAX_PROFILES = 4_096
MAX_PLANS = 512
DECIDED = frozenset({Verdict.PASS, Verdict.DIFFERS, Verdict.FAIL, Verdict.DIVERGES, Verdict.VIOLATION})
PLANNING_S, EXAMINING_S = 2.0, 2.0  # CPU seconds of this process, for one function
BESIDE_S = 5.0  # the same for all functions of a file, together with the files that it imports
MAX_REFERENCES = 3  # references that one candidate is compared with
Subject = tuple[Chunk, SourceFile]
Plan = tuple[CandidateFunction, list[tuple[Reference, Similarity]]]


class BehaviorChecker:
    """Checks untrusted functions against a library of specs and trusted functions, inside a sandbox.

    Alone it has the shipped specs, a sandbox of its own that runs nothing below level L2, which `close` or the end
    of a `with` ends, and a random seed. `seed` is the installation's secret; it determines the generated inputs and
    the order of the calls. Below the sandbox level `required_level` nothing is run. With `probes` it runs the trusted
    functions on probes itself, once one function needs that; else `take_answers` is to bring what they answer.
    `given` are the modules that a sandbox of the caller's is given.
    """

    def __init__(
        self,
        library: SpecLibrary | None = None,
        sandbox: Runs | None = None,
        *,
        seed: bytes | None = None,
        budget: Budget | None = None,
        required_level: Level | None = None,
        probes: bool = True,
        given: Texts = (),
    ) -> None:
        own = Sandbox(required_level or Level.L2) if sandbox is None else None
        self.close: Callable[[], None] = own.close if own else lambda: None
        sandbox = sandbox or own
        assert sandbox is not None
        if required_level is None:
            required_level = own.level_required if own else Level.L0
        library = SpecLibrary.load() if library is None else library
        seed = secrets.token_bytes(32) if seed is None else seed
        self._library = library
        self._sandbox = sandbox
        self._seed = seed
        self._budget = replace(budget or Budget(), worlds=worlds_for(seed))
        self._required_level = required_level
        self._profiles: dict[str, Profile] = {}
        self._strengths: dict[str, Strength] = {}
        self._basis = parts_digest(
            POLICY_VERSION,
            repr(self._budget),
            sandbox.level.name,
            hashlib.sha256(b"codeguard seed id\0" + seed).hexdigest(),
            *(part for text in given for part in text),
        )
        self.runs_basis = parts_digest(self._basis, facts_version())  # of a `RunMemory`
        self._probes = probes
        self._fingerprints_made = False
        self._plans: dict[tuple[object, ...], Plan | CheckReport] = {}
        self._spent: dict[tuple[str, str], float] = {}  # CPU seconds on the imports of a file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check_code(self, code: str) -> list[tuple[str, CheckReport]]:
        """Return each function and method in a text of Python, by its name in the text, with its report.

        A name that is bound twice is there twice. A text that does not parse, or is none, has no functions.

        Raises:
            CorpusError: the text is larger than a file may be.
        """
        file = chunk_file("code.py", code.encode("utf-8", "replace"))
        subjects = [(chunk, file) for chunk in file.chunks if chunk.kind in ("function", "method")]
        reports = self.check_many(subjects)
        return [(chunk.symbol, report) for (chunk, _), report in zip(subjects, reports, strict=True)]

    def check(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return the report of one function."""
        return next(self.check_many([(chunk, file)]))

    def check_many(
        self, subjects: Sequence[Subject], meters: Sequence[Meter] = (), memories: Sequence[RunMemory] = ()
    ) -> Iterator[CheckReport]:
        """Yield the reports of many functions, in order; the sandbox runs them in parallel.

        `meters` limit what each may spend in the sandbox, `memories` have what ran before.
        """
        for start in range(0, len(subjects), WINDOW):
            prepared = [self._prepare(chunk, file) for chunk, file in subjects[start : start + WINDOW]]
            limits = meters[start : start + WINDOW] or [Meter() for _ in prepared]
            known = memories[start : start + WINDOW] or [RunMemory() for _ in prepared]
            wanted = {
                item.digest: (item, memory)
                for plan, memory in zip(reversed(prepared), reversed(known), strict=True)
                if not isinstance(plan, CheckReport)
                for item, _ in plan[1]
                if item.definition.text
                != plan[0].definition.text  # an exact copy is not run, and neither is its original
            }
            self._observe([pair for digest, pair in wanted.items() if digest not in self._profiles])
            if self._probes and any(map(self._lacks_answers, prepared)):
                self.take_answers(self.probe_trusted())
            checks = [
                memory.recalled(self._checked_safely(plan, meter, memory))
                for plan, meter, memory in zip(prepared, limits, known, strict=True)
            ]
            yield from drive(self._sandbox, checks)

    def _prepare(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        """Return the plan of a check, or its report; cached, because `lacks_answers` and the check both need it.

        Where the files that a file imports take too long to put together, its functions are taken without them.
        """
        key = file.path, file.sha256
        if self._spent.get(key, 0.0) > BESIDE_S:
            file = replace(file, siblings=())
        beside = tuple((item.path, item.sha256, item.trusted) for item in file.siblings)
        subject = (file.path, file.sha256, chunk.sha256, chunk.symbol, chunk.span, beside)
        if subject not in self._plans:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            begun = time.process_time()
            try:
                with Deadline(PLANNING_S):
                    self._plans[subject] = self._make_plan(chunk, file)
            except DeadlineError as error:
                if file.siblings:
                    self._spent[key] = math.inf
                    return self._prepare(chunk, file)
                self._plans[subject] = self._deadline_report(error)
            if file.siblings:
                self._spent[key] = self._spent.get(key, 0.0) + time.process_time() - begun
        return self._plans[subject]

    def _untested(self, reason: str, verdict: Verdict = Verdict.NO_SIGNAL, **more: Any) -> CheckReport:
        return CheckReport(verdict, reason, self._sandbox.level.name, **more)

    def _deadline_report(self, error: DeadlineError) -> CheckReport:
        verdict = Verdict.TIMEOUT if error.bound == CPU else Verdict.ERROR
        return self._untested(f"codeguard could not examine it: {error}", verdict)

    def _make_plan(self, chunk: Chunk, file: SourceFile) -> Plan | CheckReport:
        level = self._sandbox.level
        if level < self._required_level:
            reason = f"the sandbox offers {level.name}, {self._required_level.name} is required"
            return self._untested(reason, Verdict.UNSUPPORTED)
        candidate = read_candidate(chunk, file, self._library.modules)
        if isinstance(candidate, str):
            return self._untested(candidate, alone=True, spent=candidate in (CROWDED, TOO_LARGE))
        if does_nothing(candidate.definition.node):
            empty = self._stub_report(candidate)
            if empty is not None:
                return empty
        return self._plan(candidate)

    def _stub_report(self, candidate: CandidateFunction) -> CheckReport | None:
        """Report a function that does nothing although it claims to be a trusted one or describes a result.

        A stub in place of an implementation is suspicious, unless the trusted function is a stub as
        well, or the stub is there to be overridden.
        """
        trusted = self._library.lookalikes_of(candidate.features)
        if any(does_nothing(item.definition.node) for item in trusted) or is_meant_empty(
            candidate.definition
        ):
            return None
        claims = self._lookalike_name(candidate)
        if not claims and not describes_result(candidate.definition):
            return None
        row = named("does-nothing")
        claims = claims or "what its description promises"
        effects = candidate.effects
        return self._untested(row.reason, effects=effects, claims=claims, refuted=True, decided_by=row.id)

    def _plan(self, candidate: CandidateFunction) -> Plan | CheckReport:
        library, references = self._library, self._references(candidate)
        named = library.specs_for(candidate.features) or library.namesakes_of(candidate.features)
        twins = [] if references else self._everyones(candidate)
        if not (
            references
            or named
            or twins
            or self._can_be_probed(candidate)
            or (library.references and has_unsaid_effect(candidate))
        ):
            reason = self._why_silent(candidate)
            effects, claims = candidate.effects, self._lookalike_name(candidate)
            return self._untested(reason, effects=effects, claims=claims, alone=True)
        if candidate.usable is None:
            return self._untested(TOO_LARGE, spent=True)
        return _with_missing_names(candidate, references or twins), references

    def _everyones(self, candidate: CandidateFunction) -> list[tuple[Reference, Similarity]]:
        """Return everyone's functions that a candidate claims to be, unless the user has a spec."""
        specs = self._library.specs_for(candidate.features)
        known = all(spec.shipped for spec in specs)
        found = self._library.everyones.twins_of(candidate.features) if known else []
        return [pair for pair in found if candidate.accepts(pair[0].examples)][:MAX_REFERENCES]

    def _wants_probes(self, plan: Plan) -> bool:
        return not plan[1] and self._can_be_probed(plan[0])

    def _can_be_probed(self, candidate: CandidateFunction) -> bool:
        """Return whether a candidate may be matched by its results."""
        return worth_probing(candidate.features) and bool(self._library.references)

    def _references(self, candidate: CandidateFunction) -> list[tuple[Reference, Similarity]]:
        """Return the trusted functions to compare the candidate with, best match first."""
        text = candidate.definition.text

        def unlike(pair: tuple[Reference, Similarity]) -> tuple[bool, bool]:
            return pair[0].definition.text != text, not pair[1].overlap.is_whole

        chosen: list[tuple[Reference, Similarity]] = []
        for pair in sorted(self._library.references_for(candidate.features), key=unlike):
            # A copy is checked against its original only.
            if len(chosen) == MAX_REFERENCES or (chosen and unlike(chosen[0]) < unlike(pair)):
                break
            if pair[0].usable is not None and candidate.accepts(pair[0].examples):
                chosen.append(pair)
        return chosen

    def _why_silent(self, candidate: CandidateFunction) -> str:
        """Return why nothing could be compared."""
        found = self._library.references_for(candidate.features)
        named = next((item for item, similarity in found if similarity.name == 1.0), None)
        if named is None:
            return "no spec and no trusted function resembles it in name, description, source or results"
        return f"has the name of {named.name} ({named.origin}) but takes other arguments than its calls have"

    def _lookalike_name(self, candidate: CandidateFunction) -> str:
        """Return the trusted function that a reader would take the candidate for, or ""."""
        return next(
            (f"{item.name} ({item.origin})" for item in self._library.lookalikes_of(candidate.features)), ""
        )

    def _observe(self, wanted: Sequence[tuple[Reference, RunMemory]]) -> None:
        steps = [memory.recalled(self._observed(item)) for item, memory in wanted]
        for (reference, _), profile in zip(wanted, drive(self._sandbox, steps), strict=True):
            if len(self._profiles) >= MAX_PROFILES:
                self._profiles.clear()
            self._profiles[reference.digest] = profile

    def _observed(self, reference: Reference) -> Steps[Profile]:
        try:
            return (yield from shared_runs(observe(reference, self._sandbox.level, self._budget, self._seed)))
        except SandboxError:
            raise
        except Exception as error:  # an error on one function must not end the run
            able = module_capabilities(reference.runnable.source)
            return Profile(reference, (), (), Contract(), able, problem=_internal(error))

    def _checked_safely(
        self, plan: Plan | CheckReport, meter: Meter, memory: RunMemory
    ) -> Steps[CheckReport]:
        if isinstance(plan, CheckReport):
            return plan
        try:
            report = yield from metered(meter, _with_cpu_limit(EXAMINING_S, self._compared(plan, memory)))
        except SandboxError:
            raise
        except BudgetSpentError:
            return self._untested(SPENT, spent=True)
        except DeadlineError as error:
            report = self._deadline_report(error)
        except Exception as error:  # nor may the function count as checked: the report has the error
            report = self._untested(_internal(error), Verdict.ERROR)
        report = _unless_replaced(_with_real_name(report, plan[0].definition.name), plan[0])
        if report.claims or report.verdict in DECIDED or _agrees(report):
            return report
        return replace(report, claims=self._lookalike_name(plan[0]))

    def _compared(self, plan: Plan, memory: RunMemory) -> Steps[CheckReport]:
        """Compare a candidate with specs and trusted functions."""
        candidate, references = plan
        session = CandidateSession(candidate, self._sandbox.level, self._budget, self._seed, self._strengths)
        specs = [
            item for item in self._library.specs_for(candidate.features) if candidate.accepts(item.cases)
        ]
        # The user's specs come first, then the trusted code, then the shipped specs.
        report = yield from _check_specs([item for item in specs if not item.shipped], session)
        if report is not None and report.verdict not in (Verdict.PASS, Verdict.NO_SIGNAL):
            return report
        # What the team's own code says comes before what is everyone's.
        references = references or (yield from self._matched_by_results(session, memory))
        references = references or self._everyones(candidate)
        for reference, similarity in references:
            same = identical(session, reference)
            if same is not None:
                return same
            profile = yield from self._profile_of(reference)
            found = yield from against_reference(session, profile, similarity)
            # Where the claim rests on results only, the next reference may match all of them.
            if _agrees(found) or (similarity.claimed and found.verdict is not Verdict.NO_SIGNAL):
                return found
            # A pass or a refuted claim is final, whatever a less similar function gives.
            if report is None or (report.verdict is Verdict.NO_SIGNAL and not report.refuted):
                report = report if report is not None and report.different and _is_open(found) else found
        if _is_open(report):
            report = (yield from self._one_edit_away(session, plan, memory)) or report
        if report is None or report.verdict is Verdict.NO_SIGNAL:
            shipped = yield from _check_specs([item for item in specs if item.shipped], session)
            # A refuted claim is kept, unless the shipped spec gives a result; a few cases outweigh no wrong call.
            weaker: tuple[Verdict, ...] = ()
            if report is not None and report.refuted:
                spared = report.decided_by == "everyones"
                weaker = (Verdict.NO_SIGNAL, Verdict.PASS) if spared else (Verdict.NO_SIGNAL,)
            if shipped is not None and shipped.verdict not in weaker:
                report = shipped
        if report is None:
            report = self._untested(self._why_silent(candidate))
        silent = report.verdict is Verdict.NO_SIGNAL and not report.refuted and not session.answers
        if silent and has_unsaid_effect(candidate):
            yield from session.call_alone()
        report = replace(judged_by_effects(session, report), answers=session.answers)
        return replace(report, effects=report.effects or candidate.effects)

    def _one_edit_away(
        self, session: CandidateSession, plan: Plan, memory: RunMemory
    ) -> Steps[CheckReport | None]:
        """Report a candidate that is a trusted function but for a single edit."""
        features = session.candidate.features
        undescribed = len(features.doc) < LEAST_DOC_WORDS and not features.owner
        memory.varied = claims_nothing = undescribed and self._wants_probes(plan)
        found = yield from one_edit_away(session, self._library, self._profile_of, claims_nothing)
        if found is None:
            return None
        name, origin = found.reference.name, found.reference.origin
        texts = {"name": name, "edit": found.repair.shown, "agreed": found.agreed}
        claims = f"{name} ({origin})"
        row = named("one-edit-away")
        return row_report(row, session, session.idle, texts, claims=claims, weighed=[found.wrong])

    def _profile_of(self, reference: Reference) -> Steps[Profile]:
        if reference.digest not in self._profiles:
            self._profiles[reference.digest] = yield from self._observed(reference)
        return self._profiles[reference.digest]

    def _matched_by_results(
        self, session: CandidateSession, memory: RunMemory
    ) -> Steps[list[tuple[Reference, Similarity]]]:
        """Return the trusted functions whose results on probes the candidate shares."""
        index, features = self._library.fingerprints, session.candidate.features
        if not worth_probing(features):
            return []
        memory.answers = answers = yield from fingerprint(session.run_probes, index, index.trials(features))
        session.answers = answers_to_keep(features, answers, index)
        found = [self._library.references[place] for place in index.matches(answers)]
        return [(item, self._library.similarity(features, item)) for item in found if item.usable is not None]

    def asked_by(self, chunk: Chunk, file: SourceFile, memory: RunMemory) -> list[Any]:
        """Return what a check has asked the trusted code, as plain values: empty for what no check can call."""
        plan = self._prepare(chunk, file)  # which is there from the check
        candidate: CandidateFunction | str = plan[0] if isinstance(plan, tuple) else ""
        candidate = candidate or read_candidate(chunk, file, self._library.modules)
        if isinstance(candidate, str) or candidate.place is None:
            return []
        probed = None if memory.answers is None else fingerprint_rows("", memory.answers)
        return [to_values(candidate.features), candidate.place.wanted(), probed, memory.varied]

    def met(self, chunk: Chunk, file: SourceFile, asked: Sequence[Any]) -> str:
        """Return a digest of all that the report of a function depends on which asked this, "" if that is unknown.

        Where it is that of an earlier check, so is the report.
        """
        beside = [part for item in file.siblings for part in (item.path, item.sha256, str(item.trusted))]
        own = (file.path, file.sha256, chunk.sha256, chunk.symbol, repr(chunk.span), *beside)
        found: list[str] = []
        if asked:
            wanted, names, rows, varied = asked
            answers = fingerprint_from(rows, self._library.fingerprints)
            if rows is not None and (answers is None or not self._fingerprints_made):
                return ""
            found += self._library.met_by(reader_of(Features)(wanted), names, answers, varied=varied)
        return parts_digest(self.runs_basis, *own, str(len(beside)), *found)

    def lacks_answers(self, chunk: Chunk, file: SourceFile) -> bool:
        """Return whether a function is to be matched by its results, and what the trusted ones answer is not known."""
        return self._lacks_answers(self._prepare(chunk, file))

    def _lacks_answers(self, plan: Plan | CheckReport) -> bool:
        return not self._fingerprints_made and not isinstance(plan, CheckReport) and self._wants_probes(plan)

    def probe_trusted(self, share: int = 0, of: int = 1, known: Answered | None = None) -> Answered:
        """Return what every `of`-th trusted function answers to the probes, from the one with this number on.

        It can be `known` to another run, unless the first row is empty: that would answer otherwise. Nothing below the
        required sandbox level. What one answers, and to which kinds of arguments, does not depend on the others, so
        that several workers can share them.
        """
        if self._sandbox.level < self._required_level:
            return {}
        index, kept = self._library.fingerprints, known or {}
        keys = {place: self._fingerprint_key(place) for place in index.places[share::of]}
        found = {
            key: kept[key] for key in keys.values() if fingerprint_from(kept.get(key), index) is not None
        }
        by_source = {str(rows[0][0]): rows for rows in kept.values() if rows and rows[0]}
        places = [place for place, key in keys.items() if key not in found]
        for start in range(0, len(places), WINDOW):
            together = [(place, RunMemory()) for place in places[start : start + WINDOW]]
            steps = [memory.recalled(self._fingerprint_of(place, by_source)) for place, memory in together]
            for (place, memory), rows in zip(together, drive(self._sandbox, steps), strict=True):
                found[keys[place]] = rows if memory.lasting else [[], *rows[1:]]
        return found

    def take_answers(self, answered: Answered) -> None:
        """Match functions by what the trusted ones answered to the probes, from now on."""
        if self._fingerprints_made:
            return
        self._fingerprints_made = True
        index = self._library.fingerprints
        for place in index.places:
            found = fingerprint_from(answered.get(self._fingerprint_key(place)), index)
            for kinds, row in (found or {}).items():
                index.add(place, kinds, row)

    def _fingerprint_key(self, place: int) -> str:
        """Return the key of all that a trusted function answers: its file, what that can import, and the probes.

        It tells without the function's source, which takes longer to put together than most take to run.
        """
        reference, index = self._library.references[place], self._library.fingerprints
        return parts_digest(self.runs_basis, reference.basis, index.view(place, reference.features))

    def _fingerprint_of(self, place: int, by_source: Mapping[str, list[Answers]]) -> Steps[list[Answers]]:
        index, reference = self._library.fingerprints, self._library.references[place]
        made = reference.surroundings.runnable(reference.home, traced=False)
        if made is None:
            return [["unusable"]]
        # An answer beside another helper is another answer.
        around = made.home.digest() if made.home is not None else ""
        view = index.view(place, reference.features)
        key = parts_digest(self.runs_basis, made.source, made.target, around, view)
        if fingerprint_from(by_source.get(key), index) is not None:
            return by_source[key]
        # The policy is for code that nobody vouches for, and takes longer to compile under than most take to run.
        level = self._sandbox.level
        tier = Tier.NATIVE if level >= Level.L2 else Tier.RESTRICTED
        runner = CallRunner(made, level, self._budget, tier)
        known = index.kinds.get(place)
        trials = (
            {kinds: index.calls(kinds)[:1] for kinds in known} if known else index.trials(reference.features)
        )
        try:
            found = yield from fingerprint(partial(own_answers, runner), index, trials, sure=bool(known))
        except SandboxError:
            raise
        except Exception:  # after an error, a function is still matched by name, docstring and body
            return [[]]
        return fingerprint_rows(key, found)


def _is_open(report: CheckReport | None) -> bool:
    """Return whether no comparison has shown anything yet."""
    if report is None:
        return True
    spared = bool(report.decided_by) and "conviction" in named(report.decided_by).stages
    return report.verdict is Verdict.NO_SIGNAL and not report.refuted and not spared


def _agrees(report: CheckReport) -> bool:
    """Return whether every call agreed, on calls that show it or on such that cannot."""
    return report.verdict is Verdict.PASS or report.decided_by in ("too-weak", "edited")


def _with_missing_names(
    candidate: CandidateFunction, references: Sequence[tuple[Reference, Similarity]]
) -> CandidateFunction:
    """Return a candidate with what its file lacks and the file of the trusted function has.

    An excerpt without its file could not be run, and would be used in the place of the trusted function.
    """
    if not references or not candidate.runnable.unresolved:
        return candidate
    whole = replace(candidate, home=references[0][0].surroundings)
    return whole if whole.usable is not None else candidate


def _with_real_name(report: CheckReport, name: str) -> CheckReport:
    """Return a report with the function's real name in its calls instead of the placeholder."""
    reason, shown = (text.replace(SUBJECT, name) for text in (report.reason, report.counterexample))
    return replace(report, reason=reason, counterexample=shown)


def _check_specs(specs: Sequence[Spec], session: CandidateSession) -> Steps[CheckReport | None]:
    """Check a candidate against hand-written specs until one fails; None if there are none."""
    report: CheckReport | None = None
    for spec in specs:
        report = yield from against_spec(session, spec)
        if report.verdict is not Verdict.PASS:
            break
    return report


def _unless_replaced(report: CheckReport, candidate: CandidateFunction) -> CheckReport:
    """Return the report, without its pass where an importer of the file may get something else than what was run.

    Only where that is certain the function is taken for another than it appears to be.
    """
    if report.verdict is not Verdict.PASS or candidate.doubt is None:
        return report
    certain = candidate.doubt.certain
    return replace(
        report,
        verdict=Verdict.NO_SIGNAL,
        reason=candidate.why_no_pass,
        coverage=Coverage.PARTIAL,
        claims=f"{candidate.definition.qualified_name} ({report.origin})" if certain else "",
        refuted=certain,
        replaced=certain,
    )


def _with_cpu_limit(seconds: float, steps: Steps[CheckReport]) -> Steps[CheckReport]:
    """Run the steps of a check with a limit on CPU seconds in this process, excluding the sandbox.

    Raises:
        DeadlineError: the limit was exceeded.
    """
    answer: tuple[JobResult, ...] | None = None
    while True:
        start = time.process_time()
        try:
            with Deadline(max(LEAST_S, seconds)):
                jobs = next(steps) if answer is None else steps.send(answer)
        except StopIteration as stop:
            report: CheckReport = stop.value
            return report
        seconds -= time.process_time() - start
        answer = yield jobs


def _internal(error: Exception) -> str:
    return f"error inside codeguard: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
