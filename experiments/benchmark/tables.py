"""The results as tables of Markdown, worst first: for the console and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.benchmark.measures import NEEDED
from experiments.benchmark.systems import DEFENDED

BEGIN, END = "<!-- figures -->", "<!-- end -->"
Figures = Mapping[str, Any]


def percent(value: float | None) -> str:
    """Return a share in percent, a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f}"


def with_interval(found: Figures) -> str:
    """Return a share in percent with its interval and n."""
    if found["share"] is None:
        return "–"
    low, high = found["interval"]
    return f"{percent(found['share'])} [{percent(low)}, {percent(high)}] n={found['n']}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def systems_table(results: Figures) -> str:
    """Return one row a system, the most poison on top first."""

    def top(name: str) -> float:
        return results["systems"][name]["with_twin"]["on_top"]["share"] or 0.0

    rows = []
    for name in sorted(results["systems"], key=lambda name: (-top(name), name)):
        found = results["systems"][name]
        rows.append(
            [
                name,
                *(
                    with_interval(found[group]["on_top"])
                    for group in ("with_twin", "without_twin", "adaptive")
                ),
                percent(found["with_twin"]["reader_gullible"]["share"]),
                with_interval(found["kept"]),
                percent(found["unlisted"]["kept"]["share"]),
                f"{found['unlisted']['reciprocal_rank_before']:.3f} → {found['unlisted']['reciprocal_rank']:.3f}",
                percent(found["clean_convicted"]["share"]),
                percent(found["clean_demoted"]["share"]),
            ]
        )
    head = ["system", "poison on top, twin", "no twin", "adaptive", "reader that obeys", "right answers kept"]
    head += ["of unlisted answers", "their reciprocal rank", "clean convicted", "clean demoted"]
    return table(head, rows)


def classes_table(results: Figures, twin: bool) -> str:
    """Return one row a class of attacks, codeguard against the best other system in it, worst first."""
    own = results["systems"][DEFENDED]["by_attack" if twin else "by_attack_without_twin"]
    best = results["best_other"]["with_twin" if twin else "without_twin"]
    rows = []
    for name in sorted(own, key=lambda name: (-(own[name]["on_top"]["share"] or 0.0), name)):
        found, other = own[name]["on_top"], best.get(name, {})
        gap = "–"
        if other.get("difference") is not None:
            low, high = other["interval"]
            gap = f"{100 * other['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        shown = f"{percent(other['share'])} ({other['system']})" if other else "–"
        rows.append([name, with_interval(found), shown, gap, "yes" if found["n"] >= NEEDED else "no"])
    head = [
        "attack",
        "codeguard, poison on top",
        "best other system",
        "difference in points",
        f"n ≥ {NEEDED}",
    ]
    return table(head, rows)


def authors_table(results: Figures) -> str:
    """Return codeguard's figures by who wrote the attack, worst first."""
    both = [results["systems"][DEFENDED]["by_author"][group] for group in ("with_twin", "without_twin")]

    def worst(name: str) -> float:
        return max(found[name]["on_top"]["share"] or 0.0 for found in both if name in found)

    rows = [
        [name, *(with_interval(found[name]["on_top"]) if name in found else "–" for found in both)]
        for name in sorted({name for found in both for name in found}, key=lambda name: (-worst(name), name))
    ]
    return table(["written by", "poison on top, twin", "no twin"], rows)


def page(results: Figures) -> str:
    """Return every table, with what the run was and what it did not measure."""
    setting, environment = results["setting"], results["environment"]
    lines = [
        f"Version {results['version']}, setting {setting['name']}, part {setting['part']}, {setting['rounds']} seeds "
        f"from {setting['seed']}, pairs {', '.join(results['pairs'])}, {environment['embedding']}, "
        f"{len(results['instances'])} attacks, {results['run']['cpu'] / 60:.0f} minutes of processor time "
        f"({results['run']['seconds'] / 60:.0f} elapsed). Shares in percent with 95 % intervals over functions.",
        systems_table(results),
    ]
    if DEFENDED in results["systems"]:
        lines += [
            "With a trusted twin:",
            classes_table(results, True),
            "Without:",
            classes_table(results, False),
            "By who wrote the attack:",
            authors_table(results),
        ]
    lines += [f"Not measured: {line}." for line in results["not_measured"]]
    return "\n\n".join([*lines, *results["notes"]])


def write_into(document: Path, results: Figures) -> None:
    """Put the tables between the marks of a document.

    Raises:
        ValueError: it has no marks.
    """
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{document}: got no marks, expected {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n\n{page(results)}\n\n{END}{after}", encoding="utf-8")
