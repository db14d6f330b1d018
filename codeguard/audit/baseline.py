"""Known findings that were reviewed: overruled as long as they do not change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.analysis.observations import AUDIT
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.inspection import Inspected, own_finding
from codeguard.errors import ConfigError
from codeguard.index.trusted_base import TrustedBase
from codeguard.trust.local import read_limited, write_atomically

SCHEMA = "codeguard.baseline/1"
MAX_BYTES = 50_000_000
Key = tuple[str, str, str]  # rule, path, digest of the lines


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """One kind of finding in one file, how often it may occur, and why it is tolerated."""

    rule: str
    path: str
    digest: str
    count: int
    reason: str

    @property
    def key(self) -> Key:
        """The identity of a finding: without its line, so that it may move."""
        return (self.rule, self.path, self.digest)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline file. An entry without a reason overrules nothing."""

    entries: tuple[BaselineEntry, ...] = ()

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings, overruling those that an entry names, up to its count."""
        left = Counter({entry.key: entry.count for entry in self.entries if entry.reason.strip()})
        reasons = {entry.key: entry.reason for entry in self.entries}
        result = []
        for item in findings:
            key = key_of(item)
            if item.open and left[key] > 0:
                left[key] -= 1
                item = item.overruled(Standing.BASELINED, reasons[key])
            result.append(item)
        return result

    def updated(self, findings: Sequence[Finding], reason: str) -> Baseline:
        """Return the baseline of these findings: reasons are kept, new entries get `reason`, old ones go.

        Accepted findings are not included: their reason is recorded elsewhere.
        """
        counts = Counter(
            key_of(item) for item in findings if item.standing in (Standing.OPEN, Standing.BASELINED)
        )
        known = {entry.key: entry.reason for entry in self.entries if entry.reason.strip()}
        return Baseline(
            tuple(BaselineEntry(*key, counts[key], known.get(key, reason)) for key in sorted(counts))
        )

    def to_text(self) -> str:
        """Return the file's text: one block per entry, sorted, so that diffs are readable."""
        rows = [
            {
                "rule": entry.rule,
                "path": entry.path,
                "digest": entry.digest,
                "count": entry.count,
                "reason": entry.reason,
            }
            for entry in self.entries
        ]
        return json.dumps({"schema": SCHEMA, "entries": rows}, indent=1) + "\n"


def key_of(item: Finding) -> Key:
    """Return the key by which a baseline recognizes a finding."""
    return (item.rule, item.path, item.text_digest)


def baseline_from_text(data: bytes, where: str) -> Baseline:
    """Parse a baseline file; raise ConfigError if it is invalid."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigError(f"{where} is no baseline", got="no JSON", expected=SCHEMA) from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ConfigError(f"{where} is no baseline", got="another schema", expected=SCHEMA)
    rows = value.get("entries")
    if not isinstance(rows, list):
        raise ConfigError(f"{where}: entries", got=type(rows).__name__, expected="a list")
    entries = tuple(_entry(row, f"{where}: entry {number}") for number, row in enumerate(rows, 1))
    keys = Counter(entry.key for entry in entries)
    doubled = next((key for key, count in keys.items() if count > 1), None)
    if doubled is not None:
        raise ConfigError(f"{where} has two entries for {doubled[0]} in {doubled[1]!r}", expected="one")
    return Baseline(entries)


def _entry(row: Any, where: str) -> BaselineEntry:
    if not isinstance(row, Mapping):
        raise ConfigError(where, got=type(row).__name__, expected="an object")
    texts = {}
    for name in ("rule", "path", "digest", "reason"):
        if not isinstance(row.get(name), str):
            raise ConfigError(f"{where}: {name}", got=type(row.get(name)).__name__, expected="a string")
        texts[name] = str(row[name])
    count = row.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"{where}: count", got=repr(count), expected="a number, 1 or more")
    return BaselineEntry(texts["rule"], texts["path"], texts["digest"], count, texts["reason"])


NOT_REVIEWED = "taken over as it was, not reviewed"


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline and its path; `sha256` is empty if the file does not exist yet."""

    place: Path
    baseline: Baseline
    sha256: str

    def problem(
        self, paths: Sequence[Path], base: TrustedBase, staged: bool, inspected: Iterable[Inspected]
    ) -> Finding | None:
        """Return a finding if the baseline does not count, or None if it does.

        The author of the audited code must not be able to overrule its audit. A baseline outside the audited
        paths is the user's; one inside counts only if the verified manifest covers it. The baseline itself
        must not be staged.
        """
        name = _name(self.place, base.root)
        audited = {item.name for item in inspected}
        inside = name in audited or (not staged and any(_lies_in(self.place, path) for path in paths))
        if not inside or base.covers(name, self.sha256):
            return None
        reason = f"the baseline {name} lies in what is audited, and no verified manifest covers it: it does not count"
        return own_finding(f"{AUDIT}.baseline", name, reason, self.sha256)


def read_baseline(place: Path, *, missing_is_empty: bool = False) -> BaselineFile:
    """Read a baseline file; raise ConfigError if there is none (unless allowed) or it is not one."""
    if not place.exists():
        if missing_is_empty:
            return BaselineFile(place, Baseline(), "")
        raise ConfigError(
            "no such baseline", got=str(place), hint="--write-baseline FILE makes one", expected="a file"
        )
    data = read_limited(place, MAX_BYTES)
    return BaselineFile(place, baseline_from_text(data, str(place)), hashlib.sha256(data).hexdigest())


def write_baseline(
    place: Path,
    known: BaselineFile,
    findings: Sequence[Finding],
    audited: Callable[[str], bool],
    taken: Callable[[Finding], bool],
    reason: str,
) -> None:
    """Write the baseline of these findings; entries about files outside this audit are kept."""
    applied = known.baseline.apply(findings)
    chosen = [item for item in applied if taken(item)]
    fresh = known.baseline.updated(chosen, reason.strip() or NOT_REVIEWED)
    left_out = {(item.rule, item.path) for item in applied if not taken(item)}
    keys = {entry.key for entry in fresh.entries}
    kept = [
        entry
        for entry in known.baseline.entries
        if entry.key not in keys and (not audited(entry.path) or (entry.rule, entry.path) in left_out)
    ]
    entries = sorted([*fresh.entries, *kept], key=lambda entry: entry.key)
    write_atomically(place, Baseline(tuple(entries)).to_text().encode())


def audited_scope(
    paths: Sequence[Path], root: Path, staged: bool, inspected: Iterable[Inspected]
) -> Callable[[str], bool]:
    """Return a predicate: whether this audit covers a file of a given name."""
    seen = {item.name for item in inspected}
    scopes = [] if staged else [_name(path, root) for path in paths]

    def audited(name: str) -> bool:
        return name in seen or any(scope in (".", name) or name.startswith(f"{scope}/") for scope in scopes)

    return audited


def _name(path: Path, root: Path) -> str:
    real, base = path.resolve(), root.resolve()
    return real.relative_to(base).as_posix() if real.is_relative_to(base) else real.name


def _lies_in(place: Path, path: Path) -> bool:
    return place.resolve().is_relative_to(path.resolve())
