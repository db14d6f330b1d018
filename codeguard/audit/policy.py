"""A team's policy for its audits: paths, levels of rules, a baseline, and digests that an owner accepted until a date.

It is read from outside of what is audited, or as it was before the change that is audited: nobody writes the policy by
which their own change is judged.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from codeguard.analysis.observations import AUDIT, DISCOVERY
from codeguard.audit.baseline import MAX_BYTES, Baseline, applied, baseline_from_text
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.rules import RuleSelection, all_rules, longest_match
from codeguard.errors import ConfigError
from codeguard.models import Severity
from codeguard.trust.acceptances import Acceptance
from codeguard.trust.local import read_limited

LONGEST = 1 << 20  # bytes of a policy
OFF = "off"
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_KEYS = {"paths": list, "levels": dict, "baseline": str, "accepted": list}


@dataclass(frozen=True, slots=True)
class Policy:
    """Paths to audit, levels (a severity or "off") by rule or signal, known findings, and accepted texts."""

    paths: tuple[Path, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)
    baseline: Baseline = field(default_factory=dict)
    accepted: tuple[Acceptance, ...] = ()

    def applied(self, findings: Iterable[Finding], today: date | None = None) -> list[Finding]:
        """Return the findings with the policy's severities and standings; `today` is UTC's by default."""
        day = today or datetime.now(UTC).date()
        accepted = {entry.digest: entry for entry in self.accepted if entry not in self._late(day)}
        result = []
        for item in findings:
            level = self.level_of(item.rule)
            if level == OFF:
                continue
            if level:
                item = replace(item, severity=Severity[level.upper()])
            if item.open and item.digest in accepted:
                item = item.overruled(Standing.ACCEPTED, accepted[item.digest].say())
            result.append(item)
        return applied(self.baseline, result)

    def level_of(self, rule: str) -> str:
        """Return the level for a rule, of the longest name that means it; "" if there is none."""
        pattern = longest_match(rule, self.levels)
        return self.levels[pattern] if pattern else ""

    def expired(self, today: date | None = None) -> tuple[str, ...]:
        """Return a line for each acceptance that counts no more."""
        late = self._late(today or datetime.now(UTC).date())
        return tuple(f"{entry.digest[:16]} was accepted by {entry.by} until {entry.until}" for entry in late)

    def _late(self, day: date) -> list[Acceptance]:
        return [entry for entry in self.accepted if entry.until is not None and entry.until < day]


def read_policy(place: Path, since: str | None, of_change: bool, paths: Sequence[Path]) -> Policy:
    """Return the policy of a file.

    Args:
        place: the file.
        since: what names the commit from which a change is judged, None for what is staged.
        of_change: whether a change is audited.
        paths: the audited paths, where it is not.

    Raises:
        ConfigError: it is no policy, lies in what is audited, or was not there before the change.
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
    from codeguard.corpus.git_objects import LINK, GitObjects

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


def _policy(place: Path, read: Callable[[Path, int], bytes]) -> Policy:
    try:
        table = tomllib.loads(read(place, LONGEST).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no policy", got=str(error), expected="TOML") from None
    for key, value in table.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise ConfigError(
                f"{place}: {key}", got=type(value).__name__, expected=f"one of {', '.join(_KEYS)}"
            )
    paths = [_text(item, f"{place}: paths") for item in table.get("paths", ())]
    levels = {rule: _text(level, f"{place}: levels") for rule, level in table.get("levels", {}).items()}
    _check_levels(levels, str(place))
    baseline: Baseline = {}
    if named := table.get("baseline"):
        beside = place.parent / named
        baseline = baseline_from_text(read(beside, MAX_BYTES), str(beside))
    rows = enumerate(table.get("accepted", ()), 1)
    accepted = tuple(_accepted(row, f"{place}: accepted {number}") for number, row in rows)
    return Policy(tuple(map(Path, paths)), levels, baseline, accepted)


def _check_levels(levels: Mapping[str, str], where: str) -> None:
    RuleSelection(tuple(levels)).check(all_rules())
    for rule, level in levels.items():
        if rule.partition(".")[0] in (AUDIT, DISCOVERY):
            raise ConfigError(
                f"{where}: levels: {rule}", got="a fact of the audit itself", expected="another rule"
            )
        if level != OFF and level.upper() not in Severity.__members__:
            expected = ", ".join((OFF, *(item.name.lower() for item in Severity)))
            raise ConfigError(f"{where}: levels: {rule}", got=repr(level), expected=f"one of {expected}")


def _accepted(row: Any, where: str) -> Acceptance:
    if not isinstance(row, Mapping) or set(row) != {"digest", "owner", "reason", "expires"}:
        raise ConfigError(where, got=repr(row)[:80], expected="digest, owner, reason and expires")
    digest, expires = _text(row["digest"], where), row["expires"]
    if not _DIGEST.fullmatch(digest):
        raise ConfigError(f"{where}: digest", got=repr(digest), expected="64 hexadecimal digits")
    if not isinstance(expires, date) or isinstance(expires, datetime):
        raise ConfigError(f"{where}: expires", got=repr(expires), expected="a date, such as 2027-01-31")
    return Acceptance(digest, _text(row["reason"], where), _text(row["owner"], where), until=expires)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(where, got=repr(value), expected="a text")
    return value
