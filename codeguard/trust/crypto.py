"""Code that needs securesystemslib and cryptography; imported only when a key or signature is used."""

from __future__ import annotations

from collections.abc import Callable

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey  # type: ignore[attr-defined]

__all__ = [
    "CryptoSigner",
    "SSlibKey",
    "encoded",
    "public_key",
    "public_pem",
    "signature_holds",
    "signed",
    "signer",
]


def public_key(pem: bytes) -> SSlibKey:
    """Return the key of a PEM text; raise ValueError or similar if there is none."""
    return SSlibKey.from_crypto(load_pem_public_key(pem))


def signer(pem: bytes, passphrase: Callable[[], bytes] | None) -> CryptoSigner:
    """Return the signer of a private key in PEM; raise ValueError or similar if there is none."""
    try:
        private = load_pem_private_key(pem, password=None)
    except TypeError:  # raised by cryptography if the key is encrypted and no password is given
        if passphrase is None:
            raise ValueError("the key is encrypted and no passphrase was given") from None
        private = load_pem_private_key(pem, password=passphrase())
    return CryptoSigner(private)


def public_pem(of: CryptoSigner) -> bytes:
    """Return the public half of a signer's key in PEM, as `openssl pkey -pubout` writes it."""
    return of._private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def encoded(payload: bytes, payload_type: str) -> bytes:
    """Return the bytes that DSSE signs (pre-authentication encoding)."""
    return Envelope(payload, payload_type, {}).pae()


def signed(payload: bytes, payload_type: str, with_signer: CryptoSigner) -> bytes:
    """Return the signature of a DSSE payload."""
    return bytes.fromhex(Envelope(payload, payload_type, {}).sign(with_signer).signature)


def signature_holds(key: SSlibKey, signature: bytes, message: bytes) -> bool:
    """Return whether `signature` is the key's over `message`."""
    try:
        key.verify_signature(Signature(key.keyid, signature.hex()), message)
    except UnverifiedSignatureError:  # includes VerificationError, raised for malformed input
        return False
    return True
