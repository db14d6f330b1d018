"""From paths to an index: discover, chunk, embed, write, judge."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from codeguard.catalog import FileState
from codeguard.chunktasks import chunked
from codeguard.discovery import FoundFile, discover, read_file
from codeguard.embedding.base import Vectors
from codeguard.embedtasks import embedded
from codeguard.errors import CorpusError, NothingToDoError
from codeguard.executor import Here, open_executor, worth_it
from codeguard.index_report import Convicted, IndexReport
from codeguard.judging import Judge
from codeguard.models import Chunk, Skipped, SourceFile
from codeguard.provenance import BUNDLE_NAME, MANIFEST_NAME
from codeguard.rebuilding import Found
from codeguard.retrieval_text import retrievable, retrieval_text
from codeguard.scopes import below, scopes_of
from codeguard.storerow import row_of
from codeguard.telling import Telling
from codeguard.trusting import REPLACED, Trusting
from codeguard.unchanged import forget, remember
from codeguard.workspace import Workspace

FILES_A_BATCH = 64
BYTES_A_POOL = 4_000_000  # less is chunked sooner than processes have started
CACHED_VECTORS = 100_000

Progress = Callable[[str, int, int], None]


@dataclass
class _Run:
    """What one run gathers on its way."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0
    changed: bool = False
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    vectors: dict[str, Vectors] = field(default_factory=dict)


