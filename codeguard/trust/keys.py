"""Public keys that the user trusts and private keys that sign, both PEM files outside the tree.

The cryptography comes from securesystemslib and is imported only when a key is used: unsigned manifests work
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from codeguard.errors import CodeguardError, ConfigError, ManifestError
from codeguard.extras import installation, requirement
from codeguard.trust.escape import shown
from codeguard.trust.local import read_limited
from codeguard.trust.policy import SignerPolicy, SigningPolicy

if TYPE_CHECKING:
    from codeguard.trust.crypto import CryptoSigner, SSlibKey

_MAX_KEY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key and its owner; `keyid` is securesystemslib's, a sha256 over the key itself."""

    keyid: str
    identity: str
    key: SSlibKey


class KeyRing:
    """The public keys of a policy by key id."""

    def __init__(self, keys: Iterable[TrustedKey] = ()) -> None:
        found: dict[str, TrustedKey] = {}
        for key in keys:
            other = found.setdefault(key.keyid, key)
            if other.identity != key.identity:
                # One key under two names would count twice towards a threshold.
                raise ConfigError(
                    f"key {key.keyid} belongs to two signers",
                    got=f"{shown(other.identity)} and {shown(key.identity)}",
                    expected="a key of its own for each signer",
                )
        self._keys: Mapping[str, TrustedKey] = MappingProxyType(found)

    @classmethod
    def load(cls, policy: SigningPolicy, *, tree: Path | None = None) -> KeyRing:
        """Read the key files of every signer of a policy.

        `tree` is the tree that is to be verified: a key file inside it, or
        one reached through a link into it, is refused, because anyone who writes the tree could have put it
        there.

        Raises ConfigError for such files, for unreadable ones, and for anything that is not a public key of
        an accepted kind.
        """
        return cls(
            TrustedKey(key.keyid, signer.identity, key)
            for signer in policy.signers
            for path in signer.keys
            for key in [load_public_key(path, tree=tree)]
        )

    def get(self, keyid: str) -> TrustedKey | None:
        """Return the key with this id, or None."""
        return self._keys.get(keyid)

    def __iter__(self) -> Iterator[TrustedKey]:
        return iter(self._keys.values())

    def __len__(self) -> int:
        return len(self._keys)


def policy_of_keys(root: str, files: Iterable[Path], threshold: int = 1) -> SigningPolicy:
    """Return the policy for key files given on the command line: each is its own signer, for every path."""
    return SigningPolicy(
        root=root,
        signers=tuple(SignerPolicy(identity=f"key {path}", keys=(path,)) for path in files),
        threshold=threshold,
    )


def refuse_inside(path: Path, tree: Path, what: str) -> None:
    """Raise ConfigError if `path` is inside `tree`, also through links."""
    inside, place = tree.resolve(), path.resolve()
    lexical = Path(path.absolute())
    if inside in (place, *place.parents) or tree.absolute() in (lexical, *lexical.parents):
        raise ConfigError(
            f"{what} lies inside the tree that it is to judge",
            got=shown(str(path)),
            expected=f"a file outside {shown(str(tree))}",
            hint="keep it in your own configuration folder",
        )


def load_public_key(path: Path, *, tree: Path | None = None) -> SSlibKey:
    """Return the public key of a PEM file (`openssl pkey -pubout` writes one)."""
    if tree is not None:
        refuse_inside(path, tree, "key")
    data = _read_key(path)
    if b"PRIVATE KEY-----" in data:
        raise ConfigError(
            f"{shown(str(path))} holds a private key",
            got="a private key",
            expected="the public key",
            hint=f"write it with: openssl pkey -in {shown(path.name)} -pubout, and keep the private key to yourself",
        )
    crypto = cryptography()
    try:
        key: SSlibKey = crypto.public_key(data)
    except Exception as error:
        raise _unusable(path, error, "a public key in PEM") from None
    return _accepted(key, path)


def load_signer(path: Path, passphrase: Callable[[], bytes] | None = None) -> CryptoSigner:
    """Return the signer of a private key in PEM (PKCS#8 or SEC1, encrypted or not).

    `passphrase` is called only if the file is encrypted.
    """
    data = _read_key(path)
    crypto = cryptography()
    try:
        signer: CryptoSigner = crypto.signer(data, passphrase)
    except Exception as error:
        raise _unusable(path, error, "a private key in PEM and its passphrase") from None
    _accepted(signer.public_key, path)
    return signer


def cryptography() -> ModuleType:
    """Return `codeguard.trust.crypto`; raise CodeguardError if its libraries are not installed."""
    try:
        from codeguard.trust import crypto
    except ImportError:
        raise CodeguardError(
            "signatures need securesystemslib and cryptography, which are not installed",
            hint=f"install them with: {installation(requirement())}",
        ) from None
    return crypto


def _read_key(path: Path) -> bytes:
    try:
        return read_limited(path, _MAX_KEY_BYTES)
    except ManifestError as error:
        raise ConfigError(f"key: {error.what}", got=error.got, expected=error.expected) from None


def _accepted(key: SSlibKey, path: Path) -> SSlibKey:
    if key.keytype not in ("ed25519", "ecdsa"):
        raise ConfigError(
            f"{shown(str(path))} is of a kind not accepted",
            got=key.keytype,
            expected="an ed25519 or ECDSA key (P-256, P-384, P-521)",
        )
    return key


def _unusable(path: Path, error: Exception, expected: str) -> ConfigError:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return ConfigError(f"cannot use the key {shown(str(path))}", got=shown(reason), expected=expected)
