"""The behavior checker's results for a file's functions, as text and JSON."""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from codeguard.audit.check import CheckedFunction
from codeguard.behavior.source.definitions import Function, parse_or_none
from codeguard.config import below_level
from codeguard.escaping import escaped
from codeguard.index.report import BudgetReport
from codeguard.models import CONVICTING, CheckReport, Verdict, named
from codeguard.ranking.signals.behavior import describe

NOT_REACHED = "not reached: "
PYTHONS = {  # by tier
    "restricted": "restricted Python",
    "native": "full Python, confined by the system",
    "imported": "full Python with its real modules, confined by the system",
}
MOST_LINES = 15  # of a difference
MOST_BRANCHES = 2  # unreached branches shown per function
_UNTESTED = frozenset({Verdict.UNSUPPORTED, Verdict.NO_SIGNAL, Verdict.ERROR})


def checked_below(checked: Sequence[CheckedFunction], required_level: str) -> str:
    """Return the line that says that the sandbox was too weak for a check, or ""."""
    lines = (below_level(item.report.level, required_level) for item in checked)
    return next(filter(None, lines), "")


def tested(item: CheckedFunction) -> bool:
    """Return whether calls decided something: a verdict, a false claim, or that it is another function."""
    report = item.report
    return report.verdict not in _UNTESTED or report.false_claim or report.different


def untested(checked: Sequence[CheckedFunction]) -> bool:
    """Return whether no function was tested, for lack of expectations or because none can be run."""
    return not any(map(tested, checked))


def check_json(
    checked: Sequence[CheckedFunction], required_level: str, budget: BudgetReport | None = None
) -> dict[str, Any]:
    """Return the reports as plain values, schema `codeguard.check/1`."""
    below = checked_below(checked, required_level)
    return {
        "schema": "codeguard.check/1",
        "warnings": [below] if below else [],
        "budget": budget and asdict(budget),
        "functions": [
            {
                **named(item.chunk, "path symbol start_line end_line sha256"),
                "convicted": item.report.verdict in CONVICTING,
                **{name: value for name, value in item.report.to_json().items() if name != "answers"},
            }
            for item in checked
        ],
    }


def check_text(
    checked: Sequence[CheckedFunction], required_level: str, budget: BudgetReport | None = None
) -> str:
    """Return one line per function followed by its details; the sandbox level comes first."""
    below = checked_below(checked, required_level)
    first = f"{sum(map(tested, checked))} of {len(checked)} functions tested"
    lines = [f"{below}, {first}" if below else first]
    lines += [f"sandbox: {budget}"] if budget else []
    for item in checked:
        report = item.report
        word = report.word
        mark = "CONVICTED" if report.verdict in CONVICTING else ""
        place = f"{escaped(item.chunk.path)}:{item.chunk.start_line}"
        lines.append(f"{word:<11} {place} {escaped(item.chunk.symbol)} {mark}".rstrip())
        facts = [
            describe(report).removeprefix(f"{word}: "),
            extent(report),
            *_difference(item),
            *_tried(report),
            *_noted(report.notes),
        ]
        lines += [f"            {escaped(fact)}" for fact in facts]
    return "\n".join(lines)


def _difference(item: CheckedFunction) -> list[str]:
    """Return how the statements of a convicted function differ from those of the trusted one of its name."""
    if item.own is None or item.report.verdict not in CONVICTING:
        return []
    ours, theirs = (_statements(part.text) for part in (item.own, item.chunk))
    lines = list(difflib.unified_diff(ours, theirs, lineterm="", n=1))[3:MOST_LINES]
    return [f"yours (-) is {item.own.path}:{item.own.start_line}, without docstrings:", *lines]


def _statements(text: str) -> list[str]:
    tree = parse_or_none(textwrap.dedent(text))
    body = tree.body[0].body if tree and isinstance(tree.body[0], Function) else []
    start = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return [line for statement in body[start:] for line in ast.unparse(statement).splitlines()]


def extent(report: CheckReport) -> str:
    """Return how much was run, and in which Python."""
    if not report.calls:
        return "not run"
    return f"{report.calls} calls in {PYTHONS.get(report.tier, 'Python')}"


def _tried(report: CheckReport) -> list[str]:
    """Return the effects in one line, without imports, which nearly every function has."""
    listed = [effect for effect in report.effects if not effect.startswith("import:")]
    return [f"{'tried' if report.calls else 'its text uses'}: {'; '.join(listed)}"] if listed else []


def _noted(notes: Sequence[str]) -> list[str]:
    """Return the notes; of the unreached branches the first ones and their number."""
    branches = [note for note in notes if note.startswith(NOT_REACHED)]
    lines = [f"note: {note}" for note in notes if not note.startswith(NOT_REACHED)]
    if len(branches) > MOST_BRANCHES:
        branches[MOST_BRANCHES:] = [f"… and {len(branches) - MOST_BRANCHES} more (--format json lists them)"]
    return lines + branches
