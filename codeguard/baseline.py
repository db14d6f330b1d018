"""Known findings that somebody has looked at: overruled as long as they stay what they were."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codeguard.errors import ConfigError
from codeguard.findings import Finding, Standing

SCHEMA = "codeguard.baseline/1"
MAX_BYTES = 50_000_000
Key = tuple[str, str, str]  # rule, path, digest of the lines


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of finding in one file, how often it may occur, and why it is left."""

    rule: str
    path: str
    digest: str
    count: int
    reason: str

    @property
    def key(self) -> Key:
        """What a finding is recognised by: not its line, so that it may move."""
        return (self.rule, self.path, self.digest)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline file. An entry without a reason overrules nothing."""

    entries: tuple[Entry, ...] = ()

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings, those overruled that an entry names, never more than it counts."""
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
        """Return the baseline of these findings: reasons are kept, new entries get `reason`, gone ones go.

        What a person accepted or a comment suppressed has its reason elsewhere.
        """
        counts = Counter(
            key_of(item) for item in findings if item.standing in (Standing.OPEN, Standing.BASELINED)
        )
        known = {entry.key: entry.reason for entry in self.entries if entry.reason.strip()}
        return Baseline(tuple(Entry(*key, counts[key], known.get(key, reason)) for key in sorted(counts)))

    def to_text(self) -> str:
        """Return the file's text: one entry a block, sorted, so that a difference reads well."""
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
    """Return what a baseline recognises a finding by."""
    return (item.rule, item.path, item.text_digest)


def baseline_from_text(data: bytes, where: str) -> Baseline:
    """Read a baseline file; ConfigError where it is none."""
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


def _entry(row: Any, where: str) -> Entry:
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
    return Entry(texts["rule"], texts["path"], texts["digest"], count, texts["reason"])
