"""Known findings that were reviewed: overruled as long as they do not change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis.observations import AUDIT
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.inspection import Inspected, own_finding
from codeguard.errors import ConfigError
from codeguard.index.trusted_base import TrustedBase
from codeguard.trust.local import read_limited, write_atomically

SCHEMA = "codeguard.baseline/1"
MAX_BYTES = 50_000_000
NOT_REVIEWED = "taken over as it was, not reviewed"
Key = tuple[str, str, str]  # rule, path, digest of the lines: not the line itself, so that a finding may move
Baseline = Mapping[Key, tuple[int, str]]  # how often a finding may occur, and why it is tolerated
_FIELDS = {"rule": str, "path": str, "digest": str, "count": int, "reason": str}


def applied(baseline: Baseline, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, overruling those that an entry with a reason names, up to its count."""
    left = Counter({key: count for key, (count, reason) in baseline.items() if reason.strip()})
    result = []
    for item in findings:
        key = _key(item)
        if item.open and left[key] > 0:
            left[key] -= 1
            item = item.overruled(Standing.BASELINED, baseline[key][1])
        result.append(item)
    return result


def _key(item: Finding) -> Key:
    return (item.rule, item.path, item.text_digest)


def baseline_text(baseline: Baseline) -> str:
    """Return the file's text: one block per entry, sorted, so that diffs are readable."""
    rows = [
        dict(zip(_FIELDS, (*key, count, reason), strict=True))
        for key, (count, reason) in sorted(baseline.items())
    ]
    return json.dumps({"schema": SCHEMA, "entries": rows}, indent=1) + "\n"


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
    entries: dict[Key, tuple[int, str]] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise ConfigError(f"{where}: entry {number}", got=type(row).__name__, expected="an object")
        for name, kind in _FIELDS.items():
            if type(row.get(name)) is not kind or (kind is int and row[name] < 1):
                expected = "a number, 1 or more" if kind is int else "a string"
                raise ConfigError(
                    f"{where}: entry {number}: {name}", got=repr(row.get(name))[:80], expected=expected
                )
        rule, path, digest, count, reason = (row[name] for name in _FIELDS)
        if (rule, path, digest) in entries:
            raise ConfigError(f"{where} has two entries for {rule} in {path!r}", expected="one")
        entries[rule, path, digest] = count, reason
    return entries


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline and its path; `sha256` is empty if the file does not exist yet."""

    place: Path
    entries: Baseline
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
        place = self.place.resolve()
        inside = any(item.name == name for item in inspected)
        inside = inside or (not staged and any(place.is_relative_to(path.resolve()) for path in paths))
        if not inside or base.covers(name, self.sha256):
            return None
        reason = f"the baseline {name} lies in what is audited, and no verified manifest covers it: it does not count"
        return own_finding(f"{AUDIT}.baseline", name, reason, self.sha256)


def read_baseline(place: Path, *, missing_is_empty: bool = False) -> BaselineFile:
    """Read a baseline file; raise ConfigError if there is none (unless allowed) or it is not one."""
    if not place.exists():
        if missing_is_empty:
            return BaselineFile(place, {}, "")
        raise ConfigError(
            "no such baseline", got=str(place), hint="--write-baseline FILE makes one", expected="a file"
        )
    data = read_limited(place, MAX_BYTES)
    return BaselineFile(place, baseline_from_text(data, str(place)), hashlib.sha256(data).hexdigest())


def write_baseline(
    known: BaselineFile,
    findings: Sequence[Finding],
    audited: Callable[[str], bool],
    taken: Callable[[Finding], bool],
    reason: str,
) -> None:
    """Write the baseline of these findings: reasons are kept, new entries get `reason`, old ones go.

    Entries about files outside this audit are kept as well. Accepted findings are not included: their reason is
    recorded elsewhere.
    """
    now = applied(known.entries, findings)
    counts = Counter(_key(item) for item in now if taken(item) and item.standing is not Standing.ACCEPTED)
    left_out = {(item.rule, item.path) for item in now if not taken(item)}
    reasons = {key: why for key, (_, why) in known.entries.items() if why.strip()}
    fresh = reason.strip() or NOT_REVIEWED
    entries = {key: (count, reasons.get(key, fresh)) for key, count in counts.items()}
    kept = {
        key: entry
        for key, entry in known.entries.items()
        if key not in entries and (not audited(key[1]) or key[:2] in left_out)
    }
    write_atomically(known.place, baseline_text({**kept, **entries}).encode())


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
