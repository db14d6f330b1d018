"""A plot of growth: figures over the number of chunks, both axes logarithmic, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, MARGIN, LEGEND = 640, 420, 60, 190
LINES = (
    ("near_p50_ms", "nearest 30, p50, ms", "#1f77b4"),
    ("near_p95_ms", "nearest 30, p95, ms", "#17becf"),
    ("query_p50_ms", "defended query, p50, ms", "#d62728"),
    ("query_p95_ms", "defended query, p95, ms", "#ff7f0e"),
    ("update_s", "1 % update, s", "#2ca02c"),
    ("disk_bytes", "disk, MB", "#7f7f7f"),
    ("peak_bytes", "peak memory of the store, MB", "#9467bd"),
)


def draw(figures: Sequence[Mapping[str, float | int | str]]) -> str:
    """Return the SVG of one line for each kind of figure; 0 is left out."""
    points = {
        key: [
            (float(row["chunks"]), float(row[key]) / (1e6 if key.endswith("bytes") else 1.0))
            for row in figures
            if float(row.get(key, 0)) > 0
        ]
        for key, _, _ in LINES
    }
    every = [point for line in points.values() for point in line]
    low_x, high_x = _decades([x for x, _ in every])
    low_y, high_y = _decades([y for _, y in every])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low_x) / (high_x - low_x)
        up = (math.log10(y) - low_y) / (high_y - low_y)
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEGEND}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for power in range(low_x, high_x + 1):
        x, _ = place(10.0**power, 10.0**low_y)
        parts.append(f'<path d="M{x:.1f} {MARGIN}V{HEIGHT - MARGIN}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">10^{power}</text>')
    for power in range(low_y, high_y + 1):
        _, y = place(10.0**low_x, 10.0**power)
        parts.append(f'<path d="M{MARGIN} {y:.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">10^{power}</text>')
    for number, (key, label, colour) in enumerate(LINES):
        line = [place(x, y) for x, y in sorted(points[key])]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in line)
        if line:
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
        parts.append(f'<text x="{WIDTH - 40}" y="{MARGIN + 18 * number}" fill="{colour}">{label}</text>')
    parts.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">chunks in the store</text></svg>'
    )
    return "\n".join(parts) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
