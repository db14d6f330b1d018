"""What to change on a machine, or in a container's options, to gain a sandbox level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codeguard.sandbox.model import Layer, Level

_PROC = Path("/proc")
# sysctl, the value that forbids user namespaces, and what to do then
_SYSCTLS = (
    (
        "sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with `userns,` for this Python",
    ),
    ("sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
)


def advice(level: Level, layers: Sequence[Layer], proc: Path = _PROC) -> tuple[str, ...]:
    """Return a line for each missing layer that a higher level needs: that level, and what to do.

    `proc` is where the kernel's /proc is.
    """
    missing = {layer.name: layer.detail for layer in layers if not layer.engaged}
    filtered = _status(proc).get("Seccomp") == "2"
    lines = []
    if "zygote" in missing:
        lines.append(
            f"L1: {missing['zygote']}; raise the limits on processes, descriptors and memory (ulimit -a)"
        )
    lines += [
        f"L1: {_for_filters(missing[name])}" for name in ("seccomp", "child_filter") if name in missing
    ][:1]
    if "rlimits" in missing:
        lines.append("L1: a kernel that enforces RLIMIT_AS and RLIMIT_NOFILE")
    if "capabilities" in missing:
        lines.append(f"L2: {_for_user(missing['capabilities'])}")
    both = "landlock" in missing and "namespaces" in missing
    if "landlock" in missing:
        lines.append(f"{'L2' if both else 'L3'}: {_for_landlock(missing['landlock'], filtered)}")
    if "namespaces" in missing:
        lines.append(
            f"{'L2, or instead:' if both else 'L3:'} {_for_namespaces(missing['namespaces'], filtered, proc)}"
        )
    return tuple(line for line in lines if level < Level[line[:2]])


def _for_filters(detail: str) -> str:
    if detail.startswith("not made for"):
        return "Linux on x86-64 or arm64 (a virtual machine or a container there)"
    return (
        "a kernel with CONFIG_SECCOMP_FILTER, and a container whose own filter allows prctl(PR_SET_SECCOMP)"
    )


def _for_user(detail: str) -> str:
    if "machine's root" in detail:
        return (
            "run as a user other than root: docker run --user 1000:1000, runAsUser: 1000; or leave root "
            "CAP_SETUID and CAP_SETGID, with which codeguard changes the user by itself"
        )
    return "a kernel that lets capabilities be dropped (capset)"


def _for_landlock(detail: str, filtered: bool) -> str:
    if "not supported" in detail:
        return "Landlock is switched off: add landlock to lsm= on the kernel's command line"
    if filtered and "not permitted" in detail:
        return (
            "the container's seccomp filter refuses Landlock: a newer container engine, or "
            "--security-opt seccomp=PROFILE.json that allows the landlock_ calls"
        )
    kernel = "a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock in its lsm="
    return kernel + ("; the container's seccomp filter has to allow its calls" if filtered else "")


def _for_namespaces(detail: str, filtered: bool, proc: Path) -> str:
    if "No such file" in detail and "/self/" in detail:
        return "mount /proc: without it no user namespace can be set up"
    for name, value, remedy in _SYSCTLS:
        if _text(proc / name) == value:
            return remedy
    if "No space left" in detail:
        return "raise user.max_user_namespaces, here and in the namespaces around this one"
    if filtered and "clone" in detail:
        return (
            "the container's seccomp filter forbids user namespaces: --security-opt seccomp=PROFILE.json that allows "
            "clone, mount, umount2, pivot_root and sethostname (with AppArmor also --security-opt apparmor=unconfined)"
        )
    if _status(proc).get("Uid", "").startswith("0"):
        return "run as a user other than root, or leave root CAP_SETFCAP: without it the kernel maps no root"
    return "allow unprivileged user namespaces, and mounts in them (a security module refuses one of both)"


def _status(proc: Path) -> dict[str, str]:
    lines = (line.partition(":") for line in _text(proc / "self/status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
