"""Characters that show people something other than what the machine reads, in any language of source."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

from codeguard.reading import Reading
from codeguard.signals.base import Context, Rule, Sighting
from codeguard.signals.deceptive.bidi import bidi
from codeguard.signals.deceptive.controls import SUSPICIOUS, controls, separators
from codeguard.signals.deceptive.invisible import invisible
from codeguard.signals.deceptive.names import names
from codeguard.signals.deceptive.places import Places
from codeguard.signals.deceptive.rules import RULES

_MOST = 1_000  # sightings of one sort in one file
_TOO_MANY = f"deceptive characters were not looked for after {_MOST:,} of one sort"


class DeceptiveSignal:
    """Bidirectional controls, invisible characters, lookalike names and punctuation, overprinting."""

    name: ClassVar[str] = "deceptive"
    summary: ClassVar[str] = "characters that show something other than what the machine reads"
    rules: ClassVar[tuple[Rule, ...]] = RULES
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: Context) -> Iterator[Sighting]:
        """Yield the deceptive characters of a file; plain ASCII is let through at once."""
        plain = reading.text.isascii()
        if plain and SUSPICIOUS.search(reading.text) is None:
            return
        places = Places(reading)
        sorts = [controls(places)]
        if not plain:
            sorts += [bidi(places), invisible(places), names(reading, places), separators(places)]
        for found in sorts:
            yield from islice(found, _MOST)
            more = next(found, None)
            if more is not None:
                reading.unread.note(_TOO_MANY, reading.line_of(more.start))


SIGNAL = DeceptiveSignal()
