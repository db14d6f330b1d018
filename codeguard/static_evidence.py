"""Static signals in the ranking: their sightings in a file as evidence about its chunks.

A file is looked at once. What was seen is kept in the catalog under the
digests of the file, of the trusted text and of the signals themselves.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeguard import reading, signals
from codeguard.catalog import Catalog
from codeguard.models import Chunk, Confidence, Evidence, Severity, SourceFile, Trust
from codeguard.reading import Reading
from codeguard.rerank import DETECTOR_ERROR
from codeguard.signals import Context, FileSignal, load_file_signals
from codeguard.signals.services import services_for
from codeguard.weights import Weights

KEPT_FILES = 2_000  # in memory
NOT_FULLY_READ = ("audit", "not-fully-read")  # as the audit calls it
Rows = Mapping[str, Sequence[Mapping[str, Any]]]  # by chunk: what was seen in it


class StaticEvidence:
    """Callable from a chunk, its file and its trust to the evidence of the static signals.

    Only signals with a weight other than 0 are asked. `trusted` reads the
    trusted files for those that need them, `epoch` is the digest of the
    trusted text. Without a catalog nothing outlives the process.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        catalog: Catalog | None = None,
        epoch: str = "",
        trusted: Callable[[], Sequence[SourceFile]] | None = None,
        enabled: Callable[[str], bool] = lambda name: True,
        file_signals: Sequence[FileSignal] | None = None,
    ) -> None:
        registered = load_file_signals() if file_signals is None else file_signals
        self._weights = weights
        self._signals = tuple(item for item in registered if enabled(item.name) and _weighs(item, weights))
        self._catalog = catalog
        self._trusted = trusted
        named = ",".join(item.name for item in self._signals)
        self.version = "\0".join((named, signals_version(self._signals), epoch))
        self._known: dict[str, Rows] = {}

    def __bool__(self) -> bool:
        return bool(self._signals)

    def __call__(self, chunk: Chunk, file: SourceFile, trust: Trust) -> tuple[Evidence, ...]:
        """Return what the static signals say of one chunk; of trusted text nothing."""
        if not self._signals or trust is Trust.TRUSTED:
            return ()
        rows = self._rows(file).get(_chunk_key(chunk), ())
        return tuple(self._evidence(row) for row in rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signals that are asked."""
        return tuple(item.name for item in self._signals)

    def prepare(
        self,
        files: Iterable[SourceFile],
        elsewhere: Callable[[Iterable[SourceFile]], Iterator[tuple[SourceFile, Rows | None]]] | None = None,
    ) -> int:
        """Look at the files that the catalog does not know yet, here or by workers; return how many.

        `elsewhere` yields each file with what was seen in it, None where a signal failed.
        """
        if not self._signals:
            return 0
        missing = (file for file in files if self._kept(self._key(file)) is None)
        looked = self._here(missing) if elsewhere is None else elsewhere(missing)
        count = 0
        for file, rows in looked:
            count += 1
            if rows is not None:
                self._keep(file, rows)
        return count

    def _here(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, Rows | None]]:
        for file in files:
            rows, failed = self.look(file)
            yield file, None if failed else rows

    def _rows(self, file: SourceFile) -> Rows:
        key = self._key(file)
        if key not in self._known:
            kept = self._kept(key)
            if len(self._known) >= KEPT_FILES:
                self._known.clear()
            if kept is None:
                kept, failed = self.look(file)
                if not failed:
                    self._keep(file, kept)
            self._known[key] = kept
        return self._known[key]

    def _keep(self, file: SourceFile, rows: Rows) -> None:
        if self._catalog is not None:
            self._catalog.put_analyses({self._key(file): {"chunks": rows}})

    def _kept(self, key: str) -> Rows | None:
        value = self._catalog.analysis(key) if self._catalog is not None else None
        chunks = value.get("chunks") if value is not None else None
        return chunks if isinstance(chunks, dict) else None

    def look(self, file: SourceFile) -> tuple[Rows, bool]:
        """Return what the signals see in a file, and whether one failed: that is not to be kept.

        Where a bound ended the search, that is evidence about every chunk of
        the file: what was not seen is no sign of innocence.
        """
        rows: dict[str, list[dict[str, Any]]] = {}
        view = Reading(file)
        failed = False
        for signal in self._active:
            try:
                seen = _seen(signal, view, self._context)
            except Exception as error:  # a signal may be a third party's
                failed = True
                seen = [(chunk, _failure(signal, error)) for chunk in file.chunks]
            for chunk, row in seen:
                rows.setdefault(_chunk_key(chunk), []).append(row)
        for row in _not_fully_read(view):
            for chunk in file.chunks:
                rows.setdefault(_chunk_key(chunk), []).append(row)
        return rows, failed

    @functools.cached_property
    def _context(self) -> Context:
        return Context(services_for(self._signals, self._trusted), self._weights)

    @functools.cached_property
    def _active(self) -> tuple[FileSignal, ...]:
        return tuple(item for item in self._signals if item.needs <= self._context.services.keys())

    def _key(self, file: SourceFile) -> str:
        parts = "\0".join((self.version, file.sha256, file.language))
        return "static:" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()

    def _evidence(self, row: Mapping[str, Any]) -> Evidence:
        signal, rule = str(row["signal"]), str(row["rule"])
        return Evidence(
            signal=signal,
            id=rule,
            penalty=self._penalty(signal, rule, Severity(int(row["severity"]))),
            reason=str(row["reason"]),
            severity=Severity(int(row["severity"])),
            confidence=Confidence(int(row["confidence"])),
            measurements={"line": int(row["line"]), "count": int(row["count"])},
        )

    def _penalty(self, signal: str, rule: str, severity: Severity) -> float:
        """Return the rule's weight, half of it for each step that a sighting is milder than its rule."""
        usual = self._severities.get((signal, rule))
        if usual is None or severity is Severity.INFO < usual:
            return 0.0
        return self._weights.of(f"{signal}.{rule}", usual) * 0.5 ** max(0, usual - severity)

    @functools.cached_property
    def _severities(self) -> dict[tuple[str, str], Severity]:
        known = {(item.name, rule.id): rule.severity for item in self._signals for rule in item.rules}
        return {**known, NOT_FULLY_READ: Severity.MEDIUM}


def signals_version(file_signals: Sequence[FileSignal]) -> str:
    """Return a digest of the code that looks: the signals', and what they read with."""
    folders = {Path(package.__path__[0]) for package in (signals, reading)}
    modules = [sys.modules.get(type(item).__module__) for item in file_signals]
    files = [getattr(module, "__file__", None) for module in modules]
    others = {Path(file) for file in files if isinstance(file, str)}
    return _digest_of(tuple(sorted(folders)), tuple(sorted(others)))


@functools.cache
def _digest_of(folders: tuple[Path, ...], files: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if _is_code(path)]
    for path in (*found, *files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _is_code(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc"


def _weighs(signal: FileSignal, weights: Weights) -> bool:
    return any(weights.of(f"{signal.name}.{rule.id}", rule.severity) for rule in signal.rules)


def _seen(signal: FileSignal, view: Reading, context: Context) -> list[tuple[Chunk, dict[str, Any]]]:
    """Return what a signal saw, each rule once a chunk, at its most severe."""
    rules = {rule.id: rule for rule in signal.rules}
    rows: dict[tuple[str, str], tuple[Chunk, dict[str, Any]]] = {}
    for item in signal.inspect(view, context):
        rule = rules[item.rule]
        chunk = view.chunk_at(item.start)
        if chunk is None:
            continue
        first = {
            "signal": signal.name,
            "rule": item.rule,
            "severity": int(rule.severity if item.severity is None else item.severity),
            "confidence": int(rule.confidence if item.confidence is None else item.confidence),
            "reason": item.reason,
            "line": view.line_of(item.start),
            "count": 0,
        }
        key = (_chunk_key(chunk), item.rule)
        known = rows.get(key, (chunk, first))[1]
        worse = first if first["severity"] > known["severity"] else known
        rows[key] = (chunk, {**worse, "count": known["count"] + 1})
    return list(rows.values())


def _not_fully_read(view: Reading) -> Iterator[dict[str, Any]]:
    limits = view.unread.limits
    if limits:
        signal, rule = NOT_FULLY_READ
        where = f" (line {limits[0].line})" if limits[0].line else ""
        more = f", and {len(limits) - 1} more bounds" if len(limits) > 1 else ""
        yield {
            "signal": signal,
            "rule": rule,
            "severity": int(Severity.MEDIUM),
            "confidence": int(Confidence.LOW),
            "reason": f"not all of the file was looked at: {limits[0].what}{where}{more}",
            "line": limits[0].line,
            "count": len(limits),
        }


def _failure(signal: FileSignal, error: Exception) -> dict[str, Any]:
    return {
        "signal": signal.name,
        "rule": DETECTOR_ERROR,
        "severity": int(Severity.MEDIUM),
        "confidence": int(Confidence.HIGH),
        "reason": f"the signal failed: {type(error).__name__}: {error}",
        "line": 0,
        "count": 1,
    }


def _chunk_key(chunk: Chunk) -> str:
    return f"{chunk.span.start_byte}:{chunk.span.end_byte}"
