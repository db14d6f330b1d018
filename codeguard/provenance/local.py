"""The unsigned manifest in the state directory: what `index --trust` keeps between runs."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from codeguard.errors import ManifestError
from codeguard.provenance.escape import shown
from codeguard.provenance.manifest import Manifest
from codeguard.provenance.statement import manifest_from_json, manifest_to_json
from codeguard.provenance.strict_json import MAX_BYTES

UNSIGNED_NAME = "manifest.unsigned.json"


def save_unsigned(manifest: Manifest, state_dir: Path) -> Path:
    """Write the manifest into the state directory, whole or not at all; return its path."""
    path = state_dir / UNSIGNED_NAME
    write_atomically(path, manifest_to_json(manifest))
    return path


def load_unsigned(state_dir: Path) -> Manifest | None:
    """Return the manifest of the state directory, None where there is none; ManifestError if damaged."""
    path = state_dir / UNSIGNED_NAME
    if not path.exists():
        return None
    return manifest_from_json(read_limited(path))


def read_limited(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes; ManifestError otherwise."""
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ManifestError(
            f"cannot read {shown(str(path))}", got=error.strerror or error, expected="a readable regular file"
        ) from None
    if len(data) > limit:
        raise ManifestError(
            f"{shown(str(path))} is too large", got=f"over {limit} bytes", expected=f"at most {limit}"
        )
    return data


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file to read; OSError for anything else, a folder, pipe or device among it."""
    # Not blocking, so that a pipe under this name cannot hold us up.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, _kind(mode), str(path))


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader meets the old bytes or the new ones, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
