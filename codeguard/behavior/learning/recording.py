"""Run a command of the team's own with a recorder in every Python process that it starts.

The command is trusted and not confined. Records come back through a named pipe, so that nothing is
on disk before it was searched for secrets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.errors import ConfigError

INSIDE = Path(__file__).parent / "inside"
PIPE, ROOTS = "CODEGUARD_LEARN_PIPE", "CODEGUARD_LEARN_ROOTS"
MAX_BYTES = 512 * 1024 * 1024  # bytes of all records of one command


@dataclass(frozen=True, slots=True)
class Recording:
    """The command's exit code and the lines that the recorders sent; `cut` if there were too many."""

    exit_code: int
    lines: tuple[bytes, ...]
    cut: bool = False


def record(command: Sequence[str], roots: Sequence[Path]) -> Recording:
    """Run a command and record calls of functions in files under `roots`.

    The command keeps its own input and output. The exit code is the command's; for one that a
    signal ended it is 128 plus the signal's number, as in a shell.

    Raises:
        ConfigError: the command cannot be started, or the system has no named pipes.
    """
    if not hasattr(os, "mkfifo"):
        raise ConfigError("recording needs named pipes", got=sys.platform, expected="Linux or macOS")
    with tempfile.TemporaryDirectory(prefix="codeguard-learn-", ignore_cleanup_errors=True) as folder:
        pipe = f"{folder}/pipe"
        os.mkfifo(pipe, 0o600)
        path = [str(INSIDE), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = {"PYTHONPATH": os.pathsep.join(path), PIPE: pipe}
        own[ROOTS] = os.pathsep.join(str(root.resolve()) for root in roots)
        reader = _Reader(pipe)
        try:
            code = _run(command, os.environ | own)
        finally:
            data = reader.finish()
    return Recording(code, tuple(data.split(b"\n")), reader.cut)


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise ConfigError(
            f"cannot start {command[0]}", got=error.strerror, expected="a command that runs by itself"
        ) from None
    # The command receives Ctrl-C as well and decides how to end; this process waits for it.
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main_thread else None
    try:
        code = process.wait()
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


class _Reader:
    """Reads a named pipe to its end in a thread, up to a limit; the rest is dropped."""

    def __init__(self, pipe: str) -> None:
        self.cut = False
        self._parts: list[bytes] = []
        self._in = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # Kept open, so that the pipe does not end when the first writer exits.
        self._out = os.open(pipe, os.O_WRONLY)
        os.set_blocking(self._in, True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        left = MAX_BYTES
        read: Callable[[int, int], bytes] = os.read
        while data := read(self._in, 1 << 16):
            left -= len(data)
            if left >= 0:
                self._parts.append(data)
            else:
                self.cut = True

    def finish(self) -> bytes:
        """Return what was read, without waiting for processes that the command left behind."""
        os.close(self._out)
        self._thread.join(timeout=5.0)
        return b"".join(self._parts)
