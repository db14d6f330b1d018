"""The results as a table on the console and as one self-contained page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from codeguard.reports.html.page import Page, page_of
from experiments.benchmark.systems import BASELINE, DEFENDED
from experiments.charts import grouped_bars
from experiments.report import rendered

HERE = Path(__file__).resolve().parent
WANTED = {
    "on_top": 0.02,
    "worst class": 0.10,
    "kept": 0.98,
    "clean_convicted": 0.005,
    "clean_demoted": 0.03,
}
USEFUL = 0.9  # right answers that a system has to keep to be held against another
Figures = Mapping[str, Any]


def percent(value: float | None) -> str:
    """Return a share in percent, a dash where there is none."""
    return "-" if value is None else f"{100 * value:.1f}"


def with_interval(found: Figures) -> str:
    """Return a share in percent with its interval and n."""
    if found["share"] is None:
        return "-"
    low, high = found["interval"]
    return f"{percent(found['share'])} [{percent(low)}, {percent(high)}] n={found['n']}"


def ordered(results: Figures) -> list[str]:
    """Return the systems, the least poison on top first; those that lose too many right answers last."""
    systems = results["systems"]

    def key(name: str) -> tuple[bool, float, str]:
        kept = systems[name]["kept"]["share"]
        top = systems[name]["with_twin"]["on_top"]["share"]
        return kept is None or kept < USEFUL, 1.0 if top is None else top, name

    return sorted(systems, key=key)


def worst_class(figures: Figures) -> tuple[str, float | None]:
    """Return the attack with the largest share of poison on top, with that share."""
    shares = {
        name: found["on_top"]["share"]
        for name, found in figures["by_attack"].items()
        if found["on_top"]["share"] is not None
    }
    worst = max(shares, key=lambda name: (shares[name], name), default="")
    return worst, shares.get(worst)


def leaderboard(results: Figures) -> str:
    """Return the table of all systems for the console."""
    head = (
        "system",
        "on top",
        "worst",
        "no twin",
        "adaptive",
        "kept",
        "convicted",
        "demoted",
        "gullible",
        "ms",
    )
    lines = [f"{head[0]:<30}" + "".join(f"{name:>10}" for name in head[1:])]
    for name in ordered(results):
        found = results["systems"][name]
        cells = [
            percent(found["with_twin"]["on_top"]["share"]),
            percent(worst_class(found)[1]),
            percent(found["without_twin"]["on_top"]["share"]),
            percent(found["adaptive"]["on_top"]["share"]),
            percent(found["kept"]["share"]),
            percent(found["clean_convicted"]["share"]),
            percent(found["clean_demoted"]["share"]),
            percent(found["with_twin"]["reader_gullible"]["share"]),
            f"{1000 * found['cost']['query_seconds']:.0f}",
        ]
        lines.append(f"{name:<30}" + "".join(f"{cell:>10}" for cell in cells))
    own = results["systems"].get(DEFENDED)
    if own is not None:
        lines.append(
            f"\n{DEFENDED}, poison on top by attack, with a trusted twin (percent, questions in reach):"
        )
        lines += [
            f"  {name:<28} {with_interval(group['on_top'])}" for name, group in own["by_attack"].items()
        ]
        lines.append("without a twin:")
        lines += [
            f"  {name:<28} {with_interval(group['on_top'])}"
            for name, group in own["by_attack_without_twin"].items()
        ]
    return "\n".join(lines)


def losses(results: Figures) -> list[dict[str, str]]:
    """Return where another system that keeps enough right answers has less poison on top than codeguard, by attack."""
    systems = results["systems"]
    if DEFENDED not in systems:
        return []
    rows = []
    for attack, own in systems[DEFENDED]["by_attack"].items():
        mine = own["on_top"]["share"]
        for name, found in systems.items():
            kept = found["kept"]["share"]
            other = found["by_attack"].get(attack)
            theirs = other["on_top"]["share"] if other else None
            same = name.startswith((DEFENDED, "only ", "without "))
            if same or mine is None or theirs is None or kept is None or kept < USEFUL or theirs >= mine:
                continue
            rows.append(
                {
                    "attack": attack,
                    "system": name,
                    "theirs": percent(theirs),
                    "ours": percent(mine),
                    "kept": percent(kept),
                    "n": str(own["on_top"]["n"]),
                    "gap": f"{mine - theirs:.6f}",
                }
            )
    return sorted(rows, key=lambda row: row["gap"], reverse=True)


def goals(results: Figures) -> list[dict[str, str]]:
    """Return what is wanted of codeguard with a trusted twin, and what was reached."""
    own = results["systems"].get(DEFENDED)
    if own is None:
        return []
    worst, share = worst_class(own)
    top, kept = own["with_twin"]["on_top"], own["kept"]
    rows = [
        ("poison on top, all classes", top["share"], WANTED["on_top"], with_interval(top), False),
        (f"worst class: {worst}", share, WANTED["worst class"], percent(share), False),
        ("right answers kept", kept["share"], WANTED["kept"], with_interval(kept), True),
        ("clean candidates convicted", own["clean_convicted"]["share"], WANTED["clean_convicted"],
         with_interval(own["clean_convicted"]), False),
        ("clean candidates demoted", own["clean_demoted"]["share"], WANTED["clean_demoted"],
         with_interval(own["clean_demoted"]), False),
    ]  # fmt: skip
    return [
        {
            "figure": name,
            "wanted": f"{'at least' if more else 'at most'} {percent(limit)} %",
            "measured": shown,
            "met": "-" if value is None else "yes" if (value >= limit if more else value <= limit) else "no",
        }
        for name, value, limit, shown, more in rows
    ]


def write_page(results: Figures, path: Path) -> None:
    """Write the page, in the frame of codeguard's reports; what is shown is escaped by the template."""
    systems, setting = results["systems"], results["setting"]
    body = rendered(
        HERE,
        {"percent": percent, "interval": with_interval},
        results=results,
        order=ordered(results),
        worst={name: worst_class(found) for name, found in systems.items()},
        losses=losses(results),
        goals=goals(results),
        own=systems.get(DEFENDED),
        baseline=systems.get(BASELINE),
        charts=[
            (title, _chart(systems, key))
            for title, key in (
                ("Poison on top by attack, trusted twin in reach", "by_attack"),
                ("by number of files", "by_budget"),
                ("by what the attacker knows", "by_knowledge"),
                ("by where the poison stands", "by_position"),
                ("by kind of question", "by_question"),
                ("by corpus pair", "by_pair"),
            )
        ],
        failures=[item for item in results["failures"] if item["system"] == DEFENDED],
    )
    page = page_of(
        Page(
            title=f"Poisoned code retrieval: benchmark {results['version']}, setting {setting['name']}, "
            f"part {setting['part']}",
            story="A figure is a share of the attacked questions for which the undefended retrieval (hybrid) shows "
            "poison among its first ten results, in percent with a 95 % interval over functions. Cite it with "
            "version, setting and part.",
            body=body,
            facts=results["environment"],
            command=shlex.join(["python", *sys.argv]),
            made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
            warnings=results["notes"],
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def _chart(systems: Figures, key: str) -> str:
    """Return bars of poison on top, in percent, for the baseline, the best filter and codeguard."""
    shown = [name for name in (BASELINE, "bandit, chunks", DEFENDED) if name in systems]
    groups = list(dict.fromkeys(group for name in shown for group in systems[name][key]))
    series = {
        name: [
            round(100 * (systems[name][key].get(group, {}).get("on_top", {}).get("share") or 0.0), 1)
            for group in groups
        ]
        for name in shown
    }
    return grouped_bars(groups, series, "questions with poison on top, percent")
