"""Signatures: which keys and envelopes count, whose they are, and what each signer may vouch for."""

import base64
import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_bench import FILES, LABEL, NOW, make_key, openssl, policy_of

from codeguard.config import Settings
from codeguard.errors import CodeguardError, ConfigError, ManifestError
from codeguard.models import Trust, text_digest
from codeguard.trust.manifest import manifest_to_json
from codeguard.trust.policy import (
    SigningPolicy,
    matches,
    matches_all_below,
    policies,
    unusable_pattern,
)
from codeguard.trust.signatures import load_keys, load_signer, read_envelope, sign_payload
from codeguard.trust.verify import choose_policy, verify_envelope


@pytest.mark.parametrize("kind", ["ed25519", "p256", "p384", "p521"])
def test_keys_made_by_openssl_sign_and_verify(bench, tmp_path, kind):
    private = make_key(tmp_path / "user", "key", kind)
    policy = policy_of(LABEL, [private.with_suffix(".pem")])
    payload = manifest_to_json(bench.manifest())
    envelope = sign_payload(payload, load_signer(private)).to_json()
    verified = verify_envelope(envelope, load_keys(policy), policy, state=bench.state, now=NOW)
    assert verified.signed_by == (f"key {private.with_suffix('.pem')}",)
    assert not verified.unsigned
    assert verified.trust_of("src/maths.py", text_digest(FILES["src/maths.py"][1])) is Trust.TRUSTED


def test_a_sec1_key_and_an_encrypted_key_sign(bench, tmp_path):
    sec1 = tmp_path / "sec1.key"
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", sec1)
    locked = tmp_path / "locked.key"
    openssl("pkcs8", "-topk8", "-in", sec1, "-passout", "pass:open sesame", "-out", locked)
    assert load_signer(sec1).public_key == load_signer(locked, lambda: b"open sesame").public_key
    with pytest.raises(ConfigError, match="no passphrase was given"):
        load_signer(locked)
    with pytest.raises(ConfigError, match="cannot use the key"):
        load_signer(locked, lambda: b"wrong")


def test_openssl_alone_verifies_what_we_sign(bench, tmp_path):
    """The envelope is plain DSSE: another tool needs nothing of ours."""
    payload = manifest_to_json(bench.manifest())
    (signature,) = sign_payload(payload, load_signer(bench.keys["bob"])).signatures
    kind = b"application/vnd.in-toto+json"
    (tmp_path / "message").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    (tmp_path / "sig").write_bytes(signature.sig)
    public = bench.keys["bob"].with_suffix(".pem")
    openssl("dgst", "-sha256", "-verify", public, "-signature", tmp_path / "sig", tmp_path / "message")


@pytest.mark.parametrize(
    ("signed_by", "threshold", "accepted"),
    [
        (["alice"], 1, True),
        (["alice", "bob"], 2, True),
        (["alice", "bob", "carol"], 3, True),
        (["alice"], 2, False),
        (["alice", "mallory"], 2, False),
        (["mallory"], 1, False),
    ],
)
def test_threshold_counts_distinct_signers_of_the_policy(bench, signed_by, threshold, accepted):
    policy = bench.policy_for("alice", "bob", "carol", threshold=threshold)
    envelope = bench.sign(bench.manifest(), *signed_by)
    if accepted:
        assert set(bench.verify(envelope, policy).signed_by) == set(signed_by)
    else:
        with pytest.raises(ManifestError, match=r"got .*expected "):
            bench.verify(envelope, policy)


def test_two_keys_of_one_signer_count_once(bench, keys):
    both = bench.signer_of("alice", keys=tuple(keys[n].with_suffix(".pem") for n in ("alice", "carol")))
    policy = replace(bench.policy_for("alice", "bob", threshold=2), signers=(both, bench.signer_of("bob")))
    with pytest.raises(ManifestError, match=r"got 1 \('alice'\), expected 2 of 'alice', 'bob'"):
        bench.verify(bench.sign(bench.manifest(), "alice", "carol"), policy)


