"""Replacements for `open` and the file functions of `os`, which work on a tree in memory.

Nothing here is a boundary. Code that bypasses it, with `ctypes` or a function of its own, is refused by the
kernel as before; other code finds working files, and what it does to them is part of its result. Descriptors
of these files begin at a number that no real one has; any other goes to the real function. Each act raises
the audit event that the real one raises.
"""

# ruff: noqa: D102, PTH118 - each does what the one of its name in `os` does, and paths are what these functions make

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]
import abc
import contextlib
import errno
import functools
import io
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import wire
from .filesystem import Node, ResolvedPath, Tree, error

_FIRST = 1000  # descriptor
_MOST_OPEN = 1024
_OWN = __name__.rpartition(".")[0]


class _Handle:
    """An open file: its node, access mode and position."""

    __slots__ = ("at", "flags", "node", "path")

    def __init__(self, node: Node, flags: int, path: str) -> None:
        self.node, self.flags, self.path, self.at = node, flags, path, 0

    @property
    def readable(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_WRONLY

    @property
    def writable(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY


@contextlib.contextmanager
def _named(*names: Any) -> Iterator[None]:
    """Add the path, or both, to the error of what is done with them, as the real functions do."""
    try:
        yield
    except OSError as failed:
        if failed.filename is None and failed.errno is not None:
            first, *second = (name if isinstance(name, int) else os.fspath(name) for name in names)
            raise OSError(
                failed.errno, failed.strerror, first, *([None, second[0]] if second else [])
            ) from None
        raise


def _text(path: Any) -> str:
    found = str.__str__(os.fsdecode(path))  # no methods of a class of the code's own
    if "\0" in found:
        raise ValueError("embedded null byte")
    return found


class Entry:
    """Stands for os.DirEntry."""

    __slots__ = ("_files", "_node", "name", "path")

    def __init__(self, files: Files, node: Node, name: Any, path: Any) -> None:
        self._files, self._node, self.name, self.path = files, node, name, path

    def _met(self, follow: bool) -> Node | None:
        if not (follow and self._node.is_link):
            return self._node
        try:
            return self._files.tree.find(_text(self.path)).node
        except OSError:
            return None

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        found = self._met(follow_symlinks)
        return found is not None and found.is_folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        found = self._met(follow_symlinks)
        return found is not None and type(found.content) is bytearray

    def is_symlink(self) -> bool:
        return self._node.is_link

    def is_junction(self) -> bool:
        return False

    def inode(self) -> int:
        return self._node.number

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._files.stat(self.path, follow_symlinks=follow_symlinks)

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


Entry.__name__ = Entry.__qualname__ = "DirEntry"
Entry.__module__ = "posix"


class _Scan:
    """What os.scandir returns."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries

    def __iter__(self) -> _Scan:
        return self

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


class Files:
    """The functions; each does what the one of its name in `os` does."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._tree = Tree(now)
        self._wanted: tuple[Mapping[str, bytes], str, tuple[str, ...]] | None = None  # until first use
        self._handles: dict[int, _Handle] = {}
        self._next = _FIRST  # never given twice: a file of an earlier call may still be closed
        self._real: dict[str, Any] = {}
        self.file_class = _file_class(self)
        self.opened = _opening(self.file_class)

    @property
    def tree(self) -> Tree:
        """The files, created on first use: most jobs never need them."""
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self._tree.fill(*wanted)
        return self._tree

    def fill(self, files: Mapping[str, bytes], home: str, folders: tuple[str, ...]) -> None:
        """Start anew with these files, by path relative to the folder `home`, and with empty folders."""
        self._wanted = files, home, folders

    def keep(self) -> None:
        """Let `reset` return to the files as they are now."""
        self._tree.keep()

    def mark(self) -> None:
        """Let `changes` start from the files as they are now."""
        self._tree.mark()

    def reset(self) -> None:
        """Return to the files as they were kept, with none open."""
        self._handles.clear()
        if self._wanted is None:
            self._tree.reset()

    def changes(self) -> list[tuple[str, bytes | str | None]]:
        """Return what was changed since the last `mark` or `reset`; see `Tree.changes`."""
        return [] if self._wanted is not None else self._tree.changes()

    # -- finding -----------------------------------------------------------------------------

    def handle(self, descriptor: int) -> _Handle:
        """Return the open file of a descriptor; raise OSError for any other."""
        found = self._handles.get(descriptor)
        if found is None:
            raise error(errno.EBADF)
        return found

    def _node(self, path: Any, follow: bool = True) -> Node:
        """Return the node of a path or of one of these descriptors."""
        if isinstance(path, int):
            return self.handle(path).node
        with _named(path):
            return self.tree.find(_text(path), follow).there()

    def _place(self, path: Any) -> ResolvedPath:
        return self.tree.find(_text(path), follow=False)

    def _entry(self, path: Any) -> ResolvedPath:
        """Return where a name is made or moved: that of a link itself, too, if a slash stands after it."""
        text = _text(path)
        bare = text.rstrip("/")
        return self.tree.find(bare or text, follow=False)._replace(as_folder=bare != text)

    # -- descriptors -------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        sys.audit("open", path, None, flags)
        with _named(path):
            name = _text(path)
            if flags & os.O_CREAT and name.endswith("/") and name.strip("/"):
                self.tree.find(name.rstrip("/"), follow=False)
                raise error(errno.EISDIR)
            place = self.tree.find(name, follow=not flags & (os.O_NOFOLLOW | os.O_EXCL))
            node, writes = place.node, flags & os.O_ACCMODE != os.O_RDONLY
            if node is not None and flags & os.O_CREAT and flags & os.O_EXCL:
                raise error(errno.EEXIST)
            if node is None and flags & os.O_CREAT:
                node = self.tree.make(place, bytearray(), mode)
            elif node is None:
                raise error(errno.ENOENT)
            elif node.is_link:
                raise error(errno.ELOOP)
            elif writes and node.is_folder:
                raise error(errno.EISDIR)
            elif flags & os.O_DIRECTORY and not node.is_folder:
                raise error(errno.ENOTDIR)
            elif (writes and not node.mode & 0o200) or (
                flags & os.O_ACCMODE != os.O_WRONLY and not node.mode & 0o400
            ):
                raise error(errno.EACCES)
            if len(self._handles) >= _MOST_OPEN:
                raise error(errno.EMFILE)
            if flags & os.O_TRUNC and node.content:
                self.tree.truncate(node, 0)
            return self._given(_Handle(node, flags, name))

    def _given(self, handle: _Handle) -> int:
        descriptor, self._next = self._next, self._next + 1
        self._handles[descriptor] = handle
        return descriptor

    def close(self, fd: int) -> None:
        self.handle(fd)
        del self._handles[fd]

    def closerange(self, fd_low: int, fd_high: int, /) -> None:
        for descriptor in [found for found in self._handles if fd_low <= found < fd_high]:
            del self._handles[descriptor]
        self._real["closerange"](fd_low, min(fd_high, wire.RESULT))
        self._real["closerange"](max(fd_low, wire.RESULT + 1), fd_high)

    def dup(self, fd: int, /) -> int:
        return self._given(self.handle(fd))

    def read(self, fd: int, length: int, /) -> bytes:
        handle = self.handle(fd)
        found = self.pread(fd, length, handle.at)
        handle.at += len(found)
        return found

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        handle = self.handle(fd)
        if not handle.readable:
            raise error(errno.EBADF)
        if length < 0 or offset < 0:
            raise error(errno.EINVAL)
        return bytes(handle.node.data[offset : offset + length])

    def write(self, fd: int, data: Any, /) -> int:
        handle = self.handle(fd)
        if handle.flags & os.O_APPEND:
            handle.at = len(handle.node.data)
        written = self.pwrite(fd, data, handle.at)
        handle.at += written
        return written

    def pwrite(self, fd: int, data: Any, offset: int, /) -> int:
        handle = self.handle(fd)
        if not handle.writable:
            raise error(errno.EBADF)
        if offset < 0:
            raise error(errno.EINVAL)
        return self.tree.write(handle.node, offset, bytes(memoryview(data).cast("B")))

    def lseek(self, fd: int, position: int, whence: int, /) -> int:
        handle = self.handle(fd)
        size = 0 if handle.node.is_folder else len(handle.node.data)
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: handle.at, os.SEEK_END: size}
        if whence not in starts or starts[whence] + position < 0:
            raise error(errno.EINVAL)
        handle.at = starts[whence] + position
        return handle.at

    def ftruncate(self, fd: int, length: int, /) -> None:
        if not self.handle(fd).writable:
            raise error(errno.EINVAL)
        self.tree.truncate(self.handle(fd).node, length)

    def isatty(self, fd: int, /) -> bool:
        self.handle(fd)
        return False

    def fsync(self, fd: int) -> None:
        self.handle(fd)

    fdatasync = fsync

    # -- what is there -----------------------------------------------------------------------

    def stat(self, path: Any, follow_symlinks: bool = True) -> os.stat_result:
        if isinstance(path, int) and path < _FIRST:
            return self._real["fstat"](path)  # type: ignore[no-any-return]
        return self._node(path, follow_symlinks).status()

    def lstat(self, path: Any) -> os.stat_result:
        return self.stat(path, follow_symlinks=False)

    def fstat(self, fd: int) -> os.stat_result:
        return self.stat(fd)

    def access(
        self, path: Any, mode: int, *, effective_ids: bool = False, follow_symlinks: bool = True
    ) -> bool:
        try:
            node = self._node(path, follow_symlinks)
        except OSError:
            return False
        return node.mode >> 6 & mode == mode

    def listdir(self, path: Any = None) -> list[Any]:
        sys.audit("os.listdir", path)
        return [entry.name for entry in self._listed(path)]

    def scandir(self, path: Any = None) -> _Scan:
        sys.audit("os.scandir", path)
        return _Scan(iter(self._listed(path)))

    def _listed(self, path: Any) -> list[Entry]:
        shown = "." if path is None or isinstance(path, int) else os.fspath(path)
        with _named(path):
            entries = self._node("." if path is None else path).entries
            convert: Callable[[str], Any] = os.fsencode if isinstance(shown, bytes) else str
            return [
                Entry(self, node, convert(name), os.path.join(shown, convert(name)))
                for name, node in entries.items()
            ]

    def readlink(self, path: Any) -> Any:
        node = self._node(path, follow=False)
        if not node.is_link:
            with _named(path):
                raise error(errno.EINVAL)
        target = str(node.content)
        return os.fsencode(target) if isinstance(path, bytes) else target

    def getcwd(self) -> str:
        return self.tree.folder

    def getcwdb(self) -> bytes:
        return os.fsencode(self.tree.folder)

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        self._node("." if path is None else path, follow_symlinks)
        return []

    # -- changes -----------------------------------------------------------------------------

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        sys.audit("os.mkdir", path, mode, -1)
        with _named(path):
            self.tree.make(self._entry(path), {}, mode)

    def rmdir(self, path: Any) -> None:
        sys.audit("os.rmdir", path, -1)
        with _named(path):
            self.tree.remove(self._place(path), folder=True)

    def unlink(self, path: Any) -> None:
        sys.audit("os.remove", path, -1)
        with _named(path):
            self.tree.remove(self._place(path), folder=False)

    remove = unlink

    def rename(self, src: Any, dst: Any) -> None:
        sys.audit("os.rename", src, dst, -1, -1)
        with _named(src, dst):
            self.tree.rename(self._entry(src), self._entry(dst))

    replace = rename

    def link(self, src: Any, dst: Any, *, follow_symlinks: bool = True) -> None:
        sys.audit("os.link", src, dst, -1, -1)
        with _named(src, dst):
            self.tree.link(self._place(src).there(), self._entry(dst))  # a link itself, as link(2) does

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False) -> None:
        sys.audit("os.symlink", src, dst, -1)
        with _named(src, dst):
            self.tree.make(self._entry(dst), _text(src), 0o777)

    def chmod(self, path: Any, mode: int, follow_symlinks: bool = True) -> None:
        sys.audit("os.chmod", path, mode, -1)
        self.tree.alter(self._node(path, follow_symlinks), mode=mode)

    def fchmod(self, fd: int, mode: int) -> None:
        self.chmod(fd, mode)

    def truncate(self, path: Any, length: int) -> None:
        sys.audit("os.truncate", path, length)
        with _named(path):
            self.tree.truncate(self._node(path), length)

    def utime(self, path: Any, times: Any = None, *, ns: Any = None, follow_symlinks: bool = True) -> None:
        sys.audit("os.utime", path, times, ns, -1)
        if times is not None and ns is not None:
            raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
        node = self._node(path, follow_symlinks)
        _, modified = ns or ([round(time * 1e9) for time in times] if times else (0, self.tree.now()))
        self.tree.alter(node, modified=modified)

    def chdir(self, path: Any) -> None:
        sys.audit("os.chdir", path)
        with _named(path):
            self.tree.enter(self.handle(path).path if isinstance(path, int) else _text(path))

    def fchdir(self, fd: int) -> None:
        self.chdir(fd)

    def umask(self, mask: int, /) -> int:
        before, self.tree.umask = self.tree.umask, mask & 0o777
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
                self._real[name] = real
                stand = _by_path(getattr(self, name))
                put(real, _by_number(stand, real) if name in _OF_DESCRIPTORS else stand)
        put(io.open, self.opened)
        put(io.FileIO, self.file_class)
        put(io.open_code, lambda path: self.opened(path, "rb"))
        put(os.DirEntry, Entry)
        for name, module in list(sys.modules.items()):
            if name.rpartition(".")[0] != _OWN and isinstance(module, types.ModuleType):
                _exchange(vars(module), stands)
        os.supports_dir_fd = set()
        os.supports_effective_ids = set()
        os.supports_fd = {getattr(os, name) for name in _BY_DESCRIPTOR}
        os.supports_follow_symlinks = {getattr(os, name) for name in _BY_LINK}
        if "shutil" in sys.modules:  # it asked when it was imported
            for name in (
                "_use_fd_functions",
                "_USE_CP_SENDFILE",
                "_USE_CP_COPY_FILE_RANGE",
                "_HAS_FCOPYFILE",
            ):
                if hasattr(sys.modules["shutil"], name):
                    setattr(sys.modules["shutil"], name, False)


