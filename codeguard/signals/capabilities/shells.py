"""Threats in shell commands and in JavaScript, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.reading.patterns import lazy

_END = r"(?=$|[\s;|&\"'`)])"
_SHELL: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "download-and-run",
        "runs what it downloads",
        lazy(
            r"\b(?:curl|wget|fetch)\b[^\n|;]{0,300}\|\s{0,4}(?:sudo\s{1,4}(?:-\w\s)?)?(?:ba|z|da|k)?sh"
            + _END
            + r"|\b(?:curl|wget)\b[^\n|;]{0,300}\|\s{0,4}(?:sudo\s{1,4})?(?:python[23]?|perl|ruby|node)"
            + _END
            + r"|\b(?:eval|source|\.|(?:ba|z)?sh\s{1,3}-c)\s{1,3}[\"']?(?:\$\(|`|<\()\s{0,3}(?:curl|wget)\b"
            + r"|\b(?:ba|z)?sh\s{1,3}<\(\s{0,3}(?:curl|wget)\b"
            + r"|\b(?:iex|Invoke-Expression)\b[^\n]{0,100}\b(?:DownloadString|iwr|Invoke-WebRequest)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "decoded-exec",
        "runs something decoded",
        lazy(
            r"\bbase64\s{1,3}(?:-d|-D|--decode)\b[^\n|]{0,100}\|\s{0,4}(?:sudo\s{1,4})?(?:(?:ba|z|da)?sh|python3?|perl)"
            + _END
            + r"|\bxxd\s{1,3}-r[^\n|]{0,60}\|\s{0,4}(?:ba|z)?sh"
            + _END
            + r"|\bpowershell(?:\.exe)?\b[^\n]{0,100}\s-e(?:nc|ncodedcommand)?\s",
            re.IGNORECASE,
        ),
    ),
    (
        "reverse-shell",
        "gives a shell to another machine",
        lazy(
            r"/dev/(?:tcp|udp)/[\w.$-]{1,80}/|\bn(?:c|cat|etcat)\b[^\n]{0,60}\s-(?:\w{0,4}e|c)\s{0,2}(?:/bin/)?(?:ba)?sh"
            r"|\bmkfifo\b[^\n]{0,200}\bn(?:c|cat)\b|\bsocat\b[^\n]{0,200}\bexec:"
        ),
    ),
    (
        "persistence",
        "makes itself start again",
        lazy(
            r">>?\s{0,3}[\"']?(?:~|\$HOME|\$\{HOME\}|/root|/home/\w{1,40}|/etc)?/?(?:\.ssh/authorized_keys|\.bashrc|\.zshrc|"
            r"\.profile|\.bash_profile|cron\.d/|crontab|rc\.local|ld\.so\.preload|sudoers)"
            r"|\|\s{0,3}crontab\s{1,3}-|\bschtasks\b[^\n]{0,60}/create|\breg\s{1,3}add\b[^\n]{0,80}\\Run\b",
            re.IGNORECASE,
        ),
    ),
    (
        "destroys",
        "deletes what is not its own",
        lazy(
            r"\brm\s{1,3}(?:-\w{1,6}\s{1,3}){1,4}(?:--no-preserve-root\s{1,3})?(?:/|~|\$HOME|/\*|~/\*|/home|/etc|/usr)/?"
            + _END
            + r"|\bmkfs(?:\.\w{2,6})?\s{1,3}/dev/"
            + r"|\bdd\b[^\n]{0,80}\bof=/dev/(?:sd|nvme|hd|vd)|:\(\)\s?\{\s?:\|:&\s?\};:"
        ),
    ),
    (
        "disables-security",
        "turns a protection off",
        lazy(
            r"\bsetenforce\s{1,3}0\b|\bufw\s{1,3}disable\b|\biptables\s{1,3}(?:-F|--flush)\b|\bspctl\b[^\n]{0,40}-disable"
            r"|\bsystemctl\s{1,3}(?:stop|disable|mask)\s{1,3}(?:--now\s)?(?:firewalld|auditd|apparmor|ufw|falcon|clamav|crowdstrike)"
            r"|\bSet-MpPreference\b[^\n]{0,100}-Disable|\bnetsh\b[^\n]{0,60}\bfirewall\b[^\n]{0,60}\boff\b|\bcsrutil\s{1,3}disable"
            r"|\bauditctl\s{1,3}-e\s{1,3}0\b|\bhistory\s{1,3}-c\b|\bunset\s{1,3}HISTFILE\b",
            re.IGNORECASE,
        ),
    ),
    (
        "exfiltration",
        "sends secrets of this machine away",
        lazy(
            r"\b(?:env|printenv|set|cat\s{1,3}\S{0,80}(?:\.ssh/|id_rsa|\.aws/|/etc/(?:passwd|shadow)|\.netrc|\.env)\S{0,40})"
            r"\s{0,3}\|[^\n]{0,100}\b(?:curl|wget|nc|ncat)\b"
            r"|\bcurl\b[^\n]{0,200}(?:-d|--data\S{0,10}|-F|-T|--upload-file)\s{0,3}[\"']?(?:@|\w{1,20}=@|\$\((?:env|printenv|cat)\b)?[^\n\s\"']{0,60}"
            r"(?:\.ssh/|id_rsa|\.aws/|/etc/(?:passwd|shadow)|\.netrc|\$\((?:env|printenv)\))"
        ),
    ),
)
_QUICK = lazy(
    r"curl|wget|fetch|iex|Invoke|base64|xxd|powershell|/dev/|\bnc\b|ncat|netcat|mkfifo|socat|>|crontab|schtasks|reg|rm|mkfs|dd|:\(\)"
    r"|setenforce|ufw|iptables|spctl|systemctl|MpPreference|netsh|csrutil|auditctl|history|HISTFILE|env",
    re.IGNORECASE,
)

_RUN_JS = (
    r"(?:\beval|\bnew\s{1,3}Function|\bFunction|\bvm\.runIn\w{1,20}"
    r"|\b(?:child_process|cp)\.(?:exec|execSync|spawn|spawnSync)|\b(?:execSync|exec|spawn|spawnSync))\s{0,3}\("
)
_SCRIPT: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "decoded-exec",
        "runs something decoded",
        lazy(
            _RUN_JS
            + r"[^\n;]{0,60}\b(?:atob\s{0,2}\(|Buffer\.from\s{0,2}\([^\n;)]{0,5000},\s{0,3}[\"'](?:base64|hex)[\"'])"
        ),
    ),
    (
        "download-and-run",
        "runs what it downloads",
        lazy(
            r"\b(?:https?\.(?:get|request)|fetch|axios(?:\.get)?|request|got)\s{0,2}\([\s\S]{0,400}?"
            r"(?:\beval|\bnew\s{1,3}Function|\bvm\.runIn\w{1,20}|\b(?:child_process|cp)\.exec(?:Sync)?|\bexecSync)\s{0,2}"
            r"\(\s{0,3}(?:data|body|chunk|res|resp|response|text|code|src|script|payload|\w{1,20}\.(?:data|body|text)|\w{1,20}\.toString)\b"
        ),
    ),
    (
        "exfiltration",
        "sends the environment or secrets of this machine away",
        lazy(
            r"\b(?:fetch|axios(?:\.post)?|https?\.(?:get|request)|\.write|\.end|\.send|got(?:\.post)?)\s{0,2}\([^;]{0,300}?"
            r"(?:JSON\.stringify\s{0,2}\(\s{0,3}process\.env\s{0,3}\)|\bprocess\.env\s{0,3}[,)}]|readFileSync\s{0,2}\([^;)]{0,100}(?:\.ssh|id_rsa|\.aws|\.npmrc|\.netrc|/etc/(?:passwd|shadow)))"
        ),
    ),
    (
        "reverse-shell",
        "gives a shell to another machine",
        lazy(
            r"\bspawn\s{0,2}\(\s{0,3}[\"'](?:/bin/)?(?:ba)?sh[\"'][\s\S]{0,300}?\.pipe\s{0,2}\(\s{0,3}(?:client|socket|sock|conn|s)\b"
        ),
    ),
)


def shell_threats(command: str) -> Iterator[tuple[str, str]]:
    """Yield rule and description of what a shell command does that it should not."""
    seen: set[str] = set()
    for rule, what, _, _ in shell_places(command):
        if rule not in seen:
            seen.add(rule)
            yield rule, what


def shell_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in shell text."""
    if not _QUICK.search(text):
        return
    yield from _places(text, _SHELL)


def script_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in JavaScript text."""
    yield from _places(text, _SCRIPT)
    for match in re.finditer(r"""\b(?:exec|execSync)\s{0,2}\(\s{0,3}(["'`])([^"'`\n]{4,500})\1""", text):
        for rule, what in shell_threats(match.group(2)):
            yield rule, what, match.start(), match.end()


def _places(
    text: str, table: tuple[tuple[str, str, re.Pattern[str]], ...]
) -> Iterator[tuple[str, str, int, int]]:
    for rule, what, pattern in table:
        for found in pattern.finditer(text):
            yield rule, what, found.start(), found.end()
