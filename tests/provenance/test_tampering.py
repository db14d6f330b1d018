"""Every kind of tampering we know, each refused with what was got and what was expected.

A case is a function that tampers and then verifies. `SIGNED` cases are the
worst: the signature holds, as a signer was careless, stolen from or hostile.
"""

import base64
import json
import os
import shutil
import unicodedata
from dataclasses import replace
from datetime import timedelta

import pytest
from trust_bench import FILES, LABEL, NOW, make_key

from codeguard.errors import CodeguardError
from codeguard.trust.manifest import manifest_to_json
from codeguard.trust.signatures import load_keys, load_signer
from codeguard.trust.verify import SEEN_NAME

MATHS, HASH, USAGE = FILES


# --- the tree ---------------------------------------------------------------


def rewritten(change):
    def tamper(bench):
        envelope = bench.sign(bench.manifest())
        place = bench.tree / MATHS
        place.write_bytes(change(place.read_bytes()))
        bench.refuse_tree(envelope)

    return tamper


def beside(name, content=b"x = 1\n"):
    def tamper(bench):
        envelope = bench.sign(bench.manifest())
        place = bench.tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        bench.refuse_tree(envelope)

    return tamper


def replaced(by):
    def tamper(bench):
        envelope = bench.sign(bench.manifest())
        place = bench.tree / MATHS
        outside = bench.base / "outside.py"
        outside.write_bytes(place.read_bytes())
        place.unlink()
        by(place, outside)
        bench.refuse_tree(envelope)

    return tamper


def swapped(bench):
    envelope = bench.sign(bench.manifest())
    first, second = bench.tree / MATHS, bench.tree / HASH
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    bench.refuse_tree(envelope)


def folder_leads_out(bench):
    envelope = bench.sign(bench.manifest())
    shutil.move(bench.tree / "src", bench.base / "elsewhere")
    (bench.tree / "src").symlink_to(bench.base / "elsewhere")
    bench.refuse_tree(envelope)


TREE = [
    ("a byte changed", rewritten(lambda data: data.replace(b"+", b"-")), "changed: 'src/maths.py'"),
    ("a byte added", rewritten(lambda data: data + b"#"), "changed: 'src/maths.py'"),
    ("a byte taken away", rewritten(lambda data: data[:-1]), "changed: 'src/maths.py'"),
    ("all bytes taken away", rewritten(lambda data: b""), "changed: 'src/maths.py'"),
    ("a byte order mark put in front", rewritten(lambda data: b"\xef\xbb\xbf" + data), "changed:"),
    (
        "a letter for its Cyrillic twin",
        rewritten(lambda data: data.replace(b"a,", "а,".encode())),
        "changed:",
    ),
    ("tabs for blanks", rewritten(lambda data: data.replace(b"    ", b"\t")), "changed:"),
    ("other line endings", rewritten(lambda data: data.replace(b"\n", b"\r\n")), "line endings:"),
    ("mixed line endings", rewritten(lambda data: data.replace(b"\n", b"\r\n", 1)), "line endings:"),
    ("two files swapped", swapped, "changed: 'src/crypto/hash.py'"),
    ("a file removed", replaced(lambda place, outside: None), "missing: 'src/maths.py', got no file"),
    ("a file added", beside("src/helper.py"), "added: 'src/helper.py'"),
    ("an empty file added", beside("src/__init__.py", b""), "added: 'src/__init__.py'"),
    ("a name in other case added", beside("src/Maths.py"), "lookalike: 'src/Maths.py'"),
    ("a name with a Cyrillic letter added", beside("src/mаths.py"), "lookalike: 'src/mаths.py'"),
    ("a name with a fullwidth letter added", beside("src/ｍaths.py"), "lookalike:"),
    ("a link out of the root", replaced(lambda place, outside: place.symlink_to(outside)), "got a link to"),
    ("a link by way of ..", replaced(lambda p, o: p.symlink_to("../../outside.py")), "got a link to"),
    ("a folder that leads out of the root", folder_leads_out, "got a link to"),
    ("a link to itself", replaced(lambda place, outside: place.symlink_to(place)), "unreadable:"),
    ("a link to nothing", replaced(lambda place, outside: place.symlink_to("nowhere")), "missing:"),
    ("a folder in place of a file", replaced(lambda place, outside: place.mkdir()), "got a folder"),
    ("a pipe in place of a file", replaced(lambda place, outside: os.mkfifo(place)), "got a pipe"),
]


