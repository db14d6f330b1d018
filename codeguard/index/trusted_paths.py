"""What a user trusts, as remembered by an index between runs: paths, and exceptions below them.

If several remembered paths contain a file, the nearest one decides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from codeguard.corpus.discovery import name_of
from codeguard.errors import CorpusError


@dataclass(frozen=True, slots=True)
class TrustedPath:
    """A path that the user trusts, or, if `trusted` is False, an exception below a trusted path.

    `path` is absolute and without links, `name` its name in the index (empty for the root), `since` the UTC
    time at which it was first given, ISO 8601. `signed` says that a signed manifest covered it.
    """

    path: str
    name: str
    since: str
    trusted: bool = True
    signed: bool = False

    def above(self, path: Path) -> bool:
        """Return whether a path without links is this one or inside it."""
        return path.is_relative_to(self.path)


def below(name: str, scope: str) -> bool:
    """Return whether a name is in a scope; the empty scope is the root."""
    return scope == "" or name == scope or name.startswith(scope + "/")


def outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are not inside others of them, in order; they are without links."""
    known = set(paths)
    return sorted(
        path for path in known if not any(path != other and path.is_relative_to(other) for other in known)
    )


def name_in_index(path: Path, root: Path, tops: Iterable[Path] = ()) -> str:
    """Return the index's name of a path without links, where `tops` are indexed; empty for the root."""
    name = name_of(path, root, tops)
    return "" if name == "." else name


def trusted_by_path(path: Path, known: Iterable[TrustedPath]) -> bool:
    """Return whether a file's path without links is trusted."""
    nearest = max((item for item in known if item.above(path)), key=lambda item: len(item.path), default=None)
    return nearest is not None and nearest.trusted


def trusted_by_name(name: str, known: Iterable[TrustedPath]) -> bool:
    """Return whether a file is trusted, by its name in the index."""
    nearest = max(
        (item for item in known if below(name, item.name)), key=lambda item: len(item.name), default=None
    )
    return nearest is not None and nearest.trusted


def with_changes(
    known: Sequence[TrustedPath],
    trust: Sequence[Path],
    untrust: Sequence[Path],
    root: Path,
    now: str,
    tops: Sequence[Path] = (),
) -> list[TrustedPath]:
    """Return the trusted paths after removing `untrust` and adding `trust`; paths are without links.

    A path that is given in both is forgotten and trusted anew. A path removed below a trusted one stays as an
    exception.
    """
    kept = [
        item
        for item in known
        if not any(Path(item.path).is_relative_to(path) for path in untrust)
        and (item.trusted or not any(Path(item.path).is_relative_to(path) for path in trust))
    ]
    for path in sorted(trust):
        name = name_in_index(path, root, tops)
        kept = [_moved(item, path, name) if below(item.name, name) else item for item in kept]
        if not any(item.path == str(path) for item in kept):
            kept.append(TrustedPath(str(path), name, now))
    for path in sorted(untrust):
        if path not in trust and trusted_by_path(path, kept):
            kept.append(TrustedPath(str(path), name_in_index(path, root, tops), now, trusted=False))
    return sorted(kept, key=lambda item: item.path)


def _moved(item: TrustedPath, path: Path, name: str) -> TrustedPath:
    """Return the entry of a name, moved to the location that the user gives."""
    inside = item.name[len(name) :].strip("/") if name else item.name
    return replace(item, path=str(path / inside))


def marked_signed(known: Iterable[TrustedPath], signed: Iterable[str]) -> list[TrustedPath]:
    """Return the trusted paths, marking those of these names as signed."""
    names = set(signed)
    return [replace(item, signed=item.name in names) for item in known]


def to_text(known: Iterable[TrustedPath]) -> str:
    """Serialize trusted paths for the index."""
    return json.dumps([asdict(item) for item in known])


def from_text(text: str | None) -> list[TrustedPath]:
    """Rebuild trusted paths from `to_text`'s text (None: none); raise TypeError or ValueError otherwise."""
    return [TrustedPath(**item) for item in json.loads(text or "[]")]


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


def refuse_vanished(known: Iterable[TrustedPath]) -> None:
    """Raise CorpusError if a trusted path is no longer on the disk."""
    for item in known:
        if item.trusted and not os.path.lexists(item.path):
            raise CorpusError(
                f"{item.path} is trusted since {item.since[:10]} and is no longer there",
                hint=f"bring it back, say where it lies now with --trust, or give it up: --untrust {item.path}",
            )
