"""Bar charts as inline SVG: nothing to load, readable in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log

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


def rank_lines(groups: Mapping[str, Sequence[tuple[str, int, int]]]) -> str:
    """Return a line for each candidate from its rank before to its rank after, on one logarithmic axis, by group.

    Args:
        groups: by name, rows of (label, rank before, rank after); ranks count from 1.
    """
    rows = [row for members in groups.values() for row in members]
    last = max([2, *(rank for _, *ranks in rows for rank in ranks)])
    line, head = 7, 26

    def x(rank: int) -> float:
        return LABELS + (WIDTH - LABELS - 40) * log(rank) / log(last)

    height = head + sum(line * len(members) + GAP for members in groups.values()) + 30
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" font-size="12" fill="currentColor" role="img" '
        'aria-label="rank of each poisoned result before and after the defense" '
        'xmlns="http://www.w3.org/2000/svg">',
        f'<circle cx="{LABELS + 6}" cy="10" r="3" fill="{COLORS[0]}"/><text x="{LABELS + 14}" y="14">before</text>',
        f'<circle cx="{LABELS + 76}" cy="10" r="3" fill="{COLORS[2]}"/><text x="{LABELS + 84}" y="14">after</text>',
    ]
    top = head
    for name, members in groups.items():
        middle = top + line * len(members) / 2 + 4
        parts.append(
            f'<text x="{LABELS - 12}" y="{middle:g}" text-anchor="end">{escape(name)} ({len(members)})</text>'
        )
        for label, before, after in sorted(members, key=lambda row: (row[2], row[1])):
            y = top + line / 2
            parts.append(
                f"<g><title>{escape(label)}: {before} to {after}</title>"
                f'<line x1="{x(before):.1f}" x2="{x(after):.1f}" y1="{y}" y2="{y}" '
                'stroke="currentColor" opacity=".35"/>'
                f'<circle cx="{x(before):.1f}" cy="{y}" r="2.6" fill="{COLORS[0]}"/>'
                f'<circle cx="{x(after):.1f}" cy="{y}" r="2.6" fill="{COLORS[2]}"/></g>'
            )
            top += line
        top += GAP
    ticks = [rank for rank in (1, 2, 5, 10, 20, 50, 100, 200) if rank <= last]
    parts += [f'<text x="{x(rank):.1f}" y="{top + 14}" text-anchor="middle">{rank}</text>' for rank in ticks]
    parts.append(f'<text x="{WIDTH}" y="{top + 14}" text-anchor="end">rank</text></svg>')
    return "".join(parts)
