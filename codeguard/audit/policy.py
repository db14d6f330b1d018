"""What a team agreed on: paths, levels of rules, and what somebody accepted, in a policy or a baseline.

A policy is read from outside of what is audited, or as it was before the change that is audited: nobody writes the
policy by which their own change is judged. A baseline is a list of findings that were there before; both end in one
list of acceptances.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from codeguard.analysis.observations import AUDIT, DISCOVERY
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.inspection import Inspected, own_finding
from codeguard.audit.rules import RuleSelection, all_rules, longest_match
from codeguard.errors import ConfigError, ManifestError
from codeguard.index.trusted_base import TrustedBase
from codeguard.models import Severity
from codeguard.trust.acceptances import Acceptance
from codeguard.trust.state_files import read_limited, write_atomically
from codeguard.trust.strict_json import integer, items, members, parse_json, sha256, text
from codeguard.trust.verified import in_scope

LONGEST = 50_000_000  # bytes of a policy or a baseline
MOST = 1_000_000  # rows of either
OFF = "off"
LEVELS = (OFF, *(item.name.lower() for item in Severity))
SCHEMA = "codeguard.baseline/1"
NOT_REVIEWED = "taken over as it was, not reviewed"
Read = Callable[[Path, int], bytes]


def _written(value: Any, where: str) -> str:
    found: str = text()(value, where)
    if not found.strip():
        raise ManifestError(f"{where} is blank", got=repr(found), expected="a text")
    return found


def _day(value: Any, where: str) -> date:
    if type(value) is not date:
        raise ManifestError(where, got=repr(value), expected="a date, such as 2027-01-31")
    return value


def _level(value: Any, where: str) -> str:
    if value not in LEVELS:
        raise ManifestError(where, got=repr(value), expected=f"one of {', '.join(LEVELS)}")
    return str(value)


def _levels(value: Any, where: str) -> Any:
    return members(dict.fromkeys(value, _level) if isinstance(value, dict) else {})(value, where)


_BASELINED = {"rule": text(), "path": text(), "digest": text(), "count": integer(1), "reason": text()}
_BASELINE = members({"schema": text(), "entries": items(members(_BASELINED), MOST)})
_ACCEPTED = members({"digest": sha256, "owner": _written, "reason": _written, "expires": _day})
_PARTS = {"paths": items(_written, MOST), "levels": _levels, "baseline": _written}
_POLICY = members({**_PARTS, "accepted": items(_ACCEPTED, MOST)}, optional=(*_PARTS, "accepted"))


@dataclass(frozen=True, slots=True)
class Policy:
    """Paths to audit, levels (a severity or "off") by rule or signal, and what was accepted."""

    paths: tuple[Path, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    accepted: tuple[Acceptance, ...] = ()

    def leveled(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with the policy's severities, without those of rules that are off."""
        levels = [(item, longest_match(item.rule, self.levels)) for item in findings]
        return [
            replace(item, severity=Severity[self.levels[name].upper()]) if name else item
            for item, name in levels
            if not name or self.levels[name] != OFF
        ]

    def expired(self, today: date | None = None) -> tuple[str, ...]:
        """Return a line for each acceptance that counts no more; `today` is UTC's by default."""
        late = [entry for entry in self.accepted if entry.late(today or datetime.now(UTC).date())]
        return tuple(f"{entry.digest[:16]} was accepted by {entry.by} until {entry.until}" for entry in late)


def overruled(findings: Iterable[Finding], accepted: Iterable[Acceptance]) -> list[Finding]:
    """Return the findings; those of an accepted text, and those that are accepted themselves, are not open.

    An entry about a finding needs a reason, and counts as often as it says.
    """
    today = datetime.now(UTC).date()
    entries = {entry.key: entry for entry in accepted if entry.reason.strip() and not entry.late(today)}
    left = Counter({key: entry.count for key, entry in entries.items() if entry.rule})
    result = []
    for item in findings:
        if item.open and (entry := entries.get(("", "", item.digest))) is not None:
            item = item.overruled(Standing.ACCEPTED, entry.say())
        elif item.open and left[_key(item)] > 0:
            left[_key(item)] -= 1
            item = item.overruled(Standing.BASELINED, entries[_key(item)].reason)
        result.append(item)
    return result


def _key(item: Finding) -> tuple[str, str, str]:
    """Return what a baseline names: the lines by digest and not by number, so that a finding may move."""
    return item.rule, item.path, item.text_digest


def read_policy(place: Path, since: str | None, of_change: bool, paths: Sequence[Path]) -> Policy:
    """Return the policy of a file.

    Args:
        place: the file.
        since: what names the commit from which a change is judged, None for what is staged.
        of_change: whether a change is audited.
        paths: the audited paths, where it is not.

    Raises:
        ConfigError, ManifestError: it is no policy, lies in what is audited, or was not there before the change.
        CorpusError: git refuses.
    """
    lexical, real = Path(os.path.abspath(place)), place.resolve()  # noqa: PTH100 - a link keeps its own path
    if not of_change:
        policy = _policy(place, read_limited)
        audited = [path.resolve() for path in paths or policy.paths]
        if any(item.is_relative_to(path) for item in (lexical, real) for path in audited):
            raise ConfigError(
                "the policy lies in what is audited",
                got=str(place),
                expected="a file outside of the audited paths",
            )
        return policy
    from codeguard.audit.changes import name_in, parting
    from codeguard.corpus.git import LINK, GitObjects

    with closing(GitObjects(Path.cwd())) as objects:
        if name_in(objects.top, place) is None and name_in(objects.top, real) is None:
            return _policy(place, read_limited)
        tree = objects.tree(parting(objects, since))

        def before(path: Path, limit: int) -> bytes:
            entry = tree.get(name_in(objects.top, path) or "")
            if entry is None or entry.mode == LINK:
                raise ConfigError(
                    f"{path} was not there before the change",
                    got="no such file",
                    expected="a file of its base",
                )
            return objects.read(entry, limit)

        return _policy(place, before)


