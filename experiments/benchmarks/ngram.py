"""The character n-gram model: speed against nltk and kenlm, and what the outlier rule finds.

    python -m experiments.benchmarks.ngram [--json FILE]

Speed is measured in interleaved rounds, in processor time, and given as the
median of the rounds' ratios. nltk gets a small part of the same text, because
its cost does not depend on the length. kenlm (left out where it is not
installed) reads our own model as an ARPA file, so that both give the same
figures, and scores a line of characters with blanks between them, which it
has to be given.

False alarms are counted on functions of packages that the model never saw,
detection on the same functions with an encoded payload put into them.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import importlib.metadata
import importlib.util
import json
import random
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.analysis.perplexity import NgramModel, PerplexityModel
from codeguard.analysis.perplexity.ngram import SYMBOL_BITS
from experiments.benchmarks.standard_library import functions, package_files, read, standard_files

ORDER = 6
ROUNDS = 5
NLTK_TRAINED, NLTK_SCORED = 60_000, 6_000  # characters
KENLM_SCORED = 1_000_000
CLEAN = ("more_itertools", "toolz", "boltons")
INJECTED = 200
TRUSTED = {"4 modules": 4, "40 modules": 40, "160 modules": 160}


def main() -> None:
    """Measure, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    texts = [read(path) for path in standard_files()]
    figures = {"python": sys.version.split()[0], "order": ORDER, "speed": speed(texts), "rule": rule(texts)}
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def speed(texts: Sequence[str]) -> dict[str, Any]:
    """Return megabytes a second of processor time, and ratios to the peers, medians of the rounds."""
    trained, scored = _ascii(texts[0::2], 4_000_000), _ascii(texts[1::2], 2_000_000)
    model = NgramModel.train([trained], ORDER)
    model.bits(["warm"])
    peers: dict[str, Callable[[], float]] = {}
    if importlib.util.find_spec("nltk"):
        peers |= _nltk(trained, scored)
    if importlib.util.find_spec("kenlm"):
        peers["kenlm score"] = _kenlm(model, scored[:KENLM_SCORED])

    def train() -> None:
        NgramModel.train([trained], ORDER).bits(["builds the tables"])

    ours: dict[str, Callable[[], float]] = {
        "score": lambda: _rate(lambda: model.bits([scored]), len(scored)),
        "train": lambda: _rate(train, len(trained)),
    }
    everyone = {**ours, **peers}
    rounds: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(ROUNDS):
        for name, measure in everyone.items():
            rounds[name].append(measure())
    result: dict[str, Any] = {
        "megabytes_per_second": {name: round(statistics.median(found), 4) for name, found in rounds.items()},
        "ratio": {},
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("numpy", "nltk", "kenlm")
            if importlib.util.find_spec(name)
        },
    }
    for name in peers:
        mine = rounds["train" if "train" in name else "score"]
        pairs = zip(mine, rounds[name], strict=True)
        result["ratio"][name] = round(statistics.median(own / other for own, other in pairs), 2)
    return result


def rule(texts: Sequence[str]) -> dict[str, Any]:
    """Return false alarms on clean packages and detection of injected payloads, by size of the trusted code."""
    clean = {
        name: [
            function.source
            for path in package_files(name)
            for function in functions(read(path))
            if len(function.source) >= 64
        ]
        for name in CLEAN
    }
    pool = [source for found in clean.values() for source in found]
    random.Random(5).shuffle(pool)
    ordered = sorted(texts, key=lambda text: zlib.crc32(text.encode("utf-8", "replace")))
    ordered = [text for text in ordered if len(text) > 2_000]
    result = {}
    for name, count in TRUSTED.items():
        trusted = ordered[:count]
        start = time.process_time()
        model = PerplexityModel.train([("", text) for text in trusted])
        seconds = time.process_time() - start
        result[name] = {
            "characters": sum(map(len, trusted)),
            "train_seconds": round(seconds, 2),
            "calibration": model.calibration.to_json(),
            "false_alarms": {
                package: [sum(score.outlier for score in model.scores(found)), len(found)]
                for package, found in clean.items()
            },
            "detected": {
                kind: [
                    sum(score.outlier for score in model.scores(_inject(pool[:INJECTED], kind))),
                    min(INJECTED, len(pool)),
                ]
                for kind in PAYLOADS
            },
        }
    return result


def _quoted(name: str, body: str) -> str:
    return f'exec({name}("{body}"))'


