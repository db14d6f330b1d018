"""A limit for what may hang on hostile input."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

PATIENCE = 6


class DeadlineError(BaseException):
    """The time for one detector on one file ran out; no `except Exception` of a detector holds it up."""


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise DeadlineError inside the block after this time of the processor, or `PATIENCE` times it on the clock.

    The processor's time, as a busy machine is no attack; the clock for what
    waits. The interpreter looks for it between instructions, and the regular
    expression engine while it backtracks. Only a main thread can be
    interrupted so; in another thread there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise DeadlineError(f"no answer within {seconds:g} s")

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, seconds * PATIENCE),
    )
    before = [signal.signal(number, ring) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (number, _, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)
