"""How much a check may cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from codeguard.sandbox.model import World

MOST_DEFINITIONS = 1_500  # of one file; of 7,000 files of well-known packages the largest has 1,012
CROWDED = "its file is too large to be read"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one function's check: calls of the candidate, and seconds of one child.

    `generated` bounds the generated inputs that every candidate of a
    reference gets, `tailored` those made for one candidate from its own
    literals and guards, `shrinking` the calls spent on a smaller
    counterexample, `edited` those that a changed copy of the reference gets
    beyond them. Without `probing`, a function that resembles no trusted one
    by its words or text is not run to find out whether it behaves like one.
    `worlds` are what the code sees of the outside, in turns; they
    come of the installation's secret and are no limit.
    """

    generated: int = 128
    tailored: int = 64
    shrinking: int = 60
    edited: int = 240
    probing: bool = True
    wall_s: float = 4.0
    cpu_s: float = 1.0
    frame_bytes: int = 2 * 1024 * 1024
    worlds: tuple[World, World] = field(default=(World(), World(hash_seed=1)), repr=False)

    def fingerprint(self) -> str:
        """Return a text that differs where a limit differs."""
        return repr(self)
