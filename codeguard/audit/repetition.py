"""Findings that say the same in many places of a folder: recorded answers, generated files, an idiom of the house.

They are one thing to decide, so that a report tells one of them in full and names the places of the others. Nothing
else changes by it: each stays a finding that fails the audit, with its own digest and fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from codeguard.audit.findings import Finding
from codeguard.audit.rules import FindingKind, kind_of_rule
from codeguard.corpus.patterns import lazy

FEW = 3  # places that are each told in full
_ELSEWHERE = lazy(
    r"(?: \((?:also|as) in [^()]{1,1000}\)){1,3}\Z"
)  # a finding that stands for others names their places


def by_message(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings in groups that say the same, the first of each in their order.

    Findings are together only where they have the rule, the folder, the reason, severity, confidence and standing in
    common, and only if there are more than a few. Of what tells of intent the line is the same as well: who plants it
    beside harmless places of its rule has it told in full. Where a file was not read to its end the numbers in the
    reason, such as the line, make no difference.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for item in findings:
        groups.setdefault(_message(item), []).append(item)
    return [
        part
        for group in groups.values()
        for part in ([group] if len(group) > FEW else [[one] for one in group])
    ]


def repeated(findings: Iterable[Finding]) -> dict[str, str]:
    """Return for each finding that repeats another one's message, by its fingerprint, the other one's fingerprint."""
    return {item.fingerprint: first.fingerprint for first, *others in by_message(findings) for item in others}


def _message(item: Finding) -> tuple[object, ...]:
    kind = kind_of_rule(item.rule)
    reason = _ELSEWHERE.sub("", item.reason)
    if kind is FindingKind.UNREAD:
        reason = re.sub(r"\d+", "0", reason)
    line = item.snippet.strip() if kind is FindingKind.INTENT else ""
    folder = PurePosixPath(item.path).parent
    return item.rule, folder, reason, line, item.severity, item.confidence, item.standing, item.note
