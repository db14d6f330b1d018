"""Whether a process has ended, for tests that start some."""

from __future__ import annotations

import time
from pathlib import Path


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Wait until a process is no more, or nothing but its parent's to bury; return whether it came to that."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