class Indexer:
    """Brings an index up to date with the given paths.

    A run decides anew about what lies under its paths: what changed is
    replaced, what vanished is removed, and trust is what this run says.
    Files under other paths stay as they are.
    """

    def __init__(self, workspace: Workspace, progress: Progress = lambda stage, done, total: None) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog
        self._progress = progress
        self._executor: Executor = Here()

    def run(self, paths: Sequence[Path], trust: Sequence[Path], *, quarantine: bool = False) -> IndexReport:
        """Index `paths` and `trust`; files under `trust` are the team's own.

        Raises:
            CorpusError: a path that does not exist or cannot be read.
            NothingToDoError: not one file under the paths.
            StoreError, EmbeddingError: see there.
        """
        with self._workspace.writing(lambda: self._progress("waiting for another index of this store", 0, 1)):
            self._workspace.refresh()
            return self._run(paths, trust, quarantine)

    def _run(self, paths: Sequence[Path], trust: Sequence[Path], quarantine: bool) -> IndexReport:
        start = time.monotonic()
        run = _Run()
        trusting = Trusting(self._workspace)
        root = self._root()
        known = {name: (state.size, state.mtime_ns) for name, state in self._catalog.files().items()}
        discovery = discover([*paths, *trust], root=root, known=known)
        folders = [path.resolve() for path in trust]
        trees = trusting.signed_trees(folders, root)
        own = {tree.folder / name for tree in trees for name in (MANIFEST_NAME, BUNDLE_NAME)}
        found = tuple(item for item in discovery.files if item.path not in own)
        trusted_names = {
            item.name for item in found if any(item.path.is_relative_to(folder) for folder in folders)
        }
        run.skipped.extend(discovery.skipped)
        run.skipped.extend(
            Skipped(item.name, "signed manifest") for item in discovery.files if item.path in own
        )
        if not found:
            raise NothingToDoError(
                "no file to index",
                got=f"{len(discovery.skipped)} skipped",
                hint="see what was skipped, or give other paths",
            )
        settings = self._workspace.settings
        with open_executor(settings.jobs or os.cpu_count() or 1, settings.cluster) as executor:
            self._executor = executor
            forget(self._catalog)
            found_there = self._found_in_store()
            self._workspace.remember_make()
            self.repair(run)
            self._update_files(found, run)
            self._remove_vanished([*paths, *trust], root, {item.name for item in found}, run)
            scopes = scopes_of([*paths, *trust], root)
            trusting.update(trusted_names, {item.name for item in found}, trees, scopes, root.name)
            judge = Judge(self._workspace, self._progress, executor)
            checked = judge.run()
            convicted = judge.convicted()
            quarantined = self._quarantine(convicted if quarantine else (), run)
            passing = [*judge.unable(), *(found_there.lines(self._catalog) if found_there else ())]
            self._workspace.warnings.extend(passing)
        self._executor = Here()
        report = self._report(run, checked, judge, convicted, quarantined, time.monotonic() - start)
        # A run with nothing to do would not say so.
        if not passing and not any(line.endswith(REPLACED) for line in report.warnings):
            remember(self._catalog, settings, paths, trust, quarantine, discovery, report)
        return report

    def _found_in_store(self) -> Found | None:
        """Return what a server's store holds already where the catalog has just been made."""
        if not self._workspace.settings.remote or self._catalog.meta("store") is not None:
            return None
        self._progress("reading the store", 0, 1)
        return Found(self._workspace.vectors)

    def _root(self) -> Path:
        remembered = self._catalog.meta("root")
        if remembered is None:
            remembered = str(Path(self._workspace.settings.root or ".").resolve())
            self._catalog.set_meta("root", remembered)
        return Path(remembered)

    def _update_files(self, files: Sequence[FoundFile], run: _Run) -> None:
        known = self._catalog.files()
        changed = [
            item for item in files if known.get(item.name) is None or not _same(item, known[item.name])
        ]
        run.unchanged += len(files) - len(changed)
        states: deque[FileState] = deque()
        batch: list[tuple[SourceFile, FileState]] = []
        executor = worth_it(self._executor, sum(item.size for item in changed) >= BYTES_A_POOL)
        with Telling(self._workspace) as telling:
            sources = self._read(changed, known, states, run)
            for file in chunked(executor, sources):
                state = states.popleft()
                if isinstance(file, Skipped):
                    run.skipped.append(file)
                    continue
                run.notes.extend(f"{file.path}: {note}" for note in file.notes)
                batch.append((file, state))
                if len(batch) >= FILES_A_BATCH:
                    self._write(batch, telling, run)
                    batch = []
            self._write(batch, telling, run)
        self._progress("files", len(changed), len(changed))

    def _read(
        self,
        changed: Sequence[FoundFile],
        known: Mapping[str, FileState],
        states: deque[FileState],
        run: _Run,
    ) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of what has to be chunked, and put down its state."""
        for position, found in enumerate(changed):
            self._progress("files", position, len(changed))
            try:
                data = read_file(found)
            except CorpusError as error:  # it changed since it was found
                run.skipped.append(Skipped(found.name, str(error)))
                continue
            digest = hashlib.sha256(data).hexdigest()
            before = known.get(found.name)
            if before is not None and before.sha256 == digest:
                self._catalog.touch(found.name, found.mtime_ns)
                run.unchanged += 1
                continue
            states.append(FileState(len(data), found.mtime_ns, digest))
            yield found.name, data

    def _write(self, batch: Sequence[tuple[SourceFile, FileState]], telling: Telling, run: _Run) -> None:
        if not batch:
            return
        run.changed = True
        with self._catalog.transaction():
            for file, state in batch:
                self._catalog.put_file(file, state)
        self._tell(telling, run)

    def repair_if_alone(self) -> None:
        """Repair after a crash; where another process is indexing, the intents are its own."""
        if self._catalog.intents():
            with self._workspace.writing() as alone:
                if alone:
                    self.repair()

    def repair(self, run: _Run | None = None) -> None:
        """Tell the vector store what the catalog intends; after a crash this finishes what was begun."""
        run = run or _Run()
        with Telling(self._workspace) as telling:
            self._tell(telling, run)

    def _tell(self, telling: Telling, run: _Run) -> None:
        """Let the store be told what the catalog intends and nobody tells it yet."""
        intents = telling.untold(self._catalog.intents())
        if not intents:
            return
        telling.begin()
        kept_out = self._catalog.quarantined()
        chunks = {
            id_: chunk
            for id_, chunk in self._catalog.chunks(intents.write).items()
            if retrievable(chunk) and id_ not in kept_out
        }
        rows = [row_of(id_, chunk) for id_, chunk in chunks.items()]
        telling.tell(intents, rows, self._embed(list(chunks.values()), run) if rows else None)
        run.added += len(rows)
        run.removed += len(intents.delete)

    def _embed(self, chunks: Sequence[Chunk], run: _Run) -> Vectors:
        """Return a row for each chunk; a text that occurs twice is embedded once."""
        texts = [retrieval_text(chunk) for chunk in chunks]
        missing = [text for text in dict.fromkeys(texts) if text not in run.vectors]
        if len(run.vectors) + len(missing) > CACHED_VECTORS:
            run.vectors.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            name = self._catalog.meta("embedding_name") or ""
            vectors = embedded(self._executor, self._workspace.embedding, name, missing)
            run.vectors.update(zip(missing, vectors, strict=True))
        return np.stack([run.vectors[text] for text in texts])

    def _remove_vanished(self, paths: Sequence[Path], root: Path, present: set[str], run: _Run) -> None:
        scopes = scopes_of(paths, root)
        vanished = [
            name
            for name in self._catalog.files()
            if name not in present and any(below(name, scope) for scope in scopes)
        ]
        if vanished:
            run.changed = True
            with self._catalog.transaction():
                for name in vanished:
                    self._catalog.remove_file(name)
            self.repair(run)

    def _quarantine(self, convicted: Sequence[Convicted], run: _Run) -> int:
        """Keep the convicted out of the vector store, and let back in what no longer is."""
        wanted = {
            (item.path, item.symbol, item.sha256): f"{item.verdict}: {item.reason}"
            for item in convicted
            if not item.accepted
        }
        reasons: dict[str, str] = {}
        for path in {item.path for item in convicted}:
            for id_, chunk in self._catalog.chunks_of(path).items():
                reason = wanted.get((chunk.path, chunk.symbol, chunk.sha256))
                if reason is not None:
                    reasons[id_] = reason
        before = self._catalog.quarantined()
        if before.keys() != reasons.keys():
            with self._catalog.transaction():
                self._catalog.set_quarantine(reasons)
                self._catalog.intend_deletes(reasons.keys() - before.keys())
                self._catalog.intend_writes(before.keys() - reasons.keys() & self._catalog.ids())
            self.repair(run)
        return len(reasons)

    def _report(
        self,
        run: _Run,
        checked: int,
        judge: Judge,
        convicted: tuple[Convicted, ...],
        quarantined: int,
        seconds: float,
    ) -> IndexReport:
        manifest = self._workspace.manifest
        files = self._catalog.files()
        return IndexReport(
            files=len(files),
            chunks=self._catalog.count(),
            added=run.added,
            removed=run.removed,
            unchanged=run.unchanged,
            skipped=tuple(run.skipped),
            by_lines=tuple(self._catalog.unparsed()),
            notes=tuple(run.notes),
            trusted_files=0 if manifest is None else len(manifest.files),
            manifest_unsigned=manifest is not None and manifest.unsigned,
            signed_by=() if manifest is None else manifest.signed_by,
            coverage=judge.coverage(),
            checked=checked,
            convicted=convicted,
            quarantined=quarantined,
            sandbox_level=self._catalog.meta("sandbox_level") or "",
            embedding=self._catalog.meta("embedding") or "",
            seconds=seconds,
            warnings=tuple(self._workspace.warnings),
        )


def _same(found: FoundFile, state: FileState) -> bool:
    return (state.size, state.mtime_ns) == (found.size, found.mtime_ns)
