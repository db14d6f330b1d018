"""The name and the documentation of the answer on a body that does something else."""

from experiments.benchmark.attacks.base import Reused

ATTACK = Reused("unrelated_body", "behavior", "name and documentation of the answer, another body", "fake")
