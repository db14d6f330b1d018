"""The store is told while the next batch is made; what did not arrive stays intended."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from codeguard.config import Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import StoreError
from codeguard.index.catalog import FileState
from codeguard.index.embedding.base import Vectors
from codeguard.index.store.base import Row, row_of
from codeguard.index.store_writer import StoreWriter
from codeguard.index.workspace import Workspace
from codeguard.models import SourceFile

STATE = FileState(1, "1", "d" * 64)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(
        Settings(store=str(tmp_path / "store"), embedding="lexical", share=False, jobs=1), create=True
    )
    yield opened
    opened.close()


def file(name: str) -> SourceFile:
    found = chunk_file(f"{name}.py", f"def {name}(x):\n    return x\n".encode())
    assert isinstance(found, SourceFile)
    return found


def tell(workspace: Workspace, writer: StoreWriter, name: str) -> tuple[str, ...]:
    """Put a file into the catalog and send what is untold; return its ids."""
    with workspace.catalog.transaction():
        workspace.catalog.put_file(file(name), STATE)
    intents = writer.untold(workspace.catalog.intents())
    chunks = workspace.catalog.chunks(intents.write)
    vectors = workspace.embedding.embed([chunk.text for chunk in chunks.values()])
    writer.tell(intents, [row_of(id_, chunk) for id_, chunk in chunks.items()], vectors)
    return intents.write


def test_each_batch_is_sent_once_and_all_arrive(workspace: Workspace) -> None:
    with StoreWriter(workspace) as writer:
        sent = [tell(workspace, writer, name) for name in ("one", "two", "three")]
        assert len({id_ for batch in sent for id_ in batch}) == sum(map(len, sent)) == 3
    assert workspace.vectors.ids() == workspace.catalog.ids()
    assert not workspace.catalog.intents()


def test_what_the_store_refuses_is_told_and_stays_intended(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = workspace.vectors

    def add(rows: Sequence[Row], vectors: Vectors) -> None:
        raise StoreError("the store is full")

    with StoreWriter(workspace) as writer:
        arrived = tell(workspace, writer, "one")
    monkeypatch.setattr(store, "add", add)
    with pytest.raises(StoreError, match="full"), StoreWriter(workspace) as writer:
        lost = tell(workspace, writer, "two")
        tell(workspace, writer, "three")
    assert set(lost) <= set(workspace.catalog.intents().write)
    assert not set(arrived) & set(workspace.catalog.intents().write)


def test_what_is_gone_is_deleted(workspace: Workspace) -> None:
    with StoreWriter(workspace) as writer:
        tell(workspace, writer, "one")
    with workspace.catalog.transaction():
        workspace.catalog.remove_file("one.py")
    with StoreWriter(workspace) as writer:
        writer.tell(workspace.catalog.intents(), [], None)
    assert workspace.vectors.ids() == set()
    assert not workspace.catalog.intents()
