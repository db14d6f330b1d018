"""Find files and parts of a text that are secrets, and show a text without them.

The patterns are those of detect-secrets, with a few of our own for secrets that it does not cover. Its
plugins are called only through `analyze_string`, which reads no files or settings and verifies nothing over
the network. They are loaded only when a text contains the beginning of a possible secret, because importing
the package takes longer than a small audit. They only get a bounded part of one line, because their
expressions backtrack.
"""

from __future__ import annotations

import base64
import binascii
import functools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise

from codeguard.models import Chunk, SourceFile

SCAN_VERSION = "2"  # an index built with another version reads its files again
MASK = "*"
LONGEST_TOKEN = 4_000
LONGEST_KEY = 20_000  # characters of the body of a private key
MOST_ASKED = 500  # candidates per text and plugin; beyond that, anything that begins like a secret counts

ENVIRONMENT_FILE = "environment-file"
KEY_FILE = "key-file"
CREDENTIALS_FILE = "credentials-file"
PRIVATE_KEY = "private-key"
CLOUD_KEY = "cloud-key"
SERVICE_TOKEN = "service-token"
JSON_WEB_TOKEN = "json-web-token"
PASSWORD_IN_URL = "password-in-url"
ASSIGNED_SECRET = "assigned-secret"


@dataclass(frozen=True, slots=True, order=True)
class FoundSecret:
    """A part of a text (character offsets, the end exclusive) that is a secret by a rule."""

    start: int
    end: int
    rule: str


# Names of the file, or of the file in its folder. `.pem` and `.key` are not listed: certificates and public
# keys have them as well, so their content decides.
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        ENVIRONMENT_FILE,
        re.compile(
            r"\.env(?!.*\b(?:examples?|samples?|templates?|tmpl|tpl|dist|defaults?|schema)\b)(?:\..+)?"
        ),
    ),
    (
        KEY_FILE,
        re.compile(
            r"id_(?:rsa|dsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk)|.+\.(?:ppk|p12|pfx|jks|jceks|bks|keystore|kdbx|p8)"
            r"|secring\.gpg|master\.key"
        ),
    ),
    (
        CREDENTIALS_FILE,
        re.compile(
            r"[._]netrc|\.pgpass|pgpass\.conf|\.git-credentials|\.my\.cnf|\.dockercfg|\.s3cfg|\.boto|\.htpasswd"
            r"|\.vault-token|.*\.tfstate(?:\.backup)?|kubeconfig|.+\.kubeconfig"
            r"|client_secrets?(?:[_-].+)?\.json|application_default_credentials\.json"
        ),
    ),
)
_PLACES = re.compile(
    r"(?:.*/)?(?:\.aws/credentials|\.docker/config\.json|\.kube/config|\.config/gh/hosts\.yml|\.cargo/credentials(?:\.toml)?"
    r"|\.gem/credentials|\.config/gcloud/(?:credentials\.db|legacy_credentials/.+)|\.azure/(?:accessTokens|msal_token_cache)\.json"
    r"|\.streamlit/secrets\.toml|\.terraform\.d/credentials\.tfrc\.json|\.terraformrc)"
)


def secret_file(name: str) -> str:
    """Return the rule by which a file of this name (posix, with its folders) is a secret, or ""."""
    base = name.rpartition("/")[2].lower()
    for rule, pattern in _NAMES:
        if pattern.fullmatch(base):
            return rule
    return CREDENTIALS_FILE if _PLACES.fullmatch(name) else ""


def named_secrets(name: str, text: str) -> list[FoundSecret]:
    """Return every value of a secret file: what follows `=` or `:`, or the whole line."""
    rule = secret_file(name)
    if not rule:
        return []
    return [
        FoundSecret(match.start("value"), match.end("value"), rule)
        for match in _LINE.finditer(text)
        if match["value"].strip()
    ]


@dataclass(frozen=True, slots=True)
class _Plugin:
    """A plugin of detect-secrets and where it applies.

    `anchors` are the beginnings of its secrets, or contained in them after up to `before` characters; `shape`
    must match there as well before the plugin is called. `brief` says that a line of any base64 may begin so.
    """

    rule: str
    module: str
    name: str
    anchors: tuple[str, ...]
    before: int = 0
    shape: re.Pattern[str] = re.compile("")
    brief: bool = False

    def secrets_in(self, piece: str) -> Iterator[str]:
        """Yield what the plugin finds in a part of a line."""
        return iter(_load(self.module, self.name)(piece))


