"""Run calls in the sandbox, in two simulated environments ("worlds").

Results that differ between the worlds depend on more than the arguments. Probes match functions by their results.
"""

from __future__ import annotations

import ast
import hmac
import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from random import Random
from typing import Any, Protocol, TypeVar

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.discovery import sample_files
from codeguard.behavior.matching.fingerprints import (
    MOST_KINDS,
    Calls,
    FingerprintIndex,
    Kinds,
    answer_of,
    shortened,
)
from codeguard.behavior.source.definitions import PARSE_ERRORS, Function, parse_or_none, unparse
from codeguard.behavior.source.surroundings import Runnable, bound_names
from codeguard.behavior.specs.examples import Example, written
from codeguard.behavior.verdict.planted import planted
from codeguard.models import parts_digest
from codeguard.sandbox.decoding import MalformedError
from codeguard.sandbox.jobs import from_values, to_values
from codeguard.sandbox.model import (
    Call,
    CallResult,
    Importable,
    Job,
    JobResult,
    Level,
    Limits,
    Outcome,
    Status,
    Tier,
    World,
)
from codeguard.syntax.capabilities import CHANGING, NETWORK, OBSERVED, PROCESS

# Names found on ordinary machines: modules, users, projects, variables.
MODULES = "analysis common core formats functions general helpers library misc model service shared support tools utils"
USERS = "alex anna build ci dana deploy jan kim lee maria runner sam"
PROJECTS = "app backend billing catalog data-tools pipeline platform reports scripts site"
SECONDS = (1_650_000_000, 400_000_000)  # earliest start of the clock, and the range after it, in seconds


def worlds_for(seed: bytes) -> tuple[World, World]:
    """Return two worlds that look like ordinary machines and have only some files in common.

    They are derived from the installation's secret seed, so that code cannot recognise them and a
    check gives the same result twice.
    """
    random = Random(hmac.digest(seed or b"none", b"worlds", "sha256"))
    modules, users, projects = (random.sample(names.split(), 2) for names in (MODULES, USERS, PROJECTS))
    made: list[World] = []
    for module, user, project in zip(modules, users, projects, strict=True):
        home, (variables, private, _) = f"/home/{user}", planted(seed, len(made))
        environment = {
            "HOME": home,
            "USER": user,
            "LANG": "C.UTF-8" if made else "en_US.UTF-8",
            "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "PWD": f"{home}/{project}",
            **variables,
        }
        if made:
            environment.update(CI="1", DEBUG="1")
        else:
            environment.update(SHELL="/bin/bash", TERM="xterm-256color")
        made.append(
            World(
                now=SECONDS[0] + random.random() * SECONDS[1],
                environment=environment,
                hash_seed=random.randrange(1, 1 << 32),
                random_seed=random.randrange(1 << 62),
                module=module,
                folder=f"{home}/{project}/src",
                files={**sample_files(), **{f"{home}/{path}": text for path, text in private.items()}},
            )
        )
    return made[0], made[1]


T = TypeVar("T")
Steps = Generator[tuple[Job, ...], tuple[JobResult, ...], T]
Answers = list[str | None]
Fingerprint = Mapping[Kinds, Answers]
Answered = dict[str, list[Answers]]
"""The answers of functions to probes, by a digest of everything they depend on."""
SUBJECT = "codeguard_subject"  # placeholder for the function in expressions
_ALL = 0.9  # of what was left: who looks at the clock of a child does not see its last moments
_NEARLY_ALL = 0.8  # of its limit, seen of a child that was out of time on a busy machine
LACKING = frozenset({"NameError", "ImportError", "ModuleNotFoundError"})
STUCK = (Status.TIMEOUT, Status.MEMORY, Status.CRASH)
MAX_STUCK = 2
SMALL = 10_000  # bytes of a file
QUOTED = re.compile(r"""['"]([^'"\n]{1,200})['"]""")


