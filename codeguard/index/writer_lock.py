"""The lock file of the process that may change an index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from codeguard.errors import StoreError
from codeguard.trust.state_files import FileLock, StateFolder


@contextlib.contextmanager
def held(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
    """Hold the lock of a file; yield whether it was acquired.

    With `waiting` it always is: if another process holds it, `waiting` is called once, and the lock is
    awaited. Without `waiting`, it is tried once. The system releases the lock when the process ends for any
    reason.

    Raises StoreError if the file cannot be locked at all.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = FileLock(stack.enter_context(StateFolder(path.parent)), path.name)
            alone = lock.acquire(0.0)
            if not alone and waiting is not None:
                waiting()
                alone = lock.acquire()
        except OSError as error:
            raise StoreError(f"the index in {path.parent} cannot be locked ({error.strerror})") from None
        stack.callback(lock.release)
        yield alone
