"""Growth of one store to a million chunks: memory, disk, time of a query and of a 1 % update.

    python -m experiments.benchmarks.scale FOLDER [--sizes 10000 100000 1000000] [--server] [--plot FILE]

The corpus is the installed packages and mutated copies of them (names of
functions, numbers and words changed), written below FOLDER part by part and
indexed with `codeguard index`; behavior checks are off. An interrupted run
goes on where it was. Figures are appended to FOLDER/scale.jsonl. `--server`
keeps the vectors in a `chroma run` on loopback instead.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from codeguard.config import DefenseConfig, Settings
from codeguard.guard import CodeGuard
from codeguard.store.wire import GoneError, connect, receive, send
from codeguard.storecare.disk import folder_bytes

PART_FILES = 500
QUERIES = 200
K = 10
LEAST_FREE = 10 << 30  # bytes of the disk that stay free
LIMIT = 6 << 30  # bytes of address space that count as memory, by the resident size
_DEF = re.compile(r"\b(def|class) (\w+)")
_NUMBER = re.compile(r"(?<![\w.])(\d{1,6})(?![\w.])")


def sources() -> list[Path]:
    """Return the Python files of the installed packages, sorted."""
    root = Path(sysconfig.get_paths()["purelib"])
    return [path for path in sorted(root.rglob("*.py")) if 200 < path.stat().st_size < 200_000]


def mutated(text: str, round_: int) -> str:
    """Return a copy's text: other names, other numbers; round 0 is the original."""
    if not round_:
        return text
    text = _DEF.sub(lambda found: f"{found[1]} {found[2]}_{round_}", text)
    return _NUMBER.sub(lambda found: str(int(found[1]) + round_), text)


def write_part(folder: Path, files: list[Path], number: int) -> Path:
    """Write part `number` of the endless corpus; the same call writes the same files."""
    parts = -(-len(files) // PART_FILES)
    round_, piece = divmod(number, parts)
    target = folder / "corpus" / f"part_{number:05}"
    target.mkdir(parents=True, exist_ok=True)
    for position, path in enumerate(files[piece * PART_FILES : (piece + 1) * PART_FILES]):
        place = target / f"m{position:04}.py"
        if not place.exists():
            place.write_text(mutated(path.read_text("utf-8", "replace"), round_))
    return target


def settings(folder: Path, url: str | None) -> Settings:
    """Return the settings of the measured index."""
    return Settings(
        store=url or str(folder / "state"),
        state_dir=str(folder / "state"),
        root=str(folder / "corpus"),
        embedding="lexical",
        defense=DefenseConfig(enable_behavior=False),
        jobs=1,
        share_idle_s=0.0,
    )


def grow(folder: Path, size: int, url: str | None) -> None:
    """Index part after part until the store holds `size` chunks; goes on where it was."""
    files = sources()
    done = folder / "parts.txt"
    number = int(done.read_text()) if done.exists() else 0
    with CodeGuard.open(settings=settings(folder, url)) as guard:
        while len(guard.catalog.ids()) < size:
            if shutil.disk_usage(folder).free < LEAST_FREE:
                sys.exit("too little room on the disk")
            start = time.monotonic()
            report = guard.index([write_part(folder, files, number)])
            number += 1
            done.write_text(str(number))
            rate = report.added / (time.monotonic() - start)
            print(f"{report.chunks} chunks, {rate:.0f} vectors/s, {_peak(folder) / 1e6:.0f} MB", flush=True)
            if _peak(folder) > LIMIT:
                sys.exit("too much memory")


def measure(folder: Path, url: str | None) -> dict[str, float | int | str]:
    """Measure queries and a 1 % update of the index as it is."""
    with CodeGuard.open(settings=settings(folder, url)) as guard:
        store, catalog = guard.workspace.vectors, guard.catalog
        chunks = len(catalog.ids())
        texts = [text[:200] for (text,) in _sample(folder / "state" / "catalog.sqlite3", QUERIES)]
        vectors = guard.workspace.embedding.embed(texts)
        store.nearest(vectors[0], K)
        near = [_timed(lambda vector=vector: store.nearest(vector, 3 * K)) for vector in vectors]
        guard.query(texts[0], K)
        whole = [_timed(lambda text=text: guard.query(text, K)) for text in texts]
        parts = sorted((folder / "corpus").iterdir())
        update = [path for part in parts for path in sorted(part.glob("*.py"))[::100]]
        for path in update:
            path.write_text(f"{path.read_text()}\n\ndef added_{time.time_ns()}(x):\n    return x\n")
        start = time.monotonic()
        report = guard.index([folder / "corpus"])
        return {
            "chunks": chunks,
            "vectors": store.count(),
            "through": "server" if url else "process",
            "disk_bytes": folder_bytes(folder / "state"),
            "peak_bytes": _peak(folder),
            "own_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "near_p50_ms": float(np.percentile(near, 50)) * 1e3,
            "near_p95_ms": float(np.percentile(near, 95)) * 1e3,
            "query_p50_ms": float(np.percentile(whole, 50)) * 1e3,
            "query_p95_ms": float(np.percentile(whole, 95)) * 1e3,
            "update_files": len(update),
            "update_written": report.added,
            "update_s": time.monotonic() - start,
            "load": os.getloadavg()[0],
        }


def _timed(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start


def _sample(catalog: Path, count: int) -> list[tuple[str]]:
    import sqlite3

    with sqlite3.connect(catalog) as db:
        total = db.execute("SELECT count(*) FROM chunks").fetchone()[0]
        step = max(1, total // count)
        return db.execute(
            "SELECT text FROM chunks WHERE rowid % ? = 0 AND length(text) > 80 LIMIT ?", (step, count)
        ).fetchall()


def _peak(folder: Path) -> int:
    """Return the highest resident size of the process that serves the store, 0 where none does."""
    try:
        with connect(folder / "state" / "chroma") as connection:
            send(connection, {"op": "hello"})
            pid = receive(connection).header["pid"]
    except GoneError:
        return 0
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@contextlib.contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """Run a Chroma server on a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    binary = Path(sys.executable).with_name("chroma")
    process = subprocess.Popen(
        [binary, "run", "--path", str(folder / "served"), "--port", str(port), "--host", "127.0.0.1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def plot(figures: list[dict[str, float | int | str]], target: Path) -> None:
    """Draw the growth, one line a figure, both axes logarithmic, as SVG."""
    from experiments.benchmarks.growth_plot import draw

    target.write_text(draw(figures))


def main() -> None:
    """Grow, measure, print, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XDG_CONFIG_HOME", str(folder / "config"))
    figures = folder / "scale.jsonl"
    with chroma_server(folder) if arguments.server else contextlib.nullcontext() as url:
        for size in arguments.sizes:
            grow(folder, size, url)
            found = measure(folder, url)
            print(json.dumps(found), flush=True)
            with figures.open("a") as file:
                file.write(json.dumps(found) + "\n")
    if arguments.plot:
        plot([json.loads(line) for line in figures.read_text().splitlines()], arguments.plot)


if __name__ == "__main__":
    main()
