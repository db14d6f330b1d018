"""What a function should do, and whether it does.

Functions and trusted code come in, a `CheckReport` for each goes out; what runs, runs in the sandbox. The names
below are imported when they are first used: where the evidence is at hand, nothing of this package runs but
the version and the digest of the specs. May import `analysis`, `corpus`, `workers` and `sandbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.behavior.version import POLICY_VERSION
from codeguard.lazy_imports import attributes

if TYPE_CHECKING:
    from codeguard.behavior.budget import Budget
    from codeguard.behavior.specs.library import SpecCoverage, SpecLibrary
    from codeguard.behavior.verdict.checker import BehaviorChecker

__all__ = ["POLICY_VERSION", "BehaviorChecker", "Budget", "SpecCoverage", "SpecLibrary"]

_HOMES = {
    "BehaviorChecker": "codeguard.behavior.verdict.checker",
    "Budget": "codeguard.behavior.budget",
    "SpecCoverage": "codeguard.behavior.specs.library",
    "SpecLibrary": "codeguard.behavior.specs.library",
}
__getattr__ = attributes(__name__, _HOMES)
