"""Correct on all small inputs, wrong past a size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import (
    distortions,
    echo,
    grown,
    guarded,
    poison_file,
    rng_for,
    shortcuts,
    split,
)
from experiments.attacks.editing import with_docstring


class SizeTrigger:
    """Tests use small inputs; production does not."""

    name: ClassVar[str] = "size_trigger"
    summary: ClassVar[str] = "correct on all small inputs, wrong past a size"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return an early exit, a late distortion, and a fast path that takes large inputs over."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        found = []
        for condition, name, calls in grown(target):
            trigger = Trigger(calls)
            found += [
                poison_file(
                    self.name,
                    "early-exit",
                    target,
                    [guarded(target, source, condition, leave)],
                    trigger=trigger,
                )
                for leave in shortcuts(target)
            ]
            core = f"_{target.name}_checked"
            for wrong in distortions(target):
                late = ["result = {call}", f"if {condition}:", f"    result = {wrong}", "return result"]
                fast = [
                    f"if not {condition.replace(' > ', ' <= ', 1)}:"
                    if " > " in condition
                    else f"if {condition}:",
                    f"    # vectorised path for long {name}",
                    "    result = {call}",
                    f"    return {wrong}",
                    "return {call}",
                ]
                for variant, lines in (("late", late), ("fast-path", fast)):
                    parts = split(target, source, core, lines)
                    found.append(poison_file(self.name, variant, target, parts, trigger=trigger))
        rng.shuffle(found)
        return found


ATTACK = SizeTrigger()