def test_one_key_cannot_belong_to_two_signers(bench, keys):
    twin = bench.signer_of("bob", keys=(keys["alice"].with_suffix(".pem"),))
    policy = replace(bench.policy_for("alice", "bob"), signers=(bench.signer_of("alice"), twin))
    with pytest.raises(ConfigError, match="belongs to two signers"):
        load_keys(policy)


def test_rotation_without_a_gap_and_the_end_of_the_old_key(bench, keys):
    """Both keys for a while, then the old one is revoked: what it signed no longer counts."""
    pair = tuple(keys[name].with_suffix(".pem") for name in ("alice", "carol"))
    during = replace(bench.policy, signers=(bench.signer_of("alice", keys=pair),))
    old, new = bench.sign(bench.manifest(), "alice"), bench.sign(bench.manifest(version=6), "carol")
    assert bench.verify(old, during).signed_by == ("alice",)
    assert bench.verify(new, during).signed_by == ("alice",)
    old_id = load_signer(keys["alice"]).public_key.keyid
    after = replace(during, revoked=frozenset({old_id}))
    with pytest.raises(ManifestError, match=f"got the revoked key {old_id} of 'alice'"):
        bench.verify(old, after)
    assert bench.verify(new, after).signed_by == ("alice",)


def test_the_end_of_a_signer_is_judged_by_the_verifiers_clock(bench):
    """A time inside the manifest could be backdated by whoever holds the old key."""
    policy = replace(bench.policy, signers=(bench.signer_of("alice", until=NOW),))
    envelope = bench.sign(bench.manifest(created=NOW - timedelta(days=20)))
    assert bench.verify(envelope, policy, now=NOW)
    with pytest.raises(ManifestError, match="whose time ended"):
        bench.verify(envelope, policy, now=NOW + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("paths", "signed_by", "scope", "refusal"),
    [
        ({"alice": ("**",)}, ["alice"], (".",), None),
        ({"alice": ("src/**", "docs/**")}, ["alice"], ("src", "docs"), None),
        ({"alice": ("src/**",), "bob": ("docs/*.md", "docs/**")}, ["alice", "bob"], ("src", "docs"), None),
        ({"alice": ("src/**", "docs/**")}, ["alice"], (".",), "extent '.'"),
        ({"alice": ("src/**",), "bob": ("**",)}, ["alice"], (".",), "'docs/usage.md'"),
        ({"alice": ("src/*", "docs/*"), "bob": ("**",)}, ["alice"], (".",), "'src/crypto/hash.py'"),
    ],
)
def test_signers_vouch_only_for_their_paths(bench, paths, signed_by, scope, refusal):
    signers = tuple(bench.signer_of(name, paths=patterns) for name, patterns in paths.items())
    policy = replace(bench.policy, signers=signers)
    envelope = bench.sign(bench.manifest(scope=scope), *signed_by)
    if refusal is None:
        assert bench.verify(envelope, policy)
    else:
        with pytest.raises(ManifestError, match="too few signers for") as refused:
            bench.verify(envelope, policy)
        assert refusal in str(refused.value)


def test_key_ids_are_hints_only(bench):
    """DSSE: a wrong or absent key id neither helps nor harms."""
    envelope = json.loads(bench.sign(bench.manifest(), "alice"))
    for keyid in ("", "somebody-elses-scheme", None):
        changed = json.loads(json.dumps(envelope))
        if keyid is None:
            del changed["signatures"][0]["keyid"]
        else:
            changed["signatures"][0]["keyid"] = keyid
        assert bench.verify(json.dumps(changed).encode()).signed_by == ("alice",)


def test_url_safe_base64_and_unknown_members_are_read(bench):
    envelope = json.loads(bench.sign(bench.manifest(), "alice"))
    payload = base64.b64decode(envelope["payload"])
    envelope["payload"] = base64.urlsafe_b64encode(payload).decode()
    envelope["comment"] = "not signed, not read"
    assert bench.verify(json.dumps(envelope).encode())


