"""A Sigstore of our own, in memory: certificate authority, certificate log and transparency log.

The public one cannot be asked in a test. This one makes bundles that
sigstore's real verifier accepts with the trust anchors made here, and every
link of the chain can be broken. Sources: RFC 6962, section 3; the formats of
sigstore/protobuf-specs and transparency-dev/formats (checkpoints).
"""

import base64
import hashlib
import json
import struct
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from codeguard.trust.manifest import PAYLOAD_TYPE
from codeguard.trust.signatures import encoded

ISSUER_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
SINCE = "2020-01-01T00:00:00Z"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def der(key) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def log_id(key) -> bytes:
    return hashlib.sha256(der(key)).digest()


class OwnSigstore:
    """Keys and the certificate of the authority; everything is signed at `now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.authority, self.certificate_log, self.log = (
            ec.generate_private_key(ec.SECP256R1()) for _ in range(3)
        )
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "own authority")])
        usage = dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        self._usage = usage
        self.root = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.authority.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=365))
            .not_valid_after(now + timedelta(days=365))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, **usage),
                critical=True,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key()), critical=False
            )
            .sign(self.authority, hashes.SHA256())
        )

    def trusted_root(self) -> bytes:
        def log(key):
            public = {
                "rawBytes": b64(der(key)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": SINCE},
            }
            return {
                "baseUrl": "https://log.invalid",
                "hashAlgorithm": "SHA2_256",
                "publicKey": public,
                "logId": {"keyId": b64(log_id(key))},
            }

        root = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.log)],
            "ctlogs": [log(self.certificate_log)],
            "timestampAuthorities": [],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "own", "commonName": "own authority"},
                    "uri": "https://authority.invalid",
                    "certChain": {"certificates": [{"rawBytes": b64(self.root.public_bytes(Encoding.DER))}]},
                    "validFor": {"start": SINCE},
                }
            ],
        }
        return json.dumps(root).encode()

    def bundle(self, payload: bytes, identity: str, issuer: str) -> dict:
        """Return a bundle in which `identity`, signed in at `issuer`, signs the payload."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._leaf(key, identity, issuer)
        signature = key.sign(encoded(payload), ec.ECDSA(hashes.SHA256()))
        pem = certificate.public_bytes(Encoding.PEM)
        body = canonical(
            {
                "apiVersion": "0.0.1",
                "kind": "dsse",
                "spec": {
                    "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                    "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                    "signatures": [{"signature": b64(signature), "verifier": b64(pem)}],
                },
            }
        )
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(certificate.public_bytes(Encoding.DER))},
                "tlogEntries": [self._entry(body)],
            },
            "dsseEnvelope": {
                "payload": b64(payload),
                "payloadType": PAYLOAD_TYPE,
                "signatures": [{"sig": b64(signature)}],
            },
        }

    def _leaf(self, key, identity: str, issuer: str) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.root.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now - timedelta(minutes=1))
            .not_valid_after(self.now + timedelta(minutes=9))
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **self._usage),
                critical=True,
            )
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(identity)]), critical=True)
            .add_extension(x509.UnrecognizedExtension(ISSUER_OID, issuer.encode()), critical=False)
        )
        before = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        stamped = x509.UnrecognizedExtension(
            ExtensionOID.PRECERT_SIGNED_CERTIFICATE_TIMESTAMPS, self._timestamp(before)
        )
        return builder.add_extension(stamped, critical=False).sign(self.authority, hashes.SHA256())

    def _timestamp(self, certificate: bytes) -> bytes:
        """Return the certificate log's signed timestamp, as the value of the X.509 extension."""
        milliseconds = int(self.now.timestamp() * 1000)
        length = struct.pack("!I", len(certificate))[1:]
        entry = struct.pack("!BBQH", 0, 0, milliseconds, 1) + log_id(self.authority) + length + certificate
        signature = self.certificate_log.sign(entry + b"\0\0", ec.ECDSA(hashes.SHA256()))
        stamp = struct.pack("!B32sQH", 0, log_id(self.certificate_log), milliseconds, 0)
        stamp += struct.pack("!BBH", 4, 3, len(signature)) + signature
        stamps = struct.pack("!HH", len(stamp) + 2, len(stamp)) + stamp
        return (
            bytes([0x04, len(stamps)]) + stamps
            if len(stamps) < 128
            else bytes([0x04, 0x81, len(stamps)]) + stamps
        )

    def _entry(self, body: bytes) -> dict:
        """Return the entry of a log of one: its root is the leaf."""
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"own log\n1\n{b64(root)}\n"
        signed = log_id(self.log)[:4] + self.log.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        time = int(self.now.timestamp())
        promise = canonical(
            {"body": b64(body), "integratedTime": time, "logID": log_id(self.log).hex(), "logIndex": 0}
        )
        return {
            "logIndex": "0",
            "logId": {"keyId": b64(log_id(self.log))},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {
                "signedEntryTimestamp": b64(self.log.sign(promise, ec.ECDSA(hashes.SHA256())))
            },
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\u2014 own {b64(signed)}\n"},
            },
            "canonicalizedBody": b64(body),
        }


def canonical(value: dict) -> bytes:
    """Return JSON as RFC 8785 wants it, which for these ASCII values is sorted and without blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
