"""Manifests of trusted code: build, sign, verify, and ask them for trust."""

from codeguard.provenance.local import load_unsigned, save_unsigned
from codeguard.provenance.manifest import FileEntry, Manifest, SignerRule, build_manifest
from codeguard.provenance.paths import unlistable
from codeguard.provenance.statement import manifest_from_json, manifest_to_json
from codeguard.provenance.verified import VerifiedManifest, verify_unsigned

__all__ = [
    "FileEntry",
    "Manifest",
    "SignerRule",
    "VerifiedManifest",
    "build_manifest",
    "load_unsigned",
    "manifest_from_json",
    "manifest_to_json",
    "save_unsigned",
    "unlistable",
    "verify_unsigned",
]