@functools.cache
def _load(module: str, name: str) -> Callable[[str], Iterable[str]]:
    plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    analyze: Callable[[str], Iterable[str]] = plugin.analyze_string
    return analyze


_TOKENS = (
    _Plugin(CLOUD_KEY, "aws", "AWSKeyDetector", ("A3T", "ABIA", "ACCA", "AKIA", "ASIA")),
    _Plugin(CLOUD_KEY, "azure_storage_key", "AzureStorageKeyDetector", ("AccountKey=",)),
    _Plugin(
        SERVICE_TOKEN,
        "artifactory",
        "ArtifactoryDetector",
        ("AKC", "AP"),
        1,
        # `APETextValue` and `APDiameter1998` are names.
        re.compile(r"AKC[a-zA-Z0-9]{10}|AP(?![A-F]?[A-Z]?[a-z]+(?:[A-Z][a-z]+|\d)*(?![A-Za-z0-9]))[\dABCDEF][a-zA-Z0-9]{8}"),
        brief=True,
    ),
    _Plugin(SERVICE_TOKEN, "github_token", "GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    _Plugin(
        SERVICE_TOKEN,
        "gitlab_token",
        "GitLabTokenDetector",
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941", "glcbt-", "glimt-", "glptt-", "glagent-",
         "gloas-"),
    ),
    _Plugin(SERVICE_TOKEN, "mailchimp", "MailchimpDetector", ("-us",), 32, re.compile(r"[0-9a-z]{32}-us\d")),
    _Plugin(SERVICE_TOKEN, "npm", "NpmDetector", (":_authToken=",), 200),
    _Plugin(SERVICE_TOKEN, "openai", "OpenAIDetector", ("sk-",)),
    _Plugin(SERVICE_TOKEN, "pypi_token", "PypiTokenDetector", ("pypi-AgE",)),
    _Plugin(SERVICE_TOKEN, "sendgrid", "SendGridDetector", ("SG.",)),
    _Plugin(SERVICE_TOKEN, "slack", "SlackDetector", ("xox", "https://hooks.slack.com/services/")),
    _Plugin(SERVICE_TOKEN, "square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
    _Plugin(SERVICE_TOKEN, "stripe", "StripeDetector", ("sk_live_", "rk_live_")),
    _Plugin(
        SERVICE_TOKEN, "telegram_token", "TelegramBotTokenDetector", (":AA",), 10, re.compile(r"\d{8,10}:AA")
    ),
    _Plugin(SERVICE_TOKEN, "twilio", "TwilioKeyDetector", ("AC", "SK"), 0, re.compile(r"(?:AC|SK)[a-z0-9]{32}")),
    _Plugin(JSON_WEB_TOKEN, "jwt", "JwtTokenDetector", ("eyJ",)),
)  # fmt: skip
_DISCORD = _Plugin(SERVICE_TOKEN, "discord", "DiscordBotTokenDetector", ())
_BASIC_AUTH = _Plugin(PASSWORD_IN_URL, "basic_auth", "BasicAuthDetector", ("://",))
_HEADER = _Plugin(PRIVATE_KEY, "private_key", "PrivateKeyDetector", ("PRIVATE KEY", "PuTTY-User-Key-File-"))
# These recognize a value by the name it is assigned to.
_ASSIGNED = (
    _Plugin(CLOUD_KEY, "aws", "AWSKeyDetector", ()),
    _Plugin(CLOUD_KEY, "cloudant", "CloudantDetector", ()),
    _Plugin(CLOUD_KEY, "ibm_cos_hmac", "IbmCosHmacDetector", ()),
    _Plugin(CLOUD_KEY, "softlayer", "SoftlayerDetector", ()),
    _Plugin(CLOUD_KEY, "ibm_cloud_iam", "IbmCloudIamDetector", ()),
)
_NAMED = ("pass", "pwd", "secret", "key", "token", "contrase")

