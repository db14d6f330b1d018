"""Worker processes as a `concurrent.futures.Executor`; all code that reads untrusted files runs in one.

They are opened, and sent batches of items, whose answers come in order.

A worker gets one item at a time and answers in parts. The processor time, wall time and memory of an item are
limited: softly inside the worker, where the task keeps what it found so far, and from outside, where the
process is killed and replaced. Processor time decides, so that a busy machine changes no answer.

Only bytes cross the process boundary: a worker that reads hostile files can send back wrong answers, but no
code.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, ParamSpec, TypeVar

from codeguard import interpreter
from codeguard.errors import CodeguardError
from codeguard.workers.tasks import (
    CPU,
    DIED,
    FAILED,
    MEMORY,
    WALL,
    DeadlineError,
    ItemBounds,
    Run,
    Shared,
    Task,
    TaskAnswer,
    WorkerError,
    encoded,
    end_clause,
)

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 1 << 30  # bytes of an answer
TRIES = 2  # tries of an item whose worker ended unexpectedly, possibly killed from outside
STARTS = 3
IDLE_S = 30.0  # until an idle worker is ended
PATIENCE_S = 2.0  # grace period for a worker to exit
MAKING_READY_S = 3600.0
STARTING_S = 0.5  # that a task waits before a further process is prepared for it: as long as that takes
WALL_PER_CPU = 6.0  # used if the system does not report a process's processor time
GROWN_BYTES = 600 << 20  # above its baseline, a worker is replaced
SLACK_BYTES = 64 << 20  # allowance for garbage
PIPE_BYTES = 1 << 16
COLLECTED = 3_000_000  # characters of processed text, which leave a hundred megabytes

READY, REFUSED, PART, DONE, ENDED = b"r", b"x", b"p", b"d", b"e"
_FRAME = struct.Struct(">cQ")
_LENGTH = struct.Struct(">Q")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_START = "from codeguard.workers.processes import serve; serve(0, 1, int(sys.argv[1]))"
_AT_END: list[Callable[[], None]] = []


class _Item(NamedTuple):
    future: Future[Any]
    name: str
    payloads: Sequence[bytes]
    shared: Shared | None
    bounds: ItemBounds


class Processes(Executor):
    """Runs tasks in processes that are started on demand, and replaced when they are killed.

    The processes are started fresh, a further one only if all others are busy for as long as a start takes. With
    `fork` the first ones are forked from this process at the first task, quickly and cheaply, if it has a single
    thread then; `load` is called before, to import what all of them need.
    """

    def __init__(self, count: int, *, fork: bool = False, load: Callable[[], object] = lambda: None) -> None:
        self.count = count
        self._fork, self._load = fork, load
        self.owner = os.getpid()
        self._tasks: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._workers: set[_Worker] = set()
        self.aborted = False
        self._guard = threading.Lock()
        self._idle = threading.Semaphore(0)  # threads without work
        self._threads: list[threading.Thread] = []
        self._forked: list[_Worker] = []
        self.ending = threading.Event()

    def _add_thread(self) -> None:
        if self._fork and not self._threads and may_fork():
            self._load()
            self._forked = [_Worker.forked() for _ in range(self.count)]
            self._workers.update(self._forked)
        worker = self._forked.pop() if self._forked else None
        slot = _Slot(self, worker, STARTING_S if self._threads else 0.0)
        thread = threading.Thread(target=slot.serve, daemon=True)
        self._threads.append(thread)
        thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue items of a task: their payloads, the data shared by its tasks, if any, and the limits.

        Raises:
            BrokenExecutor: the processes were ended by `abort`.
        """
        payloads, shared, bounds = args
        assert isinstance(bounds, ItemBounds)
        future: Future[T] = Future()
        name = f"{fn.__module__}:{fn.__qualname__}"
        with self._guard:
            if self.aborted:
                raise BrokenExecutor("the workers were ended")
            self._tasks.put(_Item(future, name, payloads, shared, bounds))  # type: ignore[arg-type]
            if not self._idle.acquire(blocking=False) and len(self._threads) < self.count:
                self._add_thread()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after the queued tasks, or after the running ones."""
        self.ending.set()
        while self._forked:
            self._forked.pop().end()
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while (item := self._tasks.get_nowait()) is not None:
                    _cancel(item)
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def abort(self) -> None:
        """Kill the processes now, in the middle of their tasks."""
        with self._guard:
            self.aborted = True
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
        self.shutdown(wait=True, cancel_futures=True)


def _cancel(item: _Item) -> None:
    """Cancel a queued item and tell who waits for it, which `Future.cancel` alone does not."""
    item.future.cancel()
    item.future.set_running_or_notify_cancel()


class _Slot:
    """A thread's one worker at a time, which leaves the first tasks to others for some seconds."""

    def __init__(self, pool: Processes, worker: _Worker | None, patience_s: float) -> None:
        self._pool = pool
        self._worker = worker
        self._patience_s = patience_s

    def serve(self) -> None:
        """Work until there is nothing left to do."""
        self._pool.ending.wait(self._patience_s)
        try:
            while True:
                try:
                    item = self._pool._tasks.get(timeout=IDLE_S)
                except queue.Empty:
                    self._end(PATIENCE_S)
                    continue
                if item is None:
                    return
                if self._pool.aborted:
                    _cancel(item)
                elif item.future.set_running_or_notify_cancel():
                    self._serve(item)
        finally:
            self._end(PATIENCE_S)

    def _serve(self, item: _Item) -> None:
        idle = self._pool._idle
        try:
            answers = [self._answer(item, payload) for payload in item.payloads]
        except Exception as error:
            self._end()
            idle.release()
            item.future.set_exception(error)
        else:
            idle.release()  # before the caller gets the answer and submits more
            item.future.set_result(answers)

    def _answer(self, item: _Item, payload: bytes) -> TaskAnswer:
        """Return the answer to one payload; retry if the worker died."""
        outside = False  # an external kill is not caused by the payload
        for _ in range(TRIES):
            worker = self._made_ready(item)
            try:
                answer = worker.ask(payload, item.bounds)
            except EOFError:
                outside = outside or worker.was_killed()
                self._end()
                continue
            if worker.spent:
                self._end()
            return answer
        return TaskAnswer((), DIED, end_clause(DIED, item.bounds), lasting=not outside)

    def _made_ready(self, item: _Item) -> _Worker:
        """Return a worker that is prepared for a task.

        The importable modules may have changed since a worker started, so only a fresh worker's refusal
        counts.
        """
        for _ in range(STARTS):
            if self._worker is not None and self._worker.path != interpreter.import_path():
                self._end(PATIENCE_S)
            fresh = self._worker is None
            if self._worker is None:
                self._worker = self._started()
            try:
                self._worker.make_ready(item.name, item.shared)
                return self._worker
            except EOFError:
                self._end()
            except WorkerError:
                self._end()
                if fresh:
                    raise
        raise WorkerError(
            f"workers were lost {STARTS} times before they could begin", hint="see codeguard doctor"
        )

    def _started(self) -> _Worker:
        pool = self._pool
        with pool._guard:
            if pool.aborted:
                raise BrokenExecutor("the workers were ended")
            worker = _Worker.started()
            pool._workers.add(worker)
            return worker

    def _end(self, patience_s: float = 0.0) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end(0.0 if self._pool.aborted else patience_s)
            self._pool._workers.discard(worker)


