"""The table of verdicts as text: the rows behind one rule, and the table of the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.behavior.verdict.observations import meaning
from codeguard.behavior.verdict.table import ALWAYS, NOT, UNSHOWN, Row, rows

ENDED = "as the child ended"


def rows_of_rule(rule: str) -> Iterator[str]:
    """Yield a line for each row that is shown under a rule of the behavior signal."""
    for row in rows():
        if row.rule == rule:
            conditions = ", ".join(row.when) or "nothing more"
            yield f"{row.id} (after {row.after}): {conditions}. {row.why}"


def verdict_table() -> str:
    """Return the rows and what their observations mean, as Markdown."""
    lines = ["| row | after | when | verdict | why | decided, bad and good |", "|---|---|---|---|---|---|"]
    lines += [_line(row) for row in rows()]
    lines += ["", "| observation | |", "|---|---|"]
    named = sorted(
        {name.removeprefix(NOT) for row in rows() for name in (*row.when, row.claims)} - {ALWAYS, UNSHOWN}
    )
    for name in named:
        if text := meaning(name):
            lines.append(f"| `{name}` | {text.removeprefix('Whether ')} |")
    return "\n".join(lines)


def _line(row: Row) -> str:
    conditions = ", ".join(f"`{name}`" for name in row.when)
    verdict = ENDED if row.verdict is None else row.verdict.value
    if row.claims == UNSHOWN:
        verdict += ", claim not shown"
    elif row.claims:
        verdict += ", false claim" + ("" if row.claims == ALWAYS else f" if `{row.claims}`")
    counts = f"{row.decided.get('bad', 0)}, {row.decided.get('good', 0)}" if row.decided else ""
    return f"| `{row.id}` | {row.after} | {conditions} | {verdict} | {row.why} | {counts} |"
