"""A defended query in a running process against a plain Chroma query.

    python -m experiments.benchmarks.query_speed [--every N ...] [--rounds N] [--json FILE]

Both sides embed the query with the same embedding, and Chroma includes
documents, metadata and distances. The corpora are the example ones, poison
included, and every n-th file of the standard library: about 900 vectors with
24, 10,600 with 2. Each query is asked of both sides in turn, so that a busy
machine is busy for both; evidence is cached, as after the first round. Times
are those of the clock and of all processors together.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.index.store import row_of
from codeguard.index.store.chroma import import_chromadb
from experiments.benchmarks.standard_library import standard_files
from experiments.corpus.queries import ALL
from experiments.workbench import DATA, SEED, TRUSTED

K = 5


def corpus(folder: Path, every: int) -> None:
    """Fill a folder with the example corpora and files of the standard library, by links."""
    for name in ("sample_code", "unknown_source", "poisoned"):
        (folder / name).mkdir(parents=True)
        for path in (DATA / name).glob("*.py"):
            (folder / name / path.name).write_bytes(path.read_bytes())
    (folder / "library").mkdir()
    for number, path in enumerate(standard_files()[::every]):
        (folder / "library" / f"{number:04}_{path.name}").write_bytes(path.read_bytes())


def plain_collection(guard: CodeGuard, folder: Path) -> Any:
    """Return a collection of Chroma's own with the rows of the guard's."""
    chromadb = import_chromadb()
    settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(folder), settings=settings)
    collection = client.create_collection(
        "plain", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    vectors = guard.workspace.vectors
    ids = sorted(vectors.ids())
    for start in range(0, len(ids), 1000):
        page = ids[start : start + 1000]
        embeddings, chunks = vectors.embeddings(page), guard.catalog.chunks(page)
        rows = [row_of(id_, chunks[id_]) for id_ in page]
        collection.add(
            ids=page,
            embeddings=[embeddings[id_] for id_ in page],
            documents=[row.document for row in rows],
            metadatas=[dict(row.metadata) for row in rows],
        )
    return collection


def in_process(guard: CodeGuard, folder: Path, rounds: int) -> dict[str, Any]:
    """Ask every question of both sides in turn; return milliseconds and ratios."""
    collection = plain_collection(guard, folder)
    embedding = guard.workspace.embedding

    def plain(text: str) -> object:
        vector = embedding.embed([text])[0]
        return collection.query(
            query_embeddings=[vector], n_results=K, include=["documents", "metadatas", "distances"]
        )

    def defended(text: str) -> object:
        return guard.query(text, K)

    sides: dict[str, Callable[[str], object]] = {"plain": plain, "defended": defended}
    elapsed: dict[str, list[float]] = {name: [] for name in sides}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for text in (query.text for query in ALL):
        for ask in sides.values():
            ask(text)
    for turn in range(rounds):
        for place, query in enumerate(ALL):
            order = list(sides) if (turn + place) % 2 else list(sides)[::-1]
            for name in order:
                start, worked = time.perf_counter(), time.process_time()
                sides[name](query.text)
                spent[name].append(time.process_time() - worked)
                elapsed[name].append(time.perf_counter() - start)
    figures: dict[str, Any] = {"vectors": collection.count(), "queries": len(elapsed["plain"])}
    for kind, measured in (("", elapsed), ("cpu_", spent)):
        for percent in (50, 95):
            values = {name: float(np.quantile(times, percent / 100)) for name, times in measured.items()}
            figures[f"{kind}p{percent}_ms"] = {name: round(1e3 * value, 2) for name, value in values.items()}
            figures[f"{kind}ratio_p{percent}"] = round(values["defended"] / values["plain"], 2)
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the figures and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--every", type=int, nargs="+", default=[12], help="take every n-th file of the standard library"
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    figures: dict[str, Any] = {"running": []}
    for every in given.every:
        with tempfile.TemporaryDirectory() as home:
            root, store = Path(home) / "corpus", Path(home) / "store"
            corpus(root, every)
            settings = Settings(store=str(store), root=str(root), embedding=given.embedding, fixed_seed=SEED)
            trusted = [root / TRUSTED, root / "library"]
            with CodeGuard.open(settings=settings, trust=trusted) as guard:
                figures["embedding"] = guard.index([root]).embedding
                figures["running"].append(in_process(guard, Path(home) / "plain", given.rounds))
    figures["load"] = os.getloadavg()[0]
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
