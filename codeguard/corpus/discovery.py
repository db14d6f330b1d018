"""Which files of the given paths enter the corpus, under which names, and why the others do not.

Which folders hold what a tool has put there, rather than what somebody wrote, the tools' own records say.
"""

from __future__ import annotations

import contextlib
import csv
import os
import stat
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from codeguard.corpus.decoding import read_text, too_large_reason, unreadable_reason
from codeguard.corpus.git import ignored_in
from codeguard.corpus.patterns import Exclusion
from codeguard.corpus.secrets import PRIVATE_KEY, key_of_whole, secret_file
from codeguard.errors import CorpusError
from codeguard.models import Skipped

UNSETTLED = ""  # the stamp of a file that may change again without its times showing it
COARSEST_NS = 2_000_000_000  # between two times that a common file system can tell apart


def stamp_of(info: os.stat_result) -> str:
    """Return what changes when a file does: size, times in nanoseconds, inode and device.

    The content's time can be set back by anyone who may write the file; the time of change cannot.
    """
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino} {info.st_dev}"


def settled_stamp(info: os.stat_result, now_ns: int) -> str:
    """Return the stamp of a file that is read from `now_ns` (nanoseconds since 1970) on, or UNSETTLED.

    A later change could get the same times if the last one is too recent: then no stamp stands for the content.
    """
    recent = max(info.st_mtime_ns, info.st_ctime_ns) > now_ns - COARSEST_NS
    return UNSETTLED if recent else stamp_of(info)


def name_of(path: Path, root: Path, tops: Iterable[Path] = ()) -> str:
    """Return the name of a path without links: relative to the root, and "." for the root itself.

    A path outside of the root is named relative to the parent of the widest of `tops`, the folders that
    are read, that contains it.
    """
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    above = (top for top in tops if path.is_relative_to(top))
    widest = min(above, key=lambda top: len(top.parts), default=path)
    return path.relative_to(widest.parent).as_posix()


