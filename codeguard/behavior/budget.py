"""How much a check may cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

REFERENCE_SHARE = 4.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one function's check: calls of the candidate, and seconds of one child.

    `generated` bounds the generated inputs that every candidate of a
    reference gets, `tailored` those made for one candidate from its own
    literals and guards, `shrinking` the calls spent on a smaller
    counterexample, `edited` those that a changed copy of the reference gets
    beyond them.
    """

    generated: int = 128
    tailored: int = 64
    shrinking: int = 60
    edited: int = 240
    wall_s: float = 4.0
    cpu_s: float = 1.0
    frame_bytes: int = 2 * 1024 * 1024

    def for_reference(self) -> Budget:
        """Return what the trusted function gets: a candidate may take several times as long for the same calls."""
        return replace(self, cpu_s=self.cpu_s / REFERENCE_SHARE)

    def fingerprint(self) -> str:
        """Return a text that differs where a limit differs."""
        return repr(self)
