"""Judge documents that codeguard did not index: what evidence there is about a text, and how it ranks.

A document is judged as a file of its own. What stands around it in the store
(its id, its metadata, its neighbours) has no part in it, but for a language
that its text does not give away.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings, below_level
from codeguard.errors import SandboxWarning
from codeguard.index.behavior_reports import BehaviorReports
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.index.static_evidence import evidence_alone
from codeguard.index.workspace import stamp
from codeguard.models import (
    Chunk,
    Evidence,
    OnDisk,
    SourceFile,
    Trust,
    text_digest,
)
from codeguard.ranking.alone import BehaviorService
from codeguard.ranking.defense import DefenseManager
from codeguard.ranking.documents import Origins, is_passing, name_for, read_document
from codeguard.ranking.reranking import Judged, Ranked, rank
from codeguard.ranking.scoring import by_urgency, standardise
from codeguard.ranking.signals import load_signals
from codeguard.ranking.signals.base import Moment, Signal, SignalServices, Subject
from codeguard.trust.acceptances import ACCEPTED_NAME, load_acceptances
from codeguard.trust.verified import VerifiedManifest

KEPT_DOCUMENTS = 50_000  # whose evidence stays in memory
MASKED = "codeguard_masked"  # in the metadata of a document whose text is shown without its secrets
DEMOTED = (
    "codeguard_demoted"  # in the metadata of a document that ranks behind all those without a severe finding
)
CHANGED = "codeguard_changed"  # in the metadata of a document whose text is that of a trusted file no longer


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text from a third-party store: its id there, its distance to the query (None without a query)."""

    id: str
    text: str | None
    distance: float | None = None
    metadata: Mapping[str, Any] | None = None


MOST_COPIES = 20  # places of the same text, named with a result


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The documents in their new order, and those that mode "drop" removed."""

    retained: tuple[Ranked, ...]
    dropped: tuple[Ranked, ...]


def warn_of_level(level: str, required: str) -> None:
    """Issue a Python warning if the sandbox was too weak: a drop-in's answer cannot say so."""
    if below := below_level(level, required):
        warnings.warn(below, SandboxWarning, stacklevel=3)


class Retrieval:
    """Serializes queries to a guard, for frameworks that query from several threads."""

    def __init__(self, guard: CodeGuard) -> None:
        self._guard = guard
        self._alone = threading.Lock()

    def ask(self, question: str, k: int, mode: str) -> tuple[Ranked, ...]:
        """Return the results of one query."""
        defense = self._guard.settings.defense
        with self._alone:
            ranking = self._guard.query(question, k, mode=mode)
        if defense.enabled("behavior"):
            warn_of_level(ranking.sandbox_level, defense.required_level)
        return ranking.results


def location_metadata(item: Ranked) -> dict[str, Any]:
    """Return the location of a result, and of the same text in other files, for a framework's metadata."""
    chunk = item.chunk
    copies = [f"{copy.chunk.path}:{copy.chunk.start_line}" for copy in item.copies[:MOST_COPIES]]
    return ({"copies": copies} if copies else {}) | {
        "path": chunk.path,
        "symbol": chunk.symbol,
        "kind": chunk.kind.value,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "sha256": chunk.sha256,
        "masked": chunk.masked,
    }


def verdict_of(item: Ranked) -> dict[str, Any]:
    """Return the evidence about a text, for a framework's metadata; `reasons` are those of the penalties."""
    return {
        "trust": item.trust.value,
        "on_disk": item.on_disk.value,
        "verdict": item.verdict,
        "convicted": item.convicted,
        "demoted": item.demoted,
        "penalty": item.penalty,
        "score": item.score,
        "reasons": [
            part.reason for part in by_urgency(item.evidence) if part.penalty or part.convicts or part.demotes
        ],
    }


