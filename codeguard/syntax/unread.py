"""What was not analysed of a file: a reader or detector reached a limit, or raised an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
LONGEST_WHY = 300  # characters of an exception that are kept


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that was reached: what stopped there, and the line (1-based, 0 if unknown)."""

    what: str
    line: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule, or what several rules need, that raised an exception; `why` is the kind of the first and its text."""

    rule: str
    why: str


class Unread:
    """The limits reached in a file, each with its first position, and the rules that failed on it."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._failures: dict[str, str] = {}

    def note(self, what: str, line: int = 0) -> None:
        """Record that something stopped before the end of the file; `what` is a clause for people."""
        self._limits.setdefault(what, line)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The recorded limits, in order."""
        return tuple(Limit(what, line) for what, line in self._limits.items())

    @contextmanager
    def alone(self, rule: str) -> Iterator[None]:
        """End the block, and nothing else, at an exception, which is recorded for the rule; see `fail`."""
        try:
            yield
        except Exception as error:  # hostile text meets code that did not expect it
            self.fail(rule, error)

    def apart(
        self, rule: str, look: Callable[P, Iterable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """Yield what `look` finds until it raises an exception; see `alone`."""
        with self.alone(rule):
            yield from look(*args, **kwargs)

    def fail(self, rule: str, error: Exception) -> None:
        """Record that a rule raised an exception.

        Raises:
            MemoryError: the exception is one, which ends the whole detector.
        """
        if isinstance(error, MemoryError):
            raise error
        self._failures.setdefault(rule, f"{type(error).__name__}: {error}"[:LONGEST_WHY])

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The recorded failures, in order."""
        return tuple(Failure(rule, why) for rule, why in self._failures.items())
