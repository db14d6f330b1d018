"""Effects of named functions, and texts that name sensitive locations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeguard.corpus.patterns import lazy

NETWORK, PROCESS, FILES, ENVIRONMENT, HOST = "network", "process", "files", "environment", "host"
CODE, NATIVE = "dynamic code", "native code"


def _table(rows: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in rows.items() for name in names.split()}


KINDS: Mapping[str, str] = _table(
    {
        NETWORK: """
            requests httpx aiohttp urllib3 urllib.request urllib2 http.client socket socketserver ftplib smtplib poplib
            imaplib telnetlib nntplib xmlrpc.client paramiko websocket websockets pycurl asyncio.open_connection
            asyncio.start_server asyncio.create_server boto3 dns.resolver
        """,
        PROCESS: """
            subprocess pty os.system os.popen os.fork os.forkpty os.kill os.execl os.execle os.execlp os.execlpe
            os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve
            os.spawnvp os.spawnvpe os.posix_spawn os.posix_spawnp os.startfile commands pexpect sh multiprocessing
            asyncio.create_subprocess_exec asyncio.create_subprocess_shell
        """,
        FILES: """
            open io.open io.FileIO codecs.open os.open os.remove os.unlink os.rename os.replace os.rmdir os.makedirs
            os.mkdir os.chmod os.chown os.symlink os.link os.listdir os.scandir os.walk os.truncate shutil tempfile
            pathlib.Path.open pathlib.Path.read_text pathlib.Path.read_bytes pathlib.Path.write_text
            pathlib.Path.write_bytes pathlib.Path.unlink pathlib.Path.rename pathlib.Path.mkdir pathlib.Path.glob
            pathlib.Path.rglob pathlib.Path.iterdir glob zipfile tarfile sqlite3.connect
        """,
        ENVIRONMENT: "os.environ os.environb os.getenv os.putenv os.unsetenv",
        HOST: "platform.node getpass.getuser socket.gethostname os.getlogin os.uname uuid.getnode",
        CODE: """
            exec eval compile __import__ execfile importlib.import_module importlib.__import__ runpy code.interact
            types.FunctionType types.CodeType codeop importlib.util.module_from_spec importlib.reload
        """,
        NATIVE: "ctypes cffi libc mmap.mmap",
    }
)


WRITING = frozenset({"write", "writelines", "write_text", "write_bytes"})

SECRET_PLACE = lazy(
    r"(?:^|[/\\~])\.(?:ssh|aws|gnupg|netrc|pgpass|npmrc|pypirc|git-credentials|docker/config|kube/config|env)\b"
    r"|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|/etc/(?:passwd|shadow|sudoers)\b|\.kdbx$"
    r"|\bwallet\.dat$"
    r"|(?:Login Data|Cookies|Local State|key4\.db|logins\.json)$|\.bash_history$|\.azure/|gcloud/|/proc/self/environ"
)
"""Text that names where people keep secrets."""

TOKEN_PLACE = lazy(r"\bcredentials(?:\.json)?$")
"""Text that names a file in which a program holds what it shows to its own service."""

STARTUP_PLACE = lazy(
    r"authorized_keys\b|/etc/cron|/var/spool/cron|/etc/(?:rc\.local|profile|ld\.so\.preload|sudoers|init\.d"
    r"|passwd|shadow)\b"
    r"|(?:^|[/~\\])\.(?:bashrc|zshrc|profile|bash_profile|bash_login|zprofile|zshenv|xinitrc|config/autostart)\b"
    r"|systemd/(?:system|user)/|Library/Launch(?:Agents|Daemons)|Start Menu.{0,30}Startup|CurrentVersion\\{1,2}Run\b"
    r"|\b(?:site|user)customize\.py$|\.git/hooks/|config\.fish$|^LaunchAgents$"
)
"""Text that names what is run at the next login, start or commit."""

LOOKUP_PLACE = lazy(
    r"\b(?:api\.ipify|ipify|ipinfo\.io|ifconfig\.me|icanhazip|checkip|ip-api\.com|myexternalip|ipecho|wtfismyip"
    r"|ident\.me)"
)
"""Addresses that tell a machine its public address."""

FOREIGN_SCRIPT = lazy(
    r"CreateObject\s*\(\s*[\"']WScript\.Shell|ActiveXObject\s*\(\s*[\"']WScript"
    r"|^@echo off\b.{0,400}\b(?:powershell|curl|certutil|start)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Scripts of another shell that a program holds as text."""


def effect_of_name(name: str) -> str:
    """Return the effect of a resolved name by its longest known prefix, or ""."""
    at = name.removesuffix("()")
    while at:
        kind = KINDS.get(at)
        if kind is not None:
            return kind
        at = at.rpartition(".")[0]
    return ""
