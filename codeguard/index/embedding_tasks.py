"""Embedding as a task for workers: texts in, rows out. Each worker opens the embedding once."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

import numpy as np

from codeguard.errors import EmbeddingError
from codeguard.index.cluster import Cluster
from codeguard.index.embedding import Embedding, open_embedding
from codeguard.index.embedding.base import Vectors
from codeguard.index.embedding.choose import by_workers
from codeguard.index.executor import spread
from codeguard.workers.tasks import NO_BOUNDS, Run, Shared, WorkerError, by_values, encoded

BATCH_CHARACTERS = 1 << 17


def embed_texts(executor: Executor, embedding: Embedding, name: str, texts: Sequence[str]) -> Vectors:
    """Return a row for each text, by the workers of a cluster where the embedding can be sent there.

    `name` opens the embedding on a worker, which verifies the weights by
    their digest and compares identities. The batches are the same no matter who
    computes them: MiniLM's rows depend on them in their last bits.

    Raises:
        WorkerError: a worker's embedding is another one, or it has none.
    """
    rows = np.empty((len(texts), embedding.dimension), dtype=np.float32)
    batches = list(_batches(texts))
    if not isinstance(executor, Cluster) or not by_workers(name):
        # Its own threads use every core of this machine already.
        for batch in batches:
            rows[batch] = embedding.embed([texts[index] for index in batch])
        return rows
    shared = Shared.of_values({"name": name, "identity": embedding.identity})
    payloads = ([encoded([texts[index] for index in batch])] for batch in batches)
    answers = spread(executor, embed_task, payloads, shared, NO_BOUNDS)  # texts of a bounded length
    for batch, item in zip(batches, answers, strict=True):
        answer = base64.b64decode(item.value)
        if len(answer) != 4 * len(batch) * embedding.dimension:
            raise WorkerError(
                "a worker's rows have another shape",
                got=f"{len(answer)} bytes",
                expected=f"{len(batch)} rows of {embedding.dimension}",
            )
        rows[batch] = np.frombuffer(answer, dtype="<f4").reshape(len(batch), -1)
    return rows


def embed_task(shared: Shared) -> Run:
    """Embed the texts of a payload."""
    embedding = _opened(shared)

    def rows(texts: list[str]) -> Iterator[object]:
        yield base64.b64encode(embedding.embed(texts).astype("<f4").tobytes()).decode("ascii")

    return by_values(rows)


@functools.lru_cache(maxsize=1)
def _opened(shared: Shared) -> Embedding:
    wanted = shared.value()
    embedding = open_embedding(wanted["name"])
    if embedding.identity != wanted["identity"]:
        raise EmbeddingError(
            "a worker has another embedding than the one of this index",
            got=embedding.identity,
            expected=wanted["identity"],
            hint="install the same version and weights there",
        )
    return embedding


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield indices of texts of about the same length, which compute best together."""
    batch: list[int] = []
    size = 0
    for index in sorted(range(len(texts)), key=lambda index: (len(texts[index]), index)):
        batch.append(index)
        size += len(texts[index])
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
