"""Which installation a state folder belongs to: this one, or that of a repository's author or another user.

A folder that this installation creates gets a mark: a file that names the folder, authenticated by the key in
the user's configuration. In a folder without such a mark no file is opened, neither the catalog nor any
other. The mark names path and inode of its folder, and one of them must match: a folder may be moved, or
restored from a backup to the same path; a published copy of it in another place is not ours.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from codeguard.config import Settings, user_config_dir
from codeguard.errors import CodeguardError, StoreError
from codeguard.escaping import escaped
from codeguard.trust.state_files import DEFAULT_NAME, StateFolder, UnsafeStateError, is_state, require_private

MARK = "installation.json"
ASIDE = "set-aside-"
EVIDENCE_KEY = "evidence.key"
IGNORE = ".gitignore"
_SCHEMA = "codeguard.installation/1"
_LONGEST = 16_384  # bytes
SECRET_BYTES = 32


class ForeignStateError(StoreError):
    """A state folder that this installation did not create."""


def ensure_ours(folder: Path, key: bytes, shared: Sequence[str] = ()) -> bool:
    """Return whether this installation created a state folder; False if the user shares it deliberately.

    Args:
        folder: the state folder.
        key: the secret of the user's configuration directory.
        shared: folders that the user's configuration names as shared (`shared_state`).

    Raises:
        FileNotFoundError: there is none.
        ForeignStateError: it was created by somebody else.
        UnsafeStateError: it is another user's, or something in it is a link or accessible to others.
    """
    marked = _marked(folder, key)
    foreign = not marked and not is_shared(folder, shared)
    if foreign and folder.name == DEFAULT_NAME:
        raise _foreign(folder, "no valid mark in it")
    with StateFolder(folder) as opened:
        if foreign and _holds_state(opened):
            raise _foreign(folder, "no valid mark in it")
        opened.check_all()
    return marked


def claim(folder: Path, key: bytes, shared: Sequence[str] = ()) -> bool:
    """Mark a state folder as this installation's if it holds no state yet; create it if there is none.

    Returns and raises as `ensure_ours`.
    """
    try:
        opened = StateFolder(folder, create=True)
    except UnsafeStateError:  # the error describes the existing folder
        return ensure_ours(folder, key, shared)
    with opened:
        if opened.made:
            opened.write(IGNORE, b"*\n")  # keeps the folder out of commits and searches
        if not _holds_state(opened):
            with opened.lock(f"{MARK}.lock"):
                if not _holds_state(opened):
                    mark(opened, key)
        ours = ensure_ours(folder, key, shared)
        if ours and not _marked(folder, key, exactly=True):  # moved or restored: it may be again
            mark(opened, key)
    return ours


def left_alone(settings: Settings) -> str:
    """Return why the state directory must not be read, "" if it may be or does not exist.

    Raises:
        ForeignStateError, UnsafeStateError: the user named this folder explicitly, so continuing without it
        would be wrong.
    """
    folder = settings.state
    try:
        if os.path.lexists(folder):
            ensure_ours(folder, installation_key(), settings.shared_state)
    except FileNotFoundError:
        return ""
    except (StoreError, OSError) as error:
        if folder != Path(DEFAULT_NAME):
            raise
        return f"{error.what if isinstance(error, StoreError) else error}: it is ignored"
    return ""


def is_own_state(folder: Path, shared: Sequence[str]) -> bool:
    """Return whether a folder is a state folder of this installation, or one that its user shares; never raises."""
    try:
        ensure_ours(folder, installation_key(), shared)
    except (CodeguardError, OSError):
        return False
    return True


def installation_key() -> bytes:
    """Return the key that authenticates this installation's state; created on first use."""
    return key_and_note()[0]


def key_and_note() -> tuple[bytes, str]:
    """Return the installation's key, and a line for the user if it is not in their configuration directory.

    If that directory is not writable, as in many containers, the key is in a private folder among the
    temporary files, and an index stays valid as long as that folder exists.

    Raises:
        StoreError: it cannot be stored anywhere.
    """
    usual = user_config_dir() / EVIDENCE_KEY
    try:
        return kept_secret(usual), ""
    except StoreError as error:
        place = Path(tempfile.gettempdir()) / f"codeguard-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        try:
            key = kept_secret(place / EVIDENCE_KEY, checked=True)
        except StoreError:
            raise error from None
        return key, (
            f"{error.what}: it is in {escaped(str(place))} instead, and what is indexed now verifies as long as that "
            "is kept; set XDG_CONFIG_HOME to a folder that lasts"
        )


def seed_of(settings: Settings, key: bytes | None = None) -> bytes:
    """Return the installation's secret seed for generated inputs, 32 bytes, from its key: the same in all commands."""
    return settings.fixed_seed or hmac.digest(key or installation_key(), b"seed", "sha256")


def kept_secret(path: Path, *, checked: bool = False) -> bytes:
    """Return the 32 bytes stored in a file, created on first use.

    `checked` is for a state folder, which must be private to this user (see `StateFolder`).

    Raises:
        StoreError: the file cannot be created, read or opened safely, or is not such a secret.
    """
    try:
        with StateFolder(path.parent, create=True, checked=checked) as folder:
            try:
                secret = folder.read(path.name, SECRET_BYTES)
            except FileNotFoundError:
                with folder.lock(f"{path.name}.lock"):  # another process may have made it meanwhile
                    try:
                        secret = folder.read(path.name, SECRET_BYTES)
                    except FileNotFoundError:
                        secret = secrets.token_bytes(SECRET_BYTES)
                        folder.write(path.name, secret)
    except OSError as error:
        raise StoreError(
            f"the secret {path} cannot be kept ({error.strerror})", hint="check its folder"
        ) from None
    if len(secret) != SECRET_BYTES:
        raise StoreError(
            f"the secret {path}",
            got=f"{len(secret)} bytes" if len(secret) < SECRET_BYTES else f"more than {SECRET_BYTES} bytes",
            expected=f"{SECRET_BYTES} bytes",
            hint="delete it: a new one is made and cached evidence is computed anew",
        )
    return secret


