"""Index end to end against LlamaIndex and LangChain, each into Chroma with the same weights, on the same files.

    python -m experiments.benchmarks.end_to_end [--files N] [--rounds N] [--embeddings minilm] [--json FILE]

Ours chunks, embeds, writes catalog and vectors, verifies trust, trains the
character model and looks at every file with the static signals: everything
but running functions. The peers split and embed with Chroma's own function on
the same weights: LlamaIndex's CodeSplitter with its defaults (40 lines, 1,500
characters), LangChain's splitter for Python at 1,500 characters with its
default overlap. They need not be installed with codeguard: llama-index-core,
llama-index-vector-stores-chroma, langchain-chroma, langchain-text-splitters;
what is missing is left out. Every side works in a process of its own and is
timed from its first file to its last; imports and models are loaded and the
empty collection is made before, on our side by the process that serves the
store. Processor time is that of the process and of all it started, that one
included. `stages` is one more run of ours by itself.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.index.chroma_import import import_chromadb
from codeguard.index.embedding.weights import first_loaded
from experiments.benchmarks.chroma_files import place
from experiments.benchmarks.processor import adopt_orphans, processor_seconds
from experiments.benchmarks.stages import Stages
from experiments.benchmarks.standard_library import shuffled_by, standard_files
from experiments.workbench import SEED

PEERS = {"llamaindex": "llama_index.vector_stores.chroma", "langchain": "langchain_chroma"}
MAX_CHARS = 1500
Work = Callable[[], int]


def sample(folder: Path, count: int) -> None:
    """Put files of the standard library into a folder, chosen by their names."""
    folder.mkdir()
    files = [path for path in standard_files() if 2_000 <= path.stat().st_size <= 60_000]
    for number, path in enumerate(shuffled_by(files, lambda path: path.name)[:count]):
        (folder / f"{number:04}_{path.name}").write_bytes(path.read_bytes())


def ours(corpus: Path, store: Path, embedding: str) -> Work:
    """Return what indexes by codeguard; every second file is trusted."""
    settings = Settings(
        store=str(store),
        root=str(corpus),
        embedding=embedding,
        fixed_seed=SEED,
        defense=DefenseConfig(enable_behavior=False),
    )
    trusted = sorted(corpus.glob("*.py"))[::2]
    guard = CodeGuard.open(settings=settings, trust=trusted)
    guard.workspace.embedding.embed(["warm"])
    guard.workspace.vectors.count()

    def work() -> int:
        chunks = guard.index([corpus]).chunks
        guard.close()
        return chunks

    return work


def _function() -> Any:
    chromadb = import_chromadb()
    functions = chromadb.utils.embedding_functions
    home = Path(tempfile.mkdtemp())
    functions.ONNXMiniLM_L6_V2.DOWNLOAD_PATH = place(first_loaded(), home)
    function = functions.ONNXMiniLM_L6_V2(preferred_providers=["CPUExecutionProvider"])
    function(["warm"])
    return function


def _collection(store: Path) -> Any:
    chromadb = import_chromadb()
    settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(store), settings=settings)
    return client, client.create_collection("peer", embedding_function=None)


def llamaindex(corpus: Path, store: Path) -> Work:
    """Return what indexes by LlamaIndex's CodeSplitter and its Chroma store."""
    from tree_sitter import Language, Parser

    core: Any = importlib.import_module("llama_index.core")
    splitters: Any = importlib.import_module("llama_index.core.node_parser")
    base: Any = importlib.import_module("llama_index.core.base.embeddings.base")
    stores: Any = importlib.import_module(PEERS["llamaindex"])
    grammar: Any = importlib.import_module("tree_sitter_python")
    function = _function()

    class Chromas(base.BaseEmbedding):  # type: ignore[misc]
        def _get_query_embedding(self, query: str) -> list[float]:
            return list(map(float, function([query])[0]))

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_query_embedding(text)

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in function(texts)]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    splitter = splitters.CodeSplitter(
        language="python", max_chars=MAX_CHARS, parser=Parser(Language(grammar.language()))
    )
    _, collection = _collection(store)

    def work() -> int:
        documents = [
            core.Document(text=path.read_text("utf-8", "replace"), metadata={"path": path.name})
            for path in sorted(corpus.glob("*.py"))
        ]
        nodes = splitter.get_nodes_from_documents(documents)
        storage = core.StorageContext.from_defaults(
            vector_store=stores.ChromaVectorStore(chroma_collection=collection)
        )
        core.VectorStoreIndex(nodes, storage_context=storage, embed_model=Chromas(embed_batch_size=256))
        return int(collection.count())

    return work