# Secrets for which release 1.5 of detect-secrets has no plugin.
_OWN: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (CLOUD_KEY, ("AIza",), re.compile(r"AIza[\w-]{35}(?![\w-])")),
    (CLOUD_KEY, ("GOCSPX-",), re.compile(r"GOCSPX-[\w-]{28}(?![\w-])")),
    (CLOUD_KEY, ("dop_v1_", "doo_v1_", "dor_v1_"), re.compile(r"do[opr]_v1_[0-9a-f]{64}(?!\w)")),
    (SERVICE_TOKEN, ("github_pat_",), re.compile(r"github_pat_\w{22,255}")),
    (SERVICE_TOKEN, ("npm_",), re.compile(r"npm_[A-Za-z0-9]{36}(?!\w)")),
    (SERVICE_TOKEN, ("hf_",), re.compile(r"hf_[A-Za-z0-9]{34,40}(?!\w)")),
    (SERVICE_TOKEN, ("sk-",), re.compile(r"sk-(?:proj|svcacct|admin|ant-[a-z]+\d\d)-[\w-]{40,300}")),
    (SERVICE_TOKEN, ("xapp-", "xoxe"), re.compile(r"xapp-\d-\w{6,20}-\d{6,20}-\w{32,128}|xoxe[.-][\w.-]{40,400}")),
    (SERVICE_TOKEN, ("whsec_",), re.compile(r"whsec_[A-Za-z0-9+/=]{32,64}")),
    (SERVICE_TOKEN, ("dckr_pat_",), re.compile(r"dckr_pat_[\w-]{27}(?![\w-])")),
    (SERVICE_TOKEN, ("hvs.",), re.compile(r"hvs\.[\w-]{24,300}")),
    (PRIVATE_KEY, ("AGE-SECRET-KEY-1",), re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{58}")),
)  # fmt: skip

_LINE = re.compile(r"(?m)^(?:[^\S\n]{0,40}[\w.\"' -]{1,100}[=:])?(?P<value>[^\n]*)$")
_RUN = re.compile(rf"[\w+/=.:~-]{{4,{LONGEST_TOKEN}}}", re.ASCII)
_REST = re.compile(rf"[\w+/=.~-]{{0,{LONGEST_TOKEN}}}", re.ASCII)
_URL = re.compile(r"://[^\s/:?#@\[\]{}$!&'()*+,;=]{1,200}:([^\s/:?#@\[\]{}!&'()*+,;=]{3,200})@(?=[\w\[])")
_VALUE = re.compile(
    r"""[\w.-]{0,40}["'`\]]{0,2}[ \t]{0,8}(?::=|=>|[:=]|[ \t](?=["']))[ \t]{0,8}(?:[brf@]?["'`]|(?=[\w+/!#^&*?~.-]))"""
    r"""(?!!(?:encrypted|vault)\b)(?=[^\s"'`]{0,80}\d)([^\s"'`,;&\\]{8,200})(?=["'`,;\s\\]|$)""",
    re.ASCII | re.IGNORECASE,
)
_DISCORD_RUN = re.compile(r"(?<![\w-])[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}", re.ASCII)
_BEGIN = re.compile(r"BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: \S+\s")
_LINES = re.compile(
    r"\s{0,4}(?:[^\S\n]{0,40}[\"']?[A-Za-z0-9+/=]{8,200}[\"'\\nr,+;]{0,8}[^\S\n]{0,8}\r?\n?){0,400}"
)
_ARMOR = re.compile(r"(?m)^[ \t\"'#*/]*[A-Za-z][\w-]{1,30}:[^\n]{0,200}$|\\[nrt]|[\s\"'`,+\\#*;|>()]")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]+")
_ENCODED = "LS0tLS1CRUdJTi"  # how "-----BEGIN" begins in base64
_PLACEHOLDER = re.compile(
    r"x{4,}|\*{3,}|\.{3}|0{8,}|1{8,}|^ENC[\[(]|^\{cipher\}|^!vault|(?i:^_*encrypt(?:ed)?_|example|placeholder|change_?me|change-?it|your[_-]|dummy|redacted|fake|"
    r"sample|insert|replace|todo|not.?set|12345678|abcdefgh|qwertyui|deadbeef|lorem|"
    r"eby8vdm02xnocqflqu)"  # the well-known key of Azure's storage emulators
)
_SECRET_NAME = re.compile(
    r"(?:pass(?:wd|word|phrase)?|pwd|secret(?:[_-]?access)?(?:[_-]?key)?|(?:api|auth|access|account|service|private|"
    r"encryption|signing|master|client|storage|shared)[_-]?key|token|contrase\w{1,3})"
    r"[\"'`\]]{0,2}[ \t]{0,8}(?::=|=>|[:=]|[ \t])[ \t]{0,8}[brf@]?[\"'`]?$"
)
_PUBLIC_NAME = re.compile(
    r"(?:continuation|next|page|paging|request|change|action|cancel\w{0,6}|sync|cursor|idempotency"
    r"|public(?:[_-]?key)?|(?:mixpanel|posthog|amplitude|segment|analytics)[\w-]{0,20}|publishable|site)"
    r"[_-]?(?:token|key)[^\w]{0,12}\Z|\.(?:svg|png)\?[^\n]{0,30}\Z"  # of a badge
)
_IDENTIFIER = re.compile(r"[A-Za-z]*\d{0,4}")
_ATTRIBUTE = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]\w*)+")
# An annotation: `private_key: x25519.X25519PrivateKey`.
_TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Public|Private|Secret|Signing)(?:Key|Token)")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")  # usually an identifier
_SPLIT = re.compile(r"[-_.:/@=\\]+")
_CODE = re.compile(
    r"[(){}<>$%]|://|\[|\]|\|\||&&|^[./~]|\.(?:py|js|ts|json|ya?ml|toml|txt|pem|key|crt|cer|html|css|sh)$"
)


