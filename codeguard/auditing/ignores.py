"""Inline ignores: `# codeguard: ignore[rule] reason`, believed only where a verified manifest vouches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codeguard.auditing.rules import AUDIT, OWN_RULES, Selection
from codeguard.findings import Finding, Standing
from codeguard.reading import Reading, SegmentKind

RULE = OWN_RULES[f"{AUDIT}.inline-ignore"]
MOST = 1_000  # in one file
_IGNORE = re.compile(
    r"codeguard:[ \t]{0,8}ignore(?:\[(?P<rules>[\w.,* \t-]{0,400})\])?(?P<reason>[^\r\n]{0,400})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment that asks for something to be ignored.

    `lines` are the lines it speaks for: its own, and the next one where it
    stands alone. `problem` says why it cannot count, empty where it may.
    """

    start: int
    end: int
    lines: tuple[int, ...]
    rules: tuple[str, ...]
    reason: str
    problem: str


def ignores_of(reading: Reading) -> list[Ignore]:
    """Return the ignores in the comments of a file (in all of it, where it is no code)."""
    if "codeguard:" not in reading.text.lower():
        return []
    found: list[Ignore] = []
    for segment in reading.segments:
        if segment.kind in (SegmentKind.COMMENT, SegmentKind.PROSE) and len(found) < MOST:
            text = reading.text[segment.start : segment.end]
            found += [_ignore(reading, match, segment.start) for match in _IGNORE.finditer(text)]
    return found[:MOST]


def _ignore(reading: Reading, match: re.Match[str], offset: int) -> Ignore:
    start, end = offset + match.start(), offset + match.end()
    line = reading.line_of(start)
    alone = not reading.text[reading.line_starts[line - 1] : offset].strip()
    rules = tuple(part.strip() for part in (match["rules"] or "").split(",") if part.strip())
    reason = match["reason"].strip().strip("*/->").strip(" :")
    problem = "it names no rule" if not rules else "" if reason else "it gives no reason"
    return Ignore(start, end, (line, line + 1) if alone else (line,), rules, reason, problem)


def uncounted(ignore: Ignore, covered: bool) -> str:
    """Return why an ignore does not count, empty where it does."""
    if not covered:
        return "asks to be ignored, in a file that no verified manifest covers"
    return f"asks to be ignored, but {ignore.problem}" if ignore.problem else ""


def suppressed(findings: Sequence[Finding], ignores: Mapping[str, Sequence[Ignore]]) -> list[Finding]:
    """Return the findings, those suppressed that an ignore of their file (by path) names on their line."""
    result = []
    for item in findings:
        for ignore in ignores.get(item.path, ()):
            named = Selection(ignore.rules).takes(item.rule) and item.place.start_line in ignore.lines
            if named and item.rule != f"{AUDIT}.{RULE.id}":
                item = item.overruled(Standing.SUPPRESSED, ignore.reason)
                break
        result.append(item)
    return result
