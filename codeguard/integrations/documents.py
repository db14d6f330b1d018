"""Judge documents that codeguard did not index: what evidence there is about a text, and how it ranks.

A document is judged as a file of its own. What stands around it in the store
(its id, its metadata, its neighbours) has no part in it, but for a language
that its text does not give away.
"""

from __future__ import annotations

import re
import textwrap
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings, below_level
from codeguard.corpus.secrets import mask_secrets
from codeguard.corpus.syntax import parse
from codeguard.errors import CorpusError, SandboxWarning
from codeguard.index.behavior_reports import BehaviorReports
from codeguard.index.file_tasks import chunk_one, masked, secrets_in
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.index.static_evidence import evidence_alone
from codeguard.index.workspace import stamp
from codeguard.models import (
    DETECTOR_ERROR,
    NOT_YET,
    Chunk,
    ChunkKind,
    Confidence,
    Evidence,
    OnDisk,
    Severity,
    SourceFile,
    Span,
    Trust,
    text_digest,
)
from codeguard.ranking.defense import DefenseManager
from codeguard.ranking.reranking import Judged, Ranked, rank
from codeguard.ranking.scoring import standardise
from codeguard.ranking.search import BehaviorService
from codeguard.ranking.signals import load_signals
from codeguard.ranking.signals.base import Moment, Signal, SignalServices, Subject
from codeguard.trust import VerifiedManifest
from codeguard.trust.acceptances import ACCEPTED_NAME, load_acceptances
from codeguard.workers.processes import default_workers, send
from codeguard.workers.tasks import ItemBounds, Run, by_values, encoded

KEPT_DOCUMENTS = 50_000  # whose evidence stays in memory
LONGEST = 1 << 20  # characters of a document; a longer one is judged unread
PARSING_S = 1.0  # of the processor, to find out whether a document is Python
MASKED = "codeguard_masked"  # in the metadata of a document whose text is shown without its secrets
DEMOTED = (
    "codeguard_demoted"  # in the metadata of a document that ranks behind all those without a severe finding
)
CHANGED = "codeguard_changed"  # in the metadata of a document whose text is that of a trusted file no longer
LANGUAGE_KEYS = ("language", "lang")  # of a document's metadata
EXTENSIONS = {
    "bash": ".sh", "c": ".c", "cpp": ".cpp", "csharp": ".cs", "go": ".go", "java": ".java",
    "javascript": ".js", "js": ".js", "php": ".php", "python": ".py", "py": ".py", "ruby": ".rb",
    "rust": ".rs", "ts": ".ts", "tsx": ".tsx", "typescript": ".ts",
}  # fmt: skip

_PYTHON_LINE = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class|import|from)[ \t]", re.MULTILINE)


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
        "reasons": [part.reason for part in item.evidence if part.penalty or part.convicts or part.demotes],
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
            self._manifest, self._listed = manifest, _listed(manifest)
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
        name = _name_for(text, document.metadata or {})
        key = (text_digest(text), name, differs)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        unchecked = self._unchecked
        found = self._examined(document, text, name, differs=differs)
        if self._unchecked == unchecked and not any(map(_passing, found[3])):
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
        whole = _whole(text, digest)
        trust = Trust.TRUSTED if text and digest in self._listed else Trust.UNLISTED
        if differs:
            trust = Trust.MODIFIED
        if document.text is None or len(text) > LONGEST:
            why = (
                "the store has no text of it" if document.text is None else f"{len(text)} characters of text"
            )
            return trust, whole, _file_of(whole), (_unreadable(why),)
        try:
            (file,) = masked([chunk_one(name, textwrap.dedent(text).encode("utf-8", "replace"))])
        except CorpusError as error:
            return trust, whole, _file_of(whole), (_unreadable(str(error)),)
        parts = [
            part for chunk in file.chunks for part in self._lasting.evidence(Subject(chunk, file, trust))
        ]
        named = next((chunk for chunk in file.chunks if chunk.symbol), None)
        shown = replace(
            whole,
            symbol=named.symbol if named is not None else "",
            kind=named.kind if named is not None else whole.kind,
            language=file.language,
        )
        return trust, shown, file, _worst(parts)


def _gravity(part: Evidence) -> tuple[bool, bool, float]:
    return part.convicts, part.demotes, part.penalty


def _worst(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the heaviest evidence of each rule, so that a long document is not worse for its length."""
    kept: dict[tuple[str, str], Evidence] = {}
    for part in evidence:
        key = (part.signal, part.id)
        if key not in kept or _gravity(part) > _gravity(kept[key]):
            kept[key] = part
    if any(part.convicts for part in kept.values()):  # a pass elsewhere in the document does not offset it
        return tuple(part for part in kept.values() if part.penalty >= 0)
    bonus = [part for part in kept.values() if part.id == "pass"]
    tested = {part.id for part in kept.values() if part.signal == "behavior"}
    if bonus and tested != {"pass"}:
        return tuple(part if part.id != "pass" else replace(part, penalty=0.0) for part in kept.values())
    return tuple(kept.values())


def _name_for(text: str, metadata: Mapping[str, Any]) -> str:
    """Return a file name for the text's language: Python if it parses, or the metadata's, or prose."""
    if _is_python(text):
        return "document.py"
    said = next((metadata[key] for key in LANGUAGE_KEYS if isinstance(metadata.get(key), str)), "")
    return f"document{EXTENSIONS.get(str(said).lower(), '.txt')}"


def _is_python(text: str) -> bool:
    """Return whether a text is Python: the author of the metadata must not choose what is checked."""
    if len(text) > LONGEST or not _PYTHON_LINE.search(text):
        return False
    payload = encoded(textwrap.dedent(text).encode("utf-8", "replace").decode())
    (answer,) = send(default_workers(), python_task, [payload], None, ItemBounds(PARSING_S)).result()
    return bool(answer.ended) or answer.value is True


def python_task() -> Run:
    """Return whether texts parse as Python."""

    def parses(text: str) -> Iterator[object]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parse(text)
                yield True
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                yield False

    return by_values(parses)


def _listed(manifest: VerifiedManifest | None) -> dict[str, list[str]]:
    """Return the paths that hold each listed text, a whole file or a chunk."""
    listed: dict[str, list[str]] = {}
    for path, entry in () if manifest is None else manifest.files.items():
        for digest in {entry.sha256, *entry.chunks}:
            listed.setdefault(digest, []).append(path)
    return listed


def _lasts(signal: Signal) -> bool:
    return signal.moment is Moment.INDEX or signal.name == "provenance"


def _passing(part: Evidence) -> bool:
    """Return whether evidence is temporary: an error that may not recur, or a check not done yet."""
    return part.id in (DETECTOR_ERROR, NOT_YET) or part.measurements.get("verdict") == "error"


def _unreadable(why: str) -> Evidence:
    return Evidence(
        signal="documents",
        id=DETECTOR_ERROR,
        penalty=0.0,
        reason=f"cannot be judged: {why}",
        demotes=True,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
    )


def _whole(text: str, digest: str) -> Chunk:
    """Return a document as a chunk with its secrets masked."""
    size = len(text.encode("utf-8", "surrogatepass"))
    secrets = secrets_in(text)
    return Chunk(
        path="",
        symbol="",
        kind=ChunkKind.MODULE,
        span=Span(1, text.count("\n") + 1, 0, size),
        text=mask_secrets(text, secrets),
        sha256=digest,
        language="text",
        secrets=tuple(sorted({item.rule for item in secrets})),
    )


def _file_of(chunk: Chunk) -> SourceFile:
    return SourceFile("", chunk.text, chunk.sha256, chunk.language, (chunk,), parsed=False)
