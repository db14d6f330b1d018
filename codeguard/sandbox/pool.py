"""The sandbox as the rest of codeguard sees it."""

from __future__ import annotations

import hashlib
import marshal
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from codeguard.errors import SandboxError
from codeguard.sandbox import decoding, imports
from codeguard.sandbox.inside import wire
from codeguard.sandbox.model import CallResult, Job, JobResult, Layer, Level, Outcome, Status, Tier
from codeguard.sandbox.zygotes import Answer, Zygote, ZygoteDiedError

_CPU_SHARE = (
    0.9  # of the limit, from which on a killed child counts as out of CPU time: the kernel counts in ticks
)
# hash seed, and whether all modules are loaded or the core
_Kind = tuple[int, bool]

_CACHE_BYTES = 64 * 1024 * 1024


class Sandbox:
    """Runs jobs in confined child processes, one fresh child a job.

    Processes start with the first job. Below `level_required` every job is
    answered `unsupported`. `without` leaves layers out, to measure and to
    test them one by one; the level then says so. Safe to use from several
    threads; each job holds one of the `workers` zygotes while it runs.
    """

    def __init__(
        self,
        level_required: Level = Level.L2,
        workers: int = 1,
        cache_dir: Path | None = None,
        *,
        without: frozenset[str] = frozenset(),
    ) -> None:
        if workers < 1:
            raise SandboxError("a sandbox needs a worker", got=workers, expected="1 or more")
        self.level_required = level_required
        self._workers = workers
        self._without = frozenset(without)
        self._changed = threading.Condition()
        self._idle: dict[_Kind, list[Zygote]] = {}
        self._running = 0
        self._closed = False
        self._known: tuple[Level, tuple[Layer, ...]] | None = None
        self._codes: OrderedDict[bytes, bytes] = OrderedDict()
        self._codes_size = 0

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every zygote; jobs under way in other threads end as `no_signal`."""
        with self._changed:
            self._closed = True
            idle = [zygote for zygotes in self._idle.values() for zygote in zygotes]
            self._idle.clear()
            self._changed.notify_all()
        for zygote in idle:
            zygote.close()

    @property
    def level(self) -> Level:
        """The level that a real zygote and child showed when they tried what is forbidden."""
        return self._preflight()[0]

    def layers(self) -> tuple[Layer, ...]:
        """Return each layer, engaged or not and why, as found by trying it."""
        return self._preflight()[1]

    def run(self, job: Job) -> JobResult:
        """Run one job and say how it ended; never raises for what the job does."""
        return next(self.run_many([job]))

    def run_many(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Run jobs and yield their results in the order given, one after another."""
        for job in jobs:
            yield self._run(job)

    def _preflight(self) -> tuple[Level, tuple[Layer, ...]]:
        if self._known is None:
            try:
                self._release((0, False), self._acquire((0, False)))
            except SandboxError as error:
                return Level.L0, (Layer("zygote", False, str(error)),)
        assert self._known is not None
        return self._known

    def _acquire(self, kind: _Kind) -> Zygote:
        with self._changed:
            while True:
                if self._closed:
                    raise SandboxError("the sandbox is closed")
                idle = self._idle.get(kind)
                if idle:
                    self._running += 1
                    return idle.pop()
                if self._running < self._workers:
                    break
                self._changed.wait()
            self._running += 1
            spare = [zygotes.pop() for zygotes in self._idle.values() if len(zygotes) > self._workers]
        for zygote in spare:
            zygote.close()
        try:
            zygote = Zygote(*kind, self._without)
        except BaseException:
            with self._changed:
                self._running -= 1
                self._changed.notify()
            raise
        self._known = (zygote.level, zygote.layers)
        return zygote

    def _release(self, kind: _Kind, zygote: Zygote | None) -> None:
        with self._changed:
            self._running -= 1
            if zygote is not None and not self._closed:
                self._idle.setdefault(kind, []).append(zygote)
                zygote = None
            self._changed.notify()
        if zygote is not None:
            zygote.close()

    def _run(self, job: Job) -> JobResult:
        start = time.monotonic()
        reason = _refusal(job)
        if reason:
            return JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=reason)
        detail = ""
        kind = (job.world.hash_seed, imports.wide(job))
        for _ in range(2):
            try:
                zygote = self._acquire(kind)
            except SandboxError as error:
                return JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=str(error))
            level = zygote.level
            if level < self.level_required:
                self._release(kind, zygote)
                missing = ", ".join(layer.name for layer in zygote.layers if not layer.engaged)
                text = f"the sandbox reaches {level.name}, required is {self.level_required.name}"
                return JobResult(
                    Status.UNSUPPORTED, level, job.tier, detail=f"{text}; not engaged: {missing}"
                )
            key, payload, extra = self._payload(job)
            try:
                zygote.send(payload, job.limits, extra)
                answer = zygote.receive(job.limits.wall_s)
            except ZygoteDiedError as error:
                zygote.close()
                self._release(kind, None)
                detail = f"the zygote failed: {error}"
                continue
            self._release(kind, zygote)
            return self._result(job, level, key, answer, time.monotonic() - start)
        return JobResult(Status.NO_SIGNAL, level, job.tier, detail=detail, wall_s=time.monotonic() - start)

    def _payload(self, job: Job) -> tuple[bytes, bytes, int]:
        source = job.source.encode("utf-8", "surrogatepass")
        key = hashlib.sha256(job.tier.value.encode() + b"\0" + source).digest()
        with self._changed:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
        calls = [
            (call.setup, call.target, None if call.args is None else _packed((call.args, dict(call.kwargs))))
            for call in job.calls
        ]
        world = (job.world.now, dict(job.world.environment), job.world.random_seed)
        restricted = job.tier is Tier.RESTRICTED and "policy" not in self._without
        text = job.source if code is None else ""
        payload = marshal.dumps(
            (text, code, restricted, calls, world, job.trace, job.limits.frame_bytes, code is None)
        )
        return key, payload, 0 if code is not None else wire.CODE_BYTES

    def _keep(self, key: bytes, code: bytes) -> None:
        with self._changed:
            if key not in self._codes:
                self._codes[key] = code
                self._codes_size += len(code)
            while self._codes_size > _CACHE_BYTES:
                self._codes_size -= len(self._codes.popitem(last=False)[1])

    def _result(self, job: Job, level: Level, key: bytes, answer: Answer, wall_s: float) -> JobResult:
        bodies = deque(decoding.frames(answer.output))
        if bodies and bodies[0].startswith(wire.CODE):
            self._keep(key, bodies.popleft()[len(wire.CODE) :])
        calls: list[CallResult] = []
        end = None
        try:
            if sum(map(len, bodies)) > job.limits.frame_bytes + 4096 * (len(job.calls) + 1):
                raise decoding.MalformedError("more than the frame may hold")
            calls, end = decoding.calls_and_end(bodies, [call.args for call in job.calls])
        except decoding.MalformedError as error:
            return JobResult(Status.MALFORMED, level, job.tier, detail=str(error), wall_s=wall_s)
        status, detail = _ended(answer, job)
        effects: tuple[str, ...] = ()
        coverage = None
        if end is not None:
            said, detail, effects, coverage = end
            status = _SAID.get(said, Status.MALFORMED)
            if status is Status.COMPLETED and len(calls) != len(job.calls):
                status = Status.MALFORMED
        if status is Status.COMPLETED and any(_out_of_memory(call) for call in calls):
            status = Status.MEMORY
        calls += [CallResult(Outcome.NOT_RUN)] * (len(job.calls) - len(calls))
        return JobResult(status, level, job.tier, tuple(calls), effects, coverage, detail, wall_s)


