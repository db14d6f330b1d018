"""A drop-in for a Chroma collection of code: the same calls and shapes, and every text is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig
from codeguard.errors import STOPPED, ConfigError, StoreError
from codeguard.integrations.documents import CHANGED, DEMOTED, MASKED, DocumentJudge, StoredText
from codeguard.ranking.reranking import Ranked
from codeguard.trust.verified import VerifiedManifest
from codeguard.workers.tasks import within

COLUMNS = ("embeddings", "documents", "metadatas", "distances")
OF_ROWS = ("embeddings", "documents", "metadatas")  # what `get` may include
# What returns no text of a row, and what writes rows, which are judged when they are read.
PASSED_ON = frozenset(
    """
    id metadata tenant database schema configuration configuration_json get_indexing_status fork_count
    add upsert update delete modify
    """.split()  # noqa: SIM905
)
Report = Callable[[Sequence[Ranked]], None]


class GuardedCollection:
    """Wrap a Chroma collection; methods that read texts are defended, those of `PASSED_ON` are passed on.

    `query` fetches more than it is asked for, reranks and trims. `get` and
    `peek` leave out what mode "drop" removes, so they may return fewer rows
    than there are. `count` counts what the store holds. Everything that is
    not listed here raises AttributeError: the collection itself is
    `unguarded`.

    Only texts are checked: ids and metadata are returned as stored.
    Secrets in a text are masked, and its metadata then have `codeguard_masked`. A text of a trusted file that has
    changed or gone since it was indexed is not trusted, and its metadata have `codeguard_changed`.

    Args:
        collection: an open `chromadb` collection.
        guard: an open `CodeGuard` with the trusted code; see `DocumentJudge`.
        manifest: a verified manifest instead of the guard's.
        config: thresholds, weights and limits.
        mode: "drop" (for anything that feeds a model directly) or "rerank".
        report: called with what was removed, after each call that removed something.
        judge: instead of one made from guard, manifest, config and mode.
    """

    def __init__(
        self,
        collection: Any,
        guard: CodeGuard | None = None,
        *,
        manifest: VerifiedManifest | None = None,
        config: DefenseConfig | None = None,
        mode: str = "drop",
        report: Report = lambda dropped: None,
        judge: DocumentJudge | None = None,
    ) -> None:
        self._collection = collection
        self._judge = judge or DocumentJudge(guard, manifest=manifest, config=config, mode=mode)
        self._report = report

    @property
    def unguarded(self) -> Any:
        """The collection itself; its results are not checked."""
        return self._collection

    @property
    def name(self) -> str:
        """Name of the collection."""
        return str(self._collection.name)

    def query(
        self,
        query_embeddings: Any = None,
        query_texts: str | list[str] | None = None,
        query_images: None = None,
        query_uris: None = None,
        ids: str | list[str] | None = None,
        n_results: int = 10,
        where: Any = None,
        where_document: Any = None,
        include: Sequence[str] = ("metadatas", "documents", "distances"),
    ) -> dict[str, Any]:
        """Return the nearest documents that pass, as `Collection.query` does.

        Raises:
            ConfigError: images, URIs or their data are requested: only text can be checked.
        """
        if query_images is not None or query_uris is not None:
            raise ConfigError(
                "query by images or URIs", hint="only text is judged; see GuardedCollection.unguarded"
            )
        wanted = _checked(include, COLUMNS)
        filters = _given(ids=ids, where=where, where_document=where_document)
        asked = _questions(query_embeddings, query_texts)
        rows: list[list[_Row]] = []
        removed: list[Ranked] = []
        for question in asked:
            count = max(1, n_results) * self._judge.config.fetch_multiplier
            limit = max(count, self._judge.config.max_candidates)
            while True:
                answer = self._answered(
                    self._collection.query,
                    **question,
                    **filters,
                    n_results=count,
                    include=sorted({*wanted, "documents", "metadatas", "distances"}),
                )
                found = _rows(answer, 0)
                verdicts = self._judge.judge([row.document() for row in found])
                good = sum(not item.demoted for item in verdicts.retained)
                if len(found) < count or good >= n_results or count >= limit:
                    break
                count = min(limit, count * 2)
            by_id = {row.id: row for row in found}
            rows.append([by_id[item.id].shown(item) for item in verdicts.retained[:n_results]])
            removed += verdicts.dropped
        if removed:
            self._report(removed)
        return _query_result(rows, wanted)

    def get(
        self,
        ids: str | list[str] | None = None,
        where: Any = None,
        limit: int | None = None,
        offset: int | None = None,
        where_document: Any = None,
        include: Sequence[str] = ("metadatas", "documents"),
    ) -> dict[str, Any]:
        """Return documents as `Collection.get` does, in its order, without what mode "drop" removes.

        Raises:
            ConfigError: images, URIs or their data are requested: only text can be checked.
        """
        wanted = _checked(include, OF_ROWS)
        asked = _given(ids=ids, where=where, limit=limit, offset=offset, where_document=where_document)
        included = sorted({*wanted, "documents", "metadatas"})
        answer = self._answered(self._collection.get, **asked, include=included)
        rows = _rows({key: [value] for key, value in _given(**answer).items()}, 0)
        verdicts = self._judge.judge([row.document() for row in rows])
        kept = {item.id: item for item in verdicts.retained}
        if verdicts.dropped:
            self._report(verdicts.dropped)
        return _get_result([row.shown(kept[row.id]) for row in rows if row.id in kept], wanted)

    def peek(self, limit: int = 10) -> dict[str, Any]:
        """Return the first rows as `Collection.peek` does, without what mode "drop" removes."""
        return self.get(limit=limit, include=OF_ROWS)

    def count(self) -> int:
        """Return how many rows the store holds, the ones that would be removed included."""
        return int(self._answered(self._collection.count))

    def fork(self, new_name: str) -> GuardedCollection:
        """Return a copy of the collection under another name, guarded like this one; a hosted Chroma alone can."""
        return self._like(self._collection.fork(new_name))

    def _like(self, collection: Any) -> GuardedCollection:
        """Return another collection guarded like this one, by the same judge."""
        return GuardedCollection(collection, report=self._report, judge=self._judge)

    def search(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: what a search expression selects and computes cannot be judged row by row.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "search is not guarded",
            got="a search expression",
            expected="query(), get() or peek()",
            hint="GuardedCollection.unguarded.search() is judged by nobody",
        )

    def __getattr__(self, name: str) -> Any:
        if name in PASSED_ON:
            return getattr(self._collection, name)
        raise AttributeError(
            f"GuardedCollection has no {name!r}: it would pass what nobody judged;"
            " the collection itself is GuardedCollection.unguarded"
        )

    def __repr__(self) -> str:
        return f"GuardedCollection({self._collection!r}, mode={self._judge.config.mode!r})"

    def _answered(self, ask: Callable[..., Any], **given: Any) -> Any:
        """Return the store's answer; raise StoreError if there is none in time."""
        try:
            return within(self._judge.wait_s, partial(ask, **given))
        except TimeoutError as error:
            raise StoreError(f"the collection {self.name} cannot be read ({error})", hint=STOPPED) from None


