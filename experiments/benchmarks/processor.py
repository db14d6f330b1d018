"""Processor time of a process and of all that it started (Linux)."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return the processor time, user and system, of this process and its descendants, ended ones included."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in usage) + _running_descendants()


def _running_descendants() -> float:
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
        except OSError:  # it ended meanwhile
            continue
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))  # its own and of the children it waited for
    total, pending = 0, [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        total += sum(ticks[child] for child in below)
        pending.extend(below)
    return total / _TICKS