def mark(opened: StateFolder, key: bytes) -> None:
    """Mark a folder as this installation's, regardless of its content."""
    token, place = secrets.token_hex(16), os.path.realpath(opened.path)
    inode = os.fstat(opened.descriptor).st_ino
    said = {"schema": _SCHEMA, "id": token, "path": place, "inode": inode}
    said["mac"] = _mac(key, token, place, inode)
    opened.write(MARK, json.dumps(said, indent=1).encode("ascii") + b"\n")


def set_aside(folder: Path) -> Path:
    """Replace a folder that is not ours by a new one, and move the old one into it; return its new path.

    The old folder is only renamed; nothing in it is opened or followed.

    Raises:
        StoreError: it holds files other than state, or cannot be renamed.
    """
    # A file that was named may be the user's own: never say that it can go.
    if folder.name != DEFAULT_NAME and not folder.is_dir():
        raise StoreError(
            f"{escaped(str(folder))} is no index",
            got="a file",
            expected="a folder",
            hint="name another place with --store",
        )
    _, unkept = key_and_note()
    if unkept:  # the next run would have another key and move this index aside as well
        raise StoreError(
            f"{escaped(str(folder))} is not of this installation, and is not set aside while no key can be kept",
            hint="make the configuration directory writable",
        )
    suffix = secrets.token_hex(4)
    fresh = folder.with_name(f"{folder.name}.{suffix}")
    aside = f"{ASIDE}{suffix}"
    try:
        if folder.name != DEFAULT_NAME:
            _check_nothing_else(folder)
        fresh.mkdir(mode=0o700)
        try:
            folder.rename(fresh / aside)
        except OSError:
            fresh.rmdir()
            raise
        fresh.rename(folder)
    except OSError as error:
        raise StoreError(
            f"{escaped(str(folder))} is not of this installation and cannot be set aside ({error.strerror})",
            hint="remove it, or name another folder with --store",
        ) from None
    return folder / aside


def set_aside_warning(error: ForeignStateError, place: Path) -> str:
    """Return what to tell about a state that was set aside."""
    return (
        f"{error.what} ({error.got}), as where a folder was copied or moved: it is set aside as {place}. "
        "What it trusted is not trusted any more: name it again with --trust PATH"
    )


def is_shared(folder: Path, shared: Sequence[str]) -> bool:
    """Return whether the user's configuration names a state folder as shared."""
    place = os.path.realpath(folder)
    return any(os.path.realpath(Path(other).expanduser()) == place for other in shared)


def _marked(folder: Path, key: bytes, *, exactly: bool = False) -> bool:
    try:
        opened = StateFolder(folder, checked=False)
    except UnsafeStateError as error:
        raise _foreign(folder, str(error.got)) from None
    with opened:
        # Check the owner first: it may legitimately be another user's store.
        require_private(folder, os.fstat(opened.descriptor), stat.S_IFDIR, others=0)
        try:
            found = json.loads(opened.read(MARK, _LONGEST))
            place, inode, token = str(found["path"]), int(found["inode"]), str(found["id"])
            mac = str(found["mac"])
        except (OSError, UnsafeStateError, ValueError, KeyError, TypeError, RecursionError):
            return False
        right = hmac.compare_digest(mac.encode(), _mac(key, token, place, inode).encode())
        here = (place == os.path.realpath(folder), inode == os.fstat(opened.descriptor).st_ino)
    return right and (all(here) if exactly else any(here))


def _holds_state(opened: StateFolder) -> bool:
    """Return whether a folder contains anything that is, or could be taken for, state."""
    names = os.listdir(opened.descriptor)  # noqa: PTH208
    return MARK in names or any(
        is_state(name) and not name.removeprefix(".").startswith(MARK) for name in names
    )


def _mac(key: bytes, token: str, place: str, inode: int) -> str:
    return hmac.new(key, json.dumps([_SCHEMA, token, place, inode]).encode("ascii"), "sha256").hexdigest()


def _check_nothing_else(folder: Path) -> None:
    if folder.is_symlink():
        raise StoreError(
            f"{escaped(str(folder))} is not of this installation", got="a link", hint="name what it leads to"
        )
    for entry in sorted(folder.iterdir()):
        if not is_state(entry.name) and not entry.name.startswith((ASIDE, IGNORE)):
            raise StoreError(
                f"the state in {escaped(str(folder))} is not of this installation",
                got=f"other files beside it ({escaped(entry.name)})",
                expected="a folder that can be set aside as a whole",
                hint="name another folder with --store",
            )


def _foreign(folder: Path, got: str) -> ForeignStateError:
    return ForeignStateError(
        f"the state in {escaped(str(folder))} is not of this installation and is not read",
        got=got,
        expected="the mark of the index that you made with this user's key and this version",
        hint="set it aside and make it new from the files with: codeguard index PATH… --trust PATH, "
        "or name another folder with --store",
    )
