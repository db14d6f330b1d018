"""What an attack is: a source, a call, and the harmless effect that would prove it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# What stops an attack. The names of operating system layers are those of `Sandbox.layers()`.
STOPS = {
    "policy": "RestrictedPython's rules on the source",
    "facade": "only chosen names of chosen modules exist",
    "fresh child": "one process a check, thrown away",
    "channel": "plain values come out, and the host compares",
    "deadline": "the host's wall clock",
    "namespaces": "nothing of the machine is there to be reached",
    "landlock": "the kernel's rules on files, connections and signals",
    "seccomp": "the filters of system calls",
    "rlimits": "the kernel's limits on a process",
    "world": "clocks, environment and seeds are given, not read",
}


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
    offers (`Arena.words`). `sought` is what a leak has to contain. `after`
    is the next check's source, whose `probe()` must not notice anything.
    `judge` says how the naive harness decides: by its exit status (`exit`),
    by the frame on its result pipe (`frame`), by its standard output
    (`stdout`). `needs` is an expression over `sys`, `os` and `platform`;
    where it is false the proof is skipped. `filters_alone` says why nothing
    but the two filters of system calls stands before it. `residual` maps a
    tier, or `rules` for the restricted tier without any layer of the
    operating system, to the reason why the attack is known to get through
    there; "" where it does not, although it does in the tier that this one
    is built on.
    """

    id: str
    mechanism: str
    proof: Proof
    source: str
    stopped_by: tuple[str, ...] = ()
    sought: str = "@SECRET@"
    after: str = ""
    judge: str = "exit"
    needs: str = ""
    filters_alone: str = ""
    residual: tuple[tuple[str, str], ...] = ()
    category: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The expressions that are evaluated: a function under test, or the attack itself."""
        return ADD_CALLS if self.proof in {Proof.SPOOF, Proof.DETECT} else ("attack()",)
