"""The experiment's results on the console, as JSON and as one self-contained page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from codeguard.escaping import escaped
from codeguard.models import Chunk
from codeguard.ranking.evaluation import Proportion
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.reports.html.page import Page, code_block, page_of
from experiments.attacks.registry import all_attacks
from experiments.charts import grouped_bars
from experiments.steps import SCALES, UNDEFENDED, Labels, Outcome

HERE = Path(__file__).resolve().parent
SHOWN_ROWS = 10  # of a table; the others are shown when somebody asks for them


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
    command: str,
    made: str,
) -> None:
    """Write the page, in the frame of codeguard's reports; what is shown is escaped by the template."""
    default = _default(defenses)
    body = rendered(
        HERE,
        {"share": share, "code": lambda text: Markup(code_block(text))},
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
            body=body,
            facts=facts,
            command=command,
            made=made,
        )
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
    known = all_attacks()
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


def _attack_chart(default: Outcome) -> str:
    return grouped_bars(
        labels=list(default.by_attack),
        series={
            "no defense": [before for before, _ in default.by_attack.values()],
            "default": [after for _, after in default.by_attack.values()],
        },
        unit="poisoned results in the top k, all questions",
    )
