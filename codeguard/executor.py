"""Run heavy work in processes here or on a cluster, through one interface: `concurrent.futures.Executor`.

A task is a function of a module that turns bytes into bytes, so nothing but
text crosses a border between processes: a worker that reads hostile files
can send back wrong answers, but no code.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import IO, Any, ParamSpec, TypeVar

from codeguard.errors import CodeguardError, ConfigError, MissingExtraError

Task = Callable[[bytes], bytes]
P = ParamSpec("P")
T = TypeVar("T")

TRIES = 3
AHEAD = 3  # batches a worker that may be on their way
LONGEST = 1 << 30
_LENGTH = struct.Struct(">Q")
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from codeguard.executor import work; work()"
)


class WorkerError(CodeguardError):
    """A task failed by itself, or every worker that tried it was lost."""


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


class Processes(Executor):
    """Runs tasks in processes that are started afresh, not forked: see `Task`.

    A process that dies breaks the one task it had, and is replaced.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._tasks: queue.SimpleQueue[tuple[Future[Any], str, bytes] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a task with its one argument, bytes."""
        (payload,) = args
        assert isinstance(payload, bytes)
        future: Future[T] = Future()
        self._tasks.put((future, f"{fn.__module__}:{fn.__qualname__}", payload))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after the tasks that were queued, or after those that run."""
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while (item := self._tasks.get_nowait()) is not None:
                    item[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while (item := self._tasks.get()) is not None:
            future, name, payload = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if process is None:
                    process = _started()
                assert process.stdin is not None
                assert process.stdout is not None
                _write(process.stdin, name.encode())
                _write(process.stdin, payload)
                failed, answer = _read(process.stdout), _read(process.stdout)
            except (OSError, EOFError) as error:
                _ended(process)
                process = None
                future.set_exception(BrokenExecutor(f"a worker process was lost ({error})"))
                continue
            if failed:
                future.set_exception(WorkerError(answer.decode("utf-8", "replace")))
            else:
                future.set_result(answer)
        _ended(process)


def _started() -> subprocess.Popen[bytes]:
    path = json.dumps([entry for entry in sys.path if os.path.isabs(entry)])  # noqa: PTH117
    return subprocess.Popen(
        # -I: the working directory may be the hostile repository, and must not be imported from.
        [sys.executable, "-I", "-c", _START, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _ended(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        process.kill()
        process.communicate()


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError("it ended")
    (length,) = _LENGTH.unpack(head)
    if length > LONGEST:
        raise EOFError(f"an answer of {length} bytes")
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("it ended")
    return data


def work() -> None:
    """Serve tasks from stdin until it ends: the main function of a worker process."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)  # what a task prints must not end up between the answers
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            name, payload = _read(source).decode(), _read(source)
            module, _, attribute = name.partition(":")
            try:
                failed, answer = b"", getattr(importlib.import_module(module), attribute)(payload)
            except Exception as error:
                failed, answer = b"failed", f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            _write(sink, failed)
            _write(sink, answer)


@contextlib.contextmanager
def open_executor(jobs: int = 1, cluster: str | None = None) -> Iterator[Executor]:
    """Open what runs tasks: this process for one job, processes for several, a dask.distributed cluster.

    Args:
        jobs: how many processes.
        cluster: address of a scheduler (`tcp://host:port`), instead of processes.

    Raises:
        MissingExtraError: a cluster is asked for and dask.distributed is not installed.
        ConfigError: no scheduler answers there.
    """
    if cluster is not None:
        with _client(cluster) as client:
            executor = client.get_executor(retries=TRIES, pure=False)
            try:
                yield executor
            finally:
                executor.shutdown(wait=False)
        return
    with Here() if jobs <= 1 else Processes(jobs) as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("a cluster needs dask.distributed", "cluster") from None
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            "no cluster answers", got=f"{address} ({error})", expected="the address of a dask scheduler"
        ) from None
    with client:
        yield client


def workers_of(executor: Executor) -> int:
    """Return how many tasks an executor runs at once, 1 where it does not say."""
    if isinstance(executor, Processes):
        return executor.count
    client = getattr(executor, "_client", None)
    return max(1, len(client.nthreads())) if client is not None else 1


def spread(executor: Executor, task: Task, payloads: Iterable[bytes]) -> Iterator[bytes]:
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
            flying.append((executor.submit(task, payload), payload))
        if not flying:
            return
        future, payload = flying.popleft()
        yield _result(executor, task, future, payload)


def _result(executor: Executor, task: Task, future: Future[bytes], payload: bytes) -> bytes:
    for left in range(TRIES - 1, -1, -1):
        try:
            return future.result()
        except (BrokenExecutor, CancelledError, OSError) as error:
            if not left:
                raise WorkerError(
                    f"workers were lost {TRIES} times at one task ({error})", hint="run it with --jobs 1"
                ) from error
            future = executor.submit(task, payload)
        except CodeguardError:
            raise
        except Exception as error:
            if left and type(error).__name__ == "KilledWorker":  # dask's word for a lost worker
                future = executor.submit(task, payload)
                continue
            raise WorkerError(f"a task failed ({type(error).__name__}: {error})") from error
    raise AssertionError("unreachable")
