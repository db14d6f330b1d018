"""Let every static signal look at one file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from codeguard.auditing import notread
from codeguard.auditing.deadline import DeadlineError, deadline
from codeguard.auditing.ignores import RULE as IGNORE
from codeguard.auditing.ignores import Ignore, ignores_of
from codeguard.auditing.rules import AUDIT, DISCOVERY, OWN_RULES
from codeguard.chunking import chunk_file
from codeguard.discovery import FoundFile, read_file
from codeguard.errors import CodeguardError, CorpusError
from codeguard.findings import FINGERPRINT_LINES, Finding, Place, digest_of_lines
from codeguard.garbage import Collector
from codeguard.models import Chunk, ChunkKind, Severity, SourceFile
from codeguard.reading import Reading
from codeguard.signals import Context, CorpusSignal, FileSignal, Rule, Sighting

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
SECONDS_A_SIGNAL = 20.0
SIGHTINGS = 5_000  # of one signal in one file
SHOWN_OF_A_RULE = 100  # in one file; of a flood of findings the number says enough
SNIPPET = 400  # characters
Placing = Callable[[Sighting], Sighting]


@dataclass(frozen=True, slots=True)
class Source:
    """A file to audit: its name in the corpus, and its bytes or where they are."""

    name: str
    found: FoundFile | None = None
    data: bytes = b""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.found.size if self.found is not None else len(self.data)

    def read(self) -> bytes:
        """Return the bytes; CorpusError where they cannot be read any more."""
        return self.data if self.found is None else read_file(self.found)


@dataclass(frozen=True, slots=True)
class Inspected:
    """What the static signals say of one file; `file` is None where it could not be read or is not kept.

    `ignores` are the comments that ask for something to be ignored, each with
    the finding that it is where it does not count.
    """

    name: str
    findings: tuple[Finding, ...]
    ignores: tuple[tuple[Ignore, Finding], ...] = ()
    file: SourceFile | None = None
    sha256: str = ""
    functions: int = 0
    lines: int = 0


class Inspector:
    """The static signals whose needs are met, ready to look at files."""

    def __init__(self, signals: Iterable[FileSignal], context: Context, *, keep: bool = True) -> None:
        self._signals = [item for item in signals if item.needs <= context.services.keys()]
        self._context = context
        self._keep = keep
        self._collector = Collector()

    def inspect(self, source: Source) -> Inspected:
        """Return what stands out in one file; never raises for what a file holds."""
        try:
            data = source.read()
        except CorpusError as error:
            return Inspected(source.name, (own_finding(f"{DISCOVERY}.unseen", source.name, str(error)),))
        try:
            with deadline(SECONDS_A_SIGNAL):
                file = chunk_file(source.name, data)
        except (Exception, DeadlineError) as error:  # hostile bytes, and a parser is a detector, too
            rule = f"{DISCOVERY}.encoding" if isinstance(error, CorpusError) else f"{AUDIT}.detector-error"
            digest = hashlib.sha256(data).hexdigest()
            return Inspected(source.name, (own_finding(rule, source.name, _say(error), digest),))
        reading = Reading(replace(file, language="python") if notread.is_python(file) else file)
        found = self._own(reading, notread.syntax, DISCOVERY, _SYNTAX)
        for signal in self._signals:
            found += self._look(signal, reading)
        if notread.is_notebook(file):
            found += self._cells(reading, {(item.rule, item.place) for item in found})
        ignores, failed = self._ignores(reading)
        found += self._own(reading, notread.bounds, AUDIT, _NOT_FULLY_READ)
        self._collector.looked_at(len(file.text))
        return Inspected(
            name=source.name,
            findings=(*found, *failed),
            ignores=ignores,
            file=file if self._keep else None,
            sha256=file.sha256,
            functions=sum(chunk.kind in FUNCTIONS for chunk in file.chunks),
            lines=len(reading.line_starts) - (not reading.text or reading.text[-1] in "\r\n"),
        )

    def _look(
        self,
        signal: FileSignal,
        reading: Reading,
        shown: Reading | None = None,
        placed: Placing | None = None,
    ) -> list[Finding]:
        """Return what a signal sees in a reading, as findings in another where `placed` says the places there."""
        try:
            with deadline(SECONDS_A_SIGNAL):
                sightings = list(islice(signal.inspect(reading, self._context), SIGHTINGS))
                shown_at = [placed(item) for item in sightings] if placed else sightings
            if len(sightings) == SIGHTINGS:
                reading.unread.note(f"of {signal.name} no more than {SIGHTINGS:,} places were looked at")
            return sighted(signal, shown or reading, shown_at)
        except (Exception, DeadlineError) as error:  # a signal may be a third party's
            return [detector_error(signal.name, shown or reading, error)]

    def _cells(self, reading: Reading, known: Container[tuple[str, Place]]) -> list[Finding]:
        """Return what stands out in a notebook's code, but for what stood out in its text."""
        try:
            with deadline(SECONDS_A_SIGNAL):
                code = reading.notebook
        except (Exception, DeadlineError) as error:  # hostile JSON
            return [detector_error(AUDIT, reading, error)]
        if code is None:
            return []

        def placed(sighting: Sighting) -> Sighting:
            return replace(sighting, start=code.place(sighting.start), end=code.place(sighting.end))

        cells = Reading(replace(reading.file, text=code.text, language="python", chunks=()))
        found = self._own(reading, lambda _: map(placed, notread.syntax(cells)), DISCOVERY, _SYNTAX)
        for signal in self._signals:
            found += self._look(signal, cells, reading, placed)
        found += self._own(reading, lambda _: map(placed, notread.bounds(cells)), AUDIT, _NOT_FULLY_READ)
        return [item for item in found if (item.rule, item.place) not in known]

    def _own(
        self, reading: Reading, look: Callable[[Reading], Iterable[Sighting]], group: str, rule: Rule
    ) -> list[Finding]:
        """Return what the audit itself sees in a file."""
        try:
            with deadline(SECONDS_A_SIGNAL):
                return [finding_at(reading, item, group, rule) for item in look(reading)]
        except (Exception, DeadlineError) as error:  # the parser meets hostile text
            return [detector_error(group, reading, error)]

    def _ignores(self, reading: Reading) -> tuple[tuple[tuple[Ignore, Finding], ...], list[Finding]]:
        """Return the inline ignores, and the finding that looking for them failed."""
        try:
            with deadline(SECONDS_A_SIGNAL):
                pairs = [
                    (item, finding_at(reading, Sighting(IGNORE.id, item.start, item.end, ""), AUDIT, IGNORE))
                    for item in ignores_of(reading)
                ]
            return tuple(pairs), []
        except (Exception, DeadlineError) as error:  # the lexer meets hostile text
            return (), [detector_error(AUDIT, reading, error)]


