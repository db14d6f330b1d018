"""Perplexity: how improbable a text is under a byte n-gram model of the trusted code, and when it is an outlier.

The bits per character depend on how much code a model was trained on, so no constant works as a
threshold. It is placed between two measured values: the most surprising window of trusted code that
the model was not trained on, and random digits, which resemble encoded or encrypted payloads.

A stored model is a JSON header and plain arrays. No pickle.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

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


ORDER = 6
TRAINED_CHARACTERS = 1 << 20  # characters of trusted code: at most as many n-grams, at 400 bytes each
CAP = 8.0  # bits per byte without any knowledge
QUANTILE = 0.99  # quantile of held-out pieces that counts as usual
FOLDS = 5
HELD_OUT = 1_000  # pieces scored at most
PIECE = 400  # minimum characters of a piece; the next blank line ends it


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bits per character of held-out trusted code.

    `window_usual` is the 0.99 quantile of the most surprising windows of `pieces`. `random` is the cost of random
    digits, in the cheaper encoding (hexadecimal, base64) that costs more than `window_usual`, or infinite
    if neither does. A window above `threshold` is an outlier. If `pieces` is 0, the threshold is
    infinite.
    """

    pieces: int
    window_usual: float
    random: float
    threshold: float


def sample_of(texts: Iterable[str]) -> list[str]:
    """Return what a model learns of texts in any order: the first by digest, each once, up to 1 Mi characters."""
    by_digest = {hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(): text for text in texts}
    taken: list[str] = []
    left = TRAINED_CHARACTERS
    for _, text in sorted(by_digest.items()):
        if left <= 0:
            break
        taken.append(text[:left])  # the last one is cut
        left -= len(text)
    return taken


def split_pieces(text: str) -> list[str]:
    """Split a file at blank lines into pieces of about the size of a function; joined they give the file."""
    pieces: list[str] = []
    lines: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        lines.append(line)
        size += len(line)
        if size >= PIECE and not line.strip():
            pieces.append("".join(lines))
            lines, size = [], 0
    if lines:
        pieces.append("".join(lines))
    return pieces


