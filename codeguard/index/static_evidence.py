"""Static signals in the ranking: the engine's observations about a file, as evidence about its chunks.

A file is examined once, by a worker process with limits that can be killed. Each detector's observations are
stored in the catalog under the digest of the file and the version of that detector, so changing one rule
reruns only its detector.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from codeguard.analysis.engine import (
    ENGINE,
    Engine,
    Step,
    engine_version,
    is_notebook,
    kind_and_digest,
)
from codeguard.analysis.observations import AUDIT, DISCOVERY, NOT_FULLY_READ, Observation
from codeguard.analysis.reading import PROSE
from codeguard.analysis.rules import DetectorContext, FileSignal, load_file_signals
from codeguard.index.file_tasks import (
    ExaminationRequest,
    ExaminedFile,
    Observe,
    examine_files,
)
from codeguard.models import (
    NOT_YET,
    Chunk,
    ChunkKind,
    Evidence,
    Severity,
    SourceFile,
    Trust,
    parts_digest,
)
from codeguard.weights import INSECURE, Weights
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import Shared

if TYPE_CHECKING:
    from codeguard.index.catalog import Catalog

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
_NAME = re.compile(r"[^\W\d]\w*")
KEPT_FILES = 2_000  # in memory
STATIC = "static"  # the signal of files that no detector has examined
COMPANY = (AUDIT, "company")
# A change to a copy or a false claim concerns only the code that contains it, a weakness hardly more than that.
OF_ITS_OWN_CODE = frozenset({"insecure", "near_copy", "secrets"})
MEASURED = frozenset({"tokens"})  # what the ranking needs of an observation's measurements
Rows = tuple[Observation, ...]  # of one file, each rule once per chunk


class GraveFinding(NamedTuple):
    """A chunk in which a rule of high severity fires, and that rule's evidence."""

    chunk: Chunk
    evidence: Evidence


