"""Files of hand-written specs in TOML, shipped with this module and in the user's own folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from codeguard.errors import SpecError

SHIPPED = Path(__file__).parent / "shipped"


class SpecFile(NamedTuple):
    """A file of specs as read, not parsed yet."""

    path: Path
    data: bytes


def spec_files(folders: Iterable[Path]) -> tuple[SpecFile, ...]:
    """Return the `*.toml` files of folders, sorted by name within each folder.

    Raises:
        SpecError: a folder is missing, or a file cannot be read.
    """
    return tuple(_read(path) for folder in folders for path in _spec_paths(folder))


def digest_of(files: Iterable[SpecFile]) -> str:
    """Return a digest of the contents of spec files."""
    parts = [
        hashlib.sha256(part).digest()
        for file in files
        for part in (file.path.name.encode("utf-8", "surrogateescape"), file.data)
    ]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _spec_paths(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise SpecError("no such folder of specs", got=str(folder), expected="a folder with *.toml files")
    return sorted(folder.glob("*.toml"))


def _read(path: Path) -> SpecFile:
    try:
        return SpecFile(path, path.read_bytes())
    except OSError as error:
        raise SpecError(f"cannot read the spec file {path}: {error}") from error
