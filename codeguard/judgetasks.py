"""Judging as tasks for workers: what the static signals see in files, and behavior checks of functions.

What every task needs (the trusted files, specs, seed, weights) is shared: a
worker is sent it once, and derives its expectations from it once. Each
worker starts a sandbox of its own and says its level with every answer.
"""

from __future__ import annotations

import functools
import json
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.checks import Answered, Subject, is_test, judged
from codeguard.cluster import Cluster
from codeguard.executor import spread
from codeguard.filebytes import described, rebuilt
from codeguard.garbage import deferred
from codeguard.models import CheckReport, SourceFile
from codeguard.sandbox import Level, Sandbox
from codeguard.static_evidence import Rows, StaticEvidence
from codeguard.tasks import Shared, WorkerError
from codeguard.weights import Weights

FILES_A_TASK = 8
BYTES_A_TASK = 1 << 18
CHECKS_A_TASK = 16
KNOWN_PREFIX = 16  # hex digits of a cached check's key that tell a worker that there is one
_ONE_AT_A_TIME = threading.RLock()  # a cluster's worker may have several threads


@dataclass(frozen=True, slots=True)
class Material:
    """What judging depends on beside the files that are judged.

    `trusted` is None where there is no manifest. `spec_folders` hold the user's
    own specs. `known` are the keys of the checks whose result
    is cached. `version` is that of the static evidence.
    """

    trusted: Sequence[SourceFile] | None
    spec_folders: Sequence[Path]
    seed: bytes
    required_level: Level
    weights: Weights
    signals: Sequence[str]
    version: str
    known: Iterable[str]

    def shared(self) -> Shared:
        """Return it as bytes, the same for the same content."""
        value = {
            "trusted": None if self.trusted is None else [described(file) for file in self.trusted],
            "specs": [_texts(folder) for folder in self.spec_folders],
            "seed": self.seed.hex(),
            "required_level": self.required_level.name,
            "weights": [dict(self.weights.overrides), dict(self.weights.factors)],
            "signals": list(self.signals),
            "version": self.version,
            "known": sorted({key[:KNOWN_PREFIX] for key in self.known}),
        }
        return Shared.of(json.dumps(value, sort_keys=True).encode("ascii"))


def _texts(folder: Path) -> list[tuple[str, str]]:
    return [(path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))]


class _Bench:
    """What a worker has made of the material, each part when it is first needed."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value
        self.known = frozenset(value["known"])

    @functools.cached_property
    def _trusted(self) -> tuple[SourceFile, ...]:
        return tuple(rebuilt(item) for item in self._value["trusted"] or ())

    @functools.cached_property
    def static(self) -> StaticEvidence:
        enabled = frozenset(self._value["signals"])
        made = StaticEvidence(
            Weights(*self._value["weights"]),
            epoch=self._value["version"].rpartition("\0")[2],
            trusted=None if self._value["trusted"] is None else lambda: self._trusted,
            enabled=enabled.__contains__,
        )
        if made.version != self._value["version"]:
            raise WorkerError(
                "a worker has other static signals than this process",
                hint="install the same version, with the same plugins, on every machine",
            )
        return made

    @functools.cached_property
    def checker(self) -> BehaviorChecker:
        value = self._value
        library = _specs(value["specs"])
        tests = [file for file in self._trusted if is_test(file.path)]
        level = Level[value["required_level"]]
        return BehaviorChecker(
            library.with_trusted(self._trusted, tests),
            self.sandbox,
            seed=bytes.fromhex(value["seed"]),
            required_level=level,
        )

    @functools.cached_property
    def sandbox(self) -> Sandbox:
        return Sandbox(Level[self._value["required_level"]])


def _specs(folders: Sequence[Sequence[tuple[str, str]]]) -> SpecLibrary:
    """Read the user's own specs as if they lay here."""
    with tempfile.TemporaryDirectory(prefix="codeguard-specs-") as home:
        places = []
        for number, texts in enumerate(folders):
            place = Path(home, str(number))
            place.mkdir()
            places.append(place)
            for name, text in texts:
                (place / Path(name).name).write_text(text, encoding="utf-8")
        return SpecLibrary.load(places)


@functools.lru_cache(maxsize=1)
def _bench(shared: Shared) -> _Bench:
    return _Bench(json.loads(shared.verified()))


def look_task(payload: bytes, shared: Shared) -> bytes:
    """Let the static signals look at the files of a payload; null for one on which a signal failed."""
    with _ONE_AT_A_TIME:
        static = _bench(shared).static
        seen = (static.look(rebuilt(value)) for value in json.loads(payload))
        return json.dumps([None if failed else rows for rows, failed in seen]).encode("ascii")


def looked(
    executor: Executor, shared: Shared, files: Iterable[SourceFile]
) -> Iterator[tuple[SourceFile, Rows | None]]:
    """Yield files with what the static signals see in them, in order; None where one failed."""
    sent: deque[list[SourceFile]] = deque()

    def payloads() -> Iterator[bytes]:
        for batch in _batches(files):
            sent.append(batch)
            yield json.dumps([described(file) for file in batch]).encode("ascii")

    for answer in spread(executor, look_task, payloads(), shared):
        yield from zip(sent.popleft(), json.loads(answer), strict=True)


def _batches(files: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    batch: list[SourceFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file.text)
        if len(batch) >= FILES_A_TASK or size >= BYTES_A_TASK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def check_task(payload: bytes, shared: Shared) -> bytes:
    """Check functions, but for those whose result is known."""
    asked = json.loads(payload)
    with _ONE_AT_A_TIME, deferred():
        bench = _bench(shared)
        files = [rebuilt(value) for value in asked["files"]]
        subjects = [(files[file].chunks[chunk], files[file]) for file, chunk in asked["subjects"]]

        def known(key: str) -> bool:
            return not asked["again"] and key[:KNOWN_PREFIX] in bench.known

        found = judged(bench.checker, subjects, known)
        level = bench.sandbox.level.name
    rows = [(far, None if report is None else report.to_json()) for far, report in found]
    return json.dumps({"level": level, "reports": rows}).encode("ascii")


class Checks:
    """Behavior checks by workers; see `codeguard.checks.BehaviorReports.prepare`."""

    def __init__(self, executor: Executor, shared: Shared, required: Level) -> None:
        self._executor = executor.at_level(required) if isinstance(executor, Cluster) else executor
        self._shared = shared

    def __call__(self, subjects: Sequence[Subject], again: bool) -> Iterator[tuple[Subject, Answered]]:
        """Yield each function with what a worker answered, in order; `again` runs what counts as known."""
        parts = [subjects[start : start + CHECKS_A_TASK] for start in range(0, len(subjects), CHECKS_A_TASK)]
        payloads = (_asked(part, again) for part in parts)
        for part, answer in zip(
            parts, spread(self._executor, check_task, payloads, self._shared), strict=True
        ):
            value = json.loads(answer)
            for subject, (far, report) in zip(part, value["reports"], strict=True):
                yield subject, (far, None if report is None else CheckReport.from_json(report))


def _asked(subjects: Sequence[Subject], again: bool) -> bytes:
    files: dict[int, tuple[int, SourceFile]] = {}
    places: dict[int, int] = {}
    for _, file in subjects:
        if id(file) not in files:
            files[id(file)] = (len(files), file)
            places.update((id(chunk), place) for place, chunk in enumerate(file.chunks))
    value = {
        "files": [described(file) for _, file in files.values()],
        "subjects": [(files[id(file)][0], places[id(chunk)]) for chunk, file in subjects],
        "again": again,
    }
    return json.dumps(value).encode("ascii")
