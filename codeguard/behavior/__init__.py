"""What a function should do, and whether it does: specs, derivation, inputs, checker."""

from codeguard.behavior.budget import Budget
from codeguard.behavior.checker import POLICY_VERSION, BehaviorChecker
from codeguard.behavior.library import SpecCoverage, SpecLibrary

__all__ = ["POLICY_VERSION", "BehaviorChecker", "Budget", "SpecCoverage", "SpecLibrary"]
