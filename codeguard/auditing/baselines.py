"""The baseline file of an audit: read it, say whether it counts, write it anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.auditing.inspecting import Inspected, own_finding
from codeguard.auditing.rules import AUDIT
from codeguard.auditing.trust import TrustedBase
from codeguard.baseline import MAX_BYTES, Baseline, baseline_from_text
from codeguard.errors import ConfigError
from codeguard.findings import Finding
from codeguard.provenance import read_limited, write_atomically

NOT_REVIEWED = "taken over as it was, not reviewed"


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline with where it lies; `sha256` is empty where the file does not exist yet."""

    place: Path
    baseline: Baseline
    sha256: str

    def problem(
        self, paths: Sequence[Path], base: TrustedBase, staged: bool, inspected: Iterable[Inspected]
    ) -> Finding | None:
        """Return the finding that the baseline does not count, None where it does.

        Whoever writes the audited code must not write what overrules its
        audit. A file outside of the audited paths is the user's word; one
        inside counts where the verified manifest covers it. Of what is
        staged, the baseline itself must not be part.
        """
        name = _name(self.place, base.root)
        audited = {item.name for item in inspected}
        inside = name in audited or (not staged and any(_lies_in(self.place, path) for path in paths))
        if not inside or base.covers(name, self.sha256):
            return None
        reason = f"the baseline {name} lies in what is audited, and no verified manifest covers it: it does not count"
        return own_finding(f"{AUDIT}.baseline", name, reason, self.sha256)


def read_baseline(place: Path, *, missing_is_empty: bool = False) -> BaselineFile:
    """Read a baseline file; ConfigError where there is none (unless allowed) or it is not one."""
    if not place.exists():
        if missing_is_empty:
            return BaselineFile(place, Baseline(), "")
        raise ConfigError(
            "no such baseline", got=str(place), hint="--update-baseline makes one", expected="a file"
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
    """Write the baseline of these findings; entries about what this audit did not look at stay as they are."""
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
    """Return the question whether this audit looked at, or would have looked at, a file of a name."""
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
