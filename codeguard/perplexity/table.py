"""A hash table in numpy arrays: n-gram keys to the two figures that scoring needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EMPTY = np.uint64(0)  # no n-gram has the key 0: symbols start at 1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth, TAOCP 3, 6.4)


class Table:
    """Open addressing with linear probing, at most a quarter full, read by whole arrays of keys."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        """Place distinct non-zero keys; `slots` says where each of them went."""
        bits = max(4, int(4 * max(1, len(keys)) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = np.int64((1 << bits) - 1)
        # One more slot than the mask reaches, always empty, is where a miss points to.
        self._keys = np.zeros((1 << bits) + 1, dtype=np.uint64)
        self.missing = np.int64(1 << bits)
        self.slots = self._place(keys)
        self.bits_of = np.zeros((1 << bits) + 1)
        self.backoff_of = np.zeros((1 << bits) + 1)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slot of each key, `missing` where it has none."""
        slots = self._home(keys)
        held = self._keys.take(slots)
        elsewhere = np.flatnonzero(held != keys)
        pending = elsewhere[held.take(elsewhere) != EMPTY]
        here = slots.take(pending)
        slots[elsewhere] = self.missing
        while len(pending):
            here = (here + 1) & self._mask
            held, wanted = self._keys.take(here), keys.take(pending)
            slots[pending[held == wanted]] = here[held == wanted]
            on = (held != wanted) & (held != EMPTY)
            pending, here = pending[on], here[on]
        return slots

    def _home(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        home: NDArray[np.int64] = ((keys * _MULTIPLIER) >> self._shift).view(np.int64)
        return home

    def _place(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        slots = self._home(keys)
        pending = np.arange(len(keys))
        while len(pending):
            here = slots[pending]
            free = self._keys[here] == EMPTY
            # Where several want one slot the last one written has it.
            self._keys[here[free]] = keys[pending[free]]
            lost = self._keys[here] != keys[pending]
            pending = pending[lost]
            slots[pending] = (slots[pending] + 1) & self._mask
        return slots
