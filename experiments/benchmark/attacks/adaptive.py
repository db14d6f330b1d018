"""The attackers who know the defense: every adaptive attack of `experiments.attacks`, one class each."""

from experiments.attacks import all_attacks
from experiments.benchmark.attacks.base import Proof, Reused

ATTACKS = tuple(
    Reused(f"adaptive_{attack.name}", "adaptive", attack.summary, attack.name, Proof.DIFFERS, adaptive=True)
    for attack in all_attacks().values()
    if attack.adaptive and attack.name != "side_effect"
)
