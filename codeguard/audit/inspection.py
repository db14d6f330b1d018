"""Inspect files in worker processes with limits, and the engine's observations about them as findings."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from codeguard.analysis import Reading
from codeguard.analysis.engine import Step
from codeguard.analysis.observations import (
    AUDIT,
    DISCOVERY,
    LISTED_OF_A_RULE,
    Observation,
    Place,
    digest_of_lines,
    observe_match,
)
from codeguard.analysis.rules import Match, Rule
from codeguard.analysis.rules.base import IMPORTED, IN_TEST
from codeguard.audit.findings import Finding
from codeguard.audit.rules import OWN_RULES
from codeguard.errors import CorpusError
from codeguard.index.file_tasks import ExaminationRequest, chunked, examine_files
from codeguard.models import Chunk, ChunkKind, Severity, Skipped, SourceFile
from codeguard.workers.tasks import Shared

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})


@dataclass(frozen=True, slots=True)
class Source:
    """A file to audit: its name in the corpus, its size in bytes, and what reads it or raises CorpusError."""

    name: str
    size: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Side:
    """What is audited, as files or as one side of a change, and what of it was left out."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Inspected:
    """The results of the static signals for one file; `file` is None if it could not be read or is not kept."""

    name: str
    findings: tuple[Finding, ...]
    file: SourceFile | None = None
    sha256: str = ""
    functions: int = 0
    lines: int = 0


PRIVATE_KEY = "secrets.private-key"
SHOWN_COPIES = 3
_KEY_FILES = (".pem", ".key")


def inspected(file: SourceFile, steps: Iterable[Step], *, keep: bool) -> Inspected:
    """Return the combined result of the engine's steps."""
    findings = [item for step in steps for item in findings_of(file, step.observations)]
    reading = Reading(file)
    return Inspected(
        name=file.path,
        findings=tuple(findings),
        file=file if keep else None,
        sha256=file.sha256,
        functions=sum(chunk.kind in FUNCTIONS for chunk in file.chunks),
        lines=len(reading.line_starts) - (not reading.text or reading.text[-1] in "\r\n"),
    )


def unreadable(name: str, rule: str, error: CorpusError, data: bytes = b"") -> Inspected:
    """Return the inspection of an unreadable file."""
    digest = hashlib.sha256(data).hexdigest() if data else ""
    return Inspected(name, (own_finding(rule, name, str(error), digest),))