class SharedRuns(tuple[Job, ...]):
    """Jobs that run trusted code for all checks alike, and are charged to none."""


class BudgetSpentError(Exception):
    """A check has spent its seconds in the sandbox."""


@dataclass
class Meter:
    """The seconds that one check may spend in the sandbox, and has spent."""

    allowed_s: float = math.inf
    spent_s: float = 0.0


def _relayed(steps: Steps[T], run: Callable[[tuple[Job, ...]], Steps[tuple[JobResult, ...]]]) -> Steps[T]:
    """Run steps, each of their groups of jobs by `run`."""
    try:
        jobs = next(steps)
        while True:
            jobs = steps.send((yield from run(jobs)))
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        steps.close()


def shared_runs(steps: Steps[T]) -> Steps[T]:
    """Run steps whose jobs are charged to no check."""

    def uncharged(jobs: tuple[Job, ...]) -> Steps[tuple[JobResult, ...]]:
        return (yield SharedRuns(jobs))

    return _relayed(steps, uncharged)


def metered(meter: Meter, steps: Steps[T]) -> Steps[T]:
    """Run steps, each job with what is left on the meter as its limit.

    Raises:
        BudgetSpentError: nothing is left.
    """

    def charged(jobs: tuple[Job, ...]) -> Steps[tuple[JobResult, ...]]:
        if isinstance(jobs, SharedRuns):
            return (yield jobs)
        answer: tuple[JobResult, ...] = ()
        for job in jobs:
            left = meter.allowed_s - meter.spent_s
            if left <= 0:
                raise BudgetSpentError
            limits = replace(
                job.limits, cpu_s=min(job.limits.cpu_s, left), wall_s=min(job.limits.wall_s, left)
            )
            (result,) = yield (replace(job, limits=limits),)
            meter.spent_s += result.spent_s
            if result.status is Status.TIMEOUT and result.spent_s >= _ALL * left:
                raise BudgetSpentError
            answer += (result,)
        return answer

    return _relayed(steps, charged)


@dataclass
class RunMemory:
    """The results of runs in the sandbox, by digests of everything that they depend on, so that none is made twice.

    `basis` is the digest of what all runs depend on. `known` are results of earlier times in the form in which they are
    kept, `used` those among them that were needed since, and the new ones. It is not `lasting` once a busy machine or
    an interruption may have ended a run. `answers` are those to the probes, once the check
    needed them, and `varied` means that it needed those of its variants as well.
    """

    basis: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    lasting: bool = True
    answers: Fingerprint | None = None
    varied: bool = False

    def recalled(self, steps: Steps[T]) -> Steps[T]:
        """Run steps, except for jobs of which the result is known."""

        def run(jobs: tuple[Job, ...]) -> Steps[tuple[JobResult, ...]]:
            keys = [self._key(job) for job in jobs]
            found = [self._known(key, job) for key, job in zip(keys, jobs, strict=True)]
            missing = [job for job, result in zip(jobs, found, strict=True) if result is None]
            made = iter((yield type(jobs)(missing)) if missing else ())
            results: list[JobResult] = []
            for key, job, known in zip(keys, jobs, found, strict=True):
                results.append(result := next(made) if known is None else known)
                if holds(result, job.limits):
                    self.used[key] = to_values(result)
                else:
                    self.lasting = False
            return tuple(results)

        return _relayed(steps, run)

    def _known(self, key: str, job: Job) -> JobResult | None:
        kept = self.used.get(key) or self.known.get(key)
        try:
            found = None if kept is None else from_values(job, kept)
        except MalformedError:  # of a worker that was not itself
            return None
        return found if found is not None and holds(found, job.limits) else None

    def _key(self, job: Job) -> str:
        table = job.importing
        served = [] if table is None else [(name, table.keys[name].hex()) for name in sorted(table.modules)]
        packages = (
            [] if table is None else sorted(name for name, item in table.modules.items() if item.is_package)
        )
        limits = job.limits.memory_bytes, job.limits.frame_bytes
        around = job.tier, job.trace, limits, job.world.hash_seed, table and table.name, served, packages
        calls = [(call.setup, call.target, call.args, call.kwargs) for call in job.calls]
        return parts_digest(self.basis, job.source, *map(written, (around, *calls)))


