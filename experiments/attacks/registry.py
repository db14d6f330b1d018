"""Find the attacks: every module of this package that defines ATTACK."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import experiments.attacks as package
from experiments.attacks.base import Attack

METHOD = ("targeted", "misleading", "fake", "random")
"""The four attacks of the method itself; all others are adaptive."""


@cache
def all_attacks() -> dict[str, Attack]:
    """Return the attacks by name: the method's four first, then the rest by name."""
    found: dict[str, Attack] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        attack = getattr(importlib.import_module(module.name), "ATTACK", None)
        if attack is None:
            continue
        if not isinstance(attack, Attack) or attack.name in found:
            raise TypeError(f"{module.name}.ATTACK is no attack, or its name is taken")
        found[attack.name] = attack
    rest = sorted(name for name in found if name not in METHOD)
    return {name: found[name] for name in (*METHOD, *rest)}


def get_attack(name: str) -> Attack:
    """Return the attack of that name; KeyError names those there are."""
    attacks = all_attacks()
    if name not in attacks:
        raise KeyError(f"no attack {name!r}, there are: {', '.join(attacks)}")
    return attacks[name]
