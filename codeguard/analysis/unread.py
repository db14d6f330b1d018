"""Parts of a file that were not analysed because a reader or detector reached a limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that was reached: what stopped there, and the line (1-based, 0 if unknown)."""

    what: str
    line: int


class Unread:
    """The limits reached in a file, each with its first position."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}

    def note(self, what: str, line: int = 0) -> None:
        """Record that something stopped before the end of the file; `what` is a clause for people."""
        self._limits.setdefault(what, line)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The recorded limits, in order."""
        return tuple(Limit(what, line) for what, line in self._limits.items())
