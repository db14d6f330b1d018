"""Side effects: right results, and a connection, a file, a process or the environment besides."""

from experiments.benchmark.attacks.base import Proof, Reused

ATTACK = Reused("side_effect", "effect", "right results with an effect besides", "side_effect", Proof.EFFECT)
