"""Worker processes of this machine, as a `concurrent.futures.Executor`.

Nothing but bytes crosses the border between the processes: a worker that
reads hostile files can send back wrong answers, but no code.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import IO, Any, NamedTuple, ParamSpec, TypeVar

from codeguard.errors import CodeguardError
from codeguard.tasks import Shared, WorkerError

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 1 << 30
TOLD, FAILED = b"told", b"failed"
_LENGTH = struct.Struct(">Q")
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from codeguard.processes import work; work()"
)


class _Item(NamedTuple):
    future: Future[Any]
    name: str
    payload: bytes
    shared: Shared | None


class Processes(Executor):
    """Runs tasks in processes that are started afresh, not forked, when there is something to do.

    A process that dies breaks the one task it had, and is replaced.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._tasks: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._workers: set[_Worker] = set()
        self._aborted = False
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a task with its payload, bytes, and what it shares with others, if anything."""
        payload, shared = args if len(args) == 2 else (*args, None)
        assert isinstance(payload, bytes)
        assert shared is None or isinstance(shared, Shared)
        future: Future[T] = Future()
        self._tasks.put(_Item(future, f"{fn.__module__}:{fn.__qualname__}", payload, shared))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after the tasks that were queued, or after those that run."""
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while (item := self._tasks.get_nowait()) is not None:
                    item.future.cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def abort(self) -> None:
        """End the processes now, in the middle of their tasks."""
        self._aborted = True
        for worker in list(self._workers):
            worker.kill()
        self.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        worker: _Worker | None = None
        while (item := self._tasks.get()) is not None:
            if self._aborted or not item.future.set_running_or_notify_cancel():
                item.future.cancel()
                continue
            try:
                if worker is None:
                    worker = _Worker()
                    self._workers.add(worker)
                failed, answer = worker.ask(item)
            except (OSError, EOFError) as error:
                self._end(worker)
                worker = None
                item.future.set_exception(BrokenExecutor(f"a worker process was lost ({error})"))
                continue
            if failed:
                item.future.set_exception(WorkerError(answer.decode("utf-8", "replace")))
            else:
                item.future.set_result(answer)
        self._end(worker)

    def _end(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.end()
            self._workers.discard(worker)


class _Worker:
    """One process, and which shared data it has."""

    def __init__(self) -> None:
        path = json.dumps([entry for entry in sys.path if os.path.isabs(entry)])  # noqa: PTH117
        self._has: set[str] = set()
        self._process = subprocess.Popen(
            # -I: the working directory may be the hostile repository, and must not be imported from.
            [sys.executable, "-I", "-c", _START, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, item: _Item) -> tuple[bytes, bytes]:
        """Return whether the task failed, and its answer or what went wrong."""
        sink, source = self._process.stdin, self._process.stdout
        assert sink is not None
        assert source is not None
        digest = item.shared.digest if item.shared is not None else ""
        new = item.shared if item.shared is not None and digest not in self._has else None
        head = json.dumps({"name": item.name, "shared": digest, "new": new is not None})
        _write(sink, head.encode())
        if new is not None:
            _write(sink, new.data)
            self._has.add(digest)
        _write(sink, item.payload)
        return _read(source), _read(source)

    def kill(self) -> None:
        """End the process; whoever waits for its answer sees it."""
        self._process.kill()

    def end(self) -> None:
        """End the process and its pipes."""
        self._process.kill()
        self._process.communicate()


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
    kept: dict[str, Shared] = {}
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            head = json.loads(_read(source))
            if head["new"]:
                kept[head["shared"]] = Shared(head["shared"], _read(source))
            payload = _read(source)
            shared = (kept[head["shared"]],) if head["shared"] else ()
            failed, answer = _done(head["name"], payload, *shared)
            _write(sink, failed)
            _write(sink, answer)


def _done(name: str, payload: bytes, *shared: Shared) -> tuple[bytes, bytes]:
    module, _, attribute = name.partition(":")
    try:
        return b"", getattr(importlib.import_module(module), attribute)(payload, *shared)
    except CodeguardError as error:
        return TOLD, str(error).encode("utf-8", "replace")
    except Exception as error:
        return FAILED, f"a task failed ({type(error).__name__}: {error})".encode("utf-8", "replace")
