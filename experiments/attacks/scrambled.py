"""Random poison: scrambled or unrelated wrong code, without an aim beyond being in the way."""

from __future__ import annotations

import random
from collections.abc import Sequence

from experiments.attacks.base import Attack, PoisonFile, TargetFunction
from experiments.attacks.craft import poison_file, rng_for
from experiments.attacks.editing import body_lines, with_body, with_docstring
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import parameters, result_kind

WORDS = (
    "apply",
    "batch",
    "buffer",
    "cache",
    "event",
    "frame",
    "graph",
    "handle",
    "input",
    "layer",
    "merge",
    "node",
    "order",
    "queue",
    "stage",
    "table",
)


def generate(target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
    """Return stacked mutants, the statements in another order, and arithmetic on nothing in particular."""
    rng = rng_for("random", target, seed)
    found = [_noise(target, rng), _stacked(target, rng), _shuffled(target, rng), _noise(target, rng)]
    found += [_stacked(target, rng) for _ in range(6)]
    return [file for file in found if file is not None]


def _docstring(target: TargetFunction, rng: random.Random) -> str:
    words = " ".join(rng.sample(WORDS, 4))
    return rng.choice([target.summary, f"{words.capitalize()}.", f"{target.summary}\n\nTodo: {words}."])


def _stacked(target: TargetFunction, rng: random.Random) -> PoisonFile | None:
    source = target.source
    for _ in range(3):
        pool = mutants(source, result_kind(target))
        if not pool:
            break
        source = rng.choice(pool).source
    if source == target.source:
        return None
    return poison_file("random", "stacked", target, [with_docstring(source, _docstring(target, rng))])


def _shuffled(target: TargetFunction, rng: random.Random) -> PoisonFile | None:
    blocks: list[list[str]] = []
    for line in body_lines(target.source):
        if blocks and (
            line.startswith((" ", "else", "elif", "except", "finally", ")", "]", "}")) or not line
        ):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    shuffled = rng.sample(blocks, len(blocks))
    if shuffled == blocks:
        return None
    part = with_body(target.source, [line for block in shuffled for line in block])
    return poison_file("random", "shuffled", target, [with_docstring(part, _docstring(target, rng))])


def _noise(target: TargetFunction, rng: random.Random) -> PoisonFile | None:
    names = [parameter.name for parameter in parameters(target)]
    if not names:
        return None
    first, second = rng.sample(WORDS, 2)
    lines = [
        f"{first} = {rng.randrange(3, 99)}",
        f"for {second} in str({rng.choice(names)}):",
        f"    {first} = ({first} * {rng.randrange(3, 99)} + ord({second})) % {rng.randrange(101, 999)}",
        rng.choice([f"return {first}", f"return [{first}, {first} // 2]", f"return chr({first} % 26 + 97)"]),
    ]
    part = with_docstring(with_body(target.source, lines), _docstring(target, rng))
    return poison_file("random", "noise", target, [part])


ATTACK = Attack("random", "scrambled or unrelated wrong code", False, generate)
