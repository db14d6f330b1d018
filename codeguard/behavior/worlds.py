"""Worlds that code is run in: results that differ between them depend on more than the arguments."""

from __future__ import annotations

from codeguard.sandbox.model import World

ORDINARY_WORLD = World()
OTHER_WORLD = World(
    now=1_924_992_000.5,
    environment={"HOME": "/home/someone", "USER": "someone", "CI": "1", "DEBUG": "1", "LANG": "C"},
    hash_seed=1,
    random_seed=7,
)
