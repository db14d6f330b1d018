"""Calibration: the perplexity of held-out trusted code, and the threshold for outliers.

The bits per character depend on how much code a model was trained on, so no constant works as a
threshold. It is placed between two measured values: the most surprising window of trusted code that
the model was not trained on, and random digits, which resemble encoded or encrypted payloads.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from codeguard.analysis.perplexity.ngram import Bits, NgramModel, character_bits, worst_window

WIDTH = 64  # characters of a window
CAP = 8.0  # bits per byte without any knowledge
QUANTILE = 0.99  # quantile of held-out pieces that counts as usual
FOLDS = 5
HELD_OUT = 4_000  # pieces scored at most
PIECE = 400  # minimum characters of a piece; the next blank line ends it


@dataclass(frozen=True, slots=True)
class Window:
    """The most surprising window of a text: mean bits per character, and its half-open range in characters."""

    bits: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bits per character of held-out trusted code.

    `mean` and `deviation` are of whole pieces; `window_mean`, `window_deviation` and `window_usual`
    (the 0.99 quantile) are of their most surprising windows. `random` is the cost of random digits,
    in the cheaper encoding (hexadecimal, base64) that costs more than `window_usual`, or infinite
    if neither does. A window above `threshold` is an outlier. If `pieces` is 0, the threshold is
    infinite.
    """

    pieces: int
    groups: int
    mean: float
    deviation: float
    window_mean: float
    window_deviation: float
    window_usual: float
    random: float
    threshold: float

    def to_json(self) -> dict[str, float | int | None]:
        """Return the figures as plain values, None for infinite."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Calibration:
        """Rebuild a calibration from the result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: the value is not a calibration.
        """
        figures = {
            name: math.inf if value[name] is None else float(value[name])
            for name in cls.__slots__
            if name not in {"pieces", "groups"}
        }
        return cls(pieces=int(value["pieces"]), groups=int(value["groups"]), **figures)


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


def most_surprising_window(text: str, costs: Bits) -> Window | None:
    """Return the most surprising window of the significant characters; `costs` are bits per byte.

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
    bits, start, end = worst_window(np.minimum(character_bits(text, costs)[places], CAP), WIDTH)
    return Window(bits, int(places[start]), int(places[end - 1]) + 1)


def calibrate(pieces: Sequence[tuple[int, str]], order: int) -> Calibration:
    """Score pieces of trusted code with models not trained on their group, and set the threshold.

    `pieces` are pairs of group and text; the group is the file. There are five folds of groups, or
    as many as there are groups. With a single group, its pieces are divided among the folds, which
    is too optimistic. With fewer than two pieces nothing can be held out, and nothing will be
    flagged.
    """
    groups = sorted({group for group, _ in pieces})
    keys = [group for group, _ in pieces] if len(groups) > 1 else list(range(len(pieces)))
    rank = {key: place for place, key in enumerate(sorted(set(keys)))}
    folds = min(FOLDS, len(rank))
    model = NgramModel.train((text for _, text in pieces), order)
    if folds < 2:
        return _summarise([], [], len(groups), model)
    assigned = [rank[key] % folds for key in keys]
    parts = [
        [text for fold, (_, text) in zip(assigned, pieces, strict=True) if fold == which]
        for which in range(folds)
    ]
    means: list[float] = []
    windows: list[float] = []
    for part in parts:
        held_out = _spread(part, HELD_OUT // folds)
        costs_of = model.without(NgramModel.train(part, order)).bits(held_out)
        for text, costs in zip(held_out, costs_of, strict=True):
            if text:
                means.append(float(costs.sum() / len(text)))
            window = most_surprising_window(text, costs)
            if window is not None:
                windows.append(window.bits)
    return _summarise(means, windows, len(groups), model)


def _summarise(means: list[float], windows: list[float], groups: int, model: NgramModel) -> Calibration:
    if not windows:
        return Calibration(0, groups, 0.0, 0.0, 0.0, 0.0, math.inf, math.inf, math.inf)
    usual = float(np.quantile(windows, QUANTILE, method="higher"))
    costlier = [cost for cost in _random_costs(model) if cost > usual]
    random = min(costlier, default=math.inf)
    return Calibration(
        pieces=len(windows),
        groups=groups,
        mean=float(np.mean(means)),
        deviation=float(np.std(means)),
        window_mean=float(np.mean(windows)),
        window_deviation=float(np.std(windows)),
        window_usual=usual,
        random=random,
        threshold=(usual + random) / 2 if costlier else usual,
    )


def _random_costs(model: NgramModel) -> Iterable[float]:
    """Yield the bits per character of a typical window of random hexadecimal and of base64 digits."""
    noise = b"".join(hashlib.sha256(block.to_bytes(2, "big")).digest() for block in range(64))
    for text in (noise.hex(), base64.b64encode(noise).decode()):
        costs = np.minimum(model.bits([text])[0], CAP)
        sums = np.cumsum(np.concatenate([[0.0], costs]))
        yield float(np.median(sums[WIDTH:] - sums[:-WIDTH]) / WIDTH)


def _spread(items: Sequence[str], most: int) -> list[str]:
    """Return at most `most` items, evenly spaced."""
    if len(items) <= most:
        return list(items)
    return [items[index * len(items) // most] for index in range(most)]
