"""All rules as one Markdown page, each under an anchor that is its id, and the table of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from codeguard.audit.rules import NamedRule
from codeguard.behavior.verdict.observations import meaning
from codeguard.behavior.verdict.table import ALWAYS, NOT, Row, rows
from codeguard.escaping import FinishedPage
from codeguard.reports.audit_formats import examples_of

ENDED = "as the child ended"
TITLE = """# Rules

Made by `codeguard rules --format markdown`. A rule's id is stable: baselines, policies, `--select` and SARIF name
it, and each has its anchor here (`rules.md#signal.rule`). `codeguard explain signal.rule` prints the same text.
"""


def rules_page(rules: Sequence[NamedRule]) -> FinishedPage:
    """Return the page: one section per signal, with the text and examples of each rule."""
    parts = [TITLE]
    for signal, group in groupby(rules, key=lambda item: item.signal):
        parts.append(f"\n## {signal}\n")
        parts += [_rule(item) for item in group]
    return FinishedPage("".join(parts).rstrip("\n"))


def _rule(named: NamedRule) -> str:
    rule = named.rule
    grades = f"{rule.severity.name.lower()} severity, {rule.confidence.name.lower()} confidence"
    cwe = "".join(f", [CWE-{n}](https://cwe.mitre.org/data/definitions/{n}.html)" for n in rule.cwe)
    lines = [f'\n<a id="{named.id}"></a>', f"### `{named.id}`", "", f"{rule.summary} ({grades}{cwe})."]
    if rule.explanation:
        lines += ["", rule.explanation.strip()]
    if rule.remediation:
        lines += ["", f"Fix: {rule.remediation}"]
    if rule.special_of:
        lines += ["", f"A special case of {', '.join(f'`{id_}`' for id_ in rule.special_of)}."]
    for title, block in examples_of(rule):
        lines += ["", f"{title}:", "", block]
    return "\n".join(lines) + "\n"


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
    named = {name.removeprefix(NOT) for row in rows() for name in (*row.when, row.claims)} - {ALWAYS}
    for name in sorted(named):
        if text := meaning(name):
            lines.append(f"| `{name}` | {text.removeprefix('Whether ')} |")
    return "\n".join(lines)


def _line(row: Row) -> str:
    conditions = ", ".join(f"`{name}`" for name in row.when)
    verdict = ENDED if row.verdict is None else row.verdict.value
    if row.claims:
        verdict += ", false claim" + ("" if row.claims == ALWAYS else f" if `{row.claims}`")
    counts = f"{row.decided.get('bad', 0)}, {row.decided.get('good', 0)}" if row.decided else ""
    return f"| `{row.id}` | {row.after} | {conditions} | {verdict} | {row.why} | {counts} |"
