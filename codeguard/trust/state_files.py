"""The only module that opens state files, which nobody except this user may have created or replaced.

A state folder can come with a repository, be where others can write, or contain links that lead elsewhere.
The folder is opened once and checked through its descriptor; its files are opened through that descriptor,
without following links, and checked through their own. SQLite and Chroma open files by path: for them the
folder and the files are checked before opening, and compared afterwards.

The user's own files are read within a limit and written atomically.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from codeguard.errors import ManifestError, StoreError
from codeguard.escaping import escaped, shown
from codeguard.trust.strict_json import MAX_BYTES

DEFAULT_NAME = ".codeguard"  # a repository can ship this folder: never followed if it is a link
NAMES = (
    "catalog.sqlite3", "accepted.jsonl", "versions-seen.json", "index.lock", "installation.json", "rebuild.new",
    "chroma",
)  # fmt: skip
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
LOCKED_S = 30.0  # for what other processes do under a lock of the state folder
PAUSE_S = 0.05

# Flags that a system lacks are left out, so that audits still work there.
_NOFOLLOW, _CLOEXEC = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC
_FILE = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _CLOEXEC


def inode_of(path: Path, *, follow_symlinks: bool = True) -> tuple[int, int] | None:
    """Return the device and the inode of a path, which stay while it is the same file; None without one."""
    try:
        found = path.stat(follow_symlinks=follow_symlinks)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class UnsafeStateError(StoreError):
    """State that is refused: a link, another user's, or writable by others."""


class StateFolder:
    """An open and checked state folder; use it as a context manager.

    Args:
        path: the folder. A link is followed, unless it has the default name.
        create: create it, accessible to this user only, if there is none.
        checked: False for a folder in a place that the user controls, such as their configuration directory;
            then only the files in it are checked.

    Raises:
        FileNotFoundError: there is none.
        UnsafeStateError: it is a link, another user's, or writable by others.
        OSError: it cannot be opened or created.
    """

    def __init__(self, path: Path, *, create: bool = False, checked: bool = True) -> None:
        self.path = path
        flags = _FOLDER | (_NOFOLLOW if path.name == DEFAULT_NAME else 0)
        self.made = _made(path) if create else False
        try:
            self.descriptor = os.open(path, flags)
        except NotADirectoryError:
            what = "a link" if path.is_symlink() else "no folder"
            raise _unsafe(path, what, "a folder") from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _unsafe(path, "a link", "a folder") from None
            raise
        try:
            if checked:
                require_private(path, os.fstat(self.descriptor))
        except BaseException:
            os.close(self.descriptor)
            raise

    def __enter__(self) -> StateFolder:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self.descriptor)

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Return the descriptor of a regular file; raise FileNotFoundError if it is missing and not created.

        Raises:
            UnsafeStateError: a link, a pipe, a device, a folder, another user's, or hard-linked elsewhere.
        """
        with contextlib.suppress(FileNotFoundError):  # a pipe or a device must not even be opened
            self.check(name)
        try:
            descriptor = os.open(name, flags | _FILE, 0o600, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _unsafe(self.path / name, "a link", "a regular file") from None
            raise
        try:
            require_private(self.path / name, os.fstat(descriptor), stat.S_IFREG)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def check(self, name: str, *kinds: int) -> os.stat_result:
        """Return the stat result of a regular file, or of an entry of these kinds.

        Raises UnsafeStateError or FileNotFoundError.
        """
        found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        require_private(self.path / name, found, *(kinds or (stat.S_IFREG,)))
        return found

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a file, at most `limit` + 1, so that callers can detect larger files."""
        with os.fdopen(self.open(name), "rb") as source:
            # A single read would allocate memory for the whole limit at once.
            return source.read(limit + 1) if os.fstat(source.fileno()).st_size > limit else source.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically: a reader, also after a power cut, sees the old bytes or the new."""
        draft = self._draft(name, data)
        try:
            os.replace(draft, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            self.delete(draft)
            raise
        os.fsync(self.descriptor)

    def append(self, name: str, data: bytes) -> None:
        """Append to a file, all or nothing, and sync it to disk."""
        descriptor = self.open(name, os.O_WRONLY | os.O_CREAT)
        with os.fdopen(descriptor, "wb", buffering=0) as target:
            end = target.seek(0, os.SEEK_END)
            try:
                if target.write(data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, end)
                raise
        os.fsync(self.descriptor)

    def delete(self, name: str) -> None:
        """Delete a file, or a link but not its target, if it exists."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the lock of a file; raise TimeoutError if another process does not release it."""
        lock = FileLock(self, name)
        if not lock.acquire(LOCKED_S):
            why = f"another process holds {name} for more than {LOCKED_S:g} s"
            raise TimeoutError(errno.ETIMEDOUT, why)
        try:
            yield
        finally:
            lock.release()

    def check_all(self) -> None:
        """Check every entry with the name of a state file or folder.

        Raises:
            UnsafeStateError: one is a link, a device or a pipe, another user's, or hard-linked from
                elsewhere.
        """
        for name in os.listdir(self.descriptor):  # noqa: PTH208
            if is_state(name):
                with contextlib.suppress(FileNotFoundError):  # what another process has just removed
                    self.check(name, *_ANY)

    def _draft(self, name: str, data: bytes) -> str:
        draft = f".{name}.{secrets.token_hex(8)}"
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self.descriptor
        )
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(data)
                target.flush()
                os.fsync(descriptor)
        except BaseException:
            self.delete(draft)
            raise
        return draft


