"""Behavior reports: from the cache where they still hold, from the sandbox where not.

Two keys lead to a cached report. The near one needs nothing but digests, so
that a query need not derive specs from the whole trusted corpus; it holds for
one epoch (trusted text, specs, policy, sandbox level, seed). The far one is
the checker's own and outlives an epoch that changes nothing for a function.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from codeguard.behavior import BehaviorChecker
from codeguard.catalog import Catalog
from codeguard.models import CheckReport, Chunk, ChunkKind, SourceFile, Verdict

CHECKED_KINDS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
BATCH = 256
Subject = tuple[Chunk, SourceFile]


class BehaviorReports:
    """Callable from a chunk and its file to a report, as the behavior signal wants it.

    `checker` is a function so that it is built only when something has to be
    run. `budget_s` bounds the time that calls may spend running checks, in
    seconds; what it leaves untested is counted in `out_of_budget`.
    """

    def __init__(
        self,
        checker: Callable[[], BehaviorChecker],
        epoch: str,
        catalog: Catalog | None = None,
        budget_s: float | None = None,
    ) -> None:
        self._checker = checker
        self._epoch = epoch
        self._catalog = catalog
        self._budget_s = budget_s
        self._spent_s = 0.0
        self._fresh: dict[str, CheckReport] = {}
        self.out_of_budget = 0

    def __call__(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return the report of one function."""
        near = self.near_key(chunk, file)
        known = self._cached(near)
        if known is not None:
            return known
        if self._budget_s is not None and self._spent_s >= self._budget_s:
            self.out_of_budget += 1
            return CheckReport(
                Verdict.NO_SIGNAL, "the time budget of the query ran out before this check", level=""
            )
        start = time.monotonic()
        self._run([(chunk, file)])
        self._spent_s += time.monotonic() - start
        return self._fresh[near]

    def prepare(
        self, subjects: Sequence[Subject], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> int:
        """Run what the cache does not know, in batches over the sandbox's workers; return how many ran."""
        missing = [subject for subject in subjects if self._cached(self.near_key(*subject)) is None]
        for start in range(0, len(missing), BATCH):
            progress(start, len(missing))
            self._run(missing[start : start + BATCH])
        progress(len(missing), len(missing))
        return len(missing)

    def _run(self, subjects: Sequence[Subject]) -> None:
        with _collection_deferred():
            self._judge(subjects)

    def _judge(self, subjects: Sequence[Subject]) -> None:
        checker = self._checker()
        far_keys = [checker.cache_key(*subject) for subject in subjects]
        reports: dict[int, CheckReport] = {}
        for index, far in enumerate(far_keys):
            known = self._cached(f"far:{far}") if far is not None else None
            if known is not None:
                reports[index] = known
        to_run = [index for index in range(len(subjects)) if index not in reports]
        reports.update(zip(to_run, checker.check_many([subjects[index] for index in to_run]), strict=True))
        for index, report in reports.items():
            self._fresh[self.near_key(*subjects[index])] = report
        if self._catalog is not None:
            self._keep(subjects, far_keys, reports)

    def _keep(
        self, subjects: Sequence[Subject], far_keys: Sequence[str | None], reports: dict[int, CheckReport]
    ) -> None:
        rows: dict[str, dict[str, Any]] = {}
        for index, report in reports.items():
            if report.verdict is Verdict.ERROR:
                continue  # an error of ours may pass: it is never remembered
            rows[self.near_key(*subjects[index])] = report.to_json()
            if far_keys[index] is not None:
                rows[f"far:{far_keys[index]}"] = report.to_json()
        assert self._catalog is not None
        self._catalog.put_analyses(rows)

    def _cached(self, key: str) -> CheckReport | None:
        if key in self._fresh:
            return self._fresh[key]
        value = self._catalog.analysis(key) if self._catalog is not None else None
        if value is None:
            return None
        try:
            return CheckReport.from_json(value)
        except (KeyError, TypeError, ValueError):
            return None  # written by another version: computed anew

    def near_key(self, chunk: Chunk, file: SourceFile) -> str:
        """Return the key under which a function's report is cached for this epoch."""
        span = f"{chunk.span.start_byte}:{chunk.span.end_byte}"
        parts = "\0".join((self._epoch, file.sha256, chunk.sha256, chunk.symbol, span))
        return "near:" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


@contextlib.contextmanager
def _collection_deferred() -> Iterator[None]:
    """Put cyclic garbage collection off: it walks the trees of the whole trusted corpus, again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def checkable(chunk: Chunk) -> bool:
    """Say whether a chunk is something the behavior checker looks at: a function or a method."""
    return chunk.kind in CHECKED_KINDS
