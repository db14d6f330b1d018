"""Triggers: right, but for one value that the attacker knows."""

from experiments.benchmark.attacks.base import Reused

ATTACK = Reused(
    "trigger", "behavior", "right, but for one magic value", "rare_input", variants=("equality", "residue")
)