def holds(result: JobResult, limits: Limits) -> bool:
    """Return whether a job with these limits would end like this again, on a machine that is busy or not."""
    if result.status is Status.TIMEOUT:
        return result.spent_s >= _NEARLY_ALL * limits.cpu_s
    ended = result.status not in (Status.NO_SIGNAL, Status.UNSUPPORTED, Status.MALFORMED)
    return ended and result.spent_s <= min(limits.cpu_s, limits.wall_s)


class Runs(Protocol):
    """The interface of the sandbox that a check needs."""

    @property
    def level(self) -> Level:
        """The level of confinement that was verified by a real attempt."""
        ...

    def run_many(self, jobs: Sequence[Job]) -> Iterable[JobResult]:
        """Run jobs, each in a fresh child, and return results in the order of the jobs."""
        ...


def drive(sandbox: Runs, checks: Sequence[Steps[T]]) -> list[T]:
    """Run checks concurrently until all have returned; results are in order."""
    results: dict[int, T] = {}
    answers: dict[int, tuple[JobResult, ...] | None] = dict.fromkeys(range(len(checks)))
    while answers:
        waiting: dict[int, tuple[Job, ...]] = {}
        for index, answer in answers.items():
            check = checks[index]
            try:
                waiting[index] = next(check) if answer is None else check.send(answer)
            except StopIteration as stop:
                results[index] = stop.value
        jobs = [job for some in waiting.values() for job in some]
        done = iter(tuple(sandbox.run_many(jobs)) if jobs else ())
        answers = {index: tuple(next(done) for _ in some) for index, some in waiting.items()}
    return [results[index] for index in range(len(checks))]


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls to make in one fresh child."""

    calls: tuple[Call, ...]
    other: bool = False  # in the second of the two worlds
    trace: bool = False


@dataclass
class CallRunner:
    """Runs the calls of one function; remembers the tier that accepts its source, and the effects of the runs.

    `called` are the effects of calls alone, `given` the texts among their arguments, `written` the texts of small files
    that they left. `lacking` is what its file as a whole lacks, where that cannot be imported.
    A function that uses other files of its corpus is run in its own, imported as it is. Others are run with the code
    of their file that they need, under the policy if that accepts the code, and only if this lacks something as well.
    """

    runnable: Runnable
    level: Level
    budget: Budget
    tier: Tier = Tier.RESTRICTED
    effects: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    lacking: str = ""

    def __post_init__(self) -> None:
        if self.runnable.borrowed and self.importable is not None:
            self.tier = Tier.IMPORTED

    @cached_property
    def importable(self) -> Importable | None:
        """The function's file as it is, with what it can import; None if it cannot be imported."""
        home = self.runnable.home
        return home.importable() if home is not None and self.level >= Level.L2 else None

    def run(self, *batches: Batch, patient: bool = True) -> Steps[tuple[JobResult, ...]]:
        """Run batches, in the restricted tier if its policy accepts the source.

        If `patient`, the calls after one that hits a limit are run in a new child. What did not finish in one batch
        is not run in the next ones: it would hit the limit again, and could not be compared.
        """
        results: list[JobResult] = []
        unfinished: set[int] = set()
        for batch in batches:
            places = [i for i, call in enumerate(batch.calls) if id(call) not in unfinished]
            if unfinished and not places:
                ended = replace(results[-1], effects=(), coverage=None)
                results.append(_spread(ended, {}, len(batch.calls)))
                continue
            part = replace(batch, calls=tuple(batch.calls[i] for i in places))
            job = self._job(part)
            (result,) = yield (job,)
            if self.tier is Tier.IMPORTED and not _shows_something(result):
                self.lacking, self.tier = _lack_of(result), Tier.RESTRICTED
                alone = self._job(part)
                (other,) = yield (alone,)
                if result.status is Status.COMPLETED and not _shows_something(other):
                    self.tier = Tier.IMPORTED  # the module was imported, only these calls lack something
                else:
                    job, result, self.importable = alone, other, None
            if result.status is Status.POLICY and self.tier is Tier.RESTRICTED and self.level >= Level.L2:
                self.tier = Tier.NATIVE
                job = replace(job, tier=Tier.NATIVE)
                (result,) = yield (job,)
            if self.importable is not None and self.tier is not Tier.IMPORTED and _lack_of(result):
                before, self.tier = self.tier, Tier.IMPORTED
                whole = self._job(part)
                (imported,) = yield (whole,)
                if _shows_something(imported):
                    job, result = whole, imported
                else:
                    self.lacking, self.tier, self.importable = _lack_of(imported), before, None
            if self.lacking and result.status is Status.ERROR:
                kind = "" if self.lacking.startswith(tuple(LACKING)) else "ImportError: "
                result = replace(result, detail=f"{kind}{self.lacking}")
            if patient:
                result = yield from _past_stuck_calls(job, result)
            result = _spread(result, dict(zip(places, result.calls, strict=False)), len(batch.calls))
            if result.status is Status.COMPLETED and len(places) < len(batch.calls):
                result = replace(result, status=results[-1].status, detail=results[-1].detail)
            if result.status in STUCK:
                unfinished |= {
                    id(call)
                    for call, answer in zip(batch.calls, result.calls, strict=True)
                    if answer.outcome is Outcome.NOT_RUN
                }
            self.effects.update(result.effects)
            self._note(batch.calls, result)
            results.append(result)
        return tuple(results)

    @property
    def leaving(self) -> Iterator[str]:
        """What calls gave to connections, processes and files."""
        for effect in self.called:
            what = effect.partition(":")[0]
            if OBSERVED.get(what) in (NETWORK, PROCESS) or what in CHANGING:
                yield effect
        yield from self.written

    def _note(self, calls: Sequence[Call], result: JobResult) -> None:
        self.called.update(result.called)
        if result.called:
            self.given.update(_texts([(call.target, call.setup, call.args) for call in calls]))
            files = (content for answer in result.calls for _, content in answer.files)
            self.written.update(
                text.decode("latin-1") for text in files if isinstance(text, bytes) and len(text) < SMALL
            )

    def _job(self, batch: Batch) -> Job:
        # Methods get a new instance per call; functions get a name that no example shadows.
        bound = "None" if "()" in self.runnable.target else self.runnable.target
        imported = self.tier is Tier.IMPORTED
        text = self.runnable.added if imported else self.runnable.source
        return Job(
            source=f"{text}\n{SUBJECT} = {bound}\n",
            calls=batch.calls,
            tier=self.tier,
            limits=Limits(
                wall_s=self.budget.wall_s, cpu_s=self.budget.cpu_s, frame_bytes=self.budget.frame_bytes
            ),
            world=self.budget.worlds[batch.other],
            trace=self.runnable.name if batch.trace and not imported else "",
            importing=self.importable if imported else None,
        )


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a plain value, those in code among them."""
    if isinstance(value, str):
        yield from (value, *QUOTED.findall(value))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)


def rows_of(result: JobResult, calls: int) -> list[tuple[CallResult, ...]]:
    """Return the results of several functions that were called with the same calls, a row for each."""
    return [result.calls[start : start + calls] for start in range(0, len(result.calls), calls)]


def answers_of(runner: CallRunner, targets: Sequence[str], calls: Calls) -> Steps[list[Answers]]:
    """Return the answers of several functions of one source to the same calls, None where there is none."""
    (result,) = yield from runner.run(
        Batch(tuple(Call(target, args) for target in targets for args in calls))
    )
    rows = rows_of(result, len(calls))
    found = [[answer_of(*pair) for pair in zip(row, calls, strict=True)] for row in rows]
    return [[None if text is None else shortened(text) for text in row] for row in found]


def own_answers(runner: CallRunner, calls: Calls) -> Steps[Answers]:
    """Return the answers of a runner's function itself."""
    (row,) = yield from answers_of(runner, [runner.runnable.target], calls)
    return row


