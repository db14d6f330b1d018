"""Attacks on a code corpus, one file each; payloads are harmless (loopback addresses, marker values)."""

from experiments.attacks.base import Attack, CallText, Label, PoisonFile, TargetFunction, Trigger
from experiments.attacks.registry import all_attacks, get_attack

__all__ = [
    "Attack",
    "CallText",
    "Label",
    "PoisonFile",
    "TargetFunction",
    "Trigger",
    "all_attacks",
    "get_attack",
]
