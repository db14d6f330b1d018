"""A plot of growth: figures over the number of chunks, a panel for each unit, all axes logarithmic, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, MARGIN, LEGEND = 320, 300, 52, 18
OVER = 0.01  # of a decade, about 2 %: so far beyond it a value does not open the next one
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#7f7f7f")

Rows = Sequence[Mapping[str, float | int | str]]
Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One unit: its title, what a figure is divided by, and each line's key and label."""

    title: str
    divisor: float
    lines: tuple[tuple[str, str], ...]


PANELS = (
    Panel(
        "milliseconds by the clock",
        1.0,
        (
            ("near_p50_ms", "vectors alone, p50"),
            ("words_p50_ms", "words alone, p50"),
            ("plain_p50_ms", "undefended query, p50"),
            ("query_p50_ms", "defended query, p50"),
            ("query_p95_ms", "defended query, p95"),
            ("query_cpu_ms", "defended query, processor"),
        ),
    ),
    Panel(
        "megabytes",
        1e6,
        (
            ("disk_bytes", "disk, all"),
            ("vectors_bytes", "disk, Chroma"),
            ("corpus_bytes", "source files"),
            ("peak_bytes", "memory of the store's process"),
            ("own_peak_bytes", "memory of the indexing process"),
        ),
    ),
    Panel(
        "seconds",
        1.0,
        (
            ("update_s", "1 % of the files changed"),
            ("update_cpu_s", "the same, processor"),
            ("unchanged_s", "nothing changed"),
        ),
    ),
)


def draw(figures: Rows) -> str:
    """Return the SVG; a figure that is missing or 0 is left out, `through` a server as well."""
    rows = [row for row in figures if row.get("through") != "server"]
    low_x, high_x = _decades([float(row["chunks"]) for row in rows])
    height = HEIGHT + LEGEND * max(len(panel.lines) for panel in PANELS) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(PANELS)} {height}" '
        f'width="{WIDTH * len(PANELS)}" height="{height}" font-family="sans-serif" font-size="12">'
        '<rect width="100%" height="100%" fill="white"/>'
    ]
    for number, panel in enumerate(PANELS):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">')
        parts += _panel(panel, rows, (low_x, high_x))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, rows: Rows, across: tuple[int, int]) -> list[str]:
    lines = [(label, _points(rows, key, panel.divisor)) for key, label in panel.lines]
    up = _decades([y for _, points in lines for _, y in points] or [1.0])
    left, right, top, bottom = MARGIN, WIDTH - 30, MARGIN, HEIGHT

    def place(x: float, y: float) -> str:
        at_x = left + (math.log10(x) - across[0]) / (across[1] - across[0]) * (right - left)
        at_y = bottom - (math.log10(y) - up[0]) / (up[1] - up[0]) * (bottom - top)
        return f"{at_x:.1f} {at_y:.1f}"

    parts = [f'<text x="{(left + right) / 2}" y="{top - 14}" text-anchor="middle">{panel.title}</text>']
    for power in range(across[0], across[1] + 1):
        x = place(10.0**power, 10.0 ** up[0]).split()[0]
        parts.append(f'<path d="M{x} {top}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{_power(power)}</text>')
    for power in range(up[0], up[1] + 1):
        y = float(place(10.0 ** across[0], 10.0**power).split()[1])
        parts.append(f'<path d="M{left} {y}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{_power(power)}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 34}" text-anchor="middle">chunks</text>')
    for number, (label, points) in enumerate(lines):
        colour = COLOURS[number]
        if points:
            path = "L".join(place(x, y) for x, y in points)
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for at in (place(x, y).split() for x, y in points):
            parts.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{colour}"/>')
        y = bottom + MARGIN + LEGEND * number
        parts.append(f'<path d="M{left} {y}h16" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{left + 22}" y="{y + 4}">{label}</text>')
    return parts


def _points(rows: Rows, key: str, divisor: float) -> Points:
    return sorted(
        (float(row["chunks"]), float(row[key]) / divisor) for row in rows if float(row.get(key, 0)) > 0
    )


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) - OVER)
    return low, max(high, low + 1)