def fingerprint(
    ask: Callable[[Calls], Steps[Answers]],
    index: FingerprintIndex,
    trials: Mapping[Kinds, Calls],
    sure: bool = False,
) -> Steps[Fingerprint]:
    """Return a function's answers to the calls of the kinds that it accepts.

    With `sure`, `trials` has the function's own kinds of arguments, so all of them are used.
    """
    taken = list(trials)
    if taken and not sure:
        tried = iter((yield from ask(tuple(call for calls in trials.values() for call in calls))))
        taken = index.informative_kinds(
            {kinds: [next(tried) for _ in calls] for kinds, calls in trials.items()}
        )
    taken = taken[:MOST_KINDS]
    if not taken:
        return {}
    given = iter((yield from ask(tuple(call for kinds in taken for call in index.calls(kinds)))))
    return {kinds: [next(given) for _ in index.calls(kinds)] for kinds in taken}


def fingerprint_rows(key: str, found: Fingerprint) -> list[Answers]:
    """Return a fingerprint as rows: the function's key, then each kind of arguments and the answers to its calls."""
    rows: list[Answers] = [[key]]
    for kinds, answers in found.items():
        rows.append(list(kinds))
        rows.append(answers)
    return rows


def fingerprint_from(rows: Sequence[Answers] | None, index: FingerprintIndex) -> Fingerprint | None:
    """Inverse of `fingerprint_rows`; None if they are not of the calls of this index, or there are none."""
    if rows is None:
        return None
    try:
        found = {tuple(map(str, rows[at])): rows[at + 1] for at in range(1, len(rows), 2)}
        fits = all(len(answers) == len(index.calls(kinds)) for kinds, answers in found.items())
    except LookupError:
        return None
    return found if fits else None


