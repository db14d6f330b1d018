"""Resource limits of the zygote and of each child."""

from __future__ import annotations

import math
import resource

_STACK = 8 * 1024 * 1024

Bounds = list[tuple[int, tuple[int, int]]]  # which limit, soft and hard value


def _bounds(wanted: dict[str, int]) -> Bounds:
    """Return limits, soft equal to hard and at most the current ones; without those the system lacks."""
    bounds = []
    for name, value in wanted.items():
        which = getattr(resource, name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            bounds.append((which, (value, value)))
    return bounds


def limit_zygote() -> None:
    """No core files, no file contents, no locked memory, no queues, a plain stack."""
    none = dict.fromkeys(("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"), 0)
    apply(_bounds({**none, "RLIMIT_STACK": _STACK}))


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
    return _bounds(wanted)


def apply(bounds: Bounds) -> None:
    """Set limits, as far as the system allows them."""
    for which, pair in bounds:
        try:
            resource.setrlimit(which, pair)
        except (ValueError, OSError):
            continue  # macOS refuses some; the preflight checks which hold
