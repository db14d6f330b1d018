"""Which texts and names are secrets, and that nothing of one is left in a masked text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_samples import Sample, Values, negatives, positives, private_key

from codeguard.corpus import secrets as secretscan
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.secrets import find_secrets, key_of_whole, mask_secrets, secret_file, without_secrets

SEED = 1
POSITIVE = positives(SEED)
NEGATIVE = negatives(SEED)
# A person's own choice of words and a password in a sentence cannot be told from other text.
MISSED = {"password chosen by a person", "password in prose", "words as password"}


def shown(sample: Sample) -> str:
    return mask_secrets(sample.text)


def found(samples: list[Sample]) -> list[str]:
    return [item.kind for item in samples if not any(secret in shown(item) for secret in item.secrets)]


@pytest.mark.parametrize("sample", POSITIVE, ids=lambda sample: sample.kind)
def test_no_secret_is_shown(sample: Sample) -> None:
    left = [secret for secret in sample.secrets if secret in shown(sample)]
    assert bool(left) == (sample.kind in MISSED)


@pytest.mark.parametrize("sample", NEGATIVE, ids=lambda sample: sample.kind)
def test_what_looks_like_a_secret_is_shown_as_it_is(sample: Sample) -> None:
    assert shown(sample) == sample.text
    assert not secret_file(sample.name)


def test_recall_and_false_alarms_whatever_the_values() -> None:
    for seed in range(2, 6):
        samples = positives(seed)
        assert len(found(samples)) >= 0.93 * len(samples)
        assert sum(bool(find_secrets(item.text)) for item in negatives(seed)) <= 2
    assert len(positives(SEED)) >= 80 <= len(negatives(SEED))


@pytest.mark.parametrize("row", secretscan._TOKENS, ids=lambda row: row.anchors[0])
@settings(max_examples=40)
@given(data=st.data())
def test_what_a_row_describes_is_found(row: secretscan._Token, data: st.DataObject) -> None:
    token = data.draw(st.from_regex(re.compile(row.form.pattern, re.ASCII), fullmatch=True))
    plain = re.fullmatch(r"[\w+/=.:~-]{16,300}", token, re.ASCII)
    if (
        row.rule == "json-web-token"
        or plain is None
        or not secretscan.strong_token(token.rpartition("_authToken=")[2])
    ):
        return
    assert find_secrets(f'discord = "{token}"\n'), token


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (".env", "environment-file"), ("app/.env.production", "environment-file"), (".ENV", "environment-file"),
        (".env.example", ""), (".env.sample.local", ""), (".envrc", ""), ("environment.py", ""),
        ("id_rsa", "key-file"), ("keys/id_ed25519", "key-file"), ("id_rsa.pub", ""), ("deploy.ppk", "key-file"),
        ("release.keystore", "key-file"), ("cert.p12", "key-file"), ("key.pem", ""), ("server.key", ""),
        (".netrc", "credentials-file"), ("_netrc", "credentials-file"), (".pgpass", "credentials-file"),
        (".git-credentials", "credentials-file"), ("home/.aws/credentials", "credentials-file"),
        (".aws/config", ""), ("lib/credentials.py", ""), ("credentials", ""), (".kube/config", "credentials-file"),
        ("kubeconfig", "credentials-file"), ("terraform.tfstate", "credentials-file"),
        ("terraform.tfstate.backup", "credentials-file"), (".docker/config.json", "credentials-file"),
        ("secrets.py", ""), ("netrc.py", ""), (".npmrc", ""), (".pypirc", ""),
    ],
)  # fmt: skip
def test_secret_by_name(name: str, rule: str) -> None:
    assert secret_file(name) == rule


def test_a_file_that_is_a_secret_by_its_name_shows_no_value() -> None:
    text = "# old: hunter2\nDB_PASSWORD=hunter2\nexport TOKEN = 'a b'\nhunter2\n"
    file = without_secrets(chunk_file(".env", text.encode()))
    assert "hunter2" not in file.text
    assert "a b" not in file.text
    assert "DB_PASSWORD=*******\n" in file.text


def test_masking_keeps_bytes_lines_and_digests() -> None:
    value = Values(9).password()
    text = f'def f():\n    return 1\n\n\ndef größe():\n    password = "{value}"\n    return password\n'
    file = chunk_file("a.py", text.encode())
    masked = without_secrets(file, withhold=True)
    assert value not in masked.text
    assert len(masked.text.encode()) == len(text.encode())
    assert masked.text.count("\n") == text.count("\n")
    assert masked.sha256 == file.sha256
    assert [chunk.sha256 for chunk in masked.chunks] == [chunk.sha256 for chunk in file.chunks]
    held = [chunk for chunk in masked.chunks if chunk.masked]
    assert [chunk.symbol for chunk in held] == ["größe"]
    assert held[0].withheld
    assert held[0].text_sha256 != held[0].sha256


def test_masked_text_is_masked_already() -> None:
    for sample in POSITIVE:
        once = shown(sample)
        assert mask_secrets(once) == once, sample.kind


def test_a_key_is_masked_in_every_chunk_that_it_reaches_into() -> None:
    key = private_key("rsa")
    text = "word " * 780 + "\n" + key + "more words\n" * 300
    masked = without_secrets(chunk_file("notes.txt", text.encode()))
    assert sum(chunk.masked for chunk in masked.chunks) >= 2
    for line in key.splitlines()[1:-1]:
        assert line not in masked.text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_keys_in_other_encodings(encoding: str) -> None:
    file = without_secrets(chunk_file("key.txt", private_key("ec").encode(encoding)))
    assert all(line not in file.text for line in private_key("ec").splitlines()[1:-1])


def test_whole_keys() -> None:
    assert key_of_whole("\n" + private_key("rsa"))
    assert key_of_whole("PuTTY-User-Key-File-2: ssh-rsa\n")
    assert not key_of_whole("-----BEGIN PRIVATE KEY----- is how a key begins\n")
    assert not key_of_whole("# keys\n" + private_key("rsa"))


HOSTILE = {
    "beginnings of tokens": "eyJ", "of aws": "AKIA", "of slack": "xoxb-1-", "of sendgrid": "SG.", "of mailchimp": "-us",
    "of urls": "://a:", "of keys": "-----BEGIN PRIVATE KEY-----\n", "of encoded keys": "LS0tLS1CRUdJTi",
    "of bodies": "-----BEGIN PRIVATE KEY-----" + "A" * 3000, "of names": 'password="',
    "of putty": "PuTTY-User-Key-File-2: a\n",
    "many secrets": 'password = "A1b2C3d4E5f6"\n', "urls with passwords": "://u:" + "Ab1" * 50 + "@",
    "jwt of jwt": "eyJ" + "eyJ-" * 900 + " ", "discord": "Discord M" + "a" * 23 + ".", "special": "İpassword=a1b2c3d4 ",
}  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_length_whatever_the_text(piece: str) -> None:
    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        begun = time.process_time()
        find_secrets(text)
        return time.process_time() - begun

    cost(10_000)  # compiles the expressions
    small, large = cost(100_000), cost(800_000)
    assert large < 5
    assert large < 0.5 + 30 * small


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("private_key: ed25519.Ed25519PrivateKey,\n", False),
        ("private_key: x25519.X25519PrivateKey\n    | MLKEM768PrivateKey\n", False),
        ("private_key: MLKEM768X25519PrivateKey\n", False),
        ("private_key: Zq8.x7Lw2KpV9tRb4\n", True),
        ("password: !encrypted/pkcs1-oaep\n  - Zq8x7Lw2KpV9tRb4\n", False),
        ("password: !Zq8x7Lw2KpV9tRb4\n", True),
        ("private_key: Ed25519PrivateKeyZq8x7Lw2Kp\n", True),
    ],
)
def test_an_annotation_is_no_value(text: str, secret: bool) -> None:
    assert bool(find_secrets(text)) == secret


def test_many_words_that_begin_like_a_token_are_none() -> None:
    words = "".join(f"see https://docs.example/API/Reader{number}/readAsText\n" for number in range(600))
    assert not find_secrets(words)