# --- the envelope -----------------------------------------------------------


def envelope_with(change):
    def tamper(bench):
        envelope = json.loads(bench.sign(bench.manifest()))
        bench.verify(json.dumps(change(envelope)).encode())

    return tamper


def payload_with(old, new):
    def change(envelope):
        payload = base64.b64decode(envelope["payload"])
        assert old in payload
        return {**envelope, "payload": base64.b64encode(payload.replace(old, new)).decode()}

    return envelope_with(change)


def signature_with(**changes):
    return envelope_with(lambda e: {**e, "signatures": [{**e["signatures"][0], **changes}]})


def flipped(envelope):
    raw = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    raw[10] ^= 1
    return {**envelope, "signatures": [{"keyid": "", "sig": base64.b64encode(raw).decode()}]}


def transplanted(bench):
    """The signature of one manifest on another."""
    mine, other = (json.loads(bench.sign(bench.manifest(version=v))) for v in (5, 6))
    bench.verify(json.dumps({**other, "signatures": mine["signatures"]}).encode())


def repeated(bench):
    """One signature twice, the second under another key id, to reach a threshold of two."""
    policy = bench.policy_for("alice", "bob", threshold=2)
    bob = load_signer(bench.keys["bob"]).public_key.keyid
    envelope = json.loads(bench.sign(bench.manifest()))
    (signature,) = envelope["signatures"]
    envelope["signatures"] += [signature, {**signature, "keyid": bob}, {**signature, "keyid": "x"}]
    bench.verify(json.dumps(envelope).encode(), policy)


def dropped(bench):
    envelope = json.loads(bench.sign(bench.manifest(), "alice", "bob"))
    del envelope["signatures"][1]
    bench.verify(json.dumps(envelope).encode(), bench.policy_for("alice", "bob", threshold=2))


def raw(data):
    return lambda bench: bench.verify(data)


def signed_without_encoding(bench):
    """A signature over the payload itself, not over DSSE's encoding of type and payload."""
    payload = manifest_to_json(bench.manifest())
    signer = load_signer(bench.keys["alice"])
    sig = base64.b64encode(bytes.fromhex(signer.sign(payload).signature)).decode()
    envelope = json.loads(bench.sign(bench.manifest()))
    bench.verify(json.dumps({**envelope, "signatures": [{"keyid": "", "sig": sig}]}).encode())


def bare_statement(bench):
    bench.verify(manifest_to_json(bench.manifest()))


def stranger_as_alice(bench):
    envelope = json.loads(bench.sign(bench.manifest(), "mallory"))
    envelope["signatures"][0]["keyid"] = load_signer(bench.keys["alice"]).public_key.keyid
    bench.verify(json.dumps(envelope).encode())


NO_SIGNATURE = "no signature of the manifest counts"
ENVELOPE = [
    ("a digest changed", payload_with(b'"sha256": "', b'"sha256": "0'), NO_SIGNATURE),
    ("a path changed", payload_with(b"src/maths.py", b"src/Maths.py"), NO_SIGNATURE),
    ("the version raised", payload_with(b'"version": 5', b'"version": 9'), NO_SIGNATURE),
    ("the expiry moved", payload_with(b"2026-03-02", b"2036-03-02"), NO_SIGNATURE),
    ("a blank added to the payload", payload_with(b"{", b" {"), NO_SIGNATURE),
    ("a signature with one bit flipped", envelope_with(flipped), NO_SIGNATURE),
    ("an empty signature", signature_with(sig=""), NO_SIGNATURE),
    ("the signature of another manifest", transplanted, NO_SIGNATURE),
    ("a signature outside DSSE's encoding", signed_without_encoding, NO_SIGNATURE),
    ("a stranger's key", lambda b: b.verify(b.sign(b.manifest(), "mallory")), NO_SIGNATURE),
    ("a stranger under the signer's key id", stranger_as_alice, NO_SIGNATURE),
    ("a signature repeated to reach the threshold", repeated, r"got 1 \('alice'\), expected 2"),
    ("a signature dropped", dropped, r"got 1 \('alice'\), expected 2"),
    (
        "all signatures dropped",
        envelope_with(lambda e: {**e, "signatures": []}),
        "got an envelope without signatures",
    ),
    ("a bare statement", bare_statement, "got a statement without an envelope"),
    (
        "another type of payload",
        envelope_with(lambda e: {**e, "payloadType": "text/plain"}),
        "got 'text/plain', expected application/vnd.in-toto",
    ),
    (
        "more signatures than allowed",
        envelope_with(lambda e: {**e, "signatures": e["signatures"] * 65}),
        "65 items",
    ),
    ("a payload that is no base64", envelope_with(lambda e: {**e, "payload": "a*b="}), "is not base64"),
    ("a signature that is no text", signature_with(sig=5), "got an integer, expected a string"),
    ("a key id that is a list", signature_with(keyid=["a"]), "got a list, expected a string"),
    ("a key named twice", raw(b'{"payload": "", "payload": ""}'), "names a key twice"),
    ("deep nesting", raw(b"[" * 100_000 + b"]" * 100_000), "nests too deeply"),
    ("a list in place of an object", raw(b"[]"), "got a list, expected an object"),
    ("a file cut off", raw(b'{"payload": "YWJj'), "is not JSON"),
    ("an empty file", raw(b""), "is not JSON"),
    ("bytes that are no text", raw(b"\xff\xfe{}"), "is not UTF-8"),
    ("a number without end", raw(b'{"payload": ' + b"9" * 10_000 + b"}"), "too large a number"),
    ("not a number", raw(b'{"payload": NaN}'), "got 'NaN', expected an integer"),
]