HEAD_BYTES = 8192
LARGEST_FILE = 2_000_000  # bytes
EXCLUDED = "excluded by --exclude or the configuration"
SECRET_BY_NAME = "a secret by its name"
NOT_REGULAR = "not a regular file"
GIT, STATE = ".git", ".codeguard"
NESTED = "another repository"
PACKAGE = "an installed package"
# What is in or beside a folder that a tool has filled, and what that folder is then.
RECORDS: Sequence[tuple[str, Sequence[str]]] = (
    ("a virtual environment", ["pyvenv.cfg"]),
    ("a conda environment", ["conda-meta/history"]),
    ("a vendored package", [".cargo-checksum.json"]),
    ("vendored packages", ["modules.txt", "../go.mod"]),
    ("vendored packages", ["composer/installed.json"]),
    ("a cache", ["CACHEDIR.TAG"]),
    (NESTED, [".git"]),
)
# The only place where Node.js looks for them.
NAMED: Mapping[str, str] = {"node_modules": "packages of Node.js"}
LARGEST_RECORD = 16_000_000  # of a list of installed files
LINK_OUT = "link that leads out of the folder"
# Characters that change the reading direction or break the line make a name misleading.
_DECEPTIVE = frozenset(
    "\u200e\u200f\u061c\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)

# Never wait on a FIFO, and never follow a link, that has replaced a file.
_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the corpus: real path, name in the index (posix, relative, unique), size in bytes, settled stamp."""

    path: Path
    name: str
    size: int
    stamp: str = UNSETTLED


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files found and everything that was skipped, both by name; nothing is both.

    `notes` are lines `path: reason` about working trees whose ignored files git does not tell.
    """

    files: tuple[FoundFile, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...] = ()


class _UnsuitableError(Exception):
    """A file that must be skipped; the text says why."""


def discover(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    max_bytes: int = LARGEST_FILE,
    exclude: Sequence[str] = (),
    known: Mapping[str, str] | None = None,
    withhold_secrets: bool = False,
    tops: Sequence[Path] = (),
    is_own_state: Callable[[Path], bool] | None = None,
) -> Discovery:
    """Find the files under `paths`.

    Folders are walked without following links. What git ignores in its working tree is left out; elsewhere, as in an
    unpacked archive, no .gitignore counts (see `ignored_in`). A file or folder given explicitly is taken regardless.
    The patterns of `exclude` (same syntax) apply to every file and
    are matched against its name. With `withhold_secrets`, files that are secrets by their name, or that begin
    with a private key, are skipped. Everything skipped is listed once with its reason, an ignored folder as one
    entry. What an argument names is not listed as ignored by the walk of another argument.

    A file below `root` (default: the working directory) is named relative to
    it, any other relative to the parent of the widest argument that contains
    it, or of `tops`, folders without links that were read before.
    `known` maps names to stamps of files whose content was found
    suitable before: unchanged ones are not opened.

    `is_own_state` says whether a folder named `.codeguard` is the state of this installation, which is not
    walked (default: the one in the working directory is): anyone can name a folder so.

    Raises:
        CorpusError: an argument does not exist, or two files would have the same name.
    """
    base = (root or Path.cwd()).resolve()
    own = is_own_state or (Path.cwd().resolve() / STATE).__eq__
    walk = _Walk(max_bytes, Exclusion(exclude), known or {}, withhold_secrets, own)
    arguments = _arguments(paths)
    for real in arguments:
        prefix = name_of(real, base, (*arguments, *tops))
        try:
            _check_name(prefix)
        except _UnsuitableError as reason:
            walk.skip(prefix, str(reason))
            continue
        if real.is_dir():
            walk.folder(real, "" if prefix == "." else prefix)
        else:
            walk.file(real, prefix)
    return walk.result()


def read_file(file: FoundFile, max_bytes: int = LARGEST_FILE) -> bytes:
    """Return the bytes of a found file, without following a link or waiting on a FIFO that has replaced it.

    Raises:
        CorpusError: it is no longer a regular file, has grown above `max_bytes`, or cannot be read.
    """
    try:
        data = _read(file.path, max_bytes + 1)
    except (_UnsuitableError, OSError) as error:
        raise CorpusError(f"{file.name} cannot be read: {_say(error)}") from error
    if len(data) > max_bytes:
        raise CorpusError(f"{file.name} has grown", got=f"more than {max_bytes} bytes")
    return data


def _arguments(paths: Sequence[Path]) -> list[Path]:
    """Return the arguments' real paths, outermost first, so that the widest determines a file's name."""
    resolved: set[Path] = set()
    for path in paths:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise CorpusError(
                f"{printable_name(str(path))} cannot be read: {_say(error)}", hint="check the path"
            ) from error
        resolved.add(real)
    return sorted(resolved, key=lambda real: (len(real.parts), real))


@dataclass(slots=True)
class _Walk:
    """Collects files and reasons; one for each `discover`."""

    _max_bytes: int
    _exclusion: Exclusion
    _known: Mapping[str, str]
    _withhold_secrets: bool
    _is_own_state: Callable[[Path], bool]
    _files: dict[Path, FoundFile] = field(default_factory=dict)
    _names: dict[str, Path] = field(default_factory=dict)
    _folders: set[Path] = field(default_factory=set)
    # An argument that is walked later overwrites what was said before.
    _skipped: dict[str, str] = field(default_factory=dict)
    _notes: dict[str, None] = field(default_factory=dict)

    def result(self) -> Discovery:
        files = sorted(self._files.values(), key=lambda file: file.name)
        skipped = (Skipped(printable_name(name), reason) for name, reason in self._skipped.items())
        return Discovery(
            tuple(files),
            tuple(sorted(skipped, key=lambda item: (item.path, item.reason))),
            tuple(sorted(self._notes)),
        )

    def skip(self, name: str, reason: str) -> None:
        self._skipped[name] = reason

    def folder(self, top: Path, prefix: str) -> None:
        """Walk a folder iteratively, visiting each real folder once."""
        self._skipped.pop(_join(prefix) + "/", None)
        ignored, problem = ignored_in(top)
        if problem:
            note = f"no .gitignore counts: {printable_name(problem)}"
            self._notes[f"{printable_name(_join(prefix, '.git/'))}: {note}"] = None
        pending = [(top, "")]
        while pending:
            folder, inside = pending.pop()
            if folder in self._folders:
                continue
            self._folders.add(folder)
            pending.extend(reversed(list(self._entries(folder, inside, top, prefix, ignored))))

    def _entries(
        self, folder: Path, inside: str, top: Path, prefix: str, ignored: frozenset[str]
    ) -> Iterator[tuple[Path, str]]:
        """Take the files of a folder and yield its subfolders to walk."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            self.skip(_join(prefix, inside) + "/", f"cannot be read: {_say(error)}")
            return
        for entry in entries:
            relative = f"{inside}/{entry.name}" if inside else entry.name
            name = _join(prefix, relative)
            path = folder / entry.name
            is_folder = False
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                _check_name(entry.name)
                if entry.is_symlink():
                    raise _UnsuitableError(_link_reason(path, top))
                if is_folder and entry.name == GIT:
                    raise _UnsuitableError("version control data")
                if is_folder and entry.name == STATE and self._is_own_state(path):
                    raise _UnsuitableError("state directory of codeguard")
                if is_folder and self._exclusion.covers(name, is_folder):
                    raise _UnsuitableError(EXCLUDED)
                if (f"{relative}/" if is_folder else relative) in ignored:
                    raise _UnsuitableError("ignored by git")
            except _UnsuitableError as reason:
                self.skip(name + ("/" if is_folder else ""), str(reason))
            except OSError as error:
                self.skip(name, f"cannot be read: {_say(error)}")
            else:
                if is_folder:
                    yield path, relative
                else:
                    self.file(path, name)

    def file(self, path: Path, name: str) -> None:
        """Take a file, or record why it is skipped."""
        if path in self._files:
            return
        try:
            found = self._suitable(path, name)
        except (_UnsuitableError, OSError) as error:
            self.skip(
                name, _say(error) if isinstance(error, _UnsuitableError) else f"cannot be read: {_say(error)}"
            )
            return
        other = self._names.setdefault(name, path)
        if other != path:
            raise CorpusError(
                f"two files would have the same name {name}",
                got=f"{printable_name(str(other))} and {printable_name(str(path))}",
                hint="work from a folder that contains both",
            )
        self._files[path] = found
        self._skipped.pop(name, None)

    def _suitable(self, path: Path, name: str) -> FoundFile:
        if self._exclusion.covers(name):
            raise _UnsuitableError(EXCLUDED)
        found = _found(path, name)
        rule = secret_file(name) if self._withhold_secrets else ""
        if rule:
            raise _UnsuitableError(f"{SECRET_BY_NAME} (secrets.{rule})")
        if found.size > self._max_bytes:
            raise _UnsuitableError(too_large_reason(found.size, self._max_bytes, _read(path, HEAD_BYTES)))
        if found.stamp == UNSETTLED or self._known.get(name) != found.stamp:
            head = _read(path, HEAD_BYTES)
            reason = unreadable_reason(head, name)
            if reason:
                raise _UnsuitableError(reason)
            if self._withhold_secrets and b"-" in head[:80] and key_of_whole(read_text(head, name).text):
                raise _UnsuitableError(f"a private key (secrets.{PRIVATE_KEY})")
        return found


def find_file(path: Path, name: str) -> FoundFile:
    """Return a regular file of the disk by the name that an index gives it.

    Raises:
        CorpusError: there is none.
    """
    try:
        return _found(path, name)
    except (_UnsuitableError, OSError, ValueError) as error:
        raise CorpusError(f"{name} cannot be read: {_say(error)}") from error


def _found(path: Path, name: str) -> FoundFile:
    now = time.time_ns()
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise _UnsuitableError(_kind(info.st_mode))
    return FoundFile(path, name, info.st_size, settled_stamp(info, now))


def _read(path: Path, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file."""
    descriptor = os.open(path, _OPEN_FLAGS)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _UnsuitableError(_kind(mode))
        parts: list[bytes] = []
        while limit > 0:
            part = stream.read(limit)
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)


