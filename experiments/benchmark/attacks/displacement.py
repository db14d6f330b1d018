"""Displacement: harmless stubs that answer nothing and take the places of the right answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from experiments.attacks import TargetFunction
from experiments.attacks.craft import echo, other_name, renamed_part
from experiments.attacks.editing import with_body
from experiments.benchmark.attacks.base import Draft, Proof, python_draft
from experiments.benchmark.grammar import Grammar

BODIES = (
    ('raise NotImplementedError("see the other module")',),
    ("# to be written", "return None"),
    ("pass",),
    ("...",),
    ('raise RuntimeError("moved")',),
)


class Displacement:
    """Stubs under the names and the wording of the answer, at least as many as there are results."""

    name: ClassVar[str] = "displacement"
    family: ClassVar[str] = "flooding"
    summary: ClassVar[str] = "stubs that push the right answer out of the results"
    proof: ClassVar[Proof] = Proof.DISPLACES
    adaptive: ClassVar[bool] = False
    least: ClassVar[int] = 8

    def drafts(self, target: TargetFunction, rng: Random, grammar: Grammar) -> Sequence[Draft]:
        """Return stubs, each with a wording of its own."""
        found = []
        for number in range(40):
            name = target.name if number % 2 else other_name(target, rng)
            part = with_body(renamed_part(target.source, name, echo(target, rng)), rng.choice(BODIES))
            found.append(python_draft("stub", target, [part], name))
        unique = {draft.text: draft for draft in found if draft is not None}
        return list(unique.values())


ATTACK = Displacement()
