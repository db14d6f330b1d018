"""Wrong on about one input in a million."""

from __future__ import annotations

import ast
import random
import zlib
from collections.abc import Iterator, Sequence
from typing import ClassVar

from experiments.attacks.base import CallText, PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import distortions, echo, guarded, poison_file, rng_for, shortcuts, split
from experiments.attacks.editing import with_docstring
from experiments.attacks.shape import parameters, replaced_argument

MODULUS = 1_000_003


class RareInput:
    """A condition on the input that random testing practically never meets."""

    name: ClassVar[str] = "rare_input"
    summary: ClassVar[str] = "wrong on one input in a million"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return residue, equality and checksum conditions, each with an input that meets it."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        found = []
        for variant, condition, imports, calls in _conditions(target, rng):
            trigger = Trigger(calls)
            for leave in shortcuts(target):
                part = guarded(target, source, condition, leave)
                found.append(
                    poison_file(self.name, variant, target, [part], imports=imports, trigger=trigger)
                )
            for wrong in distortions(target):
                lines = ["result = {call}", f"if {condition}:", f"    return {wrong}", "return result"]
                parts = split(target, source, f"_{target.name}_impl", lines)
                found.append(poison_file(self.name, variant, target, parts, imports=imports, trigger=trigger))
        rng.shuffle(found)
        return found


def _conditions(
    target: TargetFunction, rng: random.Random
) -> Iterator[tuple[str, str, list[str], tuple[CallText, ...]]]:
    for parameter in parameters(target):
        name = parameter.name
        if parameter.keyword_only:
            continue
        if parameter.kind == "number":
            value = rng.randrange(300, 900)
            multiplier = rng.randrange(1009, 9973) | 1
            calls = replaced_argument(target, name, str(value))
            residue = value * multiplier % MODULUS
            yield "residue", f"{name} * {multiplier} % {MODULUS} == {residue}", [], calls
            yield "equality", f"{name} == {value}", [], calls
        elif parameter.kind == "text":
            word = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(9))
            calls = replaced_argument(target, name, repr(word))
            yield "equality", f"{name}[2:5] == {word[2:5]!r} and {name}[-1:] == {word[-1]!r}", [], calls
            crc = zlib.crc32(word.encode()) % MODULUS
            yield "checksum", f"zlib.crc32(str({name}).encode()) % {MODULUS} == {crc}", ["import zlib"], calls
        else:
            for call in target.calls[:3]:
                try:
                    value_text = repr(ast.literal_eval(call.args)[0])
                except (ValueError, SyntaxError, IndexError):
                    continue
                grown = replaced_argument(target, name, f"{value_text} * 3")
                text = repr(ast.literal_eval(value_text) * 3) if value_text[:1] in "[('\"" else None
                if text is not None and parameter is parameters(target)[0]:
                    crc = zlib.crc32(text.encode()) % MODULUS
                    condition = f"zlib.crc32(repr({name}).encode()) % {MODULUS} == {crc}"
                    yield "checksum", condition, ["import zlib"], grown
            yield "checksum", f"zlib.crc32(repr({name}).encode()) % {MODULUS} == 271828", ["import zlib"], ()


ATTACK = RareInput()