class GuardedClient:
    """Wraps a Chroma client so that every collection it opens is guarded, for frameworks that open theirs themselves.

    It knows what opens, makes and deletes collections, and nothing else.

    Args:
        client: a `chromadb` client.
        guard: an open `CodeGuard` with the trusted code.
        options: the other arguments of `GuardedCollection`; all collections share one judge.
    """

    def __init__(self, client: Any, guard: CodeGuard | None = None, **options: Any) -> None:
        self._client = client
        self._guarded = GuardedCollection(None, guard, **options)._like

    def __getattr__(self, name: str) -> Any:
        if name in ("delete_collection", "get_max_batch_size"):
            return getattr(self._client, name)
        raise AttributeError(f"GuardedClient has no {name!r}: it would pass what nobody judged")

    def get_collection(self, *args: Any, **kwargs: Any) -> GuardedCollection:
        """Open a collection, guarded."""
        return self._guarded(self._client.get_collection(*args, **kwargs))

    def create_collection(self, *args: Any, **kwargs: Any) -> GuardedCollection:
        """Make a collection, guarded."""
        return self._guarded(self._client.create_collection(*args, **kwargs))

    def get_or_create_collection(self, *args: Any, **kwargs: Any) -> GuardedCollection:
        """Open a collection, guarded; make it if there is none."""
        return self._guarded(self._client.get_or_create_collection(*args, **kwargs))


def _given(**asked: Any) -> dict[str, Any]:
    """Return what is not None, since Chroma takes None for a value."""
    return {key: value for key, value in asked.items() if value is not None}


class _Row(NamedTuple):
    """One row of an answer: its id and what was asked for with it."""

    id: str
    columns: dict[str, Any]

    def document(self) -> StoredText:
        get = self.columns.get
        return StoredText(self.id, get("documents"), get("distances"), get("metadatas"))

    def shown(self, item: Ranked) -> _Row:
        """Return the row without the secrets of its document; its metadata say that it is masked, demoted, changed."""
        marks = ((MASKED, item.chunk.masked), (DEMOTED, item.demoted), (CHANGED, item.on_disk.differs))
        said = {name: True for name, holds in marks if holds}
        if not said:
            return self
        metadata = {**(self.columns.get("metadatas") or {}), **said}
        columns = {**self.columns, "metadatas": metadata}
        return _Row(self.id, {**columns, "documents": item.chunk.text} if item.chunk.masked else columns)


def _checked(include: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    for name in include:
        if name not in allowed:
            raise ConfigError(
                "include", got=repr(name), expected=f"some of {', '.join(allowed)}: only text can be judged"
            )
    return tuple(include)


def _questions(embeddings: Any, texts: str | list[str] | None) -> list[dict[str, Any]]:
    """Return one query each, as Chroma takes them: a single vector or text is a list of one."""
    if (embeddings is None) == (texts is None):
        raise ConfigError(
            "query",
            got="both" if texts is not None else "neither",
            expected="query_texts or query_embeddings",
        )
    if texts is not None:
        return [{"query_texts": [text]} for text in ([texts] if isinstance(texts, str) else texts)]
    single = len(embeddings) > 0 and not hasattr(embeddings[0], "__len__")
    return [{"query_embeddings": [vector]} for vector in ([embeddings] if single else embeddings)]


def _rows(answer: Mapping[str, Any], place: int) -> list[_Row]:
    columns = {name: answer[name][place] for name in COLUMNS if answer.get(name) is not None}
    return [
        _Row(str(id_), {name: values[position] for name, values in columns.items()})
        for position, id_ in enumerate(answer["ids"][place])
    ]


def _query_result(rows: Sequence[Sequence[_Row]], wanted: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"ids": [[row.id for row in found] for found in rows]}
    for name in COLUMNS:
        given = [[row.columns.get(name) for row in found] for found in rows]
        result[name] = given if name in wanted else None
    return {**result, "uris": None, "data": None, "included": list(wanted)}


def _get_result(rows: Sequence[_Row], wanted: Sequence[str]) -> dict[str, Any]:
    result = {name: value and value[0] for name, value in _query_result([rows], wanted).items()}
    del result["distances"]
    if result["embeddings"]:
        import numpy as np

        result["embeddings"] = np.asarray(result["embeddings"])
    return {**result, "included": list(wanted)}
