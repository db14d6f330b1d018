"""Make reports of what rows of the table decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.verdict.comparison import INCONCLUSIVE_EXCEPTIONS, Case, CaseResult
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.running import Batch, Steps
from codeguard.behavior.verdict.state import is_self_contained
from codeguard.behavior.verdict.table import Row
from codeguard.models import CheckReport, Coverage, Verdict
from codeguard.sandbox.model import JobResult, LineCoverage
from codeguard.syntax.capabilities import Capability

WATCHED_FIRST = 24  # calls


def ending(result: JobResult) -> Verdict:
    """Return the verdict on a child that ended without results."""
    if result.detail.partition(":")[0] in INCONCLUSIVE_EXCEPTIONS:
        return Verdict.NO_SIGNAL  # a package missing in the sandbox is not the function's fault
    return Verdict.__members__.get(result.status.name, Verdict.NO_SIGNAL)


def row_report(
    row: Row,
    session: CandidateSession,
    result: JobResult,
    texts: Mapping[str, object],
    *,
    origin: str = "",
    claims: str = "",
    weighed: Sequence[CaseResult] = (),
    among: int = 0,
    extra: Sequence[Capability] = (),
) -> CheckReport:
    """Return the report of a row that decided.

    `texts` are what its reason may name. `claims` is the trusted function that a reader would take the candidate for,
    "" if the row's claim does not hold. Of the `weighed` results, the first is the counterexample.
    """
    texts = {"count": len(weighed), "among": among, **texts}
    first = weighed[0] if weighed and row.weighs else None
    example = first.case.example if first is not None else None
    verdict = ending(result) if row.verdict is None else row.verdict
    convicting = row.weighs and verdict in (Verdict.FAIL, Verdict.DIVERGES)
    return CheckReport(
        verdict,
        row.reason.format_map(texts),
        session.level.name,
        session.runner.tier.value,
        origin="" if claims else (example.origin if example is not None else "") or origin,
        counterexample=first.text if first is not None else "",
        share=min(1.0, len(weighed) / max(1, among)) if convicting else 0.0,
        calls=session.calls,
        effects=tuple(dict.fromkeys((*session.candidate.effects, *result.effects))),
        notes=tuple(f"not in the trusted function: {capability}" for capability in extra),
        claims=claims,
        refuted=bool(claims),
        decided_by=row.id,
    )


def with_coverage(
    session: CandidateSession, report: CheckReport, cases: Sequence[Case]
) -> Steps[CheckReport]:
    """Add to a pass whether the calls reached every part of code that can read nothing but its arguments.

    The child reports its coverage itself, so that it counts only for code that cannot forge it.
    """
    calls = [case.call for case in sorted(cases, key=lambda item: item.example is None)]
    watched: list[LineCoverage] = []
    missing = ["coverage was not reported"]
    # Tracing takes several times as long as the calls, and the examples and a few more usually reach everything.
    for part in (calls[:WATCHED_FIRST], calls[WATCHED_FIRST:]):
        if part and missing:
            (result,) = yield from session.runner.run(Batch(tuple(part), other=True, trace=True))
            watched += [result.coverage] if result.coverage is not None else []
            missing = _unreached(session.candidate.runnable, watched)
    if not is_self_contained(session.candidate.runnable.source):
        missing = [*missing, "what shows that it depends on its arguments alone"]
    return with_missing_coverage(session, report, missing)


def _unreached(runnable: Runnable, watched: Sequence[LineCoverage]) -> list[str]:
    """Return the lines of a function's body that no call reached, over several runs; empty if all were.

    The line numbers are those of the extracted source and mean nothing to a reader, so the entries quote the code.
    """
    executable = {line for part in watched for line in part.executable}
    if not executable:
        return ["coverage was not reported"]
    missing = executable.difference(*(part.reached for part in watched))
    body = range(runnable.node.body[0].lineno, (runnable.node.end_lineno or 0) + 1)
    lines = runnable.source.split("\n")
    return [lines[line - 1].strip()[:80] for line in sorted(missing) if line in body]


def with_missing_coverage(
    session: CandidateSession, report: CheckReport, missing: Sequence[str]
) -> CheckReport:
    """Add to a pass the reasons why it earns no bonus; it is full if `missing` is empty."""
    runnable = session.candidate.runnable
    taken = (*runnable.borrowed, *runnable.completed)
    if taken:
        missing = (*missing, f"its own imports; taken from other files: {', '.join(taken[:5])}")
    notes = tuple(f"not reached: {line}" for line in missing[:5])
    coverage = Coverage.PARTIAL if missing else Coverage.FULL
    return replace(report, coverage=coverage, notes=(*report.notes, *notes))
