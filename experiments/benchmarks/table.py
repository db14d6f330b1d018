"""Print the benchmarks' figures as the table that README shows, from the JSON files of their last runs.

    python -m experiments.benchmarks.table FOLDER

FOLDER holds `retrieval.json`, `query_speed.json`, `end_to_end.json` and
`chunking.json`, as `--json` of these benchmarks wrote them; what is missing
is left out of the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = tuple[str, str, str, str]  # stage, peer, measured, wanted


def retrieval(figures: dict[str, Any]) -> Iterator[Row]:
    """Return a row for each embedding."""
    for name, found in figures.items():
        yield (
            f"retrieval MRR, docstring to body, held-out half, {name}",
            "the vectors of the text alone",
            f"{found['times_vectors_alone']:.2f}× ({found['held_out']['docstring'][found['chosen']]:.3f})",
            "1.10×" if name == "minilm" else "",
        )


def query_speed(figures: dict[str, Any]) -> Iterator[Row]:
    """Return the rows of a running process and of a cold shell."""
    running, cold = figures["running"], figures["cold"]
    peer = "plain Chroma query with the same embedding and include"
    yield "defended query in a running process, p50", peer, f"{running['ratio_p50']:.2f}×", "at most 1.3×"
    yield "the same, p95", peer, f"{running['ratio_p95']:.2f}×", "at most 1.5×"
    yield (
        "`codeguard query` from a cold shell, the store's process running",
        "`import chromadb`",
        f"{cold['ratio']:.2f}×",
        "at most 2×",
    )


def end_to_end(figures: dict[str, Any]) -> Iterator[Row]:
    """Return a row for each pair."""
    for pair, ratio in figures["ratio"].items():
        own, _, peer = pair.partition(" to ")
        wanted = "4.5×" if own == "openvino" else "2.3×"
        shown = f"{ratio['processor']:.1f}× processor time, {ratio['elapsed']:.1f}× elapsed"
        yield f"index end to end, {own}", f"{peer} + Chroma, same weights, same files", shown, wanted


def chunking(figures: dict[str, Any]) -> Iterator[Row]:
    """Return the rows of one core and of two."""
    compared = figures["compare"]
    if "ratio_one_core" in compared:
        yield "chunking, one core", "astchunk", f"{compared['ratio_one_core']:.2f}×", "2×"
        two = compared["ratio_two_cores_to_its_one"]
        yield "chunking, two cores", "astchunk on one", f"{two:.2f}×", "3×"


TABLES: dict[str, Callable[[dict[str, Any]], Iterator[Row]]] = {
    "retrieval": retrieval,
    "query_speed": query_speed,
    "end_to_end": end_to_end,
    "chunking": chunking,
}


def table(folder: Path) -> str:
    """Return the table in Markdown."""
    lines = ["| stage | against | measured | wanted |", "| --- | --- | --- | --- |"]
    for name, rows in TABLES.items():
        path = folder / f"{name}.json"
        if path.exists():
            lines += [f"| {' | '.join(row)} |" for row in rows(json.loads(path.read_text()))]
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    print(table(parser.parse_args().folder))


if __name__ == "__main__":
    main()
