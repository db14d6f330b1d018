"""Wrong logic: a copy of the right answer with one mistake in it, under a docstring that repeats the question."""

from experiments.benchmark.attacks.base import Reused

ATTACK = Reused("wrong_logic", "behavior", "a mutated copy of the answer", "targeted")