def _lack_of(result: JobResult) -> str:
    """Return what a function lacks that its file as a whole may have, as a result shows it; "" if nothing."""
    raised = (item for item in result.calls if LACKING.intersection(item.exception[:1]))
    called = next((f"{item.exception[0]}: {item.message}" for item in raised), "")
    return result.detail if result.status is Status.ERROR else called


def _shows_something(result: JobResult) -> bool:
    """Return whether calls were answered, by more than that something is lacking, and none for want of a package."""
    stood_in = any(effect.startswith("absent:") for effect in result.effects)
    if stood_in and any("ModuleNotFoundError" in answer.exception for answer in result.calls):
        return False
    return any(
        answer.outcome is not Outcome.NOT_RUN and not LACKING.intersection(answer.exception[:1])
        for answer in result.calls
    )


def _spread(result: JobResult, answers: Mapping[int, CallResult], count: int) -> JobResult:
    """Return a result with the answers of some of `count` calls; the others were not run."""
    missing = CallResult(Outcome.NOT_RUN)
    return replace(result, calls=tuple(answers.get(place, missing) for place in range(count)))


def _past_stuck_calls(job: Job, result: JobResult) -> Steps[JobResult]:
    """Run the calls after one that hit a limit in new children, a few times, as long as some call finishes.

    Calls are skipped that share a trait with the stuck one which no finished call had: each would cost a second. The
    status stays that of the first stuck child; calls that were not run are `not_run`.
    """
    answers: dict[int, CallResult] = {}
    pending, latest = list(range(len(job.calls))), result
    effects = dict.fromkeys(result.effects)
    for attempt in range(MAX_STUCK + 1):
        done = [answer.outcome is not Outcome.NOT_RUN for answer in latest.calls]
        answers.update(
            {i: answer for i, answer, ran in zip(pending, latest.calls, done, strict=False) if ran}
        )
        if latest.status not in STUCK or False not in done or (attempt and True not in done):
            break
        stuck = pending[done.index(False)]
        suspected = _traits(job.calls[stuck]).difference(*(_traits(job.calls[i]) for i in answers))
        pending = [
            i
            for i in pending
            if i not in answers and i != stuck and suspected.isdisjoint(_traits(job.calls[i]))
        ]
        if not pending or attempt == MAX_STUCK:
            break
        (latest,) = yield (replace(job, calls=tuple(job.calls[i] for i in pending)),)
        effects.update(dict.fromkeys(latest.effects))
    result = replace(result, effects=tuple(effects), coverage=result.coverage or latest.coverage)
    return _spread(result, answers, len(job.calls))


