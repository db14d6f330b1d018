"""The first line of every command that judges: how strongly the judging is confined."""

from __future__ import annotations

LEVELS = ("L0", "L1", "L2", "L3")


def level_line(level: str, required: str = "L2") -> str:
    """Return what a reader has to know before anything else."""
    if not level:
        return "sandbox: no behavior check has run"
    if LEVELS.index(level) < LEVELS.index(required):
        return f"sandbox {level} is BELOW the required {required}: nothing was tested (see: codeguard doctor)"
    return f"sandbox {level}"
