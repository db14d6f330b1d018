"""Measure which functions describe a result and ignore half of what they take, where nothing trusted decides.

    python -m experiments.promises FILE_OR_FOLDER … [--json FILE] [--every N]

A folder of `experiments.freeze prepare` brings its labels (`trusted` code is withheld); other folders and wheels count
as honest. Each function is checked against an empty library, so that nothing else can decide.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.behavior.matching.candidate import read_candidate
from codeguard.behavior.verdict.promises import ignored_parameters
from codeguard.corpus.chunking import chunk_file
from codeguard.index.siblings import ListedFiles, Siblings
from codeguard.models import Chunk, ChunkKind, SourceFile
from codeguard.sandbox import Level, Sandbox
from experiments.benchmarks.behavior_wild import SEED
from experiments.freeze import share_of

Labelled = tuple[str, Chunk, SourceFile]


def subjects(place: Path, every: int) -> Iterator[Labelled]:
    """Yield the functions of a set, a wheel or a folder, each with its label and class."""
    labels: dict[tuple[str, str], str] = {}
    if (place / "labels.jsonl").is_file():
        rows = [json.loads(line) for line in (place / "labels.jsonl").read_text("utf-8").splitlines()]
        labels = {(row["path"], row["symbol"]): f"{row['label']} {row['group']}".strip() for row in rows}
        place /= "files"
    if place.is_file():
        with zipfile.ZipFile(place) as archive:
            texts = {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}
    else:
        texts = {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*.py")}
    files = [chunk_file(path, text) for path, text in sorted(texts.items())]
    siblings = Siblings(ListedFiles(files, lambda path, sha256: False))
    for file in map(siblings.beside, [file for file in files if share_of(file.path, every)]):
        for chunk in file.chunks:
            label = labels.get(
                (file.path, ""), labels.get((file.path, chunk.symbol), "" if labels else "good")
            )
            if chunk.kind is ChunkKind.FUNCTION and label:
                yield label, chunk, file


def measure(places: Sequence[Path], every: int) -> dict[str, dict[str, object]]:
    """Return by place and label how many functions there are, ignore parameters and are demoted, and which are."""
    found: dict[str, dict[str, object]] = {}
    with Sandbox(Level.L0, workers=2) as sandbox:
        for place in places:
            checker = BehaviorChecker(SpecLibrary.load(shipped=False), sandbox, seed=SEED)
            counts, broken = Counter[str](), list[str]()
            promising: list[Labelled] = []
            for label, chunk, file in subjects(place, every):
                candidate = read_candidate(chunk, file)
                if isinstance(candidate, str):
                    continue
                counts[f"{label}: functions"] += 1
                if ignored_parameters(candidate.definition):
                    counts[f"{label}: ignoring"] += 1
                    promising.append((label, chunk, file))
            reports = checker.check_many([(chunk, file) for _, chunk, file in promising])
            for (label, chunk, file), report in zip(promising, reports, strict=True):
                if report.decided_by == "ignores-arguments":
                    counts[f"{label}: demoted"] += 1
                    broken.append(f"{label} {file.path}::{chunk.symbol} {report.reason}")
            found[place.name] = {"counts": dict(counts), "demoted": broken}
            print(place.name, dict(sorted(counts.items())), *broken, sep="\n  ", flush=True)
    return found


def main() -> None:
    """Measure, and print what is demoted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("places", type=Path, nargs="+")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--every", type=int, default=1, help="of the files, one of so many")
    options = parser.parse_args()
    found = measure(options.places, options.every)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
