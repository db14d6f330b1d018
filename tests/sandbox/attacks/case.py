"""What an attack is: a source, a call, and the harmless effect that would prove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# What stops an attack. The names of operating system layers are those of `Sandbox.layers()`.
POLICY = "policy"  # RestrictedPython's rules on the source
FACADE = "facade"  # only chosen names of chosen modules exist
FRESH = "fresh child"  # one process a check, thrown away
CHANNEL = "channel"  # plain values come out, and the host compares
DEADLINE = "deadline"  # the host's wall clock
NAMESPACES = "namespaces"
LANDLOCK = "landlock"
SECCOMP = "seccomp"
RLIMITS = "rlimits"
WORLD = "world"  # clocks, environment and seeds are given, not read


class Proof(StrEnum):
    """The effect that an attack is after."""

    MARKER = "marker"  # something appears, changes or vanishes in the arena's directory
    LEAK = "leak"  # the result contains what the attack was not given
    CONTACT = "contact"  # a listener of the test hears from it
    VICTIM = "victim"  # a process of the test is killed, stopped or changed
    SURVIVOR = "survivor"  # a process outlives the check
    SPOOF = "spoof"  # a wrong function passes
    STATE = "state"  # the next check sees something of this one
    CUT = "cut"  # uses more than a check may
    CRASH = "crash"  # the interpreter dies
    DETECT = "detect"  # behaves well only where it is tested
    FLAP = "flap"  # two runs of the same job differ


ADD_CALLS = ("add(2, 3)", "add(10, -4)")
ADD_VALUES = (5, 6)


@dataclass(frozen=True, slots=True)
class Attack:
    """One mechanism.

    `source` is the module; `@NAME@` in it is replaced with what the arena
    offers (`Arena.words`). `calls` are expressions. `sought` is what a leak
    has to contain. `after` is the next check's source, whose `probe()` must
    not notice anything. `judge` says how the naive harness decides: by its
    exit status (`exit`), by the frame on its result pipe (`frame`), by its standard output
    (`stdout`). `residual` maps a tier, or `rules` for the restricted tier without any layer of the
    operating system, to the reason why the attack is known to get through there; "" where it does not, although it
    does in the tier that this one is built on.
    """

    id: str
    mechanism: str
    proof: Proof
    source: str
    stopped_by: tuple[str, ...]
    calls: tuple[str, ...] = ("attack()",)
    sought: str = "@SECRET@"
    after: str = ""
    judge: str = "exit"
    slow: bool = False
    needs: str = ""  # an expression over `sys`, `os`, `platform`; where false the proof is skipped
    residual: tuple[tuple[str, str], ...] = ()
    category: str = ""


def spoof(
    id: str,  # noqa: A002 - the field's own name
    mechanism: str,
    source: str,
    stopped_by: tuple[str, ...] = (CHANNEL,),
    *,
    judge: str = "exit",
    needs: str = "",
    residual: tuple[tuple[str, str], ...] = (),
) -> Attack:
    """Return an attack whose `add` is wrong and wants to pass for right."""
    return Attack(
        id, mechanism, Proof.SPOOF, source, stopped_by, ADD_CALLS, judge=judge, needs=needs, residual=residual
    )


def rows(
    make: Callable[..., Attack], text: str, *more: Any, prelude: str = "", **named: Any
) -> Iterator[Attack]:
    """Yield an attack for each heading `=== id: mechanism` of a text and the source below it.

    Below a heading, a line `needs: …` may give what the proof needs. What follows a line `---` is the next
    argument of `make`, for instance the next check's source.
    """
    for part in text.split("\n=== ")[1:]:
        heading, _, body = part.partition("\n")
        name, _, mechanism = heading.partition(": ")
        needs = {}
        if body.startswith("needs: "):
            needs["needs"], _, body = body.removeprefix("needs: ").partition("\n")
        texts = body.rstrip("\n").split("\n---\n")
        source, *others = (f"\n{found}\n" if "\n" in found else found for found in texts)
        yield make(name, mechanism, prelude + source, *others, *more, **named, **needs)
