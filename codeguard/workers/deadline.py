"""Time limits in this process: for steps that may hang on hostile input, and for answers of other processes."""

from __future__ import annotations

import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeVar

WALL_S = 60.0  # wall time limit for a step that waits without computing
AGAIN_S = 0.5  # processor time after which a step that continues is interrupted again
LEAST_S = 0.05
T = TypeVar("T")

CPU, WALL = "cpu", "wall"


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
