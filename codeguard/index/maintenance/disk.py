"""The disk space of a folder."""

from __future__ import annotations

import contextlib
from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files under a folder in bytes, skipping those that vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total
