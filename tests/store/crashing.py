"""A crash at a chosen step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class CrashError(BaseException):
    """Stands for the end of the process."""


class Countdown:
    """Lets so many calls of the functions that it wraps through; each later one is a crash."""

    def __init__(self, steps: int) -> None:
        self.steps, self.taken = steps, 0

    def __call__(self, function: Callable[..., T]) -> Callable[..., T]:
        def call(*words: object, **options: object) -> T:
            self.taken += 1
            if self.taken > self.steps:
                raise CrashError
            return function(*words, **options)

        return call
