"""Coroutines are run to their end: on an event loop without sockets, whose clock goes on when all wait."""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any

_MAX_RESUMED = 10_000


def completed(value: Any) -> Any:
    """Return what a coroutine returns, or an iterator over what an asynchronous generator gives; else the value."""
    if type(value) is types.AsyncGeneratorType:
        return _items(value)
    return _result(value) if type(value) is types.CoroutineType else value


def _items(made: AsyncGenerator[Any, None]) -> Iterator[Any]:
    while True:
        try:
            yield _result(_next_of(made))
        except StopAsyncIteration:
            return


async def _next_of(made: AsyncGenerator[Any, None]) -> Any:
    return await made.__anext__()


def _result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    asyncio = sys.modules.get("asyncio")  # only the wide zygote has it, and then the code may use it
    if asyncio is not None:
        return asyncio.new_event_loop().run_until_complete(coroutine)
    for _ in range(_MAX_RESUMED):
        try:
            awaited = coroutine.send(None)
        except StopIteration as end:
            return end.value
        if awaited is not None:
            break
    raise RuntimeError("waits for what nothing here gives")


def install() -> None:
    """Have asyncio make loops that need no descriptor, if it is loaded: the kernel refuses those of the system."""
    if "asyncio" not in sys.modules:
        return
    import asyncio

    class Loop(asyncio.BaseEventLoop):
        """Waits by setting its clock forward."""

        def __init__(self) -> None:
            super().__init__()
            self._selector = self
            self._now = 0.0

        def time(self) -> float:
            return self._now

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("waits for what nothing here gives")
            self._now += timeout
            return []

        def _process_events(self, events: list[Any]) -> None:
            """There are none."""

    policy: Any = type(asyncio.get_event_loop_policy())
    policy._loop_factory = Loop
    # It would look at the environment on behalf of the code.
    vars(asyncio.coroutines)["_is_debug_mode"] = lambda: False
