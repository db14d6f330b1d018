"""Manifests of trusted code, acceptances, and the state and secrets of this installation.

Trees, keys and signatures come in, a `VerifiedManifest` goes out; only `verify_envelope` and
`verify_unsigned` create one. Signing and verification code, including cryptography, git and sigstore, is
imported on first use, because most audits involve no signature. May import `config` and `corpus`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.lazy_imports import attributes

if TYPE_CHECKING:
    from codeguard.trust.compose import combined_manifest, narrowed, rechunked, within
    from codeguard.trust.dsse import Envelope, read_envelope, sign_payload
    from codeguard.trust.keys import KeyRing, load_signer, policy_of_keys, refuse_inside
    from codeguard.trust.local import load_unsigned, read_limited, sealed, write_atomically
    from codeguard.trust.manifest import FileEntry, Manifest, SignerRule, build_manifest
    from codeguard.trust.opening import choose_policy, open_signed, refuse_unsigned
    from codeguard.trust.paths import unlistable
    from codeguard.trust.policy import PathRule, SignerPolicy, SigningPolicy, policies_from_toml
    from codeguard.trust.seen import VersionsSeen
    from codeguard.trust.statement import manifest_from_json, manifest_to_json
    from codeguard.trust.tree import (
        BUNDLE_NAME,
        MANIFEST_NAME,
        FileChange,
        TreeDifference,
        check_tree,
        edits,
        read_inside,
    )
    from codeguard.trust.verified import VerifiedManifest, verify_unsigned
    from codeguard.trust.verify import verify_envelope, verify_keyless

__all__ = [
    "BUNDLE_NAME",
    "MANIFEST_NAME",
    "Envelope",
    "FileChange",
    "FileEntry",
    "KeyRing",
    "Manifest",
    "PathRule",
    "SignerPolicy",
    "SignerRule",
    "SigningPolicy",
    "TreeDifference",
    "VerifiedManifest",
    "VersionsSeen",
    "build_manifest",
    "check_tree",
    "choose_policy",
    "combined_manifest",
    "edits",
    "load_signer",
    "load_unsigned",
    "manifest_from_json",
    "manifest_to_json",
    "narrowed",
    "open_signed",
    "policies_from_toml",
    "policy_of_keys",
    "read_envelope",
    "read_inside",
    "read_limited",
    "rechunked",
    "refuse_inside",
    "refuse_unsigned",
    "sealed",
    "sign_payload",
    "unlistable",
    "verify_envelope",
    "verify_keyless",
    "verify_unsigned",
    "within",
    "write_atomically",
]

_NAMES = {
    "compose": "combined narrowed rechunked within",
    "dsse": "Envelope read_envelope sign_payload",
    "keys": "KeyRing load_signer policy_of_keys refuse_inside",
    "local": "load_unsigned read_limited sealed write_atomically",
    "manifest": "FileEntry Manifest SignerRule build_manifest",
    "opening": "choose_policy open_signed refuse_unsigned",
    "paths": "unlistable",
    "policy": "PathRule SignerPolicy SigningPolicy policies_from_toml",
    "seen": "VersionsSeen",
    "statement": "manifest_from_json manifest_to_json",
    "tree": "BUNDLE_NAME MANIFEST_NAME Change Difference check_tree edits read_inside",
    "verified": "VerifiedManifest verify_unsigned",
    "verify": "verify_envelope verify_keyless",
}  # names by module
__getattr__ = attributes(
    __name__, {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}
)
