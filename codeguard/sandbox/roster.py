"""The zygotes of a sandbox: which are busy, which are idle, and when another one is started.

A zygote that has just served needs a moment to reap its child and prepare the next. So there are more zygotes
of a kind than workers, if there are cores for them, and they take turns; the others are started in the
background once there is enough work. If the sandbox uses every core, each zygote is pinned to one, to keep
its children's data in that core's caches.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import Counter

from codeguard.errors import SandboxError
from codeguard.sandbox.given import Texts
from codeguard.sandbox.zygotes import Zygote, ZygoteKind

_PAYS_FROM = 50  # jobs of a kind that make another zygote worth starting
_KINDS = 3  # kinds of zygotes that are kept while idle


class Roster:
    """Lends each worker to one job at a time, at most `workers` at once; safe to use from several threads.

    `zygotes` is the maximum number of a kind, None for two per worker but no more than cores; there are
    always as many as busy workers.
    """

    def __init__(self, workers: int, zygotes: int | None, without: frozenset[str], given: Texts = ()) -> None:
        self._workers = workers
        self._zygotes = zygotes
        self._without = without
        self._given = given
        self._changed = threading.Condition()
        self._idle: list[Zygote] = []  # least recently used first
        self._lent: list[Zygote] = []
        self._starting: list[Zygote] = []
        self._served: Counter[ZygoteKind] = Counter()
        self._closed = False

    def idle(self) -> tuple[Zygote, ...]:
        """Return the idle workers, least recently used first."""
        return tuple(self._idle)

    def take(self, kind: ZygoteKind, wait: bool) -> Zygote | None:
        """Lend a worker of a kind, starting one if needed; None if all are busy and `wait` is False.

        Raises SandboxError if none can be started, or the roster is closed.
        """
        surplus: list[Zygote] = []
        try:
            with self._changed:
                while not self._closed and len(self._lent) >= self._workers:
                    if not wait:
                        return None
                    self._changed.wait()
                if self._closed:
                    raise SandboxError("the sandbox is closed")
                self._welcome()
                chosen = self._choose(kind)
                if chosen is None:
                    surplus = self._surplus()
                worker = self._start(kind) if chosen is None else chosen
                self._lent.append(worker)
                self._reinforce(kind)
        finally:
            for other in surplus:
                other.close()
        if chosen is None:
            try:
                worker.greet()
            except BaseException:
                self.drop(worker)
                raise
        return worker

    def give_back(self, worker: Zygote) -> None:
        """Take back a worker that can serve again."""
        with self._changed:
            self._lent.remove(worker)
            if not self._closed:
                self._idle.append(worker)
                self._changed.notify()
                return
        worker.close()

    def drop(self, worker: Zygote) -> None:
        """Take back a worker that cannot serve any more, and end it."""
        try:
            worker.close()
        finally:
            with self._changed:
                self._lent.remove(worker)
                self._changed.notify()

    def close(self) -> None:
        """End every idle worker, and each lent one when it is returned."""
        with self._changed:
            self._closed = True
            ended = [*self._idle, *self._starting]
            self._idle, self._starting = [], []
            self._changed.notify_all()
        for worker in ended:
            worker.close()

    def _choose(self, kind: ZygoteKind) -> Zygote | None:
        """Return the least recently used worker of a kind on the least busy core."""
        fitting = [worker for worker in self._idle if worker.kind == kind]
        if not fitting:
            return None
        busy = Counter(worker.core for worker in self._lent)
        chosen = min(fitting, key=lambda worker: busy[worker.core])
        self._idle.remove(chosen)
        self._served[kind] += 1
        return chosen

    def _surplus(self) -> list[Zygote]:
        """Free a place for another worker."""
        least = len(self._idle) - _KINDS * self._most() + 1
        ended, self._idle = self._idle[: max(0, least)], self._idle[max(0, least) :]
        return ended

    def _start(self, kind: ZygoteKind) -> Zygote:
        if not hasattr(os, "fork"):
            raise SandboxError("there is no sandbox on this system, which cannot fork", got=sys.platform)
        try:
            return Zygote(kind, self._without, self._core(kind), self._given)
        except OSError as error:  # process or descriptor limit of this user
            raise SandboxError("the sandbox's zygote does not start", got=error.strerror or error) from None

    def _reinforce(self, kind: ZygoteKind) -> None:
        """Start another zygote of a kind in demand, without waiting for it."""
        if self._served[kind] < _PAYS_FROM or len(self._of(kind)) >= self._most():
            return
        self._served[kind] = 0  # one at a time
        with contextlib.suppress(SandboxError, OSError):  # the existing ones can do the work
            self._starting.append(self._start(kind))

    def _welcome(self) -> None:
        """Add zygotes that have started meanwhile."""
        for worker in [worker for worker in self._starting if worker.ready()]:
            self._starting.remove(worker)
            try:
                worker.greet()
            except SandboxError:
                worker.close()
            else:
                self._idle.insert(0, worker)

    def _of(self, kind: ZygoteKind) -> list[Zygote]:
        return [worker for worker in (*self._idle, *self._lent, *self._starting) if worker.kind == kind]

    def _most(self) -> int:
        wanted = min(len(_cores()), 2 * self._workers) if self._zygotes is None else self._zygotes
        return max(self._workers, wanted)

    def _core(self, kind: ZygoteKind) -> int | None:
        """Return the core for the next zygote of a kind, or None if it may use all."""
        cores = _cores()
        if len(cores) < 2 or self._workers < len(cores) or not hasattr(os, "sched_setaffinity"):
            return None
        taken = Counter(worker.core for worker in self._of(kind))
        return min(cores, key=lambda core: taken[core])


def _cores() -> list[int]:
    """Return the cores that this process may use now."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