# --- a statement that a signer's key signed ----------------------------------


def statement_with(change):
    def tamper(bench):
        statement = json.loads(manifest_to_json(bench.manifest()))
        change(statement)
        bench.verify(bench.sign(json.dumps(statement).encode()))

    return tamper


def listing(path):
    """List one more path, as it should be but for its name."""

    def change(statement):
        more = {"name": path, "digest": {"sha256": "0" * 64}, "annotations": {"chunks": []}}
        statement["subject"].append(more)

    return statement_with(change)


def predicate(**changes):
    return statement_with(lambda statement: statement["predicate"].update(changes))


def subject(**changes):
    return statement_with(lambda statement: statement["subject"][0].update(changes))


UNSAFE, PASSES = "^manifest lists an unsafe path", "pass for one another"
SIGNED = [
    ("a path with ..", listing("src/../../etc/passwd"), UNSAFE),
    ("a path that is ..", listing(".."), UNSAFE),
    ("an absolute path", listing("/etc/passwd"), UNSAFE),
    ("a Windows path", listing("C:\\Windows\\x.py"), UNSAFE),
    ("a backslash for a slash", listing("src\\maths.py"), UNSAFE),
    ("an alternate data stream", listing("src/maths.py:evil"), UNSAFE),
    ("a dot in the middle", listing("src/./maths.py"), UNSAFE),
    ("an empty part", listing("src//maths.py"), UNSAFE),
    ("a folder for a file", listing("src/"), UNSAFE),
    ("a dot at the end", listing("src/maths.py."), UNSAFE),
    ("a blank at the end", listing("src/maths.py "), UNSAFE),
    ("a null in a path", listing("src/maths.py\0.txt"), UNSAFE),
    ("a line end in a path", listing("src/a\nb.py"), UNSAFE),
    ("a terminal escape in a path", listing("src/\x1b[2K.py"), UNSAFE),
    ("an override of direction in a path", listing("src/\u202eyp.py"), UNSAFE),
    ("a zero-width blank in a path", listing("src/ma\u200bths.py"), UNSAFE),
    ("half a character in a path", listing("src/\ud800.py"), "lone surrogate"),
    ("a path that is too long", listing("a/" * 600 + "b.py"), "too long"),
    ("an empty path", listing(""), UNSAFE),
    ("a path twice", listing(MATHS), "lists a path twice"),
    ("a path in other case", listing("SRC/Maths.py"), PASSES),
    ("a path that folds to another", listing("ſrc/maths.py"), PASSES),
    ("a path with a Cyrillic letter", listing("src/mаths.py"), PASSES),
    ("a path in Greek and Cyrillic", listing("ѕгϲ/maths.py"), PASSES),
    ("a path in fullwidth letters", listing("src/ｍaths.py"), PASSES),
    (
        "a file that is also a folder",
        listing("src/maths.py/x.py"),
        "^manifest lists a file that is also",
    ),
    ("a file without chunks", subject(annotations={}), "got none, expected chunks"),
    ("a chunk digest cut short", subject(annotations={"chunks": ["ab"]}), "is no sha256, got 'ab'"),
    ("chunks that are no list", subject(annotations={"chunks": "ab"}), "got a string, expected a list"),
    ("a chunk digest that is no text", subject(annotations={"chunks": [5]}), "got an integer"),
    ("a digest in capitals", subject(digest={"sha256": "A" * 64}), "is no sha256"),
    ("a weaker digest alone", subject(digest={"sha1": "a" * 40}), "got none, expected sha256"),
    ("a digest that is no text", subject(digest={"sha256": 5}), "got an integer, expected a string"),
    (
        "another predicate",
        statement_with(lambda s: s.update(predicateType="https://slsa.dev/provenance/v1")),
        "slsa",
    ),
    (
        "another statement",
        statement_with(lambda s: s.update(_type="https://in-toto.io/Statement/v0.1")),
        "v0.1",
    ),
    ("an unknown member", predicate(trustEverything=True), "got 'trustEverything'"),
    ("a version in pieces", predicate(version=5.5), "got '5.5', expected an integer"),
    ("a version that is true", predicate(version=True), "got true or false, expected an integer"),
    ("version zero", predicate(version=0), "got 0, expected at least 1"),
    ("a version beyond all", predicate(version=2**60), "too large a number"),
    ("a time without a zone", predicate(created="2026-01-30T12:00:00"), "is no time"),
    ("a day that does not exist", predicate(created="2026-02-30T12:00:00Z"), "is no time"),
    ("an end before the beginning", predicate(expires="2020-01-01T00:00:00Z"), "expires before it begins"),
    ("a scope that leaves the root", predicate(scope=[".."]), "unsafe path"),
    ("no root", predicate(root=""), "names no root"),
    ("no predicate", statement_with(lambda s: s.pop("predicate")), "got none, expected predicate"),
    (
        "subjects that are an object",
        statement_with(lambda s: s.update(subject={})),
        "got an object, expected a list",
    ),
]