def _traits(call: Call) -> set[tuple[int, str]]:
    """Return what an endless loop may depend on: the arguments by place, and which are negative or no whole number."""
    given = [*enumerate(call.args or ())]
    texts = [(place, repr(value)) for place, value in given]
    fractions = ((place, ".") for place, value in given if isinstance(value, float) and value % 1)
    return {*texts, *fractions, *((place, "-") for place, text in texts if text.startswith("-"))}


def call_of(example: Example, runnable: Runnable) -> Call | None:
    """Return the call of this function for an example; None if it cannot be written.

    A method is called on an object that the call creates from the candidate's own class. None if the function is no
    method, or its class does not accept these constructor arguments.
    """
    if example.args is not None:
        return Call(runnable.target, example.args, dict(example.kwargs))
    owner, _, name = example.callee.rpartition(".")
    own, (own_owner, _, _) = _classes(runnable.source), runnable.target.partition("()")
    target = runnable.target if "()" in runnable.target else SUBJECT
    if owner:
        own_owner = runnable.target.partition(".")[0].removesuffix("()")
        target = f"{own_owner}.{runnable.name}"
        if own_owner not in own or "." not in runnable.target:
            return None
    around = _needed_code(example, runnable)
    if not owner and target is not SUBJECT and any(own_owner in _classes(text) for text in around):
        return None  # the trusted class would shadow the candidate's own
    *before, expression = [
        _renamed(text, example.callee, target) if name in text or (owner and owner in text) else text
        for text in (*around, _without_own_classes(example.setup, runnable.source), example.expression)
    ]
    setup = "\n".join(text for text in before if text)
    if expression is None or None in before:
        return None
    if owner:
        made = [call for text in (setup, expression) for call in calls_of(own_owner, text)]
        return (
            Call(expression, None, {}, setup)
            if all(_accepts(own[own_owner], call) for call in made)
            else None
        )
    # If the function's name is gone, it was in a removed class, and the call is of another function.
    mentioned = any(name in text for text in (*example.around, example.setup))
    return (
        None if mentioned and not setup and SUBJECT not in expression else Call(expression, None, {}, setup)
    )


def _needed_code(example: Example, runnable: Runnable) -> list[str]:
    """Return the code that an example needs from the trusted files and the function does not contain.

    Classes of the function's own file take precedence, because it expects objects of those.
    """
    own, around = _classes(runnable.source), runnable.around if example.around else ()
    texts = [text for text in example.around if text not in around or text.startswith("from __future__")]
    texts = [text for text in texts if not any(_is_same_class(item, own) for item in _classes(text).values())]
    return [text for text in texts if not runnable.file_names or not _bound_by(text) <= runnable.file_names]


@lru_cache(maxsize=4096)
def _bound_by(text: str) -> frozenset[str]:
    """Return the names that the text of one statement binds."""
    tree = parse_or_none(text)
    return frozenset(name for item in (tree.body if tree is not None else ()) for name in bound_names(item))


