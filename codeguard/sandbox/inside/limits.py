"""Resource limits: what is set once for the zygote and what for each child."""

from __future__ import annotations

import math
import resource

_STACK = 8 * 1024 * 1024


Bounds = list[tuple[int, tuple[int, int]]]  # which limit, soft and hard value


def _bound(name: str, value: int) -> tuple[int, tuple[int, int]] | None:
    """Return a limit for soft and hard together, at most what holds already; None where the system has none."""
    which = getattr(resource, name, None)
    if which is None:
        return None
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    return which, (value, value)


def limit_zygote(files: bool = False) -> None:
    """No core files, no file contents (unless `files`), no locked memory, no queues, a plain stack."""
    wanted = dict.fromkeys(("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"), 0)
    if not files:
        wanted["RLIMIT_FSIZE"] = 0
    wanted["RLIMIT_STACK"] = _STACK
    apply([found for name, value in wanted.items() if (found := _bound(name, value)) is not None])


def child_limits(cpu_s: float, memory_bytes: int) -> Bounds:
    """Return a child's limits: CPU time (whole seconds, killed at once), address space, no processes, no descriptors.

    With RLIMIT_NOFILE 0 nothing that makes a descriptor works any more; the
    ones that are open stay usable.
    """
    wanted = {
        "RLIMIT_CPU": max(1, math.ceil(cpu_s)),
        "RLIMIT_AS": memory_bytes,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": 0,
    }
    return [found for name, value in wanted.items() if (found := _bound(name, value)) is not None]


def apply(bounds: Bounds) -> None:
    """Set limits, as far as the system allows them."""
    for which, pair in bounds:
        try:
            resource.setrlimit(which, pair)
        except (ValueError, OSError):
            continue  # macOS refuses some; the preflight says which hold