def test_signing_again_replaces_the_own_signature_and_keeps_the_others(bench):
    payload = manifest_to_json(bench.manifest())
    envelope = None
    for name in ("alice", "bob", "alice"):
        envelope = sign_payload(payload, load_signer(bench.keys[name]), envelope)
    assert len(envelope.signatures) == 2
    with pytest.raises(ManifestError, match="carries another manifest"):
        sign_payload(payload + b" ", load_signer(bench.keys["carol"]), envelope)


@pytest.mark.parametrize("kind", ["rsa"])
def test_other_kinds_of_key_are_refused(tmp_path, kind):
    private = make_key(tmp_path, "key", kind)
    with pytest.raises(ConfigError, match="got rsa, expected an ed25519 or ECDSA key"):
        load_signer(private)
    with pytest.raises(ConfigError, match="got rsa"):
        load_keys(policy_of(LABEL, [private.with_suffix(".pem")]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot use the key"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot use the key"),
        (b"\x00" * 70_000, "too large"),
    ],
)
def test_what_is_no_key_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as refused:
        load_keys(policy_of(LABEL, [path]))
    assert "\n" not in str(refused.value)


def test_a_private_key_in_the_place_of_a_public_one_is_pointed_out(bench):
    with pytest.raises(ConfigError, match="got a private key, expected the public key"):
        load_keys(policy_of(LABEL, [bench.keys["alice"]]))


TOML = {
    "root": LABEL,
    "threshold": 2,
    "revoked": ["ab"],
    "signers": [
        {"identity": "alice", "keys": ["keys/alice.pem"], "paths": ["src/**"]},
        {"identity": "ci", "keys": ["keys/ci.pem", "keys/next.pem"]},
    ],
}


def test_a_policy_comes_from_the_users_toml():
    policy = SigningPolicy.from_toml(TOML, Path("/home/alice/.config/codeguard"))
    assert policy.signers[0].keys == (Path("/home/alice/.config/codeguard/keys/alice.pem"),)
    assert len(policy.signers[1].keys) == 2
    assert policy.threshold == 2
    assert policy.revoked == {"ab"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root": ""}, "names no root"),
        ({"root": 5}, "got an integer, expected a string"),
        ({"treshold": 1}, "unknown member, got 'treshold'"),
        ({"threshold": 3}, "got 3, expected 1 to 2"),
        ({"threshold": 0}, "got 0, expected 1 to 2"),
        ({"threshold": True}, "got true or false, expected an integer"),
        ({"signers": [{"identity": "a"}]}, "got no keys"),
        ({"signers": [{"identity": "", "keys": ["k.pem"]}]}, "has no identity"),
        ({"signers": [{"identity": "a", "keys": ["k"], "until": "2026"}]}, "expected a date or a time"),
        ({"signers": [{"keys": ["k.pem"]}]}, "lacks a member, got none, expected identity"),
        ({"signers": [{"identity": "a", "keys": ["k"], "paths": []}]}, "empty list of paths"),
        ({"signers": [{"identity": "a", "keys": ["k"], "paths": ["../x"]}]}, "unusable path pattern"),
        ({"signers": [{"identity": "a", "keys": [7]}]}, "got an integer, expected a string"),
        ({"signers": [{"identity": "a", "keys": ["k"]}] * 2}, "names a signer twice"),
        ({"least_version": 0}, "1 or more"),
    ],
)
def test_a_policy_that_says_nothing_usable_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        SigningPolicy.from_toml({**TOML, **change}, Path())


@pytest.mark.parametrize(
    ("written", "until"),
    [
        (None, None),
        (date(2026, 12, 31), datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)),  # the day itself still counts
        (datetime(2026, 12, 31, 8), datetime(2026, 12, 31, 8, tzinfo=UTC)),
        (datetime(2026, 12, 31, 8, tzinfo=ZoneInfo("Asia/Tokyo")), datetime(2026, 12, 30, 23, tzinfo=UTC)),
    ],
)
def test_the_end_of_a_signer_is_a_moment_that_is_the_same_everywhere(written, until):
    ended = {} if written is None else {"until": written}
    signers = [{"identity": "alice", "keys": ["alice.pem"], **ended}]
    (signer,) = SigningPolicy.from_toml({"root": LABEL, "signers": signers}, Path()).signers
    assert signer.until == until
    assert signer.paths == ("**",)


