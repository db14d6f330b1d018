"""Run heavy work in processes: open them, send batches of items, and have the answers in order."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from itertools import chain
from typing import NamedTuple, TypeVar

from codeguard.errors import CodeguardError
from codeguard.workers.processes import Processes, default_workers, may_fork, send
from codeguard.workers.tasks import ItemBounds, Shared, Task, TaskAnswer, WorkerError, encoded

T = TypeVar("T")

AHEAD = 3  # batches in flight per worker


@contextlib.contextmanager
def open_executor(
    jobs: int = 1, *, fork: bool = False, load: Callable[[], object] = lambda: None
) -> Iterator[Processes]:
    """Open `jobs` processes; with `fork` the first ones are forked from this one after `load`, if possible.

    If the block ends early, the processes are ended as well. A single process is this process's shared
    worker, which stays for the next run unless interrupted: after an error, other users in this process may
    continue with it.
    """
    if jobs == 1 and not (fork and may_fork()):
        shared = default_workers()
        try:
            yield shared
        except (KeyboardInterrupt, SystemExit):
            shared.abort()
            raise
        return
    executor = Processes(jobs, fork=fork, load=load)
    try:
        yield executor
    except BaseException:
        executor.abort()
        raise
    executor.shutdown()


def workers_of(executor: Executor) -> int:
    """Return how many tasks an executor runs at once, 1 if unknown."""
    return executor.count if isinstance(executor, Processes) else 1


def spread(
    executor: Executor,
    task: Task,
    batches: Iterable[list[bytes]],
    shared: Shared | None = None,
    bounds: ItemBounds = ItemBounds(),  # noqa: B008 - it is frozen
    most: int = 0,
) -> Iterator[TaskAnswer]:
    """Yield the answers of a task to the items of batches, in order; a lost worker's item goes to another.

    A batch is the unit of work of a worker; each of its items has its own limits, and one item cannot end the
    others. At most a few batches per worker are read ahead, so memory stays bounded; `most` of them, where that is not
    0, so that one after another goes to the same worker.

    Raises:
        WorkerError: a task cannot be prepared, or no worker can be started.
    """

    def result(future: Future[list[TaskAnswer]]) -> list[TaskAnswer]:
        try:
            return future.result()
        except CodeguardError:
            raise
        except Exception as error:  # no process can be started, or all were ended
            raise WorkerError(f"a task failed ({type(error).__name__}: {error})") from error

    window = most or AHEAD * workers_of(executor)
    flying: deque[Future[list[TaskAnswer]]] = deque()
    for batch in batches:
        flying.append(send(executor, task, batch, shared, bounds))
        if len(flying) >= window:
            yield from result(flying.popleft())
    while flying:
        yield from result(flying.popleft())


class BatchSize(NamedTuple):
    """What a worker is sent at once, at most; a tenth of a second of work is enough."""

    items: int
    bytes: int = 1 << 20


ONE = BatchSize(1)


def answered(
    executor: Executor,
    task: Task,
    items: Iterable[tuple[T, object]],
    batch: BatchSize,
    bounds: ItemBounds,
    shared: Callable[[], Shared] | None = None,
    most: int = 0,
) -> Iterator[tuple[T, TaskAnswer]]:
    """Yield items with a task's answers to their plain values, in order.

    They are read ahead only as far as the workers need; `shared` is made if there is one. `most`: see `spread`.

    Raises:
        WorkerError: see `spread`.
    """
    sent: deque[T] = deque()

    def payloads() -> Iterator[bytes]:
        for item, value in items:
            sent.append(item)
            yield encoded(value)

    batches = batched(payloads(), *batch)
    first = next(batches, None)
    if first is not None:
        given = None if shared is None else shared()
        for answer in spread(executor, task, chain([first], batches), given, bounds, most):
            yield sent.popleft(), answer


def batched(items: Iterable[bytes], most: int, most_bytes: int) -> Iterator[list[bytes]]:
    """Yield items in lists limited by count and by bytes."""
    batch: list[bytes] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item)
        if len(batch) >= most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
