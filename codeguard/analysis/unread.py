"""What of a file was not examined, as every bound that a reader or a signal keeps has to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """One bound that a file ran into: what ended there, and in which line (1-based, 0 where it is not known)."""

    what: str
    line: int


class Unread:
    """The bounds that a file ran into, each with the first place."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}

    def note(self, what: str, line: int = 0) -> None:
        """Note that something ended before the file did; `what` is a clause for a person."""
        self._limits.setdefault(what, line)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What was noted, in the order of the notes."""
        return tuple(Limit(what, line) for what, line in self._limits.items())
