"""Threats in shell commands and in JavaScript, by the rows `shell` and `script` in the tables of the rules.

A row has `find`, alternatives of a regular expression in which `<end>` is the end of a word and `<reader>` a program
that only reads, `ignore_case`, and `says`, the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from codeguard.analysis.rules.base import stored
from codeguard.corpus.patterns import lazy

_END = r"(?=$|[\s;|&\"'`)])"
# A whole Python program in the arguments that has no module to run anything with: it only reads what it is given.
_READER = (
    r"\s{1,4}-c\s{1,3}(?P<quote>[\"'])import\s(?:json|sys|re|csv)(?:\s{0,2},\s{0,2}(?:json|sys|re|csv)){0,4}\s{0,2};"
    r"(?:(?!(?P=quote)|\$\(|`|__|\b(?:exec|eval|compile|import|getattr|globals|locals|vars|modules|open|breakpoint"
    r"|builtins|os|subprocess|system|popen|spawn\w{0,4})\b)[^\n]){0,600}(?P=quote)"
)
_Row = tuple[str, str, re.Pattern[str]]


def _rows(kind: str) -> Iterator[_Row]:
    """Yield rule, description and pattern of the rows of a kind in the tables of the rules."""
    for rule, table in stored(Path(__file__).with_name("rules.toml")).items():
        for row in table.get(kind, ()):
            found = "|".join(row["find"]).replace("<end>", _END).replace("<reader>", _READER)
            yield rule, row["says"], lazy(found, re.IGNORECASE if row.get("ignore_case") else 0)


_SHELL, _SCRIPT = tuple(_rows("shell")), tuple(_rows("script"))
_QUICK = lazy(
    r"curl|wget|urlopen|fetch|iex|Invoke|base64|xxd|powershell|/dev/|\bnc\b|ncat|netcat|mkfifo|socat|>|crontab|schtasks"
    r"|reg|rm|mkfs|dd|:\(\)"
    r"|certutil|bitsadmin|BitsTransfer|mshta|regsvr32|DownloadFile|OutFile|nslookup|dig|ping|setenforce|ufw|iptables|spctl"
    r"|systemctl|pull_request|github\.|MpPreference|netsh|csrutil|auditctl|history|HISTFILE|env",
    re.IGNORECASE,
)


def shell_threats(command: str) -> Iterator[tuple[str, str]]:
    """Yield the rule and a description for each threat in a shell command."""
    seen: set[str] = set()
    for rule, what, _, _ in shell_places(command):
        if rule not in seen:
            seen.add(rule)
            yield rule, what


_ASSIGNED = lazy(
    r"[ \t]{0,40}(?:export\s{1,3}|local\s{1,3})?([A-Za-z_]\w{0,40})="
    r"(\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|\$\([^\n]{0,2000}\)|[^\s;&|]{1,2000})"
)
_LINE = lazy(r"[^\n]{1,4000}")
_VARIABLE = lazy(r"\$(?:\{(\w{1,41})\}|(\w{1,41}))")
_MOST_LINES = 2_000  # maximum lines with expanded variables
_LONGEST = 4_000  # characters of a line with its variables expanded


# Files and commands that hold credentials of this machine or its cluster; public keys and examples hold none.
_HELD_AT_HOME = (
    r"(?:~|\$\{?HOME\}?|/root|/home/[\w*]{1,30})/\.(?:ssh/(?:id_\w{1,20}(?!\.pub)\b|\*)|aws\b|kube/config|netrc|npmrc|pypirc"
    r"|pgpass|gnupg|git-credentials|docker/config|azure\b|config/(?:gh|gcloud)\b|\w{1,12}_history)"
)
_HELD = (
    rf"(?:{_HELD_AT_HOME}"
    r"|(?<![\w.-])(?:[\w*./-]{0,60}/)?\.env(?:\.(?!example|sample|template|dist)\w{1,20})?(?![\w.-])"
    r"|\bwp-config\.php|/etc/shadow)"
)
_COLLECTS = lazy(
    rf"\bcp\b[^\n>|]{{0,300}}?{_HELD}[\"']?[ \t]{{1,4}}[\w\"'$~./{{-]"
    rf"|\b(?:cat|tar|zip|base64|gzip|rsync|find|for\s{{1,3}}\w{{1,20}}\s{{1,3}}in)\b[^\n>|]{{0,300}}?{_HELD}"
    # The second form reads parts of such a file, the third looks for keys, vaults and wallets on the whole disk.
    rf"|\b(?:awk|sed|grep|cut|head|tail|jq|xxd|od|openssl)\b[^\n>]{{0,300}}?{_HELD_AT_HOME}"
    r"|\bfind\b[^\n>]{0,200}-i?name\s{1,3}[\"']?(?:\*\.(?:kdbx|ovpn|pem|ppk|p12|pfx|keystore)|id_(?:rsa|\*|ed25519)|wallet\.dat|\.env)\b"
    r"|\bkubectl\b[^\n]{0,60}\bget\b[^\n]{0,60}\bsecrets?\b[^\n]{0,60}-o\s?\w"
    r"|\bsecurity\s{1,3}find-(?:generic|internet)-password\b[^\n]{0,100}\s-w\b|\bgit\s{1,3}credential\s{1,3}fill\b|\bsecret-tool\s{1,3}lookup\b"
    r"|\bgh\s{1,3}auth\s{1,3}token\b"
    r"|\b(?:curl|wget)\b[^\n]{0,200}//169\.254\.169\.254/[^\n]{0,80}(?:token|credentials)"  # of the cloud's machine
    r"|(?<![\w./-])printenv\b(?!\s{1,3}\w)|(?<![\w./-])env\s{0,3}(?:>|\|\s{0,3}sort)"
)
_UPLOADS = lazy(
    r"\bcurl\b(?:[^\n]|\\\n){0,200}?(?:\s(?:-d|-T|--upload-file|--data(?:-binary|-raw)?)[\s=]{0,3}[\"']?(?:[@$/\w]|-\s)|\s-F\s{0,3}[\"']?\w{1,20}=@)"
    r"(?:[^\n]|\\\n){0,200}?https?://(?!localhost|127\.|\$|\[::1)"
    r"|\bcurl\b(?:[^\n]|\\\n){0,200}?https?://(?!localhost|127\.|\$|\[::1)[^\s\"']{1,200}(?:[^\n]|\\\n){0,200}?"
    r"(?:\s(?:-d|-T|--upload-file|--data(?:-binary|-raw)?)[\s=]{0,3}[\"']?[@$]|\s-F\s{0,3}[\"']?\w{1,20}=@)"
    r"|\bgh\s{1,3}(?:gist\s{1,3}create|(?:issue|pr)\s{1,3}comment)\b"
    r"|\b(?:scp|rsync)\b[^\n]{0,200}\s[\w.-]{1,40}@[\w.-]{1,80}:"
    # A name server is asked for a name that holds what was read.
    r"|\b(?:host|dig|nslookup|drill)\s[^\n;|&]{0,60}\$\{?\w{1,40}\}?(?:\.\$\{?\w{1,40}\}?){0,3}\.[a-z0-9-]{1,63}\.[a-z]"
)
_FAR = 2_000  # characters between what is collected and where it is sent
_MOST_COLLECTED = 50


def _sent_later(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield where credentials are put into files, or into a command's argument, and then sent to another machine."""
    done = 0
    for found in islice(_COLLECTS.finditer(text), _MOST_COLLECTED):
        if found.start() < done:
            continue
        line = text.rfind("\n", 0, found.start()) + 1  # of a command that names its receiver first
        sent = _UPLOADS.search(text, line, found.end() + _FAR)
        if sent is not None:
            done = sent.end()
            start = min(found.start(), sent.start())
            yield "exfiltration", "sends secrets of this machine away", start, max(found.end(), sent.end())


