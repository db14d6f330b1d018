"""Signatures: DSSE envelopes, the public keys that the user trusts, the private keys that sign; all PEM files.

Source: https://github.com/secure-systems-lab/dsse, envelope.md and protocol.md. The signatures themselves are
securesystemslib's work. Imported only where a key or a signature is used.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import securesystemslib.dsse
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey  # type: ignore[attr-defined]

from codeguard.errors import ConfigError, ManifestError
from codeguard.escaping import shown
from codeguard.trust.manifest import PAYLOAD_TYPE
from codeguard.trust.policy import SigningPolicy
from codeguard.trust.state_files import read_limited
from codeguard.trust.strict_json import items, members, parse_json, text

MAX_SIGNATURES = 64
_MAX_SIGNATURE = 1024  # characters of base64; an ECDSA P-521 signature needs 188
_MAX_KEY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class EnvelopeSignature:
    """One signature; `keyid` is an unverified hint."""

    keyid: str
    sig: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload, as bytes, and signatures that are not verified yet."""

    payload: bytes
    signatures: tuple[EnvelopeSignature, ...]

    def to_json(self) -> bytes:
        """Return the envelope in JSON."""
        signatures = [
            {"keyid": item.keyid, "sig": base64.b64encode(item.sig).decode("ascii")}
            for item in self.signatures
        ]
        payload = base64.b64encode(self.payload).decode("ascii")
        value = {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": signatures}
        return (json.dumps(value, indent=1) + "\n").encode("ascii")


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key and its owner; `keyid` is securesystemslib's, a sha256 over the key itself."""

    keyid: str
    identity: str
    key: SSlibKey


def read_envelope(data: bytes) -> Envelope:
    """Return the envelope of a JSON text; the payload is decoded, not interpreted.

    Unknown members are ignored, as the specification requires; they are not signed and never read. Raises
    ManifestError for anything else that is not an envelope around an in-toto statement.
    """
    value = parse_json(data, "envelope")
    if isinstance(value, dict) and "_type" in value and "payloadType" not in value:
        raise _not_signed("a statement without an envelope")
    signature = {"keyid": text(256), "sig": _base64(_MAX_SIGNATURE)}
    forms = {
        "payloadType": text(),
        "payload": _base64(len(data)),
        "signatures": items(members(signature, optional=("keyid",), others=True), MAX_SIGNATURES),
    }
    found = members(forms, others=True)(value, "the envelope")
    if found["payloadType"] != PAYLOAD_TYPE:
        raise ManifestError(
            "envelope carries another kind of payload", got=shown(found["payloadType"]), expected=PAYLOAD_TYPE
        )
    if not found["signatures"]:
        raise _not_signed("an envelope without signatures")
    signatures = (EnvelopeSignature(item.get("keyid", ""), item["sig"]) for item in found["signatures"])
    return Envelope(found["payload"], tuple(signatures))


def sign_payload(payload: bytes, signer: CryptoSigner, earlier: Envelope | None = None) -> Envelope:
    """Return an envelope with the signer's signature added to those of `earlier`.

    A signature of the same key is replaced. Raises ManifestError if `earlier` has another payload: its
    signatures would be invalid.
    """
    if earlier is not None and earlier.payload != payload:
        raise ManifestError(
            "the envelope carries another manifest",
            got="another payload",
            expected="the payload to sign",
            hint="sign the envelope that the others signed",
        )
    keyid = signer.public_key.keyid
    signed = securesystemslib.dsse.Envelope(payload, PAYLOAD_TYPE, {}).sign(signer)
    others = tuple(item for item in earlier.signatures if item.keyid != keyid) if earlier else ()
    return Envelope(payload, (*others, EnvelopeSignature(keyid, bytes.fromhex(signed.signature))))


def holding_keys(envelope: Envelope, keys: Mapping[str, TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return the trusted keys, given by id, with a valid signature over the payload, each once.

    A key id is only a hint (DSSE, protocol.md): where it names no trusted
    key, every key is tried, and what counts is which key really verifies.
    """
    message = encoded(envelope.payload)
    found: dict[str, TrustedKey] = {}
    for signature in envelope.signatures:
        named = keys.get(signature.keyid)
        for key in [named] if named else keys.values():
            if key.keyid not in found and _holds(key.key, signature.sig, message):
                found[key.keyid] = key
                break
    return tuple(found.values())


def encoded(payload: bytes) -> bytes:
    """Return the bytes that DSSE signs (pre-authentication encoding)."""
    return securesystemslib.dsse.Envelope(payload, PAYLOAD_TYPE, {}).pae()


def load_keys(policy: SigningPolicy, *, tree: Path | None = None) -> dict[str, TrustedKey]:
    """Return the public keys of every signer of a policy by key id.

    `tree` is the tree that is to be verified: a key file inside it, or
    one reached through a link into it, is refused, because anyone who writes the tree could have put it
    there.

    Raises ConfigError for such files, for unreadable ones, and for anything that is not a public key of
    an accepted kind.
    """
    found: dict[str, TrustedKey] = {}
    for identity, path in ((signer.identity, path) for signer in policy.signers for path in signer.keys):
        key = _public_key(path, tree)
        other = found.setdefault(key.keyid, TrustedKey(key.keyid, identity, key))
        if other.identity != identity:
            # One key under two names would count twice towards a threshold.
            raise ConfigError(
                f"key {key.keyid} belongs to two signers",
                got=f"{shown(other.identity)} and {shown(identity)}",
                expected="a key of its own for each signer",
            )
    return found


def load_signer(path: Path, passphrase: Callable[[], bytes] | None = None) -> CryptoSigner:
    """Return the signer of a private key in PEM (PKCS#8 or SEC1, encrypted or not).

    `passphrase` is called only if the file is encrypted.
    """
    data = _read_key(path)
    try:
        try:
            private = load_pem_private_key(data, password=None)
        except TypeError:  # raised by cryptography if the key is encrypted and no password is given
            if passphrase is None:
                raise ValueError("the key is encrypted and no passphrase was given") from None
            private = load_pem_private_key(data, password=passphrase())
        signer = CryptoSigner(private)
    except Exception as error:
        raise _unusable(path, error, "a private key in PEM and its passphrase") from None
    _accepted(signer.public_key, path)
    return signer


def public_pem(of: CryptoSigner) -> bytes:
    """Return the public half of a signer's key in PEM, as `openssl pkey -pubout` writes it."""
    return of._private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


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


def _public_key(path: Path, tree: Path | None) -> SSlibKey:
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
    try:
        key = SSlibKey.from_crypto(load_pem_public_key(data))
    except Exception as error:
        raise _unusable(path, error, "a public key in PEM") from None
    _accepted(key, path)
    return key


def _read_key(path: Path) -> bytes:
    try:
        return read_limited(path, _MAX_KEY_BYTES)
    except ManifestError as error:
        raise ConfigError(f"key: {error.what}", got=error.got, expected=error.expected) from None


def _accepted(key: SSlibKey, path: Path) -> None:
    if key.keytype not in ("ed25519", "ecdsa"):
        raise ConfigError(
            f"{shown(str(path))} is of a kind not accepted",
            got=key.keytype,
            expected="an ed25519 or ECDSA key (P-256, P-384, P-521)",
        )


def _unusable(path: Path, error: Exception, expected: str) -> ConfigError:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return ConfigError(f"cannot use the key {shown(str(path))}", got=shown(reason), expected=expected)


def _holds(key: SSlibKey, signature: bytes, message: bytes) -> bool:
    try:
        key.verify_signature(Signature(key.keyid, signature.hex()), message)
    except UnverifiedSignatureError:  # includes VerificationError, raised for malformed input
        return False
    return True


def _not_signed(got: str) -> ManifestError:
    return ManifestError(
        "manifest is not signed",
        got=got,
        expected="a DSSE envelope with a signature",
        hint="sign it with: codeguard trust sign",
    )


def _base64(longest: int) -> Callable[[object, str], bytes]:
    """Return the form of standard or URL-safe base64, both of which DSSE allows."""

    def read(value: object, where: str) -> bytes:
        written = text(longest)(value, where)
        try:
            raw = written.encode("ascii")
            if b"-" in raw or b"_" in raw:
                return base64.b64decode(raw, altchars=b"-_", validate=True)
            return base64.b64decode(raw, validate=True)
        except (UnicodeEncodeError, binascii.Error, ValueError):
            raise ManifestError(f"{where} is not base64", got=shown(written, 40), expected="base64") from None

    return read