def find_secrets(text: str) -> list[FoundSecret]:
    """Return the secrets of a text in order, without nested ones, in linear time."""
    found: set[FoundSecret] = set()
    for look in (_tokens, _own, _keys, _encoded, _discord, _urls, _assigned):
        found.update(look(text))
    kept: list[FoundSecret] = []
    for item in sorted(found, key=lambda item: (item.start, -item.end, _ORDER[item.rule])):
        if kept and item.start < kept[-1].end:
            if item.end > kept[-1].end:
                kept[-1] = FoundSecret(kept[-1].start, item.end, kept[-1].rule)
            continue
        kept.append(item)
    return kept


_ORDER = {
    rule: place
    for place, rule in enumerate(
        (PRIVATE_KEY, CLOUD_KEY, SERVICE_TOKEN, JSON_WEB_TOKEN, PASSWORD_IN_URL, ASSIGNED_SECRET)
    )
}


def without_secrets(
    file: SourceFile, secrets: Sequence[FoundSecret] | None = None, *, withhold: bool = False
) -> SourceFile:
    """Return a file with its secrets masked, and chunks with secrets marked, and withheld if requested.

    Digests stay those of the original texts, because trust depends on them.
    `secrets` are those of its text, if they are known.
    """
    if secrets is None:
        text = "".join(chunk.text for chunk in file.chunks)
        secrets = named_secrets(file.path, text) or find_secrets(text)
    if not secrets:
        return file
    chunks: list[Chunk] = []
    start = 0
    for chunk in file.chunks:
        end = start + len(chunk.text)
        held = overlapping(secrets, start, end)
        masked = mask_secrets(chunk.text, held, start)
        start = end
        if masked != chunk.text:
            rules = tuple(sorted({item.rule for item in held}))
            chunk = replace(chunk, text=masked, secrets=rules, withheld=withhold)
        chunks.append(chunk)
    return replace(file, text="".join(chunk.text for chunk in chunks), chunks=tuple(chunks))


def overlapping(secrets: Sequence[FoundSecret], start: int, end: int) -> Sequence[FoundSecret]:
    """Return those of a text's secrets, given in order, that overlap a part of it."""
    return secrets[
        bisect_right(secrets, start, key=lambda item: item.end) : bisect_left(
            secrets, end, key=lambda item: item.start
        )
    ]


def scanner() -> str:
    """Return the version of the secret scan: an index built with another one reads its files again."""
    from importlib.metadata import version  # needed only by the index

    return f"{SCAN_VERSION} detect-secrets {version('detect-secrets')}"


def mask_secrets(text: str, secrets: Iterable[FoundSecret] | None = None, start: int = 0) -> str:
    """Return a text with its secrets replaced by stars, one per byte; line breaks stay.

    `secrets` are those of a longer text in which this one begins at `start`; without them the text is searched.
    """
    parts: list[str] = []
    position = 0
    for item in find_secrets(text) if secrets is None else secrets:
        first, last = max(item.start - start, position), min(item.end - start, len(text))
        if first < last:
            parts += (text[position:first], _stars(text[first:last]))
            position = last
    return "".join((*parts, text[position:])) if parts else text


def _stars(text: str) -> str:
    if text.isascii():
        return re.sub(r"[^\s]", MASK, text)
    return "".join(
        char if char.isspace() else MASK * len(char.encode("utf-8", "surrogatepass")) for char in text
    )


