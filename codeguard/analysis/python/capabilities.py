"""Effects of named functions, and texts that name sensitive locations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeguard.corpus.patterns import lazy

NETWORK, PROCESS, FILES, ENVIRONMENT, HOST = "network", "process", "files", "environment", "host"
CODE, LOADING, NATIVE, FRAMES = "dynamic code", "deserialisation", "native code", "frames"


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
        LOADING: """
            pickle.loads pickle.load pickle.Unpickler marshal.loads marshal.load dill.loads dill.load shelve.open
            cloudpickle.loads cloudpickle.load jsonpickle.decode yaml.load yaml.unsafe_load joblib.load torch.load
        """,
        NATIVE: "ctypes cffi mmap.mmap",
        FRAMES: """
            sys._getframe sys.settrace sys.setprofile sys._current_frames inspect.currentframe inspect.stack
            gc.get_objects gc.get_referrers sys.modules
        """,
    }
)

SENDING = frozenset(
    """
    requests.post requests.put requests.patch requests.get requests.request requests.head requests.delete
    requests.Session.post requests.Session.put requests.Session.patch requests.Session.get requests.Session.request
    requests.session.post requests.session.get httpx.post httpx.put httpx.patch httpx.get httpx.request
    httpx.Client.post httpx.Client.get httpx.Client.put httpx.AsyncClient.post httpx.AsyncClient.get
    aiohttp.ClientSession.post aiohttp.ClientSession.get aiohttp.ClientSession.put aiohttp.request
    urllib.request.urlopen urllib.request.Request urllib2.urlopen urllib2.Request urllib3.PoolManager.request
    urllib3.request http.client.HTTPConnection.request http.client.HTTPSConnection.request
    socket.socket.send socket.socket.sendall socket.socket.sendto socket.create_connection.sendall
    socket.create_connection.send smtplib.SMTP.sendmail
    smtplib.SMTP.send_message smtplib.SMTP_SSL.sendmail smtplib.SMTP_SSL.send_message ftplib.FTP.storbinary
    ftplib.FTP.storlines websocket.create_connection.send paramiko.SFTPClient.put
    """.split()  # noqa: SIM905 - words read better as words
)
"""Calls that carry their arguments to another machine."""

LOOKING_UP = frozenset(
    {"socket.gethostbyname", "socket.gethostbyname_ex", "socket.getaddrinfo", "dns.resolver.resolve"}
)
"""Calls that ask for a name, and so tell it to the server that answers for its domain."""

FETCHING = frozenset(
    """
    requests.get requests.post requests.request requests.Session.get requests.Session.post requests.session.get
    httpx.get httpx.post httpx.Client.get httpx.AsyncClient.get aiohttp.ClientSession.get aiohttp.ClientSession.post
    urllib.request.urlopen urllib2.urlopen urllib.urlopen urllib3.PoolManager.request urllib3.request
    urllib.request.build_opener.open http.client.HTTPConnection.getresponse http.client.HTTPSConnection.getresponse
    socket.socket.recv socket.socket.recvfrom socket.create_connection.recv ftplib.FTP.retrbinary
    websocket.create_connection.recv dns.resolver.resolve
    """.split()  # noqa: SIM905 - words read better as words
)
"""Calls that return what another machine sent."""

DECODING = frozenset(
    """
    base64.b64decode base64.standard_b64decode base64.urlsafe_b64decode base64.b32decode base64.b16decode
    base64.b85decode base64.a85decode base64.decodebytes base64.decodestring binascii.a2b_base64 binascii.unhexlify
    binascii.a2b_hex bytes.fromhex bytearray.fromhex codecs.decode zlib.decompress gzip.decompress bz2.decompress
    lzma.decompress marshal.loads cryptography.fernet.Fernet.decrypt
    """.split()  # noqa: SIM905 - words read better as words
)
"""Calls that make something readable of something that is not."""

RELOADING = frozenset(
    {"pickle.loads", "dill.loads", "cloudpickle.loads", "pickle.Unpickler.load", "marshal.loads"}
)
"""Calls that make objects of bytes, and run what the bytes say."""

WATCHING = frozenset(
    """
    PIL.ImageGrab.grab pyautogui.screenshot mss.mss.grab mss.mss.shot pyscreenshot.grab pyperclip.paste
    cv2.VideoCapture.read sounddevice.rec keyboard.record win32clipboard.GetClipboardData
    """.split()  # noqa: SIM905 - words read better as words
)
"""Calls that return what the user sees, types, copies or says."""

RUNNING_CODE = frozenset({"exec", "eval", "compile", "execfile", "types.FunctionType", "types.CodeType"})
RUNNING_COMMANDS = frozenset(
    """
    os.system os.popen os.execl os.execle os.execlp os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnlp
    os.spawnv os.spawnve os.spawnvp os.posix_spawn os.startfile subprocess.run subprocess.call subprocess.Popen
    subprocess.check_call subprocess.check_output subprocess.getoutput subprocess.getstatusoutput pty.spawn
    commands.getoutput asyncio.create_subprocess_exec asyncio.create_subprocess_shell runpy.run_path
    """.split()  # noqa: SIM905 - words read better as words
)
WRITING = frozenset({"write", "writelines", "write_text", "write_bytes"})

SECRET_PLACE = lazy(
    r"(?:^|[/\\~])\.(?:ssh|aws|gnupg|netrc|pgpass|npmrc|pypirc|git-credentials|docker/config|kube/config|env)\b"
    r"|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|/etc/(?:passwd|shadow|sudoers)\b|\bcredentials(?:\.json)?$|\.kdbx$"
    r"|\bwallet\.dat$"
    r"|(?:Login Data|Cookies|Local State|key4\.db|logins\.json)$|\.bash_history$|\.azure/|gcloud/|/proc/self/environ"
)
"""Text that names where people keep secrets."""

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
