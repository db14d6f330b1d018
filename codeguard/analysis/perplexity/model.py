"""The perplexity model: an n-gram model of the trusted code with its calibration."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis.perplexity.calibration import (
    Calibration,
    calibrate,
    most_surprising_window,
    split_pieces,
)
from codeguard.analysis.perplexity.ngram import NgramModel
from codeguard.analysis.perplexity.storage import read_model, write_model
from codeguard.errors import StoreError

ORDER = 6
TRAINED_CHARACTERS = 4 << 20  # characters of trusted code; a sample of files is enough
# Code of that size has 600,000; embedded data such as base64 has one per character, at 400 bytes each.
MOST_NGRAMS = 1_000_000


@dataclass(frozen=True, slots=True)
class PerplexityScore:
    """How much a text differs from the trusted code.

    `bits_per_character` is the mean over the whole text. `worst_window_bits` is the mean over the
    most surprising 64 ASCII characters, each counted with at most 8 bits, from `start` to `end`
    (half-open range in characters); 0.0 with an empty range if the text is shorter. `z` is the
    number of standard deviations of that window above held-out trusted code, or 0.0 if unknown.
    Only the window decides `outlier`.
    """

    bits_per_character: float
    worst_window_bits: float
    outlier: bool
    z: float
    start: int
    end: int
    reason: str


class PerplexityModel:
    """Scores texts by how much their characters differ from the trusted code."""

    def __init__(self, ngrams: NgramModel, calibration: Calibration) -> None:
        """Combine a trained model and its calibration; use `train` to make both."""
        self.ngrams = ngrams
        self.calibration = calibration

    @classmethod
    def train(cls, files: Sequence[tuple[str, str]], order: int = ORDER) -> PerplexityModel:
        """Learn from trusted files, given as pairs of name and text, and calibrate on held-out files.

        The result does not depend on names or on the order of files: texts are sorted by digest,
        and duplicates are used once, up to 4 Mi characters or about a million distinct n-grams.
        """
        by_digest = {
            hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(): text for _, text in files
        }
        texts = [text for _, text in sorted(by_digest.items())]
        sample = _first(texts, limit := TRAINED_CHARACTERS)
        while len((ngrams := NgramModel.train(sample, order)).keys) > MOST_NGRAMS:
            sample = _first(texts, limit := limit * MOST_NGRAMS // len(ngrams.keys))
        pieces = [(group, piece) for group, text in enumerate(sample) for piece in split_pieces(text)]
        return cls(ngrams, calibrate(pieces, order))

    def score(self, text: str) -> PerplexityScore:
        """Return the score of a text."""
        return self.scores([text])[0]

    def scores(self, texts: Sequence[str]) -> list[PerplexityScore]:
        """Return the scores of several texts, which is faster than one at a time."""
        usual = self.calibration
        result: list[PerplexityScore] = []
        for text, costs in zip(texts, self.ngrams.bits(texts), strict=True):
            mean = float(costs.sum() / len(text)) if text else 0.0
            window = most_surprising_window(text, costs)
            if window is None:
                result.append(PerplexityScore(mean, 0.0, False, 0.0, 0, 0, "too short for a window"))
                continue
            comparable = usual.pieces > 0 and usual.window_deviation > 0
            z = (window.bits - usual.window_mean) / usual.window_deviation if comparable else 0.0
            outlier = window.bits > usual.threshold
            result.append(
                PerplexityScore(
                    mean, window.bits, outlier, z, window.start, window.end, self._reason(window.bits)
                )
            )
        return result

    def save(self, path: Path) -> None:
        """Write model and calibration to one file, atomically.

        Raises:
            StoreError: the file cannot be written.
        """
        header = {"order": self.ngrams.order, "calibration": self.calibration.to_json()}
        write_model(path, header, self.ngrams.keys, self.ngrams.counts)

    @classmethod
    def load(cls, path: Path) -> PerplexityModel:
        """Read a model that `save` wrote.

        Raises:
            StoreError: the file is missing, damaged or of another version.
        """
        header, keys, counts = read_model(path, ["order", "calibration"])
        try:
            return cls(
                NgramModel(int(header["order"]), keys, counts), Calibration.from_json(header["calibration"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"the perplexity model {path} is malformed: {error}", hint="run codeguard index again"
            ) from error

    def _reason(self, bits: float) -> str:
        usual = self.calibration
        if not usual.pieces:
            return "too little trusted text to say what is usual"
        random = f", random digits about {usual.random:.1f}" if usual.random < float("inf") else ""
        return (
            f"its most surprising 64 characters cost {bits:.1f} bits each; "
            f"99 % of held-out trusted code stays under {usual.window_usual:.1f}{random}"
        )


def _first(texts: Sequence[str], limit: int) -> list[str]:
    """Return the first texts with at most `limit` characters in total; the last one is cut."""
    taken: list[str] = []
    for text in texts:
        if limit <= 0:
            break
        taken.append(text[:limit])
        limit -= len(text)
    return taken