# --- what the policy, the clock and the memory refuse -------------------------


def older(bench):
    bench.verify(bench.sign(bench.manifest(version=6)))
    bench.verify(bench.sign(bench.manifest(version=5)))


def same_version_other_content(bench):
    bench.verify(bench.sign(bench.manifest(version=1000)))
    bench.verify(bench.sign(bench.manifest(version=1000, chunker="other/2")))


def damaged_memory(bench):
    older_state = bench.base / "state" / SEEN_NAME
    bench.verify(bench.sign(bench.manifest(version=6)))
    older_state.write_text(older_state.read_text().replace("6", '"6"', 1))
    bench.verify(bench.sign(bench.manifest(version=5)))


def revoked(bench):
    keyid = load_signer(bench.keys["alice"]).public_key.keyid
    bench.verify(bench.sign(bench.manifest()), replace(bench.policy, revoked=frozenset({keyid})))


def dropped_paths(bench):
    """A signer of docs/ signs a list that leaves src/ out."""
    signers = (bench.signer_of("alice", paths=("docs/**",)), bench.signer_of("bob"))
    whole = bench.manifest()
    docs = replace(whole, files={USAGE: whole.files[USAGE]}, version=6)
    bench.verify(bench.sign(docs, "alice"), replace(bench.policy, signers=signers))


def key_in_the_tree(bench):
    private = make_key(bench.tree / ".keys", "mallory")
    policy = replace(bench.policy, signers=(bench.signer_of("alice", keys=(private.with_suffix(".pem"),)),))
    bench.verify(b"", policy)


def key_linked_into_the_tree(bench):
    private = make_key(bench.tree / ".keys", "mallory")
    link = bench.base / "alice.pem"
    link.symlink_to(private.with_suffix(".pem"))
    policy = replace(bench.policy, signers=(bench.signer_of("alice", keys=(link,)),))
    load_keys(policy, tree=bench.tree)


def key_linked_from_the_tree(bench):
    """A link in the tree to a key outside: whoever writes the tree chooses where it leads."""
    link = bench.tree / "alice.pem"
    link.symlink_to(bench.keys["alice"].with_suffix(".pem"))
    load_keys(replace(bench.policy, signers=(bench.signer_of("alice", keys=(link,)),)), tree=bench.tree)


def refused_by(manifest=None, now=NOW, names=("alice",), **policy):
    def tamper(bench):
        envelope = bench.sign(bench.manifest(**(manifest or {})), *names)
        bench.verify(envelope, replace(bench.policy, **policy), now=now)

    return tamper


