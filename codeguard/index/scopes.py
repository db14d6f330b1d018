"""The part of an index that a run updates: the names of its paths there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codeguard.corpus.names import name_of


def below(name: str, scope: str) -> bool:
    """Return whether a name is in a scope; the empty scope is the root."""
    return scope == "" or name == scope or name.startswith(scope + "/")


def scopes_of(paths: Sequence[Path], root: Path, tops: Sequence[Path] = ()) -> list[str]:
    """Return the names of paths in the index, without paths inside others; empty for the root.

    `tops` are the folders that were indexed before.
    """
    resolved = {path.resolve() for path in paths}
    outermost = [
        path
        for path in resolved
        if not any(path != other and path.is_relative_to(other) for other in resolved)
    ]
    names = [name_of(path, root, tops) for path in outermost]
    return ["" if name == "." else name for name in names]
