"""Threats in shell commands and in JavaScript, by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from codeguard.corpus.patterns import lazy

_END = r"(?=$|[\s;|&\"'`)])"
# A whole Python program in the arguments that has no module to run anything with: it only reads what it is given.
_READER = (
    r"\s{1,4}-c\s{1,3}(?P<quote>[\"'])import\s(?:json|sys|re|csv)(?:\s{0,2},\s{0,2}(?:json|sys|re|csv)){0,4}\s{0,2};"
    r"(?:(?!(?P=quote)|\$\(|`|__|\b(?:exec|eval|compile|import|getattr|globals|locals|vars|modules|open|breakpoint"
    r"|builtins|os|subprocess|system|popen|spawn\w{0,4})\b)[^\n]){0,600}(?P=quote)"
)
_SHELL: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "download-and-run",
        "runs what it downloads",
        lazy(
            r"\b(?:curl|wget|fetch)\b[^\n|;]{0,300}\|\s{0,4}(?:sudo\s{1,4}(?:-\w\s)?)?(?:ba|z|da|k)?sh"
            + _END
            + r"|\b(?:curl|wget)\b[^\n|;]{0,300}\|\s{0,4}(?:sudo\s{1,4})?(?:python[23]?|perl|ruby|node)"
            + _END
            + r"(?!\s{1,4}-m\s{1,4}json\.tool\b|"
            + _READER
            + r")"
            + r"|(?:\b(?:eval|source|(?:ba|z)?sh\s{1,3}-c)|(?<![\w)\]`\"'.])\.)"
            + r"\s{1,3}[\"']?(?:\$\(|`|<\()\s{0,3}(?:curl|wget)\b"
            + r"|\b(?:python[23]?|perl|ruby|node)\s{1,3}-(?:c|e)\s[^\n]{0,300}\b(?:exec|eval)\b[^\n]{0,200}"
            + r"(?:urlopen|requests\.get|https?\.get|open-uri|https?://)"
            + r"|\b(?:python[23]?|node|deno|bun)\s{1,3}(?:-c|-e|--eval|eval)\s[^\n]{0,200}"
            + r"(?:urlopen|requests\.get|fetch\()[^\n]{0,200}\b(?:exec|eval|Function)\b"
            + r"|\b(?:ba|z)?sh\s{1,3}<\(\s{0,3}(?:curl|wget)\b"
            + r"|\b(?:iex|Invoke-Expression)\b[^\n]{0,100}\b(?:DownloadString|iwr|irm|Invoke-WebRequest"
            + r"|Invoke-RestMethod)\b"
            + r"|\b(?:DownloadString|iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b[^\n]{0,200}\|\s{0,4}(?:iex"
            + r"|Invoke-Expression)\b"
            + r"|\b(?:DownloadFile|OutFile|Start-BitsTransfer)\b[^\n]{0,300}\b(?:Start-Process|saps|Invoke-Item)\b"
            + r"|\bmshta(?:\.exe)?\s{1,3}[\"']?(?:https?:|javascript:|vbscript:)|\bregsvr32\b[^\n]{0,80}/i:https?:"
            + r"|\b(?:curl|wget)\b[^\n]{0,300}(?:\n|;|&&)\s{0,20}(?:sudo\s{1,3})?chmod\s{1,3}(?:a?\+x"
            + r"|[0-7]{3,4})\s[^\n;&]{1,200}"
            + r"(?:\n|;|&&)\s{0,20}(?:sudo\s{1,3}|nohup\s{1,3}){0,2}(?:\./|/tmp/|/var/tmp/|/dev/shm/"
            + r"|\$\{?TMPDIR)[\w./$-]",
            re.IGNORECASE,
        ),
    ),
    (
        "downloads-program",
        "downloads a program by a tool that is not made for it or in a hidden window, or runs a download at once",
        lazy(
            r"\b(?:curl|wget)\b[^\n]{0,300}?\s(?:-\w{0,5}[oO]|--output|>)\s{0,3}(?P<file>[\"']?[\w./${}~-]{2,80}[\"']?)[^\n]{0,300}"
            r"(?:\n[^\n]{0,200}){0,5}?(?:\n|;|&&)\s{0,20}(?:sudo\s{1,3}|nohup\s{1,3}|exec\s{1,3}|nice\s{1,3}(?:-n\s?\d{1,2}\s{1,3})?){0,3}"
            r"(?:(?:ba|z)?sh\s{1,3}|python3?\s{1,3}|\./)?(?P=file)(?=[\s&;]|$)|"
            r"\b(?:curl|wget)\b[^\n]{0,300}?\s(?:-\w{0,5}[oO]|--output|>)\s{0,3}[\"']?[\w./${}~-]{0,60}(?:\.git/hooks|\.githooks|\.husky)/\w|"
            r"\bcertutil(?:\.exe)?\b[^\n]{0,60}-urlcache|\bbitsadmin\b[^\n]{0,80}/transfer"
            r"|\bpowershell(?:\.exe)?\b[^\n]{0,200}\b(?:DownloadFile|Invoke-WebRequest|iwr|Start-BitsTransfer)\b"
            r"|\bpowershell(?:\.exe)?\b[^\n]{0,100}\s-w(?:indowstyle)?\s{1,3}(?:hidden|1)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "reports-host",
        "sends who uses which machine",
        lazy(
            r"\b(?:curl|wget|nslookup|dig|ping|host|nc)\b(?![^\n|;]{0,80}//localhost[:/])[^\n|;]{0,200}(?:\$\(|`)\s{0,2}(?:whoami|hostname|id\b"
            r"|uname|pwd|cat /etc/)"
            r"|\b(?:whoami|hostname|ifconfig|uname -a|id)\b\s{0,3}\|[^\n]{0,80}\b(?:curl|wget|nc|nslookup)\b"
        ),
    ),
    (
        "decoded-exec",
        "runs something decoded",
        lazy(
            r"(?<![`´])\bbase64\s{1,3}(?:-d|-D|--decode)\b[^\n|]{0,100}\|\s{0,4}(?:sudo\s{1,4})?(?:(?:ba|z|da)?sh"
            r"|python3?|perl)"
            + _END
            + r"|\beval\s{1,3}[\"']?\$\([^\n)]{0,300}\|\s{0,3}(?:rev|base64|base32|xxd|tr|openssl|gzip|gunzip)\b"
            + r"|\bxxd\s{1,3}-r[^\n|]{0,60}\|\s{0,4}(?:ba|z)?sh"
            + _END
            + r"|\bpowershell(?:\.exe)?\b[^\n]{0,100}\s-e(?:nc|ncodedcommand)?\s"
            + r"|\b(?:python[23]?|node|perl|ruby)\s{1,3}(?:-c|-e|--eval)\s[^\n]{0,200}\b(?:exec|eval|Function)\b"
            + r"[^\n]{0,100}(?:b64decode|fromhex|decompress|atob\(|Buffer\.from|decode64)"
            + r"|\b(?:python[23]?|node|perl|ruby)\s{1,3}(?:-c|-e|--eval)\s[^\n]{0,200}"
            + r"(?:b64decode|fromhex|decompress|atob\(|Buffer\.from\([^\n]{1,2000}[\"'](?:base64|hex)[\"']|decode64)"
            + r"[^\n]{0,2000}?"
            + r"(?:\b(?:exec|eval|Function|spawn)(?:Sync)?\s?\(|\bos\.system\b|\bsubprocess\b|\bIO\.popen\b)",
            re.IGNORECASE,
        ),
    ),
    (
        "reverse-shell",
        "gives a shell to another machine",
        lazy(
            # To ask whether a port is open, nothing is read from it and nothing written to it.
            r"(?:(?<!<)>&?|<>|<&|\b(?:ba|z)?sh\s{0,3}<)\s{0,3}(?<!echo >)(?<!echo > )(?<!:>)(?<!: > )(?<!true > )"
            r"/dev/(?:tcp|udp)/[\w.${}-]{1,80}/"
            r"|<\s{0,3}/dev/(?:tcp|udp)/[\w.${}-]{1,80}/[^\n|;&]{1,40}\|\s{0,3}(?:ba|z)?sh\b|\bn(?:c|cat|etcat)\b[^\n]{0,60}\s-(?:\w{0,4}e"
            r"|c)\s{0,2}(?:/bin/)?(?:ba)?sh"
            r"|\bmkfifo\b[^\n]{0,200}\bn(?:c|cat)\b|\bsocat\b[^\n]{0,200}\bexec:"
        ),
    ),
    (
        "persistence",
        "makes itself start again",
        lazy(
            r">>?\s{0,3}[\"']?(?:~|\$HOME|\$\{HOME\}|/root|/home/\w{1,40}|/etc)?/?(?:\.ssh/authorized_keys"
            r"|\.bashrc|\.zshrc|"
            r"\.profile|\.bash_profile|cron\.d/|crontab|rc\.local|ld\.so\.preload|sudoers)"
            r"|\|\s{0,3}crontab\s{1,3}-|\bschtasks\b[^\n]{0,60}/create|\breg\s{1,3}add\b[^\n]{0,80}\\Run\b",
            re.IGNORECASE,
        ),
    ),
    (
        "destroys",
        "deletes what is not its own",
        lazy(
            r"\brm\s{1,3}(?:-\w{1,6}\s{1,3}){1,4}(?:--no-preserve-root\s{1,3})?(?:/|~|\$HOME|/\*|~/\*|/home"
            r"|/etc|/usr)/?"
            + _END
            + r"|\bmkfs(?:\.\w{2,6})?\s{1,3}/dev/"
            + r"|\bdd\b[^\n]{0,80}\bof=/dev/(?:sd|nvme|hd|vd)|:\(\)\s?\{\s?:\|:&\s?\};:"
        ),
    ),
    (
        "disables-security",
        "turns a protection off",
        lazy(
            r"\bsetenforce\s{1,3}0\b|\bufw\s{1,3}disable\b|\biptables\s{1,3}(?:-F|--flush)\b"
            r"|\bspctl\b[^\n]{0,40}-disable"
            r"|\bsystemctl\s{1,3}(?:stop|disable|mask)\s{1,3}(?:--now\s)?(?:firewalld|auditd|apparmor|ufw"
            r"|falcon|clamav|crowdstrike)"
            r"|\bSet-MpPreference\b[^\n]{0,100}-Disable|\bnetsh\b[^\n]{0,60}\bfirewall\b[^\n]{0,60}\boff\b"
            r"|\bcsrutil\s{1,3}disable"
            r"|\bauditctl\s{1,3}-e\s{1,3}0\b|(?<!\) )\bhistory\s{1,3}-c\b|\bunset\s{1,3}HISTFILE\b",
            re.IGNORECASE,
        ),
    ),
    (
        "exfiltration",
        "sends secrets of this machine away",
        lazy(
            r"\bgit\s{1,3}add\s{1,3}(?:-f|--force)\s[^\n]{0,100}(?:\.env\b(?!\.(?:example|sample))|vault_pass|id_rsa|id_ed25519|credentials|\.pem\b)"
            r"(?:[^\n]{0,300}\n){0,6}?[^\n]{0,200}\bgit\b[^\n]{0,60}\bpush\b|"
            r"\b(?:env|printenv|set|cat\s{1,3}\S{0,80}(?:\.ssh/|id_rsa|\.aws/|/etc/(?:passwd|shadow)|\.netrc"
            r"|\.env)\S{0,40})"
            r"\s{0,3}\|[^\n]{0,100}\b(?:curl|wget|nc|ncat)\b"
            r"|\bcurl\b[^\n]{0,200}(?:-d|--data\S{0,10}|-F|-T|--upload-file)\s{0,3}[\"']?(?:@|\w{1,20}=@"
            r"|\$\((?:env|printenv|cat)\b)?[^\n\s\"']{0,60}"
            r"(?:\.ssh/|id_rsa|\.aws/|/etc/(?:passwd|shadow)|\.netrc|\$\((?:env|printenv)\))"
        ),
    ),
)
_QUICK = lazy(
    r"curl|wget|urlopen|fetch|iex|Invoke|base64|xxd|powershell|/dev/|\bnc\b|ncat|netcat|mkfifo|socat|>|crontab|schtasks"
    r"|reg|rm|mkfs|dd|:\(\)"
    r"|certutil|bitsadmin|BitsTransfer|mshta|regsvr32|DownloadFile|OutFile|nslookup|dig|ping|setenforce|ufw|iptables|spctl"
    r"|systemctl|MpPreference|netsh|csrutil|auditctl|history|HISTFILE|env",
    re.IGNORECASE,
)

_SCRIPT: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "exfiltration",
        "reads the files of browsers or wallets and sends something",
        lazy(
            r"(?:Local Extension Settings|\bLogin Data\b|\bkey4\.db\b|\bwallet\.dat\b"
            r"|\.ethereum/keystore|\.config/solana)"
            r"[\s\S]{0,4000}?"
            r"(?:\bfetch\s?\([^;]{0,300}?\bmethod\s?:\s?[\"'](?:POST|PUT)|\baxios\.(?:post|put)\s?\(|\bhttps?\.request\s?\()"
        ),
    ),
    (
        "exfiltration",
        "sends the environment or secrets of this machine away",
        lazy(
            r"\b(?:fetch|axios(?:\.post)?|https?\.(?:get|request)|\.write|\.end|\.send"
            r"|got(?:\.post)?)\s{0,2}\([^;]{0,300}?"
            r"(?:JSON\.stringify\s{0,2}\(\s{0,3}process\.env\s{0,3}\)|\bprocess\.env\s{0,3}[,)}]"
            r"|readFileSync\s{0,2}\([^;)]{0,100}(?:\.ssh|id_rsa|\.aws|\.npmrc|\.netrc|/etc/(?:passwd|shadow)))"
        ),
    ),
    (
        "tampered-verification",
        "changes what every object of the process has",
        lazy(
            r"\bObject\.prototype\.(?!__define)\w{1,60}\s{0,3}=(?!=)|\bObject\.prototype\[[^\]\n]{1,60}\]\s{0,3}=(?!=)"
        ),
    ),
    (
        "swaps-clipboard",
        "puts another wallet address in place of the user's",
        lazy(
            r"\.to\s{0,3}=\s{0,3}[\"'`]0x[0-9a-fA-F]{40}|\.replace(?:All)?\s{0,2}\([^;\n]{0,120}(?:0x\[a-fA-F0-9\]|0x\[0-9a-fA-F\]|\[13\]|bc1)"
            r"[^;\n]{0,160},\s{0,3}[\"'`](?:0x|bc1|[13])[\w]{20,}"
        ),
    ),
    (
        "spies",
        "sends the keys that are typed",
        lazy(
            r"\baddEventListener\s{0,2}\(\s{0,3}[\"'`]key(?:down|press|up)[\"'`][\s\S]{0,400}?"
            r"(?:\bsendBeacon\s{0,2}\(|\bfetch\s{0,2}\(\s{0,3}[\"'`]https?:|\bnew\s{1,3}Image\b|\bXMLHttpRequest\b|\bWebSocket\b)"
        ),
    ),
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


# Ways of C, C++, C# and Rust to start a program. In Rust, the arguments are calls of their own.
_STARTED = lazy(
    r"\b(?:system|_?w?popen|execlp?|Process\s{0,2}\.\s{0,2}Start|ProcessStartInfo|Command\s{0,2}::\s{0,2}new)"
    r"\s{0,2}\((?:\"(?:[^\"\\]|\\.){0,2000}+\"|[^;\"]){1,1000}+",  # to the end of the statement
    re.DOTALL,
)


def started_places(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield rule, description, start and end of the threats in commands that C, C++, C# or Rust start."""
    for match in _STARTED.finditer(text):
        for rule, what in shell_threats(match.group().replace('\\"', '"')):
            yield rule, f"runs a command that {what}", match.start(), match.end()


def _places(
    text: str, table: tuple[tuple[str, str, re.Pattern[str]], ...]
) -> Iterator[tuple[str, str, int, int]]:
    for rule, what, pattern in table:
        for found in pattern.finditer(text):
            yield rule, what, found.start(), found.end()