def send(
    executor: Executor, task: Task, payloads: Sequence[bytes], shared: Shared | None, bounds: ItemBounds
) -> Future[list[TaskAnswer]]:
    """Give items of a task to an executor's workers."""
    submit: Any = executor.submit
    future: Future[list[TaskAnswer]] = submit(task, payloads, shared, bounds)
    return future


_DEFAULT: list[Processes] = []
_MAKING = threading.Lock()


def default_workers() -> Processes:
    """Return the shared worker of this process for occasional tasks, started when needed."""
    with _MAKING:
        # After a fork, the pipes belong to the parent.
        if not _DEFAULT or _DEFAULT[0].owner != os.getpid() or _DEFAULT[0].aborted:
            _DEFAULT[:] = [Processes(1)]
            atexit.register(_shut_down, _DEFAULT[0])
        return _DEFAULT[0]


def _shut_down(pool: Processes) -> None:
    if pool.owner == os.getpid():
        pool.shutdown(wait=False, cancel_futures=True)
        for thread in pool._threads:
            thread.join(PATIENCE_S)
        pool.abort()


def in_worker() -> bool:
    """Return whether this process is a worker, whose limits already apply."""
    return bool(_WORK)


def at_end(action: Callable[[], None]) -> None:
    """Register a function to be called once, when this worker exits normally."""
    if action not in _AT_END:
        _AT_END.append(action)