def findings_of(file: SourceFile, observations: Sequence[Observation]) -> list[Finding]:
    """Return observations of one file as findings; a very frequent rule's first finding counts the others."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in observations:
        counts[item.signal, item.rule] += item.count
    found = []
    for item in observations:
        more = counts[item.signal, item.rule] - LISTED_OF_A_RULE
        if item.listed:
            finding = finding_of(file, item)
            if more > 0:
                said = f"{more} more of this rule in the file are not listed"
                finding = replace(finding, reason=f"{finding.reason} ({said})")
            found.append(finding)
    return found


def finding_of(file: SourceFile, item: Observation) -> Finding:
    """Return an observation as a finding."""
    chunk = file.chunks[item.chunk] if 0 <= item.chunk < len(file.chunks) else None
    return Finding(
        rule=f"{AUDIT}.detector-error" if item.failed else f"{item.signal}.{item.rule}",
        path=file.path,
        place=item.place,
        severity=min(item.severity, Severity.LOW) if item.measurements.get(IN_TEST) else item.severity,
        confidence=item.confidence,
        reason=item.reason,
        digest=file.sha256 if chunk is None else chunk.sha256,
        symbol="" if chunk is None else chunk.symbol,
        snippet=item.snippet,
        text_digest=item.text_digest,
        measurements=item.measurements,
    )


def own_modules(findings: Iterable[Finding], names: Iterable[str]) -> list[Finding]:
    """Return the findings, with low severity if the import finds its module among the audited files.

    That is in the folder of the file or one around it, or in the `src` of one of those: a module of that name
    elsewhere in the tree is another one.
    """
    modules: set[tuple[PurePosixPath, str]] = set()
    for name in names:
        path = PurePosixPath(name)
        if path.suffix == ".py":
            modules |= {(path.parent, path.stem), (path.parent.parent, path.parent.name)}

    def lies_near(item: Finding) -> bool:
        wanted = str(item.measurements.get(IMPORTED, ""))
        folders = PurePosixPath(item.path).parents if wanted else ()
        return any((place, wanted) in modules for folder in folders for place in (folder, folder / "src"))

    return [
        replace(item, severity=min(item.severity, Severity.LOW)) if lies_near(item) else item
        for item in findings
    ]


def with_more(findings: Sequence[Finding], more: Iterable[Finding]) -> list[Finding]:
    """Return findings, with those of others that nothing said of the same line as gravely."""

    def key(item: Finding) -> tuple[object, ...]:
        return item.rule, item.path, item.place.start_line, item.severity, item.confidence

    known = set(map(key, findings))
    return [*findings, *{key(item): item for item in more if key(item) not in known}.values()]


# The line of a secret is all that the finding is about, whatever stands around it.
_OF_SECRETS = frozenset(
    {f"secrets.{rule}" for rule in ("assigned-secret", "cloud-key", "service-token", "password-in-url")}
    | {"insecure.hard-coded-secret"}
)


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with low severity where an open one says the same of the same text or function.

    That is a copy of a section, as a package's metadata hold its readme, the same line with a secret in other files,
    one of several private keys that lie in a folder, and a further place of one rule in a function, which a ranking
    counts once as well. The most severe one stays and says where the others are; of a secret it does not count how
    sure its places are, since one publishes it for all.
    """
    result = list(findings)

    def order(index: int) -> tuple[int, int, int, str, int]:
        item = result[index]
        sure = 0 if item.rule in _OF_SECRETS else -item.confidence
        return -item.severity, sure, item.path.count("/"), item.path, item.place.start_line

    for key_of, place_of in (
        (_function_of, lambda item: f"line {item.place.start_line}"),
        (_text_of, lambda item: item.path),  # within one file each place counts
    ):
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for index, item in enumerate(result):
            if item.open and item.severity >= Severity.MEDIUM and (key := key_of(item)):
                groups[key].append(index)
        for first, *rest in (sorted(group, key=order) for group in groups.values()):
            here = place_of(result[first])
            others = {index: place for index in rest if (place := place_of(result[index])) != here}
            for index in others:
                said = f"{result[index].reason} (as in {here})"
                result[index] = replace(result[index], severity=Severity.LOW, reason=said)
            if others:
                said = _several(list(dict.fromkeys(others.values())), ", ")
                result[first] = replace(result[first], reason=f"{result[first].reason} (also in {said})")
    return result


def _several(parts: Sequence[str], between: str) -> str:
    more = f" and {len(parts) - SHOWN_COPIES} more" if len(parts) > SHOWN_COPIES else ""
    return f"{between.join(parts[:SHOWN_COPIES])}{more}"


def without_general(findings: Sequence[Finding], special_of: Mapping[str, Iterable[str]]) -> list[Finding]:
    """Return the findings, with one finding where several say the same of one place.

    That is where places that begin on the same line overlap and either the rule is the same or one is a special case
    of the other. The most severe stays, of equal ones the special case, and names the others with their reasons. A
    finding of medium severity or more that is more certain than the one that would stay is kept as well: nothing that
    somebody writes beside it moves it to the less sure ones.

    Args:
        special_of: for each rule the rules that it is a special case of.
    """
    related: dict[str, set[str]] = defaultdict(set)
    for rule, general in special_of.items():
        for other in general:
            related[rule].add(other)
            related[other].add(rule)
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, item in enumerate(findings):
        if item.open and not item.rule.startswith(f"{AUDIT}."):  # those have no place of their own
            lines[item.path, item.place.start_line].append(index)
    folded: dict[int, list[Finding]] = defaultdict(list)
    left_out: set[int] = set()
    for group in lines.values():
        kept: dict[str, list[int]] = defaultdict(list)
        order = sorted(group, key=lambda index: _precedence(findings[index], special_of))
        for index in order:
            item = findings[index]
            rules = (item.rule, *sorted(related[item.rule])) if item.rule in related else (item.rule,)
            others = (other for rule in rules for other in kept[rule])
            first = next((other for other in others if _tells(findings[other], item)), None)
            if first is None:
                kept[item.rule].append(index)
            else:
                left_out.add(index)
                folded[first].append(item)
    return [
        _naming(item, folded.get(index, ())) for index, item in enumerate(findings) if index not in left_out
    ]


def _precedence(item: Finding, special_of: Mapping[str, Iterable[str]]) -> tuple[int, int, int, int]:
    """Return the sort key by which one of several findings about a place stays: the first."""
    width = item.place.end_column - item.place.start_column
    return -item.severity, -item.confidence, -len(tuple(special_of.get(item.rule, ()))), -width


