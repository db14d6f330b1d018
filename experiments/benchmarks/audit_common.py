"""What the benchmarks of the audit share: static signals over texts, counts, a JSON file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.analysis.engine import Engine
from codeguard.analysis.rules import DetectorContext, FileSignal, load_file_signals
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import Inspected, inspected, unreadable
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import CorpusError
from codeguard.models import Severity
from codeguard.ranking.evaluation import Proportion
from codeguard.workers.processes import Collector

EXTENSIONS = {
    "python": "py", "javascript": "js", "typescript": "ts", "go": "go", "c": "c", "cpp": "cpp", "csharp": "cs",
    "java": "java", "rust": "rs", "bash": "sh", "ruby": "rb", "php": "php", "markdown": "md", "text": "txt",
    "json": "json",
}  # fmt: skip


class Inspector:
    """The engine in this process: a detector that ignores its deadline is not stopped."""

    def __init__(self, signals: Iterable[FileSignal], context: DetectorContext, *, keep: bool = True) -> None:
        self._engine = Engine(signals, context)
        self._keep = keep
        self._collector = Collector()

    def inspect(self, name: str, data: bytes) -> Inspected:
        """Return the findings in one file."""
        try:
            file = chunk_file(name, data)
        except CorpusError as error:
            return unreadable(name, "discovery.encoding", error, data)
        found = inspected(file, self._engine.observe(file), keep=self._keep)
        self._collector.looked_at(len(file.text))
        return found


@cache
def inspector() -> Inspector:
    """Return the static signals with nothing trusted."""
    return Inspector(load_file_signals(), DetectorContext(), keep=False)


def findings_in(text: str, host: str = "python", least: Severity = Severity.MEDIUM) -> list[Finding]:
    """Return the findings of at least a severity in a text, as a file of a host language named the same for all."""
    name, data = f"snippet.{EXTENSIONS.get(host, 'txt')}", text.encode("utf-8", "surrogatepass")
    return [item for item in inspector().inspect(name, data).findings if item.severity >= least]


def rate(hits: int, count: int) -> dict[str, Any]:
    """Return a proportion with its Wilson interval, rounded for a report."""
    low, high = Proportion(hits, count).interval
    return {
        "hits": hits,
        "n": count,
        "share": round(hits / count, 4) if count else None,
        "low": round(low, 4),
        "high": round(high, 4),
    }


def grouped(pairs: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    """Return answers by the name of their group."""
    groups: dict[str, list[bool]] = {}
    for name, value in pairs:
        groups.setdefault(name, []).append(value)
    return groups


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option that every benchmark of the audit has."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser


def finish(figures: Mapping[str, Any], json_file: Path | None) -> None:
    """Print the figures, and write them where asked."""
    text = json.dumps(figures, indent=1, ensure_ascii=True)
    print(text)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(text + "\n", encoding="ascii")


def environment_in(folder: Path) -> dict[str, str]:
    """Return an environment for commands whose settings, state and bytecode are in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own = {
        "XDG_CONFIG_HOME": "config",
        "XDG_STATE_HOME": "state",
        "PYTHONPYCACHEPREFIX": "bytecode",
    }
    return kept | {name: str(folder / place) for name, place in own.items()}
