"""The first line of every command that runs checks: the sandbox level."""

from __future__ import annotations

from codeguard.config import below_level


def level_line(level: str, required: str) -> str:
    """Return the line about the sandbox level that precedes everything else."""
    if not level:
        return "sandbox: no behavior check has run"
    return below_level(level, required) or f"sandbox {level}"
