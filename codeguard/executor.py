"""Run heavy work here, in processes or on a cluster, through one interface: `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from typing import ParamSpec, TypeVar

from codeguard.cluster import Cluster, open_cluster
from codeguard.errors import CodeguardError
from codeguard.processes import Processes
from codeguard.tasks import Shared, Task, WorkerError

P = ParamSpec("P")
T = TypeVar("T")

TRIES = 3
AHEAD = 3  # batches a worker that may be on their way
LOOK_S = 5.0  # between two looks whether there is anybody who works


class Here(Executor):
    """Runs every task at once in this process."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a task and return its finished future."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def open_executor(jobs: int = 1, cluster: str | None = None) -> Iterator[Executor]:
    """Open what runs tasks: this process for one job, processes for several, a dask.distributed cluster.

    Whatever ends the block early ends the processes, too.

    Args:
        jobs: how many processes.
        cluster: address of a scheduler (`tcp://host:port`), instead of processes.

    Raises:
        MissingExtraError, ConfigError: see `codeguard.cluster.open_cluster`.
    """
    with contextlib.ExitStack() as stack:
        executor: Executor
        if cluster is not None:
            executor = stack.enter_context(open_cluster(cluster))
        else:
            executor = Here() if jobs <= 1 else Processes(jobs)
        try:
            yield executor
        except BaseException:
            if isinstance(executor, Processes | Cluster):
                executor.abort()
            raise
        executor.shutdown()


def workers_of(executor: Executor) -> int:
    """Return how many tasks an executor runs at once, 1 where it does not say."""
    return executor.count if isinstance(executor, Processes | Cluster) else 1


def worth_it(executor: Executor, worth: bool) -> Executor:
    """Return the executor, or this process where that is done sooner than processes have started."""
    return Here() if isinstance(executor, Processes) and not worth else executor


def spread(
    executor: Executor, task: Task, payloads: Iterable[bytes], shared: Shared | None = None
) -> Iterator[bytes]:
    """Yield the answers of a task in the order of its payloads; a lost worker's payload goes to another.

    At most a few payloads a worker are read ahead, so memory stays bounded.

    Raises:
        WorkerError: a task failed, or its worker was lost at every try.
    """
    source = iter(payloads)
    window = AHEAD * workers_of(executor)
    flying: deque[tuple[Future[bytes], bytes]] = deque()
    while True:
        for payload in itertools.islice(source, window - len(flying)):
            flying.append((_sent(executor, task, payload, shared), payload))
        if not flying:
            return
        future, payload = flying.popleft()
        yield _result(executor, task, future, payload, shared)


def _sent(executor: Executor, task: Task, payload: bytes, shared: Shared | None) -> Future[bytes]:
    return executor.submit(task, payload) if shared is None else executor.submit(task, payload, shared)


def _result(
    executor: Executor, task: Task, future: Future[bytes], payload: bytes, shared: Shared | None
) -> bytes:
    for left in range(TRIES - 1, -1, -1):
        while isinstance(executor, Cluster) and not wait([future], LOOK_S).done:
            executor.check()
        try:
            return future.result()
        except CodeguardError:
            raise
        except Exception as error:
            # KilledWorker is dask's word for several workers lost at one task.
            lost = isinstance(error, BrokenExecutor | CancelledError | OSError)
            if not lost and type(error).__name__ != "KilledWorker":
                raise WorkerError(f"a task failed ({type(error).__name__}: {error})") from error
            if not left:
                raise WorkerError(
                    f"workers were lost {TRIES} times at one task ({error})", hint="run it with --jobs 1"
                ) from error
            future = _sent(executor, task, payload, shared)
    raise AssertionError("unreachable")
