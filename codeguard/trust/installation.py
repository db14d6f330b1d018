"""Whose a state folder is: made by this installation, or brought along by a repository or another user.

A folder that this installation makes gets a mark: a file that names the folder, authenticated by the key
in the user's configuration. What has no such mark is not opened: neither its catalog nor a file beside it.
The mark names path and inode of its folder, and either must be right: a folder may be moved, and restored
from a backup to if it was; a published copy of it in another place is not ours.
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
from codeguard.errors import StoreError
from codeguard.escaping import escaped
from codeguard.trust.kept_secrets import kept_secret
from codeguard.trust.state_files import DEFAULT_NAME, StateFolder, UnsafeStateError, check, is_state

MARK = "installation.json"
ASIDE = "set-aside-"
EVIDENCE_KEY = "evidence.key"
IGNORE = ".gitignore"
_SCHEMA = "codeguard.installation/1"
_LONGEST = 16_384  # bytes


class ForeignStateError(StoreError):
    """A state folder that this installation did not make."""


def ensure_ours(folder: Path, key: bytes, shared: Sequence[str] = ()) -> bool:
    """Return whether this installation made a state folder; False where the user shares it on purpose.

    Args:
        folder: the state folder.
        key: the secret of the user's configuration directory.
        shared: folders that the user's configuration names as shared (`shared_state`).

    Raises:
        FileNotFoundError: there is none.
        ForeignStateError: it was made by nobody knows whom.
        UnsafeStateError: it is another user's, or something in it is a link or not this user's alone.
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
    """Mark a state folder as this installation's where it holds no state yet; it is made if there is none.

    Returns and raises as `ensure_ours`.
    """
    try:
        opened = StateFolder(folder, create=True)
    except UnsafeStateError:  # with what is said of a folder that is there
        return ensure_ours(folder, key, shared)
    with opened:
        if opened.made:
            opened.write(IGNORE, b"*\n")  # never to be committed, nor searched
        if not _holds_state(opened):
            with opened.lock(f"{MARK}.lock"):
                if not _holds_state(opened):
                    mark(opened, key)
        ours = ensure_ours(folder, key, shared)
        if ours and not _marked(folder, key, exactly=True):  # moved, or restored: it may be again
            mark(opened, key)
    return ours


def left_alone(settings: Settings) -> str:
    """Return why the state directory is not to be read, "" if it may be or is not there.

    Raises:
        ForeignStateError, UnsafeStateError: the user named this folder, so that going on without it
            would not be what they asked for.
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


def installation_key() -> bytes:
    """Return the key that authenticates what this installation keeps; made on first use."""
    return key_and_note()[0]


def key_and_note() -> tuple[bytes, str]:
    """Return the installation's key, and a line for the user if it is not in their configuration.

    If that cannot be written, as in many containers, the key lies in a folder of this user's alone among the
    temporary files: an index holds from one run to the next, as long as that folder does.

    Raises:
        StoreError: it can be kept nowhere.
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


def mark(opened: StateFolder, key: bytes) -> None:
    """Mark a folder as this installation's, whatever is in it."""
    token, place = secrets.token_hex(16), os.path.realpath(opened.path)
    inode = os.fstat(opened.descriptor).st_ino
    said = {"schema": _SCHEMA, "id": token, "path": place, "inode": inode}
    said["mac"] = _mac(key, token, place, inode)
    opened.write(MARK, json.dumps(said, indent=1).encode("ascii") + b"\n")


def set_aside(folder: Path) -> Path:
    """Put a fresh, empty folder in the place of one that is not ours, and that one into it; return its place.

    Nothing of it is opened or followed: it is renamed.

    Raises:
        StoreError: it holds other files than state, or cannot be renamed.
    """
    _, unkept = key_and_note()
    if unkept:  # the next run would have another key and set this one's index aside as well
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
        # The owner first: it may be the rightful store of another user.
        check(folder, os.fstat(opened.descriptor), stat.S_IFDIR, others=0)
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
    """Return whether there is anything in a folder that was state, or would be taken for it."""
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