@lru_cache(maxsize=4096)
def _classes(source: str) -> Mapping[str, ast.ClassDef]:
    tree = parse_or_none(source) if "class " in source else None
    body = tree.body if tree is not None else []
    return {statement.name: statement for statement in body if isinstance(statement, ast.ClassDef)}


@lru_cache(maxsize=1024)
def _without_own_classes(setup: str, source: str) -> str:
    """Return a setup without the classes that the function's own file defines with equal constructors.

    The function expects objects of the class in its own file.
    """
    own = _classes(source)
    tree = parse_or_none(setup) if own and "class " in setup else None
    if tree is None:
        return setup
    kept = [statement for statement in tree.body if not _is_same_class(statement, own)]
    return unparse(ast.Module(kept, [])) if len(kept) < len(tree.body) else setup


def _is_same_class(statement: ast.stmt, own: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether a statement defines a class that exists under this name with the same constructor."""
    known = own.get(statement.name) if isinstance(statement, ast.ClassDef) else None
    return (
        isinstance(statement, ast.ClassDef)
        and known is not None
        and _constructor(statement) == _constructor(known)
    )


def _made_by(node: ast.ClassDef) -> Function | None:
    return next((item for item in node.body if isinstance(item, Function) and item.name == "__init__"), None)


def _constructor(node: ast.ClassDef) -> str:
    """Return a text that is equal for classes with equal constructor parameters."""
    found = _made_by(node)
    if found is not None:
        return unparse(found.args)
    fields = [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    return repr((fields, [unparse(base) for base in node.bases]))


def calls_of(name: str, text: str) -> Iterator[ast.Call]:
    """Yield the calls of a name in a text."""
    tree = parse_or_none(text) if name in text else None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


@lru_cache(maxsize=1024)
def makes_an_instance(target: str, source: str) -> bool:
    """Return whether a call of the target binds its class, which methods like `Class().name` are called on."""
    name, parenthesis, _ = target.partition("().")
    own = _classes(source).get(name) if parenthesis else None
    return own is None or _accepts(own, ast.Call(ast.Name(name), [], []))


def _accepts(own: ast.ClassDef, call: ast.Call) -> bool:
    """Return whether a class accepts the arguments of a call; True if its source does not show that."""
    found = _made_by(own)
    if found is None:
        return True
    arguments = found.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:]
    names = {*positional, *(argument.arg for argument in arguments.kwonlyargs)}
    given = {keyword.arg for keyword in call.keywords}
    if arguments.vararg is None and len(call.args) > len(positional):
        return False
    if arguments.kwarg is None and not given <= names:
        return False
    needed = positional[len(call.args) : max(0, len(positional) - len(arguments.defaults))]
    return all(name in given for name in needed)


@lru_cache(maxsize=4096)
def _renamed(text: str, callee: str, target: str) -> str | None:
    """Return a text with the example's function replaced by another one; None if it is no code."""
    try:
        return unparse(_Renamer(callee, target).visit(ast.parse(text)))
    except PARSE_ERRORS:
        return None


class _Renamer(ast.NodeTransformer):
    """Replaces the function, or the class and the method, that an example was written for by the candidate's."""

    def __init__(self, callee: str, target: str) -> None:
        self.owner, _, self.name = callee.rpartition(".")
        self.own_owner, _, self.own_name = target.rpartition(".")
        self.target = ast.parse(target, mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.owner:
            return ast.Name(self.own_owner, node.ctx) if node.id == self.owner else node
        return self.target if node.id == self.name and isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self.owner and node.attr == self.name:
            node.attr = self.own_name
        elif node.attr == self.name and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            return self.target
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave a class with a method of the function's name unchanged: its attributes refer to that method."""
        own = any(isinstance(item, Function) and item.name == self.name for item in node.body)
        return node if own and not self.owner else self.generic_visit(node)
