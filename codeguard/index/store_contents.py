"""Compare the store with the files when the local state is lost but the store is not.

Nothing in the store is trusted. The catalog is rebuilt from the files and all their entries are rewritten;
stored entries that differ, or belong to no file, are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeguard.index.catalog import Catalog
from codeguard.index.store.base import Vectors
from codeguard.models import text_digest

PAGE = 500
NAMED = 5  # locations per line


class StoreContents:
    """The content of a store before it is rewritten: each entry's text digest and claimed path."""

    def __init__(self, store: Vectors) -> None:
        self._entries: dict[str, tuple[str, str]] = {}
        for page in _pages(sorted(store.ids())):
            documents, metadatas = store.documents(page), store.metadatas(page)
            for id_ in page:
                path = metadatas.get(id_, {}).get("path", "")
                self._entries[id_] = (text_digest(documents.get(id_, "")), path)

    def lines(self, catalog: Catalog) -> list[str]:
        """Return the differences from the files, one line per kind."""
        known = catalog.ids()
        rewritten = []
        for page in _pages([id_ for id_ in self._entries if id_ in known]):
            for id_, chunk in catalog.chunks(page).items():
                if self._entries[id_][0] != chunk.text_sha256:
                    rewritten.append(f"{chunk.path}:{chunk.start_line}")
        strange = [path or id_ for id_, (_, path) in self._entries.items() if id_ not in known]
        return [
            *_line(rewritten, "texts of the store were not those of the files and were replaced"),
            *_line(strange, "entries of the store belong to no indexed file and are ignored"),
        ]


def _line(places: Sequence[str], what: str) -> Iterator[str]:
    if places:
        named = sorted(set(places))
        more = ", …" if len(named) > NAMED else ""
        yield f"{len(places)} {what}: {', '.join(named[:NAMED])}{more}"


def _pages(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), PAGE):
        yield list(ids[start : start + PAGE])
