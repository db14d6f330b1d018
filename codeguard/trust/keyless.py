"""Keyless signatures: sigstore bundles, verified without the network. Needs the extra `keyless`.

A bundle contains the envelope, a short-lived certificate that names the signer and their OpenID Connect
provider, and the proof that a transparency log contains all of it. The trust anchors come from a file of the
user's or from sigstore's own copy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codeguard.errors import CodeguardError, ManifestError, MissingExtraError
from codeguard.escaping import shown
from codeguard.trust.manifest import PAYLOAD_TYPE
from codeguard.trust.policy import SigningPolicy
from codeguard.trust.strict_json import parse_json
from codeguard.trust.verify import KeylessProof

if TYPE_CHECKING:
    from sigstore.verify import Verifier


def keyless_proof(bundle: bytes, policy: SigningPolicy, trusted_root: Path | None = None) -> KeylessProof:
    """Return which of the policy's keyless signers signed the manifest in a bundle.

    `trusted_root` is a file with sigstore's trust anchors
    (`trusted_root.json`); without it, sigstore's copy from the user's cache or from its package is used.
    Nothing is fetched.

    Raises ManifestError if the bundle is malformed, does not verify, or is by nobody in the policy;
    MissingExtraError without sigstore.
    """
    parse_json(bundle, "bundle")  # stricter than json
    try:
        from sigstore.errors import Error
        from sigstore.models import Bundle
        from sigstore.verify.policy import Identity
    except ImportError:
        raise _missing() from None
    verifier = _verifier(trusted_root)
    expected = [signer for signer in policy.signers if signer.issuer]
    refusals: list[str] = []
    try:
        opened = Bundle.from_json(bundle)
    except (Error, ValueError) as error:
        raise _refused("bundle is malformed", error, "a sigstore bundle with a DSSE envelope") from None
    for signer in expected:
        try:
            who = Identity(identity=signer.identity, issuer=signer.issuer)
            payload_type, payload = verifier.verify_dsse(opened, who)
        except (Error, ValueError) as error:
            refusals.append(_one_line(error))
            continue
        if payload_type != PAYLOAD_TYPE:
            raise ManifestError(
                "bundle carries another kind of payload", got=shown(payload_type), expected=PAYLOAD_TYPE
            )
        return KeylessProof(signer.identity, payload)
    raise ManifestError(
        "bundle is of no keyless signer of the policy",
        got=shown("; ".join(dict.fromkeys(refusals)) or "no keyless signer in the policy"),
        expected=", ".join(f"{shown(s.identity)} by {shown(s.issuer)}" for s in expected)
        or "a signer with an issuer",
    )


def sign_keyless(payload: bytes, identity_token: str | None) -> bytes:
    """Return a bundle around a manifest, signed under the identity of an OpenID Connect token.

    Without a token, one is taken from the environment (GitHub Actions and similar).
    Talks to sigstore's public services: the identity and the digest become
    public in its transparency log, for good.
    """
    try:
        from sigstore.dsse import Statement
        from sigstore.models import ClientTrustConfig
        from sigstore.oidc import IdentityToken, detect_credential
        from sigstore.sign import SigningContext
    except ImportError:
        raise _missing() from None
    token = identity_token or detect_credential()
    if not token:
        raise CodeguardError(
            "nobody is signed in",
            got="no identity token",
            expected="SIGSTORE_ID_TOKEN or a CI that gives one",
        )
    try:
        context = SigningContext.from_trust_config(ClientTrustConfig.production())
        with context.signer(IdentityToken(token)) as signer:
            return signer.sign_dsse(Statement(payload)).to_json().encode("utf-8")
    except Exception as error:  # the network, the services or the token: one error for all of them
        raise CodeguardError(f"sigstore did not sign ({_one_line(error)})") from None


def _verifier(trusted_root: Path | None) -> Verifier:
    from sigstore.errors import Error
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    try:
        if trusted_root is None:
            return Verifier.production(offline=True)
        return Verifier(trusted_root=TrustedRoot.from_file(str(trusted_root)))
    except (Error, OSError, ValueError) as error:
        raise _refused("sigstore's trust anchors cannot be used", error, "a trusted_root.json") from None


def _refused(what: str, error: Exception, expected: str) -> ManifestError:
    return ManifestError(what, got=shown(_one_line(error)), expected=expected)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _missing() -> MissingExtraError:
    return MissingExtraError("keyless signatures need sigstore", "keyless")
