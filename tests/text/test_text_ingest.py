from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import chromadb
import pytest
from text_samples import clean_base, clean_batch, flipped

from codeguard.index.embedding import LexicalEmbedding
from codeguard.text import (
    Document,
    Judgment,
    LabelFlipDefense,
    LabelledBase,
    Selection,
    TextDefenseError,
    ingest,
    remove_batch,
    stored_documents,
)

EMBEDDING = LexicalEmbedding()


@pytest.fixture
def collection(tmp_path: Path) -> Any:
    client = chromadb.PersistentClient(
        str(tmp_path / "store"), settings=chromadb.Settings(anonymized_telemetry=False)
    )
    return client.create_collection("mails", embedding_function=None)


def defense(documents: list[Document]) -> LabelFlipDefense:
    return LabelFlipDefense(LabelledBase.of(documents, EMBEDDING), "knn", neighbours=3)


class FailsAt:
    """A real collection whose n-th call of a method fails, before or after it has written."""

    def __init__(self, inner: Any, method: str, call: int, *, after: bool = False) -> None:
        self._inner, self._method, self._left, self._after = inner, method, call, after

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._inner, name)
        if name != self._method:
            return real

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left:
                return real(*args, **kwargs)
            if self._after:
                real(*args, **kwargs)
            raise OSError("disk full")

        return wrapped


def test_only_what_was_kept_is_stored_and_the_rest_is_reported(collection: Any) -> None:
    batch = clean_batch()[:6] + flipped(clean_batch()[6:])
    report = ingest(collection, batch, defense(clean_base()), embedding=EMBEDDING)
    assert sorted(collection.get()["ids"]) == sorted(item.id for item in batch[:6])
    assert [item.document for item in report.selection.rejected] == batch[6:]
    assert all(judgment.reason for judgment in report.selection.rejected)


def test_a_collection_becomes_the_base_of_the_next_batch(collection: Any) -> None:
    ingest(collection, clean_batch(), defense(clean_base()), embedding=EMBEDDING)
    stored = stored_documents(collection)
    assert {(item.id, item.label) for item in stored} == {(item.id, item.label) for item in clean_batch()}
    assert not defense(list(stored)).select(flipped(clean_base()[:2])).kept


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_batch_that_fails_half_way_leaves_nothing_behind(
    collection: Any, call: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("codeguard.text.ingest"), "ADD_LIMIT", 3)
    ingest(collection, clean_batch()[:1], defense(clean_base()), embedding=EMBEDDING)
    before = collection.get()
    failing = FailsAt(collection, "add", call, after=after)
    with pytest.raises(TextDefenseError, match="undone"):
        ingest(failing, clean_batch()[1:], defense(clean_base()), embedding=EMBEDDING)
    assert collection.get() == before


def test_where_undoing_fails_too_the_error_names_the_batch(
    collection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("codeguard.text.ingest"), "ADD_LIMIT", 3)
    failing = FailsAt(FailsAt(collection, "add", 2), "delete", 1)
    with pytest.raises(TextDefenseError, match="so did undoing") as caught:
        ingest(failing, clean_batch(), defense(clean_base()), embedding=EMBEDDING)
    batch = caught.value.hint.split(" = ")[1].split()[0]
    assert remove_batch(collection, batch) == 3
    assert collection.count() == 0


def test_existing_ids_are_never_overwritten(collection: Any) -> None:
    judge, batch = defense(clean_base()), clean_batch()
    ingest(collection, batch[:2], judge, embedding=EMBEDDING)
    before = collection.get()
    other = replace(batch[1], text="something else")
    with pytest.raises(TextDefenseError, match="already"):
        ingest(collection, [*batch[2:4], other], judge, embedding=EMBEDDING)
    assert collection.get() == before
    report = ingest(collection, flipped(batch[1:2]), judge, embedding=EMBEDDING)
    assert [item.rule for item in report.selection.rejected] == ["other_label"]
    assert collection.get() == before


def test_two_different_texts_of_one_id_are_refused(collection: Any) -> None:
    batch = clean_batch()
    other = replace(batch[0], text="something else")
    with pytest.raises(TextDefenseError, match="one id"):
        ingest(collection, [*batch, other], defense(clean_base()), embedding=EMBEDDING)
    assert collection.count() == 0


def test_of_a_text_with_two_labels_the_right_one_is_added(collection: Any) -> None:
    batch = clean_batch()
    report = ingest(collection, [*flipped(batch[:1]), *batch], defense(clean_base()), embedding=EMBEDDING)
    assert sorted(report.added) == sorted(item.id for item in batch)
    assert [item.document for item in report.selection.rejected] == flipped(batch[:1])


def test_a_text_is_rejected_where_both_its_labels_could_be_right(collection: Any) -> None:
    class KeepsAll:
        def select(self, documents: Sequence[Document], query: str = "") -> Selection:
            return Selection(tuple(Judgment(item, True, "label_ok", "fits") for item in documents))

    batch = clean_batch()
    report = ingest(collection, [*flipped(batch[:1]), *batch], KeepsAll(), embedding=EMBEDDING)
    assert report.added == tuple(item.id for item in batch[1:])
    assert [item.rule for item in report.selection.rejected] == ["two_labels", "two_labels"]


def test_what_is_there_already_or_occurs_twice_is_skipped_and_named(collection: Any) -> None:
    judge, batch = defense(clean_base()), clean_batch()
    ingest(collection, batch[:3], judge, embedding=EMBEDDING)
    given = [*batch, batch[5], batch[5]]
    report = ingest(collection, given, judge, embedding=EMBEDDING)
    assert collection.count() == len(batch)
    assert report.added == tuple(item.id for item in batch[3:])
    assert report.skipped == (batch[5].id, batch[5].id, *(item.id for item in batch[:3]))
    assert len(report.added) + len(report.skipped) == len(given)
