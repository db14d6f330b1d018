"""How much room a folder takes."""

from __future__ import annotations

import contextlib
from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Return the sum of the sizes of all files under a folder, in bytes; what vanishes meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total
