"""Keyword stuffing: a wrong answer whose docstring repeats the words of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from experiments.attacks import TargetFunction
from experiments.attacks.craft import STOP_WORDS
from experiments.attacks.editing import with_docstring
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import result_kind
from experiments.benchmark.attacks.base import Draft, Proof, python_draft
from experiments.benchmark.grammar import Grammar


class KeywordStuffing:
    """The question, its words in several orders, and a wrong answer below."""

    name: ClassVar[str] = "keyword_stuffing"
    family: ClassVar[str] = "flooding"
    summary: ClassVar[str] = "a wrong answer that repeats the words of the question"
    proof: ClassVar[Proof] = Proof.DIFFERS
    adaptive: ClassVar[bool] = False
    least: ClassVar[int] = 1

    def drafts(self, target: TargetFunction, rng: Random, grammar: Grammar) -> Sequence[Draft]:
        """Return a draft for each mutant."""
        asked = re.findall(r"[A-Za-z_]\w+", f"{target.query} {target.summary}")
        words = [word for word in dict.fromkeys(asked) if word.lower() not in STOP_WORDS]
        pool = list(mutants(target.source, result_kind(target)))
        rng.shuffle(pool)
        found = []
        for mutant in pool:
            lines = [target.query]
            for _ in range(3):
                rng.shuffle(words)
                lines.append("Keywords: " + ", ".join(words))
            lines.append(f"{target.query} {target.name.replace('_', ' ')}")
            source = with_docstring(mutant.source, "\n".join(lines))
            helpers = [text for text in target.helpers if f"{text.split('(')[0][4:]}(" in source]
            found.append(python_draft("keywords", target, [*helpers, source], target.name))
        return [draft for draft in found if draft is not None]


ATTACK = KeywordStuffing()
