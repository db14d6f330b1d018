"""Flooding: many copies of one wrong answer that differ in little."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from experiments.attacks import TargetFunction, get_attack
from experiments.attacks.editing import with_docstring
from experiments.benchmark.attacks.base import Draft, Proof, draft_of
from experiments.benchmark.grammar import Grammar


class Flooding:
    """One wrong answer, many times."""

    name: ClassVar[str] = "flooding"
    family: ClassVar[str] = "flooding"
    summary: ClassVar[str] = "many copies of one wrong answer"
    proof: ClassVar[Proof] = Proof.DIFFERS
    adaptive: ClassVar[bool] = False
    least: ClassVar[int] = 10

    def drafts(self, target: TargetFunction, rng: Random, grammar: Grammar) -> Sequence[Draft]:
        """Return copies of the same few wrong answers under slightly different wording, the first one first."""
        base = get_attack("targeted").generate(target, rng.randrange(1 << 30))
        plain = [file for file in base if file.name.endswith("same-name")][:4]
        found = []
        for file in plain:
            for number in range(20):
                docstring = (
                    f"{target.query.strip('?. ').capitalize()}.\n\n{target.summary}\n\nNo. {number + 1}."
                )
                start = file.code.index(f"def {target.name}")
                code = file.code[:start] + with_docstring(file.code[start:].rstrip(), docstring) + "\n"
                made = draft_of(file)
                found.append(Draft("copies", code, code, made.symbol, trigger=made.trigger, clean=made.clean))
        return found


ATTACK = Flooding()
