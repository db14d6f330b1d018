"""The host's ends of one child's two pipes: the job goes in, the answer comes out."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from codeguard.sandbox.inside import wire

_CHUNK = 1 << 16  # bytes, the capacity of a pipe
_LATE_S = 0.1  # after the deadline, to read what was written in time


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
        self._parts: list[bytes] = []
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
        if late >= 0 and (late > _LATE_S or not self._readable()):
            return End.DEADLINE
        part = os.read(self._result, min(_CHUNK, self._left + 1))
        if not part:
            return End.CLOSED
        self._left -= len(part)
        if self._left < 0:
            return End.FLOOD
        self._parts.append(part)
        return None

    def _readable(self) -> bool:
        poll = select.poll()
        poll.register(self._result, select.POLLIN)
        return bool(poll.poll(0))

    def output(self) -> bytes:
        """Return what was read."""
        return b"".join(self._parts)

    def close(self) -> None:
        """Close this end; a child that is still waiting for a job ends."""
        for descriptor in (self._job, self._result):
            if descriptor >= 0:
                os.close(descriptor)
        self._job = self._result = -1
