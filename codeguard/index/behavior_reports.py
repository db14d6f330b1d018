"""Behavior reports: from the cache while valid, or else from a worker with a sandbox.

The key of a cached report needs only digests, so that a query need not derive specs from the whole trusted corpus. It
is valid for one epoch (trusted text, specs, policy, sandbox level, seed); what was run for it outlives epochs.

A function whose helper is in another file can only be run together with it, and what it does then depends on both. So
the text of the files that an untrusted file imports, directly or through others, goes to the checker with it, and their
digests are part of the key.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from codeguard.behavior.source.import_paths import (
    AMBIGUOUS,
    INIT,
    MOST_CHARACTERS,
    MOST_MODULES,
    file_of,
    imports_in,
)
from codeguard.config import LEVELS
from codeguard.index.catalog import Catalog
from codeguard.index.report import SandboxBudget
from codeguard.models import CheckReport, Chunk, ChunkKind, Sibling, SourceFile, Verdict, parts_digest
from codeguard.trust.verified import VerifiedManifest

MOST_LOOKUPS = 1_000  # in one file
MOST_KEPT = 20_000_000  # characters of all files that are kept


class SiblingFiles(Protocol):
    """The files that may be imported, by path."""

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""


def _nothing(path: str, sha256: str) -> bool:
    return False


class ListedFiles:
    """Files in memory; those that are not among them are looked up in `others`."""

    def __init__(
        self,
        files: Iterable[SourceFile],
        covered: Callable[[str, str], bool] = _nothing,
        others: SiblingFiles | None = None,
    ) -> None:
        self._files = {file.path: file for file in files}
        self._covered = covered
        self._others = others

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""
        return path in self._files or (self._others is not None and self._others.has(path))

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""
        if path in self._files:
            return sibling_of(self._files[path], self._covered)
        return None if self._others is None else self._others.sibling(path)


class IndexedFiles:
    """The files of an index."""

    def __init__(self, catalog: Catalog, manifest: VerifiedManifest | None) -> None:
        self._catalog = catalog
        self._covered = _nothing if manifest is None else manifest.covers
        self.has = cache(catalog.has_file)

    def sibling(self, path: str) -> Sibling | None:
        """Return a file that is there, without text if it is trusted; None if it cannot be read."""
        file = self._catalog.file(path)
        return None if file is None else sibling_of(file, self._covered)


def sibling_of(file: SourceFile, covered: Callable[[str, str], bool]) -> Sibling | None:
    """Return a file as one that others import; without text if it is trusted, None if it is no Python."""
    if file.language != "python":
        return None
    trusted = covered(file.path, file.sha256)
    return Sibling(file.path, file.sha256, "" if trusted else file.text, trusted)


class Siblings:
    """Finds what files import. It caches what it has read, so a new one is created where files may have changed."""

    def __init__(self, files: SiblingFiles | None = None) -> None:
        self._files = files or ListedFiles(())
        self._read: dict[str, Sibling | None] = {}
        self._imported: dict[str, list[str]] = {}
        self._complete: dict[tuple[str, str], tuple[Sibling, ...]] = {}
        self._kept = 0

    def beside(self, file: SourceFile) -> SourceFile:
        """Return a file together with those that it imports."""
        found = self.of(file)
        return replace(file, siblings=found) if found else file

    def digest(self, file: SourceFile) -> str:
        """Return the digest of everything that a file imports from others, "" if that is nothing."""
        return siblings_digest(file.path, self.of(file))

    def of(self, file: SourceFile) -> tuple[Sibling, ...]:
        """Return the files that a file imports, nearest first; of trusted ones, imports are not followed."""
        key = file.path, file.sha256
        if key not in self._complete:
            self._complete[key] = tuple(self._found(file)) if file.language == "python" else ()
        return self._complete[key]

    def _found(self, file: SourceFile) -> Iterator[Sibling]:
        seen = {file.path}
        pending = deque(self._paths(file.path, file.text))
        room, left = MOST_CHARACTERS, MOST_MODULES
        while pending and left:
            path = pending.popleft()
            if path in seen:
                continue
            seen.add(path)
            sibling = self._sibling(path)
            if sibling is None:
                continue
            if len(sibling.text) > room:
                sibling = replace(sibling, text="")  # it counts as there, and gives nothing
            room, left = room - len(sibling.text), left - 1
            yield sibling
            if sibling.text:
                if path not in self._imported:
                    self._imported[path] = self._paths(path, sibling.text)
                pending.extend(self._imported[path])

    def _sibling(self, path: str) -> Sibling | None:
        if path not in self._read:
            found = self._files.sibling(path)
            size = 0 if found is None else len(found.text)
            if self._kept + size > MOST_KEPT:
                self._read.clear()
                self._complete.clear()
                self._kept = 0
            self._read[path] = found
            self._kept += size
        return self._read[path]

    def _paths(self, own_path: str, text: str) -> list[str]:
        """Return the files that a text imports, in its order, up to a limit of look-ups."""
        found: dict[str, None] = {}
        left = MOST_LOOKUPS
        for level, module, names in imports_in(text):
            prefixes = [module[:length] for length in range(1, len(module) + 1)]
            wanted = [module, *([*module, name] for name in names)] if names else prefixes
            for parts in wanted:
                left -= 1
                if left < 0:
                    return list(found)
                path = file_of(parts, level, own_path, self._files.has)
                if path not in ("", AMBIGUOUS):
                    found[path] = None
        folder = own_path.rpartition("/")[0]
        while folder and self._files.has(
            f"{folder}/{INIT}"
        ):  # an import executes the packages around a module
            found[f"{folder}/{INIT}"] = None
            folder = folder.rpartition("/")[0]
        found.pop(own_path, None)
        return list(found)


def siblings_digest(path: str, siblings: Iterable[Sibling]) -> str:
    """Return the digest of what a file of this path imports, "" if that is nothing."""
    parts = [part for item in siblings for part in (item.path, item.sha256, str(item.trusted))]
    return parts_digest(path, *parts) if parts else ""


CHECKED_KINDS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
BATCH = 256
FACTS = "facts/2:"
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
        refused = CheckReport(Verdict.NO_SIGNAL, CROWDED, level="", spent=True)  # by no worker
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


_highest: list[str] = []


def own_level() -> str:
    """Return the name of the level that the sandbox reaches in this process; the highest one is measured once."""
    if not _highest:
        from codeguard.sandbox import Level, Sandbox  # not for what only reads reports

        with Sandbox(Level.L0) as sandbox:
            level = sandbox.level.name
        if level != LEVELS[-1]:
            return level
        _highest.append(level)
    return _highest[0]


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
