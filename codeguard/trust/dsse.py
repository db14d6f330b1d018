"""DSSE envelopes: parse strictly, sign, and find valid signatures.

Source: https://github.com/secure-systems-lab/dsse, envelope.md and protocol.md.
The signatures themselves are securesystemslib's work.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown
from codeguard.trust.keys import KeyRing, TrustedKey, cryptography
from codeguard.trust.statement import PAYLOAD_TYPE
from codeguard.trust.strict_json import ObjectReader, parse_json

if TYPE_CHECKING:
    from codeguard.trust.crypto import CryptoSigner

MAX_SIGNATURES = 64
_MAX_SIGNATURE = 1024  # characters of base64; an ECDSA P-521 signature needs 188


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
        value = {
            "payload": base64.b64encode(self.payload).decode("ascii"),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {"keyid": item.keyid, "sig": base64.b64encode(item.sig).decode("ascii")}
                for item in self.signatures
            ],
        }
        return (json.dumps(value, indent=1) + "\n").encode("ascii")


def read_envelope(data: bytes) -> Envelope:
    """Return the envelope of a JSON text; the payload is decoded, not interpreted.

    Unknown members are ignored, as the specification requires; they are not signed and never read. Raises
    ManifestError for anything else that is not an envelope around an in-toto statement.
    """
    reader = ObjectReader(parse_json(data, "envelope"), "the envelope")
    if "_type" in reader and "payloadType" not in reader:
        raise _not_signed("a statement without an envelope")
    payload_type = reader.text("payloadType")
    if payload_type != PAYLOAD_TYPE:
        raise ManifestError(
            "envelope carries another kind of payload", got=shown(payload_type), expected=PAYLOAD_TYPE
        )
    payload = _base64(reader.text("payload", max_length=len(data)), "payload of the envelope")
    signatures = tuple(
        EnvelopeSignature(
            keyid=item.text("keyid", max_length=256) if "keyid" in item else "",
            sig=_base64(item.text("sig", max_length=_MAX_SIGNATURE), f"sig of {item.where}"),
        )
        for item in reader.objects("signatures", most=MAX_SIGNATURES)
    )
    if not signatures:
        raise _not_signed("an envelope without signatures")
    return Envelope(payload, signatures)


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
    added = EnvelopeSignature(keyid, cryptography().signed(payload, PAYLOAD_TYPE, signer))
    kept = tuple(item for item in earlier.signatures if item.keyid != keyid) if earlier else ()
    return Envelope(payload, (*kept, added))


def holding_keys(envelope: Envelope, keys: KeyRing) -> tuple[TrustedKey, ...]:
    """Return the trusted keys with a valid signature over the payload, each once.

    A key id is only a hint (DSSE, protocol.md): where it names no trusted
    key, every key is tried, and what counts is which key really verifies.
    """
    if not len(keys):
        return ()
    crypto = cryptography()
    message = crypto.encoded(envelope.payload, PAYLOAD_TYPE)
    found: dict[str, TrustedKey] = {}
    for signature in envelope.signatures:
        named = keys.get(signature.keyid)
        for key in [named] if named else keys:
            if key.keyid not in found and crypto.holds(key.key, signature.sig, message):
                found[key.keyid] = key
                break
    return tuple(found.values())


def _not_signed(got: str) -> ManifestError:
    return ManifestError(
        "manifest is not signed",
        got=got,
        expected="a DSSE envelope with a signature",
        hint="sign it with: codeguard trust sign",
    )


def _base64(text: str, where: str) -> bytes:
    """Decode standard or URL-safe base64, both of which DSSE allows."""
    try:
        raw = text.encode("ascii")
        if b"-" in raw or b"_" in raw:
            return base64.b64decode(raw, altchars=b"-_", validate=True)
        return base64.b64decode(raw, validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise ManifestError(f"{where} is not base64", got=shown(text, 40), expected="base64") from None
