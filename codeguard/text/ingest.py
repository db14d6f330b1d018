"""Judge a batch and add it to a Chroma collection, all accepted documents or none."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from codeguard.text.model import Document, Judgment, Selection, TextDefense, TextDefenseError

BATCH_KEY = "codeguard_batch"
LABEL_KEY = "label"
ADD_LIMIT = 5_000  # embedded Chroma refuses more than 5,461 records in one call


class Collection(Protocol):
    """The methods of a Chroma collection that ingestion uses."""

    def add(self, ids: Any, embeddings: Any = ..., metadatas: Any = ..., documents: Any = ...) -> None:
        """Add records; Chroma ignores ids that exist."""

    def get(self, ids: Any = ..., where: Any = ..., *, include: Any = ...) -> Any:
        """Return records by id or by metadata."""
        ...

    def delete(self, ids: Any = ...) -> Any:
        """Remove records by id."""


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

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "batch": self.batch,
            "added": list(self.added),
            "skipped": list(self.skipped),
            **self.selection.to_json(),
        }


def ingest(
    collection: Collection,
    documents: Sequence[Document],
    defense: TextDefense,
    *,
    embedding: Any = None,
    add_limit: int = ADD_LIMIT,
) -> IngestReport:
    """Judge a batch and add the accepted documents, all or none.

    With `embedding` its vectors are stored, otherwise the collection computes its own. A text that
    the collection holds with another label is rejected. So is a text with two labels in the batch,
    unless only one of them is accepted. If adding fails, the added records are removed again and
    the error is raised. A process that is killed between two calls for one batch (more than
    `add_limit` documents) leaves a part of it, which `remove_batch` deletes.

    Raises:
        TextDefenseError: one id has two different texts, in the batch or in the collection, or
            adding failed (the cause is chained).
    """
    distinct: dict[tuple[str, str], Document] = {}
    texts: dict[str, str] = {}
    for document in documents:
        if texts.setdefault(document.id, document.text) != document.text:
            raise TextDefenseError("two different texts of the batch have one id", got=repr(document.id))
        distinct.setdefault((document.id, document.label), document)
    stored = _stored_records(collection, list(texts), add_limit)
    other = sorted(name for name, (text, _) in stored.items() if text != texts[name])
    if other:
        raise TextDefenseError(
            f"{len(other)} ids of the batch are in the collection already, with another text",
            got=repr(other[0]),
            hint="ingestion never overwrites: give new ids, or delete the old records first",
        )
    already_stored = {key for key in distinct if key[0] in stored and stored[key[0]][1] == key[1]}
    seen = set(already_stored)
    skipped: list[str] = []
    for document in documents:
        key = document.id, document.label
        if key in seen:
            skipped.append(document.id)
        seen.add(key)
    selection = defense.select([item for key, item in distinct.items() if key[0] not in stored])
    selection = _one_label_each(selection)
    relabelled = [
        Judgment(item, False, "other_label", f"the collection has it with the label {stored[key[0]][1]!r}")
        for key, item in distinct.items()
        if key[0] in stored and key not in already_stored
    ]
    selection = replace(selection, judgments=(*selection.judgments, *relabelled))
    batch = uuid.uuid4().hex
    kept = selection.kept
    if kept:
        _add_all(collection, kept, batch, embedding, add_limit)
    return IngestReport(batch, tuple(document.id for document in kept), selection, tuple(skipped))


def _one_label_each(selection: Selection) -> Selection:
    """Reject texts that were accepted with more than one label, because at least one is wrong."""
    labels = Counter(document.id for document in selection.kept)
    reason = "the batch gives this text two labels, and both could be right"
    return replace(
        selection,
        judgments=tuple(
            Judgment(item.document, False, "two_labels", reason, item.scores)
            if item.kept and labels[item.document.id] > 1
            else item
            for item in selection.judgments
        ),
    )


def remove_batch(collection: Collection, batch: str) -> int:
    """Remove every record of a batch and return their number."""
    ids = list(collection.get(where={BATCH_KEY: batch}, include=[])["ids"])
    for start in range(0, len(ids), ADD_LIMIT):
        collection.delete(ids=ids[start : start + ADD_LIMIT])
    return len(ids)


def stored_documents(collection: Collection) -> tuple[Document, ...]:
    """Return the labelled documents of a collection, to build a `LabelledBase` from their texts.

    The stored vectors are not used: anyone who can write to the store can change them.
    """
    found = collection.get(include=["documents", "metadatas"])
    return tuple(
        Document(text=text, id=name, label=str(metadata[LABEL_KEY]))
        for name, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        if text and metadata and metadata.get(LABEL_KEY)
    )


def _stored_records(collection: Collection, ids: Sequence[str], size: int) -> dict[str, tuple[str, str]]:
    """Return the text and the label of each id that the collection holds."""
    records: dict[str, tuple[str, str]] = {}
    for start in range(0, len(ids), size):
        found = collection.get(ids=list(ids[start : start + size]), include=["documents", "metadatas"])
        for name, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
            records[name] = (text or "", str((metadata or {}).get(LABEL_KEY, "")))
    return records


def _add_all(
    collection: Collection, documents: Sequence[Document], batch: str, embedding: Any, size: int
) -> None:
    vectors = None if embedding is None else embedding.embed([document.text for document in documents])
    try:
        for start in range(0, len(documents), size):
            part = documents[start : start + size]
            collection.add(
                ids=[document.id for document in part],
                embeddings=None if vectors is None else vectors[start : start + size],
                metadatas=[_metadata(document, batch) for document in part],
                documents=[document.text for document in part],
            )
    except BaseException as error:
        _undo_batch(collection, batch, error)
        if isinstance(error, Exception):
            raise TextDefenseError(
                f"adding the batch failed and was undone ({type(error).__name__}: {error})"
            ) from error
        raise


def _undo_batch(collection: Collection, batch: str, cause: BaseException) -> None:
    # By the name of the batch, not by id: another process may have added a record with the same id.
    try:
        remove_batch(collection, batch)
    except Exception as error:
        raise TextDefenseError(
            f"adding the batch failed ({cause}), and so did undoing it ({error})",
            hint=f"remove the records with {BATCH_KEY} = {batch} when the store answers again",
        ) from cause


def _metadata(document: Document, batch: str) -> Mapping[str, str | int | float | bool]:
    values: dict[str, str | int | float | bool] = dict(document.metadata)
    values[LABEL_KEY] = document.label
    values[BATCH_KEY] = batch
    if document.source:
        values["source"] = document.source
    return values
