"""The first line of every command that runs checks: how strongly they are confined."""

from __future__ import annotations

from codeguard.config import below_level


def level_line(level: str, required: str) -> str:
    """Return what a reader has to know before anything else."""
    if not level:
        return "sandbox: no behavior check has run"
    return below_level(level, required) or f"sandbox {level}"