def test_the_user_says_which_policy_is_for_which_tree(tmp_path):
    pay = {**TOML, "trees": ["work/pay"]}
    shop = {**TOML, "root": "acme/shop"}

    def known_of(table):
        return policies(Settings(signing=table, source=str(tmp_path / "config.toml")))

    known = known_of({"pay": pay, "shop": shop})
    assert set(known) == {LABEL, "acme/shop"}
    assert choose_policy(known, tmp_path / "work" / "pay").root == LABEL
    assert choose_policy(known, tmp_path, "acme/shop").root == "acme/shop"
    assert choose_policy(known_of(shop), tmp_path).root == "acme/shop"
    for tree, label in ((tmp_path, None), (tmp_path / "work" / "pay", "acme/other")):
        with pytest.raises(
            ConfigError, match=r"no signing policy for this tree, got .*, expected 'acme/pay' or"
        ):
            choose_policy(known, tree, label)
    with pytest.raises(ConfigError, match="two signing policies for one root"):
        known_of({"a": shop, "b": shop})
    with pytest.raises(ConfigError, match=r"^\[signing\], got int, expected a policy with root"):
        known_of({"pay": 5})


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("**", "a.py", True),
        ("**", "a/b/c.py", True),
        ("src/**", "src/a.py", True),
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("src/**", "lib/src/a.py", False),
        ("src/**", "src2/a.py", False),
        ("src/*", "src/a/b.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/.py", True),
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("a/**/z.py", "a/z.py", True),
        ("a/**/z.py", "a/b/c/z.py", True),
        ("a?.py", "ab.py", True),
        ("a?.py", "a/.py", False),
        ("a.py", "abpy", False),
        ("a.py", "a.py\n", False),
        ("[ab].py", "a.py", False),
    ],
)
def test_patterns_are_anchored_and_mean_what_they_say(pattern, path, matched):
    assert matches([pattern], path) is matched


@pytest.mark.parametrize(
    ("pattern", "folder", "all_below"),
    [
        ("**", ".", True),
        ("src/**", "src", True),
        ("src/**", "src/crypto", True),
        ("src/**", ".", False),
        ("src/*", "src", False),
        ("src/*/*", "src", False),
        ("**/*.py", ".", False),
    ],
)
def test_only_an_open_pattern_covers_all_that_may_be_below(pattern, folder, all_below):
    assert matches_all_below([pattern], folder) is all_below


def expression_of(pattern):
    """Say the same as a regular expression: slow on hostile patterns, plain to read."""
    *head, last = pattern.split("/")
    words = ["(?:[^/]+/)*" if part == "**" else f"{word_of(part)}/" for part in head]
    return "".join(words) + (".+" if last == "**" else word_of(last))


def word_of(part):
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)) for letter in part)


@given(
    st.text(alphabet="ab*?/.", max_size=12),
    st.lists(st.text(alphabet="ab.", min_size=1, max_size=4), min_size=1),
)
def test_patterns_agree_with_the_regular_expressions_they_stand_for(pattern, parts):
    path = "/".join(parts[:5])
    if unusable_pattern(pattern) is None:
        assert matches([pattern], path) is bool(re.fullmatch(expression_of(pattern), path))


def test_a_hostile_pattern_costs_no_more_than_its_length():
    """As a regular expression this one does not come back within a lifetime."""
    assert not matches(["*a" * 500 + "b"], "a" * 1000)
    assert not matches(["/".join(["**", "a"] * 200 + ["b"])], "/".join("a" * 500))


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["payload", "payloadType", "signatures", "sig"]), inner)
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_bytes_that_are_no_envelope_are_refused_in_one_line(data):
    with pytest.raises(CodeguardError) as refused:
        read_envelope(data)
    assert "\n" not in str(refused.value)
