"""The definition of a task: a function from bytes to bytes, run within limits anywhere; and the one form of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

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

    @property
    def value(self) -> Any:
        """The last part of a complete answer, as plain values."""
        return _decoded(self.last)

    @property
    def values(self) -> list[Any]:
        """All parts, as plain values."""
        return [_decoded(part) for part in self.parts]


def encoded(value: object) -> bytes:
    """Return plain values in the form in which every task gets and answers them."""
    return json.dumps(value).encode("ascii")


def by_values(answers: Callable[[Any], Iterable[object]]) -> Run:
    """Return a task's function from one of plain values to the plain values of each part of its answer."""

    def run(payload: bytes) -> Iterator[bytes]:
        for part in answers(json.loads(payload)):
            yield encoded(part)

    return run


def _decoded(part: bytes) -> Any:
    try:
        return json.loads(part)
    except (ValueError, RecursionError) as error:
        raise WorkerError(f"a worker's answer is no plain value ({error})") from error


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

    @classmethod
    def of_values(cls, value: object) -> Shared:
        """Create a reference to plain values, the same for the same values."""
        return cls.of(json.dumps(value, sort_keys=True).encode("ascii"))

    def value(self) -> Any:
        """Return the plain values; raise WorkerError if they do not match the digest."""
        found = hashlib.sha256(self.data).hexdigest()
        if found != self.digest:
            raise WorkerError(
                "a worker was sent other data than it was told", got=found, expected=self.digest
            )
        return json.loads(self.data)
