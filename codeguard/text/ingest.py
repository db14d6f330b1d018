"""Chroma collections of documents: judge a batch and add it, all accepted documents or none."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codeguard.index.embedding import Embedding
from codeguard.index.store.chroma import embedded_client
from codeguard.text.model import Document, Judgment, Selection, TextDefense, TextDefenseError

FOLDER = "text"  # subfolder of the store, apart from the collection of code
MADE_WITH = "codeguard_embedding"
BATCH_KEY = "codeguard_batch"
LABEL_KEY = "label"
ADD_LIMIT = 5_000  # embedded Chroma refuses more than 5,461 records in one call
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_MAKE = "make it with: codeguard text ingest FILE --collection NAME --base TRUSTED"


@contextmanager
def open_collection(store: Path, name: str, embedding: Embedding, *, create: bool = False) -> Iterator[Any]:
    """Open the collection `name` in the folder of a store, which is locked for this process until the block ends.

    A new collection that is still empty then is deleted.

    Raises:
        StoreError: another process uses the folder.
        TextDefenseError: the collection does not exist, or it was made with another embedding.
    """
    folder = store / FOLDER
    if not create and not folder.is_dir():
        raise TextDefenseError(f"no collection {name!r} in {store}", hint=_MAKE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with embedded_client(folder) as client:
            collection = _collection(client, store, name, embedding, create)
            try:
                yield collection
            finally:
                if create and not collection.count():
                    client.delete_collection(name)
    except Exception as error:
        if not type(error).__module__.startswith("chromadb"):
            raise
        # In our words: Chroma's hold paths, addresses and advice for its own programmers.
        raise TextDefenseError(
            f"the collection {name!r} of {store} cannot be used",
            got=type(error).__name__,
            hint=None if _NAME.fullmatch(name) else "a name has 3 to 512 of the characters a-z A-Z 0-9 . _ -",
        ) from None


def _collection(client: Any, store: Path, name: str, embedding: Embedding, create: bool) -> Any:
    known = {item.name for item in client.list_collections()}
    if name not in known:
        if not create:
            got = ", ".join(sorted(known)) or "no collections"
            raise TextDefenseError(f"no collection {name!r} in {store}", got=got, hint=_MAKE)
        return client.create_collection(
            name,
            embedding_function=None,
            metadata={MADE_WITH: embedding.identity},
            configuration={"hnsw": {"space": "cosine"}},
        )
    found = client.get_collection(name, embedding_function=None)
    made_with = (found.metadata or {}).get(MADE_WITH)
    if made_with != embedding.identity:
        raise TextDefenseError(
            f"the collection {name!r} was made with another embedding",
            got=embedding.identity,
            expected=made_with or "an embedding of its own",
        )
    return found


def stored_documents(collection: Any) -> tuple[Document, ...]:
    """Return the labelled documents of a collection, to build a `LabelledBase` from their texts.

    The stored vectors are not used: anyone who can write to the store can change them.
    """
    found = collection.get(include=["documents", "metadatas"])
    documents = _documents(found["ids"], found["documents"], found["metadatas"])
    return tuple(document for document in documents if document.text and document.label)


def _documents(ids: Sequence[str], texts: Sequence[str], metadatas: Sequence[Any]) -> Iterator[Document]:
    for name, text, metadata in zip(ids, texts, metadatas, strict=True):
        label, source = (str((metadata or {}).get(key, "")) for key in (LABEL_KEY, "source"))
        yield Document(text or "", name, label, source)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Result of a batch: its name, the ids that were added, and the judgments.

    `skipped` are the ids of documents that repeat an earlier one of the batch or of the collection,
    with the same text and label. They are not judged again.
    """

    batch: str
    added: tuple[str, ...]
    selection: Selection
    skipped: tuple[str, ...] = ()