_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "block device",
    stat.S_IFCHR: "character device",
}


def _kind(mode: int) -> str:
    return f"{NOT_REGULAR} ({_KINDS.get(stat.S_IFMT(mode), 'unknown kind')})"


def _link_reason(path: Path, top: Path) -> str:
    try:
        target = path.resolve()
        exists = target.exists()
    except (OSError, RuntimeError):
        return "link that leads in a circle or cannot be followed"
    if not target.is_relative_to(top):
        return LINK_OUT
    inside = target.relative_to(top)
    shown = printable_name(inside.as_posix())
    if not exists:
        return "broken link"
    if {GIT, STATE} & set(inside.parts):
        return f"link that leads into a folder that is not looked at ({shown})"
    if target.is_file() and path.suffix.lower() not in ("", target.suffix.lower()):
        return f"link that gives {shown} another kind of name"
    return f"link to {shown}, which is looked at itself"


def name_problem(name: str) -> str:
    """Return why a file of this name is skipped, or ""."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(unicodedata.category(character) == "Cc" or character in _DECEPTIVE for character in name):
        return "its name holds control characters"
    return ""


def _check_name(name: str) -> None:
    problem = name_problem(name)
    if problem:
        raise _UnsuitableError(problem)


def printable_name(name: str) -> str:
    """Return a name that can be shown and stored, with non-UTF-8 bytes and terminal controls escaped."""
    safe = name.encode("utf-8", "backslashreplace").decode()
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) == "Cc" or character in _DECEPTIVE
        else character
        for character in safe
    )


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part) or "."


def _say(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "unknown error").lower()
    return str(error)


def left_out(files: Iterable[tuple[str, Path]], tops: Sequence[Path]) -> tuple[set[str], dict[str, str]]:
    """Return the names of installed files among those of a corpus, and their folders' names, each with its kind.

    Args:
        files: names and paths, without links. Those that are in none of the tops are not installed.
        tops: the trusted paths, without links. If one is itself in an installed folder, that is meant: nothing in it
            is left out.
    """
    # What is read is kept for the run.
    kind, packages = cache(_filled_by), cache(_installed_in)

    def is_inside(top: Path) -> bool:
        return any(
            kind(folder) not in ("", NESTED) or folder.name in packages(folder.parent)
            for folder in (top, *top.parents)
        )

    within = {top: is_inside(top) for top in tops}
    in_repository = {top: any(kind(folder) == NESTED for folder in (top, *top.parents)) for top in tops}

    def folder_of(path: Path, top: Path) -> tuple[Path, str] | None:
        """Return the outermost installed folder below `top` that holds a file, and what it is."""
        inside = path.relative_to(top).parts
        for depth in range(1, len(inside) + 1):
            place = top.joinpath(*inside[:depth])
            found = PACKAGE if place.name in packages(place.parent) else ""
            if not found and depth < len(inside):
                found = kind(place)
            if found and (found != NESTED or in_repository[top]):
                return place, found
        return None

    names, folders = set[str](), dict[str, str]()
    for name, path in files:
        top = max(
            (top for top in tops if path.is_relative_to(top)), key=lambda top: len(top.parts), default=None
        )
        found = None if top is None or within[top] else folder_of(path, top)
        if found is not None:
            names.add(name)
            # The folder's name, or that of the file itself, from the name of a file in it.
            below = len(path.parts) - len(found[0].parts)
            folder = str(PurePosixPath(*PurePosixPath(name).parts[:-below])) if below else name
            folders[folder] = found[1]
    return names, folders


def _filled_by(folder: Path) -> str:
    for kind, records in RECORDS:
        if all(os.path.lexists(folder / record) for record in records):
            return kind
    return NAMED.get(folder.name, "")


def _installed_in(folder: Path) -> frozenset[str]:
    """Return the names in a folder that the records of installed Python packages list."""
    try:
        infos = [name for name in os.listdir(folder) if name.endswith(".dist-info")]  # noqa: PTH208
    except OSError:
        return frozenset()
    found = set()
    for info in infos:
        with contextlib.suppress(CorpusError, csv.Error):
            data = read_file(find_file(folder / info / "RECORD", info), LARGEST_RECORD)
            for row in csv.reader(data.decode("utf-8", "replace").splitlines()):
                first = PurePosixPath(row[0]).parts[:1] if row else ()
                if first not in ((), ("..",), ("/",)):
                    found.add(first[0])
    return frozenset(found)
