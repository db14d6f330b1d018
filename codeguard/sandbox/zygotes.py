"""The host's end of a zygote: start it, send it a job, take its answer, end it."""

from __future__ import annotations

import array
import importlib.util
import json
import math
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from pathlib import Path
from typing import NamedTuple

from codeguard import interpreter
from codeguard.errors import SandboxError
from codeguard.sandbox.inside import wire
from codeguard.sandbox.model import Layer, Level, Limits

BOOT = str(Path(__file__).parent / "inside" / "boot.py")
_START_S = 30.0  # to load and confine, on a busy machine
_END_S = 0.3  # for a zygote to exit before it is killed
_HUNG_S = 5.0  # a zygote without activity for this long counts as hung
SPARE = 2  # waiting children: one is prepared while the other works
_OWED = 1  # unconfirmed burials allowed when the next is ordered
_MOST_WAITS = 10  # times what it is allowed: the end of a child that others keep from the processor
_LEAST_LOOK_S, _LONGEST_LOOK_S = 0.005, 0.25  # between two looks at what a child has used

_CHUNK = 1 << 16  # bytes, the capacity of a pipe
_LATE_S = 0.1  # after the deadline, to read what was written in time

Texts = tuple[tuple[str, str], ...]  # place within the package's parent folder ("a/b.py"), and text; sorted
MOST_GIVEN = 16 * 1024 * 1024


class ZygoteDiedError(Exception):
    """The zygote or a waiting child ended or hung; the message gives details."""


class End(Enum):
    """Why the host stopped listening to a child."""

    CLOSED = auto()  # the child closed its pipe
    DEADLINE = auto()
    FLOOD = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one job: why it ended, the bytes, and `how` the child ended.

    `how` returns wait status and CPU seconds; it may have to wait for them, and raises ZygoteDiedError if
    they are unknown. `idle_s` is for how many seconds the child was seen to sleep.
    """

    end: End
    output: bytes
    how: Callable[[], tuple[int, float]]
    idle_s: float = 0.0


class Line:
    """Two fresh pipes; the far ends belong to a child once `handed_over`."""

    def __init__(self) -> None:
        self._far_job, self._job = os.pipe()
        self._result, self._far_result = os.pipe()
        self.parts: list[bytes] = []  # of the answer, as far as it was read
        self._left = 0

    @property
    def far(self) -> tuple[int, int]:
        """The child's descriptors, in the order of `wire.RESULT` and `wire.JOB`."""
        return self._far_result, self._far_job

    def handed_over(self) -> None:
        """Close the far ends, which the child has now."""
        os.close(self._far_job)
        os.close(self._far_result)

    def fileno(self) -> int:
        """Return the descriptor to read the answer from."""
        return self._result

    def send(self, payload: bytes, cap: int, until: float) -> None:
        """Write the job; raise ZygoteDiedError if no child takes it. At most `cap` bytes may come back."""
        self._left = cap
        data = wire.SIZE.pack(len(payload)) + payload
        try:
            if len(data) <= _CHUNK:  # fits into an empty pipe without waiting
                os.write(self._job, data)
            else:
                self._send_slowly(data, until)
        except OSError as error:
            raise ZygoteDiedError(f"cannot send: {error}") from None
        finally:
            os.close(self._job)
            self._job = -1

    def _send_slowly(self, data: bytes, until: float) -> None:
        os.set_blocking(self._job, False)
        poll = select.poll()
        poll.register(self._job, select.POLLOUT)
        view = memoryview(data)
        while view:
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000 + 1):
                raise ZygoteDiedError("nobody takes the job")
            view = view[os.write(self._job, view) :]

    def collect(self, until: float) -> End | None:
        """Read available data once, or wait for it until the deadline; None if more may follow."""
        late = time.monotonic() - until
        if late >= 0 and (late > _LATE_S or not _readable(self._result)):
            return End.DEADLINE
        part = os.read(self._result, min(_CHUNK, self._left + 1))
        if not part:
            return End.CLOSED
        self._left -= len(part)
        if self._left < 0:
            return End.FLOOD
        self.parts.append(part)
        return None

    def close(self) -> None:
        """Close this end; a child that is still waiting for a job ends."""
        for descriptor in (self._job, self._result):
            if descriptor >= 0:
                os.close(descriptor)
        self._job = self._result = -1


