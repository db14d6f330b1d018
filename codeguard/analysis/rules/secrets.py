"""Keys, tokens and passwords that are written in a file, of whatever language.

In the ranking they weigh nothing: trusted code may hold one, and the index
withholds the chunk. `codeguard.corpus.secrets` finds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Context, Match, Rule
from codeguard.corpus import secrets
from codeguard.corpus.secrets import FoundSecret
from codeguard.models import Confidence, Severity, SourceFile

_REVOKE = (
    "Whoever reads the file has it, and so has whoever read an earlier commit. Revoke it, take the new one from "
    "the environment or a store of secrets, and keep it out of the repository."
)
_CWE = (798, 312, 540)


class SecretsSignal:
    """Secrets in the text of a file; the rules about whole files go by the name and are applied by the audit."""

    name: ClassVar[str] = "secrets"
    summary: ClassVar[str] = "keys, tokens and passwords in files of any language"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            secrets.PRIVATE_KEY,
            "A private key",
            Severity.HIGH,
            Confidence.HIGH,
            _REVOKE,
            bad="-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq…\n-----END PRIVATE KEY-----",
            good="-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG…\n-----END PUBLIC KEY-----",
            cwe=(321, 312, 540),
            language="text",
        ),
        Rule(
            secrets.CLOUD_KEY,
            "A key of a cloud provider",
            Severity.HIGH,
            Confidence.HIGH,
            _REVOKE,
            bad="aws_access_key_id: AKIA…",
            good="aws_access_key_id: ${AWS_ACCESS_KEY_ID}",
            cwe=_CWE,
            language="yaml",
        ),
        Rule(
            secrets.SERVICE_TOKEN,
            "A token of a service",
            Severity.HIGH,
            Confidence.HIGH,
            _REVOKE,
            bad='curl -H "Authorization: token ghp_…" https://api.github.com/user',
            good='curl -H "Authorization: token $GITHUB_TOKEN" https://api.github.com/user',
            cwe=_CWE,
            language="shell",
        ),
        Rule(
            secrets.JSON_WEB_TOKEN,
            "A signed JSON web token",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Until it expires the token is a login for whoever reads the file. Take it from where it is issued, "
            "when it is needed.",
            bad='Authorization: "Bearer eyJ….eyJ….…"',
            good='Authorization: "Bearer {{ token }}"',
            cwe=_CWE,
            language="yaml",
        ),
        Rule(
            secrets.PASSWORD_IN_URL,
            "An address with a password in it",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            _REVOKE + " Addresses are logged as well.",
            bad="DATABASE_URL=postgres://app:…@db.internal/orders",
            good="DATABASE_URL=postgres://app@db.internal/orders",
            cwe=_CWE,
            language="shell",
        ),
        Rule(
            secrets.ASSIGNED_SECRET,
            "What looks generated is given to the name of a secret",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            _REVOKE,
            bad="  db_password: …",
            good="  db_password: ${DB_PASSWORD}",
            cwe=_CWE,
            language="yaml",
        ),
        Rule(
            secrets.ENVIRONMENT_FILE,
            "A file of settings that hold secrets, by its name",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Such a file is where passwords are kept for one machine. Keep it out of the repository, with an example "
            "without values beside it.",
            bad=".env",
            good=".env.example",
            cwe=_CWE,
            language="text",
        ),
        Rule(
            secrets.KEY_FILE,
            "A private key or a store of keys, by its name",
            Severity.HIGH,
            Confidence.MEDIUM,
            _REVOKE,
            bad="deploy/id_ed25519",
            good="deploy/id_ed25519.pub",
            cwe=(321, 312, 540),
            language="text",
        ),
        Rule(
            secrets.CREDENTIALS_FILE,
            "A file in which a tool keeps credentials, by its name",
            Severity.HIGH,
            Confidence.MEDIUM,
            _REVOKE,
            bad=".netrc",
            good="README.md, which says how to make one's own",
            cwe=_CWE,
            language="text",
        ),
    )
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: Context) -> Iterable[Match]:
        """Yield the secrets in a file of any language."""
        for item in secrets_of(reading):
            yield Match(item.rule, item.start, item.end, _REASONS[item.rule])


_REASONS = {rule.id: f"{rule.summary[0].lower()}{rule.summary[1:]}" for rule in SecretsSignal.rules}


def secrets_of(reading: Reading) -> tuple[FoundSecret, ...]:
    """Return the secrets of a file's text, searched for once."""
    known = reading.shared.get("secrets")
    if not isinstance(known, tuple):
        known = reading.shared["secrets"] = tuple(secrets.find_secrets(reading.text))
    return known


def hidden_in(reading: Reading) -> tuple[FoundSecret, ...]:
    """Return what is not to be shown of a file: its secrets, and all values of one that is a secret by its name."""
    known = reading.shared.get("secrets by name")
    if not isinstance(known, tuple):
        known = tuple(secrets.named_secrets(reading.file.path, reading.text))
        reading.shared["secrets by name"] = known
    return known or secrets_of(reading)


def masked_file(reading: Reading) -> SourceFile:
    """Return the file without its secrets: what is compared with trusted code, which an index keeps so."""
    return secrets.without_secrets(reading.file, secrets_of(reading))


def holds_secret(reading: Reading, start: int, end: int) -> bool:
    """Return whether a stretch of a file's text overlaps with a secret that this signal reports."""
    return bool(secrets.overlapping(secrets_of(reading), start, end))


SIGNAL = SecretsSignal()
