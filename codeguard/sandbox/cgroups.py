"""One control group per zygote, if this user may create one: a second limit on memory and processes.

Both layouts are known: version 2 (one tree) and version 1 (a tree a
controller). A group lies beside the process's own, named after this process,
and goes when the zygote does; groups of processes that were killed are swept
by the next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_NAME = re.compile(r"codeguard-(\d+)-\d+\Z")
_PROCESSES = 16  # the zygote, who waits for it, a child, and probes at the start
_BEYOND = 512 * 1024 * 1024  # bytes for the zygote beyond what its child may have
_REMOVE_TRIES = 50
_REMOVE_PAUSE_S = 0.01


class ControlGroup:
    """Directories that hold one zygote's processes; `detail` says why there are none."""

    def __init__(self, number: int) -> None:
        self._directories: list[Path] = []
        self.detail = ""
        name = f"codeguard-{os.getpid()}-{number}"
        try:
            for controller, parent, version in _parents():
                _sweep(parent)
                directory = parent / name
                if directory not in self._directories:
                    directory.mkdir()
                    self._directories.append(directory)
                self._file(controller, version).write_text(
                    str(_PROCESSES if controller == "pids" else 2 * _BEYOND)
                )
        except OSError as error:
            self.remove()
            self.detail = f"not writable: {error.strerror or error}"
        if not self._directories and not self.detail:
            self.detail = "no memory or pids controller for this process"

    @property
    def engaged(self) -> bool:
        """Whether the group exists."""
        return bool(self._directories)

    def _file(self, controller: str, version: int) -> Path:
        name = (
            "pids.max"
            if controller == "pids"
            else ("memory.max" if version == 2 else "memory.limit_in_bytes")
        )
        return self._directories[-1] / name

    def add(self, pid: int) -> None:
        """Put a process, and whatever it starts, into the group."""
        for directory in self._directories:
            try:
                (directory / "cgroup.procs").write_text(str(pid))
            except OSError as error:
                self.remove()
                self.detail = f"cannot enter: {error.strerror or error}"
                return

    def remove(self) -> None:
        """Remove the directories once their processes are gone."""
        for directory in self._directories:
            for _ in range(_REMOVE_TRIES):
                try:
                    directory.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(_REMOVE_PAUSE_S)  # the kernel is still reaping them
        self._directories.clear()


def _parents() -> list[tuple[str, Path, int]]:
    """Return controller, the directory of this process's own group and the layout's version."""
    found: list[tuple[str, Path, int]] = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        _, names, path = line.split(":", 2)
        for controller in ("memory", "pids"):
            parent = _ROOT / controller / path.lstrip("/")
            if controller in names.split(",") and parent.is_dir():
                found.append((controller, parent, 1))
    if found:
        return found
    for line in lines:
        if line.startswith("0::"):
            parent = _ROOT / line[3:].lstrip("/")
            with contextlib.suppress(OSError):
                enabled = (parent / "cgroup.subtree_control").read_text().split()
                found += [
                    (controller, parent, 2) for controller in ("memory", "pids") if controller in enabled
                ]
    return found


def _sweep(parent: Path) -> None:
    """Remove groups that a killed process of ours left behind."""
    for directory in parent.iterdir():
        match = _NAME.match(directory.name)
        if match and not Path(f"/proc/{match[1]}").exists():
            with contextlib.suppress(OSError):
                directory.rmdir()
