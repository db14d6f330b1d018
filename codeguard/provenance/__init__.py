"""Manifests of trusted code: build, sign, verify, and ask them for trust."""

from codeguard.provenance.dsse import Envelope, read_envelope, sign_payload
from codeguard.provenance.keys import KeyRing, load_signer, policy_of_keys
from codeguard.provenance.local import load_unsigned, save_unsigned
from codeguard.provenance.manifest import FileEntry, Manifest, SignerRule, build_manifest
from codeguard.provenance.paths import unlistable
from codeguard.provenance.policy import PathRule, SignerPolicy, SigningPolicy
from codeguard.provenance.seen import VersionsSeen
from codeguard.provenance.statement import manifest_from_json, manifest_to_json
from codeguard.provenance.tree import Change, Difference, check_tree
from codeguard.provenance.verified import VerifiedManifest, verify_unsigned
from codeguard.provenance.verify import verify_envelope

__all__ = [
    "Change",
    "Difference",
    "Envelope",
    "FileEntry",
    "KeyRing",
    "Manifest",
    "PathRule",
    "SignerPolicy",
    "SignerRule",
    "SigningPolicy",
    "VerifiedManifest",
    "VersionsSeen",
    "build_manifest",
    "check_tree",
    "load_signer",
    "load_unsigned",
    "manifest_from_json",
    "manifest_to_json",
    "policy_of_keys",
    "read_envelope",
    "save_unsigned",
    "sign_payload",
    "unlistable",
    "verify_envelope",
    "verify_unsigned",
]
