"""Run git in an untrusted repository, and read its objects: trees, the index, and what differs between them.

Nothing that its configuration names is run or fetched. Objects are read through an empty repository of our own that
has nothing but them in common with the checkout: no configuration, attributes, hooks, filters, grafts, replaced objects
or remotes of it apply. `GIT_INDEX_FILE` and similar variables are honored: with them git tells a hook its index.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from codeguard.errors import CorpusError
from codeguard.interpreter import OUTSIDE

TIMEOUT_S = 120
IGNORED_S = 20  # to match a tree with its .gitignore; a hostile pattern takes time that grows with every star
# Settings by which a repository's configuration could run a program or redirect git.
_SETTINGS = {
    "advice.graftFileDeprecated": "false",
    "core.commitGraph": "false",
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "none",
    "diff.renames": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
VARIABLES = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


def run_git(
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    variables: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = TIMEOUT_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run git and return its output and exit status.

    Args:
        folder: a folder in the repository.
        arguments: the command and its arguments.
        settings: in addition to our own, or overriding them.
        variables: names of `GIT_…` variables to keep. All others are removed: they could redirect git to
            another repository, index or object store.
        environment: more variables.
        stdin: what git reads.
        timeout: seconds.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: it did not finish in time.
    """
    return subprocess.run(
        command(folder, *arguments, settings=settings),
        cwd=OUTSIDE,  # what a relative entry of PATH finds there is not the repository's
        input=stdin,
        capture_output=True,
        env=environment_of(variables, environment),
        timeout=timeout,
        check=False,
    )


