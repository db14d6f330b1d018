"""Waits with a limit, for what another process has to answer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


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
