"""Compute metrics from rankings and labels. The labels are an argument here and reach nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from codeguard.errors import ConfigError, StoreError
from codeguard.models import Chunk
from codeguard.ranking.defense import DefenseManager
from codeguard.ranking.reranking import Ranked, Ranking

IsPoisoned = Callable[[Chunk], bool]
Search = Callable[[str, int], Ranking]
Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How much poison a query shows before and after the defense.

    `poison_before` and `poison_after` count poisoned chunks in the top k
    with one chunk per file; `before` and `after` are the full rankings without
    deduplication.
    """

    query: str
    k: int
    poison_before: int
    poison_after: int
    before: tuple[Ranked, ...]
    after: tuple[Ranked, ...]
    dropped: tuple[Ranked, ...]


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share of n draws (Wilson 1927); (0, 1) where n is 0."""
    if n == 0:
        return 0.0, 1.0
    z2 = Z_95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its 95 % score interval."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        """The share itself, 0 if n is 0."""
        return self.hits / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval; (0, 1) where n is 0."""
        return wilson(self.share, self.n)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits}/{self.n} = {self.share:.1%} [{low:.1%}, {high:.1%}]"


def search_collection(collection: Any, manager: DefenseManager, query: str, k: int) -> Ranking:
    """Return the ranking of a Chroma collection's answers: before by their distance, after by the defense.

    Asks for more, up to `max_candidates`, as long as fewer than k remain in mode "drop".

    Raises:
        ConfigError: k is below 1.
        StoreError: the collection does not answer.
    """
    if k < 1:
        raise ConfigError("k", got=k, expected="1 or more")
    config = manager.config
    count = config.fetch_multiplier * k
    while True:
        found = _answers(collection, query, count)
        outcome = manager.apply(found)
        if len(outcome.retained) >= k or len(found) < count or count >= config.max_candidates:
            break
        count = min(2 * count, config.max_candidates)
    return Ranking(
        query=query,
        k=k,
        mode=config.mode,
        order=config.order,
        store=str(collection.name),
        sandbox_level=manager.level,
        results=outcome.retained[:k],
        baseline_results=outcome.baseline[:k],
        ranking=outcome.retained,
        baseline=outcome.baseline,
        dropped=outcome.dropped,
    )


def _answers(collection: Any, query: str, count: int) -> list[dict[str, Any]]:
    columns = ["documents", "metadatas", "distances"]
    try:
        answer = collection.query(query_texts=[query], n_results=count, include=columns)
    except Exception as error:  # of the store's own, whatever its version raises
        raise StoreError(f"the collection {collection.name} cannot be read ({error})") from error
    rows = zip(answer["ids"][0], *(answer[name][0] for name in columns), strict=True)
    return [
        {"id": id_, "content": text or "", "metadata": metadata, "distance": distance}
        for id_, text, metadata, distance in rows
        if text
    ]


class DefenseEvaluator:
    """Evaluates rankings by labels that nothing else sees.

    Args:
        is_poisoned: returns whether a chunk is poisoned; the labels.
        search: ranks a query's candidates, k results per query: `CodeGuard.query`.
        collection: instead of a search, an open `chromadb` collection, of whose answers `manager` orders
            `fetch_multiplier` times k. Before the defense counts what the collection alone puts first.
        manager: the defense for a collection's answers.
    """

    def __init__(
        self,
        is_poisoned: IsPoisoned,
        search: Search | None = None,
        *,
        collection: Any = None,
        manager: DefenseManager | None = None,
    ) -> None:
        if (collection is None) != (manager is None) or (search is not None and collection is not None):
            raise ConfigError(
                "evaluator", got="a part of them", expected="a search, or a collection and a manager"
            )
        self._is_poisoned = is_poisoned
        self._search = partial(search_collection, collection, manager) if manager is not None else search

    def fetch(self, queries: Iterable[str], k: int) -> list[Evaluation]:
        """Run each query and return its metrics.

        Raises:
            ConfigError: there is no search.
        """
        if self._search is None:
            raise ConfigError("search of the evaluator", got="none", expected="a search such as guard.query")
        return [self.evaluate(self._search(query, k)) for query in queries]

    def evaluate(self, ranking: Ranking) -> Evaluation:
        """Return the metrics of one query."""
        return Evaluation(
            query=ranking.query,
            k=ranking.k,
            poison_before=self._count(ranking.baseline_results),
            poison_after=self._count(ranking.results),
            before=ranking.baseline,
            after=ranking.ranking,
            dropped=ranking.dropped,
        )

    def is_poisoned(self, item: Ranked) -> bool:
        """Return whether a candidate is poisoned."""
        return self._is_poisoned(item.chunk)

    def _count(self, items: Iterable[Ranked]) -> int:
        return sum(self.is_poisoned(item) for item in items)

    @staticmethod
    def reduction(evaluations: Sequence[Evaluation]) -> Proportion:
        """Return the share of poison that the defense removed, over all queries."""
        before = sum(item.poison_before for item in evaluations)
        after = sum(min(item.poison_after, item.poison_before) for item in evaluations)
        return Proportion(before - after, before)
