"""The perplexity model: an n-gram model of the trusted code, and the threshold for outliers.

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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from codeguard.analysis.perplexity.ngram import WIDTH, Bits, NgramModel, character_bits, worst_window

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
