"""Collect cyclic garbage by the amount of processed text: syntax trees would trigger it constantly."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

EVERY = 3_000_000  # characters of processed text, which leave a hundred megabytes


class Collector:
    """Collects after a number of characters, while the interpreter's own collection is disabled."""

    def __init__(self) -> None:
        self._seen = 0

    def looked_at(self, characters: int) -> None:
        """Count processed text; collect if it is time to."""
        self._seen += characters
        if self._seen >= EVERY and not gc.isenabled():
            self._seen = 0
            gc.collect()


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Disable the interpreter's own collection for a block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
