"""Where attacks act: a directory, listeners, a secret and a victim, all of the test's own."""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any

from attacks.waiter import Waiter

SECRET_NAME = "CODEGUARD_ATTACK_SECRET"
VICTIM_COMMAND = ("sleep", "7200")  # longer than any run of the suite


class Arena:
    """What an attack could reach on this machine, harmless, watched and thrown away.

    The directory and all in it may be written by everyone: nothing but
    the sandbox stands before it.
    """

    def __init__(self, *, with_victim: bool = True) -> None:
        self.secret = secrets.token_hex(16)
        self.token = secrets.token_hex(8)
        self.directory = Path(tempfile.mkdtemp(prefix="arena-"))
        self.directory.chmod(0o777)
        for name, text in self._files().items():
            path = self.directory / name
            path.write_text(text)
            path.chmod(0o666)
        (self.directory / "room").mkdir(mode=0o777)
        self.tcp = _listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = _listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.unix = _listener(socket.AF_UNIX, socket.SOCK_STREAM, str(self.directory / "unix"))
        self.abstract = _listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0arena-" + self.token)
        self.datagram = _listener(socket.AF_UNIX, socket.SOCK_DGRAM, "\0arena-dgram-" + self.token)
        (self.directory / "unix").chmod(0o777)
        # A careless application: descriptors that a program it starts would inherit.
        self.log = os.open(self.directory / "log", os.O_RDWR | os.O_APPEND)
        self.open_directory = os.open(self.directory, os.O_RDONLY)
        for descriptor in (self.log, self.open_directory):
            os.set_inheritable(descriptor, True)
        self.waiter = Waiter()
        self.victim = start_victim(self.secret) if with_victim else None
        self.victim_before = fingerprint(self.victim.pid) if self.victim else ""
        self.before = self._picture()

    def _files(self) -> dict[str, str]:
        return {
            "secret": self.secret + "\n",
            "precious": "precious\n",
            "log": "",
            "arena_secret_module.py": f"VALUE = {self.secret!r}\n",
        }

    def words(self) -> dict[str, str]:
        """Return what stands for `@NAME@` in an attack's source."""
        return {
            "DIR": str(self.directory),
            "MARKER": str(self.directory / "marker"),
            "SECRET_FILE": str(self.directory / "secret"),
            "SECRET_NAME": SECRET_NAME,
            "SECRET": self.secret,
            "TOKEN": self.token,
            "PORT": str(self.tcp.getsockname()[1]),
            "UDP_PORT": str(self.udp.getsockname()[1]),
            "VICTIM": str(self.victim.pid if self.victim else 0),
            "VICTIM_COMMAND": " ".join(VICTIM_COMMAND),
            "HOSTNAME": socket.gethostname(),
            "HOST_PID": str(os.getpid()),
            "WORD": str(self.waiter.places[0]),
            "ZERO": str(self.waiter.places[1]),
            "NODE": str(uuid.getnode()),
            "NOW": str(time.time()),
            "MONOTONIC": str(time.monotonic()),
            "USER": getpass.getuser() if os.getuid() == 0 else "root",
            "CPUS": str(os.cpu_count()),
            "PREFIX": sys.prefix,
            "TEMPORARY": str(Path(tempfile.gettempdir(), "tmp")),  # how folders begin that a proof is run in
            "INTERFACE": next((name for _, name in socket.if_nameindex() if name != "lo"), "lo"),
        }

    def fill(self, text: str, **more: str) -> str:
        """Return `text` with the words filled in."""
        for name, value in {**self.words(), **more}.items():
            text = text.replace(f"@{name}@", value)
        return text

    def changed(self) -> list[str]:
        """Return what differs in the directory, in shared memory or in the log since the start."""
        now = self._picture()
        return sorted(
            name for name in self.before.keys() | now.keys() if self.before.get(name) != now.get(name)
        )

    def heard(self) -> bool:
        """Return whether a listener got a connection or a datagram with the token, or a waiter was woken."""
        heard = b""
        for listener in (self.tcp, self.unix, self.abstract):
            with contextlib.suppress(BlockingIOError):
                while True:
                    heard += _read(listener.accept()[0])
        for datagrams in (self.udp, self.datagram):
            with contextlib.suppress(BlockingIOError):
                while True:
                    heard += datagrams.recv(65536)
        return self.token.encode() in heard or self.waiter.woken()

    def victim_change(self) -> str:
        """Return how the victim differs from what it was, empty for not at all."""
        if self.victim is None:
            return ""
        now = fingerprint(self.victim.pid)
        return "" if now == self.victim_before else f"{self.victim_before} -> {now}"

    def close(self) -> None:
        """Throw everything away."""
        if self.victim is not None:
            self.victim.kill()
            self.victim.wait()
        self.waiter.close()
        for listener in (self.tcp, self.udp, self.unix, self.abstract, self.datagram):
            listener.close()
        os.close(self.log)
        os.close(self.open_directory)
        for leftover in Path("/dev/shm").glob(f"*{self.token}*"):
            leftover.unlink()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _picture(self) -> dict[str, object]:
        picture: dict[str, object] = {}
        for path in [*self.directory.rglob("*"), *Path("/dev/shm").glob(f"*{self.token}*")]:
            with contextlib.suppress(OSError):
                status = path.lstat()
                attributes = tuple(os.listxattr(path, follow_symlinks=False))
                picture[str(path)] = (
                    status.st_mode,
                    status.st_uid,
                    status.st_nlink,
                    status.st_size,
                    status.st_mtime_ns if path.is_file() else 0,
                    attributes,
                )
        return picture


