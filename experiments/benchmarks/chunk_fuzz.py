"""Mutated files through discovery and chunking: nothing crashes, every byte is given back, time and memory are bounded.

The seeds are real files (the standard library, and whatever folders are
named). Deterministic for a seed number; a file that breaks a promise is kept.

    python -m experiments.benchmarks.chunk_fuzz [--files N] [--seed N] [--seconds N] [--json FILE] [FOLDER ...]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codeguard.corpus.chunking import chunk_file, languages
from codeguard.corpus.discovery import discover, read_file
from codeguard.errors import CorpusError

BATCH = 500
SEED_BYTES = 20_000
MAX_CHARS = 1000
SLOW_S = 2.0

TOKENS: tuple[bytes, ...] = (
    *(
        b'"""',
        b"'''",
        b'"',
        b"'",
        b"`",
        b"```",
        b"```python\n",
        b"~~~",
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b"<",
        b">",
    ),
    *(
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b"\x0c",
        b"\x00",
        b"\\\n",
        b"\\",
        b"#",
        b"//",
        b"/*",
        b"*/",
        b"#!/bin/sh\n",
    ),
    *(
        b"def f(",
        b"class A:",
        b"async ",
        b"@d\n",
        b"if x:\n",
        b"else:\n",
        b"lambda: ",
        b"import os\n",
        b"f'{",
        b"=>",
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xff\xfe\x00\x00",
        b"\x80",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90",
    ),
    *("é".encode(), "😀".encode(), "\u2028".encode(), "\u202e".encode(), "\x85".encode(), "a\u0301".encode()),
    *(b"# coding: latin-1\n", b"# coding: shift_jis\n", b"# coding: utf-7\n", b"# coding: gb18030\n"),
)


def flip(data: bytearray, chance: random.Random) -> None:
    """Replace one byte by any other."""
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def insert(data: bytearray, chance: random.Random) -> None:
    """Put a token anywhere, now and then many times."""
    at = chance.randint(0, len(data))
    data[at:at] = chance.choice(TOKENS) * (chance.randint(2, 400) if chance.random() < 0.1 else 1)


def front(data: bytearray, chance: random.Random) -> None:
    """Put a token at the start, where it may be a mark or a coding comment."""
    data[0:0] = chance.choice(TOKENS)


def delete(data: bytearray, chance: random.Random) -> None:
    """Cut a stretch out."""
    at = chance.randint(0, len(data))
    del data[at : at + chance.choice((1, 2, 10, 100, 1000))]


def repeat(data: bytearray, chance: random.Random) -> None:
    """Copy a stretch to another place."""
    at = chance.randint(0, len(data))
    to = chance.randint(0, len(data))
    data[to:to] = data[at : at + chance.choice((1, 20, 300, 3000))]


def dedent(data: bytearray, chance: random.Random) -> None:
    """Change the indentation of one line."""
    at = data.find(b"\n    ", chance.randint(0, len(data)))
    if at >= 0:
        data[at + 1 : at + 5] = chance.choice((b"", b" ", b"\t", b"        ", b"\x0c"))


def recode(data: bytearray, chance: random.Random) -> None:
    """Write the text in another encoding, with its mark."""
    text = data.decode("utf-8", "replace")
    data[:] = text.encode(chance.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1")), "replace")


def line_ends(data: bytearray, chance: random.Random) -> None:
    """Change all line ends."""
    data[:] = data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n")))


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(flip, insert, insert, insert, front, delete, delete, repeat, repeat, dedent, dedent),
    *(recode, line_ends),
)


def mutated(seeds: list[tuple[str, bytes]], chance: random.Random) -> tuple[str, bytes]:
    """Return a suffix and mutated content."""
    suffix, seed = chance.choice(seeds)
    start = chance.randint(0, max(0, len(seed) - SEED_BYTES))
    data = bytearray(seed[start : start + chance.choice((200, 2000, SEED_BYTES))])
    for _ in range(chance.randint(0, 6)):
        chance.choice(MUTATIONS)(data, chance)
    if chance.random() < 0.05:  # prose around code, and code in the wrong kind of file
        suffix = chance.choice((".md", ".txt", ".py", ".js", ".c", "", ".unknown"))
    return suffix, bytes(data)


def fault(name: str, data: bytes) -> tuple[str, float, str]:
    """Return what is wrong with the chunks of a file (empty if nothing), the seconds taken, and the notes."""
    start = time.process_time()
    try:
        file = chunk_file(name, data, max_chars=MAX_CHARS)
    except CorpusError:
        return "", 0.0, "refused"
    seconds = time.process_time() - start
    at = 0
    for chunk in file.chunks:
        if chunk.span.start_byte != at:
            return "a gap or an overlap", seconds, ""
        at = chunk.span.end_byte
        if len(chunk.text) > MAX_CHARS:
            return "over the limit", seconds, ""
        if chunk.start_line > chunk.end_line:
            return "lines run backwards", seconds, ""
    if at != len(data):
        return "bytes are missing", seconds, ""
    if "".join(chunk.text for chunk in file.chunks) != file.text:
        return "the texts are not the text", seconds, ""
    return "", seconds, next((note for note in file.notes if "gave up" in note), "")


def seeds_of(folders: list[Path]) -> list[tuple[str, bytes]]:
    """Return suffix and content of real files in the known languages and of prose."""
    known = {suffix for language in languages() for suffix in language.extensions} | {".md", ".rst", ".txt"}
    found = []
    for folder in folders:
        by_suffix: Counter[str] = Counter()
        for file in discover([folder], root=folder).files:
            suffix = file.path.suffix.lower()
            by_suffix[suffix] += 1
            if suffix in known and by_suffix[suffix] <= 300:
                found.append((suffix, read_file(file)))
    return found


def main() -> int:
    """Fuzz, print, write JSON; exit code 1 where a promise was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="stop after this time, with what was done"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    seeds = seeds_of([Path(sysconfig.get_path("stdlib")), *arguments.folders])
    start = time.monotonic()
    done: Counter[str] = Counter()
    faults: list[str] = []
    slow: list[tuple[float, int, str]] = []
    while done["files"] < arguments.files and time.monotonic() - start < arguments.seconds:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for number in range(min(BATCH, arguments.files - done["files"])):
                suffix, data = mutated(seeds, chance)
                (root / f"{number}{suffix}").write_bytes(data)
                done["files"] += 1
            found = discover([root], root=root)
            done["skipped"] += len(found.skipped)
            for file in found.files:
                data = read_file(file)
                wrong, seconds, note = fault(file.name, data)
                done["bytes"] += len(data)
                done["gave up"] += "gave up" in note
                done["refused"] += note == "refused"
                if wrong:
                    faults.append(wrong)
                    Path(tempfile.gettempdir(), f"chunk_fault_{len(faults)}{file.path.suffix}").write_bytes(
                        data
                    )
                if seconds > SLOW_S:
                    slow.append((round(seconds, 2), len(data), file.path.suffix))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    result: dict[str, Any] = {
        **done,
        "seed": arguments.seed,
        "seeds": len(seeds),
        "seconds": round(time.monotonic() - start, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_MB": usage.ru_maxrss // 1024,
        "slow": slow,
        "faults": faults,
    }
    for key, value in result.items():
        print(f"{key:18} {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
