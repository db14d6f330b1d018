"""Texts that hold a secret, and texts that look like it and hold none; every value is drawn when a test runs.

Nothing here is a token, so that no scanner takes this file for a leak. Of each list every second sample was
frozen before the detectors were first run on any: `HELD_OUT` measures, `DEVELOPMENT` is what they were made by.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


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
    jwt, dsn = v.jwt(), v.password(14).replace("#", "9").replace("!", "7").replace("*", "4").replace("+", "3")
    ec_key, rsa_key, ed_key = private_key("ec"), private_key("rsa"), private_key("ed25519", "openssh")
    old_key = private_key("rsa", "traditional")
    locked = private_key("ec", "traditional", b"locked")
    escaped = rsa_key.replace("\n", "\\n")
    concatenated = "\n".join(f'    "{line}\\n"' for line in ec_key.splitlines())
    putty = "\n".join(v.base64(48) for _ in range(4))
    made = [
        _one("aws id, yaml", "deploy.yml", "access_key_id: @@\n", "AKIA" + v.of(UPPER, 16)),
        _one(
            "aws id, python",
            "s3.py",
            'client = boto3.client("s3", aws_access_key_id="@@")\n',
            "ASIA" + v.of(UPPER, 16),
        ),
        _one("aws secret, python", "s3.py", 'AWS_SECRET_ACCESS_KEY = "@@"\n', v.base64(30)),
        _one("aws secret, shell", "run.sh", "export AWS_SECRET_ACCESS_KEY=@@\n", v.alnum(40)),
        _one("aws secret, terraform", "main.tf", 'provider "aws" {\n  secret_key = "@@"\n}\n', v.alnum(40)),
        _one(
            "azure storage, c#",
            "Store.cs",
            'var c = "AccountName=shop;AccountKey=@@;EndpointSuffix=core";\n',
            v.base64(64),
        ),
        _one("google api key, js", "map.js", 'const key = "@@";\n', "AIza" + v.alnum(35)),
        _one("google oauth, json", "oauth.json", '{"client_secret": "@@"}\n', "GOCSPX-" + v.alnum(28)),
        _one("digitalocean, toml", "c.toml", 'token = "@@"\n', "dop_v1_" + v.hex(64)),
        _one("ibm cloud, ini", "app.ini", "ibm_cloud_api_key = @@\n", v.alnum(44)),
        _one(
            "github classic, markdown",
            "README.md",
            "Clone with `git clone`, token @@\n",
            "ghp_" + v.alnum(36),
        ),
        _one(
            "github app, ruby",
            "ci.rb",
            'client = Octokit::Client.new(access_token: "@@")\n',
            "ghs_" + v.alnum(36),
        ),
        _one(
            "github fine-grained, yaml",
            "ci.yml",
            "env:\n  GH_TOKEN: @@\n",
            "github_pat_" + v.alnum(22) + "_" + v.alnum(59),
        ),
        _one("github oauth, java", "Main.java", 'String t = "@@";\n', "gho_" + v.alnum(36)),
        _one(
            "gitlab, shell",
            "push.sh",
            'curl --header "PRIVATE-TOKEN: @@" https://gitlab.com\n',
            "glpat-" + v.alnum(20),
        ),
        _one("gitlab runner, toml", "config.toml", 'token = "@@"\n', "glrt-" + v.alnum(20)),
        _one(
            "slack bot, go",
            "bot.go",
            'api := slack.New("@@")\n',
            f"xoxb-{v.of('123456789', 12)}-{v.of('123456789', 12)}-{v.of(string.ascii_lowercase + '0123456789', 24)}",
        ),
        _one(
            "slack hook, yaml",
            "alert.yml",
            "url: @@\n",
            f"https://hooks.slack.com/services/T{v.of(UPPER, 8)}/B{v.of(UPPER, 8)}/{v.alnum(24)}",
        ),
        _one(
            "slack app, text",
            "notes.txt",
            "socket mode: @@\n",
            f"xapp-1-A{v.of(UPPER, 10)}-{v.of('123456789', 13)}-{v.hex(64)}",
        ),
        _one("stripe live, php", "pay.php", '<?php Stripe::setApiKey("@@");\n', "sk_live_" + v.alnum(24)),
        _one(
            "stripe restricted, ts", "pay.ts", 'const stripe = new Stripe("@@");\n', "rk_live_" + v.alnum(24)
        ),
        _one("stripe webhook, python", "hook.py", 'endpoint = "@@"\n', "whsec_" + v.alnum(32)),
        _one("twilio, python", "sms.py", 'client = Client("@@")\n', "SK" + v.hex(32)),
        _one("sendgrid, js", "mail.js", 'sg.setApiKey("@@");\n', f"SG.{v.alnum(22)}.{v.alnum(43)}"),
        _one("mailchimp, php", "list.php", '$mc = new MailChimp("@@");\n', v.hex(32) + "-us12"),
        _one(
            "telegram, python",
            "bot.py",
            'bot = telegram.Bot("@@")\n',
            f"{v.of('123456789', 9)}:AA{v.alnum(33)}",
        ),
        _one("discord, js", "bot.js", 'discord.login("@@");\n', f"M{v.alnum(23)}.{v.alnum(6)}.{v.alnum(27)}"),
        _one("npm in npmrc", ".npmrc", "//registry.npmjs.org/:_authToken=@@\n", "npm_" + v.alnum(36)),
        _one("npm in shell", "publish.sh", "NPM_TOKEN=@@ npm publish\n", "npm_" + v.alnum(36)),
        _one(
            "pypi in pypirc",
            ".pypirc",
            "[pypi]\nusername = __token__\npassword = @@\n",
            "pypi-AgEIcHlwaS5vcmc" + v.alnum(80),
        ),
        _one(
            "openai, python", "chat.py", 'openai.api_key = "@@"\n', f"sk-{v.alnum(20)}T3BlbkFJ{v.alnum(20)}"
        ),
        _one("openai project, ts", "chat.ts", 'new OpenAI({ apiKey: "@@" })\n', f"sk-proj-{v.alnum(60)}"),
        _one("anthropic, rust", "main.rs", 'let key = "@@";\n', f"sk-ant-api03-{v.alnum(90)}"),
        _one(
            "hugging face, notebook",
            "m.ipynb",
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "code", "source": ["login()"], "outputs": [{"text": ["using @@\n"]}]}
                    ]
                }
            ),
            "hf_" + v.alnum(34),
        ),
        _one("square, kotlin", "Pay.kt", 'val secret = "@@"\n', "sq0csp-" + v.alnum(43)),
        _one("artifactory, gradle", "build.gradle", 'password = "@@"\n', "AKCp8" + v.alnum(60)),
        _one(
            "docker hub, shell",
            "login.sh",
            "echo @@ | docker login --password-stdin\n",
            "dckr_pat_" + v.alnum(27),
        ),
        _one("vault, hcl", "vault.hcl", 'token = "@@"\n', "hvs." + v.alnum(24)),
        _one("softlayer, ini", "sl.ini", "softlayer_api_key = @@\n", v.hex(64)),
        _one(
            "age key, text",
            "key.txt",
            "# created: 2024\n@@\n",
            "AGE-SECRET-KEY-1" + v.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
        ),
        _one("jwt in header, http", "call.http", "GET /\nAuthorization: Bearer @@\n", jwt),
        _one("jwt, javascript", "app.js", 'const session = "@@";\n', jwt),
        _one("jwt, csv", "log.csv", "time,token\n1,@@\n", jwt),
        _one("url, shell", "db.sh", "psql postgres://app:@@@db.internal/orders\n", dsn),
        _one("url, yaml", "compose.yml", "  DATABASE_URL: mysql://root:@@@mysql:3306/shop\n", dsn),
        _one("url, go", "main.go", 'conn := "amqp://svc:@@@mq.corp:5672/"\n', dsn),
        _one("url, git remote", "config", "[remote]\n  url = https://ci:@@@git.corp/app.git\n", dsn),
        _one(
            "url, markdown fence",
            "setup.md",
            "Run\n```sh\nredis-cli -u redis://default:@@@cache.corp:6379\n```\n",
            dsn,
        ),
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
        _one("password, yaml", "values.yml", "db:\n  password: @@\n", v.password()),
        _one("password, toml", "conf.toml", '[db]\npassword = "@@"\n', v.password()),
        _one("password, json", "conf.json", '{"db": {"password": "@@"}}\n', v.password()),
        _one("password, properties", "app.properties", "spring.datasource.password=@@\n", v.password()),
        _one("password, docker", "Dockerfile", "ENV MYSQL_ROOT_PASSWORD=@@\n", v.password()),
        _one("password, java", "Db.java", 'String password = "@@";\n', v.password()),
        _one("password, c", "db.c", 'const char *db_password = "@@";\n', v.password()),
        _one("password, powershell", "x.ps1", '$env:DB_PASSWORD = "@@"\n', v.password()),
        _one("password, xml", "web.config", '<add key="db" password="@@" />\n', v.password()),
        _one("password, php array", "conf.php", "<?php return ['password' => '@@'];\n", v.password()),
        _one("secret key, django", "settings.py", 'SECRET_KEY = "@@"\n', v.alnum(50)),
        _one("client secret, js", "auth.js", "const clientSecret = '@@';\n", v.alnum(32)),
        _one("api key, ruby", "x.rb", 'api_key = "@@"\n', v.hex(32)),
        _one("auth token, go", "x.go", 'authToken := "@@"\n', v.alnum(40)),
        _one(
            "jwt secret, env in compose",
            "compose.yaml",
            "      - JWT_SECRET=@@\n",
            v.base64(24).replace("/", "a").replace("+", "b"),
        ),
        _one(
            "password in command line", "dump.sh", "mysqldump --password=@@ shop > shop.sql\n", v.password()
        ),
        _one("password chosen by a person", "conf.yml", "password: @@\n", f"Winter{v.of('123456789', 4)}!"),
        _one("words as password", "conf.yml", "password: @@\n", "correct-horse-battery-staple"),
        _one(
            "password in prose",
            "wiki.md",
            "Log in as admin with the password @@ and change it.\n",
            v.password(),
        ),
        _one("utf-8 with mark", "conf.ini", "\ufeff[db]\npassword = @@\n", v.password()),
        _one(
            "non-ascii around", "größe.yml", "# für die Datenbank\npassword: @@  # Schlüssel\n", v.password()
        ),
    ]
    return made


def negatives(seed: int) -> list[Sample]:
    """Return texts that look like those and hold no secret."""
    v = Values(seed)
    sha = hashlib.sha256(v.random.randbytes(9)).hexdigest()
    rows: list[tuple[str, str, str]] = [
        ("aws example", "doc.md", "Use `AKIAIOSFODNN7EXAMPLE` as the key id.\n"),
        ("aws placeholder", "x.yml", "aws_access_key_id: AKIAXXXXXXXXXXXXXXXX\n"),
        ("aws from environment", "s3.py", 'key = os.environ["AWS_SECRET_ACCESS_KEY"]\n'),
        ("aws variable", "main.tf", "secret_key = var.aws_secret_access_key\n"),
        ("azure template", "x.cs", 'var c = "AccountName={0};AccountKey={1}";\n'),
        ("google placeholder", "x.js", 'const key = "YOUR_API_KEY";\n'),
        ("github variable", "ci.yml", "token: ${{ secrets.GITHUB_TOKEN }}\n"),
        ("github placeholder", "doc.md", "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"),
        ("github prefix in code", "scan.py", 'PREFIXES = ("ghp_", "gho_", "ghu_")\n'),
        ("gitlab pattern", "scan.py", 'PATTERN = re.compile(r"glpat-[A-Za-z0-9_-]{20}")\n'),
        (
            "slack placeholder",
            "x.yml",
            "hook: https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX\n",
        ),
        ("stripe test word", "pay.py", "def sk_live_mode(): ...\n"),
        ("stripe empty", "x.ts", 'const key = process.env.STRIPE_KEY ?? "";\n'),
        ("twilio words", "x.py", 'ACCOUNTS = "SKIP", "ACTIVE"\n'),
        ("sendgrid name", "x.js", "SG.setApiKey(process.env.SENDGRID);\n"),
        ("md5 list", "sums.md5", f"{v.hex(32)}  a.tar\n{v.hex(32)}  b.tar\n"),
        ("sha256 list", "sums.txt", f"{sha}  a.tar\n"),
        ("git commits", "log.txt", "".join(f"{v.hex(40)} fix\n" for _ in range(5))),
        ("lock file", "poetry.lock", f'[[package]]\nfiles = [{{file = "a.whl", hash = "sha256:{sha}"}}]\n'),
        ("integrity", "package-lock.json", f'{{"integrity": "sha512-{v.base64(64)}"}}\n'),
        ("uuid", "ids.py", f'TENANT = "{uuid.UUID(int=v.random.getrandbits(128))}"\n'),
        ("uuid token", "x.json", f'{{"clientRequestToken": "{uuid.UUID(int=v.random.getrandbits(128))}"}}\n'),
        ("region", "x.yml", "region: fips-us-east-1\nendpoint: bedrock-runtime-us-gov-west-1\n"),
        ("public key", "pub.pem", public_key("rsa")),
        ("public ec key", "ec_pub.pem", public_key("ec")),
        (
            "certificate",
            "ca.crt",
            "-----BEGIN CERTIFICATE-----\n"
            + "\n".join(v.base64(48) for _ in range(12))
            + "\n-----END CERTIFICATE-----\n",
        ),
        (
            "certificate request",
            "x.csr",
            "-----BEGIN CERTIFICATE REQUEST-----\n" + v.base64(96) + "\n-----END CERTIFICATE REQUEST-----\n",
        ),
        ("ssh public key", "id_rsa.pub", f"ssh-rsa AAAAB3NzaC1yc2E{v.base64(200)} me@host\n"),
        ("authorized keys", "authorized_keys", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{v.base64(32)} me\n"),
        ("known hosts", "known_hosts", f"git.corp ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{v.base64(32)}\n"),
        (
            "pgp public key",
            "pub.asc",
            f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{v.base64(96)}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        ),
        (
            "pgp signature",
            "x.asc",
            f"-----BEGIN PGP SIGNATURE-----\n\n{v.base64(96)}\n-----END PGP SIGNATURE-----\n",
        ),
        (
            "key marks in parser",
            "pem.py",
            'BEGIN = "-----BEGIN RSA PRIVATE KEY-----"\nEND = "-----END RSA PRIVATE KEY-----"\n',
        ),
        (
            "key marks in comparison",
            "pem.py",
            'if line.startswith("-----BEGIN PRIVATE KEY-----"):\n    in_key = True\n'
            'elif line.startswith("-----END PRIVATE KEY-----"):\n    in_key = False\n',
        ),
        ("key in docs", "doc.md", "```\n-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n```\n"),
        (
            "key placeholder",
            "x.yml",
            'key: "-----BEGIN PRIVATE KEY-----\\nYOUR KEY HERE\\n-----END PRIVATE KEY-----"\n',
        ),
        ("key of x", "x.pem", "-----BEGIN PRIVATE KEY-----\n" + "X" * 64 + "\n-----END PRIVATE KEY-----\n"),
        (
            "certificate in base64",
            "x.yml",
            "ca: " + base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB" + b"a" * 90).decode() + "\n",
        ),
        ("putty mark", "ppk.py", 'MAGIC = "PuTTY-User-Key-File-2"\n'),
        ("jwt words", "x.py", 'HEADER = "eyJ is how a token begins"\n'),
        ("jwt head alone", "x.md", "`eyJhbGciOiJIUzI1NiJ9` is the header.\n"),
        ("base64 json", "x.txt", base64.b64encode(b'{"a": 1, "b": [2, 3, 4]}').decode() + "\n"),
        ("url without password", "x.sh", "psql postgres://app@db.internal/orders\n"),
        ("url of a variable", "x.yml", "url: postgres://app:${DB_PASSWORD}@db/orders\n"),
        ("url of a template", "x.py", 'url = f"postgres://{user}:{password}@{host}/db"\n'),
        ("url of documentation", "x.md", "http://user:password@proxy.corp:3128\n"),
        ("url of a test", "x.py", 'create_engine("postgresql://scott:tiger@localhost/test")\n'),
        ("url with port", "x.py", 'BASE = "http://localhost:8080/@scope/package"\n'),
        ("scoped package", "x.js", 'import x from "https://esm.sh/v135:@scope/x@1.2.3";\n'),
        ("mail address", "x.py", 'AUTHOR = "mailto:me@corp.test"\n'),
        ("password changeme", "x.yml", "password: changeme\n"),
        ("password of a test", "test_x.py", 'login(password="secret")\nlogin(password="test1234")\n'),
        ("password null", "x.yml", "password: null\nsecret: ''\n"),
        (
            "password placeholder",
            ".env.example",
            "DB_PASSWORD=\nAPI_KEY=your-key-here\nSECRET=<generate one>\n",
        ),
        ("password from vault", "x.yml", "password: !vault secret/db/password\n"),
        ("password by template", "x.yml", 'password: "{{ db_password }}"\n'),
        ("password by shell", "x.sh", 'PASSWORD="$(pass show db/main)"\n'),
        ("password by call", "x.js", "const password = generatePassword(16, 2);\n"),
        ("password by index", "x.py", "password = row[2]\ntoken = tokens[17]\n"),
        ("password attribute", "x.java", "this.password = config.password2Hash;\n"),
        ("password type", "x.ts", "interface Login { password: string; token2: number }\n"),
        ("password of argparse", "x.py", 'parser.add_argument("--password", default=None)\n'),
        ("password check", "x.c", "if (password_len < 12 || token_count > 99) return;\n"),
        ("password field", "x.html", '<input type="password" name="password1" id="id_password1">\n'),
        ("password file", "x.yml", "password_file: /run/secrets/db_password_v2\n"),
        ("password message", "x.json", '{"password_too_short": "At least 12 characters"}\n'),
        ("secret reference", "x.yml", "secretKeyRef:\n  name: db-credentials-v2\n  key: password\n"),
        (
            "secret address",
            "x.json",
            '{"secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1b2c3"}\n',
        ),
        ("secret name", "x.py", 'SECRET_NAME = "prod/db/main-v2"\n'),
        ("key of a dictionary", "x.py", 'key = "user:1234:profile"\ncache[key] = 1\n'),
        ("sort key", "x.py", "items.sort(key=lambda item: item.size2)\n"),
        ("primary key", "x.sql", "id BIGINT PRIMARY KEY, key1 VARCHAR(255)\n"),
        ("key code", "x.js", 'if (event.key === "F12" || event.keyCode === 123) stop();\n'),
        ("token of a parser", "x.py", "token = Token(NAME, 'x2', 1)\nTOKENS = {'PLUS': 14}\n"),
        ("token count", "x.py", "max_tokens=4096, token_limit=128000\n"),
        ("next page", "x.json", f'{{"NextContinuationToken": "{v.alnum(56)}"}}\n'),
        ("public key value", "x.yml", f"public_key: {v.base64(32)}\n"),
        ("site key", "x.js", "grecaptcha.render({ theme: 'light', sitekey: window.SITE_KEY2 });\n"),
        ("color and version", "x.css", "a { color: #a1b2c3d4 } /* v12.3.4-rc1 */\n"),
        (
            "minified code",
            "x.min.js",
            "!function(e,t){e.exports=t(e.a1,e.b2)}(this,function(A3T,AC1){return A3T});\n",
        ),
        (
            "data address",
            "x.css",
            f"a {{ background: url(data:image/png;base64,iVBORw0KGgo{v.base64(300)}) }}\n",
        ),
        ("embedding", "x.json", json.dumps({"vector": [round(v.random.random(), 6) for _ in range(40)]})),
        ("serial numbers", "x.csv", "".join(f"{v.of(UPPER, 4)}-{v.of('0123456789', 8)}\n" for _ in range(9))),
        ("hash of a password", "x.py", "assert verify(password_hash, hash_name='pbkdf2_sha256')\n"),
        ("regular expression", "x.py", r'PASSWORD = re.compile(r"^(?=.*\d)(?=.*[a-z]).{8,32}$")' + "\n"),
        ("translation", "de.po", 'msgid "password"\nmsgstr "Passwort (8-32 Zeichen)"\n'),
        ("environment names", "x.sh", ': "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}"\n'),
        ("documentation of a setting", "x.rst", "``secret_key`` : str, default ``None`` -- see RFC7519\n"),
        ("go module sums", "go.sum", f"golang.org/x/crypto v0.21.0 h1:{v.base64(32)}\n"),
        ("digest of a token", "x.py", f'assert sha256(token).hexdigest() == "{sha}"\n'),
    ]
    return [Sample(*row) for row in rows]


def halves(make: Callable[[int], list[Sample]], seed: int) -> tuple[list[Sample], list[Sample]]:
    """Return what the detectors were made by, and what was frozen before."""
    samples = make(seed)
    return samples[::2], samples[1::2]
