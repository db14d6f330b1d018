"""Verification: from a folder, or an untrusted envelope, and a policy to a manifest that counts; versions once seen."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import platformdirs

from codeguard.config import Settings
from codeguard.errors import ConfigError, ManifestError
from codeguard.escaping import escaped, shown
from codeguard.trust.manifest import Manifest, manifest_from_json
from codeguard.trust.policy import SignerPolicy, SigningPolicy, matches, matches_all_below, policies
from codeguard.trust.signatures import TrustedKey, holding_keys, load_keys, read_envelope, refuse_inside
from codeguard.trust.state_files import StateFolder, read_limited
from codeguard.trust.strict_json import integer, members, parse_json, sha256, text
from codeguard.trust.verified import MANIFEST_NAME, VerifiedManifest, admit

SEEN_NAME = "versions-seen.json"
_SCHEMA = "codeguard.versions-seen/1"
_MAX_BYTES = 4 * 1024 * 1024
_SEEN = members({"version": integer(1), "sha256": sha256})


def _roots(value: Any, where: str) -> Any:
    return members(dict.fromkeys(value, _SEEN) if isinstance(value, dict) else {})(value, where)


class VersionsSeen:
    """The record of the newest verified manifest of each tree: its version and the sha256 of its payload.

    If nothing has been seen yet, the version of the first manifest is accepted; `least_version` of the
    signing policy closes that gap.
    """

    def __init__(self, state_dir: Path | None = None) -> None:
        """Open the record of a state directory, by default the user's own."""
        self._path = (state_dir or Path(platformdirs.user_state_dir("codeguard"))) / SEEN_NAME

    def last_version(self, root: str) -> int:
        """Return the version last seen of a tree, 0 if none was; raise ManifestError if the record is damaged."""
        return int(self._load().get(root, {"version": 0})["version"])

    def record(self, manifest: Manifest, payload_sha256: str) -> None:
        """Record a verified manifest.

        Raises ManifestError if it is older than the one seen, or has its version but differs.
        """
        label, version = shown(manifest.root), manifest.version
        with (
            StateFolder(self._path.parent, create=True) as folder,
            folder.lock(f"{self._path.name}.lock"),
        ):
            seen = self._load()
            last = seen.get(manifest.root, {"version": 0})
            if version < last["version"]:
                raise ManifestError(
                    f"manifest of {label} is older than one already seen",
                    got=f"version {version}",
                    expected=f"version {last['version']} or later",
                    hint="somebody may have put an old manifest back; get the current one",
                )
            if version > last["version"]:
                seen[manifest.root] = {"version": version, "sha256": payload_sha256}
                record = {"schema": _SCHEMA, "roots": dict(sorted(seen.items()))}
                folder.write(self._path.name, json.dumps(record, indent=1).encode("utf-8"))
            elif payload_sha256 != last["sha256"]:
                raise ManifestError(
                    f"two manifests of {label} carry the version {version}",
                    got=f"payload sha256 {payload_sha256}",
                    expected=f"{last['sha256']}, seen before",
                    hint="sign the newer one again with: codeguard trust update",
                )

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            with StateFolder(self._path.parent) as folder:
                data = folder.read(self._path.name, _MAX_BYTES)
            record = members({"schema": text(), "roots": _roots})(parse_json(data, "record"), "the record")
            if record["schema"] != _SCHEMA:
                raise ManifestError("schema", got=shown(record["schema"]), expected=_SCHEMA)
            return dict(record["roots"])
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ManifestError, OSError) as error:
            raise ManifestError(
                f"record of the versions seen is damaged: {self._path}",
                got=str(error),
                expected=f"the schema {_SCHEMA}",
                hint="without it a rollback is not noticed; check who wrote there before you remove it",
            ) from None


# How far the clocks of two honest machines may differ.
CLOCK_SKEW = timedelta(minutes=5)


