"""The sandbox's interface to the rest of codeguard."""

from __future__ import annotations

import contextlib
import select
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import TracebackType

from codeguard.errors import SandboxError
from codeguard.sandbox import imports
from codeguard.sandbox.codes import CodeCache
from codeguard.sandbox.given import Texts
from codeguard.sandbox.jobs import Request, refusal, request, result
from codeguard.sandbox.lines import Answer, ZygoteDiedError
from codeguard.sandbox.model import Job, JobResult, Layer, Level, Status
from codeguard.sandbox.roster import Roster
from codeguard.sandbox.zygotes import Zygote, ZygoteKind

_AHEAD = 8  # finished results per worker that may wait for an earlier one


class _Flight:
    """A job in progress: where it runs and how often it was tried."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.kind = ZygoteKind(job.world.hash_seed, imports.needed(job))
        self.start = time.monotonic()
        self.tries = 0
        self.request: Request | None = None
        self.zygote: Zygote | None = None
        self.result: JobResult | None = None


class Sandbox:
    """Runs jobs in confined child processes, one fresh child per job.

    Processes start with the first job. Below `level_required` every job is
    answered `unsupported`. `hash_seed` is that of most jobs, used for the first zygote. `zygotes` is the
    maximum number of each kind, None for as many as the cores can use. `without` disables layers, to measure
    and test them individually; the level then reflects that. `given` are modules that the native tier may import in
    addition to the standard ones (`read_given`). Safe to use from several threads; each job holds one of the
    `workers` zygotes while it runs.
    """

    def __init__(
        self,
        level_required: Level = Level.L2,
        workers: int = 1,
        *,
        hash_seed: int = 0,
        zygotes: int | None = None,
        without: frozenset[str] = frozenset(),
        given: Texts = (),
    ) -> None:
        if workers < 1:
            raise SandboxError("a sandbox needs a worker", got=workers, expected="1 or more")
        self.level_required = level_required
        self._workers = workers
        self._hash_seed = hash_seed
        self._without = frozenset(without)
        self._roster = Roster(workers, zygotes, self._without, given)
        self._given = frozenset(place.partition("/")[0].removesuffix(".py") for place, _ in given)
        self._known: tuple[Level, tuple[Layer, ...]] | None = None
        self._codes = CodeCache()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every zygote, after running jobs of other threads have ended."""
        self._roster.close()

    @property
    def level(self) -> Level:
        """The level measured by a real zygote and child trying forbidden operations."""
        return self._preflight()[0]

    def layers(self) -> tuple[Layer, ...]:
        """Return each layer, whether it is engaged and why, by testing it."""
        return self._preflight()[1]

    def run(self, job: Job) -> JobResult:
        """Run one job and return its result; never raises because of what the job does."""
        flight = _Flight(job)
        while flight.result is None:
            if self._launch(flight, wait=True):
                self._land(flight, wait=True)
        return flight.result

    def run_many(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Run jobs on all workers, and yield their results in the given order."""
        # `queue` keeps the order of the results, `flying` are the running jobs by descriptor, and `again` those that
        # found no free worker. Jobs are read at most `_AHEAD` per worker ahead of the next result.
        source = iter(jobs)
        queue: deque[_Flight] = deque()
        flying: dict[int, _Flight] = {}
        again: deque[_Flight] = deque()
        exhausted = False
        try:
            while not exhausted or queue:
                while len(flying) < self._workers:
                    if again:
                        flight = again.popleft()
                    elif exhausted or len(queue) >= self._workers * _AHEAD:
                        break
                    else:
                        job = next(source, None)
                        if job is None:
                            exhausted = True
                            break
                        flight = _Flight(job)
                        queue.append(flight)
                    if self._launch(flight, wait=not flying):
                        assert flight.zygote is not None
                        flying[flight.zygote.fileno()] = flight
                    elif flight.result is None:
                        again.append(flight)  # no worker is free for it now
                        break
                alone = len(flying) == 1
                for descriptor in _ready(flying):
                    flight = flying.pop(descriptor)
                    self._land(flight, wait=alone)
                    if flight.zygote is not None:
                        flying[descriptor] = flight
                    elif flight.result is None:
                        again.append(flight)
                while queue and queue[0].result is not None:
                    found = queue.popleft().result
                    assert found is not None
                    yield found
        finally:
            for flight in flying.values():
                if flight.zygote is not None:
                    self._roster.drop(flight.zygote)

    def _preflight(self) -> tuple[Level, tuple[Layer, ...]]:
        if self._known is None:
            try:
                zygote = self._take(ZygoteKind(self._hash_seed, imports.LoadedModules.CORE), wait=True)
                assert zygote is not None
                self._roster.give_back(zygote)
            except SandboxError as error:
                return Level.L0, (Layer("zygote", False, str(error)),)
        assert self._known is not None
        return self._known

    def _launch(self, flight: _Flight, wait: bool) -> bool:
        """Send a job to a zygote; False if it has its result already or no worker is free."""
        job = flight.job
        reason = refusal(job, self._given) if not flight.tries else ""
        if reason:
            flight.result = JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=reason)
            return False
        try:
            zygote = self._take(flight.kind, wait)
        except SandboxError as error:
            flight.result = JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=str(error))
            return False
        if zygote is None:
            return False
        required = max(self.level_required, Level.L0 if job.importing is None else Level.L2)
        if zygote.level < required:
            self._roster.give_back(zygote)
            missing = ", ".join(layer.name for layer in zygote.layers if not layer.engaged)
            detail = (
                f"the sandbox reaches {zygote.level.name}, {required.name} is required; "
                f"not engaged: {missing}"
            )
            flight.result = JobResult(Status.UNSUPPORTED, zygote.level, job.tier, detail=detail)
            return False
        flight.tries += 1
        if flight.request is None:
            flight.request = request(job, self._codes, "policy" not in self._without)
            if more := flight.request.compiling_s:
                limits = replace(job.limits, cpu_s=job.limits.cpu_s + more, wall_s=job.limits.wall_s + more)
                job = flight.job = replace(job, limits=limits)
        try:
            zygote.send(flight.request.payload, job.limits, flight.request.extra_bytes)
        except ZygoteDiedError as error:
            self._failed(flight, zygote, error)
            return False
        except BaseException:
            self._roster.drop(zygote)
            raise
        flight.zygote = zygote
        return True

    def _land(self, flight: _Flight, wait: bool) -> None:
        """Receive a job's answer, possibly partial; if there is none, retry the job once."""
        zygote, flight.zygote = flight.zygote, None
        assert zygote is not None
        try:
            answer = zygote.receive() if wait else zygote.collect()
            if answer is None:
                flight.zygote = zygote
                return
            flight.result = self._result(flight, zygote, answer)
        except ZygoteDiedError as error:
            self._failed(flight, zygote, error)
            return
        except BaseException:  # interrupted: discard the content of the pipe
            self._roster.drop(zygote)
            raise
        self._roster.give_back(zygote)

    def _result(self, flight: _Flight, zygote: Zygote, answer: Answer) -> JobResult:
        assert flight.request is not None
        wall_s = time.monotonic() - flight.start
        return result(flight.job, zygote.level, flight.request, answer, self._codes, wall_s)

    def _failed(self, flight: _Flight, zygote: Zygote, error: ZygoteDiedError) -> None:
        self._roster.drop(zygote)
        if flight.tries >= 2:
            detail = f"the zygote failed twice: {error}"
            wall_s = time.monotonic() - flight.start
            flight.result = JobResult(
                Status.NO_SIGNAL, zygote.level, flight.job.tier, detail=detail, wall_s=wall_s
            )

    def _take(self, kind: ZygoteKind, wait: bool) -> Zygote | None:
        zygote = self._roster.take(kind, wait)
        if zygote is not None:
            self._known = (zygote.level, zygote.layers)
        return zygote

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _ready(flying: dict[int, _Flight]) -> list[int]:
    """Wait for answers and return their descriptors; overdue ones count as ready."""
    if not flying:
        return []
    first = next(iter(flying))
    if len(flying) == 1:
        return [first]  # receiving will wait
    poll = select.poll()
    for descriptor in flying:
        poll.register(descriptor, select.POLLIN)
    until = {descriptor: flight.zygote.until for descriptor, flight in flying.items() if flight.zygote}
    left = min(until.values()) - time.monotonic()
    found = [descriptor for descriptor, _ in poll.poll(max(0.0, left) * 1000 + 1)]
    if found:
        return found
    now = time.monotonic()
    return [descriptor for descriptor, end in until.items() if end <= now]
