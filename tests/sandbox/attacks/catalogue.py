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
    network,
    policy,
    processes,
    procfs,
    resources,
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
    "network": network.ATTACKS,
    "processes": processes.ATTACKS,
    "procfs": procfs.ATTACKS,
    "kernel": kernel.ATTACKS,
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