def key_of_whole(head: str) -> bool:
    """Return whether a text with this beginning is only a private key."""
    begun = head.lstrip("\ufeff \t\r\n-")
    if _PUTTY.match(begun):
        return True
    return _BEGIN.match(begun) is not None and next(_keys(head), None) is not None


def strong_token(secret: str) -> bool:
    """Return whether a token is random enough, and not an example."""
    return len(secret) >= 12 and entropy(secret) > 2.8 and not _PLACEHOLDER.search(secret)


def strong_password(secret: str) -> bool:
    """Return whether a text looks generated: letters and digits mixed, not words followed by a number."""
    if len(secret) < 8 or entropy(secret) < 2.8:
        return False
    if _PLACEHOLDER.search(secret) or _CODE.search(secret):
        return False
    if any(kind.fullmatch(secret) for kind in (_UUID, _ATTRIBUTE, _TYPE)):
        return False
    return any(not _IDENTIFIER.fullmatch(part) for part in _SPLIT.split(secret)) and _turns(secret) >= 3


def _turns(text: str) -> int:
    """Return how often a text switches between letters and other characters."""
    return sum(a.isalpha() != b.isalpha() for a, b in pairwise(text))


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text, in bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _anchored(text: str, anchors: Iterable[str]) -> Iterator[int]:
    """Yield the positions of all anchors."""
    for anchor in anchors:
        at = text.find(anchor)
        while at >= 0:
            yield at
            at = text.find(anchor, at + len(anchor))


