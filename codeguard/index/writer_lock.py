"""A file whose lock says who may change an index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from codeguard.errors import StoreError
from codeguard.trust.state_files import FileLock, StateFolder


@contextlib.contextmanager
def held(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
    """Hold the lock of a file; yield whether that is so.

    With `waiting` it always is: where another process holds it, `waiting` is called once and its end
    is waited for. Without, it is tried once. The system releases the lock of a process that ends,
    however it ends.

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
