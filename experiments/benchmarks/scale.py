"""Growth of one store to a million chunks: memory, disk, queries, a 1 % update, a run with nothing to do.

    python -m experiments.benchmarks.scale FOLDER [--sources FOLDER...] [--sizes 10000 100000 1000000]
        [--server] [--plot FILE]

The corpus is the standard library, the installed packages and the folders of
`--sources`, in an order chosen by the names' digests; where they do not
suffice, mutated copies follow (names of functions, numbers and words changed).
It is written below FOLDER part by part and indexed with the default
embedding. Behavior checks and static signals are off while it grows, the
static signals are on in the queries. An interrupted run goes on where it was.
Figures are appended to FOLDER/scale.jsonl. `--server` grows nothing: it
serves the vectors as they are by `chroma run` on loopback and measures the
queries and the update again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from codeguard.analysis.rules import load_file_signals
from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.index.maintenance.info import folder_bytes
from codeguard.index.store.wire import ask_to_retire, connect, receive, send

PART_FILES = 250
MOST_PARTS = 6  # of one run of the indexer
QUERIES = 48
K = 5
LEAST_FREE = 10 << 30  # bytes of the disk that stay free
TRUSTED = "json"  # a package of the standard library
_DEF = re.compile(r"\b(?:def|class) (\w+)")
_NUMBER = re.compile(r"(?<![\w.])(\d{1,6})(?![\w.])")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r'"""([A-Z][^."\n]{25,120})[."\n]')
_RENAMES = ("item", "entry", "record", "unit", "piece", "block", "field", "value", "part", "node")

Figures = dict[str, float | int | str]


def sources(folders: Sequence[Path]) -> list[Path]:
    """Return the Python files of the folders, in an order that mixes the packages and is always the same."""
    found = [
        (hashlib.sha256(str(path.relative_to(root)).encode()).digest(), path)
        for root in folders
        for path in root.rglob("*.py")
        if 200 < path.stat().st_size < 200_000
    ]
    return [path for _, path in sorted(found)]


def mutated(text: str, round_: int) -> str:
    """Return a copy's text: other names, other numbers; round 0 is the original."""
    if not round_:
        return text
    other = _RENAMES[round_ % len(_RENAMES)]
    names = {name: f"{name}_{other}{round_}" for name in _DEF.findall(text)}
    text = _WORD.sub(lambda found: names.get(found[0], found[0]), text)
    return _NUMBER.sub(lambda found: str(int(found[1]) + round_), text)


def write_part(folder: Path, files: Sequence[Path], number: int) -> Path:
    """Write part `number` of the endless corpus; the same call writes the same files."""
    round_, piece = divmod(number, -(-len(files) // PART_FILES))
    target = folder / "corpus" / f"part_{number:05}"
    target.mkdir(parents=True, exist_ok=True)
    for position, path in enumerate(files[piece * PART_FILES : (piece + 1) * PART_FILES]):
        place = target / f"m{position:04}.py"
        if not place.exists():
            place.write_text(mutated(path.read_text("utf-8", "replace"), round_), "utf-8")
    return target


def settings(folder: Path, url: str | None, *, signals: bool) -> Settings:
    """Return the settings of the measured index, with or without the static signals."""
    state = folder / ("served" if url else "state")
    disabled = () if signals else tuple(signal.name for signal in load_file_signals())
    return Settings(
        store=url or str(state),
        state_dir=str(state),
        root=str(folder),
        embedding="static",
        defense=DefenseConfig(enable_behavior=False, disabled_signals=disabled),
        jobs=1,
        share_idle_s=30.0,
    )


def opened(folder: Path, url: str | None = None, *, signals: bool = False) -> CodeGuard:
    """Open the measured index."""
    trusted = folder / "trusted" / TRUSTED
    if not trusted.exists():
        shutil.copytree(Path(sysconfig.get_paths()["stdlib"]) / TRUSTED, trusted)
    return CodeGuard.open(settings=settings(folder, url, signals=signals), trust=[trusted])


def grow(folder: Path, files: Sequence[Path], size: int) -> Figures:
    """Index part after part until the store holds `size` chunks; goes on where it was."""
    elapsed, processor, added = 0.0, 0.0, 0
    corpus = folder / "corpus"
    number = len(list(corpus.iterdir())) if corpus.exists() else 0
    parts = range(number)  # of which an interrupted run has left some
    with opened(folder) as guard:
        guard.workspace.vectors.count()
        clock = Clock(serving(folder))
        while (chunks := guard.catalog.count()) < size or parts:
            if shutil.disk_usage(folder).free < LEAST_FREE:
                sys.exit("too little room on the disk")
            if not parts:
                wanted = (size - chunks) * number // chunks if chunks else 1
                parts = range(number, number + max(1, min(MOST_PARTS, wanted)))
            paths = [write_part(folder, files, part) for part in parts]
            number, parts = parts.stop, range(0)
            before = clock.now()
            guard.index(paths)
            spent, used = (after - then for after, then in zip(clock.now(), before, strict=True))
            gained = guard.catalog.count() - chunks
            elapsed, processor, added = elapsed + spent, processor + used, added + gained
            print(
                f"{chunks + gained} chunks, {gained / spent:.0f} a second, "
                f"{used / max(1, gained) * 1e3:.2f} ms of processor each, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    return {"grow_s": elapsed, "grow_cpu_s": processor, "grow_chunks": added}


def measure(folder: Path, url: str | None, server: int | None = None) -> Figures:
    """Measure the queries, then a 1 % update and a run with nothing to do, of the index as it is."""
    texts = questions(folder / "state" / "catalog.sqlite3")
    ask_to_retire(folder / "state" / "chroma")  # so that the first answer comes from a process that starts
    start = time.monotonic()
    with opened(folder, url, signals=True) as guard:
        store, embedding = guard.workspace.vectors, guard.workspace.embedding
        vectors = embedding.embed(texts)
        store.nearest(vectors[0], K)
        found: Figures = {"open_s": time.monotonic() - start}
        found |= {"chunks": guard.catalog.count(), "vectors": store.count()}
        clock = Clock(serving(folder) if server is None else server)
        groups: dict[str, list[Callable[[], object]]] = {
            "near": [partial(store.nearest, vector, 3 * K) for vector in vectors],
            "words": [partial(guard.catalog.lexical_scores, text, 12 * K) for text in texts],
            "plain": [partial(guard.query, text, K, defense=False) for text in texts],
            "first": [partial(guard.query, text, K) for text in texts],
            "query": [partial(guard.query, text, K) for text in texts],
        }
        for name, calls in groups.items():
            found |= clock.percentiles(name, calls)
    files = [path for part in sorted((folder / "corpus").iterdir()) for path in sorted(part.glob("*.py"))]
    changed = files[::100]
    for path in changed:
        text = f"{path.read_text('utf-8')}\n\ndef added_{time.time_ns()}(x):\n    return x\n"
        path.write_text(text, "utf-8")
    with opened(folder, url) as guard:
        guard.workspace.vectors.count()
        clock = Clock(serving(folder) if server is None else server)
        for name in ("update", "unchanged"):
            before = clock.now()
            report = guard.index([folder / "corpus"])
            found |= clock.since(name, before) | {f"{name}_written": report.added}
        found["peak_bytes"] = clock.high_water()
    return found | {
        "files": len(files),
        "update_files": len(changed),
        "through": "server" if url else "process",
        "own_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "disk_bytes": folder_bytes(folder / "state"),
        "vectors_bytes": folder_bytes(folder / "state" / "chroma"),
        "corpus_bytes": sum(path.stat().st_size for path in files),
        "load": os.getloadavg()[0],
    }


class Clock:
    """Time by the clock, and of the processor in this process and the one that serves the store."""

    def __init__(self, server: int) -> None:
        self._server = server

    def now(self) -> tuple[float, float]:
        """Return both in seconds, from any beginning."""
        stat = Path(f"/proc/{self._server}/stat").read_text().rpartition(")")[2].split()
        ticks = int(stat[11]) + int(stat[12])
        return time.perf_counter(), time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    def since(self, name: str, before: tuple[float, float]) -> Figures:
        """Return what passed since then."""
        wall, processor = self.now()
        return {f"{name}_s": wall - before[0], f"{name}_cpu_s": processor - before[1]}

    def percentiles(self, name: str, calls: Sequence[Callable[[], object]]) -> Figures:
        """Call each once; return p50 and p95 by the clock and the mean of the processor, in milliseconds."""
        times = []
        _, before = self.now()
        for call in calls:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        _, after = self.now()
        found: Figures = {
            f"{name}_p{percent}_ms": float(np.percentile(times, percent)) * 1e3 for percent in (50, 95)
        }
        return found | {f"{name}_cpu_ms": (after - before) / len(times) * 1e3}

    def high_water(self) -> int:
        """Return the highest resident size of the process that serves the store, in bytes."""
        status = Path(f"/proc/{self._server}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def serving(folder: Path) -> int:
    """Return the process that serves the embedded store."""
    with connect(folder / "state" / "chroma") as connection:
        send(connection, {"op": "hello"})
        return int(receive(connection).header["pid"])


def questions(catalog: Path) -> list[str]:
    """Return first sentences of docstrings, symbols, and beginnings of chunks, a third each."""
    with contextlib.closing(sqlite3.connect(catalog)) as db:
        total = db.execute("SELECT max(rowid) FROM chunks").fetchone()[0]
        step = max(1, total // (QUERIES * 40))
        rows = db.execute(
            f"SELECT symbol, text FROM chunks WHERE rowid IN ({','.join(map(str, range(1, total, step)))})"
            " AND length(text) > 80"
        ).fetchall()
    sentences = [found[1] for _, text in rows if (found := _SENTENCE.search(text))]
    symbols = [symbol for symbol, _ in rows if len(symbol) > 5]
    codes = [text.strip()[:200] for _, text in rows]
    third = QUERIES // 3
    return [
        text
        for group in (sentences, symbols, codes)
        for text in group[:: max(1, len(group) // third)][:third]
    ]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve the grown vectors by a Chroma server on loopback, for a catalog of its own; yield address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    ask_to_retire(folder / "state" / "chroma")  # one process writes Chroma's files
    state = folder / "served"
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(folder / "state", state, ignore=shutil.ignore_patterns("chroma*", "*.lock"))
    with contextlib.closing(sqlite3.connect(state / "catalog.sqlite3")) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'store'", (url,))
    process = subprocess.Popen(
        [Path(sys.executable).with_name("chroma"), "run", "--path", str(folder / "state" / "chroma"),
         "--port", str(port), "--host", "127.0.0.1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def write(folder: Path, found: Figures) -> None:
    """Print figures and append them to the file."""
    print(json.dumps(found), flush=True)
    with (folder / "scale.jsonl").open("a") as file:
        file.write(json.dumps(found) + "\n")


def main() -> None:
    """Grow, measure, print, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sources", type=Path, nargs="+", default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XDG_CONFIG_HOME", str(folder / "config"))
    if arguments.plot:
        from experiments.benchmarks.growth_plot import draw

        lines = (folder / "scale.jsonl").read_text().splitlines()
        arguments.plot.write_text(draw([json.loads(line) for line in lines]))
    elif arguments.server:
        with served(folder) as (url, pid):
            write(folder, measure(folder, url, pid))
    else:
        files = sources([Path(sysconfig.get_paths()["purelib"]), *arguments.sources])
        for size in arguments.sizes:
            grown = grow(folder, files, size)
            write(folder, measure(folder, None) | grown)


if __name__ == "__main__":
    main()
