"""Limits on the cost of a check."""

from __future__ import annotations

from dataclasses import dataclass, field

from codeguard.sandbox.model import World

MOST_DEFINITIONS = 1_500  # of one file; of 7,000 files of well-known packages the largest has 1,012
CROWDED = "its file is too large to be read"
SPENT = "not fully checked: its share of the budget in the sandbox is spent"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on one function's check: calls of the candidate, and seconds and bytes of one child.

    `generated` limits the generated inputs that every candidate of a reference gets, `tailored`
    those made for one candidate from its own literals and guards.
    `worlds` are the simulated environments of the runs; they depend on the installation's secret
    and are no limit.
    """

    generated: int = 128
    tailored: int = 64
    wall_s: float = 4.0
    cpu_s: float = 1.0
    frame_bytes: int = 2 * 1024 * 1024
    worlds: tuple[World, World] = field(default=(World(), World(hash_seed=1)), repr=False)