def two_signers(bench):
    bench.verify(bench.sign(bench.manifest()), bench.policy_for("alice", "bob", threshold=2))


def ended(bench):
    signer = bench.signer_of("alice", until=NOW - timedelta(days=1))
    bench.verify(bench.sign(bench.manifest()), replace(bench.policy, signers=(signer,)))


def without_right(bench):
    signers = (bench.signer_of("alice", paths=("docs/**",)), bench.signer_of("bob"))
    bench.verify(bench.sign(bench.manifest()), replace(bench.policy, signers=signers))


POLICY = [
    ("an older version (rollback)", older, "got version 5, expected version 6 or later"),
    ("the same version with other content", same_version_other_content, "two manifests of 'acme/pay'"),
    ("the memory of versions damaged", damaged_memory, "record of the versions seen is damaged"),
    ("an older version on a new machine", refused_by(least_version=6), "got version 5, expected version 6"),
    ("expired", refused_by(now=NOW + timedelta(days=30)), "manifest has expired"),
    ("from the future", refused_by({"created": NOW + timedelta(hours=1)}), "comes from the future"),
    (
        "without the expiry the policy wants",
        refused_by({"expires": None}, require_expiry=True),
        "never expires",
    ),
    (
        "a manifest for another root",
        refused_by({"label": "acme/shop"}),
        "got 'acme/shop', expected 'acme/pay'",
    ),
    ("a revoked key", revoked, "got the revoked key"),
    ("a signer whose time has ended", ended, "whose time ended"),
    ("too few signers for a path", two_signers, r"got 1 \('alice'\), expected 2 of 'alice', 'bob'"),
    ("a signer without the right to the path", without_right, "expected 1 of 'bob'"),
    ("paths left out by who may not sign them", dropped_paths, "too few signers for the extent '.'"),
    ("a policy without signers", refused_by(signers=()), "the policy names none"),
    ("a key in the tree", key_in_the_tree, "lies inside the tree"),
    ("a key that a link leads into the tree", key_linked_into_the_tree, "lies inside the tree"),
    ("a link in the tree to a key outside", key_linked_from_the_tree, "lies inside the tree"),
]


CASES = TREE + ENVELOPE + SIGNED + POLICY


@pytest.mark.parametrize(("tamper", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_tampering_is_refused(bench, tamper, message):
    with pytest.raises(CodeguardError, match=message) as refused:
        tamper(bench)
    error = refused.value
    assert error.got is not None, error
    assert error.expected is not None, error
    assert "got " in str(error)
    assert "expected " in str(error)
    assert all(unicodedata.category(character) not in ("Cc", "Cf", "Cs") for character in str(error))


def test_what_nobody_tampered_with_is_accepted(bench):
    """The other half of every case above: the same steps without the tampering."""
    bench.refuse_tree(bench.sign(bench.manifest()))
    bench.refuse_tree(bench.sign(bench.manifest()))
    policy = bench.policy_for("alice", "bob", threshold=2)
    bench.refuse_tree(bench.sign(bench.manifest(version=6), "alice", "bob"), policy=policy)


def test_the_kinds_of_tampering_are_many_and_distinct():
    names = [name for name, _, _ in CASES]
    assert len(names) == len(set(names)) >= 40


def test_a_link_inside_the_root_is_judged_by_its_bytes(bench):
    envelope = bench.sign(bench.manifest())
    (bench.tree / MATHS).rename(bench.tree / "src" / "real.py")
    (bench.tree / MATHS).symlink_to("real.py")
    with pytest.raises(CodeguardError, match=r"added: 'src/real\.py'"):
        bench.refuse_tree(envelope)


def test_a_manifest_refused_leaves_no_trace_in_the_memory(bench):
    """Otherwise a stranger's version 9 would lock the honest version 5 out."""
    for attempt in (
        lambda: bench.verify(bench.sign(bench.manifest(version=9), "mallory")),
        lambda: bench.verify(bench.sign(bench.manifest(version=9)), now=NOW + timedelta(days=99)),
        lambda: bench.verify(bench.sign(bench.manifest(version=9)), replace(bench.policy, root="other")),
    ):
        with pytest.raises(CodeguardError):
            attempt()
    assert bench.state.last_version(LABEL) == 0
    assert bench.verify(bench.sign(bench.manifest()))
