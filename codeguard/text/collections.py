"""Retrieve the texts nearest to a query, from documents or from a Chroma collection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from codeguard.index.chroma_import import import_chromadb
from codeguard.index.embedding import Embedding
from codeguard.index.store.chroma import client_settings, embedded_client, lock_folder
from codeguard.text.model import Document, TextDefenseError

FOLDER = "text"  # subfolder of the store, apart from the collection of code
MADE_WITH = "codeguard_embedding"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_MAKE = "make it with: codeguard text ingest FILE --collection NAME --base TRUSTED"


@contextmanager
def open_collection(store: str, name: str, embedding: Embedding, *, create: bool = False) -> Iterator[Any]:
    """Open the collection `name` in the folder of a store or on a server (http(s)://host:port).

    A folder is locked for this process until the block ends.

    Raises:
        StoreError: another process uses the folder.
        TextDefenseError: the collection does not exist, or it was made with another embedding.
    """
    if store.startswith(("http://", "https://")):
        yield from _open_or_create(_server(store), store, name, embedding, create)
        return
    folder = Path(store) / FOLDER
    if not create and not folder.is_dir():
        raise TextDefenseError(f"no collection {name!r} in {store}", hint=_MAKE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = lock_folder(folder)
    client = None
    try:
        client = embedded_client(folder)
        yield from _open_or_create(client, store, name, embedding, create)
    finally:
        if client is not None:
            client.close()
        lock.release()


def _open_or_create(client: Any, store: str, name: str, embedding: Embedding, create: bool) -> Iterator[Any]:
    """Yield the collection; delete it afterwards if it is new and still empty."""
    collection = _collection(client, store, name, embedding, create)
    try:
        yield collection
    except Exception as error:
        if type(error).__module__.startswith("chromadb"):
            raise _unusable(name, store, error) from None
        raise
    finally:
        if create and not collection.count():
            client.delete_collection(name)


def _server(url: str) -> Any:
    parts = urlsplit(url)
    try:
        return import_chromadb().HttpClient(
            host=parts.hostname or "",
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            settings=client_settings(),
        )
    except Exception as error:
        raise TextDefenseError(f"no Chroma server answers at {url}", got=type(error).__name__) from None


def _collection(client: Any, store: str, name: str, embedding: Embedding, create: bool) -> Any:
    try:
        known = {item.name for item in client.list_collections()}
        if name not in known and not create:
            raise TextDefenseError(
                f"no collection {name!r} in {store}",
                got=", ".join(sorted(known)) or "no collections",
                hint=_MAKE,
            )
        if name not in known:
            return client.create_collection(
                name,
                embedding_function=None,
                metadata={MADE_WITH: embedding.identity},
                configuration={"hnsw": {"space": "cosine"}},
            )
        found = client.get_collection(name, embedding_function=None)
    except TextDefenseError:
        raise
    except Exception as error:  # Chroma raises many kinds
        raise _unusable(name, store, error) from None
    made_with = (found.metadata or {}).get(MADE_WITH)
    if made_with != embedding.identity:
        raise TextDefenseError(
            f"the collection {name!r} was made with another embedding",
            got=embedding.identity,
            expected=made_with or "an embedding of its own",
        )
    return found


def _unusable(name: str, store: str, error: Exception) -> TextDefenseError:
    """Return an error in our words: Chroma's hold paths, addresses and advice for its own programmers."""
    return TextDefenseError(
        f"the collection {name!r} of {store} cannot be used",
        got=type(error).__name__,
        hint=None if _NAME.fullmatch(name) else "a name has 3 to 512 of the characters a-z A-Z 0-9 . _ -",
    )


def rank_documents(
    documents: Sequence[Document], query: str, count: int, embedding: Embedding
) -> tuple[Document, ...]:
    """Return the `count` documents nearest to a query by cosine, nearest first."""
    rows = embedding.embed([query, *(document.text for document in documents)])
    order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[:count]
    return tuple(documents[index] for index in order.tolist())


def nearest_documents(collection: Any, query: str, count: int, embedding: Embedding) -> tuple[Document, ...]:
    """Return the documents of a collection nearest to a query, nearest first.

    The vectors come from the store, so anyone who can write to it can distort the result.
    """
    stored = collection.count()
    if not stored:
        raise TextDefenseError("the collection is empty", hint="fill it with: codeguard text ingest")
    found = collection.query(
        query_embeddings=embedding.embed([query]),
        n_results=min(count, stored),
        include=["documents", "metadatas"],
    )
    return tuple(
        Document(
            text=text or "",
            id=name,
            label=str((metadata or {}).get("label", "")),
            source=str((metadata or {}).get("source", "")),
        )
        for name, text, metadata in zip(
            found["ids"][0], found["documents"][0], found["metadatas"][0], strict=True
        )
    )
