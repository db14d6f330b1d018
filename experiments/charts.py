"""Bar charts as inline SVG: nothing to load, readable in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

ROW = 18
GAP = 10
LABELS = 230
WIDTH = 860
COLORS = ("var(--bad)", "var(--link)", "var(--good)")  # of the frame that codeguard puts around its reports


def grouped_bars(labels: Sequence[str], series: Mapping[str, Sequence[float]], unit: str) -> str:
    """Return horizontal bars, one group a label and one bar a series, with the value at its end."""
    largest = max((value for values in series.values() for value in values), default=0) or 1
    scale = (WIDTH - LABELS - 60) / largest
    group = ROW * len(series) + GAP
    height = group * len(labels) + 40
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" font-size="12" fill="currentColor" '
        f'role="img" aria-label="{escape(unit, quote=True)}" '
        'xmlns="http://www.w3.org/2000/svg">'
    ]
    for position, name in enumerate(series):
        x = LABELS + position * 190
        parts.append(f'<rect x="{x}" y="4" width="12" height="12" fill="{COLORS[position % len(COLORS)]}"/>')
        parts.append(f'<text x="{x + 18}" y="14">{escape(name)}</text>')
    for row, label in enumerate(labels):
        top = 30 + row * group
        middle = top + ROW * len(series) / 2 + 4
        parts.append(f'<text x="{LABELS - 8}" y="{middle:g}" text-anchor="end">{escape(label)}</text>')
        for position, values in enumerate(series.values()):
            y = top + position * ROW
            width = values[row] * scale
            color = COLORS[position % len(COLORS)]
            parts.append(
                f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{ROW - 4}" fill="{color}"/>'
            )
            parts.append(f'<text x="{LABELS + width + 6:.1f}" y="{y + 12}">{values[row]:g}</text>')
    parts.append("</svg>")
    return "".join(parts)
