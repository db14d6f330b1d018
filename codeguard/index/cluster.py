"""A dask.distributed cluster as a `concurrent.futures.Executor`.

Anyone who can reach the scheduler can run code on the workers and in processes that submit to it, because
dask pickles what it sends. A cluster is trusted like this machine; `tls://` addresses and dask's own
configuration restrict access.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from codeguard.errors import ConfigError, MissingExtraError
from codeguard.index.worker_facts import WorkerFacts, facts_of, facts_task, first_difference, own_make
from codeguard.sandbox import Level
from codeguard.workers.processes import Pool, run_bounded
from codeguard.workers.tasks import Shared, WorkerError
from codeguard.workers.waiting import within

P = ParamSpec("P")
T = TypeVar("T")

SCHEMES = ("tcp://", "tls://", "ws://", "wss://")
ANSWER_S = 10.0  # for the scheduler to answer, and for a first worker to appear
PATIENCE_S = 120.0  # time without any worker before the run ends: lost ones may be restarting


class Cluster(Pool):
    """Runs tasks on the workers of a cluster; created by `open_cluster`.

    The scheduler reassigns the tasks of lost workers. `only` are the addresses of the workers that may run
    the tasks; empty means all.
    """

    def __init__(
        self, client: Any, workers: tuple[WorkerFacts, ...], only: frozenset[str] = frozenset()
    ) -> None:
        self.workers = workers
        self._client = client
        self._only = only
        options = {"workers": sorted(only), "allow_other_workers": False} if only else {}
        self._executor = client.get_executor(pure=False, **options)
        self._scattered: dict[str, Any] = {}
        self._alone_since: float | None = None

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many tasks run at once."""
        return max(1, sum(threads for _, threads in self._present()))

    def at_level(self, required: Level) -> Cluster:
        """Return this cluster for tasks that need a sandbox, without workers below the level.

        If every worker is below it, all are used, and answer `unsupported`.
        """
        able = frozenset(worker.address for worker in self.workers if worker.level >= required)
        if not able or len(able) == len(self.workers):
            return self
        return Cluster(self._client, self.workers, able)

    def level(self, required: Level) -> Level:
        """Return the minimum level of behavior results: that of the weakest worker that may run checks."""
        levels = [worker.level for worker in self.workers]
        able = [level for level in levels if level >= required]
        return min(able) if able else max(levels)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send items of a task: their payloads, the shared data, if any, and the limits.

        A subprocess of the worker enforces the limits.
        """
        payloads, shared, bounds = args
        sent = self._reference(shared) if isinstance(shared, Shared) else None
        name = f"{fn.__module__}:{fn.__qualname__}"
        future: Future[T] = self._executor.submit(run_bounded, name, payloads, sent, bounds)
        return future

    def _reference(self, shared: Shared) -> Any:
        known = self._scattered.get(shared.digest)
        if known is None or known.status in ("cancelled", "lost", "error"):
            # A lost worker may have had the only copy.
            known = self._scattered[shared.digest] = self._scatter(f"codeguard-{shared.digest}", shared)
        return known

    def _scatter(self, name: str, shared: Shared) -> Any:
        while True:
            try:
                return within(PATIENCE_S, lambda: self._client.scatter({name: shared}))[name]
            except TimeoutError:  # there is no worker, but one may be restarting
                self.check()

    def check(self) -> None:
        """Raise WorkerError if the scheduler is gone, or every worker for two minutes."""
        try:
            alive = self._client.status == "running" and bool(self._present())
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkerError(f"the cluster's scheduler is gone ({_one_line(error)})") from None
        if alive:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > PATIENCE_S:
            raise WorkerError(
                "the cluster has lost every worker", hint="start some, and run the same command"
            )

    def _present(self) -> list[tuple[str, int]]:
        threads = within(ANSWER_S, self._client.nthreads)
        return [
            (address, count) for address, count in threads.items() if not self._only or address in self._only
        ]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the tasks, or cancel them."""
        self._executor.shutdown(wait=wait and not cancel_futures)

    def abort(self) -> None:
        """Cancel every task."""
        self.shutdown(wait=False)


@contextlib.contextmanager
def open_cluster(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler and query every worker.

    Raises:
        MissingExtraError: dask.distributed is not installed.
        ConfigError: no scheduler answers there, it has no worker, or a worker cannot run this codeguard.
    """
    if not address.startswith(SCHEMES):
        raise ConfigError(
            "not the address of a cluster", got=address, expected="tcp://host:port or tls://host:port"
        )
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("a cluster needs dask.distributed", "cluster") from None
    try:
        client = Client(address, timeout=f"{ANSWER_S}s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            "no cluster answers",
            got=f"{address} ({_one_line(error)})",
            expected="the address of a dask scheduler",
        ) from None
    with client:
        yield Cluster(client, census(client))


def census(client: Any) -> tuple[WorkerFacts, ...]:
    """Return every worker's description of itself, by address.

    Raises ConfigError if there is none, or one could give results different from this process.
    """
    try:
        client.wait_for_workers(1, timeout=ANSWER_S)
        answers = within(PATIENCE_S, lambda: client.run(facts_task, b"", on_error="return"))
    except (OSError, TimeoutError) as error:
        raise ConfigError(
            "the cluster has no worker that answers", got=_one_line(error), hint="start one with: dask worker"
        ) from None
    found = tuple(_facts(address, answer) for address, answer in sorted(answers.items()))
    for worker in found:
        odd = first_difference(own_make(), worker.make)
        if odd is not None:
            name, got, expected = odd
            raise ConfigError(
                f"worker {worker.address} has another {name} than this process",
                got=got,
                expected=expected,
                hint="install the same versions on every machine",
            )
    return found


def _facts(address: str, answer: object) -> WorkerFacts:
    try:
        if isinstance(answer, BaseException):
            raise answer
        if not isinstance(answer, bytes):
            raise TypeError(type(answer).__name__)
        return facts_of(address, answer)
    except Exception as error:
        raise ConfigError(
            f"worker {address} cannot run this codeguard ({type(error).__name__}: {_one_line(error)})",
            hint="install the same version there",
        ) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