def environment_of(variables: Collection[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git: this process's, of the `GIT_…` variables only those named, ours, and more."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in variables
    }
    return own | VARIABLES | dict(more or {})


def command(folder: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """Return the command line of git in a folder, with our settings; it needs `VARIABLES` as well."""
    chosen = {**_SETTINGS, **(settings or {})}
    options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    return ["git", "--no-pager", "-C", str(folder.absolute()), *options, *arguments]


def ignored_in(folder: Path) -> tuple[frozenset[str], str]:
    """Return what git ignores in a folder: names relative to it, those of folders with a slash, and why git cannot say.

    That is nothing outside of a working tree, where an archive's author would choose what is examined (a folder named
    `.git` proves nothing: anyone can put one into an archive), and nothing in a folder that git ignores itself, which
    somebody names on purpose. What git tracks is never ignored.
    """
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return frozenset(), ""
    # A repository of another user may be listed: nothing that its configuration names is run.
    settings = {"safe.directory": "*", "core.excludesFile": os.devnull}
    listing = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    inner = not (folder / ".git").exists()
    asked = ("check-ignore", "--quiet", "--no-index", ".")
    try:
        itself = inner and run_git(folder, *asked, settings=settings, timeout=IGNORED_S).returncode == 0
        done = run_git(folder, *listing, settings=settings, timeout=IGNORED_S)
    except FileNotFoundError:
        return frozenset(), "git is not installed"
    except (OSError, subprocess.TimeoutExpired):
        return frozenset(), "git cannot be run, or does not answer in time"
    if done.returncode:
        return frozenset(), done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    if itself:
        return frozenset(), ""
    return frozenset(done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]), ""


FOR_HOOKS = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
    | {"GIT_QUARANTINE_PATH", "GIT_COMMON_DIR"}
)
LINK, SUBMODULE = "120000", "160000"
MOST_RENAMES = 500  # files of either side that are compared to find renames
LARGEST_SHALLOW = 10_000_000  # bytes
_CHUNK = 1 << 16
_RAW = re.compile(r":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree or an index: its name from the top, its mode, and the id of its content."""

    name: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after, None where there is none; `unmerged` if the index has several versions."""

    before: Entry | None
    after: Entry | None
    unmerged: bool = False


class GitObjects:
    """The objects of the repository around a folder; to be closed.

    Raises:
        CorpusError: the folder is in no repository, or git is missing, refuses or does not answer.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader: subprocess.Popen[bytes] | None = None
        self._made = tempfile.TemporaryDirectory(prefix="codeguard-git-")
        self._own = Path(self._made.name)
        try:
            self.top = Path(self._located("--show-toplevel")).resolve()
            self._copy_layout()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove what was made to read the objects."""
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()
        self._made.cleanup()

    def commit(self, name: str) -> str:
        """Return the id of the commit of a name, "" if there is none."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return self._outside(*asked, allowed=(0, 1, 128)).decode("ascii", "replace").strip()

    def merge_base(self, first: str, second: str) -> str:
        """Return the best common ancestor of two commits, "" if their histories here have none."""
        found = self._git("merge-base", first, second, allowed=(0, 1, 128))
        return found.decode("ascii", "replace").strip()

    @property
    def shallow(self) -> bool:
        """Whether the history is cut off."""
        return (self._own / "shallow").exists()

    def empty_tree(self) -> str:
        """Return the id of a tree without files."""
        return self._git("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()

    def changes(self, before: str, after: str | None) -> list[Change]:
        """Return what differs between two trees or commits, or from one to the index; renamed files as one change."""
        options = ["--raw", "-z", "--no-abbrev", "-r", "--find-renames", f"-l{MOST_RENAMES}"]
        options += ["--no-ext-diff", "--no-textconv", "--ignore-submodules=none"]
        if after is None:
            asked = ["diff-index", "--cached", *options, before, "--"]
        else:
            asked = ["diff-tree", *options, before, after, "--"]
        fields = iter(self._git(*asked).split(b"\0")[:-1])
        found = []
        for header in fields:
            match = _RAW.fullmatch(header.decode("ascii", "replace"))
            if match is None:
                raise CorpusError("git says something unknown about a change", got=repr(header[:80]))
            old_mode, new_mode, old, new, status = match.groups()
            name = os.fsdecode(next(fields))
            now = os.fsdecode(next(fields)) if status in "RC" else name
            found.append(
                Change(
                    None if status in "AC" else Entry(name, old_mode, old),
                    None if status == "D" else Entry(now, new_mode, new),
                    status == "U",
                )
            )
        return found

    def tree(self, commit: str | None) -> dict[str, Entry]:
        """Return the files of a commit's tree, or of the index, by name."""
        if commit is None:
            raw = self._git("ls-files", "--stage", "-z")
        else:
            raw = self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        found = {}
        for row in raw.split(b"\0")[:-1]:
            header, _, name = row.partition(b"\t")
            first, second, third = header.decode("ascii", "replace").split()
            blob = second if commit is None else third
            found[os.fsdecode(name)] = Entry(os.fsdecode(name), first, blob)
        return found

    def naming(self, word: str, commit: str) -> list[str]:
        """Return the Python files of a commit's tree that hold a word, by name."""
        # As text whatever the repository's attributes say of them.
        asked = ("grep", "-l", "-z", "-F", "-w", "-a", "--no-textconv", "-e", word, commit, "--", "*.py")
        found = self._git(*asked, allowed=(0, 1))
        return [os.fsdecode(name.partition(b":")[2]) for name in found.split(b"\0")[:-1]]

    def sizes(self, entries: Sequence[Entry]) -> list[int]:
        """Return the size of each entry's content, in bytes, 0 for a submodule.

        Raises CorpusError: the repository lacks one, as in a partial clone.
        """
        asked = "".join(f"{entry.blob}\n" for entry in entries if entry.mode != SUBMODULE).encode("ascii")
        answer = self._git("cat-file", "--batch-check", stdin=asked).decode("ascii", "replace")
        lines = iter(answer.splitlines())
        return [0 if entry.mode == SUBMODULE else _size(entry, next(lines, "")) for entry in entries]

    def read(self, entry: Entry, limit: int) -> bytes:
        """Return at most so many bytes of a file's content, without the repository's filters."""
        reader = self._opened_reader()
        watch = threading.Timer(TIMEOUT_S, reader.kill)
        watch.daemon = True
        watch.start()
        try:
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write(f"{entry.blob}\n".encode("ascii"))
            reader.stdin.flush()
            size = _size(entry, reader.stdout.readline().decode("ascii", "replace"))
            data = _exactly(reader.stdout, min(size, limit))
            left = size - len(data) + 1  # a line feed follows
            while left > 0:
                left -= len(_exactly(reader.stdout, min(left, _CHUNK)))
            return data
        except OSError as error:
            raise CorpusError("git does not answer", got=str(error)) from None
        finally:
            watch.cancel()

    def _opened_reader(self) -> subprocess.Popen[bytes]:
        if self._reader is None:
            self._reader = subprocess.Popen(
                command(self._own, "cat-file", "--batch"),
                cwd=OUTSIDE,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment_of(more=self._variables),
            )
        return self._reader

    def _copy_layout(self) -> None:
        """Make the repository through which the objects are read."""
        kind = self._located("--show-object-format")
        version = "0" if kind == "sha1" else f"1\n[extensions]\n\tobjectFormat = {kind}"
        if kind not in ("sha1", "sha256"):
            raise CorpusError("git has objects of an unknown kind", got=kind, expected="sha1 or sha256")
        (self._own / "config").write_text(f"[core]\n\tbare = true\n\trepositoryFormatVersion = {version}\n")
        (self._own / "HEAD").write_text("ref: refs/heads/none\n")
        (self._own / "refs").mkdir()
        (self._own / "objects").mkdir()
        self._objects = self._path_of("objects")
        self._index = self._path_of("index")
        for shared in Path(self._index).parent.glob("sharedindex.*"):
            (self._own / shared.name).symlink_to(shared)
        # Where the history is cut off in a shallow clone. It can hide ancestors, so that more differs, never less.
        shallow = Path(self._path_of("shallow"))
        if shallow.is_file() and shallow.stat().st_size <= LARGEST_SHALLOW:
            (self._own / "shallow").write_bytes(shallow.read_bytes())

    def _path_of(self, name: str) -> str:
        return self._located("--path-format=absolute", "--git-path", name)

    def _located(self, *asked: str) -> str:
        return os.fsdecode(self._outside("rev-parse", *asked)).rstrip("\n")

    @property
    def _variables(self) -> dict[str, str]:
        others = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
        return {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": str(self._own),
            "GIT_INDEX_FILE": self._index,
            "GIT_OBJECT_DIRECTORY": self._objects,
            **({"GIT_ALTERNATE_OBJECT_DIRECTORIES": others} if others else {}),
        }

    def _outside(self, *arguments: str, allowed: Sequence[int] = (0,)) -> bytes:
        """Ask the checkout's own repository, which alone knows its names and places."""
        # A repository of another user may be read: nothing that its configuration names is run.
        settings = {"safe.directory": "*"}
        with _translated():
            done = run_git(self._folder, *arguments, settings=settings, variables=FOR_HOOKS)
        return _checked(done, allowed)

    def _git(self, *arguments: str, stdin: bytes = b"", allowed: Sequence[int] = (0,)) -> bytes:
        with _translated():
            done = run_git(self._own, *arguments, environment=self._variables, stdin=stdin)
        return _checked(done, allowed)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise CorpusError("git is not installed", hint="audit paths instead") from None
    except subprocess.TimeoutExpired as error:
        raise CorpusError("git does not answer", got=f"nothing in {error.timeout:g} s") from None


def _checked(done: subprocess.CompletedProcess[bytes], allowed: Sequence[int]) -> bytes:
    if done.returncode not in allowed:
        report = " ".join(done.stderr.decode("utf-8", "replace").split())[:300]
        raise CorpusError("git refuses to show what changed", got=report, hint="run it in a git repository")
    return done.stdout if done.returncode == 0 else b""


def _size(entry: Entry, line: str) -> int:
    header = line.split()
    if len(header) != 3 or header[1] != "blob" or not header[2].isdecimal():
        raise CorpusError(
            f"git does not hold {entry.name}",
            got=" ".join(header),
            expected="a blob",
            hint="fetch all objects: no partial clone",
        )
    return int(header[2])


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise OSError("its answer ended early")
    return data
