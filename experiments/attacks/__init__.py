"""Attacks on a code corpus; payloads are harmless (loopback addresses, marker values)."""

from experiments.attacks import adaptive, fake, misleading, scrambled, targeted
from experiments.attacks.base import Attack, CallText, Label, PoisonFile, TargetFunction, Trigger

__all__ = ["ALL", "METHOD", "Attack", "CallText", "Label", "PoisonFile", "TargetFunction", "Trigger"]

METHOD = {item.ATTACK.name: item.ATTACK for item in (targeted, misleading, fake, scrambled)}
"""The four attacks of the method itself, by name."""

ALL = METHOD | {attack.name: attack for attack in adaptive.ATTACKS}
"""Those, and the attacks that adapt to the defense."""
