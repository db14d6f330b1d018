"""The user's signing policy: who may sign which paths, with which keys, until when.

Path patterns are anchored at the root: `*` stands for any characters within a part, `?` for one, `**` for any number
of whole parts. The time of matching is bounded by the product of the lengths, even for hostile patterns and paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from codeguard.config import Settings
from codeguard.errors import ConfigError, ManifestError
from codeguard.escaping import shown
from codeguard.trust.strict_json import flag, integer, items, members, text

MAX_PATTERN = 1024  # characters
_ANY_NAME = "\0"  # a name that no path has and no pattern contains


@dataclass(frozen=True, slots=True)
class SignerPolicy:
    """One person or machine that may sign.

    `keys` are files of public keys in PEM; several at once make a rotation
    without a gap. `paths` are patterns (`src/**`). `until` is the time from which none of the signer's
    signatures count, by the verifier's clock and never by a time inside the manifest, which the holder of an
    old key could backdate.
    """

    identity: str
    keys: tuple[Path, ...]
    paths: tuple[str, ...] = ("**",)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SigningPolicy:
    """The conditions for a manifest to count, from the user's own configuration.

    `root` is the expected label of the tree, `trees` are its folders on this machine. `threshold` counts
    distinct identities, however many keys each has. `revoked` are key ids that no longer count.
    `least_version` refuses older manifests even if nothing was seen before. `require_expiry` requires every
    manifest to have an expiry date.
    """

    root: str
    signers: tuple[SignerPolicy, ...] = ()
    threshold: int = 1
    revoked: frozenset[str] = frozenset()
    least_version: int = 1
    require_expiry: bool = False
    trees: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_toml(cls, table: Mapping[str, Any], base: Path) -> SigningPolicy:
        """Return the policy of a table of the user's configuration.

        Key files are relative to `base`, the folder of the configuration
        file. The table, complete::

            root = "acme/pay"
            trees = ["~/work/pay"]
            threshold = 1
            least_version = 1
            require_expiry = true
            revoked = ["<key id>"]

            [[signers]]
            identity = "alice@example.org"
            keys = ["keys/alice.pem"]
            paths = ["src/**"]
            until = 2026-12-31

        Raises ConfigError for unknown keys and values of the wrong type.
        """
        try:
            values = _POLICY(table, "the signing policy")
        except ManifestError as error:  # the forms are those of manifests, and this is the user's own
            raise ConfigError(error.what, got=error.got, expected=error.expected) from None

        def places(names: Iterable[str]) -> tuple[Path, ...]:
            return tuple(base / Path(name).expanduser() for name in names)

        signers = (
            SignerPolicy(**{**row, "keys": places(row.get("keys", ()))}) for row in values.get("signers", ())
        )
        trees = (path.resolve() for path in places(values.get("trees", ())))
        revoked = frozenset(values.get("revoked", ()))
        return cls(**{**values, "signers": tuple(signers), "trees": tuple(trees), "revoked": revoked})


def policies(settings: Settings) -> dict[str, SigningPolicy]:
    """Return the signing policies of the user's configuration by label; raise ConfigError if invalid.

    The table `[signing]` is one policy, or holds a table with a policy for each tree (`[signing.pay]`).
    """
    table = settings.signing
    tables = [table] if "root" in table else list(table.values())
    found: dict[str, SigningPolicy] = {}
    for item in tables:
        if not isinstance(item, dict):
            raise ConfigError(
                "[signing]", got=type(item).__name__, expected="a policy with root, or tables of them"
            )
        policy = SigningPolicy.from_toml(item, settings.config_file.parent)
        if policy.root in found:
            raise ConfigError("two signing policies for one root", got=shown(policy.root), expected="one")
        found[policy.root] = policy
    return found


def _until(value: Any, where: str) -> datetime:
    if type(value) is date:
        # A date lasts until the end of that day, in UTC so that it is the same moment everywhere.
        return datetime.combine(value, time(23, 59, 59), UTC)
    if not isinstance(value, datetime):
        raise ManifestError(where, got=type(value).__name__, expected="a date or a time")
    return value if value.tzinfo else value.replace(tzinfo=UTC)


_TEXTS = items(text(), 10_000)
_SIGNER = {"identity": text(), "keys": _TEXTS, "paths": _TEXTS, "until": _until}
_SIGNERS = items(members(_SIGNER, optional=("keys", "paths", "until")), 10_000)
_CONDITIONS = {
    "trees": _TEXTS, "threshold": integer(0), "least_version": integer(0), "require_expiry": flag,
    "revoked": _TEXTS, "signers": _SIGNERS,
}  # fmt: skip
_POLICY = members({"root": text(512), **_CONDITIONS}, optional=tuple(_CONDITIONS))


def _check(policy: SigningPolicy) -> None:
    if not policy.root:
        raise ConfigError("signing policy names no root", got="an empty label", expected="a label")
    identities = [signer.identity for signer in policy.signers]
    for identity in identities:
        if identities.count(identity) > 1:
            raise ConfigError("signing policy names a signer twice", got=shown(identity), expected="once")
    for signer in policy.signers:
        if not signer.identity:
            raise ConfigError("a signer has no identity", got="an empty text", expected='identity = "…"')
        if not signer.keys:
            raise ConfigError(f"signer {shown(signer.identity)}", got="no keys", expected='keys = ["FILE"]')
        if not signer.paths:
            raise ConfigError("empty list of paths in the signing policy", expected='paths = ["**"] for all')
        for problem in filter(None, map(unusable_pattern, signer.paths)):
            raise ConfigError(
                "unusable path pattern",
                got=problem,
                expected="a path relative to the root such as src/** or docs/*.md",
            )
    most = max(1, len(identities))
    if not 1 <= policy.threshold <= most:
        raise ConfigError(
            "threshold of the signing policy",
            got=policy.threshold,
            expected=f"1 to {most}, the number of signers",
        )
    if policy.least_version < 1:
        raise ConfigError("least_version of the signing policy", expected="1 or more")


def unusable_pattern(pattern: str) -> str | None:
    """Return why a pattern is not usable, None if it is."""
    parts = pattern.split("/")
    if len(pattern) > MAX_PATTERN:
        return f"{len(pattern)} characters, more than {MAX_PATTERN}"
    if "\0" in pattern or any(part in ("", ".", "..") for part in parts):
        return shown(pattern)
    if any("**" in part and part != "**" for part in parts):
        return f"'**' beside other characters in {shown(pattern)}"
    return None


def matches(patterns: Iterable[str], path: str) -> bool:
    """Return whether one of the patterns matches the whole path.

    `*` stands for any characters within a part, `?` for one, `**` for any
    number of whole parts, at the end for at least one. Unlike gitignore's, a
    pattern is anchored: `docs/**` does not match `src/docs/x.py`, so that a
    right to sign one folder is not a right to sign any folder of that name.
    """
    parts = path.split("/")
    return any(_parts_match(pattern.split("/"), parts) for pattern in patterns)


def matches_all_below(patterns: Iterable[str], folder: str) -> bool:
    """Return whether one of the patterns matches every path there may be below a folder (`.` is the root)."""
    open_ended = [pattern for pattern in patterns if pattern.split("/")[-1] == "**"]
    return matches(open_ended, _ANY_NAME if folder == "." else f"{folder}/{_ANY_NAME}")


def _parts_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Track all positions in `parts` that the pattern read so far can reach."""
    reached = {0}
    for number, piece in enumerate(pattern, 1):
        if piece == "**":
            first = min(reached)
            reached = set(range(first + (number == len(pattern)), len(parts) + 1))
        else:
            reached = {
                at + 1
                for at in reached
                if at < len(parts) and fnmatchcase(parts[at], piece.replace("[", "[[]"))
            }
        if not reached:
            return False
    return len(parts) in reached
