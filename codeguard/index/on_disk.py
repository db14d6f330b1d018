"""Whether what was indexed is still what the disk has: one rule for index, diff, watch and every answer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from codeguard.config import Settings
from codeguard.corpus.discovery import UNSETTLED, Discovery, FoundFile, discover, find_file, read_file
from codeguard.errors import CorpusError
from codeguard.index.catalog import TO_BE_READ_AGAIN, Catalog, FileState
from codeguard.index.trusted_paths import TrustedPath, below, trusted_by_path
from codeguard.models import OnDisk
from codeguard.trust.installation import is_own_state


def found_on_disk(
    paths: Sequence[Path],
    root: Path,
    settings: Settings,
    exclude: Sequence[str],
    known: Mapping[str, FileState],
    tops: Sequence[Path],
) -> Discovery:
    """Find the files under paths as an index run does; `known` are the indexed ones, `tops` the indexed paths."""
    return discover(
        paths,
        root=root,
        exclude=exclude,
        known={name: state.stamp for name, state in known.items()},
        withhold_secrets=not settings.include_secrets,
        tops=tops,
        is_own_state=partial(is_own_state, shared=settings.shared_state),
    )


def is_indexed(found: FoundFile, state: FileState, *, trusted: bool) -> bool:
    """Return whether a file has the bytes that were indexed.

    A trusted file is always read; another one unless its stamp stands for its content.
    """
    if state.stamp == TO_BE_READ_AGAIN:
        return False
    if not trusted and found.stamp != UNSETTLED and found.stamp == state.stamp:
        return True
    if found.size != state.size:
        return False
    try:
        return hashlib.sha256(read_file(found)).hexdigest() == state.sha256
    except CorpusError:
        return False


def differing(
    found: Iterable[FoundFile], files: Mapping[str, FileState], known: Sequence[TrustedPath]
) -> Iterator[FoundFile]:
    """Yield the files that are not in the index, or have other bytes there; `known` are the trusted paths."""
    for item in found:
        state = files.get(item.name)
        if state is None or not is_indexed(item, state, trusted=trusted_by_path(item.path, known)):
            yield item


def place_of_name(name: str, root: Path, tops: Sequence[Path]) -> Path:
    """Return where the file of a name in the index is or was; `tops` are the indexed paths without links."""
    outside = [top for top in tops if below(name, top.name) and not top.is_relative_to(root)]
    if not outside:
        return root / name
    places = [*(top.parent / name for top in outside), root / name]
    return next((place for place in places if os.path.lexists(place)), places[0])


class IndexOnDisk:
    """Compares files of an index with the disk, each once until `look_again`, which each answer has to call.

    It remembers what the catalog has of a file, so make a new one when that has changed.
    """

    def __init__(self, catalog: Catalog, tops: Sequence[Path]) -> None:
        root = catalog.meta("root")
        self._recorded = cache(catalog.state_of)
        self._root = None if root is None else Path(root)
        self._tops = tops
        self.look_again()

    def look_again(self) -> None:
        """Forget what was seen on the disk."""
        self.state = cache(self._state)

    def _state(self, name: str, *, trusted: bool) -> OnDisk:
        if self._root is None or ".." in name.split("/"):
            return OnDisk.ELSEWHERE
        place = place_of_name(name, self._root, self._tops)
        state = self._recorded(name)
        try:
            found = find_file(place, name)
        except CorpusError:
            base = self._root if place.is_relative_to(self._root) else Path(str(place).removesuffix(name))
            return OnDisk.GONE if base.is_dir() else OnDisk.ELSEWHERE
        same = state is not None and is_indexed(found, state, trusted=trusted)
        return OnDisk.SAME if same else OnDisk.CHANGED
