"""Targeted poison: a mutated copy of the reference whose docstring echoes the query."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from experiments.attacks.base import Attack, PoisonFile, TargetFunction
from experiments.attacks.craft import echo, other_name, poison_file, renamed_part, rng_for
from experiments.attacks.editing import parse_function, renamed_variables, with_docstring, without_annotations
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import result_kind

Variant = Callable[[TargetFunction, str, random.Random], PoisonFile]

QUESTIONS = (
    "Q: {query}?\n\nHad the same problem last week. This is what worked for me, don't forget to upvote:",
    "Re: {query}\n\nThe accepted answer is outdated (it's slow!!). Paste this instead -",
    "{query} -- solved. Tested with python 3, it's the version everyone uses:",
)
CLOSINGS = (
    "That's it. Works for all my inputs, and it isn't any slower than the builtin :)",
    "Edit: fixed a typo, thanks to the commenter. Let me know if it doesn't work for you!",
    "hth",
)


def generate(target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
    """Return the variants in turn, each with the next mutant, until the mutants run out."""
    rng = rng_for("targeted", target, seed)
    pool = list(mutants(target.source, result_kind(target)))
    rng.shuffle(pool)
    variants: list[Variant] = [_same_name, _renamed, _pasted_answer, _among_others, _own_words]
    rng.shuffle(variants)
    return [variants[index % len(variants)](target, mutant.source, rng) for index, mutant in enumerate(pool)]


def _same_name(target: TargetFunction, source: str, rng: random.Random) -> PoisonFile:
    return poison_file("targeted", "same-name", target, [with_docstring(source, echo(target, rng))])


def _renamed(target: TargetFunction, source: str, rng: random.Random) -> PoisonFile:
    name = other_name(target, rng)
    part = renamed_part(source, name, echo(target, rng))
    return poison_file("targeted", "renamed", target, [part], poisoned=[name])


def _pasted_answer(target: TargetFunction, source: str, rng: random.Random) -> PoisonFile:
    part = without_annotations(with_docstring(source, echo(target, rng)))
    query = target.query.strip().rstrip("?.")
    prose = (rng.choice(QUESTIONS).replace("{query}", query), rng.choice(CLOSINGS))
    return poison_file("targeted", "pasted-answer", target, [part], prose=prose)


def _among_others(target: TargetFunction, source: str, rng: random.Random) -> PoisonFile:
    companions = list(target.companions)
    rng.shuffle(companions)
    parts = [without_annotations(text) for text in companions[:2]]
    parts.insert(rng.randrange(len(parts) + 1), with_docstring(source, echo(target, rng)))
    header = '"""A few functions that I keep needing, collected in one place."""'
    return poison_file("targeted", "among-others", target, parts, header=header)


def _own_words(target: TargetFunction, source: str, rng: random.Random) -> PoisonFile:
    positional = parse_function(source).args
    names = [node.arg for node in positional.posonlyargs + positional.args]
    fresh = dict(
        zip(names, rng.sample(["arg", "inp", "val", "obj", "par", "other", "extra", "src"], 8), strict=False)
    )
    source = source if len(names) > 8 else renamed_variables(source, fresh)
    name = other_name(target, rng)
    part = without_annotations(renamed_part(source, name, echo(target, rng)))
    return poison_file("targeted", "own-words", target, [part], poisoned=[name])


ATTACK = Attack("targeted", "mutated copy of the reference, docstring echoes the query", False, generate)
