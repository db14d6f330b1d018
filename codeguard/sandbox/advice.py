"""What to change on a machine, or in a container's options, to gain a sandbox level."""

from __future__ import annotations

from collections.abc import Sequence

from codeguard.sandbox.model import Layer, Level

# layer: the level that needs it, and what gives it
_FILTERS = (
    "Linux on x86-64 or arm64, a kernel with CONFIG_SECCOMP_FILTER, and a container whose own filter allows "
    "prctl(PR_SET_SECCOMP)"
)
_REMEDIES = {
    "zygote": (Level.L1, "higher limits on processes, descriptors and memory (ulimit -a)"),
    "seccomp": (Level.L1, _FILTERS),
    "child_filter": (Level.L1, _FILTERS),
    "rlimits": (Level.L1, "a kernel that enforces RLIMIT_AS and RLIMIT_NOFILE"),
    "capabilities": (
        Level.L2,
        "a user other than root (docker run --user 1000:1000, runAsUser: 1000), or for root CAP_SETUID and CAP_SETGID, "
        "with which codeguard changes the user by itself",
    ),
    "landlock": (
        Level.L3,
        "a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK, landlock in its lsm=, and a container whose filter "
        "allows the landlock_ calls",
    ),
    "namespaces": (
        Level.L3,
        "user namespaces for this user (sysctl kernel.apparmor_restrict_unprivileged_userns=0, "
        "kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000), a mounted /proc, and a container whose "
        "filter allows clone, mount, umount2, pivot_root and sethostname (--security-opt seccomp=PROFILE.json)",
    ),
}


def advice(level: Level, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Return a line for each missing layer that a higher level needs: that level, why it is missing, what gives it."""
    missing = {layer.name: layer.detail for layer in layers if not layer.engaged}
    lines = []
    for name, (needed, remedy) in _REMEDIES.items():
        if name == "child_filter" and "seccomp" in missing:
            continue  # the same filters
        if name in missing and level < needed:
            either = name in ("landlock", "namespaces") and level < Level.L2
            wanted = "L2 (one of Landlock and namespaces)" if either else needed.name
            lines.append(f"{wanted}: {name} is missing ({missing[name]}); it takes {remedy}")
    return tuple(lines)