def _inside_word(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isalnum() and text[at - 2 : at] not in ("\\n", "\\t", "\\r")


def _tokens(text: str) -> Iterator[FoundSecret]:
    for plugin in _TOKENS:
        asked = 0
        for at in _run_starts(text, plugin):
            run = _RUN.match(text, at)
            if run is None:
                continue
            begin = max(text.rfind("\n", max(0, at - plugin.before), at) + 1, at - plugin.before)
            if plugin.shape.search(text, begin, run.end()) is None:
                continue
            if plugin.brief and _in_block(text, at):
                continue
            asked += 1
            if asked > MOST_ASKED:
                yield FoundSecret(begin, run.end(), plugin.rule)
            else:
                yield from _confirmed(plugin, text, begin, run.end() + 1)


_BLOCK_LINE = re.compile(r"[ \t]{0,80}[A-Za-z0-9+/]{60,100}[ \t\r]{0,9}(?:\n|\Z)")


def _in_block(text: str, at: int) -> bool:
    """Return whether a place is in base64 that is wrapped to lines of one length, as the line before shows."""
    first = text.rfind("\n", max(0, at - 200), at) + 1
    before = text.rfind("\n", max(0, first - 201), max(0, first - 1)) + 1
    line, previous = _BLOCK_LINE.match(text, first), _BLOCK_LINE.match(text, before)
    return (
        line is not None
        and previous is not None
        and previous.end() == first
        and line.end() - first == first - before
    )


def _run_starts(text: str, plugin: _Plugin) -> Iterator[int]:
    """Yield where a token may begin, once per run of characters, all of which the plugin examines."""
    for anchor in plugin.anchors:
        done = 0
        for at in _anchored(text, (anchor,)):
            if at >= done and (plugin.before or not _inside_word(text, at)):
                run = _RUN.match(text, at)
                done = at if run is None else run.end()
                yield at


def _confirmed(plugin: _Plugin, text: str, begin: int, end: int) -> Iterator[FoundSecret]:
    """Call a plugin; it may report only a secret's beginning, so the result extends to the token's end."""
    piece = text[begin:end]
    last = begin
    for secret in plugin.secrets_in(piece):
        at = begin + piece.find(secret, last - begin)
        if at < last:  # within the previous token
            continue
        rest = _REST.match(text, at + len(secret))
        last = rest.end() if rest is not None else at + len(secret)
        if strong_token(text[at:last]):
            yield FoundSecret(at, last, plugin.rule)


def _own(text: str) -> Iterator[FoundSecret]:
    for rule, anchors, pattern in _OWN:
        for at in _anchored(text, anchors):
            match = None if _inside_word(text, at) else pattern.match(text, at)
            if match is not None and strong_token(match[0]):
                yield FoundSecret(at, match.end(), rule)


def _discord(text: str) -> Iterator[FoundSecret]:
    if "iscord" not in text:
        return
    for asked, match in enumerate(_DISCORD_RUN.finditer(text)):
        if asked >= MOST_ASKED or any(map(strong_token, _DISCORD.secrets_in(match[0]))):
            yield FoundSecret(match.start(), match.end(), SERVICE_TOKEN)


def _keys(text: str) -> Iterator[FoundSecret]:
    """Yield the bodies of private keys; a header without one belongs to a parser or a text about keys."""
    for at in _anchored(text, ("PRIVATE KEY",)):
        header = _BEGIN.match(text, max(text.rfind("BEGIN ", max(0, at - 40), at), 0))
        if header is None or not _known_header(header[0]):
            continue
        start = header.end()
        ends = [
            place
            for mark in ("-----END", "-----BEGIN")
            if (place := text.find(mark, start, start + LONGEST_KEY)) >= 0
        ]
        lines = _LINES.match(text, start)
        end = min(ends) if ends else max(start, lines.end() if lines is not None else start)
        if _is_key_body(text[start:end]):
            yield FoundSecret(start, end, PRIVATE_KEY)
    for header in map(functools.partial(_PUTTY.match, text), _anchored(text, ("PuTTY-User-Key-File-",))):
        if header is not None:
            end = text.find("Private-MAC:", header.end(), header.end() + LONGEST_KEY)
            if end >= 0:
                stop = text.find("\n", end)
                yield FoundSecret(header.end(), len(text) if stop < 0 else stop, PRIVATE_KEY)


def _known_header(header: str) -> bool:
    return "ENCRYPTED" in header or any(True for _ in _HEADER.secrets_in(header))


def _is_key_body(body: str) -> bool:
    """Return whether there is mostly base64 between the markers, however its lines are quoted and joined."""
    left = _ARMOR.sub("", body)
    encoded = sum(len(run) for run in _BASE64.findall(left) if len(run) >= 16)
    return encoded >= 40 and encoded >= 0.8 * len(left) and len(set(left)) >= 12


def _encoded(text: str) -> Iterator[FoundSecret]:
    """Yield private keys that are base64-encoded once more, as in Kubernetes manifests."""
    for at in _anchored(text, (_ENCODED,)):
        run = _BASE64.match(text, at, at + LONGEST_KEY)
        if run is None or len(run[0]) < 100:
            continue
        try:
            head = base64.b64decode(run[0][:80]).decode("ascii", "replace")
        except binascii.Error:
            continue
        if "PRIVATE KEY" in head:
            yield FoundSecret(at, run.end(), PRIVATE_KEY)


def _urls(text: str) -> Iterator[FoundSecret]:
    asked = 0
    for at in _anchored(text, _BASIC_AUTH.anchors):
        match = _URL.match(text, at)
        if match is None or not strong_password(match[1]):
            continue
        asked += 1
        if asked > MOST_ASKED or match[1] in _BASIC_AUTH.secrets_in(match[0]):
            yield FoundSecret(*match.span(1), PASSWORD_IN_URL)


def _assigned(text: str) -> Iterator[FoundSecret]:
    """Yield values that look generated and are assigned to a secret-like name."""
    low = text.lower()
    if len(low) != len(text):
        low = text  # some letters become two, which would shift the offsets
    asked = 0
    seen: set[int] = set()
    for at in _anchored(low, _NAMED):
        match = _VALUE.match(text, at)
        if match is None or match.start(1) in seen:
            continue
        seen.add(match.start(1))
        value = match[1]
        begin = max(text.rfind("\n", max(0, at - 40), at) + 1, at - 40)
        piece = text[begin : match.end() + 1]
        if strong_token(value) and asked <= MOST_ASKED:
            asked += 1
            plugin = next((item for item in _ASSIGNED if value in item.secrets_in(piece)), None)
            if plugin is not None:
                yield FoundSecret(*match.span(1), plugin.rule)
                continue
        if strong_password(value) and _is_name_of_secret(low[begin : match.start(1)]):
            yield FoundSecret(*match.span(1), ASSIGNED_SECRET)


def _is_name_of_secret(named: str) -> bool:
    """Return whether the text before a value ends with a secret-like name, not that of a public token."""
    found = _SECRET_NAME.search(named)
    if found is None or named[: found.start()].endswith(":"):  # `…:secret:name` is a reference to a secret
        return False
    return _PUBLIC_NAME.search(named) is None
