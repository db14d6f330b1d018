"""From paths to an index: discover, chunk, embed, write, check."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from codeguard.config import Settings, below_level, check_exclusions
from codeguard.corpus.chunking.chunker import is_prose
from codeguard.corpus.discovery import EXCLUDED, Discovery, FoundFile, read_file
from codeguard.corpus.secrets import SCAN_VERSION
from codeguard.errors import CorpusError, NothingToDoError
from codeguard.index.catalog import EXCLUDED_GLOBS, SIGNED_TREES, TO_BE_READ_AGAIN, Catalog, FileState
from codeguard.index.embedding import Vectors, open_embedding
from codeguard.index.evidence import Judge, VerdictCounts
from codeguard.index.file_tasks import PASSING, chunked, masked
from codeguard.index.lexical import retrievable, retrieval_text
from codeguard.index.on_disk import found_on_disk, is_indexed
from codeguard.index.report import IndexReport, Progress, Trend, WithheldLines
from codeguard.index.sandbox_budget import BudgetReport
from codeguard.index.store import row_of
from codeguard.index.swapping import discard_unfinished
from codeguard.index.trusted import TrustUpdate, signed_trees
from codeguard.index.trusted_paths import below, refuse_gone
from codeguard.index.workspace import TRAINED_ON, Stage, Workspace
from codeguard.models import Chunk, Skipped, SourceFile, SpecCoverage
from codeguard.trust.verified import MANIFEST_NAME
from codeguard.workers.processes import default_workers, open_executor

FILES_A_BATCH = 64
CHUNKS_A_BATCH = 256  # chunks that are embedded and written together
REPAIRED_BY_A_QUERY = 512  # chunks; more leftovers of an interrupted run are embedded by the next one
SKIPPED_SHOWN = 3  # names, if nothing was left to index
CACHED_VECTORS = 100_000
SECRETS = (
    "secrets"  # a setting of the catalog: the version of the secret scan, and whether secrets were withheld
)


@dataclass
class _Run:
    """The state of one run."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0
    restored: int = 0
    due: int = 0
    written: set[str] = field(default_factory=set)  # names of files
    done: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    vectors: dict[str, Vectors] = field(default_factory=dict)


def found_first(
    paths: Sequence[Path], trust: Sequence[Path], settings: Settings, exclude: Sequence[str] = ()
) -> Discovery:
    """Find the files of an index's first run, and raise its errors, before anything is created.

    Raises:
        CorpusError, NothingToDoError, ManifestError, ConfigError, EmbeddingError, SpecError: as `Indexer.run`.
    """
    if settings.embedding != "auto":  # it may be missing or unknown; `auto` always finds one
        open_embedding(settings.embedding)
    check_exclusions(exclude)
    _check_specs(settings)
    root = first_root(settings)
    found = found_on_disk([*paths, *trust], root, settings, (*settings.exclude, *exclude), {}, [])
    signed_trees(
        settings, [path.resolve() for path in trust], root, [path.resolve() for path in (*paths, *trust)]
    )
    _refuse_empty(found.files, found)
    return found


def _load_tasks() -> None:
    """Import what workers need, once for all of them."""
    from codeguard.analysis.rules import load_file_signals
    from codeguard.index import evidence_tasks  # noqa: F401

    load_file_signals()


def _check_specs(settings: Settings) -> None:
    """Raise the error of the user's own specs now: where they are needed, the index has changed already."""
    if settings.specs:
        from codeguard.behavior.specs.files import spec_files  # an unchanged index must not import behavior
        from codeguard.behavior.specs.toml import parse_specs

        for file in spec_files(map(Path, settings.specs)):
            parse_specs(file)


def first_root(settings: Settings) -> Path:
    """Return the folder that names are relative to in a new index."""
    return Path(settings.root or ".").resolve()


def _skipped(skipped: Sequence[Skipped]) -> str:
    named = [f"{item.path} ({item.reason})" for item in skipped[:SKIPPED_SHOWN]]
    more = [f"{len(skipped) - SKIPPED_SHOWN} more"] if len(skipped) > SKIPPED_SHOWN else []
    return ", ".join([*named, *more])


