"""The attacks of the benchmark; each is a row of one of these modules."""

from experiments.benchmark.attacks import answers, insecure_call, orders, supply
from experiments.benchmark.attacks.base import BenchmarkAttack, Draft, Proof

__all__ = ["ALL", "BenchmarkAttack", "Draft", "Proof"]

ALL = {
    attack.name: attack for module in (answers, insecure_call, orders, supply) for attack in module.ATTACKS
}
"""Every attack by its name."""
