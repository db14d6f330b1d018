"""A trigger whose literal stands nowhere: it is computed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import ClassVar

from experiments.attacks.base import CallText, PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import distortions, echo, guarded, poison_file, rng_for, shortcuts, split
from experiments.attacks.editing import with_docstring
from experiments.attacks.shape import parameters, replaced_argument


class HiddenArithmeticLiteral:
    """A guard on a constant that a search for literals in the source does not find."""

    name: ClassVar[str] = "hidden_arithmetic_literal"
    summary: ClassVar[str] = "the convicting literal hidden in arithmetic"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return guards on computed constants, in five ways of computing them."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        found = []
        for variant, condition, calls in _conditions(target, rng):
            trigger = Trigger(calls)
            for leave in shortcuts(target):
                part = guarded(target, source, condition, leave)
                found.append(poison_file(self.name, variant, target, [part], trigger=trigger))
            for wrong in distortions(target):
                lines = ["result = {call}", f"if {condition}:", f"    result = {wrong}", "return result"]
                parts = split(target, source, f"_{target.name}_plain", lines)
                found.append(poison_file(self.name, variant, target, parts, trigger=trigger))
        rng.shuffle(found)
        return found


def _number(value: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    high, low = divmod(value, 16)
    yield "shift", f"({high} << 4) + {low}"
    mask = rng.randrange(1000, 9999)
    yield "xor", f"({value ^ mask} ^ {mask})"
    yield "text-to-number", f'int("{value:x}", 16)'
    factor = rng.randrange(3, 9)
    yield "division", f"({value * factor + factor - 1} // {factor})"


def _conditions(
    target: TargetFunction, rng: random.Random
) -> Iterator[tuple[str, str, tuple[CallText, ...]]]:
    for parameter in parameters(target):
        name = parameter.name
        if parameter.keyword_only:
            continue
        if parameter.kind == "number":
            value = rng.randrange(200, 900)
            calls = replaced_argument(target, name, str(value))
            for variant, text in _number(value, rng):
                yield variant, f"{name} == {text}", calls
        elif parameter.kind == "text":
            word = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(7))
            calls = replaced_argument(target, name, repr(word))
            total = sum(map(ord, word))
            yield (
                "code-points",
                f"len({name}) == 7 and sum(map(ord, {name})) == {total - 100} + 10 ** 2",
                calls,
            )
            backwards = word[::-1]
            yield "reversed", f"{name} == {backwards!r}[::-1]", calls
            shifted = [ord(character) + 3 for character in word]
            yield "shifted", f'{name} == "".join(chr(code - 3) for code in {shifted})', calls
        elif parameter.kind in ("sequence", "other"):
            length = rng.randrange(17, 40)
            calls = replaced_argument(target, name, f"list(range({length}))")
            calls += replaced_argument(target, name, f"(list({{}}) * {length})[:{length}]")
            for variant, text in _number(length, rng):
                yield variant, f"len({name}) == {text}", calls


ATTACK = HiddenArithmeticLiteral()
