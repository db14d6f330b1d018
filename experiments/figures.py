"""The figures that the documentation quotes, as the runs wrote them, and the page that is made of them.

    python -m experiments.figures

writes `docs/measurements.md` from `docs/measurements.toml` (claims, commands, and sentences with places for figures)
and `docs/figures.json` (what each run wrote with `record`: its figures, the day and the version). A figure is a
number, a text, or a pair [k, n], which is printed as "k of n = p % [low, high]" with Wilson's interval of 95 %;
`{run.name:count}` prints "k of n" alone and `{run.name:share}` "p % [low, high]".
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from codeguard.behavior.version import POLICY_VERSION
from codeguard.ranking.evaluation import wilson

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES, CLAIMS, PAGE = DOCS / "figures.json", DOCS / "measurements.toml", DOCS / "measurements.md"
Figure = float | str | list[int]
_PLACE = re.compile(r"\{(\w+)\.(\w+)(?::(\w+))?\}")


def record(run: str, figures: Mapping[str, Figure], path: Path = FIGURES) -> None:
    """Write the figures of a run, with today's date and the version of the checks, in place of its older ones."""
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    known[run] = {"measured": date.today().isoformat(), "version": POLICY_VERSION, **figures}
    path.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def shown(figure: Figure, form: str = "") -> str:
    """Return a figure as text; see the module for the forms."""
    if not isinstance(figure, list):
        return f"{figure:,}" if isinstance(figure, int) else str(figure)
    count, n = figure
    share = count / n if n else 0.0
    digits = 2 if 0 < share < 0.001 else 1 if share < 0.1 or n > 1000 else 0
    low, high = wilson(share, n)
    parts = {
        "count": f"{count:,} of {n:,}",
        "share": f"{share:.{digits}%} [{low * 100:.{digits}f}, {high * 100:.{digits}f}]".replace("%", " %"),
    }
    return parts[form] if form else f"{parts['count']} = {parts['share']}"


def page(claims: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Return the page; KeyError where a claim names a figure that no run has written."""
    lines = ["# Measurements", "", claims["about"].strip()]
    for section in claims["section"]:
        lines += ["", f"## {section['title']}", ""]
        lines += ["| claim | figure | command | measured |", "|---|---|---|---|"]
        for row in section["row"]:
            runs = [figures[name] for name in sorted({match[1] for match in _PLACE.finditer(row["figure"])})]
            text = _PLACE.sub(lambda match: shown(figures[match[1]][match[2]], match[3] or ""), row["figure"])
            oldest = min(runs, key=lambda run: str(run["measured"]))
            version = f", {oldest['version']}" if oldest.get("version") and row.get("of_behavior") else ""
            lines.append(f"| {row['claim']} | {text} | {row['command']} | {oldest['measured']}{version} |")
        lines += ["", section["note"]] if "note" in section else []
    return "\n".join(lines) + "\n"


def measurements() -> str:
    """Return the page of this checkout."""
    return page(tomllib.loads(CLAIMS.read_text("utf-8")), json.loads(FIGURES.read_text("utf-8")))


if __name__ == "__main__":
    PAGE.write_text(measurements(), "utf-8")
    sys.exit(0)
