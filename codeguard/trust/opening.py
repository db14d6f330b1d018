"""From a folder and a policy to a verified manifest: the entry points for commands and the guard."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from codeguard.errors import ConfigError, ManifestError
from codeguard.escaping import escaped
from codeguard.trust.escape import shown
from codeguard.trust.keys import KeyRing, refuse_inside
from codeguard.trust.local import read_limited
from codeguard.trust.policy import SigningPolicy
from codeguard.trust.seen import VersionsSeen
from codeguard.trust.statement import manifest_from_json
from codeguard.trust.tree import MANIFEST_NAME
from codeguard.trust.verified import VerifiedManifest
from codeguard.trust.verify import KeylessProof, verify_envelope, verify_keyless


def open_signed(
    tree: Path,
    policy: SigningPolicy,
    *,
    state: VersionsSeen,
    now: datetime,
    manifest: Path | None = None,
    bundles: Sequence[Path] = (),
    trusted_root: Path | None = None,
    renewing: bool = False,
) -> VerifiedManifest:
    """Return the verified manifest of the tree in a folder.

    `manifest` is `codeguard.manifest.json` in the folder by default.
    `bundles` are sigstore bundles of keyless signers and `trusted_root` their
    trust anchors; without a manifest file the bundles are used alone. For the other arguments see
    `verify_envelope`. The files of the tree are not checked: see `check_tree`.

    Raises ManifestError if it is missing or refused, ConfigError where a
    key or the trust anchors lie in the tree.
    """
    keys = KeyRing.load(policy, tree=tree)
    place = manifest or tree / MANIFEST_NAME
    proofs: list[KeylessProof] = []
    if trusted_root is not None:
        refuse_inside(trusted_root, tree, "trusted root")
    if bundles:
        from codeguard.trust.keyless import keyless_proofs

        for bundle in bundles:
            proofs.extend(keyless_proofs(read_limited(bundle), policy, trusted_root))
    if proofs and not place.exists():
        return verify_keyless(proofs, policy, state=state, now=now)
    return verify_envelope(
        read_limited(place), keys, policy, state=state, now=now, keyless=proofs, renewing=renewing
    )


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
        hint=f"sign it with: codeguard trust sign {name} --key KEY, and say in the configuration whose "
        f"signature counts (docs/provenance.md); or trust the folder unsigned after: rm {name}",
    )


def choose_policy(
    policies: Mapping[str, SigningPolicy], tree: Path, label: str | None = None
) -> SigningPolicy:
    """Return the user's policy for a tree.

    By its label; else the one whose `trees` name the folder; else the only
    one there is. The manifest does not decide this: it could name another team's policy. Raises ConfigError
    if the choice is ambiguous.
    """
    if label is not None and label in policies:
        return policies[label]
    if label is None:
        named = [policy for policy in policies.values() if tree.resolve() in policy.trees]
        chosen = named or list(policies.values())
        if len(chosen) == 1:
            return chosen[0]
    raise ConfigError(
        "no signing policy for this tree",
        got=f"the label {shown(label)}" if label is not None else f"{len(policies)} policies and no label",
        expected=" or ".join(shown(name) for name in policies) or "a [signing] table in the configuration",
        hint=None if policies else "it names the keys whose signatures count (docs/provenance.md)",
    )
