"""Find files and parts of a text that are secrets, and show a text without them.

A token of a service is a row of `secrets.toml`, with the beginnings by which a text is searched first: most texts have
none of them. Every expression gets a bounded part of the text.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from codeguard.corpus.patterns import lazy, stored
from codeguard.models import Chunk, SourceFile

SCAN_VERSION = "3"  # an index built with another version reads its files again
MASK = "*"
LONGEST_TOKEN = 4_000
LONGEST_KEY = 20_000  # characters of the body of a private key

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


_FORMS = stored(Path(__file__).with_suffix(".toml"))
_NAMES = {rule: lazy("|".join(parts)) for rule, parts in _FORMS["files"].items()}
_PLACES = {rule: lazy(f"(?:.*/)?(?:{'|'.join(parts)})") for rule, parts in _FORMS["places"].items()}


def secret_file(name: str) -> str:
    """Return the rule by which a file of this name (posix, with its folders) is a secret, or ""."""
    base = name.rpartition("/")[2].lower()
    asked = (*((base, *row) for row in _NAMES.items()), *((name, *row) for row in _PLACES.items()))
    return next((rule for text, rule, pattern in asked if pattern.fullmatch(text)), "")


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
class _Token:
    """The tokens of a service: the rule, what they begin with, and their form.

    A token is what the form's group has matched, if it has one, and the rest of the word. `before` characters of it
    may stand before the beginning.
    """

    rule: str
    anchors: tuple[str, ...]
    form: re.Pattern[str]
    before: int = 0


_TOKENS = tuple(
    _Token(rule, tuple(anchors.split()), lazy(form, re.ASCII), *before)
    for rule, anchors, form, *before in _FORMS["tokens"]["rows"]
)
_NAMED = ("pass", "pwd", "secret", "key", "token", "contrase")


_LINE = re.compile(r"(?m)^(?:[^\S\n]{0,40}[\w.\"' -]{1,100}[=:])?(?P<value>[^\n]*)$")
_RUN = re.compile(rf"[\w+/=.:~-]{{4,{LONGEST_TOKEN}}}", re.ASCII)
_REST = re.compile(rf"[\w+/=.~-]{{0,{LONGEST_TOKEN}}}", re.ASCII)
_URL = re.compile(r"://[^\s/:?#@\[\]{}$!&'()*+,;=]{1,200}:([^\s/:?#@\[\]{}$!&'()*+,;=]{3,200})@(?=[\w\[])")
_VALUE = re.compile(
    r"""[\w.-]{0,40}["'`\]]{0,2}[ \t]{0,8}(?::=|=>|[:=]|[ \t](?=["']))[ \t]{0,8}(?:[brf@]?["'`]|(?=[\w+/!#^&*?~.-]))"""
    r"""(?!!(?:encrypted|vault)\b)(?=[^\s"'`]{0,80}\d)([^\s"'`,;&\\]{8,200})(?=["'`,;\s\\]|$)""",
    re.ASCII | re.IGNORECASE,
)
_DISCORD_RUN = re.compile(r"(?<![\w-])[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}", re.ASCII)
_BEGIN = re.compile(
    r"BEGIN (?:(?:DSA|EC|OPENSSH|PGP|RSA) |(?:[A-Z0-9]{2,10} )?ENCRYPTED )?PRIVATE KEY(?: BLOCK)?-----"
)
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
_ATTRIBUTE = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]\w*)+(?::[A-Za-z_]\w*)?")  # or an entry point
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
    for look in (_tokens, _keys, _encoded, _discord, _urls, _assigned):
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
        text = searched(file)
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
    text = "".join(chunk.text for chunk in chunks)
    raw = mask_secrets(file.raw, overlapping(secrets, start, start + len(file.raw)), start)
    return replace(file, text=text, chunks=tuple(chunks), raw=raw)


def searched(file: SourceFile) -> str:
    """Return what is searched for secrets: the text and, of a notebook, the whole file behind it."""
    return "".join([*(chunk.text for chunk in file.chunks), file.raw])


