"""Keyless signatures: stored bundles, sigstore's real verifier, trust anchors of our own, no network."""

import base64
import json
import socket
from dataclasses import replace
from datetime import timedelta

import pytest
from trust_bench import FILES, NOW

pytest.importorskip("sigstore", reason="the extra keyless is not installed")

from own_sigstore import OwnSigstore
from sigstore import oidc
from sigstore.models import ClientTrustConfig

from codeguard.errors import CodeguardError, ManifestError
from codeguard.models import Trust, text_digest
from codeguard.trust.keyless import keyless_proof, sign_keyless
from codeguard.trust.manifest import manifest_to_json
from codeguard.trust.policy import SignerPolicy
from codeguard.trust.signatures import load_keys
from codeguard.trust.verify import verify_envelope, verify_keyless

CI, ISSUER = "ci@example.org", "https://token.example.org"


@pytest.fixture(scope="module")
def sigstore():
    return OwnSigstore(NOW)


@pytest.fixture
def anchors(sigstore, tmp_path):
    path = tmp_path / "user" / "trusted_root.json"
    path.parent.mkdir()
    path.write_bytes(sigstore.trusted_root())
    return path


@pytest.fixture
def policy(bench):
    return replace(bench.policy, signers=(SignerPolicy(CI, issuer=ISSUER),))


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*arguments, **options):
        raise AssertionError("a verification asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_stored_bundle_verifies_offline(bench, sigstore, anchors, policy):
    bundle = sigstore.bundle(manifest_to_json(bench.manifest()), CI, ISSUER)
    proof = keyless_proof(json.dumps(bundle).encode(), policy, anchors)
    verified = verify_keyless(proof, policy, state=bench.state, now=NOW)
    assert verified.signed_by == (CI,)
    assert not verified.unsigned
    assert verified.trust_of("src/maths.py", text_digest(FILES["src/maths.py"][1])) is Trust.TRUSTED


def test_a_bundle_and_a_key_together_reach_a_threshold(bench, sigstore, anchors, policy):
    both = replace(policy, signers=(*policy.signers, bench.signer_of("alice")), threshold=2)
    manifest = bench.manifest()
    envelope, bundle = bench.sign(manifest), sigstore.bundle(manifest_to_json(manifest), CI, ISSUER)
    proof = keyless_proof(json.dumps(bundle).encode(), both, anchors)
    options = {"state": bench.state, "now": NOW}
    assert verify_envelope(envelope, load_keys(both), both, keyless=proof, **options).signed_by == (
        CI,
        "alice",
    )
    with pytest.raises(ManifestError, match=r"got 1 \('alice'\), expected 2"):
        verify_envelope(envelope, load_keys(both), both, **options)
    other = bench.sign(bench.manifest(version=6))
    with pytest.raises(ManifestError, match=r"got 1 \('alice'\), expected 2"):
        verify_envelope(other, load_keys(both), both, keyless=proof, **options)


def member(*path, to):
    """Replace one member of the bundle."""

    def change(bundle):
        inner = bundle
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to

    return change


def other_payload(text):
    payload = base64.b64decode(text)
    return base64.b64encode(payload.replace(b'"version": 5', b'"version": 6')).decode()


def one_bit(text):
    raw = bytearray(base64.b64decode(text))
    raw[-1] ^= 1
    return base64.b64encode(raw).decode()


ENTRY = ("verificationMaterial", "tlogEntries", 0)
REFUSED = "bundle is of no keyless signer of the policy"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (member("dsseEnvelope", "payload", to=other_payload), REFUSED),
        (member("dsseEnvelope", "signatures", 0, "sig", to=one_bit), REFUSED),
        (member("dsseEnvelope", "payloadType", to="text/plain"), REFUSED),
        (member("verificationMaterial", "certificate", "rawBytes", to=one_bit), REFUSED),
        (member(*ENTRY, "canonicalizedBody", to=one_bit), REFUSED),
        (member(*ENTRY, "inclusionProof", "rootHash", to=one_bit), REFUSED),
        (member(*ENTRY, "inclusionPromise", "signedEntryTimestamp", to=one_bit), REFUSED),
        (member(*ENTRY, "integratedTime", to="1700000000"), REFUSED),
        (member("verificationMaterial", "tlogEntries", to=[]), "bundle is malformed"),
        (member("mediaType", to="application/json"), "bundle is malformed"),
        (lambda bundle: bundle.pop("dsseEnvelope"), "bundle is malformed|" + REFUSED),
    ],
)
def test_a_bundle_that_was_tampered_with_is_refused(bench, sigstore, anchors, policy, change, message):
    bundle = sigstore.bundle(manifest_to_json(bench.manifest()), CI, ISSUER)
    change(bundle)
    with pytest.raises(ManifestError, match=message) as refused:
        keyless_proof(json.dumps(bundle).encode(), policy, anchors)
    assert refused.value.got is not None
    assert refused.value.expected is not None
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("identity", "issuer"), [("mallory@example.org", ISSUER), (CI, "https://evil.example.org")]
)
def test_identity_and_issuer_both_have_to_be_the_policys(bench, sigstore, anchors, policy, identity, issuer):
    bundle = sigstore.bundle(manifest_to_json(bench.manifest()), identity, issuer)
    with pytest.raises(ManifestError, match=f"{REFUSED}, got .*, expected '{CI}' by '{ISSUER}'"):
        keyless_proof(json.dumps(bundle).encode(), policy, anchors)


