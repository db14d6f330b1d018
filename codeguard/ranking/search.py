"""Search: fetch candidates by vectors and words, judge them, and grow the set until it holds k presentable files."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from codeguard.config import DefenseConfig, below_level
from codeguard.errors import REBUILD, StoreError
from codeguard.index.behavior_reports import BehaviorReports, Siblings
from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.report import SandboxBudget
from codeguard.index.store import row_of
from codeguard.index.workspace import Stage, Workspace, stamp
from codeguard.models import Chunk, OnDisk, SourceFile, Trust
from codeguard.ranking import scoring
from codeguard.ranking.alone import BehaviorService, services_of
from codeguard.ranking.defense import Candidate, DefenseManager, DefenseOutcome
from codeguard.ranking.file_context import with_context
from codeguard.ranking.own_code import OwnCode, nearest_own
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, distinct, has_distinct
from codeguard.ranking.restated import restated
from codeguard.ranking.signals import load_signals, refuse_unknown
from codeguard.ranking.signals.base import Signal, SignalServices
from codeguard.trust.acceptances import ACCEPTED_NAME

T = TypeVar("T")
Vector = NDArray[np.float32]
KEPT_MANAGERS = 8  # each of another configuration
KEPT_FILES = 200  # that stay in memory from one query to the next
KEPT_CHUNKS = 10_000  # and as many vectors
SAMPLE = 20  # own entries that are looked for where a foreign one was met
ATTEMPTS = 3
NO_DISTANCE = 1.0  # of a chunk from a query where nothing has a vector
STRANGE = "the vector store holds entries that codeguard did not write: ignored"
NO_COSINE = "the vector store gives distances that are not those of its vectors: run codeguard store verify"
CHANGED_SINCE = {OnDisk.CHANGED: "changed", OnDisk.GONE: "deleted"}
SLACK = 1e-3  # by which a rounded cosine distance leaves the range from 0 to 2
LEXICAL_DEPTH = 4  # times the candidates: the deeper, the more of the vectors' hits have a score of their own
LEAST_SEARCHED = (
    60  # chunks of each search: what a trusted file says can bring one of them among the candidates
)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query with its vector, None while the index has none, and the scores of its words, best first.

    The scores are of at most `depth` chunks.
    """

    text: str
    vector: Vector | None
    scores: Mapping[str, float]
    depth: int


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The results of both searches, `searched` chunks each: the ids, nearest first, and their data.

    With `all_of_them`, the vector store has no more.
    """

    searched: int
    nearest: Sequence[str]
    chunks: Mapping[str, Chunk]
    distances: Mapping[str, float]
    costs: Mapping[str, float]
    behind: Mapping[str, str]
    all_of_them: bool


class Searcher:
    """Answers queries over one workspace; keeps what it read for as long as the catalog stays as it is."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._signals: tuple[Signal, ...] | None = None
        self._generation: tuple[object, ...] = ()
        self._trust: tuple[object, ...] = (None, None, None)
        self._epoch = ""
        self._siblings = Siblings()
        self._made_with: str | None = None  # the embedding of the index
        self._level = ""
        self._disk = IndexOnDisk(workspace.catalog, ())
        self._stage = Stage.COMPLETE
        self._file: Callable[[str], SourceFile | None] = workspace.catalog.file
        self._chunks: dict[str, Chunk] = {}
        self._trust_in: dict[tuple[str, str], Trust] = {}  # by id, and digest of the file that has it
        self._vectors: dict[str, Vector] = {}
        self._behavior = BehaviorService()
        self._managers: list[tuple[DefenseConfig, bool, DefenseManager]] = []
        self._store_warnings: tuple[str, ...] = ()
        self._counted: object = None  # the state of catalog and store that these warnings are of
        self._refused = 0
        self._under_way = False

    def rank_all(
        self,
        texts: Sequence[str],
        config: DefenseConfig,
        k: int,
        *,
        defense: bool,
        under_way: bool = False,
    ) -> list[Ranking]:
        """Return the ranking of each query.

        While an index is `under_way` nothing is examined here that it will come to: what is not known yet is
        said of each result, and counts as no pass.
        """
        self._under_way = under_way
        self._renew()
        self._disk.look_again()
        words_alone = self._made_with is None  # words are all that there is so far
        if not words_alone:
            self._check_vectors()
        weight = 1.0 if words_alone else self._weight()
        depth = LEXICAL_DEPTH * max(LEAST_SEARCHED, config.fetch_multiplier * k) if weight else 0
        vectors = [None] * len(texts) if words_alone else self._workspace.embedding.embed(list(texts))
        return [
            self._rank(PreparedQuery(text, vector, self._scores(text, depth), depth), config, k, defense)
            for text, vector in zip(texts, vectors, strict=True)
        ]

    def _scores(self, text: str, depth: int) -> dict[str, float]:
        return self._workspace.catalog.lexical_scores(text, depth) if depth else {}

    def _weight(self, query: PreparedQuery | None = None) -> float:
        if query is not None and query.vector is None:
            return 1.0
        chosen = self._workspace.settings.lexical_weight
        return scoring.weight_for(self._made_with or "") if chosen is None else chosen

    def _renew(self) -> None:
        """Forget what was read where the catalog or the trust has changed since, or is another one."""
        workspace = self._workspace
        trust = (workspace.catalog, workspace.manifest, workspace.perplexity)
        generation = (*workspace.catalog.generation(), stamp(workspace.state / ACCEPTED_NAME))
        if generation == self._generation and all(
            old is new for old, new in zip(self._trust, trust, strict=True)
        ):
            return
        workspace.catalog.check_totals()
        self._file = lru_cache(KEPT_FILES)(workspace.catalog.file)
        for kept in (self._chunks, self._trust_in, self._vectors, self._managers):
            kept.clear()
        self._disk = IndexOnDisk(workspace.catalog, workspace.indexed_paths)
        self._epoch = workspace.epoch
        self._siblings = workspace.siblings()
        self._made_with = workspace.catalog.meta("embedding")
        self._level = workspace.catalog.meta("sandbox_level") or ""
        self._stage = workspace.stage()
        self._trust, self._generation = trust, generation

    def _manager(self, config: DefenseConfig, defense: bool) -> DefenseManager:
        for known, defended, manager in self._managers:
            if defended == defense and known == config:
                return manager
        services = SignalServices()
        signals: Sequence[Signal] = ()
        if defense:
            refuse_unknown(config)
            if self._signals is None:
                self._signals = load_signals()
            signals = self._signals
            services = services_of(self._workspace, config, self._behavior)
            self._refused = services.acceptances.refused
        manager = DefenseManager(
            config, manifest=self._workspace.manifest, services=services, signals=signals, remember=True
        )
        self._managers = [*self._managers[-KEPT_MANAGERS:], (config, defense, manager)]
        return manager

    def _rank(self, query: PreparedQuery, config: DefenseConfig, k: int, defense: bool) -> Ranking:
        warnings: dict[str, None] = dict.fromkeys(self._store_warnings)
        manager = self._manager(config, defense)
        workspace = self._workspace
        manager.known_only(self._under_way)
        reports = BehaviorReports(
            workspace.checks,
            self._epoch,
            workspace.catalog,
            budget=SandboxBudget.of(config),
            known_only=self._under_way,
            level=self._level,
            siblings=self._siblings,
        )
        self._behavior.reports = reports
        count = config.fetch_multiplier * k
        limit = max(count, config.max_candidates)
        fetched: _Fetched | None = None
        while True:
            searched = max(count, LEAST_SEARCHED)
            if fetched is None or fetched.searched < searched:
                fetched = self._fetch(query, searched, manager.lists if defense else None, warnings)
            candidates = self._candidates(fetched, count, manager)
            reports.budget.coming = len({item.chunk.path for item in candidates})
            outcome = manager.apply(candidates)
            enough = _enough(outcome, k, config) or (fetched.all_of_them and len(fetched.nearest) <= count)
            if enough or count >= limit:
                break
            count = min(limit, count * 2)
        if not enough:
            warnings[
                f"fewer than {k} files with different texts remain among the {limit} nearest chunks (max_candidates)"
            ] = None
        if defense and not self._under_way and workspace.settings.opinion.endpoint:
            outcome = self._with_second_opinion(query.text, outcome, manager, config, warnings)
        if defense and self._refused:
            warnings[f"{self._refused} acceptances do not verify: they do not count"] = None
        workspace.ran_at = reports.ran_at or workspace.ran_at
        warnings |= dict.fromkeys(self._unfinished(outcome))
        met = {item.chunk.path for item in (*outcome.retained, *outcome.dropped) if item.spent}
        budget = replace(reports.budget.report(), files=tuple(sorted(met)))
        if budget.unfinished:
            warnings[budget.unfinished] = None
        return replace(self._ranking(query.text, outcome, warnings, config, k, defense), budget=budget)

    def _with_second_opinion(
        self,
        question: str,
        outcome: DefenseOutcome,
        manager: DefenseManager,
        config: DefenseConfig,
        warnings: dict[str, None],
    ) -> DefenseOutcome:
        """Return the candidates in the order that they have once the user's model was asked about them."""
        from codeguard.ranking.opinion import is_open, second_opinion  # brings the checker

        candidates = (
            (item.chunk, self._siblings.beside(self._file_with(item.id, item.chunk, manager)[0]))
            for item in outcome.retained
            if is_open(item)
        )
        found, problem = second_opinion(self._workspace, config, question, candidates)
        if problem:
            warnings[problem] = None
        return manager.reconsidered(outcome, found) if found else outcome

    def _fetch(
        self,
        query: PreparedQuery,
        searched: int,
        is_listed: Callable[[Chunk], bool] | None,
        warnings: dict[str, None],
    ) -> _Fetched:
        """Return what the two searches give, each asked for `searched` chunks.

        Without `is_listed`, which is without the defense, a trusted file has no context that counts for it.
        """
        vector = query.vector
        hits = [] if vector is None else self._workspace.vectors.nearest(vector, searched)
        distances = {hit.id: hit.distance for hit in hits}
        impossible = [id_ for id_, distance in distances.items() if not -SLACK <= distance <= 2 + SLACK]
        if vector is not None and impossible:  # another client made the collection anew, with another measure
            warnings[NO_COSINE] = None
            for id_ in impossible:
                del distances[id_]
            distances |= self._distances(vector, impossible)
        scores = query.scores
        if len(scores) == query.depth and searched * LEXICAL_DEPTH > query.depth:
            scores = self._scores(query.text, searched * LEXICAL_DEPTH)
        by_words = [id_ for id_ in scoring.candidates(scores, searched) if id_ not in distances]
        if vector is not None:
            distances |= self._distances(vector, by_words)
        distances |= self._awaited([id_ for id_ in by_words if id_ not in distances], distances)
        chunks = _remembered(self._chunks, distances, self._workspace.catalog.chunks)
        self._check_store([hit.id for hit in hits], chunks, warnings)
        listed = {id_ for id_, chunk in chunks.items() if is_listed and is_listed(chunk)}
        weight = self._weight(query)
        costs = scoring.fuse(
            {id_: round(distances[id_], 6) for id_ in chunks}, scores, weight if scores else 0.0
        )
        if weight:  # without, the order is the vectors' alone
            costs = with_context(query.text, costs, chunks, [id_ for id_ in chunks if id_ in listed])
        foreign = [id_ for id_ in chunks if is_listed and id_ not in listed]
        costs, behind = restated(query.text, costs, chunks, foreign)
        nearest = sorted(costs, key=lambda id_: (costs[id_], distances[id_], id_))
        return _Fetched(searched, nearest, chunks, distances, costs, behind, len(hits) < searched)

    def _candidates(self, fetched: _Fetched, count: int, manager: DefenseManager) -> list[Candidate]:
        chunks = {id_: fetched.chunks[id_] for id_ in fetched.nearest[:count]}
        found = {id_: self._file_with(id_, chunk, manager) for id_, chunk in chunks.items()}
        trusted = {id_ for id_, (_, trust) in found.items() if trust is Trust.TRUSTED}
        disk = {id_: self._disk.state(chunk.path, trusted=id_ in trusted) for id_, chunk in chunks.items()}
        own = self._nearest_own(
            {id_: chunk for id_, chunk in chunks.items() if not disk[id_].differs},
            [id_ for id_ in chunks if id_ in trusted and not disk[id_].differs],
        )
        return [
            Candidate(
                id_,
                fetched.chunks[id_],
                found[id_][0],
                round(fetched.distances[id_], 6),
                fetched.costs[id_],
                own.get(id_),
                disk[id_],
                fetched.chunks.get(fetched.behind.get(id_, "")),
                found[id_][1],
            )
            for id_ in chunks
        ]

    def _nearest_own(self, chunks: Mapping[str, Chunk], own: Sequence[str]) -> dict[str, OwnCode]:
        if not own or len(own) == len(chunks) or self._made_with is None:
            return {}
        return nearest_own(self._unit_vectors(chunks), chunks, own, self._made_with)

    def _awaited(self, ids: Sequence[str], known: Mapping[str, float]) -> dict[str, float]:
        """Return a middling distance for chunks that the index has not come to yet: their words decide."""
        awaited = self._workspace.catalog.awaited(ids)
        middle = math.fsum(known.values()) / len(known) if known else NO_DISTANCE
        return dict.fromkeys((id_ for id_ in ids if id_ in awaited), middle)

    def _unfinished(self, outcome: DefenseOutcome) -> list[str]:
        """Return what is not known yet of an index that is being made, or was ended before it was complete."""
        if self._stage is Stage.COMPLETE:
            return []
        catalog, lines = self._workspace.catalog, []
        if self._stage is Stage.WORDS:
            lines.append("what is new is not trusted yet")
        left = catalog.intended()
        if left:
            lines.append(
                f"{left} of {catalog.totals().vectors} chunks have no vector yet: their words find them"
            )
        waiting = sum(bool(item.not_yet) for item in (*outcome.retained, *outcome.dropped))
        if waiting:
            lines.append(f"{waiting} of {len(outcome.baseline)} candidates are not checked yet")
        how = (
            "is being made"
            if self._under_way
            else "was ended before it was complete: run codeguard index again"
        )
        return [f"the index {how}" + "".join(f"; {line}" for line in lines)]

    def _check_vectors(self) -> None:
        """Hold how many entries the vector store has against how many it has to have, once for each state of both.

        Raises StoreError where it is empty and must not be.
        """
        workspace = self._workspace
        state = self._generation, workspace.vectors.stamp()
        if state[1] and state == self._counted:
            return
        self._store_warnings, self._counted = (), None
        for _ in range(ATTEMPTS):
            generation = workspace.catalog.generation()
            if workspace.catalog.intents(1):  # an index is at work
                return
            due, held = workspace.catalog.totals().vectors, workspace.vectors.count()
            if workspace.catalog.generation() == generation:
                break
        else:
            return
        if due and not held:
            raise StoreError(
                f"the vector store {workspace.vectors.location} is empty, the index has {due} chunks in it",
                hint="bring it back, or " + REBUILD,
            )
        if held < due:
            self._store_warnings = (
                f"the vector store lacks {due - held} of {due} chunks: run codeguard store verify --repair",
            )
        elif held > due and not workspace.settings.remote:
            self._store_warnings = (STRANGE,)
        self._counted = state

    def _distances(self, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine distances of chunks that the vectors alone did not find; those without a vector are out."""
        known = self._unit_vectors(ids)
        if not known:
            return {}
        near = np.asarray(list(known.values())) @ vector
        return dict(zip(known, (1.0 - near).tolist(), strict=True))

    def _unit_vectors(self, ids: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those of the chunks that have one that is finite and not zero, at length 1."""
        return _remembered(self._vectors, ids, self._read_vectors)

    def _read_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        found = self._workspace.vectors.embeddings(ids)
        lengths = {id_: float(np.linalg.norm(vector)) for id_, vector in found.items()}
        return {
            id_: found[id_] / np.float32(length)
            for id_, length in lengths.items()
            if np.isfinite(length) and length > 0
        }

    def _check_store(
        self, ids: Sequence[str], chunks: Mapping[str, Chunk], warnings: dict[str, None]
    ) -> None:
        """Warn of what the store holds that the catalog does not know, or knows otherwise."""
        if self._foreign_entries([id_ for id_ in ids if id_ not in chunks]):
            own = self._workspace.catalog.some_ids(SAMPLE)
            if own and not self._workspace.vectors.embeddings(own):
                raise StoreError(
                    f"the vector store {self._workspace.vectors.location} is not the one of this index",
                    got="entries of another",
                    expected="its own",
                    hint="bring it back, or " + REBUILD,
                )
            warnings[STRANGE] = None
        found = self._workspace.vectors.rewritten(row_of(id_, chunks[id_]) for id_ in ids if id_ in chunks)
        for id_ in (id_ for id_, what in found.items() if what == "document"):
            place = f"{chunks[id_].path}:{chunks[id_].start_line}"
            warnings[f"the vector store's text of {place} was rewritten: the indexed text is used"] = None

    def _foreign_entries(self, unknown: Sequence[str]) -> set[str]:
        """Return which ids the catalog never knew; an index that runs beside us may just have deleted some."""
        if not unknown:
            return set()
        going = set(
            self._workspace.catalog.intents().delete
        )  # before the store is asked: deleted, then cleared
        return self._workspace.vectors.embeddings(unknown).keys() - going

    def _file_with(self, id_: str, chunk: Chunk, manager: DefenseManager) -> tuple[SourceFile, Trust]:
        """Return the file of a chunk and the trust of the chunk in it.

        Raises StoreError where the catalog has another text or place for it.
        """
        file = self._file(chunk.path)
        trust = None if file is None else self._trust_in.get((id_, file.sha256))
        if file is None or trust is None:
            if file is None or not any(part.span == chunk.span and part == chunk for part in file.chunks):
                raise self._workspace.catalog.damaged(f"a chunk of {chunk.path} is not one of that file")
            trust = self._trust_in[id_, file.sha256] = manager.trust_of(chunk, file)
        return file, trust

    def _ranking(
        self,
        text: str,
        outcome: DefenseOutcome,
        warnings: Mapping[str, None],
        config: DefenseConfig,
        k: int,
        defense: bool,
    ) -> Ranking:
        level = self._workspace.level
        behaves = defense and config.enabled("behavior")
        below = below_level(level, self._workspace.settings.defense.required_level) if behaves else ""
        results = distinct(outcome.retained, k)
        return Ranking(
            query=text,
            k=k,
            mode=config.mode if defense else "none",
            order=config.order,
            store=self._workspace.settings.store,
            sandbox_level=level,
            results=results,
            baseline_results=at_most_per_file(outcome.baseline, k),
            ranking=outcome.retained,
            baseline=outcome.baseline,
            dropped=outcome.dropped,
            warnings=(
                *([below] if below else []),
                *self._workspace.warnings,
                *warnings,
                *_masked(results),
                *_not_on_disk(results),
            ),
        )


def _remembered(
    memory: dict[str, T], ids: Collection[str], read: Callable[[Sequence[str]], Mapping[str, T]]
) -> dict[str, T]:
    """Return what there is of these ids, and read only what is not in memory yet."""
    missing = [id_ for id_ in ids if id_ not in memory]
    if missing and len(memory) > KEPT_CHUNKS:
        memory.clear()
        missing = list(ids)
    memory |= read(missing) if missing else {}
    return {id_: memory[id_] for id_ in ids if id_ in memory}


def _masked(results: Sequence[Ranked]) -> list[str]:
    count = sum(item.chunk.masked for item in results)
    return [f"secrets are masked in {count} results: their text is not that of their sha256"] if count else []


def _not_on_disk(results: Sequence[Ranked]) -> list[str]:
    """Return the lines about results that the disk has otherwise, or that nothing could be compared with."""
    named: dict[OnDisk, list[str]] = {}
    for item in results:
        named.setdefault(item.on_disk, []).append(item.chunk.path)
    lines = []
    parts = [f"{', '.join(named[state])} {said}" for state, said in CHANGED_SINCE.items() if state in named]
    if parts:
        lines.append(f"shown as indexed, not trusted: {'; '.join(parts)} since: run codeguard index")
    if away := named.get(OnDisk.ELSEWHERE):
        lines.append(
            f"{len(away)} results not compared with their files: the indexed folder is not on this disk"
        )
    return lines


def _enough(outcome: DefenseOutcome, k: int, config: DefenseConfig) -> bool:
    """Return whether k files with different texts would be shown even if mode "drop" removed what it removes."""
    presentable = [
        item
        for item in outcome.retained
        if not (item.convicted or item.demoted) and item.penalty <= config.drop_threshold
    ]
    return has_distinct(presentable, k)
