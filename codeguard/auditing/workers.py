"""Look at many files in several processes; at few in this one, since starting a process costs more."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from codeguard.auditing.inspecting import Inspected, Inspector, Source, own_finding
from codeguard.auditing.rules import AUDIT
from codeguard.signals import Context, load_file_signals

WORTH_A_PROCESS = 400_000  # bytes: about the text that is looked at while a process starts
BATCH = 12  # files
_INSPECTOR: list[Inspector] = []  # of a worker process, made when it starts

Progress = Callable[[int, int], None]


def inspect_all(
    sources: Sequence[Source],
    context: Context,
    *,
    jobs: int | None = None,
    keep: bool = True,
    progress: Progress = lambda done, total: None,
) -> Iterator[Inspected]:
    """Yield what the static signals say of each file, in the order of the sources.

    `jobs` bounds the worker processes (default: one a core). A file on which
    a worker dies is a finding of its own.
    """
    size = sum(source.size for source in sources)
    workers = min(jobs or os.cpu_count() or 1, size // WORTH_A_PROCESS, len(sources) // BATCH)
    if workers <= 1:
        inspector = Inspector(load_file_signals(), context, keep=keep)
        for position, source in enumerate(sources):
            progress(position, len(sources))
            yield inspector.inspect(source)
    else:
        yield from _in_processes(sources, context, workers, keep, progress)
    progress(len(sources), len(sources))


def _in_processes(
    sources: Sequence[Source], context: Context, workers: int, keep: bool, progress: Progress
) -> Iterator[Inspected]:
    batches = [sources[start : start + BATCH] for start in range(0, len(sources), BATCH)]
    done = 0
    with _safe_path(), _pool(workers, context, keep) as pool:
        futures = [pool.submit(_inspect, batch) for batch in batches]
        for batch, future in zip(batches, futures, strict=True):
            progress(done, len(sources))
            yield from _result(batch, future, context, keep)
            done += len(batch)


def _result(
    batch: Sequence[Source], future: Future[list[Inspected]], context: Context, keep: bool
) -> list[Inspected]:
    """Return a batch's results; where its worker died, those of each file in a process of its own."""
    try:
        return future.result()
    except BrokenProcessPool:
        return [_alone(source, context, keep) for source in batch]


def _alone(source: Source, context: Context, keep: bool) -> Inspected:
    with _safe_path(), _pool(1, context, keep) as pool:
        try:
            return pool.submit(_inspect, [source]).result()[0]
        except BrokenProcessPool:
            failed = own_finding(f"{AUDIT}.detector-error", source.name, "a detector died on this file")
            return Inspected(source.name, (failed,))


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the working directory out of the new processes' path: the audited tree may hold a `signal.py`."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _pool(workers: int, context: Context, keep: bool) -> ProcessPoolExecutor:
    # Not fork: the caller may hold threads and a sandbox. The server imports what all workers need, once.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    start = multiprocessing.get_context(method)
    if method == "forkserver":
        start.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(workers, mp_context=start, initializer=_begin, initargs=(context, keep))


def _begin(context: Context, keep: bool) -> None:
    _INSPECTOR[:] = [Inspector(load_file_signals(), context, keep=keep)]


def _inspect(batch: Sequence[Source]) -> list[Inspected]:
    return [_INSPECTOR[0].inspect(source) for source in batch]
