"""Judge what is indexed: static signals and behavior checks, where the catalog does not know their result yet."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from codeguard.acceptance import load_acceptances
from codeguard.behavior import POLICY_VERSION
from codeguard.checks import FAR, checkable
from codeguard.cluster import Cluster
from codeguard.executor import Here, worth_it
from codeguard.index_report import Convicted, SpecCounts
from codeguard.judgetasks import Checks, Material, looked
from codeguard.models import Chunk, SourceFile, Trust
from codeguard.sandbox import Level
from codeguard.signals.behavior import CONVICTING
from codeguard.tasks import Shared
from codeguard.workspace import Workspace

FILES_A_POOL = 24  # fewer are looked at sooner than processes have started and read the trusted code
CHECKS_A_POOL = 100

Progress = Callable[[str, int, int], None]


class Judge:
    """Judges the files of an index that are not trusted.

    What was found out about a file is kept under the digest of the file and
    of all that its checks depend on, so that an unchanged file costs one
    look into the catalog.
    """

    def __init__(self, workspace: Workspace, progress: Progress, executor: Executor | None = None) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog
        self._progress = progress
        self._executor = executor or Here()
        self._required = Level[workspace.settings.defense.required_level]
        self._enabled = workspace.settings.defense.enable_behavior
        if self._enabled:
            self._catalog.set_meta("sandbox_level", self._level().name)
        self._static = workspace.static_evidence(workspace.settings.defense)
        self._version = f"{workspace.epoch}\0{self._static.version}\0{self._enabled}"

    def run(self) -> int:
        """Let the static signals look and run the behavior checks that the catalog lacks; return how many ran."""
        unknown = {path: key for path, key in self._untrusted() if self._kept(key) is None}
        missing = list(unknown)
        by_workers = worth_it(self._executor, len(missing) >= FILES_A_POOL)
        self._static.prepare(
            self._counted(missing),
            None if isinstance(by_workers, Here) else partial(looked, by_workers, self._shared),
        )
        if not self._enabled:
            self._catalog.put_analyses({key: {"convicted": []} for key in unknown.values()})
            return 0
        subjects = [
            (chunk, file) for file in self._files(missing) for chunk in filter(self._checked, file.chunks)
        ]
        by_workers = worth_it(self._executor, len(subjects) >= CHECKS_A_POOL)
        return self._workspace.reports().prepare(
            subjects,
            lambda done, total: self._progress("checks", done, total),
            None if isinstance(by_workers, Here) else Checks(by_workers, self._shared, self._required),
        )

    def unable(self) -> list[str]:
        """Return a line for each worker of a cluster whose sandbox is too weak for behavior checks."""
        workers = self._executor.workers if isinstance(self._executor, Cluster) and self._enabled else ()
        required = self._required
        return [
            f"worker {worker.address} offers {worker.level.name}, {required.name} is required: it runs no checks"
            for worker in workers
            if worker.level < required
        ]

    def _level(self) -> Level:
        """Return the level that checks will run at: on a cluster its workers', not this process's."""
        if isinstance(self._executor, Cluster):
            return self._executor.level(self._required)
        return self._workspace.sandbox.level

    @cached_property
    def _shared(self) -> Shared:
        workspace = self._workspace
        return Material(
            trusted=None if workspace.manifest is None else workspace.trusted_files(),
            spec_folders=[Path(folder) for folder in workspace.settings.specs],
            seed=workspace.seed,
            required_level=self._required,
            weights=workspace.settings.defense.weights,
            signals=self._static.names,
            version=self._static.version,
            known=[key.removeprefix(FAR) for key in self._catalog.analysis_keys(FAR)],
        ).shared()

    def _counted(self, paths: Sequence[str]) -> Iterator[SourceFile]:
        for done, path in enumerate(paths):
            self._progress("signals", done, len(paths))
            yield from self._files([path])
        if paths:
            self._progress("signals", len(paths), len(paths))

    def convicted(self) -> tuple[Convicted, ...]:
        """Return the functions that the behavior checker convicts."""
        if not self._enabled:
            return ()
        accepted = load_acceptances(self._workspace.state)
        found = []
        for path, key in self._untrusted():
            kept = self._kept(key)
            for item in self._look(path, key) if kept is None else kept:
                overruled = accepted.of(item["sha256"])
                found.append(Convicted(**item, accepted="" if overruled is None else overruled.say()))
        return tuple(found)

    def _look(self, path: str, key: str) -> list[dict[str, Any]]:
        """Gather the verdicts of one file; they are kept where every check was done."""
        reports = self._workspace.reports(budget_s=0.0)
        rows = []
        for file in self._files([path]):
            for chunk in filter(self._checked, file.chunks):
                report = reports(chunk, file)
                if report.verdict in CONVICTING:
                    row = Convicted(
                        chunk.path,
                        chunk.symbol,
                        chunk.start_line,
                        chunk.sha256,
                        report.verdict.value,
                        report.reason,
                    )
                    rows.append({name: value for name, value in asdict(row).items() if name != "accepted"})
        if not reports.out_of_budget:
            self._catalog.put_analyses({key: {"convicted": rows}})
        return rows

    def coverage(self) -> SpecCounts:
        """Return how much of the trusted code says how it should behave."""
        workspace = self._workspace
        parts = (POLICY_VERSION, workspace.specs_digest, workspace.trust_digest)
        key = "coverage:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()
        kept = self._catalog.analysis(key)
        if kept is None:
            kept = asdict(workspace.library.coverage())
            self._catalog.put_analyses({key: kept})
        return SpecCounts(**kept)

    def _untrusted(self) -> Iterator[tuple[str, str]]:
        """Yield path and key of every file that the manifest does not cover."""
        manifest = self._workspace.manifest
        for path, state in self._catalog.files().items():
            if manifest is None or not manifest.covers(path, state.sha256):
                parts = "\0".join((self._version, path, state.sha256))
                yield path, "judged:" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()

    def _files(self, paths: list[str]) -> Iterator[SourceFile]:
        for path in paths:
            file = self._catalog.file(path)
            if file is not None:
                yield file

    def _checked(self, chunk: Chunk) -> bool:
        manifest = self._workspace.manifest
        trusted = manifest is not None and manifest.trust_of(chunk.path, chunk.sha256) is Trust.TRUSTED
        return checkable(chunk) and not trusted

    def _kept(self, key: str) -> list[dict[str, Any]] | None:
        value = self._catalog.analysis(key)
        rows = None if value is None else value.get("convicted")
        return rows if isinstance(rows, list) else None
