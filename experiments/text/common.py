"""What the three text experiments share: intervals, tables, cached vectors, the data folder."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import CorpusError
from codeguard.index.embedding import Embedding, Vectors
from codeguard.ranking.evaluation import Proportion
from experiments import report

Rows = list[dict[str, Any]]


def data_folder(given: Path | None, name: str) -> Path:
    """Return the folder `name` of the evaluation data: under `given`, or under CODEGUARD_DATA.

    Raises:
        CorpusError: neither is given, or the folder is not there.
    """
    root = given or (Path(os.environ["CODEGUARD_DATA"]) if os.environ.get("CODEGUARD_DATA") else None)
    if root is None or not (root / name).is_dir():
        raise CorpusError(
            f"evaluation data {name} not found",
            got=str(root) if root else "no folder",
            hint="give --data FOLDER or set CODEGUARD_DATA",
        )
    return root / name


class CachedEmbedding:
    """Embeds each text once in a run."""

    def __init__(self, inner: Embedding) -> None:
        self._inner = inner
        self._rows: dict[str, NDArray[np.float32]] = {}
        self.identity, self.dimension, self.note = inner.identity, inner.dimension, inner.note

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the rows, from memory where the text was seen before."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows.update(zip(new, self._inner.embed(new), strict=True))
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([self._rows[text] for text in texts])


def bootstrap(values: Sequence[float], draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over groups (seeds, questions, rounds)."""
    finite = np.array([value for value in values if not math.isnan(value)])
    if len(finite) == 0:
        return math.nan, math.nan
    chosen = np.random.default_rng(seed).integers(0, len(finite), (draws, len(finite)))
    low, high = np.percentile(finite[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def share(hits: int, count: int) -> dict[str, Any]:
    """Return a proportion with its count and Wilson interval, as plain values."""
    low, high = Proportion(hits, count).interval
    return {"value": hits / count if count else math.nan, "n": count, "low": low, "high": high}


def show(cell: Any) -> str:
    """Return a table cell as text: a proportion with its interval, a number, or the value itself."""
    if isinstance(cell, Mapping) and "value" in cell:
        if math.isnan(cell["value"]):
            return "–"
        return f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"
    if isinstance(cell, float):
        return "–" if math.isnan(cell) else f"{cell:.3f}"
    return str(cell)


def text_table(rows: Rows) -> str:
    """Return rows as a table for the console."""
    return "\n".join(report.table(list(rows[0]), [list(map(show, row.values())) for row in rows]))
