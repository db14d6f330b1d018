"""Verification: from an untrusted envelope to a manifest that counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from codeguard.errors import ManifestError
from codeguard.trust.dsse import holding_keys, read_envelope
from codeguard.trust.escape import shown
from codeguard.trust.keys import KeyRing
from codeguard.trust.manifest import Manifest
from codeguard.trust.patterns import matches, matches_all_below
from codeguard.trust.policy import SignerPolicy, SigningPolicy
from codeguard.trust.seen import VersionsSeen
from codeguard.trust.statement import manifest_from_json
from codeguard.trust.verified import VerifiedManifest, _admit

# How far the clocks of two honest machines may differ.
CLOCK_SKEW = timedelta(minutes=5)
SIGN = "let another signer add a signature with: codeguard trust sign"


@dataclass(frozen=True, slots=True)
class KeylessProof:
    """The result of `codeguard.trust.keyless`: this identity signed this payload."""

    identity: str
    payload: bytes


def verify_envelope(
    envelope: bytes,
    keys: KeyRing,
    policy: SigningPolicy,
    *,
    state: VersionsSeen,
    now: datetime,
    keyless: Sequence[KeylessProof] = (),
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
    identities.update(proof.identity for proof in keyless if proof.payload == opened.payload)
    if not identities and not refused:
        refused.append(f"{len(opened.signatures)} by no key of the policy over this payload")
    return _verify(opened.payload, identities, refused, policy, state, now, renewing=renewing)


def verify_keyless(
    proofs: Sequence[KeylessProof], policy: SigningPolicy, *, state: VersionsSeen, now: datetime
) -> VerifiedManifest:
    """Return a manifest signed only by keyless signers, checked as in `verify_envelope`."""
    payloads = {proof.payload for proof in proofs}
    if len(payloads) != 1:
        raise ManifestError("bundles carry several manifests", got=len(payloads), expected=1)
    return _verify(payloads.pop(), {proof.identity for proof in proofs}, [], policy, state, now)


def _verify(
    payload: bytes,
    identities: Set[str],
    refused: list[str],
    policy: SigningPolicy,
    state: VersionsSeen,
    now: datetime,
    *,
    renewing: bool = False,
) -> VerifiedManifest:
    """Do the remaining checks once it is known whose signatures are valid."""
    signers = _counting(identities, refused, policy, now)
    manifest = manifest_from_json(payload)
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
    digest = hashlib.sha256(payload).hexdigest()
    state.check(manifest, digest)
    state.record(manifest, digest)
    return _admit(manifest, tuple(signer.identity for signer in signers), unsigned=False)


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
    own = {rule.identity: rule.paths for rule in manifest.signers}
    for path in manifest.files:
        entitled = [s.identity for s in signers if matches(s.paths, path)]
        able = [name for name in entitled if not own or matches(own.get(name, ()), path)]
        if len(able) < policy.threshold_of(path):
            hint = _own_rule(own, path) if len(entitled) > len(able) else SIGN
            _too_few(shown(path), able, policy.threshold_of(path), policy, path, hint)
    # Leaving a file out is a statement too: without this, a signer of docs/ could sign a list that silently
    # drops everything else.
    for part in manifest.scope:
        if part in manifest.files:
            continue
        able = [s.identity for s in signers if matches_all_below(s.paths, part)]
        if len(able) < policy.threshold_below(part):
            _too_few(f"the extent {shown(part)}", able, policy.threshold_below(part), policy, None)


def _own_rule(own: Mapping[str, Sequence[str]], path: str) -> str:
    """Return what to do where the manifest's own rule leaves out signers that the policy takes."""
    named = [shown(name) for name, patterns in own.items() if matches(patterns, path)]
    return (
        f"its own rule lets {', '.join(named) or 'nobody'} sign it, by names that have to be the policy's: build it "
        "again with other --signer"
    )


def _too_few(
    what: str,
    able: Sequence[str],
    threshold: int,
    policy: SigningPolicy,
    path: str | None,
    hint: str = SIGN,
) -> None:
    entitled = [s.identity for s in policy.signers if path is None or matches(s.paths, path)]
    raise ManifestError(
        f"too few signers for {what}",
        got=f"{len(able)}" + (f" ({', '.join(shown(identity) for identity in able)})" if able else ""),
        expected=f"{threshold} of {_one_of(entitled)}",
        hint=hint,
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
    if policy.max_age_days is not None and now - manifest.created > timedelta(days=policy.max_age_days):
        raise ManifestError(
            "manifest is too old",
            got=f"created {manifest.created.isoformat()}",
            expected=f"within {policy.max_age_days} days",
            hint="sign a new one with: codeguard trust update",
        )


def _one_of(identities: Iterable[str], most: int = 8) -> str:
    names = [shown(identity, 80) for identity in identities]
    if not names:
        return "a signer, but the policy names none"
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
