"""The lock file of the process that may change an index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from codeguard.errors import STOPPED, StoreError
from codeguard.trust.state_files import FileLock, StateFolder

WORKING = 10.0  # times as long as for an answer: a process that indexes much holds the lock for long
WAIT_S = WORKING * 60.0


@contextlib.contextmanager
def held(path: Path, waiting: Callable[[], None] | None = None, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the lock of a file; yield whether it was acquired.

    With `waiting` it always is: if another process holds it, `waiting` is called once, and the lock is
    awaited for `wait_s` seconds. Without `waiting`, it is tried once. The system releases the lock when the process
    ends for any reason.

    Raises StoreError if the file cannot be locked at all, or another process holds it for too long.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = FileLock(stack.enter_context(StateFolder(path.parent)), path.name)
            alone = lock.acquire(0.0)
            if not alone and waiting is not None:
                waiting()
                alone = lock.acquire(wait_s)
                if not alone:
                    raise StoreError(
                        f"another process has changed the index in {path.parent} for more than {wait_s:g} s",
                        hint=STOPPED,
                    )
        except OSError as error:
            raise StoreError(f"the index in {path.parent} cannot be locked ({error.strerror})") from None
        stack.callback(lock.release)
        yield alone
