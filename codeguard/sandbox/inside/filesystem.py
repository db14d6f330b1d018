"""A tree of files in memory: the replacement for a disk inside a child.

Paths are resolved as POSIX does (symbolic links, "..", a slash at the end), errors are OSErrors with the numbers
that the kernel would give. Everything belongs to one ordinary user; times come from the world's clock and
reading changes none of them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

MOST_BYTES = 16 * 1024 * 1024  # of all files together
MOST_NODES = 4096
_LONGEST_PATH, _LONGEST_NAME, _MOST_LINKS = 4095, 255, 40  # Linux's own
_USER = 1000
_NULL = 0  # number of the device that swallows what is written
_DEVICE = 2049
_BLOCK = 4096
_UMASK = 0o022


class Node:
    """A file, a folder or a symbolic link; `content` says which."""

    __slots__ = ("changed", "content", "links", "mode", "modified", "number")

    def __init__(self, number: int, content: bytearray | dict[str, Node] | str, mode: int, now: int) -> None:
        self.number = number
        self.content = content
        self.mode = mode  # permissions alone
        self.links = 1
        self.modified = self.changed = now

    @property
    def entries(self) -> dict[str, Node]:
        """What a folder holds; NotADirectoryError for anything else."""
        if type(self.content) is not dict:
            raise error(errno.ENOTDIR)
        return self.content

    @property
    def data(self) -> bytearray:
        """The bytes of a file; an OSError for anything else."""
        if type(self.content) is not bytearray:
            raise error(errno.EISDIR if self.is_folder else errno.EINVAL)
        return self.content

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder."""
        return type(self.content) is dict

    @property
    def is_link(self) -> bool:
        """Whether this is a symbolic link."""
        return type(self.content) is str

    def status(self) -> os.stat_result:
        """Return what stat says of it."""
        kind = stat.S_IFDIR if self.is_folder else stat.S_IFLNK if self.is_link else stat.S_IFREG
        kind = kind if self.number else stat.S_IFCHR
        size = _BLOCK if self.is_folder else len(os.fsencode(self.content) if self.is_link else self.content)  # type: ignore[arg-type]
        links = 2 if self.is_folder else self.links
        times = self.modified, self.modified, self.changed
        more = {"st_blksize": _BLOCK, "st_blocks": -(-size // 512), "st_rdev": 0}
        for name, time in zip(("atime", "mtime", "ctime"), times, strict=True):
            more[f"st_{name}_ns"] = time
            more[f"st_{name}"] = time / 1e9  # type: ignore[assignment]
        seconds = [time // 10**9 for time in times]
        return os.stat_result(
            (kind | self.mode, self.number, _DEVICE, links, _USER, _USER, size, *seconds), more
        )


class ResolvedPath(NamedTuple):
    """Where a path leads: a name in a folder, and what is there, if anything is."""

    parent: Node
    name: str  # empty for the root
    node: Node | None
    as_folder: bool = False  # the path ends with a slash
    last: str = ""  # what the path ends in, "." and ".." included

    def there(self) -> Node:
        """Return what is there; raise FileNotFoundError if nothing is."""
        if self.node is None:
            raise error(errno.ENOENT)
        return self.node

    def free(self) -> None:
        """Raise FileExistsError if something is there."""
        if self.node is not None:
            raise error(errno.EEXIST)


def error(number: int) -> OSError:
    """Return the exception of an error number; who knows the path adds it."""
    return OSError(number, os.strerror(number))


class Tree:
    """The files, the current folder, and what both were before they were changed."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.umask = _UMASK
        self._start()

    def _start(self) -> None:
        self._numbers = self._bytes = self._nodes = 0
        self.root = self._made({}, 0o755)
        self._folder: list[tuple[str, Node]] = [("", self.root)]
        self._home = "/"
        self._base: Node | None = None  # the tree before its first change since `keep`
        self._before: Node | None = None  # and since `mark`

    def _made(self, content: bytearray | dict[str, Node] | str, mode: int) -> Node:
        if self._nodes >= MOST_NODES:
            raise error(errno.ENOSPC)
        self._nodes += 1
        self._numbers += 1
        return Node(self._numbers + 1, content, mode, self.now())

    # -- the world's side --------------------------------------------------------------------

    def fill(self, files: Mapping[str, bytes], home: str, folders: tuple[str, ...] = ()) -> None:
        """Start anew with these files, by path relative to the folder `home`, which becomes the current one."""
        self._start()
        for folder in ("/dev", "/tmp", home, *folders):
            self._folder_made(folder)
        self.make(self.find(os.devnull), bytearray(), 0o666).number = _NULL
        self._home = home
        self.enter(home)
        for path, data in files.items():
            self._folder_made(path.rpartition("/")[0] or ".")
            self.make(self.find(path), bytearray(data), 0o644)
            self._bytes += len(data)
        self.keep()

    def _folder_made(self, path: str) -> None:
        at = "/" if path.startswith("/") else ""
        for part in path.split("/"):
            at += part
            if part and self.find(at).node is None:
                self.make(self.find(at), {}, 0o755)
            at += "/" if part else ""

    def keep(self) -> None:
        """Let `reset` return to the tree as it is now."""
        self._base = self._before = None

    def mark(self) -> None:
        """Let `changes` start from the tree as it is now."""
        self._before = None

    def reset(self) -> None:
        """Return to the tree, and to the current folder, of the last `keep`."""
        self.umask = _UMASK
        if self._base is not None:
            self.root = self._base
            self._count()
            self.keep()
        elif self.folder == self._home:
            return
        self._folder = [("", self.root)]
        self.enter(self._home)

    def _count(self) -> None:
        found = {id(node): node for _, node in _walked(self.root)}
        self._nodes = len(found) + 1
        self._bytes = sum(len(node.data) for node in found.values() if type(node.content) is bytearray)

    def changes(self) -> list[tuple[str, bytes | str | None]]:
        """Return what is not as at the last `mark`, by path: the bytes of files, the target of links.

        None if nothing is left; a folder's path ends with a slash. Paths below the first folder are relative to it.
        """
        if self._before is None:
            return []
        old, new = (dict(_shown(tree)) for tree in (self._before, self.root))
        start = self._home.rstrip("/") + "/"
        names = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
        return sorted((name.removeprefix(start), new.get(name)) for name in names)

    def touch(self) -> None:
        """Remember the tree as it is, before its first change."""
        if self._before is None:
            self._before = _copied(self.root)
            if self._base is None:
                self._base = self._before

    # -- the code's side ---------------------------------------------------------------------

    @property
    def folder(self) -> str:
        """The current folder's path."""
        return "/".join(name for name, _ in self._folder) or "/"

    def enter(self, path: str) -> None:
        """Make another folder the current one."""
        way, missing = self._way(path)
        if missing:
            raise error(errno.ENOENT)
        if not way[-1][1].is_folder:
            raise error(errno.ENOTDIR)
        self._folder = way

    def find(self, path: str, follow: bool = True) -> ResolvedPath:
        """Return where a path leads; the last link is followed if `follow`."""
        way, missing = self._way(path, follow)
        how = path.endswith("/"), path.rstrip("/").rpartition("/")[2]
        if missing:
            return ResolvedPath(way[-1][1], missing, None, *how)
        parent = way[-2][1] if len(way) > 1 else self.root
        return ResolvedPath(parent, way[-1][0], way[-1][1], *how)

    def _way(self, path: str, follow: bool = True) -> tuple[list[tuple[str, Node]], str]:
        """Return the nodes on the way to a path, and the last name if there is nothing of that name."""
        if not path:
            raise error(errno.ENOENT)
        if len(os.fsencode(path)) > _LONGEST_PATH:
            raise error(errno.ENAMETOOLONG)
        way = [("", self.root)] if path.startswith("/") else list(self._folder)
        pending = path.split("/")[::-1]
        links = 0
        while pending:
            part = pending.pop()
            here = way[-1][1].entries  # a slash after a file is an error, too
            if part in ("", "."):
                continue
            if part == "..":
                if len(way) > 1:
                    way.pop()
                continue
            if len(os.fsencode(part)) > _LONGEST_NAME:
                raise error(errno.ENAMETOOLONG)
            node = here.get(part)
            last = not any(pending)
            if node is None:
                if not last:
                    raise error(errno.ENOENT)
                return way, part
            if node.is_link and (follow or pending):
                links += 1
                if links > _MOST_LINKS:
                    raise error(errno.ELOOP)
                target = str(node.content)
                way = [("", self.root)] if target.startswith("/") else way
                pending.extend(target.split("/")[::-1])
            else:
                way.append((part, node))
        return way, ""

    def make(self, place: ResolvedPath, content: bytearray | dict[str, Node] | str, mode: int) -> Node:
        """Put something new at a free place."""
        place.free()
        if place.as_folder and type(content) is not dict:
            raise error(errno.ENOENT)
        self.touch()
        node = place.parent.entries[place.name] = self._made(content, mode & ~self.umask & 0o7777)
        self._stamp(place.parent)
        return node

    def link(self, node: Node, place: ResolvedPath) -> None:
        """Give a file another name."""
        place.free()
        if place.as_folder:
            raise error(errno.ENOENT)
        if node.is_folder:
            raise error(errno.EPERM)
        self.touch()
        place.parent.entries[place.name] = node
        node.links += 1
        self._stamp(place.parent)

    def remove(self, place: ResolvedPath, folder: bool) -> None:
        """Take a name away: that of an empty folder, or of anything else."""
        node = place.there()
        if folder:
            if place.last == ".":
                raise error(errno.EINVAL)
            if node.entries:
                raise error(errno.ENOTEMPTY)
            if node is self.root or node is self._folder[-1][1]:
                raise error(errno.EBUSY)
        elif node.is_folder:
            raise error(errno.EISDIR)
        self.touch()
        self._dropped(place.parent.entries.pop(place.name))
        self._stamp(place.parent)

    def rename(self, source: ResolvedPath, target: ResolvedPath) -> None:
        """Move a name, over what is there already if both are of one kind."""
        if {".", ".."} & {source.last, target.last}:
            raise error(errno.EBUSY)
        node, there = source.there(), target.node
        if there is node and (node.is_folder or not (source.as_folder or target.as_folder)):
            return
        if there is not None and there.is_folder and any(found is node for _, found in _walked(there)):
            raise error(errno.ENOTEMPTY)
        if node.is_folder:
            inside = {id(found) for _, found in _walked(node)} | {id(node)}
            if node is self.root or id(target.parent) in inside:
                raise error(errno.EINVAL)
            if there is not None and there.entries:
                raise error(errno.ENOTEMPTY)
        elif source.as_folder or target.as_folder:
            raise error(errno.ENOTDIR)
        elif there is not None and there.is_folder:
            raise error(errno.EISDIR)
        self.touch()
        del source.parent.entries[source.name]
        target.parent.entries[target.name] = node
        if there is not None:
            self._dropped(there)
        self._stamp(source.parent)
        self._stamp(target.parent)

    def _dropped(self, node: Node) -> None:
        node.links -= 1
        if not node.links:
            self._nodes -= 1
            self._bytes -= len(node.content) if type(node.content) is bytearray else 0

    def write(self, node: Node, at: int, data: bytes) -> int:
        """Write into a file, over what is there, with zeros if there was nothing; return how many bytes."""
        end = at + len(data)
        if node.number != _NULL:
            self._resize(node, max(end, len(node.data)))
            node.data[at:end] = data
        return len(data)

    def truncate(self, node: Node, size: int) -> None:
        """Cut a file, or let it end in zeros."""
        if size < 0:
            raise error(errno.EINVAL)
        self._resize(node, size)

    def _resize(self, node: Node, size: int) -> None:
        if node.number == _NULL:
            return
        self.touch()
        more = size - len(node.data)
        if self._bytes + more > MOST_BYTES:
            raise error(errno.ENOSPC)
        if more > 0:
            node.data.extend(bytes(more))
        else:
            del node.data[size:]
        self._bytes += more
        self._stamp(node)

    def alter(self, node: Node, mode: int | None = None, modified: int | None = None) -> None:
        """Set permissions, or the time of the last change in nanoseconds."""
        self.touch()
        node.mode = node.mode if mode is None else mode & 0o7777
        node.modified = node.modified if modified is None else modified
        node.changed = self.now()

    def _stamp(self, node: Node) -> None:
        node.modified = node.changed = self.now()


def _walked(folder: Node, path: str = "/") -> Iterator[tuple[str, Node]]:
    """Yield what is below a folder, with its path; a folder before what it holds."""
    pending = [(path, folder)]
    while pending:
        at, node = pending.pop()
        for name, found in node.entries.items():
            inner = f"{at}{name}/" if found.is_folder else f"{at}{name}"
            yield inner, found
            if found.is_folder:
                pending.append((inner, found))


def _shown(root: Node) -> Iterator[tuple[str, bytes | str]]:
    for path, node in _walked(root):
        yield path, b"" if node.is_folder else node.content if node.is_link else bytes(node.data)  # type: ignore[misc]


def _copied(root: Node) -> Node:
    """Return a copy of a tree; names of one file are names of one file in it."""
    copies: dict[int, Node] = {}

    def copy(node: Node) -> Node:
        made = copies.get(id(node))
        if made is None:
            content = node.content
            fresh = {} if node.is_folder else bytearray(content) if type(content) is bytearray else content
            made = copies[id(node)] = Node(node.number, fresh, node.mode, node.modified)
            made.links, made.changed = node.links, node.changed
        return made

    top = copy(root)
    for node in (root, *(found for _, found in _walked(root) if found.is_folder)):
        copies[id(node)].entries.update((name, copy(found)) for name, found in node.entries.items())
    return top
