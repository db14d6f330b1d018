"""Check functions of untrusted code against the behavior of trusted functions and specs.

In: functions and trusted code. Out: a `CheckReport` for each function. Candidates and trusted
functions are run in the sandbox only. The names below are imported on first use, so that reusing cached
evidence loads no more of this package than its version and the digest of the specs. May import
`analysis`, `corpus`, `workers` and `sandbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.behavior.version import POLICY_VERSION
from codeguard.lazy_imports import attributes

if TYPE_CHECKING:
    from codeguard.behavior.budget import Budget
    from codeguard.behavior.specs.library import SpecLibrary
    from codeguard.behavior.verdict.checker import BehaviorChecker

__all__ = ["POLICY_VERSION", "BehaviorChecker", "Budget", "SpecLibrary"]

_HOMES = {
    "BehaviorChecker": "codeguard.behavior.verdict.checker",
    "Budget": "codeguard.behavior.budget",
    "SpecLibrary": "codeguard.behavior.specs.library",
}
__getattr__ = attributes(__name__, _HOMES)