def verify_envelope(
    envelope: bytes,
    keys: Mapping[str, TrustedKey],
    policy: SigningPolicy,
    *,
    state: VersionsSeen,
    now: datetime,
    renewing: bool = False,
) -> VerifiedManifest:
    """Return the manifest of a DSSE envelope after checking everything about it.

    In this order: the envelope's form; signatures by keys of the policy that
    are neither revoked nor past their time, before a byte of the payload is
    interpreted; the statement's form and paths; the label of the tree; for
    every path, and for the scope as a whole, that enough distinct, entitled signers signed; times; the
    version against the policy and against what was last seen, which is then recorded in `state`.

    `now` is an aware time, the verifier's own. `renewing` accepts an old or expired manifest, which is about
    to be replaced.

    Raises ManifestError with got, expected and a hint.
    """
    opened = read_envelope(envelope)
    refused: list[str] = []
    identities: set[str] = set()
    for key in holding_keys(opened, keys):
        if key.keyid in policy.revoked:
            refused.append(f"the revoked key {key.keyid} of {shown(key.identity)}")
        else:
            identities.add(key.identity)
    if not identities and not refused:
        refused.append(f"{len(opened.signatures)} by no key of the policy over this payload")
    signers = _counting(identities, refused, policy, now)
    manifest = manifest_from_json(opened.payload)
    if manifest.root != policy.root:
        raise ManifestError(
            "manifest is for another root", got=shown(manifest.root), expected=shown(policy.root)
        )
    _check_rights(manifest, signers, policy)
    _check_times(manifest, policy, min(now, manifest.created) if renewing else now)
    if manifest.version < policy.least_version:
        raise ManifestError(
            "manifest is older than the signing policy allows",
            got=f"version {manifest.version}",
            expected=f"version {policy.least_version} or later",
        )
    state.record(manifest, hashlib.sha256(opened.payload).hexdigest())
    return admit(manifest, tuple(signer.identity for signer in signers), unsigned=False)


def _counting(
    identities: Set[str], refused: list[str], policy: SigningPolicy, now: datetime
) -> list[SignerPolicy]:
    """Return the policy's signers who currently count; raise ManifestError if there are none."""
    if now.tzinfo is None:
        raise ValueError("now has to be an aware time")
    counting = []
    for signer in policy.signers:
        if signer.identity not in identities:
            continue
        if signer.until is not None and now > signer.until:
            refused.append(f"{shown(signer.identity)}, whose time ended {signer.until.isoformat()}")
        else:
            counting.append(signer)
    if not counting:
        raise ManifestError(
            "no signature of the manifest counts",
            got=" and ".join(refused) or "none by a signer of the policy",
            expected=_one_of(signer.identity for signer in policy.signers),
            hint="either the manifest was changed after signing, or the key is not in your configuration",
        )
    return counting


def _check_rights(manifest: Manifest, signers: Sequence[SignerPolicy], policy: SigningPolicy) -> None:
    """Check that every path, and each part of the scope, has enough signers who may sign it."""
    for path in manifest.files:
        able = [signer.identity for signer in signers if matches(signer.paths, path)]
        if len(able) < policy.threshold:
            entitled = [signer.identity for signer in policy.signers if matches(signer.paths, path)]
            raise _too_few(shown(path), able, policy.threshold, entitled)
    # Leaving a file out is a statement too: without this, a signer of docs/ could sign a list that silently
    # drops everything else.
    for part in manifest.scope:
        if part in manifest.files:
            continue
        able = [signer.identity for signer in signers if matches_all_below(signer.paths, part)]
        if len(able) < policy.threshold:
            everybody = [signer.identity for signer in policy.signers]
            raise _too_few(f"the extent {shown(part)}", able, policy.threshold, everybody)


def _too_few(what: str, able: Sequence[str], needed: int, entitled: Sequence[str]) -> ManifestError:
    return ManifestError(
        f"too few signers for {what}",
        got=f"{len(able)}" + (f" ({', '.join(map(shown, able))})" if able else ""),
        expected=f"{needed} of {_one_of(entitled)}",
        hint="let another signer add a signature with: codeguard trust sign",
    )


