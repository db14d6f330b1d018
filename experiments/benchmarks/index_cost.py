"""What an index costs beside more and more trusted code, and what a small change costs then.

    python -m experiments.benchmarks.index_cost [--functions N ...] [--json FILE] [--record]

The trusted code is the standard library's, file by file until it has that many
functions; beside it stand the example corpora, unlisted. Every command is a
process of its own; given are seconds of the clock and of all processors. The
package `click` is indexed alone as well, trusted and not.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

from experiments.benchmarks.audit_common import environment_in, finish, parser_of
from experiments.benchmarks.standard_library import standard_files
from experiments.figures import Figure, record
from experiments.workbench import DATA

CODEGUARD = (sys.executable, "-P", "-m", "codeguard")
FUNCTION = re.compile(r"^\s*(?:async )?def ", re.M)
ADDED = "\n\ndef half_of_it(value):\n    return value // 2\n"


def main() -> None:
    """Measure, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--functions", type=int, nargs="+", default=[0, 538, 2079, 7858])
    parser.add_argument("--record", action="store_true", help="write CPU seconds into docs/figures.json")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"python": sys.version.split()[0], "load": os.getloadavg()}
    with tempfile.TemporaryDirectory() as home:
        _click(Path(home), "first", trusted=False)  # makes the bytecode
        for kind in ("trusted", "unlisted"):
            figures[f"click, {kind}"] = _click(Path(home), kind, trusted=kind == "trusted")
        for wanted in arguments.functions:
            figures[f"beside {wanted} trusted functions"] = _beside(Path(home), wanted)
    finish(figures, arguments.json)
    if arguments.record:
        record("index_cost", dict(_flat(figures)))


def _flat(figures: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    """Yield the processor seconds of each run under a name of letters and digits."""
    for part, runs in figures.items():
        for run, spent in runs.items() if isinstance(runs, dict) else ():
            if isinstance(spent, dict):
                yield re.sub(r"\W+", "_", f"{part}_{run}"), spent["cpu"]


def _beside(home: Path, wanted: int) -> dict[str, Any]:
    project = home / str(wanted)
    count = _copied(project / "ours", wanted)
    trust = ("--trust", "ours") if wanted else ()
    figures: dict[str, Any] = {"functions": count}
    if wanted:
        figures["trusted alone"] = _index(project, "ours", *trust)
        shutil.rmtree(project / ".codeguard")
    for folder in ("sample_code", "unknown_source", "poisoned"):
        shutil.copytree(DATA / folder, project / "data" / folder)
    figures["with the example corpora"] = _index(project, ".", *trust)
    figures["nothing changed"] = _index(project, ".", *trust)
    edited = {"unlisted": next((project / "data" / "unknown_source").glob("*.py"))}
    if wanted:
        edited["trusted"] = next((project / "ours").glob("*.py"))
    for kind, path in edited.items():
        path.write_text(path.read_text("utf-8") + ADDED, "utf-8")
        figures[f"a function added, {kind}"] = _index(project, ".", *trust)
    return figures


def _click(home: Path, name: str, *, trusted: bool) -> dict[str, Any]:
    project = home / name
    (project / "click").mkdir(parents=True)
    for file in files("click") or ():
        if file.suffix == ".py":
            shutil.copy(str(file.locate()), project / "click")
    trust = ("--trust", "click") if trusted else ()
    figures = {"cold": _index(project, "click", *trust)}
    with (project / "click" / "utils.py").open("a", encoding="utf-8") as text:
        text.write("\n# A comment.\n")
    figures["a comment appended"] = _index(project, "click", *trust)
    return figures


def _copied(folder: Path, wanted: int) -> int:
    """Copy the files of the standard library, until they have so many functions; return how many."""
    folder.mkdir(parents=True)
    count = 0
    for number, path in enumerate(_spread(standard_files())):
        if count >= wanted:
            break
        shutil.copy(path, folder / f"{number:04}_{path.name}")
        count += len(FUNCTION.findall(path.read_text("utf-8", "replace")))
    return count


def _spread(paths: list[Path], step: int = 7) -> Iterable[Path]:
    """Every seventh file, then those after them: few files of one package stand together."""
    return [path for start in range(step) for path in paths[start::step]]


def _index(project: Path, *words: str) -> dict[str, float]:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = environment_in(project.parent)
    subprocess.run(
        [*CODEGUARD, "index", *words], cwd=project, env=environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(time.perf_counter() - start, 2), "cpu": round(cpu, 2)}


if __name__ == "__main__":
    main()
