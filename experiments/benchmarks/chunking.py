"""Chunking against astchunk, on one core and two, and byte-exactness on real code.

Needs astchunk beside codeguard (`pip install astchunk`); without it only our
side is measured. Where one process works, the ratio is of the processor's time;
where two work for a third, of the clock's until the last chunk is back in the
process that asked, on our side as `codeguard index --jobs 2` does it: that
needs two idle cores. The rounds alternate, and ratios are those of their least
seconds.

    python -m experiments.benchmarks.chunking [--json FILE] [--every N] [--exact DIR ...]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.discovery import discover, read_file
from codeguard.errors import CorpusError
from codeguard.index.executor import open_executor
from codeguard.index.file_tasks import BATCH, chunked
from experiments.benchmarks.processor import processor_seconds

MAX_CHARS = 4000
ROUNDS = 5

Batch = list[tuple[str, bytes]]
Times = tuple[float, float]  # seconds: the processor's, the clock's


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


def _theirs(job: tuple[Batch, int]) -> list[list[Any]]:
    """Return the chunks of a batch, to be handed back as the pool does it."""
    batch, size = job
    builder = _astchunk_builder(size)
    found = []
    for _, data in batch:
        try:
            found.append(list(builder.chunkify(data.decode())))
        except (RecursionError, AssertionError):
            found.append([])
    return found


def standard_library(every: int) -> Batch:
    """Return every n-th Python file of the standard library that both sides read: UTF-8, not empty."""
    found = discover([Path(sysconfig.get_path("stdlib"))], exclude=["site-packages/"])
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
    """Group files to batches of as many bytes as our workers get at a time."""
    grouped: list[Batch] = [[]]
    size = 0
    for item in files:
        grouped[-1].append(item)
        size += len(item[1])
        if size > BATCH.bytes:
            grouped.append([])
            size = 0
    return [batch for batch in grouped if batch]


def both_times(work: Callable[[], object]) -> Times:
    """Return the seconds that the work takes in this process, the processor's and the clock's."""
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - clock


def ours_on_two(files: Batch) -> Times:
    """Return the seconds until two processes that are already running have chunked the files for this one."""
    with open_executor(2) as executor:
        # A batch for each, and one more that keeps the first from taking both.
        list(chunked(executor, [("warm.py", b"x = 1\n" * (BATCH.bytes // 6 + 1))] * 3))
        processors, clock = processor_seconds(), time.perf_counter()
        for _ in chunked(executor, files):
            pass
        return processor_seconds() - processors, time.perf_counter() - clock


def astchunk_on_two(jobs: Sequence[tuple[Batch, int]]) -> Times:
    """Return the same of astchunk's, in batches of the same size."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_theirs, [jobs[0]] * 3))
        processors, clock = processor_seconds(), time.perf_counter()
        for _ in pool.map(_theirs, jobs):
            pass
        return processor_seconds() - processors, time.perf_counter() - clock


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
                cut = chunk_file(file.name, data)
            except CorpusError:
                total["refused"] += 1
                continue
            pieces = [data[chunk.span.start_byte : chunk.span.end_byte] for chunk in cut.chunks]
            text = "".join(chunk.text for chunk in cut.chunks)
            if (
                b"".join(pieces) != data
                or text != cut.text
                or max(map(len, pieces), default=0) > 4 * MAX_CHARS
            ):
                wrong.append(file.name)
            total.update(files=1, bytes=len(data), chunks=len(pieces), errors=cut.syntax_errors)
            languages[cut.language] += 1
    seconds = time.perf_counter() - start
    return {**total, "wrong": wrong, "seconds": seconds, "languages": dict(languages.most_common())}


def compare(files: Batch) -> dict[str, Any]:
    """Measure both sides on the same files."""
    size = sum(len(data) for _, data in files)
    dense = sum(sum(not chr(byte).isspace() for byte in data) for _, data in files) / size
    result: dict[str, Any] = {"files": len(files), "bytes": size, "max_chars": MAX_CHARS}
    measures: dict[str, Callable[[], Times]] = {
        "ours_one": lambda: both_times(lambda: ours(files)),
        "ours_two": lambda: ours_on_two(files),
    }
    has_peer = importlib.util.find_spec("astchunk") is not None
    theirs = round(MAX_CHARS * dense)  # astchunk counts characters that are not blank
    if has_peer:
        jobs = [(job, theirs) for job in batches(files)]
        result["astchunk_size"] = theirs
        measures["astchunk_one"] = lambda: both_times(lambda: astchunk(files, theirs))
        measures["astchunk_two"] = lambda: astchunk_on_two(jobs)
    ours(files[:3])
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(ROUNDS)]
    for name in measures:
        for place, kind in enumerate(("processor", "elapsed")):
            result[f"{name}_{kind}"] = min(found[name][place] for found in rounds)
    result["load"] = os.getloadavg()[0]
    if not has_peer:
        return result
    result["ratio_one_core"] = result["astchunk_one_processor"] / result["ours_one_processor"]
    result["ratio_two_cores_to_its_one"] = result["astchunk_one_elapsed"] / result["ours_two_elapsed"]
    result["ratio_two_cores"] = result["astchunk_two_elapsed"] / result["ours_two_elapsed"]
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
