"""Behavior reports: from the cache while valid, or else from a worker with a sandbox.

The key of a cached report needs only digests, so that a query need not derive specs from the whole trusted corpus. It
is valid for one epoch (trusted text, specs, policy, sandbox level, seed); what was run for it outlives epochs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from codeguard.config import LEVELS
from codeguard.index.catalog import Catalog
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.index.siblings import Siblings
from codeguard.models import CheckReport, Chunk, ChunkKind, SourceFile, Verdict, parts_digest

CHECKED_KINDS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
BATCH = 256
FACTS = "facts:"
RUNS = "runs/2:"
NOT_CHECKED = "not checked yet"
TRUSTED_ANSWERS = "probes:trusted"
Subject = tuple[Chunk, SourceFile]
CheckWorkers = Callable[[Sequence[Subject], SandboxBudget], Iterator[tuple[Subject, CheckReport]]]
"""Checks functions by workers within a budget, and yields each with its report."""


class BehaviorReports:
    """Callable from a chunk and its file to a report, as the behavior signal wants it.

    `checks` is a function so that a worker is requested only when something must be run. `budget` bounds
    what they spend; with `known_only` nothing is run, and what is missing is reported as not checked yet. `level` is
    the sandbox level of the epoch: `unsupported` from a weaker sandbox is not
    remembered. `siblings` finds the files that a function's file imports.
    """

    def __init__(
        self,
        checks: Callable[[], CheckWorkers],
        epoch: str,
        catalog: Catalog | None = None,
        *,
        budget: SandboxBudget | None = None,
        known_only: bool = False,
        level: str = "",
        siblings: Siblings | None = None,
    ) -> None:
        self._siblings = siblings or Siblings()
        self._checks = checks
        self._level = level
        self.ran_at = ""  # the lowest sandbox level of what was run
        self._epoch = epoch
        self._catalog = catalog
        self.budget = budget or SandboxBudget()
        self._known_only = known_only
        self._fresh: dict[str, CheckReport] = {}
        self.unchecked = 0  # functions that were asked for, and are not fully checked
        self.failed: list[tuple[Chunk, CheckReport]] = []  # checks that ended in an error of our own

    def __call__(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return the report of one function."""
        report = self._of(chunk, file)
        if report is None and self._known_only:
            report = CheckReport(Verdict.NO_SIGNAL, NOT_CHECKED, level="", not_yet=True)
        elif report is None:
            self.prepare([(chunk, file)])
            report = self._fresh[self.near_key(chunk, file)]
        self.unchecked += report.not_yet or report.spent
        if report.spent:
            self.budget.unfinished(file.path)
        return report

    def prepare(
        self,
        subjects: Sequence[Subject],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> int:
        """Run checks missing in the cache; return their number."""
        missing = {self.near_key(*subject): subject for subject in subjects if self._of(*subject) is None}
        if missing:
            self._run(list(missing.values()), progress, self._checks())
        for chunk, file in subjects:
            report = self._of(chunk, file)
            if report is not None and report.spent:
                self.budget.unfinished(file.path)
        return len(missing)

    def _run(
        self, missing: Sequence[Subject], progress: Callable[[int, int], None], workers: CheckWorkers
    ) -> None:
        from codeguard.behavior.budget import CROWDED, MOST_DEFINITIONS

        progress(0, len(missing))
        count = Counter(id(file) for _, file in missing)
        files = {id(file): file for _, file in missing}
        whole = {key: self._siblings.beside(file) for key, file in files.items()}
        subjects = [(chunk, whole[id(file)], count[id(file)] > MOST_DEFINITIONS) for chunk, file in missing]
        missing = [(chunk, file) for chunk, file, is_crowded in subjects if not is_crowded]
        refused = CheckReport(Verdict.NO_SIGNAL, CROWDED, level="")  # no worker would read their file
        batch = [((chunk, file), refused) for chunk, file, is_crowded in subjects if is_crowded]
        for done, answer in enumerate(workers(missing, self.budget) if missing else (), 1):
            progress(done, len(missing))
            batch.append(answer)
            if len(batch) >= BATCH:
                self._take(batch)
                batch = []
        self._take(batch)
        progress(len(missing), len(missing))

    def _take(self, answers: Sequence[tuple[Subject, CheckReport]]) -> None:
        """Store reports."""
        rows: dict[str, dict[str, Any]] = {}
        for subject, report in answers:
            near = self.near_key(*subject)
            self._fresh[near] = report
            if report.verdict is Verdict.ERROR:
                self.failed.append((subject[0], report))
            if report.level:
                self.ran_at = min(self.ran_at or report.level, report.level)
            too_weak = report.verdict is Verdict.UNSUPPORTED and report.level < self._level
            if report.verdict is Verdict.ERROR or too_weak:  # which may be temporary
                continue
            place = self.own_key(*subject) if report.alone else near
            rows[place] = report.to_json()
            if report.spent:  # only what has the same limits
                rows[place] |= {"limits": self.budget.limits}
        if self._catalog is not None:
            self._catalog.put_analyses(rows)

    def _of(self, chunk: Chunk, file: SourceFile) -> CheckReport | None:
        """Return the known report of a function; what its file imports is read only where the report depends on it."""
        return self._cached(self.own_key(chunk, file)) or self._cached(self.near_key(chunk, file))

    def _cached(self, key: str) -> CheckReport | None:
        if key in self._fresh:
            return self._fresh[key]
        value = self._catalog.analysis(key) if self._catalog is not None else None
        if value is None:
            return None
        try:
            report = CheckReport.from_json(value)
            run_s, file_s = value["limits"] if report.spent else self.budget.limits
        except (KeyError, TypeError, ValueError):
            return None  # written by another version: recomputed
        return report if run_s >= self.budget.run_s and file_s >= self.budget.file_s else None

    def own_key(self, chunk: Chunk, file: SourceFile) -> str:
        """Return the key of a function's report for this epoch if it depends on nothing but its file."""
        span = f"{chunk.span.start_byte}:{chunk.span.end_byte}"
        return "own:" + parts_digest(self._epoch, file.sha256, chunk.sha256, chunk.symbol, span)

    def near_key(self, chunk: Chunk, file: SourceFile) -> str:
        """Return the key of a function's report for this epoch if it depends on what its file imports, too."""
        return "near:" + parts_digest(self.own_key(chunk, file), self._siblings.digest(file))


def checkable(chunk: Chunk) -> bool:
    """Return whether the behavior checker examines a chunk: a function or a method."""
    return chunk.kind in CHECKED_KINDS


def is_test(path: str) -> bool:
    """Return whether a trusted path is a test by the usual conventions of pytest and unittest."""
    *folders, name = path.split("/")
    return name.startswith("test_") or name.endswith("_test.py") or "tests" in folders


def own_level() -> str:
    """Return the name of the level that the sandbox reaches in this process."""
    from codeguard.sandbox import Level, Sandbox  # not for what only reads a budget

    with Sandbox(Level.L0) as sandbox:
        return sandbox.level.name


def ensure_level(catalog: Catalog) -> str:
    """Return the sandbox level of the evidence in a catalog.

    The highest one is measured once: every check looks again at the level of what runs it. A lower one may have
    been raised since.
    """
    known = catalog.meta("sandbox_level") or ""
    if known != LEVELS[-1]:
        known = own_level()
        catalog.set_meta("sandbox_level", known)
    return known
