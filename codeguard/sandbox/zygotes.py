"""The host's end of a zygote: start it, send it a job, take its answer, end it."""

from __future__ import annotations

import importlib.util
import itertools
import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from codeguard.errors import SandboxError
from codeguard.sandbox import cgroups
from codeguard.sandbox.inside import wire
from codeguard.sandbox.model import Layer, Level, Limits

BOOT = Path(__file__).parent / "inside" / "boot.py"
_START_S = 30.0  # to load and confine, on a machine that is busy
_END_S = 0.3  # for a zygote to end by itself before it is killed
GRACE_S = 0.4  # what the zygote gets beyond a job's deadline before it counts as hung


_numbers = itertools.count()  # of the control groups


class ZygoteDiedError(Exception):
    """The zygote ended or hung; the message says which."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request: why the child ended, its wait status, CPU seconds and bytes."""

    reason: int
    status: int
    cpu_s: float
    output: bytes


class Kind(NamedTuple):
    """What a zygote is started with: its hash seed, and all modules or the core."""

    hash_seed: int
    wide: bool


def restricted_python_home() -> str:
    """Return the directory that holds the RestrictedPython package."""
    found = importlib.util.find_spec("RestrictedPython")
    if found is None or not found.submodule_search_locations:
        raise SandboxError("RestrictedPython is not installed", hint="pip install RestrictedPython")
    return str(Path(next(iter(found.submodule_search_locations))).parent)


class Zygote:
    """One confined interpreter that forks a child a job; used by one thread at a time."""

    def __init__(self, kind: Kind, without: frozenset[str]) -> None:
        self.kind = kind
        ours, theirs = socket.socketpair()
        options = {
            "control": theirs.fileno(),
            "site": restricted_python_home(),
            "wide": kind.wide,
            "without": sorted(without),
        }
        with theirs:
            # -P, -s, -S: nothing of the user's or the directory's is imported; an empty
            # environment instead of -E, which would hide the hash seed too
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-S", "-B", str(BOOT), json.dumps(options)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={"PYTHONHASHSEED": str(kind.hash_seed)},
                cwd="/",
            )
        self._group = None
        if "cgroup" not in without:
            self._group = cgroups.ControlGroup(next(_numbers))
            self._group.add(self._process.pid)
        self._control = ours
        try:
            hello = json.loads(self._receive_frame(time.monotonic() + _START_S))
            if "error" in hello:
                raise ZygoteDiedError(hello["error"])
        except (ZygoteDiedError, ValueError) as error:
            self.close()
            raise SandboxError("the sandbox's zygote does not start", got=str(error)) from None
        self.level = Level(hello["level"])
        self.layers = tuple(Layer(name, bool(engaged), detail) for name, engaged, detail in hello["layers"])
        if self._group is None:
            self.layers += (Layer("cgroup", False, "left out on request"),)
        else:
            self.layers += (Layer("cgroup", self._group.engaged, self._group.detail),)

    @property
    def pid(self) -> int:
        """Process id of the started interpreter."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the control socket's descriptor, for a selector."""
        return self._control.fileno()

    def send(self, payload: bytes, limits: Limits, extra_bytes: int) -> None:
        """Send one request; ZygoteDiedError where nobody takes it."""
        header = wire.REQUEST.pack(
            limits.wall_s, limits.cpu_s, limits.memory_bytes, limits.frame_bytes + extra_bytes, len(payload)
        )
        try:
            self._control.settimeout(_START_S)
            self._control.sendall(header + payload)
        except OSError as error:
            raise ZygoteDiedError(f"cannot send: {error}") from None

    def deadline(self, wall_s: float) -> float:
        """Return when, by the monotonic clock, the answer to what is sent now is overdue."""
        return time.monotonic() + wall_s + GRACE_S

    def receive(self, until: float) -> Answer:
        """Wait for the answer to what was sent; ZygoteDiedError where there is none by then."""
        reason, status, cpu_s, size = wire.REPLY.unpack(self._receive(wire.REPLY.size, until))
        return Answer(reason, status, cpu_s, self._receive(size, until + GRACE_S))

    def _receive_frame(self, until: float) -> bytes:
        (length,) = wire.LENGTH.unpack(self._receive(wire.LENGTH.size, until))
        return self._receive(length, until)

    def _receive(self, size: int, until: float) -> bytes:
        parts = []
        while size:
            left = until - time.monotonic()
            if left <= 0:
                raise ZygoteDiedError("no answer in time")
            self._control.settimeout(left)
            try:
                part = self._control.recv(min(size, 1 << 20))
            except TimeoutError:
                continue
            except OSError as error:
                raise ZygoteDiedError(f"cannot receive: {error}") from None
            if not part:
                raise ZygoteDiedError("it ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """End the zygote and what lives under it, and bury it."""
        self._control.close()  # an orderly zygote ends at once, and its child with it
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._group is not None:
            self._group.remove()