_SAID = {
    "completed": Status.COMPLETED,
    "error": Status.ERROR,
    "memory": Status.MEMORY,
    "policy": Status.POLICY,
    "unsupported": Status.UNSUPPORTED,
}


def _out_of_memory(call: CallResult) -> bool:
    return call.outcome is Outcome.RAISED and call.exception[:1] == ("MemoryError",)


def _packed(arguments: Any) -> bytes:
    """Return one call's arguments for the way in; calls do not share objects."""
    return marshal.dumps(arguments)


def _refusal(job: Job) -> str:
    """Return why a job cannot be sent, empty where it can."""
    if len(job.source) > wire.SOURCE_BYTES:
        return f"source of {len(job.source)} characters, at most {wire.SOURCE_BYTES}"
    if not 0 <= job.world.hash_seed < 1 << 32:
        return f"hash seed {job.world.hash_seed} out of range"
    for call in job.calls:
        if not decoding.plain((call.args, dict(call.kwargs))):
            return f"an argument of {call.target[:40]!r} is not a plain value"
    return ""


def _ended(answer: Answer, job: Job) -> tuple[Status, str]:
    """Return how a child ended that did not finish its frames."""
    if answer.reason == wire.DEADLINE:
        return Status.TIMEOUT, f"longer than {job.limits.wall_s} s"
    if answer.reason == wire.FLOOD:
        return Status.MALFORMED, "more output than the frame may hold"
    number = answer.status & 0x7F
    if number == signal.SIGSYS:
        return Status.VIOLATION, "killed for a forbidden system call"
    if number == signal.SIGKILL and answer.cpu_s >= _CPU_SHARE * job.limits.cpu_s:
        return Status.TIMEOUT, f"more than {job.limits.cpu_s} s of CPU time"
    if number == signal.SIGKILL:
        return Status.NO_SIGNAL, "ended without a whole frame"
    if number:
        return Status.CRASH, f"signal {number}"
    return Status.NO_SIGNAL, f"ended with {answer.status >> 8} and without a whole frame"
