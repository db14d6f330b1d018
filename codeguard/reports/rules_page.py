"""All rules as one Markdown page, each under an anchor that is its id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from codeguard.audit.rules import NamedRule
from codeguard.escaping import FinishedPage

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
    for title, example in (("Bad", rule.bad), ("Good", rule.good)):
        if example:
            lines += ["", f"{title}:", "", *_fenced(example.strip("\n"), rule.language)]
    return "\n".join(lines) + "\n"


def _fenced(example: str, language: str) -> Iterable[str]:
    fence = "```" if "```" not in example else "````"
    return (f"{fence}{language}", example, fence)