def shell_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in shell text."""
    if not _QUICK.search(text):
        return
    yield from _places(text, _SHELL)
    if _UPLOADS.search(text):
        yield from _sent_later(text)
    if "=" in text and "$" in text:
        yield from _with_variables(text)


def _with_variables(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield threats that show after variables are expanded, at the lines that use them."""
    values: dict[str, str] = {}

    def put_in(line: str) -> str:
        return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), line)[:_LONGEST]

    lines = [
        (found.start(), found.end(), found.group()) for found in islice(_LINE.finditer(text), _MOST_LINES)
    ]
    for start, end, line in lines:
        assigned = _ASSIGNED.match(line)
        if "$" not in line and assigned is None:
            continue
        whole = put_in(line)
        if whole != line:
            for rule, what, _, _ in _places(whole, _SHELL):
                if not any(pattern.search(line) for known, _, pattern in _SHELL if known == rule):
                    yield rule, what, start, end
        if assigned is not None:
            values[assigned[1]] = put_in(assigned[2].strip("\"'"))


def script_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in JavaScript text that no data flow shows."""
    yield from _places(text, _SCRIPT)


def _places(text: str, table: tuple[_Row, ...]) -> Iterator[tuple[str, str, int, int]]:
    for rule, what, pattern in table:
        for found in pattern.finditer(text):
            yield rule, what, found.start(), found.end()
