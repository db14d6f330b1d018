"""Wrong code under a name that no reference matches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import PoisonFile, TargetFunction
from experiments.attacks.craft import echo, poison_file, renamed_part, rng_for
from experiments.attacks.editing import parse_function, renamed_variables, without_annotations
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import result_kind

NAMES = (
    "q7",
    "process",
    "handle_case",
    "step_two",
    "apply_rule",
    "zx_run",
    "worker",
    "transform_v3",
    "util_a",
)


class EvasiveName:
    """The docstring finds the query; the name finds no specification."""

    name: ClassVar[str] = "evasive_name"
    summary: ClassVar[str] = "name chosen so that no reference matches"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return mutants under meaningless names: as they are, with other variables, behind an alias."""
        rng = rng_for(self.name, target, seed)
        pool = list(mutants(target.source, result_kind(target)))
        rng.shuffle(pool)
        shift = rng.randrange(3)
        return [_hidden(target, mutant.source, (index + shift) % 3, rng) for index, mutant in enumerate(pool)]


def _hidden(target: TargetFunction, source: str, variant: int, rng: random.Random) -> PoisonFile:
    name = rng.choice([name for name in NAMES if name != target.name])
    part = renamed_part(source, name, echo(target, rng))
    if variant == 0:
        return poison_file("evasive_name", "plain", target, [part], poisoned=[name])
    arguments = parse_function(source).args
    names = [node.arg for node in arguments.posonlyargs + arguments.args]
    part = renamed_variables(part, {old: f"p{number}" for number, old in enumerate(names)})
    if variant == 1:
        return poison_file(
            "evasive_name", "opaque-parameters", target, [without_annotations(part)], poisoned=[name]
        )
    return poison_file("evasive_name", "alias", target, [part, f"{name}_main = {name}"], poisoned=[name])


ATTACK = EvasiveName()
