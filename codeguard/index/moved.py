"""A project that was moved together with its state: the index follows it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from codeguard.errors import CorpusError
from codeguard.index import trusted_paths
from codeguard.index.catalog import INDEXED_PATHS, SIGNED_TREES, TRUSTED_PATHS, Catalog
from codeguard.index.trusted_paths import TrustedPath
from codeguard.trust.signed_trees import from_text, to_text

FOLLOWED = ": its paths, the trusted ones too, are followed"
PLACE = "place"  # a setting of the catalog: where its state directory was when the root was last right


def remember_place(catalog: Catalog) -> None:
    """Record where the state directory is."""
    catalog.set_meta(PLACE, str(_place(catalog)))


def follow_move(catalog: Catalog) -> str:
    """Rewrite the stored paths below the root if the root was moved, and the state directory in it with it.

    A state directory that was moved alone keeps its paths: they are still there.

    Returns:
        What to say about it, "" if nothing was moved.
    """
    if catalog.foreign or catalog.meta(PLACE) in (None, str(_place(catalog))):
        return ""
    with catalog.transaction():
        before, root = Path(catalog.meta(PLACE) or "."), Path(catalog.meta("root") or ".")
        remember_place(catalog)
        new = _new_root(before, root, _place(catalog))
        if new is None:
            return ""

        def moved(path: Path) -> Path:
            return new / path.relative_to(root) if path.is_relative_to(root) else path

        indexed = [Path(item) for item in json.loads(catalog.meta(INDEXED_PATHS) or "[]")]
        inside = [path for path in indexed if path.is_relative_to(root)]
        if any(map(os.path.lexists, inside)) or not any(os.path.lexists(moved(path)) for path in inside):
            return ""
        _rewrite(catalog, indexed, moved)
        catalog.set_meta("root", str(new))
    return f"the project was moved from {root} to {new}{FOLLOWED}"


def refuse_gone(root: Path, indexed: Iterable[Path], trusted: Iterable[TrustedPath]) -> None:
    """Raise CorpusError if the root of an index is gone with what was indexed in it: another root has other names."""
    if root.is_dir() or not any(path.is_relative_to(root) for path in indexed):
        return
    own = any(Path(item.path).is_relative_to(root) for item in trusted)
    more = f" --trust PATH --untrust {root}" if own else ""
    raise CorpusError(
        f"the index was made in {root}, which is no longer there",
        hint=f"name the place where it is now: codeguard index --rebuild PATH…{more}",
    )


def _rewrite(catalog: Catalog, indexed: list[Path], moved: Callable[[Path], Path]) -> None:
    trusted = trusted_paths.from_text(catalog.meta(TRUSTED_PATHS))
    trees = from_text(catalog.meta(SIGNED_TREES))
    catalog.set_meta(INDEXED_PATHS, json.dumps([str(moved(path)) for path in indexed]))
    catalog.set_meta(
        TRUSTED_PATHS,
        trusted_paths.to_text(replace(item, path=str(moved(Path(item.path)))) for item in trusted),
    )
    catalog.set_meta(SIGNED_TREES, to_text([replace(tree, folder=moved(tree.folder)) for tree in trees]))


def _new_root(before: Path, root: Path, now: Path) -> Path | None:
    """Return where the root is if the state directory has the same place in it as before."""
    if before == root or not before.is_relative_to(root):
        return None
    inside = before.relative_to(root).parts
    return now.parents[len(inside) - 1] if now.parts[-len(inside) :] == inside else None


def _place(catalog: Catalog) -> Path:
    return Path(os.path.realpath(catalog.path.parent))
