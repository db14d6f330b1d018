"""Retrieval: vectors alone, words alone, and both together, on functions of the standard library.

    python -m experiments.benchmarks.retrieval [--pairs N] [--json FILE]

A function without its docstring has to be found among the others by its
docstring's first line, by its name, by three lines out of its middle, or by
the message of an error that it raises. Weights were chosen on the even
functions, figures are of the odd ones; `tuning` shows the choice.
"""

from __future__ import annotations

import argparse
import ast
import json
import sqlite3
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.corpus.chunking import chunk_file
from codeguard.index import lexical
from codeguard.index.embedding import Embedding, open_embedding
from codeguard.index.lexical import retrieval_text
from codeguard.models import Chunk, ChunkKind
from codeguard.ranking import scoring
from experiments.benchmarks.standard_library import dedented, function_in, shuffled_by, standard_files

PAIRS = 2_000
CANDIDATES = 15  # of each search, as `codeguard query -k 5` fetches them
DEPTH = 4 * CANDIDATES
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
ODD = 1


@dataclass(frozen=True, slots=True)
class Pair:
    """A function without its docstring, as it would be indexed, and what it should be found by."""

    chunk: Chunk
    queries: Mapping[str, str]


def pairs(count: int) -> list[Pair]:
    """Return functions of the standard library with at least two lines beside a docstring of four words."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found: dict[str, Pair] = {}
    for path in standard_files():
        file = chunk_file(path.relative_to(root).as_posix(), path.read_bytes())
        for chunk in file.chunks:
            if chunk.kind in (ChunkKind.FUNCTION, ChunkKind.METHOD):
                pair = _pair(chunk)
                if pair is not None:
                    found.setdefault(pair.queries["docstring"], pair)
    return shuffled_by(list(found.values()), lambda pair: pair.chunk.text)[:count]


def _pair(chunk: Chunk) -> Pair | None:
    lines = chunk.text.splitlines(keepends=True)
    function = function_in(dedented(chunk.text))
    summary = (ast.get_docstring(function) or "").strip().partition("\n")[0].strip() if function else ""
    if function is None or len(summary.split()) < 4 or len(function.body) < 2:
        return None
    docstring = function.body[0]
    body = [*lines[: docstring.lineno - 1], *lines[docstring.end_lineno :]]
    if len(body) < 2:
        return None
    queries = {"docstring": summary, "identifier": function.name}
    if len(body) >= 6:
        middle = len(body) // 2
        queries["code"] = "".join(body[middle - 1 : middle + 2])
    message = raised_message(function)
    if message:
        queries["error message"] = message
    text = "".join(body)
    return Pair(Chunk(chunk.path, chunk.symbol, chunk.kind, chunk.span, text, "", "python"), queries)


def raised_message(function: ast.AST) -> str:
    """Return what an error that the function raises would say, its variable parts filled with a word."""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            said = node.exc.args[0]
            parts = said.values if isinstance(said, ast.JoinedStr) else [said]
            words = [str(part.value) if isinstance(part, ast.Constant) else "value" for part in parts]
            kind = node.exc.func.id if isinstance(node.exc.func, ast.Name) else "Error"
            if len(" ".join(words).split()) >= 3:
                return f"{kind}: {''.join(words)}"
    return ""


class Searched:
    """One way of indexing the functions, and how well each query finds its own."""

    def __init__(self, chunks: Sequence[Chunk], embedding: Embedding) -> None:
        self._embedding = embedding
        self._vectors = embedding.embed([retrieval_text(chunk) for chunk in chunks])
        self._db = sqlite3.connect(":memory:")
        self._db.executescript(lexical.SCHEMA)
        lexical.add(
            self._db,
            [lexical.IndexedText(str(n), chunk.symbol, chunk.text) for n, chunk in enumerate(chunks)],
        )

    def reciprocal_ranks(self, queries: Mapping[int, str]) -> dict[str, NDArray[np.float64]]:
        """Return 1/rank of each query's own function by way of searching, 0 where it is no candidate."""
        distances = 1.0 - self._embedding.embed(list(queries.values())) @ self._vectors.T
        ways: dict[str, list[float]] = {name: [] for name in ("vectors", "words", *map(_mixed, WEIGHTS))}
        for (own, query), row in zip(queries.items(), distances, strict=True):
            ways["vectors"].append(1.0 / (1 + int((row < row[own]).sum())))
            scores = lexical.search(self._db, query, DEPTH)
            ways["words"].append(_reciprocal({id_: -score for id_, score in scores.items()}, str(own)))
            nearest = [str(n) for n in np.argpartition(row, CANDIDATES)[:CANDIDATES]]
            union = dict.fromkeys([*nearest, *scoring.candidates(scores, CANDIDATES)])
            away = {id_: float(row[int(id_)]) for id_ in union}
            for weight in WEIGHTS:
                ways[_mixed(weight)].append(_reciprocal(scoring.fuse(away, scores, weight), str(own)))
        return {name: np.array(found) for name, found in ways.items()}


def _mixed(weight: float) -> str:
    return f"both, words {weight:g}"


def _reciprocal(costs: Mapping[str, float], own: str) -> float:
    if own not in costs:
        return 0.0
    return 1.0 / (1 + sum(cost < costs[own] for cost in costs.values()))


def measure(embedding: Embedding, found: Sequence[Pair]) -> dict[str, Any]:
    """Return the mean reciprocal ranks of every way of searching, by kind of query."""
    result: dict[str, Any] = {"embedding": embedding.identity, "n": {}, "held_out": {}, "tuning": {}}
    searched = Searched([pair.chunk for pair in found], embedding)
    for kind in ("docstring", "identifier", "code", "error message"):
        queries = {n: pair.queries[kind] for n, pair in enumerate(found) if kind in pair.queries}
        odd = np.array(list(queries)) % 2 == ODD
        result["n"][kind] = int(odd.sum())
        ways = searched.reciprocal_ranks(queries)
        for half, chosen in (("held_out", odd), ("tuning", ~odd)):
            result[half][kind] = {name: round(float(ranks[chosen].mean()), 4) for name, ranks in ways.items()}
    return result | {"chosen": _mixed(scoring.weight_for(embedding.identity))}


def main() -> None:
    """Measure, print the figures and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--embeddings", nargs="*", default=["static", "minilm", "lexical"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = pairs(arguments.pairs)
    figures = {name: measure(open_embedding(name), found) for name in arguments.embeddings}
    for name, result in figures.items():
        print(f"{name}: {result['chosen']}")
        for way in result["held_out"]["docstring"]:
            row = "  ".join(f"{kind} {result['held_out'][kind][way]:.3f}" for kind in result["n"])
            print(f"  {way:32} {row}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