def _readable(descriptor: int, within_s: float = 0.0) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


class LoadedModules(IntEnum):
    """What a zygote has loaded, each with what is in the one before."""

    CORE = 0
    ALL = 1
    NUMERIC = 2


class ZygoteKind(NamedTuple):
    """The parameters of a zygote: its hash seed, and the modules that it loads."""

    hash_seed: int
    loaded: LoadedModules


def home_of(package: str) -> str:
    """Return the directory that holds a package of codeguard's own environment."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SandboxError(f"{package} is not installed", hint=f"pip install {package}")
    return str(Path(next(iter(found.submodule_search_locations))).parent)


class Zygote:
    """One confined interpreter that forks a child per job; used by one thread at a time.

    It serves once `greet` has returned.
    """

    level = Level.L0
    layers: tuple[Layer, ...] = ()

    def __init__(self, kind: ZygoteKind, without: frozenset[str], given: Texts = ()) -> None:
        self.kind = kind
        ours, theirs = socket.socketpair()
        options = {
            "control": theirs.fileno(),
            "site": home_of("RestrictedPython"),
            "wide": kind.loaded >= LoadedModules.ALL,
            "numeric": home_of("numpy") if kind.loaded is LoadedModules.NUMERIC else "",
            "without": sorted(without),
        }
        with theirs, tempfile.TemporaryFile() as texts:
            texts.write(json.dumps(dict(given) if kind.loaded >= LoadedModules.ALL else {}).encode("ascii"))
            texts.seek(0)
            self._process = interpreter.start_bare(
                BOOT,
                json.dumps(options),
                # resolve library symbols at once, not in every child
                env={"PYTHONHASHSEED": str(kind.hash_seed), "LD_BIND_NOW": "1"},
                stdin=texts,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._control = ours
        self._since = self._wall_s = self._cpu_s = 0.0  # when it began, and what it is allowed
        self._idle_s = 0.0  # that it was seen to spend neither on a core nor waiting for one
        self._spare: deque[Line] = deque()
        self._line: Line | None = None  # of the current job
        self._limits = (0.0, 0)  # of the waiting children
        self._asked = self._told = 0  # burials
        self._last = (0, 0.0)

    def greet(self) -> None:
        """Wait until it has started, and learn its level; raise SandboxError if it does not start."""
        try:
            until = time.monotonic() + _START_S
            (length,) = wire.LENGTH.unpack(self._receive(wire.LENGTH.size, until))
            hello = json.loads(self._receive(length, until))
            if "error" in hello:
                raise ZygoteDiedError(hello["error"])
        except (ZygoteDiedError, ValueError) as error:
            self.close()
            raise SandboxError("the sandbox's zygote does not start", got=str(error)) from None
        self.level = Level(hello["level"])
        self.layers = tuple(Layer(name, bool(engaged), detail) for name, engaged, detail in hello["layers"])

    @property
    def pid(self) -> int:
        """Process id of the started interpreter."""
        return self._process.pid

    def send(self, payload: bytes, limits: Limits, extra_bytes: int) -> None:
        """Give a waiting child its job; raise ZygoteDiedError if there is none to take it."""
        wanted = math.ceil(limits.cpu_s), limits.memory_bytes  # the kernel counts whole seconds
        for _ in range(len(self._spare)):
            if self._limits != wanted:
                self._spare.popleft().close()
                self._order(wanted, bury=True)
        self._limits = wanted
        while len(self._spare) < SPARE:
            self._order(wanted, bury=False)
        self._line = self._spare.popleft()
        self._line.send(payload, limits.frame_bytes + extra_bytes, time.monotonic() + _HUNG_S)
        self._since, self._wall_s, self._cpu_s = time.monotonic(), limits.wall_s, limits.cpu_s
        self._idle_s = 0.0

    def receive(self) -> Answer:
        """Wait for the complete answer, at most until the child is overdue."""
        line = self._line
        assert line is not None
        until = self._since + min(self._wall_s, self._cpu_s, _LONGEST_LOOK_S)
        end: End | None = None
        while end is None:
            _readable(line.fileno(), max(0.0, until - time.monotonic()) + 0.001)
            taken = time.monotonic() - self._since
            if until - self._since <= taken and (more := self._more_time(taken)):
                until = self._since + taken + more
                continue
            end = line.collect(until)
        output = b"".join(line.parts)
        line.close()
        self._line = None
        self._order(self._limits, bury=True)
        number = self._asked
        return Answer(end, output, lambda: self._reply(number), self._idle_s)

    def _more_time(self, taken_s: float) -> float:
        """Return the seconds until the next look at the working child, 0 if it is overdue.

        It may run for its CPU seconds, and run and sleep for its wall time; the time that it waits for a core does not
        count, because a loaded machine is not its doing. The kernel counts how long a process ran, and how long it
        was ready to run and did not. Where the system does not tell, the wall time decides.
        """
        used_s = waited_s = 0.0
        try:
            child = self.pid
            while below := Path(f"/proc/{child}/task/{child}/children").read_bytes().split():
                child = int(below[0])  # of several the oldest, which has the job
            used_ns, waited_ns, _ = map(int, Path(f"/proc/{child}/schedstat").read_bytes().split())
            used_s, waited_s = used_ns / 1e9, waited_ns / 1e9
            self._idle_s = max(0.0, taken_s - used_s - waited_s)
        except (OSError, ValueError):
            pass
        left_s = min(self._cpu_s - used_s, self._wall_s - (taken_s - waited_s))
        if left_s <= 0 or taken_s >= _MOST_WAITS * max(1.0, self._wall_s):
            return 0.0
        return min(max(left_s, _LEAST_LOOK_S), _LONGEST_LOOK_S)

    def _order(self, limits: tuple[float, int], bury: bool) -> None:
        """Order the oldest child to be reaped, if requested, and a new waiting child."""
        line = Line()
        self._spare.append(line)
        try:
            self._reply(self._asked - _OWED)
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", line.far))]
            self._control.sendmsg([wire.ORDER.pack(bury, *limits)], passed)
        except OSError as error:
            raise ZygoteDiedError(f"cannot order: {error}") from None
        finally:
            line.handed_over()
        self._asked += bury

    def _reply(self, number: int) -> tuple[int, float]:
        """Return how a reaped child ended, once the zygote has reported it."""
        while self._told < number:
            self._last = wire.REPLY.unpack(self._receive(wire.REPLY.size, time.monotonic() + _HUNG_S))
            self._told += 1
        return self._last

    def _receive(self, size: int, until: float) -> bytes:
        parts = []
        while size:
            left = until - time.monotonic()
            if left <= 0:
                raise ZygoteDiedError("no answer in time")
            self._control.settimeout(left)
            try:
                part = self._control.recv(min(size, 1 << 20))
            except TimeoutError:
                continue
            except OSError as error:
                raise ZygoteDiedError(f"cannot receive: {error}") from None
            if not part:
                raise ZygoteDiedError("it ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """End the zygote and its descendants, and reap it."""
        self._control.close()  # a working zygote ends at once, with its children
        for line in (*self._spare, *([self._line] if self._line else [])):
            line.close()
        self._spare.clear()
        self._line = None
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def read_given(paths: Iterable[str]) -> Texts:
    """Return the texts of packages and modules that trusted code may import, each named by its folder or file.

    They go to each zygote as text and are executed within its confinement, never outside of it.

    Paths must be absolute, because with a relative one the working directory would choose the code.

    Raises:
        SandboxError: there is no such module, it hides a standard one, or all of them are too large.
    """
    found = {place: text for path in paths for place, text in _texts(Path(path).expanduser())}
    if sum(map(len, found.values())) > MOST_GIVEN:
        raise SandboxError("modules for the sandbox are too large", expected=f"{MOST_GIVEN} characters")
    return tuple(sorted(found.items()))


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    single = path.suffix == ".py"
    first = path if single else path / "__init__.py"
    if not path.is_absolute() or not first.is_file():
        expected = "the absolute path of a package's folder or of a module's file"
        raise SandboxError("no module for the sandbox", got=str(path), expected=expected)
    if not path.stem.isidentifier() or path.stem in sys.stdlib_module_names:
        raise SandboxError("no name for a module of the sandbox", got=path.stem)
    for file in [path] if single else sorted(path.rglob("*.py")):
        if file.is_file() and not file.is_symlink():
            try:
                yield file.relative_to(path.parent).as_posix(), file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SandboxError(
                    "a module for the sandbox cannot be read", got=f"{file} ({error})"
                ) from None
