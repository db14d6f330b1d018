"""What a task is: a function of bytes that turns bytes into bytes, wherever it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from codeguard.errors import CodeguardError

Task = Callable[..., bytes]  # of a payload, and of what is shared where there is something


class WorkerError(CodeguardError):
    """A task failed by itself, or every worker that tried it was lost."""


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
        """Return the bytes; WorkerError where they are not those of the name."""
        found = hashlib.sha256(self.data).hexdigest()
        if found != self.digest:
            raise WorkerError(
                "a worker was sent other data than it was told", got=found, expected=self.digest
            )
        return self.data