class DocumentJudge:
    """Collects evidence about documents and orders them by it.

    Args:
        guard: an open guard whose trusted code, specs, sandbox and models are used. Without one a
            document is checked only by manifest, distance and static signals: nothing is run.
        manifest: a verified manifest, instead of the guard's. A document is trusted if its whole text is
            listed in the manifest; paths and names do not count.
        config: instead of the guard's; the default if there is no guard.
        mode: "drop" removes convicted documents and those above the threshold, "rerank" removes nothing.
    """

    def __init__(
        self,
        guard: CodeGuard | None = None,
        *,
        manifest: VerifiedManifest | None = None,
        config: DefenseConfig | None = None,
        mode: str = "drop",
    ) -> None:
        chosen = config or (guard.settings.defense if guard is not None else DefenseConfig())
        self.config = replace(chosen, mode=mode)
        self._guard = guard
        self._own_manifest = manifest
        self._made_for: tuple[object, ...] = ()
        self._kept_alive: tuple[object, ...] = ()  # objects whose ids are in _made_for
        self._known: OrderedDict[
            tuple[str, str, bool], tuple[Trust, Chunk, SourceFile, tuple[Evidence, ...]]
        ] = OrderedDict()
        self._manifest: VerifiedManifest | None = None
        self._listed: Mapping[str, Sequence[str]] = {}
        self._disk: IndexOnDisk | None = None
        self._epoch = ""
        self._behavior = BehaviorService()
        self._lasting = self._momentary = DefenseManager(self.config, signals=())

    @property
    def wait_s(self) -> float:
        """The seconds that a store has for an answer."""
        return (Settings() if self._guard is None else self._guard.settings).wait_s

    def judge(self, documents: Sequence[StoredText]) -> Verdicts:
        """Return documents ordered and, in mode "drop", filtered; the input order does not matter."""
        self._renew()
        if self._guard is not None:
            self._behavior.reports.budget.coming = len(documents)
        costs = [document.distance if document.distance is not None else 0.0 for document in documents]
        judged = [
            self._judged(document, cost, z)
            for document, cost, z in zip(documents, costs, standardise(costs), strict=True)
        ]
        retained, dropped, _ = rank(
            judged, order=self.config.order, mode=self.config.mode, drop_threshold=self.config.drop_threshold
        )
        if self._guard is not None and self.config.enabled("behavior"):
            warn_of_level(self._guard.workspace.level, self._guard.settings.defense.required_level)
        return Verdicts(retained, dropped)

    def _renew(self) -> None:
        """Give the checks a new budget, and drop results of another manifest or other models."""
        guard, manifest = self._guard, self._own_manifest
        parts: tuple[object, ...] = (manifest,)
        accepted: tuple[object, ...] = ()
        if guard is not None:
            workspace = guard.workspace
            workspace.refresh()
            manifest = manifest or workspace.manifest
            parts = (manifest, workspace.perplexity)
            files = workspace.catalog.totals().macs  # what a document imports may have changed
            accepted = (stamp(workspace.state / ACCEPTED_NAME), files)
        made_for = (*map(id, parts), *accepted)
        if made_for != self._made_for:
            self._made_for, self._kept_alive = made_for, parts
            self._known.clear()
            self._manifest, self._listed = manifest, Origins(manifest).listed
            self._epoch = guard.workspace.epoch if guard is not None else ""
            self._make_managers()
        if guard is not None:
            workspace = guard.workspace
            if self._own_manifest is None:
                self._disk = IndexOnDisk(workspace.catalog, workspace.indexed_paths)
            self._behavior.reports = BehaviorReports(
                workspace.checks,
                self._epoch,
                workspace.catalog,
                budget=SandboxBudget.of(self.config),
                siblings=workspace.siblings(),
            )

    def _make_managers(self) -> None:
        if self._guard is not None:
            workspace = self._guard.workspace
            services = SignalServices(
                behavior=self._behavior,
                perplexity=workspace.perplexity,
                static=workspace.static_evidence(self.config),
                acceptances=load_acceptances(workspace.state),
            )
        else:
            services = SignalServices(static=evidence_alone(self.config.weights, self.config.enabled))
        signals = load_signals()
        lasting = [item for item in signals if _lasts(item)]
        passing = [item for item in signals if not _lasts(item)]
        self._lasting = DefenseManager(
            self.config, manifest=self._manifest, services=services, signals=lasting
        )
        self._momentary = DefenseManager(self.config, manifest=self._manifest, signals=passing)

    def _judged(self, document: StoredText, cost: float, z: float) -> Judged:
        on_disk = self._listed_on_disk(text_digest(document.text or ""))
        trust, chunk, file, evidence = self._found(document, differs=on_disk.differs)
        now = self._momentary.evidence(Subject(chunk, file, trust, document.distance, z))
        return Judged(document.id, chunk, trust, round(cost, 6), z, (*evidence, *now), on_disk=on_disk)

    def _listed_on_disk(self, digest: str) -> OnDisk:
        """Return how the trusted files that hold a text compare with the disk: one that is as indexed suffices."""
        if self._disk is None or digest not in self._listed:
            return OnDisk.ELSEWHERE
        states = [self._disk.state(path, trusted=True) for path in self._listed[digest][:MOST_COPIES]]
        return min(states, key=list(OnDisk).index)

    def _found(
        self, document: StoredText, *, differs: bool
    ) -> tuple[Trust, Chunk, SourceFile, tuple[Evidence, ...]]:
        text = document.text or ""
        name = name_for(text, document.metadata or {})
        key = (text_digest(text), name, differs)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        unchecked = self._unchecked
        found = self._examined(document, text, name, differs=differs)
        if self._unchecked == unchecked and not any(map(is_passing, found[3])):
            self._known[key] = found
            if len(self._known) > KEPT_DOCUMENTS:
                self._known.popitem(last=False)
        return found

    @property
    def _unchecked(self) -> int:
        return 0 if self._guard is None else self._behavior.reports.unchecked

    def _examined(
        self, document: StoredText, text: str, name: str, *, differs: bool
    ) -> tuple[Trust, Chunk, SourceFile, tuple[Evidence, ...]]:
        digest = text_digest(text)
        trust = Trust.TRUSTED if text and digest in self._listed else Trust.UNLISTED
        if differs:
            trust = Trust.MODIFIED
        read = read_document(document.text, name)
        return trust, read.whole, read.file, read.examine(self._lasting.evidence, trust, None, None)


def _lasts(signal: Signal) -> bool:
    return signal.moment is Moment.INDEX or signal.name == "provenance"
