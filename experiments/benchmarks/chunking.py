"""Chunking against astchunk, on one core and two, and byte-exactness on real code.

Needs astchunk beside codeguard (`pip install astchunk`); without it only our
side is measured. Rates are of processor time where one process works, of
wall time where several do.

    python -m experiments.benchmarks.chunking [--json FILE] [--every N] [--exact DIR ...]
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from codeguard.chunking import chunk_file
from codeguard.discovery import discover, read_file
from codeguard.errors import CorpusError

MAX_CHARS = 4000
BATCH_BYTES = 500_000

Batch = list[tuple[str, bytes]]


def ours(batch: Batch) -> int:
    """Chunk a batch; return the number of chunks."""
    return sum(len(chunk_file(name, data, max_chars=MAX_CHARS).chunks) for name, data in batch)


def astchunk(batch: Batch, size: int) -> int:
    """Chunk a batch with astchunk; a file on which it fails counts no chunks."""
    builder = _astchunk_builder(size)
    chunks = 0
    for _, data in batch:
        try:
            chunks += len(builder.chunkify(data.decode()))
        except (RecursionError, AssertionError):
            continue
    return chunks


def _astchunk_builder(size: int) -> Any:
    module = importlib.import_module("astchunk")
    return module.ASTChunkBuilder(max_chunk_size=size, language="python", metadata_template="default")


def _theirs(job: tuple[Batch, int]) -> int:
    return astchunk(*job)


def standard_library(every: int) -> Batch:
    """Return every n-th Python file of the standard library that both sides read: UTF-8, not empty."""
    found = discover([Path(sysconfig.get_path("stdlib"))], ignore=["site-packages/"])
    python = [file for file in found.files if file.name.endswith(".py")]
    files = []
    for file in python[::every]:
        data = read_file(file)
        try:
            data.decode()
            chunk_file(file.name, data)
        except (UnicodeDecodeError, CorpusError):
            continue
        if data.strip() and not data.startswith(b"\xef\xbb\xbf"):
            files.append((file.name, data))
    return files


def batches(files: Batch) -> list[Batch]:
    """Group files to batches of about half a megabyte."""
    grouped: list[Batch] = [[]]
    size = 0
    for item in files:
        grouped[-1].append(item)
        size += len(item[1])
        if size > BATCH_BYTES:
            grouped.append([])
            size = 0
    return [batch for batch in grouped if batch]


def processor_time(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that the work takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def on_two_cores(function: Callable[[Any], int], jobs: Sequence[Any]) -> float:
    """Return the wall time of the jobs on two processes, which are already running."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(function, [jobs[0], jobs[0]]))
        start = time.perf_counter()
        list(pool.map(function, jobs))
        return time.perf_counter() - start


def exactness(roots: Sequence[Path], limit_bytes: int) -> dict[str, Any]:
    """Chunk every file under the roots that discovery takes, until the limit; count what is not given back exactly."""
    total = Counter[str]()
    languages = Counter[str]()
    wrong: list[str] = []
    start = time.perf_counter()
    for root in roots:
        for file in discover([root], root=root).files:
            if total["bytes"] >= limit_bytes:
                break
            try:
                data = read_file(file)
                chunked = chunk_file(file.name, data)
            except CorpusError:
                total["refused"] += 1
                continue
            pieces = [data[chunk.span.start_byte : chunk.span.end_byte] for chunk in chunked.chunks]
            text = "".join(chunk.text for chunk in chunked.chunks)
            if (
                b"".join(pieces) != data
                or text != chunked.text
                or max(map(len, pieces), default=0) > 4 * MAX_CHARS
            ):
                wrong.append(file.name)
            total.update(files=1, bytes=len(data), chunks=len(pieces), errors=chunked.syntax_errors)
            languages[chunked.language] += 1
    seconds = time.perf_counter() - start
    return {**total, "wrong": wrong, "seconds": seconds, "languages": dict(languages.most_common())}


def compare(files: Batch) -> dict[str, Any]:
    """Measure both sides on the same files."""
    size = sum(len(data) for _, data in files)
    dense = sum(sum(not chr(byte).isspace() for byte in data) for _, data in files) / size
    result: dict[str, Any] = {"files": len(files), "bytes": size, "max_chars": MAX_CHARS}
    jobs = batches(files)
    ours(files[:3])
    result["ours_one"] = min(processor_time(lambda: ours(files)) for _ in range(3))
    result["ours_two"] = min(on_two_cores(ours, jobs) for _ in range(2))
    try:
        importlib.import_module("astchunk")
    except ImportError:
        return result
    theirs = round(MAX_CHARS * dense)  # astchunk counts characters that are not blank
    result["astchunk_size"] = theirs
    result["astchunk_one"] = min(processor_time(lambda: astchunk(files, theirs)) for _ in range(2))
    result["astchunk_two"] = min(on_two_cores(_theirs, [(job, theirs) for job in jobs]) for _ in range(2))
    result["ratio_one_core"] = result["astchunk_one"] / result["ours_one"]
    result["ratio_two_cores_to_its_one"] = result["astchunk_one"] / result["ours_two"]
    result["ratio_two_cores"] = result["astchunk_two"] / result["ours_two"]
    builder = _astchunk_builder(theirs)
    exact = 0
    for _, data in files:
        try:
            exact += "".join(chunk["content"] for chunk in builder.chunkify(data.decode())) == data.decode()
        except (RecursionError, AssertionError):
            continue
    result["astchunk_exact_files"] = exact
    return result


def main() -> int:
    """Run, print, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every n-th file for the comparison")
    parser.add_argument(
        "--exact", type=Path, nargs="*", default=[], help="folders to check for byte-exactness"
    )
    parser.add_argument("--exact-bytes", type=int, default=200_000_000)
    arguments = parser.parse_args()
    files = standard_library(arguments.every)
    result: dict[str, Any] = {"compare": compare(files)}
    for key, value in result["compare"].items():
        print(f"{key:28} {value:.3f}" if isinstance(value, float) else f"{key:28} {value}")
    if arguments.exact:
        result["exact"] = exactness(arguments.exact, arguments.exact_bytes)
        print(json.dumps(result["exact"], indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result.get("exact", {}).get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