class FileLock:
    """The lock of a file, held until `release` or the end of the process, however it ends.

    The file must pass the checks of `StateFolder.open`.
    """

    def __init__(self, folder: StateFolder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._descriptor: int | None = None

    def acquire(self, wait_s: float) -> bool:
        """Acquire the lock; return False if another process holds it for longer than `wait_s` seconds."""
        import fcntl  # audits must work on systems without it, and need no lock

        deadline = time.monotonic() + wait_s
        while True:
            descriptor = self._folder.open(self._name, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A process that deletes a lock file holds its lock; another may have created a new one meanwhile.
                named = os.stat(self._name, dir_fd=self._folder.descriptor, follow_symlinks=False)
                if same(named, os.fstat(descriptor)):
                    self._descriptor, descriptor = descriptor, -1
                    return True
            except FileNotFoundError:
                pass
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(PAUSE_S)
            finally:
                if descriptor >= 0:
                    os.close(descriptor)

    def release(self) -> None:
        """Release the lock, if held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def opened_by_path(path: Path, *, companions: tuple[str, ...] = ()) -> Iterator[None]:
    """Check a file before and after it is opened by path; create it if there is none.

    `companions` are suffixes of files that are opened together with it. Between check and opening, only users
    who may write in a folder above the state folder can replace it.
    """
    with StateFolder(path.parent, create=True) as folder:
        try:
            before = folder.check(path.name)
        except FileNotFoundError:
            os.close(folder.open(path.name, os.O_RDWR | os.O_CREAT))
            before = folder.check(path.name)
        # Keep no descriptor of the file: closing it would release the locks that SQLite holds.
        for ending in companions:
            with contextlib.suppress(FileNotFoundError):
                folder.check(path.name + ending)
        yield
        _check_same(path, before)


@contextlib.contextmanager
def folder_by_path(path: Path) -> Iterator[None]:
    """Check a folder and its content before it is opened by path, and that it is the same afterwards."""
    with StateFolder(path.parent, create=True) as parent:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path.name, 0o700, dir_fd=parent.descriptor)
        before = parent.check(path.name, stat.S_IFDIR)
        parent.check_all()
        yield
        _check_same(path, before)


def is_state(name: str) -> bool:
    """Return whether an entry's name is that of a state file, its lock, journal or temporary file."""
    plain = name.removeprefix(".")
    return any(plain == own or plain.startswith((f"{own}.", f"{own}-")) for own in NAMES)


def same(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether two stat results belong to the same file."""
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_ANY = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFSOCK)


def require_private(
    path: Path,
    found: os.stat_result,
    *kinds: int,
    others: int = OTHERS_WRITE,
) -> None:
    """Raise UnsafeStateError unless this is of one of the kinds (a folder by default) and private."""
    wanted = kinds or (stat.S_IFDIR,)
    kind = stat.S_IFMT(found.st_mode)
    if kind not in wanted:
        raise _unsafe(path, _KINDS.get(kind, "a device"), _KINDS[wanted[0]])
    if found.st_uid not in (os.geteuid(), 0):
        raise UnsafeStateError(
            f"the state in {escaped(str(path))} is another user's",
            got=f"the owner {_account(found.st_uid)}",
            expected=_account(os.geteuid()),
            hint="run codeguard as its owner, or name a folder of your own with --store",
        )
    if kind == stat.S_IFREG and found.st_nlink > 1:
        raise _unsafe(path, f"a file with {found.st_nlink} names (hard links)", "one name")
    # On some systems, a socket has the permissions of its folder.
    if kind != stat.S_IFSOCK and found.st_mode & others:
        raise UnsafeStateError(
            f"others may write {escaped(str(path))}",
            got=f"the mode {stat.S_IMODE(found.st_mode):04o}",
            expected="a file or folder that its owner alone may change",
            hint=f"run: chmod go-w {escaped(str(path))}, or name another folder with --store",
        )


def _check_same(path: Path, before: os.stat_result) -> None:
    try:
        unchanged = same(os.stat(path, follow_symlinks=False), before)  # noqa: PTH116
    except FileNotFoundError:
        unchanged = False
    if not unchanged:
        raise _unsafe(path, "another one than was checked", "nobody who exchanges it meanwhile")


def _unsafe(path: Path, got: str, expected: str) -> UnsafeStateError:
    return UnsafeStateError(
        f"{escaped(str(path))} is not opened as state",
        got=got,
        expected=expected,
        hint="look who put it there, remove it, or name another folder with --store",
    )


def _account(number: int) -> str:
    import pwd

    try:
        return f"{escaped(pwd.getpwuid(number).pw_name)} (uid {number})"
    except KeyError:
        return f"uid {number}"


def _made(path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


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