def ingest(
    collection: Any, documents: Sequence[Document], defense: TextDefense, *, embedding: Any = None
) -> IngestReport:
    """Judge a batch and add the accepted documents, all or none.

    With `embedding` its vectors are stored, otherwise the collection computes its own. A text that
    the collection holds with another label is rejected. So is a text with two labels in the batch,
    unless only one of them is accepted. If adding fails, the added records are removed again and
    the error is raised. A process that is killed between two calls for one batch (more than
    `ADD_LIMIT` documents) leaves a part of it, which `remove_batch` deletes.

    Raises:
        TextDefenseError: one id has two different texts, in the batch or in the collection, or
            adding failed (the cause is chained).
    """
    distinct: dict[tuple[str, str], Document] = {}
    texts: dict[str, str] = {}
    skipped: list[str] = []
    for document in documents:
        if texts.setdefault(document.id, document.text) != document.text:
            raise TextDefenseError("two different texts of the batch have one id", got=repr(document.id))
        if (document.id, document.label) in distinct:
            skipped.append(document.id)
        distinct.setdefault((document.id, document.label), document)
    stored = _stored_records(collection, list(texts))
    other = sorted(name for name, record in stored.items() if record.text != texts[name])
    if other:
        raise TextDefenseError(
            f"{len(other)} ids of the batch are in the collection already, with another text",
            got=repr(other[0]),
            hint="ingestion never overwrites: give new ids, or delete the old records first",
        )
    selection = defense.select([item for item in distinct.values() if item.id not in stored])
    judgments = list(_one_label_each(selection))
    for item in distinct.values():
        if item.id in stored and stored[item.id].label == item.label:
            skipped.append(item.id)
        elif item.id in stored:
            reason = f"the collection has it with the label {stored[item.id].label!r}"
            judgments.append(Judgment(item, False, "other_label", reason))
    selection = replace(selection, judgments=tuple(judgments))
    batch = uuid.uuid4().hex
    kept = selection.kept
    if kept:
        _add_all(collection, kept, batch, embedding)
    return IngestReport(batch, tuple(document.id for document in kept), selection, tuple(skipped))


def _one_label_each(selection: Selection) -> Iterator[Judgment]:
    """Reject texts that were accepted with more than one label, because at least one is wrong."""
    labels = Counter(document.id for document in selection.kept)
    reason = "the batch gives this text two labels, and both could be right"
    for item in selection.judgments:
        twice = item.kept and labels[item.document.id] > 1
        yield replace(item, kept=False, rule="two_labels", reason=reason) if twice else item


def remove_batch(collection: Any, batch: str) -> int:
    """Remove every record of a batch and return their number."""
    ids = list(collection.get(where={BATCH_KEY: batch}, include=[])["ids"])
    for start in range(0, len(ids), ADD_LIMIT):
        collection.delete(ids=ids[start : start + ADD_LIMIT])
    return len(ids)


def _stored_records(collection: Any, ids: Sequence[str]) -> dict[str, Document]:
    """Return those of the ids that the collection holds, with their text and label."""
    records: dict[str, Document] = {}
    for start in range(0, len(ids), ADD_LIMIT):
        found = collection.get(ids=list(ids[start : start + ADD_LIMIT]), include=["documents", "metadatas"])
        for item in _documents(found["ids"], found["documents"], found["metadatas"]):
            records[item.id] = item
    return records


def _add_all(collection: Any, documents: Sequence[Document], batch: str, embedding: Any) -> None:
    vectors = None if embedding is None else embedding.embed([document.text for document in documents])
    try:
        for start in range(0, len(documents), ADD_LIMIT):
            part = documents[start : start + ADD_LIMIT]
            collection.add(
                ids=[document.id for document in part],
                embeddings=None if vectors is None else vectors[start : start + ADD_LIMIT],
                metadatas=[
                    {LABEL_KEY: item.label, BATCH_KEY: batch}
                    | ({"source": item.source} if item.source else {})
                    for item in part
                ],
                documents=[document.text for document in part],
            )
    except BaseException as error:
        _undo_batch(collection, batch, error)
        if isinstance(error, Exception):
            raise TextDefenseError(
                f"adding the batch failed and was undone ({type(error).__name__}: {error})"
            ) from error
        raise


def _undo_batch(collection: Any, batch: str, cause: BaseException) -> None:
    # By the name of the batch, not by id: another process may have added a record with the same id.
    try:
        remove_batch(collection, batch)
    except Exception as error:
        raise TextDefenseError(
            f"adding the batch failed ({cause}), and so did undoing it ({error})",
            hint=f"remove the records with {BATCH_KEY} = {batch} when the store answers again",
        ) from cause
