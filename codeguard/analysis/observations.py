"""Observations: what the engine reports about a file, from which audit and ranking make their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from codeguard import models
from codeguard.analysis.reading import Reading
from codeguard.analysis.rules.base import MISSING_LINES, FileSignal, Match, Rule, rules_of
from codeguard.corpus import secrets
from codeguard.models import DETECTOR_ERROR, Severity, text_digest
from codeguard.syntax.unread import Failure

AUDIT, DISCOVERY = "audit", "discovery"
ENGINE_RULES: Mapping[str, Rule] = rules_of(__file__)
NOT_FULLY_READ = (AUDIT, models.NOT_FULLY_READ)
LISTED_OF_A_RULE = 100  # per file; of the others only the number is reported
FINGERPRINT_LINES = 200  # lines; of longer matches only the first ones count
SNIPPET = 400  # characters
FAILURES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file: 1-based lines and columns in characters; the end column is exclusive."""

    start_line: int = 1
    start_column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Observation:
    """One match in a file, or several matches of a rule that are reported together.

    `signal` is the detector's name, `rule` one of its rules. `chunk` is the index of the file's
    chunk in which the match starts, -1 if it is not in a chunk. `count` is the number of matches
    that it stands for: of each rule, the most severe ones are reported individually, and of the
    others the most severe one per chunk (with `listed` False). `snippet` is the first line, without
    secrets. `text_digest` is over the lines without their indentation.

    The engine's own observations are `audit.not-fully-read` (a limit stopped the examination),
    `audit.inline-ignore` and `discovery.syntax`. A detector that failed has an observation
    `detector_error`.
    """

    signal: str
    rule: str
    severity: models.Severity
    confidence: models.Confidence
    reason: str
    place: Place = Place()
    chunk: int = -1
    count: int = 1
    listed: bool = True
    snippet: str = ""
    text_digest: str = ""
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether it reports that a detector failed."""
        return self.rule == DETECTOR_ERROR

    @property
    def of_the_file(self) -> bool:
        """Whether it is about the examination of the whole file."""
        return self.failed or self.unread

    @property
    def unread(self) -> bool:
        """Whether it reports a limit, or lines that do not parse, so that a part of the file was not examined."""
        return (self.signal, self.rule) == NOT_FULLY_READ or MISSING_LINES in self.measurements

    @property
    def demotes(self) -> bool:
        """Whether it ranks the file after those without such an observation.

        It is severe and certain, or a detector failed, or a part of the file was not examined, which may hold anything.
        """
        if self.of_the_file:
            return self.severity >= Severity.MEDIUM
        return self.severity >= Severity.HIGH and self.confidence >= models.Confidence.HIGH

    def to_values(self) -> list[Any]:
        """Return the observation as JSON values."""
        return [
            self.signal, self.rule, int(self.severity), int(self.confidence), self.reason, astuple(self.place),
            self.chunk, self.count, self.listed, self.snippet, self.text_digest, dict(self.measurements),
        ]  # fmt: skip

    @classmethod
    def from_values(cls, values: Any) -> Observation:
        """Return the observation from the result of `to_values`.

        Raises:
            TypeError, ValueError: the values are not an observation.
        """
        signal, rule, severity, confidence, reason, place, chunk, count, listed, snippet, digest, more = (
            values
        )
        return cls(
            str(signal), str(rule), models.Severity(severity), models.Confidence(confidence), str(reason),
            Place(*map(int, place)), int(chunk), int(count), bool(listed), str(snippet), str(digest), dict(more),
        )  # fmt: skip


def observe_match(
    reading: Reading, match: Match, signal: str, rule: Rule, *, listed: bool = True
) -> Observation:
    """Return the observation for a match."""
    start = min(max(match.start, 0), len(reading.text))
    end = min(max(match.end, start), len(reading.text))
    first, last = reading.line_of(start), reading.line_of(max(start, end - 1))
    starts = [*reading.line_starts, len(reading.text)] if listed else reading.line_starts
    lines = [
        reading.text[starts[line - 1] : starts[line]].rstrip("\r\n")
        for line in range(first, min(last, first + FINGERPRINT_LINES) + 1 if listed else first)
    ]
    shown = lines[0] if lines else ""
    held = secrets.overlapping(reading.hidden, starts[first - 1], starts[first - 1] + len(shown))
    return Observation(
        signal,
        rule.id,
        rule.severity if match.severity is None else match.severity,
        rule.confidence if match.confidence is None else match.confidence,
        match.reason,
        Place(first, start - starts[first - 1] + 1, last, end - starts[last - 1] + 1),
        reading.chunk_index(start),
        listed=listed,
        snippet=secrets.mask_secrets(shown, held, starts[first - 1])[:SNIPPET],
        text_digest=digest_of_lines(lines) if listed else "",
        measurements=dict(match.measurements),
    )


def all_observed(signal: FileSignal, reading: Reading, matches: Sequence[Match]) -> list[Observation]:
    """Return a detector's observations in a file, sorted by position.

    Raises:
        KeyError: the detector has no such rule.
    """
    rules = {rule.id: rule for rule in signal.rules}
    listed: Counter[str] = Counter()
    kept: list[Observation] = []
    # For each chunk and rule the index in `kept` of the most severe match, and how many there are of it unlisted.
    first: dict[tuple[int, str], int] = {}
    more: Counter[tuple[int, str]] = Counter()

    def rank(match: Match) -> tuple[int, int]:  # most severe first, or many minor ones would hide them
        severity = rules[match.rule].severity if match.severity is None else match.severity
        return -severity, match.start

    for item in sorted(matches, key=rank):
        listed[item.rule] += 1
        few = listed[item.rule] <= LISTED_OF_A_RULE
        seen = observe_match(reading, item, signal.name, rules[item.rule], listed=few)
        key = (seen.chunk, item.rule)
        if few or key not in first:
            first.setdefault(key, len(kept))
            kept.append(seen)
        else:
            more[key] += 1
    for key, count in more.items():
        kept[first[key]] = replace(kept[first[key]], count=1 + count)
    return sorted(kept, key=lambda item: (item.place.start_line, item.place.start_column))


def bound_met(why: str) -> Observation:
    """Return the observation that a limit of time or memory, or a crash, stopped the examination."""
    rule = ENGINE_RULES[models.NOT_FULLY_READ]
    digest = digest_of_lines([why])
    return Observation(AUDIT, rule.id, Severity.HIGH, rule.confidence, why, text_digest=digest)


def detector_error(signal: str, reading: Reading, error: BaseException) -> Observation:
    """Return the observation that a detector failed on a file."""
    said = (
        str(error) if type(error).__module__.startswith("codeguard.") else f"{type(error).__name__}: {error}"
    )
    return _failed(signal, reading, f"the signal {signal} failed: {said[:300]}")


def rules_failed(signal: str, reading: Reading, failures: Sequence[Failure]) -> Observation:
    """Return the observation that some rules of a detector failed on a file, while its other rules did not."""
    said = "; ".join(f"{item.rule} ({item.why})" for item in failures[:FAILURES_SHOWN])
    more = f"; and {len(failures) - FAILURES_SHOWN} more" if len(failures) > FAILURES_SHOWN else ""
    return _failed(signal, reading, f"of the signal {signal} failed: {said}{more}")


def _failed(signal: str, reading: Reading, reason: str) -> Observation:
    rule = ENGINE_RULES["detector-error"]
    shown = observe_match(reading, Match(rule.id, 0, 0, reason), signal, rule)
    return replace(shown, rule=DETECTOR_ERROR)


def digest_of_lines(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines without surrounding white space."""
    return text_digest("\n".join(line.strip() for line in lines))
