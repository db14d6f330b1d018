"""What trusted packages say of their own functions: usable specs, and whether each passes its own.

    python -m experiments.benchmarks.behavior_corpus SITE_PACKAGES [--packages more_itertools toolz boltons]

A function has a usable spec with at least five distinct calls inside its
domain that return. Each public function is then checked, with its own file
around it, against the library made of its own package, and against the
functions of the same name in the other packages.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CONVICTING, CheckReport, Chunk, ChunkKind, SourceFile, Verdict
from codeguard.sandbox import Level, Sandbox

PACKAGES = ("more_itertools", "toolz", "boltons")
LEAST_CALLS = 5
SEED = b"behavior corpus benchmark"


def package_files(root: Path, package: str) -> list[SourceFile]:
    """Return a package's Python files, tests left out."""
    paths = sorted(path for path in (root / package).rglob("*.py") if "tests" not in path.parts)
    return [chunk_file(str(path.relative_to(root)), path.read_bytes()) for path in paths]


def public_functions(file: SourceFile) -> Iterator[Chunk]:
    """Yield the public top-level functions of a file."""
    for chunk in file.chunks:
        if chunk.kind is ChunkKind.FUNCTION and not chunk.symbol.startswith("_") and "." not in chunk.symbol:
            yield chunk


def check_all(
    checker: BehaviorChecker, files: Sequence[SourceFile]
) -> list[tuple[Chunk, SourceFile, CheckReport]]:
    """Check every public function of some files."""
    subjects = [(chunk, file) for file in files for chunk in public_functions(file)]
    reports = checker.check_many(subjects)
    return [(chunk, file, report) for (chunk, file), report in zip(subjects, reports, strict=True)]


def is_usable(report: CheckReport) -> bool:
    """Return whether there was enough to compare with, and the function could be run."""
    return report.calls >= LEAST_CALLS and report.verdict is not Verdict.NO_SIGNAL


def odd_ones(results: Sequence[tuple[Chunk, SourceFile, CheckReport]]) -> Iterator[str]:
    """Write out the functions that have no usable spec or do not pass their own."""
    for chunk, file, report in results:
        if report.verdict is not Verdict.PASS or not is_usable(report):
            what = f"{report.verdict.value} {report.calls}: {report.reason} {report.counterexample}"
            yield f"{file.path}::{chunk.symbol} {what}"


def across(results: Sequence[tuple[Chunk, SourceFile, CheckReport]]) -> Iterator[str]:
    """Write out the convictions of functions by another package's."""
    for chunk, file, report in results:
        if report.verdict in CONVICTING:
            what = f"{report.verdict.value} {report.reason} {report.counterexample}"
            yield f"{file.path}::{chunk.symbol} against {report.origin}: {what}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description="usable specs and self-checks of trusted packages")
    parser.add_argument("root", type=Path, help="folder that holds the packages, such as site-packages")
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true", help="list what is not usable or does not pass")
    options = parser.parse_args(arguments)
    corpora = {package: package_files(options.root, package) for package in options.packages}
    figures: dict[str, Any] = {"packages": {}, "across": []}
    with Sandbox(Level.L0, workers=2) as sandbox:
        for package, files in corpora.items():
            start = time.perf_counter()
            library = SpecLibrary.load(shipped=False).with_trusted(files)
            checker = BehaviorChecker(library, sandbox, seed=SEED)
            results = check_all(checker, files)
            usable = [item for item in results if is_usable(item[2])]
            passed = [item for item in usable if item[2].verdict is Verdict.PASS]
            figures["packages"][package] = {
                "functions": len(results),
                "usable": len(usable),
                "pass_own": len(passed),
                "verdicts": dict(Counter(report.verdict.value for _, _, report in results).most_common()),
                "seconds": round(time.perf_counter() - start, 1),
            }
            print(package, figures["packages"][package])
            for line in odd_ones(results) if options.verbose else ():
                print("  ", line)
            others = [file for other, rest in corpora.items() if other != package for file in rest]
            for line in across(check_all(checker, others)):
                figures["across"].append(line)
                print("   across:", line)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
