"""Fake poison: a function that claims to be the target in name and docstring and does something else."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.attacks.base import MARKER, Attack, PoisonFile, TargetFunction
from experiments.attacks.craft import echo, other_name, poison_file, renamed_part, rng_for
from experiments.attacks.editing import with_body, without_annotations
from experiments.attacks.shape import parameters

BODIES: dict[str, tuple[str, ...]] = {
    "echo": ("# the input is already in its final form", "return {first}"),
    "marker": (f'return "{MARKER}"',),
    "counter": (
        "total = 0",
        "for position, character in enumerate(str({first})):",
        "    total += position * ord(character)",
        "return total",
    ),
    "sorter": ("parts = sorted(repr({first}))", 'return "".join(parts)'),
    "printer": ('print("processing", {all})', "return None"),
    "placeholder": ("cache = {}", "cache[repr({first})] = True", "return len(cache)"),
}


def generate(target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
    """Return a candidate for each body, half of them under another name."""
    rng = rng_for("fake", target, seed)
    names = [parameter.name for parameter in parameters(target)]
    if not names:
        return []
    found = []
    for variant in rng.sample(sorted(BODIES), len(BODIES)):
        lines = [
            line.replace("{first}", names[0]).replace("{all}", ", ".join(names)) for line in BODIES[variant]
        ]
        name = rng.choice([target.name, other_name(target, rng)])
        part = with_body(renamed_part(target.source, name, echo(target, rng)), lines)
        if rng.random() < 0.5:
            part = without_annotations(part)
        found.append(poison_file("fake", variant, target, [part], poisoned=[name]))
    return found


ATTACK = Attack("fake", "claims to be the function, body does something else", False, generate)
