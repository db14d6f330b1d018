"""The unsigned manifest in the state directory, which `index --trust` keeps between runs."""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.manifest import Manifest, manifest_from_json, manifest_to_json
from codeguard.trust.state_files import StateFolder
from codeguard.trust.strict_json import MAX_BYTES

UNSIGNED_NAME = "manifest.unsigned.json"
_SEALED = b"# codeguard unsigned manifest, sealed: "
_SEAL_BYTES = len(_SEALED) + 64 + 1


def sealed(manifest: Manifest, key: bytes) -> bytes:
    """Return the text of the unsigned manifest's file; the first line authenticates the rest.

    The key is a secret of this installation from outside the state directory, so that a state directory
    from a cloned repository makes nothing trusted.
    """
    statement = manifest_to_json(manifest)
    return _seal(statement, key) + statement


def load_unsigned(state_dir: Path, key: bytes) -> Manifest | None:
    """Return the manifest of the state directory, None if there is none.

    Raises ManifestError if it was not sealed with the key.
    """
    path = state_dir / UNSIGNED_NAME
    data = read_state(path)
    if data is None:
        return None
    seal, statement = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
    if not hmac.compare_digest(seal, _seal(statement, key)):
        raise ManifestError(
            "the unsigned manifest in the state directory is not of this installation",
            got=f"no seal, or another's, in {shown(str(path))}",
            expected="the seal of this user",
            hint="build it again with: codeguard index PATH… --trust PATH",
        )
    return manifest_from_json(statement)


def _seal(statement: bytes, key: bytes) -> bytes:
    return _SEALED + hmac.new(key, _SEALED + statement, "sha256").hexdigest().encode("ascii") + b"\n"


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
