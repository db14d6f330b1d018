"""The sandbox's interface to the rest of codeguard."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from codeguard.errors import SandboxError
from codeguard.sandbox.jobs import CodeCache, needed_modules, refusal, request, result
from codeguard.sandbox.model import Job, JobResult, Layer, Level, Status
from codeguard.sandbox.zygotes import LoadedModules, Texts, Zygote, ZygoteDiedError, ZygoteKind

_TRIES = 2  # of a job whose zygote ended
_KINDS = 6  # kinds of zygotes that are kept while idle: one for each world and set of modules


class Sandbox:
    """Runs jobs in confined child processes, one fresh child per job.

    Processes start with the first job. Below `level_required` every job is
    answered `unsupported`. `hash_seed` is that of most jobs, used for the first zygote. `without` disables
    layers, to measure and test them individually; the level then reflects that. `given` are modules that the
    native tier may import in addition to the standard ones (`read_given`). Safe to use from several threads;
    each job holds one of the `workers` zygotes while it runs.
    """

    def __init__(
        self,
        level_required: Level = Level.L2,
        workers: int = 1,
        *,
        hash_seed: int = 0,
        without: frozenset[str] = frozenset(),
        given: Texts = (),
    ) -> None:
        if workers < 1:
            raise SandboxError("a sandbox needs a worker", got=workers, expected="1 or more")
        self.level_required = level_required
        self._workers = workers
        self._hash_seed = hash_seed
        self._without = frozenset(without)
        self._given = given
        self._given_names = frozenset(place.partition("/")[0].removesuffix(".py") for place, _ in given)
        self._changed = threading.Condition()
        self._idle: list[Zygote] = []  # least recently used first
        self._lent = 0
        self._closed = False
        self._known: tuple[Level, tuple[Layer, ...]] | None = None
        self._codes = CodeCache()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every idle zygote, and each lent one when it is returned."""
        with self._changed:
            self._closed = True
            ended, self._idle = self._idle, []
            self._changed.notify_all()
        for zygote in ended:
            zygote.close()

    @property
    def level(self) -> Level:
        """The level measured by a real zygote and child trying forbidden operations."""
        return self._preflight()[0]

    def layers(self) -> tuple[Layer, ...]:
        """Return each layer, whether it is engaged and why, by testing it."""
        return self._preflight()[1]

    def _preflight(self) -> tuple[Level, tuple[Layer, ...]]:
        if self._known is None:
            try:
                self._give_back(self._take(ZygoteKind(self._hash_seed, LoadedModules.CORE)))
            except SandboxError as error:
                return Level.L0, (Layer("zygote", False, str(error)),)
        assert self._known is not None
        return self._known

    def run_many(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Run jobs on all workers, and yield their results in the given order."""
        if self._workers == 1:
            yield from map(self.run, jobs)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            yield from threads.map(self.run, jobs)

    def run(self, job: Job) -> JobResult:
        """Run one job and return its result; never raises because of what the job does."""
        start = time.monotonic()
        reason = refusal(job, self._given_names)
        if reason:
            return JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=reason)
        kind = ZygoteKind(job.world.hash_seed, needed_modules(job))
        required = max(self.level_required, Level.L0 if job.importing is None else Level.L2)
        sent, level, died = None, Level.L0, ""
        for _ in range(_TRIES):
            try:
                zygote = self._take(kind)
            except SandboxError as error:
                return JobResult(Status.UNSUPPORTED, Level.L0, job.tier, detail=str(error))
            level = zygote.level
            if level < required:
                self._give_back(zygote)
                missing = ", ".join(layer.name for layer in zygote.layers if not layer.engaged)
                detail = (
                    f"the sandbox reaches {level.name}, {required.name} is required; not engaged: {missing}"
                )
                return JobResult(Status.UNSUPPORTED, level, job.tier, detail=detail)
            try:
                if sent is None:
                    sent = request(job, self._codes, "policy" not in self._without)
                    cpu_s, wall_s = (
                        limit + sent.compiling_s for limit in (job.limits.cpu_s, job.limits.wall_s)
                    )
                    job = replace(job, limits=replace(job.limits, cpu_s=cpu_s, wall_s=wall_s))
                zygote.send(sent.payload, job.limits, sent.extra_bytes)
                answer = zygote.receive()
                found = result(job, level, sent, answer, self._codes, time.monotonic() - start)
            except ZygoteDiedError as error:
                self._drop(zygote)
                died = str(error)
                continue
            except BaseException:  # interrupted: discard the content of the pipe
                self._drop(zygote)
                raise
            self._give_back(zygote)
            return found
        detail = f"the zygote failed {_TRIES} times: {died}"
        wall_s = time.monotonic() - start
        return JobResult(Status.NO_SIGNAL, level, job.tier, detail=detail, wall_s=wall_s)

    def idle(self) -> tuple[Zygote, ...]:
        """Return the idle zygotes, least recently used first."""
        return tuple(self._idle)

    def _take(self, kind: ZygoteKind) -> Zygote:
        """Lend a zygote of a kind to one job, starting one if needed; at most `workers` are lent at once.

        Raises SandboxError if none can be started, or the sandbox is closed.
        """
        with self._changed:
            while not self._closed and self._lent >= self._workers:
                self._changed.wait()
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._lent += 1
            zygote = next((found for found in reversed(self._idle) if found.kind == kind), None)
            surplus = []
            if zygote is not None:
                self._idle.remove(zygote)
            elif len(self._idle) >= _KINDS * self._workers:
                surplus.append(self._idle.pop(0))
        try:
            for other in surplus:
                other.close()
            if zygote is None:
                zygote = _started(kind, self._without, self._given)
        except BaseException:
            self._returned()
            raise
        self._known = (zygote.level, zygote.layers)
        return zygote

    def _returned(self, zygote: Zygote | None = None) -> bool:
        """Count a zygote as no longer lent, and keep it if it can serve again; return whether it is kept."""
        with self._changed:
            self._lent -= 1
            kept = zygote is not None and not self._closed
            if kept and zygote is not None:
                self._idle.append(zygote)
            self._changed.notify()
            return kept

    def _give_back(self, zygote: Zygote) -> None:
        if not self._returned(zygote):
            zygote.close()

    def _drop(self, zygote: Zygote) -> None:
        try:
            zygote.close()
        finally:
            self._returned()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _started(kind: ZygoteKind, without: frozenset[str], given: Texts) -> Zygote:
    if not hasattr(os, "fork"):
        raise SandboxError("there is no sandbox on this system, which cannot fork", got=sys.platform)
    try:
        zygote = Zygote(kind, without, given)
    except OSError as error:  # process or descriptor limit of this user
        raise SandboxError("the sandbox's zygote does not start", got=error.strerror or error) from None
    try:
        zygote.greet()
    except BaseException:
        zygote.close()
        raise
    return zygote


def advice(level: Level, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Return a line for each missing layer that a higher level needs: that level, why it is missing, what gives it."""
    remedies = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))
    missing = {layer.name: layer.detail for layer in layers if not layer.engaged}
    lines = []
    for key, row in remedies.items():
        needed, name = Level[row["level"]], next(filter(missing.__contains__, row.get("layers", (key,))), "")
        if name and level < needed:
            either = name in ("landlock", "namespaces") and level < Level.L2
            wanted = "L2 (one of Landlock and namespaces)" if either else needed.name
            lines.append(f"{wanted}: {name} is missing ({missing[name]}); it takes {row['remedy']}")
    return tuple(lines)