def test_anchors_of_another_sigstore_do_not_count(bench, anchors, policy):
    bundle = OwnSigstore(NOW).bundle(manifest_to_json(bench.manifest()), CI, ISSUER)
    with pytest.raises(ManifestError, match=REFUSED):
        keyless_proof(json.dumps(bundle).encode(), policy, anchors)
    with pytest.raises(ManifestError, match=REFUSED):  # the anchors that come with sigstore
        keyless_proof(json.dumps(bundle).encode(), policy)


def test_a_keyless_signer_ends_like_any_other(bench, sigstore, anchors, policy):
    bundle = sigstore.bundle(manifest_to_json(bench.manifest()), CI, ISSUER)
    ended = replace(policy, signers=(SignerPolicy(CI, issuer=ISSUER, until=NOW),))
    proof = keyless_proof(json.dumps(bundle).encode(), ended, anchors)
    with pytest.raises(ManifestError, match="whose time ended"):
        verify_keyless(proof, ended, state=bench.state, now=NOW + timedelta(seconds=1))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"mediaType": 5}', b"\xff", b'{"a": 1, "a": 2}'])
def test_what_is_no_bundle_is_refused_in_one_line(anchors, policy, data):
    with pytest.raises(ManifestError) as refused:
        keyless_proof(data, policy, anchors)
    assert "\n" not in str(refused.value)


def test_anchors_that_are_none_are_refused(bench, sigstore, policy, tmp_path):
    bundle = json.dumps(sigstore.bundle(manifest_to_json(bench.manifest()), CI, ISSUER)).encode()
    path = tmp_path / "root.json"
    for content in (b"", b"{}", b'{"mediaType": "x"}'):
        path.write_bytes(content)
        with pytest.raises(ManifestError, match="trust anchors cannot be used"):
            keyless_proof(bundle, policy, path)
    with pytest.raises(ManifestError, match="trust anchors cannot be used"):
        keyless_proof(bundle, policy, tmp_path / "none.json")


@pytest.mark.parametrize(
    ("given", "detected", "message"),
    [
        ("token", None, r"^sigstore did not sign \(no way out\)$"),
        (None, "token", r"^sigstore did not sign \(no way out\)$"),
        (None, None, "^nobody is signed in, got no identity token"),
    ],
)
def test_what_keeps_sigstore_from_signing_is_told_in_a_line(monkeypatch, given, detected, message):
    def fail():
        raise OSError("no way\n  out")

    monkeypatch.setattr(oidc, "detect_credential", lambda: detected)
    monkeypatch.setattr(ClientTrustConfig, "production", fail)
    with pytest.raises(CodeguardError, match=message):
        sign_keyless(b"{}", given)
