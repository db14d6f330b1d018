"""Search: fetch candidates by vectors and words, judge them, and grow the set until it holds k presentable files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codeguard import fusion
from codeguard.acceptance import ACCEPTED_NAME, load_acceptances
from codeguard.checks import BehaviorReports
from codeguard.config import DefenseConfig
from codeguard.defense import Candidate, DefenseManager, DefenseOutcome
from codeguard.models import CheckReport, Chunk, SourceFile
from codeguard.rerank import Ranking, one_per_file
from codeguard.signals import Signal, load_signals
from codeguard.workspace import Workspace

Vector = NDArray[np.float32]
KEPT_MANAGERS = 8  # each of another configuration
KEPT_CHUNKS = 20_000
KEPT_VECTORS = 10_000
KEPT_CHARACTERS = 32 << 20  # of files that stay in memory from one query to the next
LEXICAL_DEPTH = 4  # times the candidates: the deeper, the more of the vectors' hits have a score of their own


@dataclass(frozen=True, slots=True)
class Question:
    """One query on its way: its vector, and how well its words fit, best first, for at most `depth` chunks."""

    text: str
    vector: Vector
    scores: Mapping[str, float]
    depth: int


class Searcher:
    """Answers queries over one workspace; keeps what it read for as long as the catalog stays as it is."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lexical = ThreadPoolExecutor(1, thread_name_prefix="lexical")
        self._signals: tuple[Signal, ...] | None = None
        self._generation: tuple[int, ...] = ()
        self._trust: tuple[object, object] = (None, None)
        self._epoch = ""
        self._files: OrderedDict[str, SourceFile | None] = OrderedDict()
        self._kept_characters = 0
        self._chunks: dict[str, Chunk] = {}
        self._vectors: dict[str, Vector] = {}
        self._behavior = BehaviorService()
        self._managers: list[tuple[DefenseConfig, bool, DefenseManager]] = []

    def rank_all(
        self, texts: Sequence[str], config: DefenseConfig, k: int, *, defense: bool
    ) -> list[Ranking]:
        """Return the ranking of each query."""
        self._renew()
        weight = self._weight()
        depth = LEXICAL_DEPTH * config.fetch_multiplier * k if weight else 0
        # The words are looked up while the model computes: both leave Python to others meanwhile.
        scores = [self._lexical.submit(self._scores, text, depth) for text in texts]
        vectors = self._workspace.embedding.embed(list(texts))
        return [
            self._rank(Question(text, vector, found.result(), depth), config, k, defense)
            for text, vector, found in zip(texts, vectors, scores, strict=True)
        ]

    def close(self) -> None:
        """End the thread."""
        self._lexical.shutdown()

    def _scores(self, text: str, depth: int) -> dict[str, float]:
        return self._workspace.catalog.lexical_scores(text, depth) if depth else {}

    def _weight(self) -> float:
        chosen = self._workspace.settings.lexical_weight
        return fusion.weight_for(self._workspace.embedding.identity) if chosen is None else chosen

    def _renew(self) -> None:
        """Forget what was read where the catalog or the trust has changed since."""
        workspace = self._workspace
        trust = (workspace.manifest, workspace.perplexity)
        generation = (*workspace.catalog.generation(), *stamp(workspace.state / ACCEPTED_NAME))
        if generation == self._generation and all(
            old is new for old, new in zip(self._trust, trust, strict=True)
        ):
            return
        self._files.clear()
        self._chunks.clear()
        self._vectors.clear()
        self._managers.clear()
        self._kept_characters = 0
        self._epoch = workspace.epoch
        self._trust, self._generation = trust, generation

    def _manager(self, config: DefenseConfig, defense: bool) -> DefenseManager:
        for known, defended, manager in self._managers:
            if defended == defense and known == config:
                return manager
        services: dict[str, object] = {}
        signals: Sequence[Signal] = ()
        if defense:
            if self._signals is None:
                self._signals = load_signals()
            signals = self._signals
            services["behavior"] = self._behavior
            services["static"] = self._workspace.static_evidence(config)
            services["acceptances"] = load_acceptances(self._workspace.state)
            if self._workspace.perplexity is not None:
                services["perplexity"] = self._workspace.perplexity
        manager = DefenseManager(
            config, manifest=self._workspace.manifest, services=services, signals=signals, remember=True
        )
        self._managers = [*self._managers[-KEPT_MANAGERS:], (config, defense, manager)]
        return manager

    def _rank(self, question: Question, config: DefenseConfig, k: int, defense: bool) -> Ranking:
        warnings: dict[str, None] = {}
        manager = self._manager(config, defense)
        workspace = self._workspace
        reports = BehaviorReports(
            lambda: workspace.checker,
            self._epoch,
            workspace.catalog,
            config.query_budget_s,
            workspace.catalog.meta("sandbox_level") or "",
        )
        self._behavior.reports = reports
        count = config.fetch_multiplier * k
        limit = max(count, config.max_candidates)
        while True:
            found, exhausted = self._retrieve(question, count, warnings)
            outcome = manager.apply(found)
            if exhausted or _enough(outcome, k, config) or count >= limit:
                break
            count = min(limit, count * 2)
        if not exhausted and not _enough(outcome, k, config):
            warnings[f"fewer than {k} files remain among the {limit} nearest chunks (max_candidates)"] = None
        if reports.out_of_budget:
            manager.forget()
            warnings[
                f"{reports.out_of_budget} checks not run within {config.query_budget_s:g} s (query_budget_s)"
            ] = None
        return self._ranking(question.text, outcome, warnings, config, k, defense)

    def _retrieve(
        self, question: Question, count: int, warnings: dict[str, None]
    ) -> tuple[list[Candidate], bool]:
        """Return the `count` nearest candidates, and whether there are no others."""
        hits = self._workspace.vectors.nearest(question.vector, count)
        distances = {hit.id: hit.distance for hit in hits}
        scores = question.scores
        if len(scores) == question.depth and count * LEXICAL_DEPTH > question.depth:
            scores = self._scores(question.text, count * LEXICAL_DEPTH)
        by_words = [id_ for id_ in fusion.candidates(scores, count) if id_ not in distances]
        distances |= self._distances(question.vector, by_words)
        chunks = self._known_chunks(distances)
        documents = {hit.id: hit.document for hit in hits}
        self._check_store(documents, chunks, warnings)
        costs = fusion.fuse(
            {id_: round(distances[id_], 6) for id_ in chunks}, scores, self._weight() if scores else 0.0
        )
        nearest = sorted(costs, key=lambda id_: (costs[id_], distances[id_], id_))[:count]
        found = [
            Candidate(id_, chunks[id_], file, round(distances[id_], 6), costs[id_])
            for id_ in nearest
            if (file := self._file(chunks[id_].path)) is not None
        ]
        return found, len(hits) < count

    def _distances(self, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine distances of chunks that the vectors alone did not find; those without a vector are out."""
        missing = [id_ for id_ in ids if id_ not in self._vectors]
        if missing:
            if len(self._vectors) > KEPT_VECTORS:
                self._vectors.clear()
                missing = list(ids)
            self._vectors |= _unit(self._workspace.vectors.embeddings(missing))
        known = [id_ for id_ in ids if id_ in self._vectors]
        if not known:
            return {}
        near = np.stack([self._vectors[id_] for id_ in known]) @ vector
        return dict(zip(known, (1.0 - near).tolist(), strict=True))

    def _check_store(
        self, documents: Mapping[str, str], chunks: Mapping[str, Chunk], warnings: dict[str, None]
    ) -> None:
        """Warn of what the store holds that the catalog does not know, or knows otherwise."""
        if self._strangers([id_ for id_ in documents if id_ not in chunks]):
            warnings["the vector store holds entries that codeguard did not write: ignored"] = None
        for id_, document in documents.items():
            chunk = chunks.get(id_)
            if chunk is not None and document != chunk.text:
                place = f"{chunk.path}:{chunk.start_line}"
                warnings[f"the vector store's text of {place} was rewritten: the indexed text is used"] = None

    def _strangers(self, unknown: Sequence[str]) -> set[str]:
        """Return which ids the catalog never knew; an index that runs beside us may just have deleted some."""
        if not unknown:
            return set()
        going = set(
            self._workspace.catalog.intents().delete
        )  # before the store is asked: deleted, then cleared
        return self._workspace.vectors.documents(unknown).keys() - going

    def _known_chunks(self, ids: Mapping[str, object]) -> dict[str, Chunk]:
        missing = [id_ for id_ in ids if id_ not in self._chunks]
        if missing:
            if len(self._chunks) > KEPT_CHUNKS:
                self._chunks.clear()
                missing = list(ids)
            self._chunks |= self._workspace.catalog.chunks(missing)
        return {id_: self._chunks[id_] for id_ in ids if id_ in self._chunks}

    def _file(self, path: str) -> SourceFile | None:
        if path in self._files:
            self._files.move_to_end(path)
            return self._files[path]
        file = self._workspace.catalog.file(path)
        self._files[path] = file
        self._kept_characters += len(file.text) if file is not None else 0
        while self._kept_characters > KEPT_CHARACTERS and len(self._files) > 1:
            _, oldest = self._files.popitem(last=False)
            self._kept_characters -= len(oldest.text) if oldest is not None else 0
        return file

    def _ranking(
        self,
        text: str,
        outcome: DefenseOutcome,
        warnings: Mapping[str, None],
        config: DefenseConfig,
        k: int,
        defense: bool,
    ) -> Ranking:
        return Ranking(
            query=text,
            k=k,
            mode=config.mode if defense else "none",
            order=config.order,
            store=self._workspace.settings.store,
            sandbox_level=self._workspace.catalog.meta("sandbox_level") or "",
            results=one_per_file(outcome.retained, k),
            baseline_results=one_per_file(outcome.baseline, k),
            ranking=outcome.retained,
            baseline=outcome.baseline,
            dropped=outcome.dropped,
            warnings=(*self._workspace.warnings, *warnings),
        )


class BehaviorService:
    """The behavior service of a manager that outlives a query: each query brings its own time budget."""

    reports: BehaviorReports

    def __call__(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return the report of one function."""
        return self.reports(chunk, file)


def _unit(vectors: Mapping[str, Vector]) -> dict[str, Vector]:
    """Return vectors at length 1, without those that a stranger made impossible."""
    lengths = {id_: float(np.linalg.norm(vector)) for id_, vector in vectors.items()}
    return {
        id_: vector / np.float32(lengths[id_])
        for id_, vector in vectors.items()
        if np.isfinite(lengths[id_]) and lengths[id_] > 0
    }


def stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file does: modification time and size, zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _enough(outcome: DefenseOutcome, k: int, config: DefenseConfig) -> bool:
    """Say whether k files would be shown even if mode "drop" removed what it removes."""
    presentable = {
        item.chunk.path
        for item in outcome.retained
        if not item.convicted and item.penalty <= config.drop_threshold
    }
    return len(presentable) >= k
