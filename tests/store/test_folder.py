"""Chroma in a folder searches what the catalog records, and a search never depends on the folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from codeguard.index.catalog import Catalog
from codeguard.index.store import Row, folder
from codeguard.index.store.folder import FolderVectors, LocalVectors

KEY = b"k" * 32


def unit(seed: int, count: int = 40) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def rows(count: int = 40) -> list[Row]:
    return [Row(f"row{number:02}", "", {}) for number in range(count)]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(tmp_path / "catalog.sqlite3", KEY) as catalog:
        yield catalog


@pytest.fixture
def vectors(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderVectors]:
    monkeypatch.setattr(folder, "MOST_EXACT", -1)  # as if there were many
    made = FolderVectors(catalog)
    made.add(rows(), unit(1))
    yield made
    made.close()


def used(vectors: FolderVectors) -> bool:
    """Return whether Chroma answers."""
    return vectors._asked(unit(2)[0], 5) is not None


def agree(vectors: FolderVectors) -> bool:
    """Return whether the answer is that of an exact search of the record."""
    found, exact = (one.nearest(unit(2)[0], 5) for one in (vectors, LocalVectors(vectors._catalog)))
    return [hit.id for hit in found] == [hit.id for hit in exact] and all(
        abs(one.distance - other.distance) < 1e-6 for one, other in zip(found, exact, strict=True)
    )


def test_chroma_follows_the_record(vectors: FolderVectors) -> None:
    assert used(vectors)
    assert agree(vectors)
    vectors.add(rows(), unit(3))
    vectors.delete([hit.id for hit in vectors.nearest(unit(2)[0], 2)])
    assert used(vectors)
    assert agree(vectors)


def test_few_vectors_are_searched_in_the_record_and_need_no_folder(
    vectors: FolderVectors, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(folder, "MOST_DUE", 0)
    with monkeypatch.context() as few:
        few.setattr(folder, "MOST_EXACT", 40)
        vectors.prepare()
        assert agree(vectors)
        assert not (tmp_path / "chroma").exists()
    vectors.prepare()
    assert (tmp_path / "chroma").exists()


def test_a_process_that_comes_second_searches_the_record(vectors: FolderVectors) -> None:
    assert used(vectors)
    second = FolderVectors(vectors._catalog)
    assert not used(second)
    assert agree(second)
    vectors.close()
    assert used(second)
    second.close()


def test_a_damaged_folder_is_deleted_and_the_record_searched(vectors: FolderVectors, tmp_path: Path) -> None:
    assert used(vectors)
    vectors.close()
    for path in (tmp_path / "chroma").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0" * 4096)
    assert agree(vectors)
    assert not (
        tmp_path / "chroma"
    ).exists()  # Chroma itself remembers the failure as long as the process lives


def test_the_folder_of_another_catalog_tells_nothing(vectors: FolderVectors, tmp_path: Path) -> None:
    assert used(vectors)
    vectors.close()
    (tmp_path / "other").mkdir()
    shutil.move(tmp_path / "chroma", tmp_path / "other" / "chroma")
    with Catalog(tmp_path / "other" / "catalog.sqlite3", KEY) as catalog:
        other = FolderVectors(catalog)
        other.add([Row("only", "", {})], unit(5, 1))
        assert [hit.id for hit in other.nearest(unit(2)[0], 5)] == ["only"]
        assert used(other)
        other.close()


def test_a_search_leaves_many_changes_to_the_next_index(
    vectors: FolderVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "MOST_DUE", 39)
    assert not used(vectors)
    assert agree(vectors)
    vectors.prepare()
    assert used(vectors)


def test_without_chromadb_the_record_is_searched(
    vectors: FolderVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    assert not used(vectors)
    assert agree(vectors)


def test_an_index_brings_many_changes_over_and_leaves_few_to_the_next_search(
    vectors: FolderVectors, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chroma = tmp_path / "chroma"
    vectors.prepare()
    assert not chroma.exists()  # so that a small run does not load Chroma
    monkeypatch.setattr(folder, "MOST_DUE", 38)
    vectors.prepare()
    assert chroma.exists()
    vectors.close()
    stamp = (chroma / "chroma.sqlite3").stat().st_mtime_ns
    vectors.add(rows(10), unit(3, 10))
    vectors.delete(["row11"])
    vectors.prepare()
    assert (chroma / "chroma.sqlite3").stat().st_mtime_ns == stamp
    assert agree(vectors)
    shutil.rmtree(chroma)
    vectors.close()
    again = FolderVectors(vectors._catalog)
    again.prepare()
    assert chroma.exists()  # a lost folder is made again
    again.close()