def sighted(
    signal: FileSignal | CorpusSignal, reading: Reading, sightings: Sequence[Sighting]
) -> list[Finding]:
    """Return a signal's sightings in one file as findings; KeyError for a rule that it does not have."""
    rules = {rule.id: rule for rule in signal.rules}
    counts: Counter[str] = Counter()
    chosen: list[Sighting] = []
    # The gravest are listed, or a flood of small ones would hide them.
    for item in sorted(sightings, key=lambda item: (-_severity(item, rules[item.rule]), item.start)):
        counts[item.rule] += 1
        if counts[item.rule] <= SHOWN_OF_A_RULE:
            chosen.append(item)
    chosen.sort(key=lambda item: item.start)
    found = [finding_at(reading, item, signal.name, rules[item.rule]) for item in chosen]
    return [_counted(item, counts[item.rule.partition(".")[2]]) for item in found]


def _severity(sighting: Sighting, rule: Rule) -> Severity:
    return rule.severity if sighting.severity is None else sighting.severity


def _counted(finding: Finding, count: int) -> Finding:
    if count <= SHOWN_OF_A_RULE:
        return finding
    more = f"{count - SHOWN_OF_A_RULE} more of this rule in the file are not listed"
    return replace(finding, reason=f"{finding.reason} ({more})")


