"""The name of a file or folder in a corpus, which does not depend on the argument that led to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def name_of(path: Path, root: Path, tops: Iterable[Path] = ()) -> str:
    """Return the name of a path without links: relative to the root, and "." for the root itself.

    A path outside of the root is named relative to the parent of the widest of `tops`, the folders that
    are read, that contains it.
    """
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    above = (top for top in tops if path.is_relative_to(top))
    widest = min(above, key=lambda top: len(top.parts), default=path)
    return path.relative_to(widest.parent).as_posix()
