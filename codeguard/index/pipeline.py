"""From paths to an index: discover, chunk, embed, write, and check what is not trusted."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from codeguard.analysis.python.bindings import trust_in_file
from codeguard.behavior.version import POLICY_VERSION
from codeguard.config import Settings, below_level, check_exclusions
from codeguard.corpus.chunking.chunker import is_prose
from codeguard.corpus.discovery import EXCLUDED, Discovery, FoundFile, read_file
from codeguard.corpus.secrets import SCAN_VERSION
from codeguard.errors import CorpusError, NothingToDoError
from codeguard.index.behavior_reports import checkable, ensure_level, siblings_digest
from codeguard.index.catalog import EXCLUDED_GLOBS, SIGNED_TREES, TO_BE_READ_AGAIN, Catalog, FileState
from codeguard.index.embedding import Vectors, open_embedding
from codeguard.index.file_tasks import (
    MOST_STALE,
    PASSING,
    ExaminationRequest,
    ExaminedFile,
    chunked,
    examine_files,
    masked,
)
from codeguard.index.lexical import retrievable, retrieval_text
from codeguard.index.on_disk import found_on_disk, is_indexed
from codeguard.index.report import (
    FALSE_CLAIM,
    HARM,
    BudgetReport,
    IndexReport,
    Progress,
    SandboxBudget,
    Suspect,
    Trend,
    WithheldLines,
)
from codeguard.index.store import row_of
from codeguard.index.swapping import discard_unfinished
from codeguard.index.trusted import TrustUpdate, signed_trees
from codeguard.index.trusted_paths import below, refuse_gone
from codeguard.index.workspace import TRAINED_ON, Stage, Workspace
from codeguard.models import (
    CONVICTING,
    Chunk,
    Sibling,
    Skipped,
    SourceFile,
    SpecCoverage,
    Trust,
    Verdict,
    parts_digest,
)
from codeguard.trust.acceptances import load_acceptances
from codeguard.trust.verified import MANIFEST_NAME
from codeguard.weights import is_harm
from codeguard.workers.processes import ONE, answered, default_workers, open_executor

# Up to so many functions, those of one name go to one worker, which then runs their trusted namesake once. Of more,
# each worker runs most trusted functions anyway, and each file would be sent many times.
BY_NAME = 512
JUDGED = "judged/2:"
OF_TEXTS = (JUDGED, "own:", "near:")  # kinds of results of which each edit makes new ones


class VerdictCounts(NamedTuple):
    """What is convicted or demoted, and how many functions have each verdict of the behavior checker."""

    convicted: tuple[Suspect, ...]
    demoted: tuple[Suspect, ...]
    verdicts: dict[str, int]


class Judge:
    """Checks the untrusted files of an index.

    Results about a file are stored under the digest of the file and of everything its checks depend on, so
    that an unchanged file costs one catalog lookup.
    """

    def __init__(self, workspace: Workspace, progress: Progress, executor: Executor) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog
        self._progress = progress
        self._executor = executor
        self._due = 0  # files whose signals are needed
        self.budget = SandboxBudget.of(workspace.settings.defense)
        self.unfinished: list[str] = []  # a line for each file that `run` could not fully examine
        self._enabled = workspace.settings.defense.enable_behavior
        if self._enabled:
            ensure_level(workspace.catalog)
        self._static = workspace.static_evidence(workspace.settings.defense)
        self._shared = partial(workspace.material, self._static, executor)
        self._siblings = workspace.siblings()
        self._version = f"{workspace.epoch}\0{self._static.version}\0{self._enabled}"

    def run(self) -> int:
        """Run the static signals and behavior checks missing in the catalog; return how many checks ran."""
        missing = [path for path, key in self._untrusted() if self._catalog.analysis(key) is None]
        self._due = len(missing)
        self._static.prepare(self._files(missing), self._observed)
        if missing:
            self._progress("signals", self._due, self._due)
        self.unfinished = [f"{path}: {why}" for path, why in self._static.unfinished]
        if not self._enabled:
            return 0
        subjects = [
            (chunk, file)
            for file in self._files(missing)
            for chunk in file.chunks
            if self._checked(chunk, file)
        ]
        if len(subjects) <= BY_NAME:
            subjects.sort(key=lambda subject: subject[0].symbol.rpartition(".")[2])
        reports = self._workspace.reports(executor=self._executor, siblings=self._siblings)
        self.budget = reports.budget
        checked = reports.prepare(subjects, lambda done, total: self._progress("checks", done, total))
        self._workspace.ran_at = reports.ran_at or self._workspace.ran_at
        self.unfinished += [f"{chunk.path}: {report.reason}" for chunk, report in reports.failed]
        self._forget_stale()
        return checked

    def _forget_stale(self) -> None:
        """Drop results about earlier texts or beside other trusted code, where those are most of what is kept."""
        kept = {key for kind in OF_TEXTS for key in self._catalog.analysis_keys(kind)}
        if len(kept) <= MOST_STALE * self._catalog.count():
            return
        reports = self._workspace.reports(known_only=True, siblings=self._siblings)
        for path, key in self._untrusted():
            kept.discard(key)
            for file in self._files([path]):
                for chunk in file.chunks:
                    kept -= {reports.own_key(chunk, file), reports.near_key(chunk, file)}
        self._catalog.forget_analyses(kept)

    def _observed(self, requests: Iterable[ExaminationRequest]) -> Iterator[ExaminedFile]:
        """Yield the workers' observations; a file counts as done once its answer has arrived."""
        for done, seen in enumerate(
            examine_files(self._executor, self._shared, self._static.names, requests)
        ):
            self._progress("signals", done, self._due)
            yield seen

    def outcome(self) -> VerdictCounts:
        """Return the verdicts on the functions of the whole index."""
        accepted = load_acceptances(self._workspace.state)
        found: dict[str, list[Suspect]] = {"convicted": [], "demoted": []}
        verdicts: Counter[str] = Counter()
        made: dict[str, dict[str, Any]] = {}
        for path, key in self._untrusted():
            kept = self._catalog.analysis(key)
            if kept is None:
                kept, is_whole = self._look(path)
                made |= {key: kept} if is_whole else {}
            verdicts.update(kept["verdicts"])
            for group, suspects in found.items():
                for item in kept[group]:
                    overruled = accepted.of(item["sha256"])
                    suspects.append(Suspect(**item, accepted="" if overruled is None else overruled.say()))
        self._catalog.put_analyses(made)
        return VerdictCounts(tuple(found["convicted"]), tuple(found["demoted"]), dict(verdicts))

    def _look(self, path: str) -> tuple[dict[str, Any], bool]:
        """Return the verdicts on one file, and whether every check was done."""
        reports = self._workspace.reports(known_only=True, siblings=self._siblings)
        rows: dict[str, list[dict[str, Any]]] = {"convicted": [], "demoted": []}
        verdicts: Counter[str] = Counter()
        for file in self._files([path]):
            for chunk in file.chunks:
                trust = trust_in_file(self._workspace.manifest, chunk, file)
                harm = (item.reason for item in self._static(chunk, file, trust) if is_harm(item))
                if reason := next(harm, ""):
                    rows["demoted"].append(_suspect(chunk, HARM, reason))
            for chunk in (item for item in file.chunks if self._enabled and self._checked(item, file)):
                report = reports(chunk, file)
                # Nobody would expect a verdict on other languages, nor on declarations in a stub file.
                runs = chunk.language == "python" and not chunk.path.endswith(".pyi")
                if report.verdict is not Verdict.NO_SIGNAL or runs:
                    verdicts[FALSE_CLAIM if report.false_claim else report.verdict.value] += 1
                if report.verdict in CONVICTING or report.false_claim or report.unannounced:
                    group = "convicted" if report.verdict in CONVICTING else "demoted"
                    reason = "; ".join(filter(None, (report.reason, report.counterexample)))
                    rows[group].append(_suspect(chunk, report.word, reason))
        return {**rows, "verdicts": verdicts}, not reports.unchecked

    def coverage(self) -> SpecCoverage:
        """Return how much of the trusted code has expectations."""
        workspace = self._workspace
        given = sorted({place.partition("/")[0].removesuffix(".py") for place, _ in workspace.given})
        key = "coverage:" + parts_digest(
            POLICY_VERSION, workspace.specs_digest, workspace.trust_digest, *given
        )
        kept = self._catalog.analysis(key)
        if kept is None:
            from codeguard.index.evidence_tasks import TRUSTED_TOGETHER, coverage_task  # imports the checker

            # A worker has what it counts if it has checked a function.
            asked = self._executor, coverage_task, [(None, given)], ONE, TRUSTED_TOGETHER, self._shared
            ((_, answer),) = answered(*asked)
            kept = answer.value
            self._catalog.put_analyses({key: kept})
        return SpecCoverage(**kept)

    def _untrusted(self) -> Iterator[tuple[str, str]]:
        """Yield path and key of every file that the manifest does not cover."""
        manifest = self._workspace.manifest
        for path, state in self._catalog.files().items():
            if manifest is None or not manifest.covers(path, state.sha256):
                beside = self._imported.get(path, "")
                yield path, JUDGED + parts_digest(self._version, path, state.sha256, beside)

    @cached_property
    def _imported(self) -> dict[str, str]:
        """The digest of what each untrusted file imports from others of the index; none without behavior checks.

        It is kept with the paths of these files, and computed anew, from the texts, where one of them has changed
        or files were added or removed.
        """
        if not self._enabled:
            return {}
        manifest, states = self._workspace.manifest, self._catalog.files()
        covered = {
            path: manifest is not None and manifest.covers(path, state.sha256)
            for path, state in states.items()
        }
        listed = parts_digest(*sorted(states))
        found: dict[str, str] = {}
        made: dict[str, dict[str, Any]] = {}
        for path in (path for path, trusted in covered.items() if not trusted):
            key = "beside:" + parts_digest(listed, path, states[path].sha256)
            kept = self._catalog.analysis(key)
            if kept is None or kept["digest"] != _digest_of(path, kept["paths"], states, covered):
                paths = [item.path for file in self._files([path]) for item in self._siblings.of(file)]
                made[key] = kept = {"paths": paths, "digest": _digest_of(path, paths, states, covered)}
            found[path] = kept["digest"]
        self._catalog.put_analyses(made)
        return found

    def _files(self, paths: list[str]) -> Iterator[SourceFile]:
        for path in paths:
            file = self._catalog.file(path)
            if file is not None:
                yield file

    def _checked(self, chunk: Chunk, file: SourceFile) -> bool:
        return checkable(chunk) and trust_in_file(self._workspace.manifest, chunk, file) is not Trust.TRUSTED


def _suspect(chunk: Chunk, verdict: str, reason: str) -> dict[str, Any]:
    named = {name: getattr(chunk, name) for name in ("path", "symbol", "sha256")}
    return {**named, "line": chunk.start_line, "verdict": verdict, "reason": reason}


def _digest_of(
    path: str, imported: Iterable[str], states: Mapping[str, FileState], covered: Mapping[str, bool]
) -> str:
    others = [Sibling(other, states[other].sha256, trusted=covered[other]) for other in imported]
    return siblings_digest(path, others)


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
