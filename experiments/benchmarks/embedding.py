"""The embeddings: speed against Chroma's own function on the same weights, nearness, and what they find.

    python -m experiments.benchmarks.embedding [--functions N] [--rounds N] [--json FILE]

Speed is measured in interleaved rounds, each on other functions of the
standard library, and given as the median of the rounds' ratios with
their quartiles, of elapsed and of processor time: on a machine that others
use too the second says more. Chroma's function gets the same
weights as an ONNX file of its own form, so nothing is downloaded.

Retrieval: the first docstring line of a function has to find its body, the
docstring taken out, among 2,000. The lexical embedding's constants were set
on the even pairs; figures are given for both halves. `static` was trained on
other packages.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.chroma_import import import_chromadb
from codeguard.index.embedding import Embedding, open_embedding
from codeguard.index.embedding.base import Vectors
from codeguard.index.embedding.minilm import open_tokenizer
from codeguard.index.embedding.weights import first_loaded
from experiments.benchmarks.chroma_files import place
from experiments.benchmarks.standard_library import described, functions, read, shuffled, standard_files

PAIRS = 2_000
QUERIES = ("how to add two numbers", "calculate factorial", "reverse a string", "parse an ISO 8601 date")
LENGTHS = (16, 32, 64, 128, 192, 255)
STARTS = {
    "python -c pass": "pass",
    "import numpy": "import numpy",
    "first vector, static": "from codeguard.index.embedding import open_embedding as o; o('static').embed(['add'])",
    "first vector, lexical": "from codeguard.index.embedding import open_embedding as o; o('lexical').embed(['add'])",
    "first vector, minilm": "from codeguard.index.embedding import open_embedding as o; o('minilm').embed(['add'])",
    "import chromadb": "import chromadb",
}


class Clock:
    """Times calls: elapsed seconds, and seconds of processor time of all threads."""

    def __init__(self) -> None:
        self.elapsed: list[float] = []
        self.processor: list[float] = []

    def run(self, call: Callable[..., Any], argument: object) -> Any:
        """Call with the argument, note the time, and return what it returns."""
        elapsed, processor = time.perf_counter(), time.process_time()
        result = call(argument)
        self.elapsed.append(time.perf_counter() - elapsed)
        self.processor.append(time.process_time() - processor)
        return result


def main() -> None:
    """Measure, print the figures and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--functions", type=int, default=64, help="functions a round")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        embeddings = open_all(Path(home))
        found = {function.source: function for path in standard_files() for function in functions(read(path))}
        sources = [function.source for function in shuffled(list(found.values()))]
        figures = {
            "python": sys.version.split()[0],
            "versions": versions(),
            "tokens_of_functions": histogram(sources),
            "functions": throughput(embeddings, sources, arguments.functions, arguments.rounds),
            "query": latency(embeddings),
            "start_seconds": starts(),
            "retrieval": retrieval(embeddings),
        }
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


@dataclass(frozen=True)
class ChromaFunction:
    """Chroma's own embedding function, as the peer."""

    function: Callable[[list[str]], Any]
    identity: str = "chroma"
    dimension: int = 384
    note: str = ""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        return np.asarray(self.function(list(texts)), dtype=np.float32)


def open_all(home: Path) -> dict[str, Embedding]:
    """Open every embedding that runs on one machine; Chroma's finds its files under `home`."""
    chromadb = import_chromadb()
    functions_ = chromadb.utils.embedding_functions
    functions_.ONNXMiniLM_L6_V2.DOWNLOAD_PATH = place(first_loaded(), home)
    embeddings: dict[str, Embedding] = {"chroma": ChromaFunction(functions_.ONNXMiniLM_L6_V2())}
    embeddings |= {name: open_embedding(name) for name in ("static", "minilm")}
    embeddings["lexical"] = open_embedding("lexical")
    return embeddings


