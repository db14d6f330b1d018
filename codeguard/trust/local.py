"""Files of the state directory and of the user: read within a limit, written atomically."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.state_files import StateFolder
from codeguard.trust.strict_json import MAX_BYTES


def read_state(path: Path, limit: int = MAX_BYTES) -> bytes | None:
    """Return the bytes of a file of a state folder, None if there is none.

    Raises:
        ManifestError: it cannot be read, or is longer than `limit` bytes.
        UnsafeStateError: see `StateFolder`.
    """
    try:
        with StateFolder(path.parent) as folder:
            data = folder.read(path.name, limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from None
    _check_length(path, data, limit)
    return data


def read_limited(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes; ManifestError otherwise."""
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    _check_length(path, data, limit)
    return data


def _unreadable(path: Path, error: OSError) -> ManifestError:
    return ManifestError(
        f"cannot read {shown(str(path))}", got=error.strerror or error, expected="a readable regular file"
    )


def _check_length(path: Path, data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise ManifestError(
            f"{shown(str(path))} is too large", got=f"over {limit} bytes", expected=f"at most {limit}"
        )


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; raise OSError for anything else, such as a folder, pipe or device."""
    # Non-blocking, so that a pipe under this name cannot block.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
    raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, kind, str(path))


def write_atomically(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file atomically: readers see the old bytes or the new ones. `mode` is limited by the user's umask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # By default with the permissions of the user's umask, like any new file, because manifests are shared.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
