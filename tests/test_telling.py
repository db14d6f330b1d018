"""The store is told while the next batch is made; what did not arrive stays intended."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from codeguard.catalog import FileState
from codeguard.chunking import chunk_file
from codeguard.config import Settings
from codeguard.embedding.base import Vectors
from codeguard.errors import StoreError
from codeguard.models import SourceFile
from codeguard.store.base import Row
from codeguard.storerow import row_of
from codeguard.telling import Telling
from codeguard.workspace import Workspace

STATE = FileState(1, 1, "d" * 64)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(Settings(store=str(tmp_path / "store"), embedding="lexical", share=False), create=True)
    yield opened
    opened.close()


def file(name: str) -> SourceFile:
    found = chunk_file(f"{name}.py", f"def {name}(x):\n    return x\n".encode())
    assert isinstance(found, SourceFile)
    return found


def tell(workspace: Workspace, telling: Telling, name: str) -> tuple[str, ...]:
    """Put a file into the catalog and send what is untold; return its ids."""
    with workspace.catalog.transaction():
        workspace.catalog.put_file(file(name), STATE)
    intents = telling.untold(workspace.catalog.intents())
    chunks = workspace.catalog.chunks(intents.write)
    vectors = workspace.embedding.embed([chunk.text for chunk in chunks.values()])
    telling.tell(intents, [row_of(id_, chunk) for id_, chunk in chunks.items()], vectors)
    return intents.write


def test_each_batch_is_sent_once_and_all_arrive(workspace: Workspace) -> None:
    with Telling(workspace) as telling:
        sent = [tell(workspace, telling, name) for name in ("one", "two", "three")]
        assert len({id_ for batch in sent for id_ in batch}) == sum(map(len, sent)) == 3
    assert workspace.vectors.ids() == workspace.catalog.ids()
    assert not workspace.catalog.intents()


def test_what_the_store_refuses_is_told_and_stays_intended(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = workspace.vectors

    def add(rows: Sequence[Row], vectors: Vectors) -> None:
        raise StoreError("the store is full")

    with Telling(workspace) as telling:
        arrived = tell(workspace, telling, "one")
    monkeypatch.setattr(store, "add", add)
    with pytest.raises(StoreError, match="full"), Telling(workspace) as telling:
        lost = tell(workspace, telling, "two")
        tell(workspace, telling, "three")
    assert set(lost) <= set(workspace.catalog.intents().write)
    assert not set(arrived) & set(workspace.catalog.intents().write)


def test_what_is_gone_is_deleted(workspace: Workspace) -> None:
    with Telling(workspace) as telling:
        tell(workspace, telling, "one")
    with workspace.catalog.transaction():
        workspace.catalog.remove_file("one.py")
    with Telling(workspace) as telling:
        telling.tell(workspace.catalog.intents(), [], None)
    assert workspace.vectors.ids() == set()
    assert not workspace.catalog.intents()
