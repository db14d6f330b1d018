"""Correct for the first calls, wrong after that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import distortions, echo, poison_file, rng_for, split
from experiments.attacks.editing import with_docstring


class CallCounter:
    """A test makes a few calls; a service makes many."""

    name: ClassVar[str] = "call_counter"
    summary: ClassVar[str] = "correct for the first N calls"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return a counter in a module variable, a list, an iterator and an attribute, for several N."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        core = f"_{target.name}_once"
        found = []
        for limit in (40, 300, 2000):
            trigger = Trigger(repeat=limit + 2)
            for wrong in distortions(target):
                for variant, state, count in (
                    ("global", "_calls = 0", ["global _calls", "_calls += 1", f"if _calls > {limit}:"]),
                    ("history", "_history = []", ["_history.append(None)", f"if len(_history) > {limit}:"]),
                    ("iterator", f"_budget = iter(range({limit}))", ["if next(_budget, None) is None:"]),
                    (
                        "attribute",
                        f"{target.name}.seen = 0",
                        [f"{target.name}.seen += 1", f"if {target.name}.seen > {limit}:"],
                    ),
                ):
                    lines = ["result = {call}", *count, f"    return {wrong}", "return result"]
                    impl, public = split(target, source, core, lines)
                    parts = [impl, public, state] if variant == "attribute" else [state, impl, public]
                    found.append(poison_file(self.name, variant, target, parts, trigger=trigger))
        rng.shuffle(found)
        return found


ATTACK = CallCounter()
