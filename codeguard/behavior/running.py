"""Jobs for the sandbox, as steps that many checks can take at the same time.

A check is a generator: it yields the jobs that it needs next and is sent
their results. `drive` runs many of them abreast, so that a batch keeps every
worker of the sandbox busy.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from codeguard.behavior.budget import Budget
from codeguard.behavior.examples import Example
from codeguard.behavior.source import PARSE_ERRORS, unparse
from codeguard.behavior.surroundings import Runnable
from codeguard.behavior.worlds import ORDINARY_WORLD
from codeguard.sandbox.model import (
    Call,
    CallResult,
    Job,
    JobResult,
    Level,
    Limits,
    Outcome,
    Status,
    Tier,
    World,
)

T = TypeVar("T")
Steps = Generator[tuple[Job, ...], tuple[JobResult, ...], T]
SUBJECT = "codeguard_subject"  # stands for the function in expressions, whatever it is called
STUCK = (Status.TIMEOUT, Status.MEMORY, Status.CRASH)
MAX_STUCK = 2


class Runs(Protocol):
    """What a check needs of the sandbox."""

    @property
    def level(self) -> Level:
        """The level of confinement that a real attempt showed."""
        ...

    def run_many(self, jobs: Sequence[Job]) -> Iterable[JobResult]:
        """Run jobs, each in a fresh child; results in the order of the jobs."""
        ...


def drive(sandbox: Runs, checks: Sequence[Steps[T]]) -> list[T]:
    """Run checks abreast until all have returned; results in their order."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Job, ...]] = {}
    for index, check in enumerate(checks):
        _advance(index, check, None, waiting, results)
    while waiting:
        turn = list(waiting.items())
        waiting = {}
        answers = iter(tuple(sandbox.run_many([job for _, jobs in turn for job in jobs])))
        for index, jobs in turn:
            _advance(index, checks[index], tuple(next(answers) for _ in jobs), waiting, results)
    return [results[index] for index in range(len(checks))]


def _advance(
    index: int,
    check: Steps[T],
    answer: tuple[JobResult, ...] | None,
    waiting: dict[int, tuple[Job, ...]],
    results: dict[int, T],
) -> None:
    try:
        waiting[index] = next(check) if answer is None else check.send(answer)
    except StopIteration as stop:
        results[index] = stop.value


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls to make in one fresh child."""

    calls: tuple[Call, ...]
    world: World = ORDINARY_WORLD
    trace: bool = False


@dataclass
class Runner:
    """Runs one function's calls; remembers the tier that accepts its source."""

    runnable: Runnable
    level: Level
    budget: Budget
    tier: Tier = Tier.RESTRICTED

    def run(self, *batches: Batch) -> Steps[tuple[JobResult, ...]]:
        """Run batches, in the restricted tier where its policy accepts the source, and go on after a stuck call."""
        jobs = tuple(self._job(batch) for batch in batches)
        results = yield jobs
        refused = any(result.status is Status.POLICY for result in results)
        if refused and self.tier is Tier.RESTRICTED and self.level >= Level.L2:
            self.tier = Tier.NATIVE
            jobs = tuple(replace(job, tier=Tier.NATIVE) for job in jobs)
            results = yield jobs
        settled = list(results)
        for index, job in enumerate(jobs):
            settled[index] = yield from _past_stuck_calls(job, settled[index])
        return tuple(settled)

    def _job(self, batch: Batch) -> Job:
        # An instance is made anew for every call; anything else gets a name that no example hides.
        bound = "None" if "()" in self.runnable.target else self.runnable.target
        return Job(
            source=f"{self.runnable.source}\n{SUBJECT} = {bound}\n",
            calls=batch.calls,
            tier=self.tier,
            limits=Limits(
                wall_s=self.budget.wall_s, cpu_s=self.budget.cpu_s, frame_bytes=self.budget.frame_bytes
            ),
            world=batch.world,
            trace=self.runnable.name if batch.trace else "",
        )


def _past_stuck_calls(job: Job, result: JobResult) -> Steps[JobResult]:
    """Where one call used a limit up, run those after it in a new child, a few times.

    Calls that share an argument with the stuck one which no finished call
    had are left out as well: they would stick, too. The status stays that of
    the first stuck child; what did not run is `not_run`.
    """
    answers: dict[int, CallResult] = {}
    pending, latest = list(range(len(job.calls))), result
    effects = dict.fromkeys(result.effects)
    for attempt in range(MAX_STUCK + 1):
        done = [answer.outcome is not Outcome.NOT_RUN for answer in latest.calls]
        answers.update(
            {i: answer for i, answer, ran in zip(pending, latest.calls, done, strict=False) if ran}
        )
        if latest.status not in STUCK or False not in done:
            break
        stuck = pending[done.index(False)]
        pending = [i for i in pending if i not in answers and i != stuck]
        pending = [i for i in pending if not _alike(job.calls[i], job.calls[stuck], job.calls, answers)]
        if not pending or attempt == MAX_STUCK:
            break
        (latest,) = yield (replace(job, calls=tuple(job.calls[i] for i in pending)),)
        effects.update(dict.fromkeys(latest.effects))
    missing = CallResult(Outcome.NOT_RUN)
    return replace(
        result,
        calls=tuple(answers.get(i, missing) for i in range(len(job.calls))),
        effects=tuple(effects),
        coverage=result.coverage or latest.coverage,
    )


def _alike(call: Call, stuck: Call, calls: Sequence[Call], finished: Iterable[int]) -> bool:
    """Say whether a call shares an argument with a stuck one that no finished call had."""
    if call.args is None or stuck.args is None:
        return False
    others = [calls[i].args or () for i in finished]
    return any(
        repr(mine) == repr(theirs)
        and not any(place < len(other) and repr(other[place]) == repr(mine) for other in others)
        for place, (mine, theirs) in enumerate(zip(call.args, stuck.args, strict=False))
    )


def call_of(example: Example, runnable: Runnable) -> Call | None:
    """Return the call that an example makes of this function; None where it cannot be written."""
    if example.args is not None:
        return Call(runnable.target, example.args, dict(example.kwargs))
    target = runnable.target if "()" in runnable.target else SUBJECT
    expression = _renamed(example.expression, example.callee, target)
    setup = (
        _renamed(example.setup, example.callee, target) if example.callee in example.setup else example.setup
    )
    if expression is None or setup is None:
        return None
    return Call(expression, None, {}, setup)


def _renamed(text: str, callee: str, target: str) -> str | None:
    try:
        tree = ast.parse(text)
        renamed = _Renamer(callee, ast.parse(target, mode="eval").body).visit(tree)
        return unparse(ast.fix_missing_locations(renamed))
    except PARSE_ERRORS:
        return None


class _Renamer(ast.NodeTransformer):
    """Puts the candidate in the place of the function that an example was written for."""

    def __init__(self, callee: str, target: ast.expr) -> None:
        self.callee = callee
        self.target = target

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_callee = node.id == self.callee and isinstance(node.ctx, ast.Load)
        return self.target if is_callee else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == self.callee and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            return self.target
        return self.generic_visit(node)
