"""When cyclic garbage is collected: by the text looked at, as syntax trees would set it off again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

EVERY = 1_000_000  # characters of looked-at text, which leave some tens of megabytes


class Collector:
    """Collects after every so many characters, while the interpreter's own collection is put off."""

    def __init__(self) -> None:
        self._seen = 0

    def looked_at(self, characters: int) -> None:
        """Count text that was looked at; collect if it is time to."""
        self._seen += characters
        if self._seen >= EVERY and not gc.isenabled():
            self._seen = 0
            gc.collect()


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Put the interpreter's own collection off for a block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
