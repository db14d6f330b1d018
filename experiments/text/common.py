"""What the three text experiments share: intervals, tables, plots as SVG, cached vectors, the data folder."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import CorpusError
from codeguard.index.embedding import Embedding
from codeguard.index.embedding.base import Vectors

Rows = list[dict[str, Any]]
COLOURS = ("#1f6fb4", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#444444")


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


def wilson(hits: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a proportion (Wilson, JASA 1927); (0, 1) for no trials."""
    if count == 0:
        return 0.0, 1.0
    share = hits / count
    centre = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


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
    low, high = wilson(hits, count)
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


def text_table(rows: Rows, columns: Sequence[str] | None = None) -> str:
    """Return rows as an aligned Markdown table; the columns of the first row unless given."""
    if not rows:
        return "(no rows)"
    names = list(columns or rows[0])
    cells = [names, *[[show(row.get(name, "")) for name in names] for row in rows]]
    widths = [max(len(line[index]) for line in cells) for index in range(len(names))]
    lines = [
        "| " + " | ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)) + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def line_plot(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] = (0.0, 1.0),
) -> str:
    """Return a self-contained SVG of lines with dots, one colour a series, with a legend."""
    width, height, left, bottom, top, right = 640, 320, 56, 44, 30, 190
    points = [point for line in series.values() for point in line]
    if not points:
        return ""
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    x_span, (y_low, y_high) = (x_high - x_low) or 1.0, y_range

    def place(x: float, y: float) -> tuple[float, float]:
        inner = min(max(y, y_low), y_high)
        return (
            left + (x - x_low) / x_span * (width - left - right),
            height - bottom - (inner - y_low) / (y_high - y_low) * (height - bottom - top),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="sans-serif" font-size="11"><title>{html.escape(title)}</title>',
        f'<text x="{left}" y="16" font-size="13" font-weight="bold">{html.escape(title)}</text>',
    ]
    for step in range(5):
        value = y_low + (y_high - y_low) * step / 4
        _, y = place(x_low, value)
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for value in sorted({x for x, _ in points}):
        x, _ = place(value, y_low)
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(
        f'<text x="{(left + width - right) / 2:.0f}" y="{height - 8}" text-anchor="middle">'
        f"{html.escape(x_label)}</text>"
    )
    parts.append(
        f'<text transform="translate(14 {(height - bottom + top) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{html.escape(y_label)}</text>'
    )
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = "" if number < len(COLOURS) else ' stroke-dasharray="4 3"'
        placed = [place(x, y) for x, y in line if not math.isnan(y)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in placed]
        row = top + 14 * number + 8
        parts.append(f'<rect x="{width - right + 12}" y="{row - 8}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{width - right + 27}" y="{row + 1}">{html.escape(name)}</text>')
    return "".join(parts) + "</svg>"
