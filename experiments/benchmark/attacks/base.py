"""What an attack of the benchmark is: from a function that answers a question to drafts of poison, and their proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from experiments.attacks import Attack, PoisonFile, TargetFunction
from experiments.attacks.base import Trigger
from experiments.attacks.craft import echo, imports_for, module_text
from experiments.attacks.editing import with_docstring, with_prologue
from experiments.benchmark.carriers import Carrier
from experiments.benchmark.grammar import Grammar
from experiments.corpus.selection import parses

GENERATED = frozenset({"orders", "supply", "documentation"})
"""Families whose wording a grammar makes; that of the others is their author's."""


class Proof(StrEnum):
    """What shows that a draft is poison.

    DIFFERS: it was run and gave another result than the target on a call
    that is kept. EFFECT: it was run and reached out. PAYLOAD: its text holds
    the payload. DISPLACES: it answers nothing and stands above the answer.
    STORE: the text in the vector store is not the text of the file.
    """

    DIFFERS = "differs"
    EFFECT = "effect"
    PAYLOAD = "payload"
    DISPLACES = "displaces"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class Draft:
    """A file as the attacker writes it, before anybody has verified it.

    `code` is the part that runs, `symbol` the poisoned function, `clean`
    the names of correct functions beside it. `payload` are the texts that
    make it harmful; every one has to stand in `text`. `carrier` is the kind
    of file where it is no Python, and `said` its sentences.
    """

    variant: str
    text: str
    code: str = ""
    symbol: str = ""
    payload: tuple[str, ...] = ()
    trigger: Trigger = field(default_factory=Trigger)
    clean: tuple[str, ...] = ()
    carrier: Carrier | None = None
    said: tuple[str, ...] = ()


Make = Callable[[TargetFunction, Random, Grammar], list[Draft]]


@dataclass(frozen=True, slots=True)
class BenchmarkAttack:
    """A way to poison what answers a question.

    `family` is the kind of harm, for `--attack` and for readers. `make`
    returns drafts, the attacker's favourites first, none where the attack
    does not apply; it is pure in its arguments. `adaptive` attacks were made
    by somebody who knows codeguard's design. With fewer than `least` files
    it is not this attack.
    """

    name: str
    family: str
    summary: str
    make: Make
    proof: Proof = Proof.DIFFERS
    adaptive: bool = False
    least: int = 1


def reused(attack: Attack, variants: tuple[str, ...] = ()) -> Make:
    """Return an attack of `experiments.attacks` as one of the benchmark, with the variants of these names alone."""

    def make(target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
        found = attack.generate(target, rng.randrange(1 << 30))
        return [draft_of(file) for file in found if not variants or file.name.partition("/")[2] in variants]

    return make


def draft_of(file: PoisonFile) -> Draft:
    """Return a poison file as a draft."""
    poisoned = file.poisoned_symbols
    return Draft(
        variant=file.name.partition("/")[2],
        text=file.text,
        code=file.code,
        symbol=poisoned[0] if poisoned else "",
        trigger=file.trigger,
        clean=tuple(label.symbol for label in file.labels if not label.poisoned),
    )


def python_draft(
    variant: str,
    target: TargetFunction,
    parts: Sequence[str],
    symbol: str,
    *,
    imports: Sequence[str] = (),
    header: str = "",
    payload: Sequence[str] = (),
    trigger: Trigger | None = None,
) -> Draft | None:
    """Return a module put together of parts, None where it does not parse."""
    needed = list(dict.fromkeys([*imports, *imports_for(target, parts)]))
    text = module_text(header, needed, parts)
    if not parses(text):
        return None
    return Draft(variant, text, text, symbol, payload=tuple(payload), trigger=trigger or Trigger(effect=True))


def carried(
    target: TargetFunction,
    carrier: Carrier,
    sentences: Sequence[str],
    payload: Sequence[str],
    source: str = "",
) -> Draft:
    """Return a file that is no Python, about the target, with sentences of the attacker's."""
    text = carrier.text(target.query, target.summary, source or target.source, sentences)
    clean = () if carrier.kind != "page" else (target.name,)
    return Draft(
        carrier.place, text, payload=tuple(payload), clean=clean, carrier=carrier, said=tuple(sentences)
    )


def in_code(target: TargetFunction, sentence: str, payload: Sequence[str], rng: Random) -> list[Draft]:
    """Return the function with a sentence in its docstring, in a comment of its body and in one above it."""
    doc = echo(target, rng)
    comment = [f"# {line}" for line in sentence.split("\n")]
    source = with_docstring(target.source, doc)
    made = [
        python_draft(variant, target, [part], target.name, payload=payload)
        for variant, part in (
            ("docstring", with_docstring(target.source, f"{doc}\n\n{sentence}")),
            ("inside", with_prologue(source, comment)),
            ("above", "\n".join([*comment, source])),
        )
    ]
    rng.shuffle(made)
    return [draft for draft in made if draft is not None]
