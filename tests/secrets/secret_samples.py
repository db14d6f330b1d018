"""Texts that hold a secret, and texts that look like it and hold none; every value is drawn when a test runs.

The texts are in `samples.toml`, those that hold a whole key here. Nothing is a token, so that no scanner takes them for
a leak.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import tomllib
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
ALPHABETS = {
    "upper": UPPER,
    "digits": "123456789",
    "lower": string.ascii_lowercase + "0123456789",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
SAMPLES = tomllib.loads(Path(__file__).with_name("samples.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Sample:
    """A file's name and text; `secrets` are the values that must not be shown, none where it holds none."""

    kind: str
    name: str
    text: str
    secrets: tuple[str, ...] = ()


class Values:
    """Random values of the usual shapes, by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(length))

    def alnum(self, length: int) -> str:
        """Letters and digits, both at least twice."""
        while True:
            value = self.of(ALNUM, length)
            if sum(map(str.isdigit, value)) > 1 and sum(map(str.isalpha, value)) > 1:
                return value

    def hex(self, length: int) -> str:
        return self.of(HEX, length)

    def password(self, length: int = 16) -> str:
        return self.alnum(length - 3) + self.of("!#*-_.+", 1) + self.of(ALNUM, 2)

    def base64(self, count: int) -> str:
        return base64.b64encode(self.random.randbytes(count)).decode()

    def jwt(self) -> str:
        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        head, body = {"alg": "HS256", "typ": "JWT"}, {"sub": self.alnum(12), "iat": 1700000000}
        signature = base64.urlsafe_b64encode(self.random.randbytes(32)).decode().rstrip("=")
        return f"{part(head)}.{part(body)}.{signature}"

    def filled(self, text: str) -> str:
        """Return a text of the table with a value of its shape and length in place of each name in braces."""

        def value(found: re.Match[str]) -> str:
            shape, length = found[1] or found[3], int(found[2] or 0)
            if shape in ALPHABETS:
                return self.of(ALPHABETS[shape], length)
            if shape == "dsn":
                return self.password(14).translate(str.maketrans("#!*+", "9743"))
            if shape == "sha":
                return hashlib.sha256(self.random.randbytes(9)).hexdigest()
            made = getattr(self, shape)
            return str(made(length) if length else made())

        return re.sub(r"\{(\w+):(\d+)\}|\{(jwt|dsn|sha)\}", value, text)


@cache
def private_key(kind: str, form: str = "pkcs8", password: bytes = b"") -> str:
    """Return a new private key in PEM."""
    made = {
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "dsa": lambda: dsa.generate_private_key(1024),
    }[kind]()
    forms = {
        "pkcs8": serialization.PrivateFormat.PKCS8,
        "traditional": serialization.PrivateFormat.TraditionalOpenSSL,
        "openssh": serialization.PrivateFormat.OpenSSH,
    }
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password)
    return made.private_bytes(serialization.Encoding.PEM, forms[form], encryption).decode()


@cache
def public_key(kind: str) -> str:
    made = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return made.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def lines_of_key(key: str) -> tuple[str, ...]:
    """Return the lines between the marks that hold key material."""
    return tuple(line for line in key.splitlines() if line and "-----" not in line and ":" not in line)


def _one(kind: str, name: str, template: str, secret: str) -> Sample:
    return Sample(kind, name, template.replace("@@", secret), (secret,))


def positives(seed: int) -> list[Sample]:
    """Return texts of many kinds and languages, each with a secret."""
    v = Values(seed)
    ec_key, rsa_key, ed_key = private_key("ec"), private_key("rsa"), private_key("ed25519", "openssh")
    old_key = private_key("rsa", "traditional")
    locked = private_key("ec", "traditional", b"locked")
    escaped = rsa_key.replace("\n", "\\n")
    concatenated = "\n".join(f'    "{line}\\n"' for line in ec_key.splitlines())
    putty = "\n".join(v.base64(48) for _ in range(4))
    return [
        *(_one(kind, name, text, v.filled(secret)) for kind, name, text, secret in SAMPLES["secret"]),
        Sample("rsa key", "server.txt", rsa_key, lines_of_key(rsa_key)),
        Sample(
            "traditional rsa key in text",
            "notes.txt",
            "the key of the old host:\n\n" + old_key,
            lines_of_key(old_key),
        ),
        Sample("ec key", "ec.pem", ec_key, lines_of_key(ec_key)),
        Sample("openssh key", "deploy", ed_key, lines_of_key(ed_key)),
        Sample("locked key", "locked.pem", locked, lines_of_key(locked)),
        Sample("key with CRLF", "win.pem", rsa_key.replace("\n", "\r\n"), lines_of_key(rsa_key)),
        Sample("key after certificate", "both.pem", public_key("rsa") + rsa_key, lines_of_key(rsa_key)),
        Sample("key in python", "auth.py", f'KEY = """{ec_key}"""\n', lines_of_key(ec_key)),
        Sample("key in joined strings", "auth.py", f"KEY = (\n{concatenated}\n)\n", lines_of_key(ec_key)),
        Sample("key in javascript template", "auth.js", f"const key = `{rsa_key}`;\n", lines_of_key(rsa_key)),
        Sample(
            "service account",
            "account.json",
            json.dumps({"type": "service_account", "private_key": rsa_key}),
            lines_of_key(rsa_key),
        ),
        Sample("key with escaped lines, yaml", "app.yml", f'key: "{escaped}"\n', lines_of_key(rsa_key)),
        Sample(
            "key indented in yaml",
            "tls.yml",
            "tls:\n  key: |\n" + "".join(f"    {line}\n" for line in ec_key.splitlines()),
            lines_of_key(ec_key),
        ),
        Sample("key in markdown fence", "ops.md", f"# Login\n\n```\n{ed_key}```\n", lines_of_key(ed_key)),
        Sample(
            "key in comments",
            "old.sh",
            "".join(f"# {line}\n" for line in ec_key.splitlines()),
            lines_of_key(ec_key),
        ),
        Sample(
            "key without end", "cut.pem", rsa_key[: rsa_key.index("-----END")], lines_of_key(rsa_key)[:-1]
        ),
        _one(
            "key in kubernetes",
            "secret.yml",
            "data:\n  tls.key: @@\n",
            base64.b64encode(rsa_key.encode()).decode(),
        ),
        _one(
            "key in kubeconfig",
            "cluster.yml",
            "users:\n- user:\n    client-key-data: @@\n",
            base64.b64encode(old_key.encode()).decode(),
        ),
        Sample(
            "putty key",
            "login.txt",
            "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: me\nPublic-Lines: 1\nAAAA\n"
            f"Private-Lines: 4\n{putty}\nPrivate-MAC: {v.hex(64)}\n",
            tuple(putty.splitlines()),
        ),
        Sample(
            "pgp key",
            "me.asc",
            f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{putty}\n=abcd\n"
            "-----END PGP PRIVATE KEY BLOCK-----\n",
            tuple(putty.splitlines()),
        ),
        _one(
            "jwt secret, env in compose",
            "compose.yaml",
            "      - JWT_SECRET=@@\n",
            v.base64(24).replace("/", "a").replace("+", "b"),
        ),
    ]


def negatives(seed: int) -> list[Sample]:
    """Return texts that look like those and hold no secret."""
    v = Values(seed)
    rows: list[tuple[str, str, str]] = [
        *((kind, name, v.filled(text)) for kind, name, text in SAMPLES["plain"]),
        ("git commits", "log.txt", "".join(f"{v.hex(40)} fix\n" for _ in range(5))),
        ("uuid", "ids.py", f'TENANT = "{uuid.UUID(int=v.random.getrandbits(128))}"\n'),
        ("uuid token", "x.json", f'{{"clientRequestToken": "{uuid.UUID(int=v.random.getrandbits(128))}"}}\n'),
        ("public key", "pub.pem", public_key("rsa")),
        ("public ec key", "ec_pub.pem", public_key("ec")),
        (
            "certificate",
            "ca.crt",
            "-----BEGIN CERTIFICATE-----\n"
            + "\n".join(v.base64(48) for _ in range(12))
            + "\n-----END CERTIFICATE-----\n",
        ),
        ("key of x", "x.pem", "-----BEGIN PRIVATE KEY-----\n" + "X" * 64 + "\n-----END PRIVATE KEY-----\n"),
        (
            "certificate in base64",
            "x.yml",
            "ca: " + base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB" + b"a" * 90).decode() + "\n",
        ),
        ("base64 json", "x.txt", base64.b64encode(b'{"a": 1, "b": [2, 3, 4]}').decode() + "\n"),
        ("embedding", "x.json", json.dumps({"vector": [round(v.random.random(), 6) for _ in range(40)]})),
        ("serial numbers", "x.csv", "".join(f"{v.of(UPPER, 4)}-{v.of('0123456789', 8)}\n" for _ in range(9))),
    ]
    return [Sample(*row) for row in rows]
