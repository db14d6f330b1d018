"""A file whose lock says who may change an index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from codeguard.errors import StoreError


@contextlib.contextmanager
def held(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
    """Hold the lock of a file; yield whether that is so.

    With `waiting` it always is: where another process holds it, `waiting` is called once and its end
    is waited for. Without, it is tried once. The system releases the lock of a process that ends,
    however it ends.

    Raises StoreError where the file cannot be locked at all.
    """
    lock = FileLock(str(path))
    try:
        alone = _acquired(lock)
        if not alone and waiting is not None:
            waiting()
            lock.acquire()
            alone = True
    except OSError as error:
        raise StoreError(f"the index in {path.parent} cannot be locked ({error.strerror})") from None
    try:
        yield alone
    finally:
        lock.release()


def _acquired(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True
