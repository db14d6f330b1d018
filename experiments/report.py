"""The experiment's results on the console, as JSON and as one self-contained page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from codeguard.escaping import escaped
from codeguard.evaluation import Proportion
from codeguard.rerank import Ranked, Ranking
from experiments.charts import grouped_bars
from experiments.steps import SCALES, Labels, Outcome

HERE = Path(__file__).resolve().parent
WIDTH = 100


def title(text: str) -> str:
    """Return a heading for the console."""
    return f"\n{text}\n{'=' * len(text)}"


def ranking_lines(items: Sequence[Ranked], truth: Labels) -> list[str]:
    """Return one line a candidate, with its label as only the experiment knows it."""
    lines = []
    for item in items:
        label = truth(item.chunk)
        mark = f"POISON {label.attack}" if label.poisoned else item.trust.value
        place = f"{escaped(item.chunk.path)}::{escaped(item.chunk.symbol) or '(module)'}"
        verdict = item.verdict or "-"
        figures = f"{item.rank:>4}  {item.distance:.3f} {item.penalty:+.2f} {item.score:+.2f}"
        lines.append(f"{figures}  {verdict:<9} {mark:<20} {place}")
    return lines


def outcome_table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a table of settings: poison before and after, relevant results kept."""
    lines = [f"{'setting':<34} {'poison before':>13} {'after':>6}  {'gone':<26} {'relevant kept':<24}"]
    for outcome in outcomes:
        lines.append(
            f"{outcome.setting:<34} {outcome.poison_before:>13} {outcome.poison_after:>6}  "
            f"{share(outcome.reduction):<26} {share(outcome.kept):<24}"
        )
    return lines


def attack_table(outcome: Outcome) -> list[str]:
    """Return poison in the top k by attack, before and after."""
    lines = [f"{'attack':<28} {'before':>6} {'after':>6}"]
    lines += [f"{name:<28} {before:>6} {after:>6}" for name, (before, after) in outcome.by_attack.items()]
    return lines


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
) -> None:
    """Write the page: nothing is loaded from elsewhere, everything shown is escaped by the template."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["share"] = share
    environment.filters["visible"] = escaped
    page = environment.get_template("page.html.j2").render(
        facts=facts,
        rankings=rankings,
        truth=truth,
        defenses=defenses,
        sweep_without=sweep[0].poison_before,
        sweep_scales=[f"{scale:g}" for scale in SCALES],
        sweep_rows=sweep_matrix(sweep),
        sections=sections,
        attack_chart=_attack_chart(defenses),
        defense_chart=_defense_chart(defenses),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def _attack_chart(defenses: Sequence[Outcome]) -> str:
    default = next(item for item in defenses if item.setting.startswith("default"))
    return grouped_bars(
        labels=list(default.by_attack),
        series={
            "no defense": [before for before, _ in default.by_attack.values()],
            "default": [after for _, after in default.by_attack.values()],
        },
        unit="poisoned results in the top k, all questions",
    )


def _defense_chart(defenses: Sequence[Outcome]) -> str:
    return grouped_bars(
        labels=[item.setting for item in defenses],
        series={"poisoned results in the top k": [item.poison_after for item in defenses]},
        unit="poisoned results in the top k, all questions",
    )