def _refuse_empty(files: Sequence[FoundFile], discovery: Discovery) -> None:
    if not files:
        left_out = any(item.reason == EXCLUDED for item in discovery.skipped)
        raise NothingToDoError(
            "no file to index",
            got=_skipped(discovery.skipped) or "nothing in there",
            # The pattern may be an earlier run's.
            hint="give other paths" + (", or take a pattern back with --exclude '!GLOB'" if left_out else ""),
        )


class Indexer:
    """Brings an index up to date with the given paths.

    A run updates everything under its paths: changed files are replaced, vanished ones removed. Trusted paths
    stay trusted, including new files under them. Files under other paths are not changed.
    """

    def __init__(self, workspace: Workspace, progress: Progress = lambda stage, done, total: None) -> None:
        self._workspace = workspace
        self._progress = progress
        self._executor: Executor = default_workers()

    @property
    def _catalog(self) -> Catalog:
        return self._workspace.catalog

    def run(
        self,
        paths: Sequence[Path],
        trust: Sequence[Path],
        *,
        untrust: Sequence[Path] = (),
        exclude: Sequence[str] = (),
        discovery: Discovery | None = None,
    ) -> IndexReport:
        """Index `paths` and `trust`; files under `trust` become the team's own, those under `untrust` cease to be.

        `exclude` are patterns of files to leave out, in this run and later ones. `discovery` is the result of
        `found_first`, for a new index.

        Raises:
            CorpusError: a path that does not exist or cannot be read, or is trusted and has vanished.
            NothingToDoError: there is no file under the paths.
            ConfigError: the run would revoke trust without being told to, or a pattern cannot count.
            SpecError: one of the user's own specs cannot be read.
            StoreError, EmbeddingError, ManifestError: see there.
        """
        check_exclusions(exclude)
        _check_specs(self._workspace.settings)
        with self._workspace.writing(lambda: self._progress("waiting for another index of this store", 0, 1)):
            self._workspace.refresh()
            discard_unfinished(self._workspace.state)
            return self._run(paths, trust, untrust, exclude, discovery)

    def _run(
        self,
        paths: Sequence[Path],
        trust: Sequence[Path],
        untrust: Sequence[Path],
        exclude: Sequence[str],
        discovery: Discovery | None,
    ) -> IndexReport:
        start = time.monotonic()
        run = _Run()
        fresh = self._catalog.meta("root") is None
        if fresh:
            self._workspace.remember_place(first_root(self._workspace.settings))
        root = Path(self._catalog.meta("root") or ".")
        refuse_gone(root, self._workspace.indexed_paths, self._workspace.trusted_paths)
        known = self._catalog.files()
        settings = self._workspace.settings
        again = self._to_scan_again(known)
        known = {name: state for name, state in known.items() if name not in again}
        if discovery is None or not fresh:  # another process may have created the index, with another root
            workspace = self._workspace
            discovery = found_on_disk(
                [*paths, *trust], root, settings, workspace.excluded(exclude), known, workspace.indexed_paths
            )
        plan = TrustUpdate(self._workspace, paths, trust, untrust, root)
        own = {tree.folder / MANIFEST_NAME for tree in plan.trees}
        found = tuple(item for item in discovery.files if item.path not in own)
        names = {item.name for item in found}
        trusted_names, installed = plan.trusted(found)
        run.skipped.extend(discovery.skipped)
        run.notes.extend(discovery.notes)
        run.skipped.extend(
            Skipped(item.name, "signed manifest") for item in discovery.files if item.path in own
        )
        _refuse_empty(found, discovery)
        plan.refuse_loss(names, trusted_names)
        self._workspace.refuse_embedding()
        jobs = settings.jobs or os.cpu_count() or 1
        with open_executor(jobs, fork=jobs > 1, load=_load_tasks) as executor:
            self._executor = executor
            earlier = self._workspace.suspects
            before, self._workspace.suspects = self._trusted(), None
            # Words first: they can be searched while the rest follows.
            self._workspace.reached(Stage.WORDS)
            self._workspace.remember_chunker()
            self._update_files(found, trusted_names, run)
            self._remove_vanished(plan.scopes, names)
            known_paths = self._workspace.indexed_paths
            self._workspace.indexed_paths = [
                *(path for path in known_paths if not any(path.is_relative_to(gone) for gone in plan.gone)),
                *(path.resolve() for path in (*paths, *trust)),
            ]
            self._catalog.set_meta(EXCLUDED_GLOBS, json.dumps(self._workspace.excluded_by_runs(exclude)))
            plan.record(trusted_names, names, run.written)
            self._catalog.set_meta(SECRETS, self._secrets_made())
            self._workspace.remember_embedding()
            self._workspace.reached(Stage.VECTORS)
            self.repair(run)
            self._restore_vectors(run)
            self._workspace.vectors.prepare()
            self._workspace.reached(Stage.CHECKS)
            judge = Judge(self._workspace, self._progress, executor)
            checked = judge.run()
            run.notes.extend(judge.unfinished)
            outcome = judge.outcome()
            coverage = judge.coverage()
            if run.restored:
                self._workspace.warnings.append(
                    f"the vector store had lost {run.restored} chunks: they are written again"
                )
            self._workspace.reached(Stage.COMPLETE)
        self._executor = default_workers()
        report = replace(
            self._report(run, outcome, judge.budget.report(), coverage, checked),
            trusted_before=plan.as_before,
            nothing_changed=before == self._trusted() and not (run.added or run.removed or checked),
            not_written=installed,
            seconds=time.monotonic() - start,
        )
        if earlier is not None and not report.nothing_changed:
            report = replace(report, trend=Trend.between(earlier, report.suspects))
        self._workspace.suspects = report.suspects
        self._workspace.trend = report.trend or self._workspace.trend
        return report

    def _secrets_made(self) -> str:
        return f"{SCAN_VERSION}; {'included' if self._workspace.settings.include_secrets else 'withheld'}"

    def _to_scan_again(self, indexed: Iterable[str]) -> set[str]:
        """Return the files with secrets that may need different masking or withholding than now."""
        made = self._catalog.meta(SECRETS)
        if made == self._secrets_made():
            return set()
        if (
            made is None or made.partition("; ")[0] != SCAN_VERSION
        ):  # without a secret scan, or by another version
            return set(indexed)
        return {chunk.path for chunk in self._catalog.holding_secrets()}

    def _update_files(self, files: Sequence[FoundFile], trusted: Collection[str], run: _Run) -> None:
        indexed = self._catalog.files()
        again = self._to_scan_again(indexed)
        changed: list[FoundFile] = []
        stamps: dict[str, str] = {}
        for item in files:
            state, own = indexed.get(item.name), item.name in trusted
            if state is None or item.name in again or not is_indexed(item, state, trusted=own):
                changed.append(item)
            elif item.stamp != state.stamp:
                stamps[item.name] = item.stamp
        if stamps:
            self._catalog.touch(stamps)
        run.unchanged += len(files) - len(changed)
        run.due = len(changed)
        if changed:
            self._progress("files", 0, run.due)
        states: deque[FileState] = deque()
        batch: list[tuple[SourceFile, FileState]] = []
        sources = self._read(changed, states, run)
        for file in chunked(self._executor, sources):
            state = states.popleft()
            if isinstance(file, Skipped):
                run.skipped.append(file)
                self._count(run)
                continue
            run.notes.extend(f"{file.path}: {note}" for note in file.notes)
            if any(PASSING in note for note in file.notes):
                state = replace(state, stamp=TO_BE_READ_AGAIN)
            batch.append((file, state))
            if len(batch) >= FILES_A_BATCH:
                self._write(batch, run)
                batch = []
        self._write(batch, run)

    def _count(self, run: _Run) -> None:
        """Report progress: one more file is read, chunked and searched for secrets."""
        run.done += 1
        self._progress("files", run.done, run.due)

    def _read(
        self,
        changed: Sequence[FoundFile],
        states: deque[FileState],
        run: _Run,
    ) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of files to chunk, and record their state."""
        for found in changed:
            try:
                data = read_file(found)
            except CorpusError as error:  # the file changed since it was found
                run.skipped.append(Skipped(found.name, str(error)))
                self._count(run)
                continue
            states.append(FileState(len(data), found.stamp, hashlib.sha256(data).hexdigest()))
            yield found.name, data

    def _write(self, batch: Sequence[tuple[SourceFile, FileState]], run: _Run) -> None:
        if not batch:
            return
        withhold = not self._workspace.settings.include_secrets
        files = []
        for file in masked((file for file, _ in batch), self._executor, withhold=withhold):
            files.append(file)
            self._count(run)
        with self._catalog.transaction():
            for file, (_, state) in zip(files, batch, strict=True):
                self._catalog.put_file(file, state)
                run.written.add(file.path)

    def _trusted(self) -> tuple[str | None, ...]:
        """Return what changes with the trusted files and with who vouches for them."""
        return self._catalog.meta(TRAINED_ON), self._catalog.meta(SIGNED_TREES)

    def repair_if_alone(self) -> None:
        """Repair small leftovers of a crash, unless another process is indexing, which owns the intents."""
        if self._catalog.intended() > REPAIRED_BY_A_QUERY or self._catalog.meta("embedding") is None:
            return
        with self._workspace.writing() as alone:
            if alone:
                self.repair()

    def repair(self, run: _Run | None = None) -> None:
        """Write the catalog's intended changes to the vector store; also completes them after a crash."""
        run = run or _Run()
        total = self._catalog.intended()
        done = 0
        while intents := self._catalog.intents(CHUNKS_A_BATCH):
            self._progress("vectors", done, total)
            vectors = self._workspace.vectors
            chunks = {
                id_: chunk for id_, chunk in self._catalog.chunks(intents.write).items() if retrievable(chunk)
            }
            if chunks:
                rows = [row_of(id_, chunk) for id_, chunk in chunks.items()]
                vectors.add(rows, self._embed(list(chunks.values()), run))
            if intents.delete:
                vectors.delete(intents.delete)
            self._catalog.clear_intents([*intents.write, *intents.delete])
            done += len(intents.write)
            run.added += len(chunks)
            run.removed += len(intents.delete)
        if total:
            self._progress("vectors", total, total)

    def _embed(self, chunks: Sequence[Chunk], run: _Run) -> Vectors:
        """Return a row for each chunk; repeated texts are embedded once."""
        texts = [retrieval_text(chunk) for chunk in chunks]
        missing = [text for text in dict.fromkeys(texts) if text not in run.vectors]
        if len(run.vectors) + len(missing) > CACHED_VECTORS:
            run.vectors.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            run.vectors.update(zip(missing, self._workspace.embedding.embed(missing), strict=True))
        return np.stack([run.vectors[text] for text in texts])

    def _restore_vectors(self, run: _Run) -> None:
        """Schedule entries missing in the vector store to be written again."""
        vectors, due = self._workspace.vectors, self._catalog.totals().vectors
        held = vectors.count()
        if held == due or (held > due and self._workspace.settings.remote):
            return
        missing = self._catalog.ids() - vectors.ids()
        with self._catalog.transaction():
            self._catalog.intend_writes(missing)
        before = run.added
        self.repair(run)
        run.restored = run.added - before

    def _remove_vanished(self, scopes: Sequence[str], present: set[str]) -> None:
        vanished = [
            name
            for name in self._catalog.files()
            if name not in present and any(below(name, scope) for scope in scopes)
        ]
        if vanished:
            with self._catalog.transaction():
                for name in vanished:
                    self._catalog.remove_file(name)

    def _report(
        self, run: _Run, outcome: VerdictCounts, budget: BudgetReport, coverage: SpecCoverage, checked: int
    ) -> IndexReport:
        manifest = self._workspace.manifest
        files = self._catalog.files()
        level = self._workspace.level
        defense = self._workspace.settings.defense
        too_low = below_level(level, defense.required_level) if defense.enable_behavior else ""
        return IndexReport(
            files=len(files),
            chunks=self._catalog.count(),
            searchable=self._catalog.totals().vectors,
            added=run.added,
            removed=run.removed,
            unchanged=run.unchanged,
            skipped=tuple(run.skipped),
            secrets=tuple(
                WithheldLines(chunk.path, chunk.start_line, chunk.end_line, chunk.secrets, chunk.withheld)
                for chunk in self._catalog.holding_secrets()
            ),
            by_lines=tuple(path for path in self._catalog.unparsed() if not is_prose(path)),
            notes=tuple(run.notes),
            trusted_files=0 if manifest is None else len(manifest.files),
            manifest_unsigned=manifest is not None and manifest.unsigned,
            signed_by=() if manifest is None else manifest.signed_by,
            coverage=coverage,
            checked=checked,
            verdicts=outcome.verdicts,
            convicted=outcome.convicted,
            demoted=outcome.demoted,
            sandbox_level=level,
            embedding=self._catalog.meta("embedding") or "",
            seconds=0.0,
            warnings=(*filter(None, [too_low, budget.unfinished]), *self._workspace.warnings),
            budget=budget,
        )