def throughput(
    embeddings: dict[str, Embedding], sources: Sequence[str], size: int, rounds: int
) -> dict[str, Any]:
    """Embed other functions each round with each embedding; ratios to Chroma's function, and the cosine to it."""
    for embedding in embeddings.values():
        embedding.embed(sources[-4:])
    clocks = {name: Clock() for name in embeddings}
    cosines: dict[str, float] = {}
    for turn in range(rounds):
        texts = sources[turn * size : (turn + 1) * size]
        rows = {name: clocks[name].run(embeddings[name].embed, texts) for name in _rotated(embeddings, turn)}
        for name, own in rows.items():
            if own.shape == rows["chroma"].shape:
                least = float((own * rows["chroma"]).sum(axis=1).min())
                cosines[name] = min(cosines.get(name, 1.0), least)
    return {
        "identity": {name: embedding.identity for name, embedding in embeddings.items()},
        "functions_per_second": {
            name: round(size / statistics.median(clock.elapsed), 1) for name, clock in clocks.items()
        },
        "times_chroma": _ratios(clocks),
        "least_cosine_to_chroma": {name: round(cosine, 6) for name, cosine in cosines.items()},
        "rounds": rounds,
        "functions_a_round": size,
    }


def latency(embeddings: dict[str, Embedding], rounds: int = 60) -> dict[str, Any]:
    """Embed one query at a time, in turns."""
    clocks = {name: Clock() for name in embeddings}
    for turn in range(rounds):
        query = [QUERIES[turn % len(QUERIES)]]
        for name in _rotated(embeddings, turn):
            clocks[name].run(embeddings[name].embed, query)
    return {
        f"p{percent}_ms": {
            name: round(1e3 * float(np.quantile(clock.elapsed, percent / 100)), 2)
            for name, clock in clocks.items()
        }
        for percent in (10, 50, 95)
    } | {"times_chroma": _ratios(clocks)}


def starts(rounds: int = 5) -> dict[str, float]:
    """Return the median seconds of a fresh process, the start of Python included."""
    clocks = {name: Clock() for name in STARTS}
    for _ in range(rounds):
        for name, code in STARTS.items():
            clocks[name].run(subprocess.check_call, [sys.executable, "-c", code])
    return {name: round(statistics.median(clock.elapsed), 3) for name, clock in clocks.items()}


def retrieval(embeddings: dict[str, Embedding]) -> dict[str, dict[str, float]]:
    """Return MRR and recall at 10 of docstring line to body, on the half tuned on and the half held out."""
    pairs = described()[:PAIRS]
    bodies = [pair.body for pair in pairs]
    result = {}
    for name, embedding in embeddings.items():
        if name == "chroma":
            continue
        scores = embedding.embed([pair.summary for pair in pairs]) @ embedding.embed(bodies).T
        ranks = (scores > np.diag(scores)[:, None]).sum(axis=1) + 1
        result[name] = {
            f"{figure} {half}": round(float(values[offset::2].mean()), 4)
            for figure, values in (("mrr", 1 / ranks), ("recall@10", ranks <= 10))
            for offset, half in ((0, "tuned on"), (1, "held out"))
        }
    return result


def histogram(sources: Iterable[str]) -> dict[str, int]:
    """Count functions by number of tokens, cut at 256, the special tokens included."""
    encodings = open_tokenizer(first_loaded().tokenizer).encode_batch(list(sources))
    lengths = np.array([len(encoding.ids) for encoding in encodings])
    edges = [0, *LENGTHS, 256]
    counts = {
        f"{low + 1} to {high}": int(((lengths > low) & (lengths <= high)).sum())
        for low, high in itertools.pairwise(edges)
    }
    return {**counts, "mean": round(float(lengths.mean()))}


def versions() -> dict[str, str]:
    """Return the versions of what is measured."""
    names = ("chromadb", "onnxruntime", "tokenizers", "numpy")
    return {name: importlib.metadata.version(name) for name in names if importlib.util.find_spec(name)}


def _ratios(clocks: dict[str, Clock]) -> dict[str, dict[str, list[float]]]:
    """Return, for each but Chroma, how many times faster a round was: median, first and third quartile."""
    chroma = clocks["chroma"]
    return {
        name: {
            "elapsed": _quartiles(chroma.elapsed, clock.elapsed),
            "processor": _quartiles(chroma.processor, clock.processor),
        }
        for name, clock in clocks.items()
        if name != "chroma"
    }


def _quartiles(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    ratios = np.array(theirs) / np.array(ours)
    return [round(float(np.quantile(ratios, share)), 2) for share in (0.5, 0.25, 0.75)]


def _rotated(embeddings: dict[str, Embedding], turn: int) -> list[str]:
    """Return the names, another one first each turn, so that none always runs in the wake of the same."""
    names = list(embeddings)
    start = turn % len(names)
    return names[start:] + names[:start]


if __name__ == "__main__":
    main()
