"""What a function should do, and whether it does: specs, derivation, inputs, checker.

The names below are imported when they are first used: where the evidence is
at hand, nothing of this package runs but the version and the digest of the specs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.behavior.version import POLICY_VERSION
from codeguard.lazily import attributes

if TYPE_CHECKING:
    from codeguard.behavior.budget import Budget
    from codeguard.behavior.checker import BehaviorChecker
    from codeguard.behavior.library import SpecCoverage, SpecLibrary

__all__ = ["POLICY_VERSION", "BehaviorChecker", "Budget", "SpecCoverage", "SpecLibrary"]

_HOMES = {
    "BehaviorChecker": "codeguard.behavior.checker",
    "Budget": "codeguard.behavior.budget",
    "SpecCoverage": "codeguard.behavior.library",
    "SpecLibrary": "codeguard.behavior.library",
}
__getattr__ = attributes(__name__, _HOMES)
