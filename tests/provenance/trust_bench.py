"""Helpers of the provenance tests: a small tree, keys made by openssl, a policy in a user's folder."""

import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codeguard.models import text_digest
from codeguard.trust.manifest import Manifest, build_manifest, manifest_to_json
from codeguard.trust.policy import SignerPolicy, SigningPolicy
from codeguard.trust.signatures import load_keys, load_signer, sign_payload
from codeguard.trust.verified import VerifiedManifest, check_tree
from codeguard.trust.verify import VersionsSeen, verify_envelope

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LABEL = "acme/pay"
FILES = {
    "src/maths.py": ["import math\n", "def add(a, b):\n    return a + b\n"],
    "src/crypto/hash.py": ["def same(a, b):\n    return a == b\n"],
    "docs/usage.md": ["# Usage\n"],
}
KEY_KINDS = {
    "ed25519": ["-algorithm", "ed25519"],
    "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "p521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}


def openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_key(folder: Path, name: str, kind: str = "ed25519") -> Path:
    """Write `name`.key and `name`.pem with openssl; return the private one."""
    folder.mkdir(parents=True, exist_ok=True)
    private = folder / f"{name}.key"
    openssl("genpkey", *KEY_KINDS[kind], "-out", private)
    openssl("pkey", "-in", private, "-pubout", "-out", private.with_suffix(".pem"))
    return private


def policy_of(label: str, files: list[Path]) -> SigningPolicy:
    """Return the policy of key files, each of a signer for every path."""
    return SigningPolicy(label, tuple(SignerPolicy(f"key {path}", keys=(path,)) for path in files))


@dataclass
class Bench:
    """A tree beside the user's folders, and the steps from one to the other."""

    base: Path
    keys: dict[str, Path]
    policy: SigningPolicy = field(init=False)

    def __post_init__(self) -> None:
        self.policy = self.policy_for("alice")
        for name, chunks in FILES.items():
            place = self.tree / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes("".join(chunks).encode())

    @property
    def tree(self) -> Path:
        return self.base / "tree"

    @property
    def state(self) -> VersionsSeen:
        return VersionsSeen(self.base / "state")

    def signer_of(self, name: str, **changes: object) -> SignerPolicy:
        return SignerPolicy(**{"identity": name, "keys": (self.keys[name].with_suffix(".pem"),), **changes})

    def policy_for(self, *names: str, **changes: object) -> SigningPolicy:
        return SigningPolicy(
            **{"root": LABEL, "signers": tuple(self.signer_of(name) for name in names), **changes}
        )

    def manifest(self, **changes: object) -> Manifest:
        files = [
            (name, "".join(chunks).encode(), [text_digest(chunk) for chunk in chunks])
            for name, chunks in FILES.items()
        ]
        defaults = {
            "label": LABEL,
            "version": 5,
            "created": NOW - timedelta(days=1),
            "expires": NOW + timedelta(days=30),
            "chunker": "python/1",
        }
        return build_manifest(self.tree, files, **{**defaults, **changes})

    def sign(self, manifest: Manifest | bytes, *names: str) -> bytes:
        payload = manifest if isinstance(manifest, bytes) else manifest_to_json(manifest)
        envelope = None
        for name in names or ("alice",):
            envelope = sign_payload(payload, load_signer(self.keys[name]), envelope)
        assert envelope is not None
        return envelope.to_json()

    def verify(self, envelope: bytes, policy: SigningPolicy | None = None, **changes) -> VerifiedManifest:
        policy = policy or self.policy
        keys = load_keys(policy, tree=self.tree)
        return verify_envelope(envelope, keys, policy, **{"state": self.state, "now": NOW, **changes})

    def present(self) -> list[str]:
        return [
            path.relative_to(self.tree).as_posix()
            for path in self.tree.rglob("*")
            if path.is_file() or path.is_symlink()
        ]

    def refuse_tree(self, envelope: bytes, **changes) -> None:
        """Verify the envelope and the tree; raise the first difference."""
        for difference in check_tree(self.verify(envelope, **changes), self.tree, self.present()):
            raise difference