def overlapping(secrets: Sequence[FoundSecret], start: int, end: int) -> Sequence[FoundSecret]:
    """Return those of a text's secrets, given in order, that overlap a part of it."""
    return secrets[
        bisect_right(secrets, start, key=lambda item: item.end) : bisect_left(
            secrets, end, key=lambda item: item.start
        )
    ]


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
    turns = sum(a.isalpha() != b.isalpha() for a, b in pairwise(secret))  # between letters and others
    return turns >= 3 and any(not _IDENTIFIER.fullmatch(part) for part in _SPLIT.split(secret))


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
    for row in _TOKENS:
        for begin, end in _words(text, row):
            last = begin
            for match in row.form.finditer(text, begin, end):
                first = match.start(match.lastindex or 0)
                if first < last:
                    continue
                # A form may be that of the beginning of a token only.
                rest = _REST.match(text, match.end())
                last = match.end() if rest is None else rest.end()
                if strong_token(text[first:last]) and (row.rule != JSON_WEB_TOKEN or _is_jwt(match[0])):
                    yield FoundSecret(first, last, row.rule)


def _words(text: str, row: _Token) -> Iterator[tuple[int, int]]:
    """Yield where the tokens of a row may be: each run of characters with one of its beginnings, once."""
    for anchor in row.anchors:
        done = 0
        for at in _anchored(text, (anchor,)):
            if at >= done and (row.before or not _inside_word(text, at)):
                run = _RUN.match(text, at)
                done = at if run is None else run.end()
                if run is not None:
                    yield max(text.rfind("\n", max(0, at - row.before), at) + 1, at - row.before), done + 1


def _is_jwt(token: str) -> bool:
    """Return whether the first two parts of a token are JSON in base64."""
    try:
        for part in token.split(".")[:2]:
            json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return False
    return True


def _discord(text: str) -> Iterator[FoundSecret]:
    for match in _DISCORD_RUN.finditer(text) if "iscord" in text else ():
        if strong_token(match[0]):
            yield FoundSecret(match.start(), match.end(), SERVICE_TOKEN)


def _keys(text: str) -> Iterator[FoundSecret]:
    """Yield the bodies of private keys; a header without one belongs to a parser or a text about keys."""
    for at in _anchored(text, ("PRIVATE KEY",)):
        header = _BEGIN.match(text, max(text.rfind("BEGIN ", max(0, at - 40), at), 0))
        if header is None:
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
    for header in (_PUTTY.match(text, at) for at in _anchored(text, ("PuTTY-User-Key-File-",))):
        if header is not None:
            end = text.find("Private-MAC:", header.end(), header.end() + LONGEST_KEY)
            if end >= 0:
                stop = text.find("\n", end)
                yield FoundSecret(header.end(), len(text) if stop < 0 else stop, PRIVATE_KEY)


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
    for at in _anchored(text, ("://",)):
        match = _URL.match(text, at)
        if match is not None and strong_password(match[1]):
            yield FoundSecret(*match.span(1), PASSWORD_IN_URL)


def _assigned(text: str) -> Iterator[FoundSecret]:
    """Yield values that look generated and are assigned to a secret-like name."""
    low = text.lower()
    if len(low) != len(text):
        low = text  # some letters become two, which would shift the offsets
    seen: set[int] = set()
    for at in _anchored(low, _NAMED):
        match = _VALUE.match(text, at)
        if match is None or match.start(1) in seen:
            continue
        seen.add(match.start(1))
        value = match[1]
        begin = max(text.rfind("\n", max(0, at - 40), at) + 1, at - 40)
        if strong_password(value) and _is_name_of_secret(low[begin : match.start(1)]):
            yield FoundSecret(*match.span(1), ASSIGNED_SECRET)


def _is_name_of_secret(named: str) -> bool:
    """Return whether the text before a value ends with a secret-like name, not that of a public token."""
    found = _SECRET_NAME.search(named)
    if found is None or named[: found.start()].endswith(":"):  # `…:secret:name` is a reference to a secret
        return False
    return _PUBLIC_NAME.search(named) is None