def finding_at(reading: Reading, sighting: Sighting, signal: str, rule: Rule) -> Finding:
    """Return a sighting as a finding."""
    start = min(max(sighting.start, 0), len(reading.text))
    end = min(max(sighting.end, start), len(reading.text))
    chunk = reading.chunk_at(start)
    lines = _lines(reading, start, end)
    return Finding(
        rule=f"{signal}.{rule.id}",
        path=reading.file.path,
        place=_place(reading, start, end),
        severity=_severity(sighting, rule),
        confidence=rule.confidence if sighting.confidence is None else sighting.confidence,
        reason=sighting.reason,
        digest=chunk.sha256 if chunk is not None else reading.file.sha256,
        symbol=chunk.symbol if chunk is not None else "",
        snippet=lines[0][:SNIPPET] if lines else "",
        text_digest=digest_of_lines(lines),
        measurements=dict(sighting.measurements),
    )


def own_finding(rule: str, path: str, reason: str, digest: str = "") -> Finding:
    """Return a finding of the audit's own about a file of which nothing can be shown."""
    known = OWN_RULES[rule]
    return Finding(
        rule=rule,
        path=path,
        place=Place(),
        severity=known.severity,
        confidence=known.confidence,
        reason=reason,
        digest=digest,
        text_digest=digest_of_lines([reason]),
    )


def detector_error(signal: str, reading: Reading, error: BaseException) -> Finding:
    """Return the finding that a signal failed on a file."""
    rule = OWN_RULES[f"{AUDIT}.detector-error"]
    sighting = Sighting(rule.id, 0, 0, f"the signal {signal} failed: {_say(error)}")
    return finding_at(reading, sighting, AUDIT, rule)


def chunk_finding(reading: Reading, chunk: Chunk, sighting: Sighting, signal: str, rule: Rule) -> Finding:
    """Return a finding about a whole chunk, shown at its first line; its fingerprint is over all its text."""
    starts = [*reading.line_starts, len(reading.text)]
    line = min(chunk.start_line, len(starts) - 1)
    while (
        line < min(chunk.end_line, len(starts) - 1)
        and not reading.text[starts[line - 1] : starts[line]].strip()
    ):
        line += 1
    shown = reading.text[starts[line - 1] : starts[line]].rstrip()
    start = starts[line - 1] + len(shown) - len(shown.lstrip())
    placed = replace(sighting, start=start, end=starts[line - 1] + len(shown))
    found = finding_at(reading, placed, signal, rule)
    return replace(found, digest=chunk.sha256, symbol=chunk.symbol, text_digest=chunk.sha256)


_SYNTAX = OWN_RULES[f"{DISCOVERY}.{notread.SYNTAX}"]
_NOT_FULLY_READ = OWN_RULES[f"{AUDIT}.{notread.NOT_FULLY_READ}"]


def _place(reading: Reading, start: int, end: int) -> Place:
    first, last = reading.line_of(start), reading.line_of(max(start, end - 1))
    return Place(
        first,
        start - reading.line_starts[first - 1] + 1,
        last,
        end - reading.line_starts[last - 1] + 1,
    )


def _lines(reading: Reading, start: int, end: int) -> list[str]:
    first, last = reading.line_of(start), reading.line_of(max(start, end - 1))
    last = min(last, first + FINGERPRINT_LINES)
    starts = [*reading.line_starts, len(reading.text)]
    return [reading.text[starts[line - 1] : starts[line]].rstrip("\r\n") for line in range(first, last + 1)]


def _say(error: BaseException) -> str:
    if isinstance(error, CodeguardError | DeadlineError):
        return str(error)
    return f"{type(error).__name__}: {error}"[:300]
