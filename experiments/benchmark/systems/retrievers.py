"""Retrieval without a defense: vectors in Chroma, words by BM25, and both fused by reciprocal rank."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import chromadb

from codeguard.index.lexical import retrieval_text
from experiments.benchmark.corpora import chunks_of
from experiments.benchmark.systems.base import (
    Answer,
    Change,
    Hit,
    Part,
    Surroundings,
    System,
    Tampering,
    one_per_file,
)

DEPTH = 60  # hits of each list, before one a file is kept
RRF = 60  # Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet" (SIGIR 2009)
BATCH = 1000
ASKED = 100  # questions at once: SQLite takes 32,766 values in one statement, and each hit is one


def hits_of(path: str, text: str) -> list[Hit]:
    """Return the chunks of a file as hits."""
    return [
        Hit(path, chunk.symbol, chunk.start_line, chunk.end_line, chunk.text)
        for chunk in chunks_of(path, text)
    ]


def id_of(hit: Hit) -> str:
    """Return the id under which a hit is stored."""
    return f"{hit.path}:{hit.start_line}:{hit.end_line}:{hit.symbol}"


class Chroma:
    """Chunks in a Chroma collection under cosine distance; what it shows is what the collection holds."""

    name = "chroma"

    def __init__(self, around: Surroundings) -> None:
        self._embed = around.embedding.embed
        client = chromadb.EphemeralClient(chromadb.config.Settings(anonymized_telemetry=False))
        self._client, self._name = client, f"benchmark-{uuid4().hex}"
        self._collection: Any = client.create_collection(self._name, metadata={"hnsw:space": "cosine"})
        self._ids: dict[str, list[str]] = {}

    def index(self, change: Change) -> None:
        """Add and delete."""
        gone = [id_ for path in (*change.removed, *change.added) for id_ in self._ids.pop(path, [])]
        if gone:
            self._collection.delete(ids=gone)
        hits = [hit for path, text in change.added.items() for hit in hits_of(path, text)]
        texts = [
            retrieval_text(chunk) for path, text in change.added.items() for chunk in chunks_of(path, text)
        ]
        for hit in hits:
            self._ids.setdefault(hit.path, []).append(id_of(hit))
        for start in range(0, len(hits), BATCH):
            batch = hits[start : start + BATCH]
            self._collection.add(
                ids=[id_of(hit) for hit in batch],
                embeddings=self._embed(texts[start : start + BATCH]),
                documents=[hit.text for hit in batch],
                metadatas=[
                    {"path": hit.path, "symbol": hit.symbol, "start": hit.start_line, "end": hit.end_line}
                    for hit in batch
                ],
            )

    def search(self, questions: Sequence[str]) -> list[list[Hit]]:
        """Return the nearest hits of each question."""
        pages = [questions[start : start + ASKED] for start in range(0, len(questions), ASKED)]
        return [hits for page in pages for hits in self._nearest(page)]

    def _nearest(self, questions: Sequence[str]) -> Iterator[list[Hit]]:
        found = self._collection.query(
            query_embeddings=self._embed(questions), n_results=DEPTH, include=["documents", "metadatas"]
        )
        for texts, metas in zip(found["documents"], found["metadatas"], strict=True):
            yield [
                Hit(str(meta["path"]), str(meta["symbol"]), int(meta["start"]), int(meta["end"]), str(text))
                for text, meta in zip(texts, metas, strict=True)
            ]

    def tamper(self, tampering: Tampering) -> Callable[[], None] | None:
        """Rewrite text and vector of an entry."""
        ids = [id_ for id_ in self._ids.get(tampering.path, []) if id_.endswith(f":{tampering.symbol}")]
        if not ids:
            return None
        before = self._collection.get(ids=ids[:1], include=["documents", "embeddings"])
        self._collection.update(ids=ids[:1], documents=[tampering.text], embeddings=[tampering.vector])

        def undo() -> None:
            self._collection.update(
                ids=ids[:1], documents=before["documents"], embeddings=before["embeddings"]
            )

        return undo

    def close(self) -> None:
        """Delete the collection."""
        self._client.delete_collection(self._name)


class Words:
    """BM25 by SQLite's FTS5, identifiers split into their words."""

    name = "bm25"

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(body, tokenize='porter unicode61')")
        self._hits: dict[int, Hit] = {}
        self._rows: dict[str, list[int]] = {}

    def index(self, change: Change) -> None:
        """Add and delete."""
        for path in (*change.removed, *change.added):
            for row in self._rows.pop(path, []):
                self._db.execute("DELETE FROM words WHERE rowid = ?", (row,))
                del self._hits[row]
        for path, text in change.added.items():
            for hit in hits_of(path, text):
                number = self._db.execute(
                    "INSERT INTO words(body) VALUES (?)", (f"{_split(hit.symbol)} {_split(hit.text)}",)
                ).lastrowid
                assert number is not None
                self._hits[number] = hit
                self._rows.setdefault(path, []).append(number)

    def search(self, questions: Sequence[str]) -> list[list[Hit]]:
        """Return the best hits of each question."""
        return [self._search(question) for question in questions]

    def _search(self, question: str) -> list[Hit]:
        words = dict.fromkeys(re.findall(r"\w+", _split(question)))
        if not words:
            return []
        rows = self._db.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), DEPTH),
        )
        return [self._hits[row] for (row,) in rows]

    def tamper(self, tampering: Tampering) -> Callable[[], None] | None:
        """Return nothing: its texts are in no vector store."""
        return None

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def _split(text: str) -> str:
    return f"{text} {re.sub(r'(?<=[a-z0-9])(?=[A-Z])|_', ' ', text)}"


def fused(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of several lists by the sum of their reciprocal ranks."""
    scores: dict[str, float] = {}
    known: dict[str, Hit] = {}
    for hits in lists:
        for rank, hit in enumerate(hits, 1):
            key = id_of(hit)
            scores[key] = scores.get(key, 0.0) + 1 / (RRF + rank)
            known.setdefault(key, hit)
    return [known[key] for key in sorted(scores, key=lambda key: (-scores[key], key))]


class Searching:
    """Something that gives hits."""

    def __init__(self, name: str, searchers: Sequence[Chroma | Words]) -> None:
        self.name = name
        self.main = True
        self.parts: tuple[Part, ...] = tuple(searchers)
        self._searchers = tuple(searchers)

    def search(self, questions: Sequence[str]) -> list[list[Hit]]:
        """Return the hits of each question, best first."""
        found = [searcher.search(questions) for searcher in self._searchers]
        return [fused(lists) if len(lists) > 1 else list(lists[0]) for lists in zip(*found, strict=True)]

    def ask(self, questions: Sequence[str], k: int) -> list[Answer]:
        """Return the first k; nothing is decided about any."""
        return [Answer(one_per_file(hits, k), tuple(hits)) for hits in self.search(questions)]


def systems(around: Surroundings) -> Sequence[System]:
    """Return the three retrievers, the fused one last."""
    chroma, words = Chroma(around), Words()
    return (
        Searching("chroma", [chroma]),
        Searching("bm25", [words]),
        Searching("hybrid", [chroma, words]),
    )
