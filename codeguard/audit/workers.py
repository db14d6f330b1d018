"""Audit many files in worker processes with limits, so that one file cannot stop the others."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

from codeguard.analysis.observations import (
    DISCOVERY,
)
from codeguard.audit.inspection import Inspected, Source, inspected, unreadable
from codeguard.errors import CorpusError
from codeguard.index.file_tasks import chunked
from codeguard.index.observation_tasks import ExaminationRequest, examine_files
from codeguard.models import Skipped, SourceFile
from codeguard.workers.tasks import Shared

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
