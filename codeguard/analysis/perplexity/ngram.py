"""A byte n-gram model in numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

WIDTH = 64  # characters of a window
ALPHABET = 256
SYMBOL_BITS = 9  # a byte plus one, so that 0 can mean "beyond the text"
MAX_ORDER = 64 // SYMBOL_BITS
BLOCK_BYTES = 1 << 23  # bytes counted or scored at a time, which limits memory
SLICE = 1 << 17  # n-grams looked up at a time, so that they fit into the CPU cache

Bits = NDArray[np.float64]
Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]


class _Level:
    """The n-grams of one size in ascending order, with their bits and what it costs to go on without a context.

    Both arrays have one entry more, which `find` returns for n-grams that are not there.
    """

    def __init__(self, keys: Keys) -> None:
        self.missing = len(keys)
        self._keys = np.append(keys, np.uint64(0))
        self.bits_of = np.zeros(len(keys) + 1)
        self.backoff_of = np.zeros(len(keys) + 1)

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Return the index of each key."""
        places = np.searchsorted(self._keys[:-1], keys)
        places[self._keys.take(places) != keys] = self.missing
        return places


class NgramModel:
    """Counts of byte n-grams, and the probabilities derived from them.

    A model consists of the sorted distinct n-grams of its texts, padded at both ends, with their
    counts. It does not depend on the order of the texts.
    """

    def __init__(self, order: int, keys: Keys, counts: Counts) -> None:
        """Take ascending distinct keys of `order` symbols with their counts; see `train`."""
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"order has to be 1 to {MAX_ORDER}, got {order}")
        self.order = order
        self.keys = keys
        self.counts = counts
        self._levels: tuple[_Level, ...] | None = None
        self._unseen = 0.0

    @classmethod
    def train(cls, texts: Iterable[str], order: int = 6) -> NgramModel:
        """Count the n-grams of the texts, up to `order` symbols long (1 to 7).

        N-grams do not span two texts.
        """
        keys = np.empty(0, dtype=np.uint64)
        counts = np.empty(0, dtype=np.int64)
        for block in _blocks(_encode(text) for text in texts):
            windows = _windows(_join(block, order), order)
            starts_in_text = windows >> np.uint64(SYMBOL_BITS * (order - 1)) != 0
            windows = np.sort(windows[starts_in_text])
            keys, counts = _sum_runs(
                np.concatenate([keys, windows]),
                np.concatenate([counts, np.ones(len(windows), dtype=np.int64)]),
                is_sorted=not len(keys),
            )
        return cls(order, keys, counts)

    def without(self, other: NgramModel) -> NgramModel:
        """Return the model without the texts of `other`, which have to be among its own."""
        if other.order != self.order:
            raise ValueError(f"models of order {self.order} and {other.order} cannot be subtracted")
        counts = self.counts.copy()
        counts[np.searchsorted(self.keys, other.keys)] -= other.counts
        left = counts > 0
        return NgramModel(self.order, self.keys[left], counts[left])

    def bits(self, texts: Sequence[str]) -> list[Bits]:
        """Return, for each text, the bits of each of its UTF-8 bytes, in order."""
        result: list[Bits] = []
        for block in _blocks(_encode(text) for text in texts):
            symbols = _join(block, self.order)
            costs = self._score(_windows(symbols, self.order))
            start = 1
            for data in block:
                result.append(costs[start : start + len(data)])
                start += len(data) + self.order
        return result

    def bits_per_character(self, text: str) -> float:
        """Return the mean bits per character (code point); 0.0 for an empty text."""
        return float(self.bits([text])[0].sum() / len(text)) if text else 0.0

    def worst_window(self, text: str) -> float:
        """Return the mean bits of the most surprising 64 characters, each in the context of the text before."""
        return worst_window(character_bits(text, self.bits([text])[0]))[0]

    def _score(self, windows: Keys) -> Bits:
        """Return the bits of the last symbol of each window, given the symbols before it.

        The longest known n-gram determines the probability. Each longer context that was seen, but
        never with this symbol, contributes its weight for unseen symbols. The sum equals the
        recursion over all orders. Windows across two texts get a meaningless value.
        """
        if self._levels is None:
            self._levels, self._unseen = _build(self.order, self.keys, self.counts)
        # Text repeats itself, and ascending keys are looked up much faster.
        windows, places = np.unique(windows, return_inverse=True)
        parts = range(0, len(windows), SLICE)
        scored = [np.empty(0), *(self._scored(windows[at : at + SLICE]) for at in parts)]
        return np.concatenate(scored)[places]

    def _scored(self, windows: Keys) -> Bits:
        assert self._levels is not None
        costs = np.zeros(len(windows))
        places, spent = np.arange(len(windows)), np.zeros(len(windows))
        for size in range(self.order, 0, -1):
            level, mask = self._levels[size - 1], np.uint64((1 << SYMBOL_BITS * size) - 1)
            if size < self.order:
                spent += level.backoff_of.take(level.find(windows >> np.uint64(SYMBOL_BITS) & mask))
            slots = level.find(windows & mask)
            missed = slots == level.missing
            seen, left = np.flatnonzero(~missed), np.flatnonzero(missed)
            costs[places.take(seen)] = spent.take(seen) + level.bits_of.take(slots.take(seen))
            windows, places, spent = windows.take(left), places.take(left), spent.take(left)
        costs[places] = spent + self._unseen
        return costs


