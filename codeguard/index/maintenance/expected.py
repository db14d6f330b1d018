"""The expected content of the vector store, by the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.index.retrieval_text import retrievable
from codeguard.index.workspace import Workspace
from codeguard.models import Chunk

BATCH = 500
Batch = dict[str, Chunk]


def expected(workspace: Workspace) -> Iterator[Batch]:
    """Yield the chunks expected in the vector store by id, file by file, some hundred at a time."""
    kept_out = workspace.catalog.quarantined()
    batch: Batch = {}
    for path in sorted(workspace.catalog.files()):
        for id_, chunk in workspace.catalog.chunks_of(path).items():
            if id_ not in kept_out and retrievable(chunk):
                batch[id_] = chunk
            if len(batch) == BATCH:
                yield batch
                batch = {}
    if batch:
        yield batch
