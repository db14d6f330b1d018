"""The definition of a task: a function from bytes to bytes, run within limits anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from codeguard.errors import CodeguardError
from codeguard.workers.deadline import CPU, WALL

# A task's preparation, from the shared data if any, is trusted and not limited. The function it returns gets
# one item at a time and yields the parts of its answer: parts that came before it was ended are kept.
Run = Callable[[bytes], Iterator[bytes]]
Task = Callable[..., Run]

MEMORY, DIED, FAILED = "memory", "died", "failed"
MEMORY_BYTES = 300 << 20
CUTTING_S, LOOKING_S = 1.5, 3.5  # processor seconds per file: five in all
CHECKING_S = 5.0  # for reading one function, apart from what the sandbox runs
SOFT_SHARE = 0.85  # of a limit; a task that exceeds the limit is killed from outside


class WorkerError(CodeguardError):
    """A task cannot be prepared, or no worker lives long enough to try."""


@dataclass(frozen=True, slots=True)
class ItemBounds:
    """The limits of one item: processor seconds, wall seconds, bytes above the worker's previous memory.

    None means no limit on processor time or memory.
    """

    cpu_s: float | None = None
    wall_s: float = 120.0
    memory_bytes: int | None = MEMORY_BYTES


NO_BOUNDS = ItemBounds(None, 1800.0, None)  # but one that only a stopped process meets


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """The parts of an answer, and what ended it early: empty, or one of the limits.

    `DIED` means that the worker ended unexpectedly, twice; `FAILED` an unexpected error of the task.
    `lasting` says whether another try would give the same result: a busy machine or an external signal is not
    the file's fault.
    """

    parts: tuple[bytes, ...]
    ended: str = ""
    why: str = ""
    lasting: bool = True

    @property
    def last(self) -> bytes:
        """The last part of a complete answer."""
        if self.ended or not self.parts:
            raise WorkerError(f"a task did not finish: {self.why or 'no answer'}")
        return self.parts[-1]


def end_clause(ended: str, bounds: ItemBounds) -> str:
    """Return a clause for messages about what ended an item."""
    return {
        CPU: f"it took more than {bounds.cpu_s or 0:g} s of the processor",
        WALL: f"it gave no answer within {bounds.wall_s:g} s",
        MEMORY: f"it took more than {(bounds.memory_bytes or 0) >> 20} MB of memory",
        DIED: "the process that looked at it died",
    }.get(ended, "it failed")


@dataclass(frozen=True, slots=True)
class Shared:
    """Bytes that many tasks need, identified by their sha256 and sent to a worker once."""

    digest: str
    data: bytes = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: bytes) -> Shared:
        """Create a reference to some bytes."""
        return cls(hashlib.sha256(data).hexdigest(), data)

    def verified(self) -> bytes:
        """Return the bytes; raise WorkerError if they do not match the digest."""
        found = hashlib.sha256(self.data).hexdigest()
        if found != self.digest:
            raise WorkerError(
                "a worker was sent other data than it was told", got=found, expected=self.digest
            )
        return self.data
