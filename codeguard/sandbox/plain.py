"""The fallback for systems without fork: one separate process per job, level L0.

It is confined only by being a separate process, by the deadline from outside and by the resource limits of
the system. It is used only by callers that request L0.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import IO

from codeguard import interpreter
from codeguard.sandbox.imports import LoadedModules
from codeguard.sandbox.inside import wire
from codeguard.sandbox.lines import Answer, End, ZygoteDiedError
from codeguard.sandbox.model import Layer, Level, Limits
from codeguard.sandbox.zygotes import BOOT, ZygoteKind, home_of

_NAMES = (
    "namespaces",
    "capabilities",
    "no_new_privs",
    "landlock",
    "seccomp",
    "child_filter",
    "rlimits",
    "cgroup",
)


class PlainProcess:
    """Implements the interface of a zygote by starting an interpreter for each job."""

    level = Level.L0
    core: int | None = None

    def __init__(self, kind: ZygoteKind, without: frozenset[str]) -> None:
        self.kind = kind
        why = "left out on request" if "zygote" in without else f"not made for {sys.platform}"
        self.layers = tuple(Layer(name, False, why) for name in _NAMES)
        self._options: dict[str, object] = {
            "control": None,
            "site": home_of("RestrictedPython"),
            "wide": kind.loaded >= LoadedModules.ALL,
            "without": [],
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._cap = 0
        self._since = self.until = 0.0  # when the current job began, and when it is overdue

    def greet(self) -> None:
        """Do nothing: an interpreter starts with each job."""

    def fileno(self) -> int:
        """Return a unique number; there is nothing to wait on."""
        return id(self)

    def send(self, payload: bytes, limits: Limits, extra_bytes: int) -> None:
        """Start an interpreter on one request; raise ZygoteDiedError if it does not start."""
        header = wire.ALONE.pack(limits.cpu_s, limits.memory_bytes) + wire.SIZE.pack(len(payload))
        self._cap = limits.frame_bytes + extra_bytes
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in receive
        given = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
        try:
            given.write(header + payload)
            given.seek(0)
            self._process = interpreter.start_bare(
                BOOT,
                json.dumps(self._options),
                env={"PYTHONHASHSEED": str(self.kind.hash_seed), **_needed()},
                stdin=given,
                stdout=self._output,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise ZygoteDiedError(f"cannot start: {error}") from None
        finally:
            given.close()
        self._since = time.monotonic()
        self.until = self._since + limits.wall_s

    def receive(self) -> Answer:
        """Wait for the interpreter to end, or kill it."""
        assert self._process is not None
        assert self._output is not None
        end = End.CLOSED
        try:
            code = self._process.wait(max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            code, end = self._process.wait(), End.DEADLINE
        self._output.seek(0)
        output = self._output.read(self._cap + 1)
        self._output.close()
        if len(output) > self._cap:
            end = End.FLOOD
        # a wait status as on POSIX: the signal in the low bits, else the exit code above them
        status = -code if code < 0 else (code & 0xFF) << 8
        taken = time.monotonic() - self._since  # one process on one core: it cannot have used more of it
        return Answer(end, output, lambda: (status, taken))

    def collect(self) -> Answer | None:
        """Wait for the complete answer: there are no partial ones."""
        return self.receive()

    def close(self) -> None:
        """End the interpreter if one runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._output is not None:
            with contextlib.suppress(OSError):
                self._output.close()


def _needed() -> dict[str, str]:
    """Return the environment variables that an interpreter needs to start."""

    names = ("SYSTEMROOT",) if sys.platform == "win32" else ()
    return {name: os.environ[name] for name in names if name in os.environ}
