"""Every attack of every category, by name."""

from __future__ import annotations

import dataclasses

from attacks import (
    advisories,
    crashes,
    detection,
    environment,
    files,
    floods,
    imports,
    introspection,
    kernel,
    memory_files,
    network,
    overlooked,
    policy,
    processes,
    procfs,
    resources,
    shared,
    signals,
    spoofing,
    state,
)
from attacks.case import Attack

CATEGORIES: dict[str, tuple[Attack, ...]] = {
    "introspection": introspection.ATTACKS,
    "imports": imports.ATTACKS,
    "policy": policy.ATTACKS,
    "files": files.ATTACKS,
    "memory_files": memory_files.ATTACKS,
    "network": network.ATTACKS,
    "processes": processes.ATTACKS,
    "procfs": procfs.ATTACKS,
    "kernel": kernel.ATTACKS,
    "overlooked": overlooked.ATTACKS,
    "shared": shared.ATTACKS,
    "signals": signals.ATTACKS,
    "resources": resources.ATTACKS,
    "floods": floods.ATTACKS,
    "spoofing": spoofing.ATTACKS,
    "state": state.ATTACKS,
    "detection": detection.ATTACKS,
    "environment": environment.ATTACKS,
    "advisories": advisories.ATTACKS,
    "crashes": crashes.ATTACKS,
}

ALL = tuple(
    dataclasses.replace(attack, category=category, id=f"{category}/{attack.id}")
    for category, attacks in CATEGORIES.items()
    for attack in attacks
)

# What crosses where one layer of the operating system is missing, so that only this layer stands
# before it: a residual risk. The two seccomp filters count as one layer.
ONLY_LAYER: dict[tuple[str, ...], frozenset[str]] = {
    ("namespaces",): frozenset(),
    ("capabilities",): frozenset(),
    ("landlock",): frozenset(),
    ("seccomp",): frozenset(),
    ("child_filter",): frozenset(),
    ("rlimits",): frozenset(),
    ("cgroup",): frozenset(),
    ("seccomp", "child_filter"): frozenset(
        {
            # kept by the kernel for the namespace's next process
            "network/keyring",
            "network/system-v-shared-memory",
            "network/system-v-message",
            "overlooked/semaphore",
            # read from, or done to, what other processes have too
            "shared/futex-compare-requeue",
            "shared/futex-high-bits",
            "shared/futex-requeue",
            "shared/futex-wait",
            "shared/futex-wait-vector",
            "shared/futex-wake",
            "shared/futex-wake-bitset",
            "shared/futex-wake-operation",
            "shared/futex2-requeue",
            "shared/futex2-wait",
            "shared/futex2-wake",
            "shared/inode-counter",
            "shared/page-cache",
            "shared/process-counter",
            "shared/robust-list-at-exit",
            "shared/shared-mapping",
            "shared/switches",
            "shared/ticks-of-the-machine",
            # within the attacker's own process: more of the kernel to attack, no effect by itself
            "kernel/compare-processes",
            "kernel/executable-memory",
            "kernel/foreign-architecture",
            "kernel/host-name-change",
            "kernel/personality",
            "kernel/ptrace-child",
            "overlooked/adopted-orphans",
            "overlooked/another-process-clock",
            "overlooked/cached-pages",
            "overlooked/every-processor-interrupted",
            "overlooked/kernel-timer",
            "overlooked/larger-pipe",
            "overlooked/memory-policy",
            "overlooked/merged-memory",
            "overlooked/mount-list",
            "overlooked/rearranged-pages",
            "overlooked/sealed-memory",
            "overlooked/security-modules",
            "overlooked/segment-table",
            "overlooked/thread-register",
            "shared/thread-identity",
            # a frame written by a handler instead of the function
            "spoofing/frame-by-handler",
        }
    ),
}
