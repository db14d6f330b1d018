"""Add a judged batch to a Chroma collection: all that was kept, or nothing."""

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
    """The part of a Chroma collection that ingestion uses."""

    def add(self, ids: Any, embeddings: Any = ..., metadatas: Any = ..., documents: Any = ...) -> None:
        """Add records; ids that exist are ignored by Chroma."""

    def get(self, ids: Any = ..., where: Any = ..., *, include: Any = ...) -> Any:
        """Return records by id or by metadata."""
        ...

    def delete(self, ids: Any = ...) -> Any:
        """Remove records by id."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of a batch: `added` ids, everything rejected with its reason, and the batch's name.

    `skipped` names each document that repeats an earlier one of the batch or
    of the collection, the same in text and label: it is not judged again.
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
    """Judge a batch and add what was kept, in one transaction for the whole batch.

    With `embedding` its vectors are stored; without, the collection embeds
    by its own function. A text that the collection holds under another label
    is rejected, and so is one to which the batch itself gives two labels,
    unless only one of them is kept. Where adding fails half-way, what was
    added is removed again and the error is raised. A process that is killed
    between two calls of one batch (more than `add_limit` documents) leaves a
    part; `remove_batch` takes it out by the name that every record carries.

    Raises:
        TextDefenseError: two different texts have one id, in the batch or with one in the
            collection, or adding failed (its cause is chained).
    """
    distinct: dict[tuple[str, str], Document] = {}
    texts: dict[str, str] = {}
    for document in documents:
        if texts.setdefault(document.id, document.text) != document.text:
            raise TextDefenseError("two different texts of the batch have one id", got=repr(document.id))
        distinct.setdefault((document.id, document.label), document)
    stored = _stored(collection, list(texts), add_limit)
    other = sorted(name for name, (text, _) in stored.items() if text != texts[name])
    if other:
        raise TextDefenseError(
            f"{len(other)} ids of the batch are in the collection already, with another text",
            got=repr(other[0]),
            hint="ingestion never overwrites: give new ids, or delete the old records first",
        )
    there = {key for key in distinct if key[0] in stored and stored[key[0]][1] == key[1]}
    seen = set(there)
    skipped: list[str] = []
    for document in documents:
        key = document.id, document.label
        if key in seen:
            skipped.append(document.id)
        seen.add(key)
    selection = defense.select([item for key, item in distinct.items() if key[0] not in stored])
    selection = _one_label_each(selection)
    known = [
        Judgment(item, False, "other_label", f"the collection has it with the label {stored[key[0]][1]!r}")
        for key, item in distinct.items()
        if key[0] in stored and key not in there
    ]
    selection = replace(selection, judgments=(*selection.judgments, *known))
    batch = uuid.uuid4().hex
    kept = selection.kept
    if kept:
        _add_all(collection, kept, batch, embedding, add_limit)
    return IngestReport(batch, tuple(document.id for document in kept), selection, tuple(skipped))


def _one_label_each(selection: Selection) -> Selection:
    """Reject a text of which more than one label was kept: one of them has to be wrong."""
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
    """Remove every record of one batch and return how many there were."""
    ids = list(collection.get(where={BATCH_KEY: batch}, include=[])["ids"])
    for start in range(0, len(ids), ADD_LIMIT):
        collection.delete(ids=ids[start : start + ADD_LIMIT])
    return len(ids)


def stored_documents(collection: Collection, *, label_key: str = LABEL_KEY) -> tuple[Document, ...]:
    """Return the labelled documents of a collection, to build a `LabelledBase` from their texts.

    The stored vectors are not used: anyone who can write the store can write
    vectors that do not belong to their texts.
    """
    found = collection.get(include=["documents", "metadatas"])
    return tuple(
        Document(text=text, id=name, label=str(metadata[label_key]))
        for name, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        if text and metadata and metadata.get(label_key)
    )


def _stored(collection: Collection, ids: Sequence[str], size: int) -> dict[str, tuple[str, str]]:
    """Return text and label of those ids that the collection holds."""
    held: dict[str, tuple[str, str]] = {}
    for start in range(0, len(ids), size):
        found = collection.get(ids=list(ids[start : start + size]), include=["documents", "metadatas"])
        for name, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
            held[name] = (text or "", str((metadata or {}).get(LABEL_KEY, "")))
    return held


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
        _undo(collection, batch, error)
        if isinstance(error, Exception):
            raise TextDefenseError(
                f"adding the batch failed and was undone ({type(error).__name__}: {error})"
            ) from error
        raise


def _undo(collection: Collection, batch: str, cause: BaseException) -> None:
    # By the batch's own name, not by id: a record that somebody else added meanwhile is not ours to delete.
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