def _tells(item: Finding, other: Finding) -> bool:
    """Return whether a finding can stand for another: their places overlap, and it is as severe and as certain."""
    certain = item.confidence >= other.confidence or other.severity < Severity.MEDIUM
    (start, end), (begin, last) = _span(item.place), _span(other.place)
    return item.severity >= other.severity and certain and start <= last and begin <= end


def _span(place: Place) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the first and the last position of a place, whose end column is exclusive."""
    start = (place.start_line, place.start_column)
    return start, max(start, (place.end_line, place.end_column - 1))


def _naming(item: Finding, others: Sequence[Finding]) -> Finding:
    said = list(dict.fromkeys(f"{other.rule}: {other.reason}" for other in others if other.rule != item.rule))
    return replace(item, reason=f"{item.reason} (also {_several(said, '; ')})") if said else item


def _function_of(item: Finding) -> tuple[str, ...]:
    return (item.rule, item.path, item.symbol, item.digest) if item.symbol and item.digest else ()


def _text_of(item: Finding) -> tuple[str, ...]:
    if item.rule == PRIVATE_KEY and item.path.endswith(_KEY_FILES):
        return item.rule, str(PurePosixPath(item.path).parent)
    if not item.text_digest or not (item.digest or item.rule in _OF_SECRETS):
        return ()
    return (item.rule, *([] if item.rule in _OF_SECRETS else [item.digest]), item.text_digest)


def own_finding(rule: str, path: str, reason: str, digest: str = "") -> Finding:
    """Return one of the audit's own findings about a file that cannot be shown."""
    return file_finding(rule, OWN_RULES[rule], path, reason, digest)


def file_finding(id_: str, rule: Rule, path: str, reason: str, digest: str) -> Finding:
    """Return a finding of a rule about a whole file, without a line to show."""
    return Finding(
        rule=id_,
        path=path,
        place=Place(),
        severity=rule.severity,
        confidence=rule.confidence,
        reason=reason,
        digest=digest,
        text_digest=digest_of_lines([reason]),
    )


def chunk_finding(reading: Reading, chunk: Chunk, match: Match, signal: str, rule: Rule) -> Finding:
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
    placed = replace(match, start=start, end=starts[line - 1] + len(shown))
    found = finding_of(reading.file, observe_match(reading, placed, signal, rule))
    return replace(found, digest=chunk.sha256, symbol=chunk.symbol, text_digest=chunk.sha256)


WORTH_A_PROCESS = 400_000  # bytes: about the text that is examined in the time a process needs to start
FILES_A_PROCESS = 12

Progress = Callable[[int, int], None]


def workers_for(sources: Sequence[Source], jobs: int | None) -> int:
    """Return how many processes are worth starting, at most `jobs` (default: one per core)."""
    size = sum(source.size for source in sources)
    most = jobs or os.cpu_count() or 1
    return max(1, min(most, size // WORTH_A_PROCESS, len(sources) // FILES_A_PROCESS))


def inspect_all(
    sources: Sequence[Source],
    executor: Executor,
    shared: Shared,
    names: Sequence[str],
    *,
    keep: bool = True,
    only: tuple[str, ...] | None = None,
    progress: Progress = lambda done, total: None,
) -> list[Inspected]:
    """Return the results of the named static signals, or `only` some, for each file, in the order of the sources.

    A file that reaches a limit, or on which a worker dies, is a separate finding in addition to those found
    until then.
    """
    results: dict[int, Inspected] = {}
    read: deque[tuple[int, bytes]] = deque()
    cut: deque[int] = deque()

    def texts() -> Iterator[tuple[str, bytes]]:
        for position, source in enumerate(sources):
            try:
                data = source.read()
            except CorpusError as error:
                results[position] = unreadable(source.name, f"{DISCOVERY}.not-read", error)
                continue
            read.append((position, data))
            yield source.name, data

    def files() -> Iterator[SourceFile]:
        for file in chunked(executor, texts()):
            position, data = read.popleft()
            if isinstance(file, Skipped):
                error = CorpusError(file.reason)
                results[position] = unreadable(file.path, f"{DISCOVERY}.encoding", error, data)
                continue
            cut.append(position)
            yield file

    requests = (ExaminationRequest(file, only) for file in files())
    for file, steps in examine_files(executor, lambda: shared, names, requests):
        progress(len(results), len(sources))
        results[cut.popleft()] = inspected(file, steps, keep=keep)
    progress(len(sources), len(sources))
    return [results[position] for position in range(len(sources))]
