"""What an index knows about every file, from stored results only: nothing is examined or run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from codeguard.index.catalog import FileState
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Chunk, SourceFile, Span, Trust
from codeguard.ranking.defense import Candidate, DefenseManager, trust_now
from codeguard.ranking.reranking import ChunkStanding, Ranked
from codeguard.ranking.signals.base import Check, SignalServices
from codeguard.trust.acceptances import load_acceptances


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of the index. `flagged` are its chunks with a decision, not `complete` if parts are not examined."""

    path: str
    size: int
    trust: Trust
    flagged: tuple[Ranked, ...] = ()
    complete: bool = True

    @property
    def worst(self) -> ChunkStanding:
        """The most urgent decision about one of its chunks."""
        return min(
            (item.standing for item in self.flagged), key=lambda each: each.place, default=ChunkStanding.NONE
        )


@dataclass(frozen=True, slots=True)
class Overview:
    """The files of an index by name; `left` counts those not read in time, which have no findings here."""

    files: tuple[KnownFile, ...]
    left: int = 0


class Inventory:
    """What is known about the files of one workspace, cached while it is valid; nothing is examined or run."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._basis: tuple[object, ...] = ()
        self._known: dict[tuple[str, str, Trust], KnownFile] = {}  # by path, digest and trust

    def overview(self, budget_s: float) -> Overview:
        """Return every file; reading their results stops after some seconds, and continues the next time."""
        end = time.monotonic() + budget_s
        manager = self._manager()
        disk = IndexOnDisk(self._workspace.catalog, self._workspace.indexed_paths)
        files, left, known = [], 0, {}
        for path, state in sorted(self._workspace.catalog.files().items()):
            trust = self._trust(path, state, disk)
            key = (path, state.sha256, trust)
            file = self._known.get(key)
            if file is None and time.monotonic() < end:
                file = self._read(path, state, trust, manager)
            if file is None:
                left += 1
                file = KnownFile(path, state.size, trust, complete=False)
            elif file.complete:
                known[key] = file
            files.append(file)
        self._known = known
        return Overview(tuple(files), left)

    def chunks(self, path: str) -> tuple[Ranked, ...]:
        """Return the chunks of a file that hold anything, with their evidence, in order; none for an unknown file."""
        return tuple(item for item in self._judged(path, self._manager()) if item.chunk.text.strip())

    def _manager(self) -> DefenseManager:
        workspace = self._workspace
        config = replace(workspace.settings.defense, mode="rerank")
        accepted = load_acceptances(workspace.state)
        static = workspace.static_evidence(config)
        basis = (workspace.epoch, static.version, accepted.entries)
        if basis != self._basis:
            self._basis, self._known = basis, {}
        services = SignalServices(
            behavior=_once_a_file(workspace.reports(known_only=True)),
            static=static,
            acceptances=accepted,
        )
        manager = DefenseManager(config, manifest=workspace.manifest, services=services)
        manager.known_only()
        return manager

    def _trust(self, path: str, state: FileState, disk: IndexOnDisk) -> Trust:
        manifest = self._workspace.manifest
        if manifest is None or path not in manifest.files:
            return Trust.UNLISTED
        if not manifest.covers(path, state.sha256):
            return Trust.MODIFIED
        return trust_now(Trust.TRUSTED, disk.state(path, trusted=True))

    def _read(self, path: str, state: FileState, trust: Trust, manager: DefenseManager) -> KnownFile:
        if trust is Trust.TRUSTED:  # trusted chunks have no findings
            return KnownFile(path, state.size, trust)
        chunks = self._judged(path, manager)
        flagged = tuple(item for item in chunks if item.standing)
        return KnownFile(path, state.size, trust, flagged, not any(item.not_yet for item in chunks))

    def _judged(self, path: str, manager: DefenseManager) -> tuple[Ranked, ...]:
        file = self._workspace.catalog.file(path)
        if file is None:
            return ()
        chunks = self._workspace.catalog.chunks_of(path)
        own = self._workspace.manifest is not None and self._workspace.manifest.covers(path, file.sha256)
        on_disk = IndexOnDisk(self._workspace.catalog, self._workspace.indexed_paths).state(path, trusted=own)
        outcome = manager.apply(
            Candidate(id_, chunk, file, 0.0, on_disk=on_disk) for id_, chunk in chunks.items()
        )
        return tuple(sorted(outcome.retained, key=lambda item: item.chunk.span.start_byte))


def _once_a_file(check: Check) -> Check:
    """Return a check that caches each function's report, which the evidence of all others needs."""
    path, known = "", dict[tuple[Span, str], CheckReport]()

    def ask(chunk: Chunk, file: SourceFile) -> CheckReport:
        nonlocal path
        if file.path != path:
            path = file.path
            known.clear()
        key = (chunk.span, chunk.symbol)
        if key not in known:
            known[key] = check(chunk, file)
        return known[key]

    return ask