def _check_times(manifest: Manifest, policy: SigningPolicy, now: datetime) -> None:
    if manifest.created > now + CLOCK_SKEW:
        raise ManifestError(
            "manifest comes from the future",
            got=f"created {manifest.created.isoformat()}",
            expected=f"before {now.isoformat(timespec='seconds')}",
            hint="check the clocks of this machine and the signer's",
        )
    if manifest.expires is None:
        if policy.require_expiry:
            raise ManifestError(
                "manifest never expires", got="no expiry", expected="an expiry (require_expiry)"
            )
    elif now >= manifest.expires:
        raise ManifestError(
            "manifest has expired",
            got=f"expiry {manifest.expires.isoformat()}",
            expected=f"after {now.isoformat(timespec='seconds')}",
            hint="sign a new one with: codeguard trust update",
        )


def _one_of(identities: Iterable[str], most: int = 8) -> str:
    names = [shown(identity, 80) for identity in identities]
    if not names:
        return "a signer, but the policy names none"
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def open_signed(tree: Path, policy: SigningPolicy, *, renewing: bool = False) -> VerifiedManifest:
    """Return the verified manifest of the tree in a folder, by the user's record of versions and the current time.

    It is in `codeguard.manifest.json`. The other arguments are those of `verify_envelope`. The files of the tree are
    not checked: see `check_tree`.

    Raises ManifestError if it is missing or refused, ConfigError where a key lies in the tree.
    """
    now, keys = datetime.now(UTC), load_keys(policy, tree=tree)
    envelope = read_limited(tree / MANIFEST_NAME)
    return verify_envelope(envelope, keys, policy, state=VersionsSeen(), now=now, renewing=renewing)


def refuse_unsigned(place: Path) -> None:
    """Raise ManifestError if a file is a manifest without signatures, as `trust build` writes it."""
    try:
        manifest_from_json(read_limited(place))
    except ManifestError:  # a signed one, or none: for others to judge
        return
    name = escaped(shlex.quote(str(place)))
    raise ManifestError(
        f"{escaped(str(place))} is not signed",
        got="no signature",
        expected="a signed manifest",
        hint=f"sign it, so that the signature counts, with: codeguard trust sign {name} --key KEY --count-as IDENTITY "
        f"(docs/provenance.md); or trust the folder unsigned after: rm {name}",
    )


def choose_policy(known: Mapping[str, SigningPolicy], tree: Path, label: str | None = None) -> SigningPolicy:
    """Return the user's policy for a tree.

    By its label; else the one whose `trees` name the folder; else the only
    one there is. The manifest does not decide this: it could name another team's policy. Raises ConfigError
    if the choice is ambiguous.
    """
    if label is not None and label in known:
        return known[label]
    if label is None:
        named = [policy for policy in known.values() if tree.resolve() in policy.trees]
        chosen = named or list(known.values())
        if len(chosen) == 1:
            return chosen[0]
    nothing = "nothing says whose signature counts: codeguard trust sign --count-as writes that (docs/provenance.md); "
    raise ConfigError(
        "no signing policy for this tree",
        got=f"the label {shown(label)}" if label is not None else f"{len(known)} policies and no label",
        expected=" or ".join(shown(name) for name in known) or "a [signing] table in the configuration",
        hint=None if known else f"{nothing}or trust the folder unsigned by removing its manifest",
    )


def user_policy(settings: Settings, tree: Path, label: str | None = None) -> SigningPolicy:
    """Return the policy of the user's configuration for a tree; see `choose_policy`.

    Raises ManifestError where there is none and the manifest is not signed, ConfigError where there is none, or the
    configuration lies in the tree.
    """
    refuse_inside(settings.config_file, tree, "configuration")
    try:
        return choose_policy(policies(settings), tree, label)
    except ConfigError:
        refuse_unsigned(tree / MANIFEST_NAME)
        raise
