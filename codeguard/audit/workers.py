"""Audit many files in worker processes with limits, so that one file cannot stop the others."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from codeguard.analysis import Reading
from codeguard.analysis.observations import (
    AUDIT,
    DISCOVERY,
    ENGINE_RULES,
    Observation,
    all_observed,
    bound_met,
    detector_error,
    observe_match,
)
from codeguard.analysis.own_checks import limit_met
from codeguard.analysis.rules import CorpusSignal, DetectorContext, Match, load_corpus_signals
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import Inspected, Source, finding_of, findings_of, inspected, unreadable
from codeguard.corpus.serialization import as_json, rebuilt
from codeguard.errors import CorpusError
from codeguard.index.executor import spread
from codeguard.index.file_tasks import chunked
from codeguard.index.observation_tasks import ExaminationRequest, examine_files
from codeguard.models import Skipped, SourceFile
from codeguard.workers.tasks import MEMORY_BYTES, ItemBounds, Run, Shared, WorkerError, by_values, encoded

WORTH_A_PROCESS = 400_000  # bytes: about the text that is examined in the time a process needs to start
FILES_A_PROCESS = 12
CORPUS_CPU_S, CORPUS_CPU_S_PER_BYTE, CORPUS_MEMORY_PER_BYTE = 5.0, 3e-6, 20

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
    progress: Progress = lambda done, total: None,
) -> list[Inspected]:
    """Return the results of the named static signals for each file, in the order of the sources.

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

    requests = map(ExaminationRequest, files())
    for file, steps in examine_files(executor, lambda: shared, names, requests):
        progress(len(results), len(sources))
        results[cut.popleft()] = inspected(file, steps, keep=keep)
    progress(len(sources), len(sources))
    return [results[position] for position in range(len(sources))]


def corpus_findings(
    executor: Executor, shared: Shared, all_inspected: Sequence[Inspected], names: Sequence[str]
) -> list[Finding]:
    """Return the results of the named signals that need all files at once, for the kept files."""
    files = [item.file for item in all_inspected if item.file is not None]
    if not files or not names:
        return []
    payload = encoded([as_json(file) for file in files])
    size = len(payload)
    bounds = ItemBounds(
        CORPUS_CPU_S + CORPUS_CPU_S_PER_BYTE * size,
        600.0,
        MEMORY_BYTES + CORPUS_MEMORY_PER_BYTE * size,
    )
    (answer,) = spread(executor, corpus_task, [[payload]], shared, bounds)
    if not answer.ended and len(answer.parts) != len(names):
        raise WorkerError("a worker has other signals than this process", hint="start it again")
    found = [
        finding
        for part in answer.values
        for place, rows in part
        for finding in findings_of(files[place], list(map(Observation.from_values, rows)))
    ]
    if answer.ended:  # reported for the first file, because it concerns all of them
        name = names[min(len(answer.parts), len(names) - 1)]
        why = f"the signal {name}, which compares all files, did not finish: {answer.why}"
        found.append(finding_of(files[0], bound_met(why)))
    return found


def corpus_task(shared: Shared) -> Run:
    """Run the signals that need all files at once; one part per signal."""
    signals = load_corpus_signals()

    def found(values: list[Any]) -> Iterator[object]:
        files = [rebuilt(value) for value in values]
        readings = {file.path: Reading(file) for file in files}
        places = {file.path: place for place, file in enumerate(files)}
        for signal in signals:
            yield [
                (places[path], [item.to_values() for item in items])
                for path, items in _of_corpus(signal, readings).items()
            ]

    return by_values(found)


def _of_corpus(signal: CorpusSignal, readings: dict[str, Reading]) -> dict[str, list[Observation]]:
    try:
        found: dict[str, list[Match]] = {}
        for path, match in signal.inspect_corpus(readings.values(), DetectorContext()):
            found.setdefault(path, []).append(match)
        observed = {path: all_observed(signal, readings[path], matches) for path, matches in found.items()}
    except Exception as error:  # third-party signals may fail; the failure is reported for the first file
        observed = {path: [detector_error(signal.name, readings[path], error)] for path in list(readings)[:1]}
    for path, reading in readings.items():
        for match in (limit_met(reading, limit) for limit in reading.unread.limits):
            shown = observe_match(reading, match, AUDIT, ENGINE_RULES[match.rule])
            observed.setdefault(path, []).append(shown)
    return observed