PAYLOADS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda raw: _quoted("b64decode", base64.b64encode(raw).decode()),
    "zlib and base64": lambda raw: _quoted("unpack", base64.b64encode(zlib.compress(raw)).decode()),
    "base85": lambda raw: _quoted("b85decode", base64.b85encode(zlib.compress(raw)).decode()),
    "hexadecimal": lambda raw: _quoted("bytes.fromhex", raw.hex()),
    "escapes": lambda raw: _quoted("str", "".join(f"\\x{byte:02x}" for byte in raw)),
    "list of numbers": lambda raw: f"exec(bytes([{', '.join(map(str, raw))}]))",
    "plain statement": lambda raw: "socket.create_connection(('127.0.0.1', 9)).send(open('marker').read())",
}


def _inject(sources: Sequence[str], kind: str) -> list[str]:
    """Put a harmless payload (loopback, a marker) into each function, on a line of its own."""
    generator = random.Random(kind)
    result = []
    for source in sources:
        port, marker = generator.randrange(10_000), generator.randrange(1 << 40)
        script = f"import socket\ns = socket.socket()\ns.connect(('127.0.0.1', {port}))\ns.send(b'marker {marker}')\n"
        lines = source.splitlines(keepends=True)
        place = generator.randrange(1, max(2, len(lines)))
        lines.insert(place, f"    {PAYLOADS[kind](script.encode())}\n")
        result.append("".join(lines))
    return result


def _nltk(trained: str, scored: str) -> dict[str, Callable[[], float]]:
    from nltk.lm import MLE
    from nltk.util import everygrams

    sample, text = list(trained[:NLTK_TRAINED]), scored[:NLTK_SCORED]
    vocabulary = sorted(set(trained))

    def fitted() -> Any:
        model = MLE(ORDER)
        model.fit([list(everygrams(sample, max_len=ORDER))], vocabulary)
        return model

    model = fitted()

    def score() -> None:
        for index, char in enumerate(text):
            model.score(char, tuple(text[max(0, index - ORDER + 1) : index]))

    return {
        "nltk MLE score": lambda: _rate(score, len(text)),
        "nltk MLE train": lambda: _rate(fitted, len(sample)),
    }


def _kenlm(model: NgramModel, scored: str) -> Callable[[], float]:
    kenlm: Any = importlib.import_module("kenlm")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        path.write_text(arpa(model), "latin-1")
        theirs = kenlm.Model(str(path))
    lines = [line for line in scored.splitlines() if line]
    words = {char: _word(ord(char)) for char in map(chr, range(128))}

    def total(line: str) -> float:
        return float(theirs.score(" ".join([words[char] for char in line]), bos=False, eos=False))

    known = [line for line in lines[:200] if all(ord(char) in _bytes_seen(model) for char in line)]
    ours = [-float(bits.sum()) * np.log10(2) for bits in model.bits(known)]
    if not np.allclose(ours, [total(line) for line in known], rtol=1e-3):
        raise RuntimeError("kenlm does not give our figures: the ratio would compare different things")

    def score() -> None:
        for line in lines:
            total(line)

    return lambda: _rate(score, sum(map(len, lines)))


def arpa(model: NgramModel) -> str:
    """Return the model in the format that other toolkits read, for texts in ASCII."""
    sections, sizes = [], []
    for size, level in enumerate(model._tables(), start=1):
        rows = [] if size > 1 else ["-99\t<s>\t0", "-99\t</s>", "-10\t<unk>"]
        slots = np.sort(level.slots)
        for key, bits, backoff in zip(
            level._keys[slots].tolist(),
            level.bits_of[slots].tolist(),
            level.backoff_of[slots].tolist(),
            strict=True,
        ):
            shifts = range(SYMBOL_BITS * (size - 1), -1, -SYMBOL_BITS)
            gram = " ".join(_word((key >> shift & 511) - 1) for shift in shifts)
            tail = f"\t{-backoff * np.log10(2):.7f}" if size < model.order else ""
            rows.append(f"{-bits * np.log10(2):.7f}\t{gram}{tail}")
        sizes.append(f"ngram {size}={len(rows)}")
        sections.append(f"\\{size}-grams:\n" + "\n".join(rows) + "\n")
    return "\\data\\\n" + "\n".join(sizes) + "\n\n" + "\n".join(sections) + "\n\\end\\\n"


def _word(byte: int) -> str:
    return chr(byte) if 33 <= byte <= 126 else f"<{byte:02x}>"


def _bytes_seen(model: NgramModel) -> frozenset[int]:
    level = model._tables()[0]
    return frozenset(int(key) - 1 for key in level._keys[level.slots])


def _ascii(texts: Sequence[str], most: int) -> str:
    return "".join(text for text in texts if text.isascii())[:most]


def _rate(run: Callable[[], object], characters: int) -> float:
    """Return megabytes a second of processor time, all threads together."""
    start = time.process_time()
    run()
    return characters / 1e6 / (time.process_time() - start)


if __name__ == "__main__":
    main()
