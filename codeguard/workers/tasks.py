"""What a task is: it turns bytes into bytes, wherever it runs, within bounds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from codeguard.errors import CodeguardError
from codeguard.workers.deadline import CPU, WALL

# What a task makes ready, of what is shared if there is something, is ours and not bounded; what it returns is
# given one item at a time and yields the parts of its answer: those that came before it was ended are kept.
Run = Callable[[bytes], Iterator[bytes]]
Task = Callable[..., Run]

MEMORY, DIED, FAILED = "memory", "died", "failed"
MEMORY_BYTES = 300 << 20
CUTTING_S, LOOKING_S = 1.5, 3.5  # of the processor for one file: five seconds in all
CHECKING_S = 5.0  # for what is read of one function beside what the sandbox runs
SOFT_SHARE = 0.85  # of a bound: what then still goes on is ended from outside


class WorkerError(CodeguardError):
    """A task cannot be made ready, or no worker lives long enough to try."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one item may use: seconds of the processor, seconds on the clock, bytes above what the worker had before.

    None for the processor and the memory is no bound.
    """

    cpu_s: float | None = None
    wall_s: float = 120.0
    memory_bytes: int | None = MEMORY_BYTES


NO_BOUNDS = Bounds(None, float("inf"), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of an answer, and what ended it before it was complete: empty, or one of the bounds.

    `DIED` is a worker that ended by itself, twice; `FAILED` an error that the task did not expect. `lasting`
    says whether another try would come to the same: a busy machine or a signal from outside is not the file's.
    """

    parts: tuple[bytes, ...]
    ended: str = ""
    why: str = ""
    lasting: bool = True

    @property
    def last(self) -> bytes:
        """The last part, of an answer that is complete."""
        if self.ended or not self.parts:
            raise WorkerError(f"a task did not finish: {self.why or 'no answer'}")
        return self.parts[-1]


def said(ended: str, bounds: Bounds) -> str:
    """Return what ended an item as a clause for a person."""
    return {
        CPU: f"it took more than {bounds.cpu_s or 0:g} s of the processor",
        WALL: f"it gave no answer within {bounds.wall_s:g} s",
        MEMORY: f"it took more than {(bounds.memory_bytes or 0) >> 20} MB of memory",
        DIED: "the process that looked at it died",
    }.get(ended, "it failed")


@dataclass(frozen=True, slots=True)
class Shared:
    """Bytes that many tasks need, named by their sha256: a worker is sent them once."""

    digest: str
    data: bytes = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: bytes) -> Shared:
        """Name some bytes."""
        return cls(hashlib.sha256(data).hexdigest(), data)

    def verified(self) -> bytes:
        """Return the bytes; raise WorkerError if they are not those of the name."""
        found = hashlib.sha256(self.data).hexdigest()
        if found != self.digest:
            raise WorkerError(
                "a worker was sent other data than it was told", got=found, expected=self.digest
            )
        return self.data