def most_surprising_window(text: str, costs: Bits) -> tuple[float, int, int] | None:
    """Return the most surprising window of the significant characters: mean bits, and its half-open range.

    `costs` are the bits per byte.

    A character counts at most 8 bits, or a few characters that never occur in trusted code would
    dominate a window. Skipped are non-ASCII characters, which show only the authors' language, and
    the fourth and later characters of a run of one character, as in ruled lines. None if fewer
    characters remain than a window holds.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    informative = points < 128
    same = points[1:] == points[:-1]
    informative[3:] &= ~(same[2:] & same[1:-1] & same[:-2])
    places = np.flatnonzero(informative)
    if len(places) < WIDTH:
        return None
    bits, start, end = worst_window(np.minimum(character_bits(text, costs)[places], CAP))
    return bits, int(places[start]), int(places[end - 1]) + 1


def calibrate(pieces: Sequence[tuple[int, str]], order: int) -> Calibration:
    """Score pieces of trusted code with models not trained on their group, and set the threshold.

    `pieces` are pairs of group and text; the group is the file. There are five folds of groups, or
    as many as there are groups. With a single group, its pieces are divided among the folds, which
    is too optimistic. With fewer than two pieces nothing can be held out, and nothing will be
    flagged.
    """
    grouped = len({group for group, _ in pieces}) > 1
    keys = [group for group, _ in pieces] if grouped else list(range(len(pieces)))
    rank = {key: place for place, key in enumerate(sorted(set(keys)))}
    folds = min(FOLDS, len(rank))
    model = NgramModel.train((text for _, text in pieces), order)
    windows: list[float] = []
    for which in range(folds if folds > 1 else 0):
        part = [text for key, (_, text) in zip(keys, pieces, strict=True) if rank[key] % folds == which]
        held_out = part[:: max(1, -(-len(part) * folds // HELD_OUT))]
        costs_of = model.without(NgramModel.train(part, order)).bits(held_out)
        found = map(most_surprising_window, held_out, costs_of)
        windows += (window[0] for window in found if window is not None)
    if not windows:
        return Calibration(0, math.inf, math.inf, math.inf)
    usual = float(np.quantile(windows, QUANTILE, method="higher"))
    costlier = [cost for cost in _random_costs(model) if cost > usual]
    random = min(costlier, default=math.inf)
    threshold = (usual + random) / 2 if costlier else usual
    return Calibration(len(windows), usual, random, threshold)


def _random_costs(model: NgramModel) -> Iterable[float]:
    """Yield the bits per character of a typical window of random hexadecimal and of base64 digits."""
    noise = b"".join(hashlib.sha256(block.to_bytes(2, "big")).digest() for block in range(64))
    for text in (noise.hex(), base64.b64encode(noise).decode()):
        costs = np.minimum(model.bits([text])[0], CAP)
        sums = np.cumsum(np.concatenate([[0.0], costs]))
        yield float(np.median(sums[WIDTH:] - sums[:-WIDTH]) / WIDTH)


@dataclass(frozen=True, slots=True)
class PerplexityScore:
    """How much a text differs from the trusted code.

    `bits_per_character` is the mean over the whole text. `worst_window_bits` is the mean over the
    most surprising 64 ASCII characters, each counted with at most 8 bits, from `start` to `end`
    (half-open range in characters); 0.0 with an empty range if the text is shorter.
    Only the window decides `outlier`.
    """

    bits_per_character: float
    worst_window_bits: float
    outlier: bool
    start: int
    end: int
    reason: str


@dataclass(frozen=True)
class PerplexityModel:
    """Scores texts by how much their characters differ from the trusted code."""

    ngrams: NgramModel
    calibration: Calibration

    @classmethod
    def train(cls, texts: Iterable[str], order: int = ORDER) -> PerplexityModel:
        """Learn from a sample of trusted files (see `sample_of`), and calibrate on held-out ones of them."""
        sample = sample_of(texts)
        ngrams = NgramModel.train(sample, order)
        pieces = [(group, piece) for group, text in enumerate(sample) for piece in split_pieces(text)]
        return cls(ngrams, calibrate(pieces, order))

    def score(self, text: str) -> PerplexityScore:
        """Return the score of a text."""
        return self.scores([text])[0]

    def scores(self, texts: Sequence[str]) -> list[PerplexityScore]:
        """Return the scores of several texts, which is faster than one at a time."""
        result: list[PerplexityScore] = []
        for text, costs in zip(texts, self.ngrams.bits(texts), strict=True):
            mean = float(costs.sum() / len(text)) if text else 0.0
            window = most_surprising_window(text, costs)
            if window is None:
                result.append(PerplexityScore(mean, 0.0, False, 0, 0, "too short for a window"))
                continue
            bits, start, end = window
            outlier = bits > self.calibration.threshold
            result.append(PerplexityScore(mean, bits, outlier, start, end, self._reason(bits)))
        return result

    def to_bytes(self) -> bytes:
        """Return model and calibration in the form that `from_bytes` reads."""
        keys, counts = self.ngrams.keys, self.ngrams.counts
        header = {
            "order": self.ngrams.order,
            "calibration": asdict(self.calibration),
            "grams": len(keys),
        }
        described = json.dumps(header, sort_keys=True).encode()
        return b"\n".join([described, keys.astype("<u8").tobytes() + counts.astype("<i8").tobytes()])

    @classmethod
    def from_bytes(cls, raw: bytes) -> PerplexityModel:
        """Return the model of `to_bytes`, whose origin the caller has authenticated."""
        header = json.loads(raw[: (end := raw.index(b"\n"))])
        count = int(header["grams"])
        keys = np.frombuffer(raw, dtype="<u8", count=count, offset=end + 1).astype(np.uint64)
        counts = np.frombuffer(raw, dtype="<i8", count=count, offset=end + 1 + 8 * count).astype(np.int64)
        ngrams = NgramModel(int(header["order"]), keys, counts)
        return cls(ngrams, Calibration(**header["calibration"]))

    def _reason(self, bits: float) -> str:
        usual = self.calibration
        if not usual.pieces:
            return "too little trusted text to say what is usual"
        random = f", random digits about {usual.random:.1f}" if usual.random < float("inf") else ""
        return (
            f"its most surprising 64 characters cost {bits:.1f} bits each; "
            f"99 % of held-out trusted code stays under {usual.window_usual:.1f}{random}"
        )