def start_victim(secret: str) -> subprocess.Popen[bytes]:
    """Start a process that only sleeps, with the secret in its environment and a group of its own."""
    return subprocess.Popen(VICTIM_COMMAND, env={SECRET_NAME: secret}, start_new_session=True)


def fingerprint(pid: int) -> str:
    """Return what an attacker could change of a process: state, priority, tracer, limits, affinity."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        limits = Path(f"/proc/{pid}/limits").read_text()
        status = Path(f"/proc/{pid}/status").read_text()
        affinity = sorted(os.sched_getaffinity(pid))
        policy = os.sched_getscheduler(pid)
    except OSError:
        return "gone"
    if fields[0] in "ZX":
        return "gone"
    state = fields[0] if fields[0] in "Tt" else "alive"
    files = next(line.split()[3] for line in limits.splitlines() if line.startswith("Max open files"))
    tracer = next(line.split()[1] for line in status.splitlines() if line.startswith("TracerPid"))
    traced = "traced" if tracer != "0" else "untraced"
    return (
        f"{state} {traced} group={fields[2]} nice={fields[16]} files={files} cpus={affinity} policy={policy}"
    )


def become_subreaper() -> None:
    """Let orphans of the sandbox become this process' children, so that none can hide."""
    prctl_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(prctl_set_child_subreaper, 1, 0, 0, 0)


def descendants(root: int, without: Collection[int] = ()) -> set[int]:
    """Return the ids of the living processes below `root`, but for those in `without` and what is below them."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # after every attack: Path objects would take most of the time
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                state, parent = file.read(4096).rpartition(b")")[2].split(None, 2)[:2]
                if state not in b"ZX":
                    parents[int(name)] = int(parent)
    found: set[int] = set()
    frontier = {root}
    while frontier:
        frontier = {
            pid for pid, parent in parents.items() if parent in frontier and pid not in without
        } - found
        found |= frontier
    return found


def _listener(family: int, kind: int, address: Any) -> socket.socket:
    listener = socket.socket(family, kind)
    listener.bind(address)
    if kind == socket.SOCK_STREAM:
        listener.listen(64)
    listener.setblocking(False)
    return listener


def _read(connection: socket.socket) -> bytes:
    received = b""
    with connection, contextlib.suppress(OSError):
        connection.settimeout(0.5)
        while chunk := connection.recv(65536):
            received += chunk
    return received
