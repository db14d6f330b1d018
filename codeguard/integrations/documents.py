"""Judge documents that codeguard did not index: what evidence there is about a text, and how it ranks.

A document is judged as a file of its own. What stands around it in the store
(its id, its metadata, its neighbours) has no part in it, but for a language
that its text does not give away.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings, below_level
from codeguard.errors import SandboxWarning
from codeguard.index.file_tasks import compared
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.report import SandboxBudget
from codeguard.index.static_evidence import StaticEvidence
from codeguard.index.workspace import stamp
from codeguard.ranking.alone import BehaviorService, services_of
from codeguard.ranking.defense import DefenseManager, DefenseOutcome, PlainCandidate
from codeguard.ranking.documents import name_for
from codeguard.ranking.reranking import Ranked
from codeguard.ranking.scoring import by_urgency
from codeguard.ranking.signals.base import SignalServices
from codeguard.trust.acceptances import ACCEPTED_NAME
from codeguard.trust.verified import VerifiedManifest
from codeguard.workers.tasks import Shared

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
_LOCATION = ("path", "symbol", "kind", "start_line", "end_line", "sha256", "masked")
_JUDGED = ("trust", "on_disk", "verdict", "convicted", "demoted", "penalty", "score")


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
    known = item.to_json()
    copies = [f"{copy.chunk.path}:{copy.chunk.start_line}" for copy in item.copies[:MOST_COPIES]]
    return {name: known[name] for name in _LOCATION} | ({"copies": copies} if copies else {})


def verdict_of(item: Ranked) -> dict[str, Any]:
    """Return the evidence about a text, for a framework's metadata; `reasons` are those of the penalties."""
    known = item.to_json()
    against = [part for part in by_urgency(item.evidence) if part.penalty or part.convicts or part.demotes]
    return {name: known[name] for name in _JUDGED} | {"reasons": [part.reason for part in against]}


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
        self._behavior = BehaviorService()
        self._manager = DefenseManager(self.config, signals=())

    @property
    def wait_s(self) -> float:
        """The seconds that a store has for an answer."""
        return (Settings() if self._guard is None else self._guard.settings).wait_s

    def judge(self, documents: Sequence[StoredText]) -> DefenseOutcome:
        """Return documents ordered and, in mode "drop", filtered; the input order does not matter."""
        self._renew()
        if self._guard is not None:
            self._behavior.reports.budget.coming = len(documents)
        # Paths are the store's word, and so are ids: neither has a part in what is found.
        outcome = self._manager.apply(
            PlainCandidate(
                item.id,
                item.text,
                round(item.distance or 0.0, 6),
                "",
                name_for(item.text or "", item.metadata or {}),
            )
            for item in documents
        )
        if self._guard is not None and self.config.enabled("behavior"):
            warn_of_level(self._guard.workspace.level, self._guard.settings.defense.required_level)
        return outcome

    def _renew(self) -> None:
        """Give the checks a new budget, and drop results of another manifest or other models."""
        if self._guard is None:
            if not self._made_for:
                static = StaticEvidence(
                    self.config.weights,
                    enabled=self.config.enabled,
                    material=lambda made: Shared.of_values(compared(None, made.names)),
                )
                self._make(self._own_manifest, SignalServices(static=static))
                self._made_for = (self._own_manifest,)
            return
        workspace = self._guard.workspace
        workspace.refresh()
        parts = (self._own_manifest or workspace.manifest, workspace.perplexity)
        files = workspace.catalog.totals().macs  # what a document imports may have changed
        made_for = (*parts, stamp(workspace.state / ACCEPTED_NAME), files)
        if made_for != self._made_for:
            self._made_for = made_for
            self._make(parts[0], services_of(workspace, self.config, self._behavior))
        if self._own_manifest is None:
            self._manager.disk = IndexOnDisk(workspace.catalog, workspace.indexed_paths)
        self._behavior.reports = workspace.reports()
        self._behavior.reports.budget = SandboxBudget.of(self.config)

    def _make(self, manifest: VerifiedManifest | None, services: SignalServices) -> None:
        self._manager = DefenseManager(
            self.config, manifest=manifest, services=services, remember=True, paths_unknown=True
        )