class StaticEvidence:
    """Callable from a chunk, its file and its trust to the evidence of the static signals.

    Only signals with a weight other than 0 are run. `trusted` reads the trusted files for those that need
    them, `epoch` is the digest of the trusted text. Without a catalog nothing outlives the process.
    `material` is what this process's shared worker needs to examine files; without it this process does, which is
    meant for tests and trusted texts.
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
        material: Callable[[StaticEvidence], Shared] | None = None,
    ) -> None:
        self._material = material
        self.known_only = False  # report files missing in the catalog as not examined yet
        self.unfinished: list[tuple[str, str]] = []  # files that `prepare` could not fully examine, and why
        registered = load_file_signals() if file_signals is None else file_signals
        self.weights = weights
        self._signals = tuple(
            item
            for item in registered
            if enabled(item.name)
            and any(self.weights.of(f"{item.name}.{rule.id}", rule.severity) for rule in item.rules)
        )
        self._catalog = catalog
        self._trusted = trusted
        version = engine_version()
        self._versions = {ENGINE: version} | {
            item.name: version[:32] + (epoch[:32] if item.compares else "") for item in self._signals
        }
        self._known: dict[str, Rows] = {}
        self._uses: dict[str, Uses] = {}

    def __bool__(self) -> bool:
        return bool(self._signals)

    def __call__(self, chunk: Chunk, file: SourceFile, trust: Trust) -> tuple[Evidence, ...]:
        """Return the static evidence about one chunk; none about trusted text."""
        if not self._signals or trust is Trust.TRUSTED:
            return ()
        if self._unknown(file):
            return (Evidence(STATIC, NOT_YET, 0.0, "not examined yet", severity=Severity.LOW),)
        index = place_of(chunk, file)
        rows = [item for item in self._rows(file) if item.of_the_file or item.chunk == index]
        return tuple(self._evidence(item, trust, file) for item in rows)

    def _unknown(self, file: SourceFile) -> bool:
        return self.known_only and _key(file) not in self._known and bool(self._missing(self._kept(file)))

    def grave(self, file: SourceFile, place: int) -> tuple[GraveFinding, ...]:
        """Return the findings of a file that also count against the chunk at a place.

        These are grave ones in the code that it depends on, and insecure code in what it introduces (the text of
        a module or class outside of its functions answers a question for all of them) or in most of the file.
        """
        if not self._signals or self._unknown(file):
            return ()
        grave: list[Observation] = []
        flaws: list[Observation] = []
        for item in self._rows(file):
            if item.chunk < 0 or item.of_the_file:
                continue
            if item.signal == INSECURE and item.severity >= Severity.MEDIUM:
                flaws.append(item)
            elif item.signal not in OF_ITS_OWN_CODE and item.severity >= Severity.HIGH:
                grave.append(item)
        if not grave and not flaws:
            return ()
        if len(self._uses) >= KEPT_FILES:
            self._uses.clear()
        uses = self._uses.setdefault(_key(file), Uses(file))
        counting = [item for item in grave if item.chunk in uses.needed(place)]
        if flaws:
            below = uses.introduced(place)
            most = uses.are_most({item.chunk for item in flaws})
            counting += [item for item in flaws if most or item.chunk in below]
        weighed = [(item, self._evidence(item, Trust.UNLISTED, file)) for item in counting]
        return tuple(
            GraveFinding(file.chunks[item.chunk], evidence)
            for item, evidence in weighed
            if evidence.penalty > 0
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signals that are asked."""
        return tuple(item.name for item in self._signals)

    @property
    def version(self) -> str:
        """What the evidence depends on beside the files."""
        return ",".join(f"{name}={version}" for name, version in self._versions.items())

    def prepare(self, files: Iterable[SourceFile], elsewhere: Observe | None = None) -> int:
        """Examine the files that the catalog does not know yet; return how many. `elsewhere` may do it instead."""
        if not self._signals:
            return 0
        count = 0
        unknown = ((file, self._missing(self._kept(file))) for file in files)
        requests = (ExaminationRequest(file, missing) for file, missing in unknown if missing)
        for seen in (elsewhere or self._elsewhere)(requests):
            count += 1
            whole = (item for item in self._take(seen) if item.of_the_file and item.demotes)
            if (found := next(whole, None)) is not None and found.reason:
                self.unfinished.append((seen.file.path, found.reason))
        return count

    def _elsewhere(self, requests: Iterable[ExaminationRequest]) -> Iterator[ExaminedFile]:
        if (material := self._material) is not None:
            yield from examine_files(default_workers(), lambda: material(self), self.names, requests)
            return
        engine = Engine(self._signals, DetectorContext.made_for(self._signals, self._trusted))
        for request in requests:
            yield ExaminedFile(request.file, tuple(engine.observe(*request)))

    def _rows(self, file: SourceFile) -> Rows:
        key = _key(file)
        if key not in self._known:
            kept = self._kept(file)
            if len(self._known) >= KEPT_FILES:
                self._known.clear()
            missing = self._missing(kept)
            if missing:
                (seen,) = self._elsewhere([ExaminationRequest(file, missing)])
                self._known[key] = self._take(seen)
            else:
                self._known[key] = _distinct(item for rows in kept.values() for item in rows)
        return self._known[key]

    def _missing(self, kept: Mapping[str, Rows]) -> tuple[str, ...]:
        """Return the detectors that must be asked: none of them has a version without the engine's in it."""
        return tuple(name for name in self.names if name not in kept)

    def _take(self, seen: ExaminedFile) -> Rows:
        """Keep what the steps say together with what was known, as far as it lasts; return all of it."""
        kept = dict(self._kept(seen.file))
        asked = {name: Step(name, ()) for name in self._missing(kept)}
        done = asked | {step.signal: step for step in seen.steps}
        fresh = {
            name: _once_a_chunk(step.observations) for name, step in done.items() if name in self._versions
        }
        if self._catalog is not None:
            lasting = {name: rows for name, rows in fresh.items() if done[name].lasting}
            values = {
                name: [self._versions[name], [item.to_values() for item in rows]]
                for name, rows in {**kept, **lasting}.items()
            }
            self._catalog.put_analyses({_key(seen.file): {"signals": values}})
        return _distinct(item for rows in {**kept, **fresh}.values() for item in rows)

    def _kept(self, file: SourceFile) -> dict[str, Rows]:
        """Return what the catalog has of a file, by detector, if that is of the same version."""
        value = self._catalog.analysis(_key(file)) if self._catalog is not None else None
        found: dict[str, Rows] = {}
        for name, (version, rows) in (value or {}).get("signals", {}).items():
            if self._versions.get(name) == version:
                found[name] = tuple(map(Observation.from_values, rows))
        return found

    def _evidence(self, item: Observation, trust: Trust, file: SourceFile) -> Evidence:
        reason = f"not all of the file was looked at: {item.reason}" if item.unread else item.reason
        penalty, line = self._penalty(item), item.place.start_line
        if item.chunk >= 0:  # the text of a notebook's cells has lines of its own
            chunk = file.chunks[item.chunk]
            line = min(chunk.end_line, chunk.start_line + line - file.lines_of(chunk)[0])
        return Evidence(
            signal=item.signal,
            id=item.rule,
            penalty=penalty,
            reason=reason,
            demotes=item.demotes and penalty > 0 and (trust is not Trust.COPY or item.of_the_file),
            severity=item.severity,
            confidence=item.confidence,
            measurements={
                "line": line,
                "count": item.count,
                **item.measurements,
            },
        )

    def _penalty(self, item: Observation) -> float:
        """Return the weight of a rule's match, which may be milder than its rule."""
        key = NOT_FULLY_READ if item.failed else (item.signal, item.rule)
        usual = self._severities.get(key)  # what was not seen is unknown, whatever kept it from being seen
        if usual is None or item.severity is Severity.INFO < usual:
            return 0.0
        return self.weights.found(".".join(key), usual, item.severity)

    @functools.cached_property
    def _severities(self) -> dict[tuple[str, str], Severity]:
        known = {(item.name, rule.id): rule.severity for item in self._signals for rule in item.rules}
        return {**known, NOT_FULLY_READ: Severity.MEDIUM}


