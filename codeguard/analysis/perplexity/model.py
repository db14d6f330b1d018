"""The perplexity model: the n-gram model of the trusted code with what is usual for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis.perplexity.calibration import Calibration, calibrate, dearest_window, split_pieces
from codeguard.analysis.perplexity.ngram import NgramModel
from codeguard.analysis.perplexity.storage import read_model, write_model
from codeguard.errors import StoreError

ORDER = 6
TRAINED_CHARACTERS = 4 << 20  # of trusted text, a sample of files where there is more: the rest adds little
# Code has 600,000 in as much; data in code, such as base64, has as many as characters, and each takes 400 bytes.
MOST_NGRAMS = 1_000_000


@dataclass(frozen=True, slots=True)
class PerplexityScore:
    """How unlike the trusted code a text is.

    `bits_per_character` is the mean over the whole text. `worst_window_bits`
    is the mean over the dearest 64 ASCII characters, each counted with 8 bits
    at most, at `start` to `end` (characters of the text, half-open); 0.0 and
    an empty span where the text is shorter. `z` says how many standard
    deviations that window lies above held-out trusted code, 0.0 where it
    cannot be said. `outlier` is decided by the window alone.
    """

    bits_per_character: float
    worst_window_bits: float
    outlier: bool
    z: float
    start: int
    end: int
    reason: str


class PerplexityModel:
    """Scores texts by how unlike the trusted code their characters are."""

    def __init__(self, ngrams: NgramModel, calibration: Calibration) -> None:
        """Join a trained model and its calibration; `train` makes both."""
        self.ngrams = ngrams
        self.calibration = calibration

    @classmethod
    def train(cls, files: Sequence[tuple[str, str]], order: int = ORDER) -> PerplexityModel:
        """Learn from trusted files, (name, text) each, and set the threshold on files held out.

        Names play no part, nor does the order of the files: they are taken by
        the digest of their text, a text that occurs twice once, until 4 Mi
        characters or about a million different n-grams are reached; the last
        one is cut there.
        """
        by_digest = {
            hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(): text for _, text in files
        }
        texts = [text for _, text in sorted(by_digest.items())]
        sample = _first(texts, room := TRAINED_CHARACTERS)
        while len((ngrams := NgramModel.train(sample, order)).keys) > MOST_NGRAMS:
            sample = _first(texts, room := room * MOST_NGRAMS // len(ngrams.keys))
        pieces = [(group, piece) for group, text in enumerate(sample) for piece in split_pieces(text)]
        return cls(ngrams, calibrate(pieces, order))

    def score(self, text: str) -> PerplexityScore:
        """Return how unlike the trusted code the text is."""
        return self.scores([text])[0]

    def scores(self, texts: Sequence[str]) -> list[PerplexityScore]:
        """Score several texts at once, which is faster than one by one."""
        usual = self.calibration
        result: list[PerplexityScore] = []
        for text, costs in zip(texts, self.ngrams.bits(texts), strict=True):
            mean = float(costs.sum() / len(text)) if text else 0.0
            window = dearest_window(text, costs)
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
        """Write model and calibration to one file, atomically; StoreError where that fails."""
        header = {"order": self.ngrams.order, "calibration": self.calibration.to_json()}
        write_model(path, header, self.ngrams.keys, self.ngrams.counts)

    @classmethod
    def load(cls, path: Path) -> PerplexityModel:
        """Read what `save` wrote; StoreError where the file is missing, damaged or of another make."""
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
            f"its dearest 64 characters cost {bits:.1f} bits each; "
            f"99 % of held-out trusted code stays under {usual.window_usual:.1f}{random}"
        )


def _first(texts: Sequence[str], room: int) -> list[str]:
    """Return texts from the first one on, `room` characters of them together."""
    taken: list[str] = []
    for text in texts:
        if room <= 0:
            break
        taken.append(text[:room])
        room -= len(text)
    return taken
