"""The attacks of the benchmark, one file each: every module that defines ATTACK, or ATTACKS for a whole family."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from experiments.benchmark.attacks.base import BenchmarkAttack, Draft, Proof

__all__ = ["BenchmarkAttack", "Draft", "Proof", "all_attacks"]


@cache
def all_attacks() -> dict[str, BenchmarkAttack]:
    """Return the attacks by name, sorted; TypeError for what is none or has a name that is taken."""
    found: dict[str, BenchmarkAttack] = {}
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        module = importlib.import_module(info.name)
        for attack in getattr(module, "ATTACKS", None) or filter(None, [getattr(module, "ATTACK", None)]):
            if not isinstance(attack, BenchmarkAttack) or attack.name in found:
                raise TypeError(f"{info.name}: {attack!r} is no attack, or its name is taken")
            found[attack.name] = attack
    return dict(sorted(found.items()))
