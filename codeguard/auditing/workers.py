"""Look at many files in several processes; at few in this one, since starting a process costs more."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from codeguard.auditing.inspecting import Inspected, Inspector, Source, own_finding
from codeguard.auditing.rules import AUDIT
from codeguard.signals import Context, FileSignal, load_file_signals

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

WORTH_A_PROCESS = 400_000  # bytes: about the text that is looked at while a process starts
BATCH = 12  # files
_INSPECTOR: list[Inspector] = []  # of a worker process, made when it starts

Progress = Callable[[int, int], None]


def inspect_all(
    sources: Sequence[Source],
    context: Context,
    signals: Sequence[FileSignal] | None = None,
    *,
    jobs: int | None = None,
    keep: bool = True,
    progress: Progress = lambda done, total: None,
) -> Iterator[Inspected]:
    """Yield what the static signals say of each file, in the order of the sources.

    `signals` are the registered ones, where they are loaded already; worker
    processes load their own. `jobs` bounds those (default: one a core). A
    file on which a worker dies is a finding of its own.
    """
    size = sum(source.size for source in sources)
    workers = min(jobs or os.cpu_count() or 1, size // WORTH_A_PROCESS, len(sources) // BATCH)
    if workers <= 1:
        inspector = Inspector(load_file_signals() if signals is None else signals, context, keep=keep)
        for position, source in enumerate(sources):
            progress(position, len(sources))
            yield inspector.inspect(source)
    else:
        yield from _in_processes(sources, context, workers, keep, progress)
    progress(len(sources), len(sources))


def _in_processes(
    sources: Sequence[Source], context: Context, workers: int, keep: bool, progress: Progress
) -> Iterator[Inspected]:
    from concurrent.futures.process import BrokenProcessPool  # few files need none of it

    left = [sources[start : start + BATCH] for start in range(0, len(sources), BATCH)]
    done = 0
    while left:
        broken = False
        with _safe_path(), _pool(workers, context, keep) as pool:
            futures = [pool.submit(_inspect, batch) for batch in left]
            for future in futures:
                progress(done, len(sources))
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    broken = True
                    break
                done += len(left.pop(0))
        if broken:  # a worker died on this batch or on one beside it
            batch = left.pop(0)
            yield from _one_by_one(batch, context, keep)
            done += len(batch)


def _one_by_one(batch: Sequence[Source], context: Context, keep: bool) -> Iterator[Inspected]:
    """Yield each file's result from one process, and from another after each file that ended it."""
    from concurrent.futures.process import BrokenProcessPool

    left = list(batch)
    while left:
        with _safe_path(), _pool(1, context, keep) as pool:
            while left:
                source = left.pop(0)
                try:
                    yield from pool.submit(_inspect, [source]).result()
                except BrokenProcessPool:
                    failed = own_finding(
                        f"{AUDIT}.detector-error", source.name, "a detector died on this file"
                    )
                    yield Inspected(source.name, (failed,))
                    break


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
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Not fork: the caller may hold threads and a sandbox. The server imports what all workers need, once.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    start = multiprocessing.get_context(method)
    if method == "forkserver":
        start.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(workers, mp_context=start, initializer=_begin, initargs=(context, keep))


def _begin(context: Context, keep: bool) -> None:
    gc.disable()  # the inspector collects
    gc.freeze()
    _INSPECTOR[:] = [Inspector(load_file_signals(), context, keep=keep)]


def _inspect(batch: Sequence[Source]) -> list[Inspected]:
    return [_INSPECTOR[0].inspect(source) for source in batch]