_FUNCTIONS = tuple(name for name, found in vars(Files).items() if callable(found) and hasattr(os, name))
_OF_DESCRIPTORS = ("close", "dup", "read", "write", "lseek", "isatty")
_BY_DESCRIPTOR = ("access", "chdir", "chmod", "listdir", "scandir", "stat", "truncate", "utime")
_BY_LINK = ("chmod", "link", "stat", "utime", "access", "listxattr")


def _by_path(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without what is not there: paths relative to a descriptor."""

    @functools.wraps(own)
    def act(*arguments: Any, **named: Any) -> Any:
        for name in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            if named.pop(name, None) is not None:
                raise NotImplementedError("dir_fd unavailable on this platform")
        return own(*arguments, **named)

    del act.__wrapped__  # leads to the files
    return act


def _by_number(own: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does to a descriptor of these files what `own` does, and to others what `real` does."""

    def act(fd: Any, *rest: Any) -> Any:
        if isinstance(fd, int) and fd >= _FIRST:
            return own(fd, *rest)
        if fd == wire.RESULT and own.__name__ == "close":
            raise error(errno.EBADF)  # in an ordinary process nothing is open there
        return real(fd, *rest)

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


def _file_class(files: Files) -> type[io.RawIOBase]:
    """Return the replacement for io.FileIO: Python's own in Python, whose system is these files and nothing else.

    No attribute of the class leads to them, and no number that code puts into an instance to a real descriptor:
    code in the restricted tier can reach the class.
    """

    def close(descriptor: int) -> None:
        with contextlib.suppress(OSError):  # the call that opened it is over
            files.close(descriptor)

    system = types.SimpleNamespace(strerror=os.strerror, close=close)
    for name in ("open", "fstat", "read", "write", "lseek", "ftruncate", "isatty"):
        setattr(system, name, getattr(files, name))
    system.fstat = lambda descriptor: files.handle(descriptor).node.status()
    vars(system).update((name, value) for name, value in vars(os).items() if name.startswith("O_"))
    names, cell = {**vars(_pyio), "os": system}, types.CellType()

    def bound(written: Any) -> Any:
        closure = (cell,) * len(written.__code__.co_freevars)  # the class, for `super`
        return types.FunctionType(written.__code__, names, written.__name__, written.__defaults__, closure)

    body: dict[str, Any] = {}
    for name, value in vars(_pyio.FileIO).items():
        if (
            isinstance(value, types.FunctionType) and name != "__del__"
        ):  # that of the base closes without a warning
            body[name] = bound(value)
        elif isinstance(value, property):
            body[name] = property(bound(value.fget))
        elif not name.startswith("__"):
            body[name] = value
    made: Any = abc.ABCMeta("FileIO", (io.RawIOBase,), {**body, "__module__": "_io"})
    cell.cell_contents = made
    return made  # type: ignore[no-any-return]


def _opening(raw: type[io.RawIOBase]) -> Callable[..., Any]:
    """Return what stands for `open`: Python's own in Python, on this raw file and the buffers and texts in C."""
    written = getattr(_pyio.open, "__func__", _pyio.open)
    names = {
        **vars(_pyio),
        "FileIO": raw,
        **{
            name: getattr(io, name)
            for name in ("BufferedReader", "BufferedWriter", "BufferedRandom", "TextIOWrapper")
        },
    }
    made = types.FunctionType(written.__code__, names, "open", written.__defaults__)
    made.__kwdefaults__ = written.__kwdefaults__
    made.__module__, made.__qualname__, made.__doc__ = "_io", "open", io.open.__doc__
    return made
