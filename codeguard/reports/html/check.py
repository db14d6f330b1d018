"""The behavior checker's results for a file's functions, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from codeguard.audit.check import CheckedFunction
from codeguard.escaping import FinishedPage
from codeguard.index.sandbox_budget import BudgetReport
from codeguard.models import CONVICTING, Verdict
from codeguard.ranking.signals.behavior import describe
from codeguard.reports.check import checked_below, extent
from codeguard.reports.html.page import Page, code_block, folded, page_of, place, tag, text
from codeguard.reports.ranking import MEANING

_KIND = {Verdict.PASS: "good"}


def check_page(
    checked: Sequence[CheckedFunction],
    required_level: str,
    budget: BudgetReport | None = None,
    *,
    command: str,
    made: str,
) -> FinishedPage:
    """Return the page of one check."""
    wrong = sum(map(_wrong, checked))
    passed = sum(item.report.verdict is Verdict.PASS for item in checked)
    below = checked_below(checked, required_level)
    story = f"{wrong} of {len(checked)} functions do not do what is expected of them"
    if not wrong:
        story = f"None of {len(checked)} functions was found wrong"
    ordered = sorted(checked, key=lambda item: (not _wrong(item), item.chunk.start_line))
    levels = sorted({item.report.level for item in checked if item.report.level})
    return page_of(
        Page(
            title="Behavior check",
            story=f"{story}; {passed} agree.",
            body="".join(map(_function, ordered)),
            facts={
                "checked in": f"sandbox {', '.join(levels)}" if levels else "no sandbox",
                "functions": str(len(checked)),
                **({"sandbox": str(budget)} if budget else {}),
            },
            command=command,
            made=made,
            warnings=[below] if below else [],
            filters={"bad": "wrong", "good": "agreeing", "other": "not decided"},
        )
    )


def _wrong(item: CheckedFunction) -> bool:
    return item.report.verdict in CONVICTING or item.report.false_claim


def _function(item: CheckedFunction) -> str:
    report, chunk = item.report, item.chunk
    kind = "bad" if _wrong(item) else _KIND.get(report.verdict, "other")
    words = MEANING.get(report.verdict.value, (report.verdict.value, ""))[0]
    if kind == "bad":
        words = "false claim" if report.false_claim else "convicted"
    head = f"<h3>{text(chunk.symbol)} {place(chunk.path, chunk.start_line, chunk.end_line)} "
    head += f"{tag(words, kind if kind != 'other' else '')}</h3>"
    body = f"<p>{text(describe(report))}</p>"
    facts = [extent(report)]
    facts += [f"tried: {effect}" for effect in report.effects] + [f"note: {note}" for note in report.notes]
    listed = "".join(f"<li>{text(fact)}</li>" for fact in facts)
    body += code_block(chunk.text) if kind == "bad" else folded("code", code_block(chunk.text))
    body += folded("what was run", f'<ul class="reasons">{listed}</ul>')
    return f'<article class="{kind} f-{kind}">{head}{body}</article>\n'
