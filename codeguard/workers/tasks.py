"""The definition of a task: a function from bytes to bytes, run within limits anywhere; and the one form of both."""

from __future__ import annotations

import hashlib
import json
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, TypeVar

from codeguard.errors import CodeguardError

WALL_S = 60.0  # wall time limit for a step that waits without computing
AGAIN_S = 0.5  # processor time after which a step that continues is interrupted again
LEAST_S = 0.05

CPU, WALL = "cpu", "wall"
T = TypeVar("T")


class DeadlineError(BaseException):
    """The time for a step ran out; not caught by `except Exception`. `bound` says which limit."""

    def __init__(self, bound: str, seconds: float) -> None:
        self.bound = bound
        of = "of the processor" if bound == CPU else "on the clock"
        super().__init__(f"no answer within {seconds:.2g} s {of}")


class Deadline:
    """Raises DeadlineError inside its block after some processor time or wall time.

    Processor time, because a busy machine is no attack; wall time for code that waits. The interpreter checks
    for it between instructions, and the regular expression engine while it backtracks; other code is ended
    from outside (`codeguard.workers.processes`). Only a main thread can be interrupted this way; in other
    threads there is no limit.
    """

    def __init__(self, cpu_s: float, wall_s: float | None = None) -> None:
        self._cpu_s = cpu_s
        self._wall_s = WALL_S if wall_s is None else wall_s
        self._armed = False

    def __enter__(self) -> None:
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            return
        self._timers = (
            (signal.SIGPROF, signal.ITIMER_PROF, self._cpu_s, CPU),
            (signal.SIGALRM, signal.ITIMER_REAL, self._wall_s, WALL),
        )
        self._armed = True
        self._before = [signal.signal(number, self._ring) for number, _, _, _ in self._timers]
        self._unraisable = sys.unraisablehook
        sys.unraisablehook = self._drop
        for _, timer, limit, _ in self._timers:
            signal.setitimer(timer, limit, AGAIN_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._armed:
            return
        self._armed = False
        for _, timer, _, _ in self._timers:
            signal.setitimer(timer, 0)
        for (number, _, _, _), handler in zip(self._timers, self._before, strict=True):
            signal.signal(number, handler)
        sys.unraisablehook = self._unraisable

    def _drop(self, what: sys.UnraisableHookArgs) -> None:
        # A finalizer or a weak reference's callback was interrupted, which cannot raise: it rings again soon.
        if not isinstance(what.exc_value, DeadlineError):
            self._unraisable(what)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        # An interrupted import would leave half-initialized modules for everything read later: interrupt
        # again soon.
        if self._armed and not _is_importing(frame):
            bound, limit = next((bound, limit) for known, _, limit, bound in self._timers if known == number)
            raise DeadlineError(bound, limit)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


class Allowance:
    """The processor time of one file for all of its steps together."""

    def __init__(self, cpu_s: float) -> None:
        self._end = time.process_time() + cpu_s

    def step(self, reserved_s: float = 0.0) -> Deadline:
        """Return the deadline of the next step, which leaves `reserved_s` for later steps."""
        return Deadline(max(LEAST_S, self._end - time.process_time() - reserved_s))


def within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what `ask` returns, or raise what it raises; it runs in a thread that is left behind when it is late.

    Raises:
        TimeoutError: there is no answer after so many seconds, however slowly parts of it come.
    """
    answers: queue.SimpleQueue[tuple[list[T], BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(([ask()], None))
        except BaseException as error:
            answers.put(([], error))

    threading.Thread(target=run, daemon=True, name="waiting").start()
    try:
        value, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return value[0]


# A task's preparation, from the shared data if any, is trusted and not limited. The function it returns gets
# one item at a time and yields the parts of its answer: parts that came before it was ended are kept.
Run = Callable[[bytes], Iterator[bytes]]
Task = Callable[..., Run]

MEMORY, DIED, FAILED = "memory", "died", "failed"
MEMORY_BYTES = 300 << 20
CUTTING_S, LOOKING_S = 1.5, 3.5  # processor seconds per file: five in all
CHECKING_S = 5.0  # for reading one function, apart from what the sandbox runs
SOFT_SHARE = 0.85  # of a limit; a task that exceeds the limit is killed from outside


class WorkerError(CodeguardError):
    """A task cannot be prepared, or no worker lives long enough to try."""


@dataclass(frozen=True, slots=True)
class ItemBounds:
    """The limits of one item: processor seconds, wall seconds, bytes above the worker's previous memory.

    None means no limit on processor time or memory.
    """

    cpu_s: float | None = None
    wall_s: float = 120.0
    memory_bytes: int | None = MEMORY_BYTES


NO_BOUNDS = ItemBounds(None, 1800.0, None)  # but one that only a stopped process meets


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """The parts of an answer, and what ended it early: empty, or one of the limits.

    `DIED` means that the worker ended unexpectedly, twice; `FAILED` an unexpected error of the task.
    `lasting` says whether another try would give the same result: a busy machine or an external signal is not
    the file's fault.
    """

    parts: tuple[bytes, ...]
    ended: str = ""
    why: str = ""
    lasting: bool = True

    @property
    def last(self) -> bytes:
        """The last part of a complete answer."""
        if self.ended or not self.parts:
            raise WorkerError(f"a task did not finish: {self.why or 'no answer'}")
        return self.parts[-1]

    @property
    def value(self) -> Any:
        """The last part of a complete answer, as plain values."""
        return _decoded(self.last)

    @property
    def values(self) -> list[Any]:
        """All parts, as plain values."""
        return [_decoded(part) for part in self.parts]


def encoded(value: object) -> bytes:
    """Return plain values in the form in which every task gets and answers them."""
    return json.dumps(value).encode("ascii")


def by_values(answers: Callable[[Any], Iterable[object]]) -> Run:
    """Return a task's function from one of plain values to the plain values of each part of its answer."""

    def run(payload: bytes) -> Iterator[bytes]:
        for part in answers(json.loads(payload)):
            yield encoded(part)

    return run


def _decoded(part: bytes) -> Any:
    try:
        return json.loads(part)
    except (ValueError, RecursionError) as error:
        raise WorkerError(f"a worker's answer is no plain value ({error})") from error


def end_clause(ended: str, bounds: ItemBounds) -> str:
    """Return a clause for messages about what ended an item."""
    return {
        CPU: f"it took more than {bounds.cpu_s or 0:g} s of the processor",
        WALL: f"it gave no answer within {bounds.wall_s:g} s",
        MEMORY: f"it took more than {(bounds.memory_bytes or 0) >> 20} MB of memory",
        DIED: "the process that looked at it died",
    }.get(ended, "it failed")


@dataclass(frozen=True, slots=True)
class Shared:
    """Bytes that many tasks need, identified by their sha256 and sent to a worker once."""

    digest: str
    data: bytes = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: bytes) -> Shared:
        """Create a reference to some bytes."""
        return cls(hashlib.sha256(data).hexdigest(), data)

    @classmethod
    def of_values(cls, value: object) -> Shared:
        """Create a reference to plain values, the same for the same values."""
        return cls.of(json.dumps(value, sort_keys=True).encode("ascii"))

    def value(self) -> Any:
        """Return the plain values; raise WorkerError if they do not match the digest."""
        found = hashlib.sha256(self.data).hexdigest()
        if found != self.digest:
            raise WorkerError(
                "a worker was sent other data than it was told", got=found, expected=self.digest
            )
        return json.loads(self.data)