def _build(order: int, keys: Keys, counts: Counts) -> tuple[tuple[_Level, ...], float]:
    """Return a table per n-gram size, and the bits of an unseen symbol."""
    levels: list[_Level] = []
    unseen = float(np.log2(ALPHABET))
    for size in range(1, order + 1):
        prefixes = keys >> np.uint64(SYMBOL_BITS * (order - size))
        whole = prefixes & np.uint64((1 << SYMBOL_BITS) - 1) != 0
        grams, seen = _sum_runs(prefixes[whole], counts[whole], is_sorted=True)
        table = _Level(grams)
        levels.append(table)
        if not len(grams):
            continue
        contexts = grams >> np.uint64(SYMBOL_BITS)
        first = _run_starts(contexts)
        total = np.add.reduceat(seen, first)
        distinct = np.diff(first, append=len(grams))
        if size == 1:
            lower: Bits | float = 1 / ALPHABET
            unseen += float(np.log2((total[0] + distinct[0]) / distinct[0]))
        else:
            below = levels[-2]
            suffixes = grams & np.uint64((1 << SYMBOL_BITS * (size - 1)) - 1)
            lower = np.exp2(-below.bits_of[below.find(suffixes)])
            below.backoff_of[below.find(contexts[first])] = np.log2((total + distinct) / distinct)
        share = np.repeat(distinct, distinct) * lower
        table.bits_of[:-1] = -np.log2((seen + share) / np.repeat(total + distinct, distinct))
    return tuple(levels), unseen


def character_bits(text: str, costs: Bits) -> Bits:
    """Return the sum of the bits of a text's bytes for each character."""
    if len(text) == len(costs):
        return costs
    data = _encode(text)
    summed: Bits = np.add.reduceat(costs, np.flatnonzero((data & 0xC0) != 0x80))
    return summed


def worst_window(costs: Bits, width: int = WIDTH) -> tuple[float, int, int]:
    """Return the largest mean over `width` neighboring values, or over fewer if there are not as many, with start
    and end; the first such window if several are equal.
    """
    if not len(costs):
        return 0.0, 0, 0
    width = min(width, len(costs))
    sums = np.cumsum(np.concatenate([[0.0], costs]))
    windows = sums[width:] - sums[:-width]
    start = int(windows.argmax())
    return float(windows[start] / width), start, start + width


def _encode(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _blocks(texts: Iterable[NDArray[np.uint8]]) -> Iterator[list[NDArray[np.uint8]]]:
    """Group texts into groups of limited size; a long text is a group of its own."""
    block: list[NDArray[np.uint8]] = []
    size = 0
    for data in texts:
        if block and size + len(data) > BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(data)
        size += len(data)
    if block:
        yield block


def _join(texts: Sequence[NDArray[np.uint8]], order: int) -> NDArray[np.uint64]:
    """Concatenate texts as symbols (byte plus one), with `order` zeros before, between and after them."""
    symbols = np.zeros(sum(len(data) for data in texts) + order * (len(texts) + 1), dtype=np.uint64)
    start = order
    for data in texts:
        symbols[start : start + len(data)] = data
        symbols[start : start + len(data)] += np.uint64(1)
        start += len(data) + order
    return symbols


def _windows(symbols: NDArray[np.uint64], order: int) -> Keys:
    """Return the key of every run of `order` symbols, with the oldest in the highest bits."""
    count = len(symbols) - order + 1
    windows = symbols[:count].copy()
    for offset in range(1, order):
        windows <<= np.uint64(SYMBOL_BITS)
        windows |= symbols[offset : offset + count]
    return windows


def _run_starts(values: Keys) -> NDArray[np.int64]:
    """Return the index at which each run of equal neighbors starts."""
    if not len(values):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def _sum_runs(keys: Keys, counts: Counts, *, is_sorted: bool) -> tuple[Keys, Counts]:
    """Return distinct ascending keys with the sums of their counts."""
    if not is_sorted:
        ascending = np.argsort(keys, kind="stable")
        keys, counts = keys[ascending], counts[ascending]
    first = _run_starts(keys)
    if not len(first):
        return keys, counts
    return keys[first], np.add.reduceat(counts, first)
