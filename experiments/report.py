"""The experiment's results on the console, as JSON and as one self-contained page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from codeguard.escaping import escaped
from codeguard.models import Chunk
from codeguard.ranking.evaluation import Proportion
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.reports.html.page import Page, code_block, page_of
from experiments.attacks import ALL
from experiments.steps import SCALES, UNDEFENDED, Labels, Outcome

HERE = Path(__file__).resolve().parent
ROW, GAP, LABELS, WIDTH = 18, 10, 230, 860  # of charts, in pixels
COLORS = ("var(--bad)", "var(--link)", "var(--good)")  # of the frame that codeguard puts around its reports
SHOWN_ROWS = 10  # of a table; the others are shown when somebody asks for them


def title(text: str) -> str:
    """Return a heading for the console."""
    return f"\n{text}\n{'=' * len(text)}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a table for the console, its first column to the left and the others to the right."""
    cells = [[escaped(str(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def poisoned(items: Sequence[Ranked], truth: Labels) -> int:
    """Return how many candidates are poisoned."""
    return sum(truth(item.chunk).poisoned for item in items)


def moves(
    before: Sequence[Ranked], after: Sequence[Ranked], dropped: Sequence[Ranked], truth: Labels
) -> list[str]:
    """Return a full ranking before the defense and after it, with what moved and why.

    Args:
        before: by similarity alone.
        after, dropped: what the defense made of it; candidates that only the search with words found are marked new.
    """
    was = {item.id: item.rank for item in before}
    now = {item.id: item.rank for item in after}
    lines = [f"  before: {len(before)} candidates by similarity alone"]
    lines += [f"{_row(item, truth)}{_to(now.get(item.id))}" for item in before]
    lines.append(f"  after: {len(after)} candidates with the defense")
    lines += [f"{_row(item, truth)}{_from(item, was.get(item.id))}" for item in after]
    lines += [f"{_row(item, truth)}dropped: {decisive(item)}" for item in dropped]
    return lines


def _row(item: Ranked, truth: Labels) -> str:
    label = truth(item.chunk)
    mark = f"POISON {label.attack}" if label.poisoned else item.trust.value
    place = f"{escaped(item.chunk.path)}::{escaped(item.chunk.symbol) or '(module)'}"
    return f"{item.rank or '-':>6}  {item.distance:.3f}  {mark:<24} {place:<56} "


def _to(rank: int | None) -> str:
    return "→ not retrieved with words" if rank is None else f"→ {rank}"


def _from(item: Ranked, rank: int | None) -> str:
    if rank is None:
        return f"new     {decisive(item)}".rstrip()
    moved = "=" if rank == item.rank else f"{'▲' if item.rank < rank else '▼'} from {rank}"
    return f"{moved:<9} {decisive(item)}".rstrip()


def decisive(item: Ranked) -> str:
    """Return the heaviest reason against a candidate, or for it, as `signal.rule: reason`; "" if there is none."""
    weighed = [part for part in item.evidence if part.penalty or part.convicts or part.demotes]
    if not weighed:
        return ""
    part = max(weighed, key=lambda one: (one.convicts, one.demotes, abs(one.penalty)))
    return f"{part.penalty:+.1f} {part.signal}.{part.id}: {escaped(part.reason)[:70]}"


def outcome_table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a table of settings: poison before and after, relevant results kept."""
    head = ("setting", "by similarity", "with words", "defended", "gone", "right kept")
    return table(
        head,
        [
            (o.setting, o.poison_before, o.poison_fused, o.poison_after, share(o.reduction), share(o.kept))
            for o in outcomes
        ],
    )


def attack_table(outcome: Outcome) -> list[str]:
    """Return poison in the top k by attack, before and after, and of all attacks together."""
    rows = [(name, before, after) for name, (before, after) in outcome.by_attack.items()]
    total = ("all attacks", outcome.poison_before, outcome.poison_after)
    return table(("attack", "by similarity", "defended"), [*rows, total])


def share(proportion: Proportion) -> str:
    """Return a share with its interval, a dash where there is nothing to share."""
    if not proportion.n:
        return "-"
    low, high = proportion.interval
    return f"{proportion.share:.1%} [{low:.1%}, {high:.1%}]"


def sweep_matrix(sweep: Sequence[Outcome]) -> dict[str, list[int]]:
    """Return the poison that is left by weight, one column a scale."""
    rows: dict[str, list[int]] = {}
    for outcome in sweep:
        rows.setdefault(outcome.setting.partition(" × ")[0], []).append(outcome.poison_after)
    return rows


def write_json(results: dict[str, Any], path: Path) -> None:
    """Write the figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_finite(results), indent=1, ensure_ascii=True, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """Return the value with what JSON cannot say, a share of nothing, as null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_page(
    path: Path,
    *,
    facts: dict[str, str],
    rankings: Sequence[Ranking],
    truth: Labels,
    defenses: Sequence[Outcome],
    sweep: Sequence[Outcome],
    sections: Sequence[dict[str, Any]] = (),
    command: str,
    made: str,
) -> None:
    """Write the page, in the frame of codeguard's reports; what is shown is escaped by the template."""
    default = _default(defenses)
    body = rendered(
        HERE,
        {"share": share, "code": code_block},
        rankings=rankings,
        truth=truth,
        defenses=[item for item in defenses if item.setting != UNDEFENDED],
        fused=default.poison_fused,
        shown=SHOWN_ROWS,
        sweep_scales=[f"{scale:g}" for scale in SCALES],
        sweep_rows=sweep_matrix(sweep),
        sections=sections,
        attack_chart=_attack_chart(default),
        attacks=_attacks(default, rankings, truth),
    )
    page = page_of(
        Page(
            title="Poisoned code retrieval, before and after the defense",
            story=f"{default.poison_before} poisoned results in the top {rankings[0].k} of all questions without"
            f" the defense, {default.poison_after} with it.",
            facts=facts,
            command=command,
            made=made,
        ),
        body=Markup(body),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def rendered(folder: Path, filters: Mapping[str, Callable[..., str]], **values: Any) -> str:
    """Return the body of a page from the template in a folder, which escapes what it shows."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({"visible": escaped, **filters})
    return environment.get_template("page.html.j2").render(values)


def _default(defenses: Sequence[Outcome]) -> Outcome:
    return next(item for item in defenses if item.setting.startswith("default"))


def _attacks(default: Outcome, rankings: Sequence[Ranking], truth: Labels) -> dict[str, dict[str, Any]]:
    """Return what each attack does, with the first piece of it that a question met."""
    known = ALL
    examples: dict[str, Chunk] = {}
    for item in (item for ranking in rankings for item in ranking.baseline):
        examples.setdefault(truth(item.chunk).attack, item.chunk)
    return {
        name: {
            "summary": known[name].summary if name in known else "",
            "example": examples.get(name),
        }
        for name in default.by_attack
    }


def benchmark_section(path: Path) -> list[dict[str, Any]]:
    """Return the classes of the last run of the benchmark, worst first, as a section of the page; none without one."""
    if not path.is_file():
        return []
    results = json.loads(path.read_text("utf-8"))
    own = results["systems"].get("codeguard")
    if own is None:
        return []
    rows = [
        (name, side, found["on_top"])
        for side, group in (("with a twin", "by_attack"), ("without", "by_attack_without_twin"))
        for name, found in own[group].items()
    ]
    rows.sort(key=lambda row: (-(row[2]["share"] or 0.0), row[0]))
    table = [
        [
            name,
            side,
            f"{100 * (found['share'] or 0):.1f} %",
            "{:.0%} to {:.0%}".format(*found["interval"]),
            found["n"],
        ]
        for name, side, found in rows
    ]
    return [
        {
            "title": "The benchmark, worst class first",
            "paragraphs": [
                f"Version {results['version']}, setting {results['setting']['name']}, part "
                f"{results['setting']['part']}: questions with poison on top under the default defense, "
                "and the 95 % interval."
            ],
            "tables": [
                {"head": ["attack", "trusted function", "poison on top", "interval", "n"], "rows": table}
            ],
            "charts": [],
        }
    ]


def _attack_chart(default: Outcome) -> str:
    return grouped_bars(
        labels=list(default.by_attack),
        series={
            "no defense": [before for before, _ in default.by_attack.values()],
            "default": [after for _, after in default.by_attack.values()],
        },
        unit="poisoned results in the top k, all questions",
    )


def grouped_bars(labels: Sequence[str], series: Mapping[str, Sequence[float]], unit: str) -> str:
    """Return horizontal bars as inline SVG, one group a label and one bar a series, with the value at its end."""
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