def _policy(place: Path, read: Read) -> Policy:
    try:
        table = tomllib.loads(read(place, LONGEST).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no policy", got=str(error), expected="TOML") from None
    found = _POLICY(table, f"the policy {place}")
    levels = found.get("levels", {})
    RuleSelection(tuple(levels)).check(all_rules())
    for rule in levels:
        if rule.partition(".")[0] in (AUDIT, DISCOVERY):
            raise ConfigError(
                f"levels of {place}: {rule}", got="a fact of the audit itself", expected="another rule"
            )
    accepted = [
        Acceptance(row["digest"], row["reason"], row["owner"], until=row["expires"])
        for row in found.get("accepted", ())
    ]
    if "baseline" in found:
        beside = place.parent / found["baseline"]
        accepted += baseline_from_text(read(beside, LONGEST), str(beside))
    return Policy(tuple(map(Path, found.get("paths", ()))), levels, tuple(accepted))


def baseline_text(entries: Iterable[Acceptance]) -> str:
    """Return the file's text: one block per entry, sorted, so that diffs are readable."""
    rows = [
        {name: getattr(entry, name) for name in _BASELINED}
        for entry in sorted(entries, key=lambda entry: entry.key)
    ]
    return json.dumps({"schema": SCHEMA, "entries": rows}, indent=1) + "\n"


def baseline_from_text(data: bytes, where: str) -> list[Acceptance]:
    """Parse a baseline file; raise ManifestError if it is invalid."""
    found = _BASELINE(parse_json(data, f"the baseline {where}"), f"the baseline {where}")
    if found["schema"] != SCHEMA:
        raise ManifestError(f"{where} is no baseline", got="another schema", expected=SCHEMA)
    entries = [Acceptance(**row) for row in found["entries"]]
    for key, times in Counter(entry.key for entry in entries).items():
        if times > 1:
            raise ManifestError(f"{where} has two entries for {key[0]} in {key[1]!r}", expected="one")
    return entries


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline and its path; `sha256` is empty if the file does not exist yet."""

    place: Path
    entries: Sequence[Acceptance]
    sha256: str

    def problem(
        self, paths: Sequence[Path], base: TrustedBase, of_change: bool, inspected: Iterable[Inspected]
    ) -> Finding | None:
        """Return a finding if the baseline does not count, or None if it does.

        The author of the audited code must not be able to overrule its audit. A baseline outside the audited
        paths is the user's; one inside counts only if the verified manifest covers it. The baseline itself
        must not be part of the change.
        """
        name = _name(self.place, base.root)
        place = self.place.resolve()
        inside = any(item.name == name for item in inspected)
        inside = inside or (not of_change and any(place.is_relative_to(path.resolve()) for path in paths))
        if not inside or base.covers(name, self.sha256):
            return None
        reason = f"the baseline {name} lies in what is audited, and no verified manifest covers it: it does not count"
        return own_finding(f"{AUDIT}.baseline", name, reason, self.sha256)


def read_baseline(place: Path, *, missing_is_empty: bool = False) -> BaselineFile:
    """Read a baseline file; raise ConfigError if there is none (unless allowed), ManifestError if it is not one."""
    if not place.exists():
        if missing_is_empty:
            return BaselineFile(place, (), "")
        raise ConfigError(
            "no such baseline", got=str(place), hint="--write-baseline FILE makes one", expected="a file"
        )
    data = read_limited(place, LONGEST)
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
    counts = Counter(
        _key(item) for item in findings if taken(item) and item.standing is not Standing.ACCEPTED
    )
    left_out = {(item.rule, item.path) for item in findings if not taken(item)}
    reasons = {entry.key: entry.reason for entry in known.entries if entry.reason.strip()}
    fresh = reason.strip() or NOT_REVIEWED
    entries = [
        entry
        for entry in known.entries
        if entry.key not in counts and (not audited(entry.path) or entry.key[:2] in left_out)
    ]
    entries += [
        Acceptance(digest, reasons.get((rule, path, digest), fresh), rule=rule, path=path, count=count)
        for (rule, path, digest), count in counts.items()
    ]
    write_atomically(known.place, baseline_text(entries).encode())


def audited_scope(
    paths: Sequence[Path], root: Path, of_change: bool, inspected: Iterable[Inspected]
) -> Callable[[str], bool]:
    """Return a predicate: whether this audit covers a file of a given name."""
    seen = {item.name for item in inspected}
    scopes = [] if of_change else [_name(path, root) for path in paths]
    return lambda name: name in seen or in_scope(name, scopes)


def _name(path: Path, root: Path) -> str:
    real, base = path.resolve(), root.resolve()
    return real.relative_to(base).as_posix() if real.is_relative_to(base) else real.name
