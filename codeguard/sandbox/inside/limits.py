"""Resource limits: what is set once for the zygote and what for each child."""

from __future__ import annotations

import math
import resource

_STACK = 8 * 1024 * 1024


def limit(name: str, value: int) -> None:
    """Set soft and hard limit together, where the system knows the limit and allows it."""
    which = getattr(resource, name, None)
    if which is None:
        return
    try:
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        return  # macOS refuses some; the preflight says which hold


def limit_zygote(files: bool = False) -> None:
    """No core files, no file contents (unless `files`), no locked memory, no queues, a plain stack."""
    for name in ("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):
        limit(name, 0)
    if not files:
        limit("RLIMIT_FSIZE", 0)
    limit("RLIMIT_STACK", _STACK)


def limit_child(cpu_s: float, memory_bytes: int) -> None:
    """CPU time (whole seconds, killed at once), address space, no processes, no descriptors.

    With RLIMIT_NOFILE 0 nothing that makes a descriptor works any more; the
    ones that are open stay usable.
    """
    limit("RLIMIT_CPU", max(1, math.ceil(cpu_s)))
    limit("RLIMIT_AS", memory_bytes)
    limit("RLIMIT_NPROC", 0)
    limit("RLIMIT_NOFILE", 0)