def langchain(corpus: Path, store: Path) -> Work:
    """Return what indexes by LangChain's splitter for Python and its Chroma store."""
    splitters: Any = importlib.import_module("langchain_text_splitters")
    stores: Any = importlib.import_module(PEERS["langchain"])
    embeddings: Any = importlib.import_module("langchain_core.embeddings")
    function = _function()

    class Chromas(embeddings.Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in function(texts)]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    splitter = splitters.RecursiveCharacterTextSplitter.from_language("python", chunk_size=MAX_CHARS)
    client, _ = _collection(store)
    target = stores.Chroma("peer", embedding_function=Chromas(), client=client)

    def work() -> int:
        files = sorted(corpus.glob("*.py"))
        texts = [path.read_text("utf-8", "replace") for path in files]
        documents = splitter.create_documents(texts, [{"path": path.name} for path in files])
        for start in range(0, len(documents), 1000):
            target.add_documents(documents[start : start + 1000])
        return len(documents)

    return work


def side(name: str, corpus: Path, *, by_stage: bool = False) -> dict[str, Any]:
    """Run one side in this process; return seconds of elapsed and processor time, and the chunks.

    `by_stage` has our own side's processor time told by stages as well.
    """
    adopt_orphans()
    stages = Stages()
    with tempfile.TemporaryDirectory() as store:
        if name in PEERS:
            work = {"llamaindex": llamaindex, "langchain": langchain}[name](corpus, Path(store))
        else:
            work = ours(corpus, Path(store) / "store", name)
        if by_stage:
            stages.watch()
        used, own, start = processor_seconds(), time.process_time(), time.perf_counter()
        chunks = work()
        elapsed, own, used = (
            time.perf_counter() - start,
            time.process_time() - own,
            processor_seconds() - used,
        )
        found = {"elapsed": elapsed, "processor": used, "chunks": chunks}
        return found | {"stages": stages.table(own, used)} if by_stage else found


def measure(names: Sequence[str], files: int, rounds: int) -> dict[str, Any]:
    """Run every side in turn, some rounds; return medians and ratios of the rounds."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as home:
        corpus = Path(home) / "corpus"
        sample(corpus, files)
        size = sum(path.stat().st_size for path in corpus.iterdir())
        for _ in range(rounds):
            for name in names:
                runs[name].append(_run(name, corpus))
        stages = {name: _run(name, corpus, "--stages")["stages"] for name in names if name not in PEERS}
    figures: dict[str, Any] = {"files": files, "bytes": size, "rounds": rounds, "load": os.getloadavg()[0]}
    figures["median"] = {
        name: {key: round(statistics.median(run[key] for run in found), 2) for key in found[0]}
        for name, found in runs.items()
    }
    figures["ratio"] = {
        f"{own} to {peer}": {
            key: round(
                statistics.median(a[key] / b[key] for a, b in zip(runs[peer], runs[own], strict=True)), 2
            )
            for key in ("elapsed", "processor")
        }
        for own in names
        if own not in PEERS
        for peer in names
        if peer in PEERS
    }
    return figures | {"stages": stages}


def _run(name: str, corpus: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, "--side", name, "--corpus", str(corpus), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure, print the figures and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--embeddings", nargs="*", default=["minilm"])
    parser.add_argument("--side", help="run one side and print its figures (used by this script itself)")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--stages", action="store_true", help="with --side: by stages")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(side(given.side, given.corpus, by_stage=given.stages)))
        return
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module.partition(".")[0])]
    figures = measure([*given.embeddings, *peers], given.files, given.rounds)
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
