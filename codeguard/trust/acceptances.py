"""Acceptances: texts and findings that a person accepted, by digest, with name, date and reason.

The list of `codeguard accept` is in the state directory and every entry is authenticated with the key in the user's
configuration directory, so a foreign state directory overrules nothing.
"""

from __future__ import annotations

import datetime
import hmac
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeguard.errors import ConfigError, StoreError
from codeguard.trust.installation import claim, installation_key
from codeguard.trust.state_files import StateFolder

ACCEPTED_NAME = "accepted.jsonl"
SIGNAL = "acceptance"  # signal name of the evidence in a ranking
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MAX_BYTES = 50_000_000
_LONGEST = 2_000  # characters of a reason


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a person has reviewed and accepted: one chunk's text, or with `rule` and `path` findings.

    `digest` is that of the text, or of the findings' lines, of which there may be `count`. `date` is UTC, ISO 8601,
    whole seconds, "" if only a list of the team names it; `until` the last day on which it counts, None if its text
    alone ends it.
    """

    digest: str
    reason: str
    by: str = ""
    date: str = ""
    until: datetime.date | None = None
    rule: str = ""
    path: str = ""
    count: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about: rule and path, "" for any, and digest."""
        return self.rule, self.path, self.digest

    def late(self, today: datetime.date) -> bool:
        """Return whether it counts no more."""
        return self.until is not None and self.until < today

    def say(self) -> str:
        """Return one line: who, when, why."""
        when = f"until {self.until}" if self.until else f"on {self.date[:10]}"
        return f"accepted by {self.by} {when}: {self.reason}"

    def recorded(self) -> dict[str, str]:
        """Return what a list of acceptances holds of it, in order."""
        return {"digest": self.digest, "reason": self.reason, "by": self.by, "date": self.date}


@dataclass(frozen=True, slots=True)
class Acceptances:
    """The accepted digests of a state directory; `refused` counts entries that do not verify."""

    entries: Mapping[str, Acceptance] = field(default_factory=dict)
    refused: int = 0

    def of(self, digest: str) -> Acceptance | None:
        """Return the acceptance of a chunk's text, or None."""
        return self.entries.get(digest)

    def __bool__(self) -> bool:
        return bool(self.entries)


def load_acceptances(state: Path) -> Acceptances:
    """Return the acceptances, the latest one per digest; none if there is no list.

    Entries that do not verify with the user's evidence key are ignored.

    Raises:
        StoreError: the list exists but cannot be read, or cannot be opened safely.
    """
    path = state / ACCEPTED_NAME
    try:
        with StateFolder(state) as folder:
            data = folder.read(ACCEPTED_NAME, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Acceptances()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror})", hint="check its permissions") from None
    secret, lines = installation_key(), data.splitlines()
    verified = [entry for line in lines if (entry := _verified(line, secret)) is not None]
    return Acceptances({entry.digest: entry for entry in verified}, len(lines) - len(verified))


def accept(state: Path, digest: str, reason: str, *, by: str | None = None) -> Acceptance:
    """Record that a person accepts a chunk's text.

    Args:
        state: the state directory of this installation; created if there is none.
        digest: sha256 of the text, as `audit`, `check` and `query` show it.
        reason: why, shown with the text from now on.
        by: the person; by default the name of the user's account.

    Raises:
        ConfigError: no digest, or no reason.
        StoreError: it cannot be stored.
    """
    if not _DIGEST.fullmatch(digest):
        raise ConfigError("not a digest", got=repr(digest[:80]), expected="64 hexadecimal digits (sha256)")
    if not reason.strip() or len(reason) > _LONGEST:
        raise ConfigError("reason", got=f"{len(reason)} characters", expected=f"1 to {_LONGEST}, not blank")
    moment = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    entry = Acceptance(digest, " ".join(reason.split()), by or _account(), moment.isoformat())
    secret = installation_key()
    row = {**entry.recorded(), "mac": _mac(entry, secret)}
    try:
        claim(state, secret)
        with StateFolder(state) as folder, folder.lock(f"{ACCEPTED_NAME}.lock"):
            folder.append(ACCEPTED_NAME, json.dumps(row).encode("ascii") + b"\n")
    except OSError as error:
        raise StoreError(
            f"the acceptance cannot be kept in {state} ({error.strerror})", hint="check the folder"
        ) from None
    return entry


def _verified(line: bytes, key: bytes) -> Acceptance | None:
    try:
        row: Any = json.loads(line)
        entry = Acceptance(str(row["digest"]), str(row["reason"]), str(row["by"]), str(row["date"]))
        mac = str(row["mac"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return entry if hmac.compare_digest(mac.encode(), _mac(entry, key).encode()) else None


def _mac(entry: Acceptance, key: bytes) -> str:
    text = json.dumps(["codeguard acceptance 1", *entry.recorded().values()])
    return hmac.new(key, text.encode("ascii"), "sha256").hexdigest()


def _account() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"