def may_fork() -> bool:
    """Return whether this process can be forked: with threads, a fork may hold their locks for ever."""
    try:
        return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
    except OSError:
        return False


class _Worker:
    """One worker process: the task it is prepared for, and how it ended."""

    def __init__(
        self, pid: int, source: int, sink: int, process: subprocess.Popen[bytes] | None, path: list[str]
    ) -> None:
        self._pid = pid
        self.path = path
        self._source, self._sink = source, sink
        self._open = [source, sink]
        self._process = process
        self._ready: dict[str, str] = {}
        self._task = ""
        self._lock = threading.Lock()
        self._status: int | None = None
        self._closed = False
        self._killed = False
        self.spent = False
        os.set_blocking(sink, False)
        os.set_blocking(source, False)

    @classmethod
    def started(cls) -> _Worker:
        """Start a fresh interpreter."""
        path = interpreter.import_path()
        process = interpreter.start(
            _START,
            str(os.getpid()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        source, sink = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
        process.stdout.close()
        process.stdin.close()
        return cls(process.pid, source, sink, process, path)

    @classmethod
    def forked(cls) -> _Worker:
        """Fork this process."""
        (far_source, sink), (source, far_sink) = os.pipe(), os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                # Whoever takes a worker over has none of this process's files and holds none of its locks.
                first, last = sorted((far_source, far_sink))
                for low, high in ((3, first), (first + 1, last), (last + 1, os.sysconf("SC_OPEN_MAX"))):
                    os.closerange(low, high)
                serve(far_source, far_sink, parent)
            finally:
                os._exit(0)
        os.close(far_source)
        os.close(far_sink)
        return cls(pid, source, sink, None, interpreter.import_path())

    def make_ready(self, name: str, shared: Shared | None) -> None:
        """Prepare it for a task; raise EOFError if it dies, WorkerError if it cannot."""
        digest = "" if shared is None else shared.digest
        self._task = name
        if self._ready.get(name) == digest:
            return
        head = json.dumps({"ready": name, "shared": digest}).encode()
        data = b"" if shared is None else shared.data
        kind, message = next(self._frames(_message(head) + _message(data), ItemBounds(None, MAKING_READY_S)))
        if kind != READY:
            raise WorkerError(message.decode("utf-8", "replace"))
        self._ready[name] = digest

    def ask(self, payload: bytes, bounds: ItemBounds) -> TaskAnswer:
        """Return its answer within the limits; raise EOFError if it ended unexpectedly."""
        memory = bounds.memory_bytes
        head = json.dumps({"run": self._task, "memory": memory}).encode()
        parts: list[bytes] = []
        for kind, data in self._frames(_message(head) + _message(payload), bounds):
            if kind == PART:
                parts.append(data)
                continue
            end = {"ended": data.decode(), "why": "", "spent": True} if kind == ENDED else json.loads(data)
            self.spent, ended = bool(end["spent"]), str(end["ended"])
            why = str(end["why"]) or (end_clause(ended, bounds) if ended else "")
            return TaskAnswer(tuple(parts), ended, why, lasting=ended != WALL)
        raise EOFError

    def _frames(self, request: bytes, bounds: ItemBounds) -> Iterator[tuple[bytes, bytes]]:
        """Send a request and yield the frames of the answer, until the caller stops reading.

        The last one is `ENDED`, with the limit, if the process was killed at it.
        """
        clock = _Clock(self._pid, bounds)
        unsent, answer = memoryview(request), bytearray()
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._sink, select.POLLOUT)
        size = 0
        while True:
            ready = poll.poll(max(1.0, 1000 * clock.wait_s()))
            bound = clock.passed() if not ready or size > LONGEST else ""
            if bound or size > LONGEST:
                self.kill()
                yield ENDED, (bound or FAILED).encode()
                return
            try:
                for descriptor, _ in ready:
                    if descriptor == self._sink:
                        unsent = unsent[os.write(self._sink, unsent[:PIPE_BYTES]) :]
                        if not unsent:
                            poll.unregister(self._sink)
                        continue
                    part = os.read(self._source, 1 << 20)
                    if not part:
                        raise EOFError
                    answer += part
                    size += len(part)
            except OSError as error:  # it died
                raise EOFError from error
            while (frame := _frame_of(answer)) is not None:
                yield frame

    def kill(self) -> None:
        """Kill the process; the thread that waits for its answer notices."""
        with self._lock:
            self._killed = True
            if not self._closed:
                os.kill(self._pid, signal.SIGKILL)

    def was_killed(self) -> bool:
        """Return whether it was ended by a signal that it cannot have caused itself."""
        return not self._killed and self._wait() in (-signal.SIGKILL, -signal.SIGTERM)

    def _wait(self) -> int:
        """Wait for a process that is ending; return its exit status, or minus the signal."""
        with self._lock:
            if self._status is None:
                if self._process is not None:
                    self._status = self._process.wait()
                else:
                    self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
                self._closed = True
            return self._status

    def end(self, patience_s: float = 0.0) -> None:
        """End the process and close its pipes; an idle one may exit normally."""
        if patience_s and not self._killed:
            self._let_go(patience_s)
        self.kill()
        self._wait()
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()

    def _let_go(self, patience_s: float) -> None:
        """Close its request pipe, and wait a while for it to exit."""
        if self._sink in self._open:
            self._open.remove(self._sink)
            os.close(self._sink)
        poll = select.poll()
        poll.register(self._source, select.POLLHUP)
        poll.poll(1000 * patience_s)


class _Clock:
    """What a process has used since a given time."""

    def __init__(self, pid: int, bounds: ItemBounds) -> None:
        self._pid = pid
        self._cpu_s, self._wall_s = bounds.cpu_s, bounds.wall_s
        self._begun = time.monotonic()
        self._before = None if self._cpu_s is None else cpu_of(pid)

    def wait_s(self) -> float:
        """Return for how long no limit can be reached: processor time of a thread is at most wall time."""
        left = self._wall_s - (time.monotonic() - self._begun)
        return min(left, 3600.0 if self._cpu_s is None else self._cpu_s - self._used())

    def passed(self) -> str:
        """Return the exceeded limit, if any."""
        if self._cpu_s is not None and self._used() >= self._cpu_s:
            return CPU
        return WALL if time.monotonic() - self._begun >= self._wall_s else ""

    def _used(self) -> float:
        now = cpu_of(self._pid) if self._before is not None else None
        if now is None or self._before is None:
            return (time.monotonic() - self._begun) / WALL_PER_CPU
        return now - self._before


def cpu_of(pid: int) -> float | None:
    """Return the processor time of a process in seconds, without its children, or None if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    except (OSError, ValueError, IndexError):
        return None


def _message(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def _frame_of(answer: bytearray) -> tuple[bytes, bytes] | None:
    """Take a frame from the received bytes; return None if it is incomplete."""
    if len(answer) < _FRAME.size:
        return None
    kind, length = _FRAME.unpack_from(answer)
    end = _FRAME.size + length
    if len(answer) < end:
        return None
    frame = bytes(answer[_FRAME.size : end])
    del answer[:end]
    return kind, frame


def serve(source: int, sink: int, parent: int) -> None:
    """Answer requests until there are no more; the main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.chdir(interpreter.OUTSIDE)  # a forked one is where the command was started
    _settle(parent)
    requests, answers = os.fdopen(os.dup(source), "rb"), os.fdopen(os.dup(sink), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)  # output of a task must not mix with the answers
    for descriptor in {source, sink} - {0, 1, 2}:
        os.close(descriptor)
    gc.disable()
    gc.freeze()
    work = _Work(answers)
    _WORK.append(work)
    _AT_END.clear()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            head = json.loads(_read(requests))
            data = _read(requests)
            if "ready" in head:
                work.make_ready(head["ready"], head["shared"], data)
            else:
                work.run(head["run"], data, head["memory"])
    for action in _AT_END:
        action()
    os._exit(0)  # a normal exit takes a fifth as long as importing all modules


class Collector:
    """Collects cyclic garbage by the amount of text, while the interpreter's own way, which trees trigger, is off."""

    def __init__(self) -> None:
        self._seen = 0

    def looked_at(self, characters: int) -> None:
        """Count processed text; collect if it is time to."""
        self._seen += characters
        if self._seen >= COLLECTED and not gc.isenabled():
            self._seen = 0
            gc.collect()


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Disable the interpreter's own collection for a block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Work:
    """The task that a worker is prepared for."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers
        self._runs: dict[str, Run] = {}
        self._collector = Collector()
        self._needed: int | None = None  # bytes of address space before the first item
        self._clean: int | None = None  # the same after the last collection

    def make_ready(self, name: str, digest: str, data: bytes) -> None:
        """Prepare a task, replacing the same task with other shared data."""
        _limit_memory(None)
        self._runs.pop(name, None)
        self._needed = self._clean = None
        module, _, attribute = name.partition(":")
        try:
            task = getattr(importlib.import_module(module), attribute)
            self._runs[name] = task(Shared(digest, data)) if digest else task()
        except Exception as error:
            ours = isinstance(error, CodeguardError)
            what = str(error) if ours else f"a task cannot be made ready ({type(error).__name__}: {error})"
            self._say(REFUSED, what.encode("utf-8", "replace"))
        else:
            gc.collect()
            gc.freeze()
            self._needed = self._clean = _address_space()
            self._say(READY, b"")

    def run(self, name: str, payload: bytes, memory: int | None) -> None:
        """Answer one item."""
        size = _address_space()
        # Since the last collection: a cache that stays would otherwise cost one for every item.
        if size is not None and self._clean is not None and size > self._clean + SLACK_BYTES:
            gc.collect()
            self._clean = size = _address_space()
        _limit_memory(None if size is None or memory is None else size + memory)
        ended, why = "", ""
        try:
            for part in self._runs[name](payload):
                self._say(PART, part)
        except MemoryError:
            ended = MEMORY
        except DeadlineError as error:
            ended, why = error.bound, str(error)
        except Exception as error:
            ended, why = FAILED, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        _limit_memory(None)
        self._collector.looked_at(len(payload))
        size = _address_space()
        spent = size is not None and self._needed is not None and size > self._needed + GROWN_BYTES
        self._say(DONE, json.dumps({"ended": ended, "why": why, "spent": spent}).encode("ascii"))

    def _say(self, kind: bytes, data: bytes) -> None:
        self._answers.write(_FRAME.pack(kind, len(data)) + data)
        self._answers.flush()


_WORK: list[_Work] = []  # set in worker processes


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _settle(parent: int) -> None:
    """Have the system kill this process when its parent ends for any reason, if supported.

    Also disable per-thread heaps, each of which would take 64 MB of the limited address space.
    """
    if sys.platform != "linux":
        return  # it will end at its next read
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if hasattr(library, "mallopt"):
        library.mallopt(-8, 1)  # M_ARENA_MAX
    if os.getppid() != parent:
        os._exit(1)


def _address_space() -> int | None:
    """Return the size of this process's address space in bytes, None if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _limit_memory(size: int | None) -> None:
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    highest = hard != resource.RLIM_INFINITY  # a limit inherited from the parent
    wanted = hard if size is None else min(size, hard) if highest else size
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


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
