"""Replacements for `open` and the file functions of `os`, which work on files in memory.

Nothing here is a boundary. Code that bypasses it, with `ctypes` or a function of its own, is refused by the
kernel as before; other code finds working files, and what it does to them is part of its result. Descriptors
of these files begin at a number that no real one has; any other goes to the real function. Each act raises
the audit event that the real one raises.

The files are those of one user, who may do everything: permissions are kept but refuse nothing. Times come from
the world's clock. What has no replacement (pipes, owners, `os.dup`, paths relative to a descriptor) fails as it
does without files.
"""

# ruff: noqa: D102, PTH118, PTH120 - each does what the one of its name in `os` does, and paths are what they make

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]
import contextlib
import errno
import functools
import io
import os
import stat
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import wire

MOST_BYTES = 16 * 1024 * 1024  # of all files together
MOST_NODES = 4096
_MOST_OPEN = 1024
_FIRST = 1000  # descriptor
_LONGEST_NAME, _MOST_LINKS = 255, 40  # Linux's own
_NULL = 0  # number of the device that swallows what is written
_UMASK = 0o022
_OWN = __name__.rpartition(".")[0]


@dataclass(slots=True)
class Node:
    """A file (its bytes), a symbolic link (its target) or a folder (None)."""

    content: bytearray | str | None
    mode: int
    """Permissions alone."""
    modified: int
    """In nanoseconds since the epoch."""
    number: int

    @property
    def data(self) -> bytearray:
        """The bytes of a file; an OSError for anything else."""
        if not isinstance(self.content, bytearray):
            raise _error(errno.EISDIR if self.content is None else errno.EINVAL)
        return self.content

    def status(self) -> os.stat_result:
        """Return what stat says of it."""
        if isinstance(self.content, bytearray):
            kind, size = stat.S_IFREG if self.number != _NULL else stat.S_IFCHR, len(self.content)
        else:
            kind, size = (stat.S_IFDIR, 4096) if self.content is None else (stat.S_IFLNK, len(self.content))
        more: dict[str, float] = {"st_blksize": 4096, "st_blocks": -(-size // 512), "st_rdev": 0}
        for name in ("st_atime", "st_mtime", "st_ctime"):
            more[name], more[f"{name}_ns"] = self.modified / 1e9, self.modified
        seconds = (self.modified // 10**9,) * 3
        return os.stat_result((kind | self.mode, self.number, 2049, 1, 1000, 1000, size, *seconds), more)


@dataclass(slots=True)
class _Handle:
    """An open file."""

    node: Node
    flags: int
    at: int = 0

    @property
    def writable(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY


def _error(number: int) -> OSError:
    """Return the exception of an error number; `_replacement` adds the path."""
    return OSError(number, os.strerror(number))


def _text(path: Any) -> str:
    found = str.__str__(os.fsdecode(path))  # no methods of a class of the code's own
    if "\0" in found:
        raise ValueError("embedded null byte")
    return found


class Entry:
    """Stands for os.DirEntry."""

    __slots__ = ("_files", "name", "path")

    def __init__(self, files: Files, name: Any, path: Any) -> None:
        self._files, self.name, self.path = files, name, path

    def _is(self, kind: Callable[[int], bool], follow: bool) -> bool:
        try:
            return kind(self._files.stat(self.path, follow).st_mode)
        except FileNotFoundError:
            return False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        return self._is(stat.S_ISLNK, False)

    def is_junction(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._files.stat(self.path, follow_symlinks)

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


Entry.__name__ = Entry.__qualname__ = "DirEntry"
Entry.__module__ = "posix"


class _Scan(contextlib.AbstractContextManager["_Scan"], Iterator[Entry]):
    """What os.scandir returns."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)

    def __next__(self) -> Entry:
        return next(self._entries)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


class Files:
    """The files, by absolute path, and the functions; each does what the one of its name in `os` does."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._wanted: tuple[Mapping[str, bytes], str, tuple[str, ...]] | None = None  # until first use
        self._filled: dict[str, Node] = {}
        self._kept: dict[str, Node] = {}
        self._marked: dict[str, Node] = {}
        self._home = self._folder = "/"
        self._umask = _UMASK
        self._numbers = _NULL
        self._handles: dict[int, _Handle] = {}
        self._next = _FIRST  # never given twice: a file of an earlier call may still be closed
        self._closerange = os.closerange
        self.opened: Callable[..., Any] = io.open

    # -- the world's side --------------------------------------------------------------------

    def fill(self, files: Mapping[str, bytes], home: str, folders: tuple[str, ...]) -> None:
        """Start anew with these files, by path relative to the folder `home`, and with empty folders."""
        self._wanted, self._home, self._folder = (files, home, folders), home, home

    @property
    def _nodes(self) -> dict[str, Node]:
        """What is there, created on first use: most jobs never need it."""
        if self._wanted is not None:
            (files, home, folders), self._wanted = self._wanted, None
            self._numbers = _NULL
            self._filled = {"/dev/null": self._new(bytearray(), 0o666), "/": self._new(None, 0o755)}
            for folder in ("/dev", "/tmp", home, *folders):
                self._put(folder, None)
            for path, data in files.items():
                self._put(os.path.join(home, path), bytearray(data))
            self.keep()
        return self._filled

    def _put(self, path: str, content: bytearray | None) -> None:
        path = os.path.normpath(path)
        if path not in self._filled:
            self._put(os.path.dirname(path), None)
            self._filled[path] = self._new(content, 0o755 if content is None else 0o644)

    def keep(self) -> None:
        """Let `reset` return to the files as they are now."""
        self._kept = self._marked = _copied(self._filled)

    def mark(self) -> None:
        """Let `changes` start from the files as they are now."""
        self._marked = _copied(self._filled)

    def reset(self) -> None:
        """Return to the files as they were kept, with none open."""
        self._handles.clear()
        if self._wanted is None:
            self._filled, self._marked = _copied(self._kept), self._kept
            self._folder, self._umask = self._home, _UMASK

    def changes(self) -> list[tuple[str, bytes | str | None]]:
        """Return what is not as at the last `mark` or `reset`, by path: the bytes of files, the target of links.

        None if nothing is left; a folder's path ends with a slash. Paths below the first folder are relative to it.
        """
        old, new = _shown(self._marked), _shown(self._filled)
        start = self._home.rstrip("/") + "/"
        names = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
        return sorted((name.removeprefix(start), new.get(name)) for name in names)

    # -- finding and changing ----------------------------------------------------------------

    def _find(self, path: Any, follow: bool = True) -> str:
        """Return the absolute path without links that a path leads to; there may be nothing of its last name.

        The last link is followed if `follow`.
        """
        text = _text(path)
        if not text:
            raise _error(errno.ENOENT)
        at = "/" if text.startswith("/") else self._folder
        pending, links = text.split("/")[::-1], 0
        while pending:
            part = pending.pop()
            if self._at(at).content is not None:  # a slash after a file is an error, too
                raise _error(errno.ENOTDIR)
            if part in ("", "."):
                continue
            if len(os.fsencode(part)) > _LONGEST_NAME:
                raise _error(errno.ENAMETOOLONG)
            above, at = at, os.path.dirname(at) if part == ".." else os.path.join(at, part)
            found = self._nodes.get(at)
            if found is not None and isinstance(found.content, str) and (follow or pending):
                links += 1
                if links > _MOST_LINKS:
                    raise _error(errno.ELOOP)
                at = "/" if found.content.startswith("/") else above
                pending.extend(found.content.split("/")[::-1])
        return at

    def _find_name(self, path: Any) -> str:
        """Return the path of a name that is made or moved: that of a link itself, also before a slash."""
        text = _text(path)
        return self._find(text.rstrip("/") or text, follow=False)

    def _at(self, at: str) -> Node:
        found = self._nodes.get(at)
        if found is None:
            raise _error(errno.ENOENT)
        return found

    def _node(self, path: Any, follow: bool = True) -> Node:
        """Return the node of a path or of one of these descriptors."""
        return self._handle(path).node if isinstance(path, int) else self._at(self._find(path, follow))

    def _handle(self, descriptor: int) -> _Handle:
        found = self._handles.get(descriptor)
        if found is None:
            raise _error(errno.EBADF)
        return found

    def _below(self, at: str) -> list[str]:
        """Return the paths of what a folder holds, in folders of it as well."""
        start = at.rstrip("/") + "/"
        return [path for path in self._nodes if path.startswith(start) and path != start]

    def _new(self, content: bytearray | str | None, mode: int) -> Node:
        self._numbers += 1
        return Node(content, mode & ~self._umask & 0o7777, self._now(), self._numbers - 1)

    def _add(self, at: str, node: Node) -> None:
        """Put something at a free place."""
        if at in self._nodes:
            raise _error(errno.EEXIST)
        if len(self._nodes) >= MOST_NODES:
            raise _error(errno.ENOSPC)
        self._nodes[at] = node
        self._stamp_parent(at)

    def _remove(self, at: str) -> None:
        del self._nodes[at]
        self._stamp_parent(at)

    def _stamp_parent(self, at: str) -> None:
        self._nodes[os.path.dirname(at)].modified = self._now()

    def _resize(self, node: Node, size: int) -> None:
        """Cut a file, or let it end in zeros."""
        data = node.data
        if size < 0:
            raise _error(errno.EINVAL)
        if node.number == _NULL:
            return
        more = size - len(data)
        if more > 0 and more + sum(len(node.content or "") for node in self._nodes.values()) > MOST_BYTES:
            raise _error(errno.ENOSPC)
        data[size:] = bytes(max(more, 0))
        node.modified = self._now()

    # -- descriptors -------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        sys.audit("open", path, None, flags)
        at = self._find(path, follow=not flags & (os.O_NOFOLLOW | os.O_EXCL))
        node, makes = self._nodes.get(at), flags & os.O_CREAT
        if node is None:
            if not makes:
                raise _error(errno.ENOENT)
            node = self._new(bytearray(), mode)
            self._add(at, node)
        elif makes and flags & os.O_EXCL:
            raise _error(errno.EEXIST)
        elif isinstance(node.content, str):
            raise _error(errno.ELOOP)
        handle = _Handle(node, flags)
        if node.content is None and (makes or handle.writable):
            raise _error(errno.EISDIR)
        if node.content is not None and flags & os.O_DIRECTORY:
            raise _error(errno.ENOTDIR)
        if len(self._handles) >= _MOST_OPEN:
            raise _error(errno.EMFILE)
        if flags & os.O_TRUNC and node.content:
            self._resize(node, 0)
        descriptor, self._next = self._next, self._next + 1
        self._handles[descriptor] = handle
        return descriptor

    def close(self, fd: int) -> None:
        self._handle(fd)
        del self._handles[fd]

    def closerange(self, fd_low: int, fd_high: int, /) -> None:
        for descriptor in [found for found in self._handles if fd_low <= found < fd_high]:
            del self._handles[descriptor]
        self._closerange(fd_low, min(fd_high, wire.RESULT))
        self._closerange(max(fd_low, wire.RESULT + 1), fd_high)

    def read(self, fd: int, length: int, /) -> bytes:
        handle = self._handle(fd)
        if handle.flags & os.O_ACCMODE == os.O_WRONLY:
            raise _error(errno.EBADF)
        if length < 0:
            raise _error(errno.EINVAL)
        found = bytes(handle.node.data[handle.at : handle.at + length])
        handle.at += len(found)
        return found

    def write(self, fd: int, data: Any, /) -> int:
        handle, written = self._handle(fd), bytes(memoryview(data).cast("B"))
        if not handle.writable:
            raise _error(errno.EBADF)
        node = handle.node
        start = len(node.data) if handle.flags & os.O_APPEND else handle.at
        handle.at = start + len(written)
        if node.number != _NULL:
            self._resize(node, max(handle.at, len(node.data)))
            node.data[start : handle.at] = written
        return len(written)

    def lseek(self, fd: int, position: int, whence: int, /) -> int:
        handle = self._handle(fd)
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: handle.at, os.SEEK_END: len(handle.node.content or "")}
        if whence not in starts or starts[whence] + position < 0:
            raise _error(errno.EINVAL)
        handle.at = starts[whence] + position
        return handle.at

    def ftruncate(self, fd: int, length: int, /) -> None:
        if not self._handle(fd).writable:
            raise _error(errno.EINVAL)
        self._resize(self._handle(fd).node, length)

    def isatty(self, fd: int, /) -> bool:
        self._handle(fd)
        return False

    def fsync(self, fd: int) -> None:
        self._handle(fd)

    fdatasync = fsync

    # -- what is there -----------------------------------------------------------------------

    def stat(self, path: Any, follow_symlinks: bool = True) -> os.stat_result:
        return self._node(path, follow_symlinks).status()

    def lstat(self, path: Any) -> os.stat_result:
        return self.stat(path, False)

    def fstat(self, fd: int) -> os.stat_result:
        return self._handle(fd).node.status()

    def access(
        self, path: Any, mode: int, *, effective_ids: bool = False, follow_symlinks: bool = True
    ) -> bool:
        try:
            return self._node(path, follow_symlinks).mode >> 6 & mode == mode
        except OSError:
            return False

    def listdir(self, path: Any = None) -> list[Any]:
        sys.audit("os.listdir", path)
        return [entry.name for entry in self._entries(path)]

    def scandir(self, path: Any = None) -> _Scan:
        sys.audit("os.scandir", path)
        return _Scan(self._entries(path))

    def _entries(self, path: Any) -> list[Entry]:
        shown = os.fspath("." if path is None else path)
        at = self._find(shown)
        if self._at(at).content is not None:
            raise _error(errno.ENOTDIR)
        names = [name for below in self._below(at) for above, name in [os.path.split(below)] if above == at]
        convert: Callable[[str], Any] = os.fsencode if isinstance(shown, bytes) else str
        return [Entry(self, convert(name), os.path.join(shown, convert(name))) for name in names]

    def readlink(self, path: Any) -> Any:
        target = self._node(path, follow=False).content
        if not isinstance(target, str):
            raise _error(errno.EINVAL)
        return os.fsencode(target) if isinstance(path, bytes) else target

    def getcwd(self) -> str:
        self._at(self._folder)
        return self._folder

    def getcwdb(self) -> bytes:
        return os.fsencode(self.getcwd())

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        self._node("." if path is None else path, follow_symlinks)
        return []

    # -- changes -----------------------------------------------------------------------------

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        sys.audit("os.mkdir", path, mode, -1)
        self._add(self._find_name(path), self._new(None, mode))

    def rmdir(self, path: Any) -> None:
        sys.audit("os.rmdir", path, -1)
        at = self._find(path, follow=False)
        if self._at(at).content is not None:
            raise _error(errno.ENOTDIR)
        if self._below(at):
            raise _error(errno.ENOTEMPTY)
        if at == "/":
            raise _error(errno.EBUSY)
        self._remove(at)

    def unlink(self, path: Any) -> None:
        sys.audit("os.remove", path, -1)
        at = self._find(path, follow=False)
        if self._at(at).content is None:
            raise _error(errno.EISDIR)
        self._remove(at)

    remove = unlink

    def rename(self, src: Any, dst: Any) -> None:
        sys.audit("os.rename", src, dst, -1, -1)
        old, new = self._find_name(src), self._find_name(dst)
        is_folder, there = self._at(old).content is None, self._nodes.get(new)
        if there is self._at(old):
            return
        if old == "/" or new.startswith(old + "/"):
            raise _error(errno.EINVAL)
        if there is not None and (there.content is None) != is_folder:
            raise _error(errno.ENOTDIR if is_folder else errno.EISDIR)
        if there is not None and is_folder and self._below(new):
            raise _error(errno.ENOTEMPTY)
        for path in (old, *(self._below(old) if is_folder else ())):
            self._nodes[new + path.removeprefix(old)] = self._nodes.pop(path)
        self._stamp_parent(old)
        self._stamp_parent(new)

    replace = rename

    def link(self, src: Any, dst: Any, *, follow_symlinks: bool = True) -> None:
        sys.audit("os.link", src, dst, -1, -1)
        node = self._node(src, follow=False)  # a link itself, as link(2) does
        if node.content is None:
            raise _error(errno.EPERM)
        self._add(self._find_name(dst), node)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False) -> None:
        sys.audit("os.symlink", src, dst, -1)
        self._add(self._find_name(dst), self._new(_text(src), 0o777))

    def chmod(self, path: Any, mode: int, follow_symlinks: bool = True) -> None:
        sys.audit("os.chmod", path, mode, -1)
        node = self._node(path, follow_symlinks)
        node.mode = mode & 0o7777

    fchmod = chmod

    def truncate(self, path: Any, length: int) -> None:
        sys.audit("os.truncate", path, length)
        self._resize(self._node(path), length)

    def utime(self, path: Any, times: Any = None, *, ns: Any = None, follow_symlinks: bool = True) -> None:
        sys.audit("os.utime", path, times, ns, -1)
        if times is not None and ns is not None:
            raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
        node = self._node(path, follow_symlinks)
        _, node.modified = ns or ([round(time * 1e9) for time in times] if times else (0, self._now()))

    def chdir(self, path: Any) -> None:
        sys.audit("os.chdir", path)
        at = self._find(path)
        if self._at(at).content is not None:
            raise _error(errno.ENOTDIR)
        self._folder = at

    def umask(self, mask: int, /) -> int:
        before, self._umask = self._umask, mask & 0o777
        return before

    # -- the modules -------------------------------------------------------------------------

    def install(self) -> None:
        """Replace the real functions wherever a loaded module, class or default holds one."""
        stands: Stands = {}

        def put(real: Any, stand: Any) -> None:
            stands[id(real)] = (real, stand)

        for name in _FUNCTIONS:
            real = getattr(os, name, None)
            if real is not None:
                put(real, _replacement(getattr(self, name), real))
        self.opened = self._install_open()
        put(io.open, self.opened)
        put(io.FileIO, _pyio.FileIO)
        put(io.open_code, lambda path: self.opened(path, "rb"))
        put(os.DirEntry, Entry)
        for name, module in list(sys.modules.items()):
            if name.rpartition(".")[0] != _OWN and isinstance(module, types.ModuleType):
                _exchange(vars(module), stands)
        for name in ("dir_fd", "effective_ids", "fd", "follow_symlinks"):
            setattr(os, f"supports_{name}", set())
        shutil = sys.modules.get("shutil")  # it asked when it was imported
        for name in ("_use_fd_functions", "_USE_CP_SENDFILE", "_USE_CP_COPY_FILE_RANGE", "_HAS_FCOPYFILE"):
            if hasattr(shutil, name):
                setattr(shutil, name, False)

    def _install_open(self) -> Callable[..., Any]:
        """Return what stands for `open`: Python's own in Python, whose system becomes these files and nothing else.

        The buffers and texts stay those in C. No attribute of a file leads to real ones, and no number that code
        puts into one to a real descriptor: code in the restricted tier can reach the class of the raw files.
        """

        def close(descriptor: int) -> None:
            with contextlib.suppress(OSError):  # the call that opened it is over
                self.close(descriptor)

        system = {name: found for name, found in vars(os).items() if name.startswith("O_")}
        system |= {"close": close, "fspath": os.fspath, "linesep": os.linesep, "strerror": os.strerror}
        for name in ("open", "fstat", "read", "write", "lseek", "ftruncate", "isatty"):
            system[name] = _replacement(getattr(self, name))
        names = vars(_pyio)
        names["os"] = types.SimpleNamespace(**system)
        for name in ("BufferedReader", "BufferedWriter", "BufferedRandom", "TextIOWrapper"):
            names[name] = getattr(io, name)
        raw, made = _pyio.FileIO, names["open"].__func__
        del raw.__del__  # that of the base closes without a warning
        raw.__module__ = made.__module__ = "_io"
        return made  # type: ignore[no-any-return]


def _copied(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Return a copy; names of one file are names of one file in it."""
    copies = {
        node.number: replace(node, content=None if node.content is None else node.content[:])
        for node in nodes.values()
    }
    return {path: copies[node.number] for path, node in nodes.items()}


def _shown(nodes: Mapping[str, Node]) -> dict[str, bytes | str]:
    """Return what is there, by path: the bytes of files, the target of links, nothing for a folder."""
    shown: dict[str, bytes | str] = {}
    for path, node in nodes.items():
        if node.content is None:
            shown[f"{path}/"] = b""
        else:
            shown[path] = node.content if isinstance(node.content, str) else bytes(node.content)
    return shown


_FUNCTIONS = tuple(name for name, found in vars(Files).items() if callable(found) and hasattr(os, name))
_OF_DESCRIPTORS = ("close", "fstat", "isatty", "lseek", "read", "stat", "write")
_OF_TWO_PATHS = ("rename", "link", "symlink")


def _replacement(own: Callable[..., Any], real: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function that does what `own` does, and what `real` does to a descriptor of other files.

    It refuses paths relative to a descriptor, and adds the path, or both, to an error as the real function does.
    """
    for_descriptors = real if own.__name__ in _OF_DESCRIPTORS else None
    paths = 2 if own.__name__ in _OF_TWO_PATHS else 1

    @functools.wraps(own)
    def act(*arguments: Any, **named: Any) -> Any:
        for name in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            if named.pop(name, None) is not None:
                raise NotImplementedError("dir_fd unavailable on this platform")
        given = [*arguments, *named.values()][:paths]
        by_number = bool(given) and isinstance(given[0], int)
        if for_descriptors is not None and by_number and given[0] < _FIRST:
            if given[0] == wire.RESULT and own.__name__ == "close":
                raise _error(errno.EBADF)  # in an ordinary process nothing is open there
            return for_descriptors(*arguments, **named)
        try:
            return own(*arguments, **named)
        except OSError as failed:
            if failed.filename is not None or by_number or not given or given[0] is None:
                raise
            first, *second = map(os.fspath, given)
            raise OSError(
                failed.errno, failed.strerror, first, *([None, *second] if second else [])
            ) from None

    del act.__wrapped__  # leads to the files
    return act


Stands = dict[int, tuple[Any, Any]]  # by the real object's id: it, so that it lives, and what stands for it


def _exchange(names: dict[str, Any], stands: Stands) -> None:
    """Replace what has a stand-in among a module's names, in its classes and in the defaults of its functions."""
    for name, value in list(names.items()):
        if id(value) in stands:
            names[name] = stands[id(value)][1]
        elif isinstance(value, types.FunctionType):
            _exchange_defaults(value, stands)
        elif isinstance(value, type) and value.__module__ == names.get("__name__"):
            for inner, held in list(vars(value).items()):
                static = isinstance(held, staticmethod)
                found = stands.get(id(held.__func__ if static else held))
                if found is not None:
                    setattr(value, inner, staticmethod(found[1]) if static else found[1])
                elif isinstance(held, types.FunctionType):
                    _exchange_defaults(held, stands)


def _exchange_defaults(function: types.FunctionType, stands: Stands) -> None:
    values, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    if any(id(value) in stands for value in values):
        function.__defaults__ = tuple(stands.get(id(value), (value, value))[1] for value in values)
    named.update((name, stands[id(value)][1]) for name, value in named.items() if id(value) in stands)
