"""What the behavior checker says of a file's functions, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codeguard.check import CheckedFunction
from codeguard.escaping import escaped
from codeguard.models import Verdict
from codeguard.signals.behavior import CONVICTING, describe


def check_json(checked: Sequence[CheckedFunction]) -> dict[str, Any]:
    """Return the reports as plain values, schema `codeguard.check/1`."""
    return {
        "schema": "codeguard.check/1",
        "functions": [
            {
                "path": item.chunk.path,
                "symbol": item.chunk.symbol,
                "start_line": item.chunk.start_line,
                "end_line": item.chunk.end_line,
                "sha256": item.chunk.sha256,
                "convicted": item.report.verdict in CONVICTING,
                **item.report.to_json(),
            }
            for item in checked
        ],
    }


def check_text(checked: Sequence[CheckedFunction]) -> str:
    """Return one line a function, with what was found out beneath it; the sandbox level first."""
    levels = sorted({item.report.level for item in checked if item.report.level})
    untested = [item for item in checked if item.report.verdict is Verdict.UNSUPPORTED]
    lines = [
        f"sandbox {', '.join(levels) or 'not used'}, {len(checked) - len(untested)} of {len(checked)} functions tested"
    ]
    for item in checked:
        report = item.report
        mark = "CONVICTED" if report.verdict in CONVICTING else ""
        place = f"{escaped(item.chunk.path)}:{item.chunk.start_line}"
        lines.append(f"{report.verdict.value:<11} {place} {escaped(item.chunk.symbol)} {mark}".rstrip())
        facts = [
            describe(report),
            f"{report.calls} calls, {report.coverage.value} coverage, tier {report.tier or 'none'}",
        ]
        facts += [f"tried: {effect}" for effect in report.effects]
        facts += [f"note: {note}" for note in report.notes]
        lines += [f"            {escaped(fact)}" for fact in facts]
    return "\n".join(lines)
