"""What a described result promises where nothing trusted does the same: that it depends on what the function takes.

The name and the description of a function over a body that does something else leave its parameters without a use. This
is read, not run; it demotes and never convicts.
"""

from __future__ import annotations

import ast

from codeguard.behavior.matching.stubs import describes_result
from codeguard.behavior.source.definitions import Definition
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.reports import row_report
from codeguard.behavior.verdict.table import named
from codeguard.models import CheckReport
from codeguard.sandbox.model import JobResult, Status

PROMISED = "what its name and description promise"
_READS_ALL = frozenset({"locals", "vars", "eval", "exec", "NotImplemented", "NotImplementedError"})


def ignored_parameters(definition: Definition) -> list[str]:
    """Return the parameters that a function never reads, if these are at least half and it describes a result.

    Functions that are there to be overridden or called by a framework say so, or are methods or decorated.
    """
    taken = [item.name for item in definition.parameters if item.kind in ("positional", "keyword")]
    body = definition.node.body
    if (
        len(taken) < 2
        or isinstance(body[min(1, len(body) - 1)], ast.Raise)
        or not describes_result(definition)
    ):
        return []
    nodes = [node for statement in body for node in ast.walk(statement)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    read |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    ignored = [name for name in taken if name not in read and not name.startswith("_")]
    return [] if read & _READS_ALL or 2 * len(ignored) < len(taken) else ignored


def broken_promise(session: CandidateSession) -> CheckReport | None:
    """Report a function whose description promises a result that half of its parameters have no part in."""
    ignored = ignored_parameters(session.candidate.definition)
    if not ignored:
        return None
    idle = JobResult(Status.NO_SIGNAL, session.level, session.runner.tier)
    texts = {"ignored": " and ".join(ignored[:3])}
    return row_report(named("ignores-arguments"), session, idle, texts, claims=PROMISED)