def _key(file: SourceFile) -> str:
    return "static:" + parts_digest(*kind_and_digest(file))


class Uses:
    """Which chunks of a file name which: a grave finding weighs on what depends on its code.

    A page is read as a whole, and so is a notebook under another name. What stands outside of functions runs for
    everything in the file. A function concerns its own pieces, and whatever names it, however far. Each question
    takes time linear in the file.
    """

    def __init__(self, file: SourceFile) -> None:
        self._chunks = file.chunks
        self._whole = file.language in PROSE or is_notebook(file)
        self._always = frozenset(
            place for place, item in enumerate(file.chunks) if item.kind not in FUNCTIONS
        )
        self._defined: dict[str, list[int]] = {}
        for place, item in enumerate(file.chunks):
            self._defined.setdefault(item.symbol.rpartition(".")[2], []).append(place)

    def introduced(self, place: int) -> frozenset[int]:
        """Return the indices of the chunks of the class or, for other text outside of functions, of the file."""
        if self._whole or place not in self._always:
            return frozenset()
        symbol = self._chunks[place].symbol
        inside = f"{symbol}." if self._chunks[place].kind is ChunkKind.CLASS else ""
        return frozenset(
            at
            for at, item in enumerate(self._chunks)
            if item.symbol.startswith(inside) or item.symbol == symbol
        )

    def are_most(self, places: Collection[int]) -> bool:
        """Return whether chunks hold more than half of the file's text."""
        sizes = [len(item.text) for item in self._chunks]
        return sum(sizes[at] for at in places) > sum(sizes) / 2

    def needed(self, place: int) -> frozenset[int]:
        """Return the indices of the chunks that a chunk depends on, including its own; none for no chunk."""
        if place < 0:
            return frozenset()
        if self._whole:
            return frozenset(range(len(self._chunks)))
        symbol = self._chunks[place].symbol
        pieces = {place} | {other for other, item in enumerate(self._chunks) if item.symbol == symbol}
        found, waiting, named = set(pieces), [place], {""}
        while waiting:
            text = self._chunks[waiting.pop()].text
            new = {name for name in _NAME.findall(text) if name in self._defined and name not in named}
            named |= new
            for name in new:
                waiting += [other for other in self._defined[name] if other not in found]
                found.update(self._defined[name])
        return self._always | found


def place_of(chunk: Chunk, file: SourceFile) -> int:
    """Return the index of a chunk in its file, or -1."""
    return next((place for place, item in enumerate(file.chunks) if item.span == chunk.span), -1)


def _once_a_chunk(observations: Iterable[Observation]) -> Rows:
    """Return the most severe observation of each rule per chunk, and once for the whole file."""
    kept: dict[tuple[str, str, int], Observation] = {}
    for item in observations:
        if item.signal in (AUDIT, DISCOVERY) and not item.of_the_file:
            continue  # only for the audit: it says nothing about what the code does
        if item.unread:
            item = replace(item, signal=AUDIT, rule=NOT_FULLY_READ[1])
        key = (item.signal, item.rule, -1 if item.of_the_file else item.chunk)
        known = kept.get(key)
        if known is None:
            kept[key] = _plain(item, item.count)
        else:
            kept[key] = _plain(item if item.severity > known.severity else known, known.count + item.count)
    return tuple(kept.values())


def _plain(item: Observation, count: int) -> Observation:
    """Return an observation without the fields that only the audit shows."""
    return Observation(
        item.signal,
        item.rule,
        item.severity,
        item.confidence,
        item.reason,
        item.place,
        item.chunk,
        count,
        measurements={name: value for name, value in item.measurements.items() if name in MEASURED},
    )


def _distinct(rows: Iterable[Observation]) -> Rows:
    """Return the observations of all detectors, merging limits that several of them reached."""
    found: list[Observation] = []
    bounds: list[Observation] = []
    for item in rows:
        (bounds if item.unread else found).append(item)
    if bounds:
        first = max(bounds, key=lambda item: item.severity)
        count = sum(item.count for item in bounds)
        more = f", and {count - 1} more bounds" if count > 1 else ""
        found.append(replace(_plain(first, count), reason=f"{first.reason}{more}"))
    return tuple(found)
