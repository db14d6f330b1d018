"""The content of a git index for the next commit, read with plumbing commands, not from the working tree.

The repository is not trusted: its hooks, filters, monitors and external diffs are disabled, and nothing is
fetched. `GIT_INDEX_FILE` and similar variables are honored, because git uses them to tell a hook which index
it means.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from codeguard.audit.inspection import Source
from codeguard.corpus.decoding import too_large_reason, unreadable_reason
from codeguard.corpus.discovery import HEAD_BYTES, LINK_OUT, name_problem, printable_name
from codeguard.corpus.git import run_git
from codeguard.errors import CorpusError
from codeguard.models import Skipped

MAX_BYTES = 2_000_000
FOR_HOOKS = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
    | {"GIT_QUARANTINE_PATH", "GIT_COMMON_DIR"}
)
_LINK, _SUBMODULE = "120000", "160000"
_RAW = re.compile(r":(\d{6}) (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([A-Z])\d*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Staged:
    """The staged files with their bytes, and what was left out; `root` is the top of the working tree."""

    root: Path
    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    mode: str
    blob: str
    status: str


def staged_files(folder: Path, paths: Sequence[Path] = ()) -> Staged:
    """Return what is staged and differs from the last commit; only under `paths` if some are given.

    Raises:
        CorpusError: `folder` is not in a git working tree, or git refuses.
    """
    top = os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n")
    root = Path(top).resolve()
    entries = _within(_entries(root), paths, root)
    taken: list[_Entry] = []
    skipped: list[Skipped] = []
    for entry in entries:
        reason = _problem(entry)
        if reason:
            skipped.append(Skipped(printable_name(entry.name), reason))
        else:
            taken.append(entry)
    sources: list[Source] = []
    for entry, data in zip(taken, _blobs(root, taken), strict=True):
        reason = _link_problem(entry, data) if entry.mode == _LINK else _content_problem(entry, data)
        if reason:
            skipped.append(Skipped(entry.name, reason))
        else:
            sources.append(Source(entry.name, data=data))
    return Staged(root, tuple(sources), tuple(skipped))


def _entries(root: Path) -> list[_Entry]:
    head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", allowed=(0, 1)).decode().strip()
    base = head or _git(root, "hash-object", "-t", "tree", "--stdin").decode().strip()
    raw = _git(
        root,
        "diff-index",
        "--cached",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--diff-filter=d",
        base,
        "--",
    )
    fields = raw.split(b"\0")[:-1]
    entries = []
    for header, name in zip(fields[0::2], fields[1::2], strict=True):
        match = _RAW.fullmatch(header.decode("ascii", "replace"))
        if match is None:
            raise CorpusError("git says something unknown about its index", got=repr(header[:80]))
        entries.append(_Entry(os.fsdecode(name), match[2], match[3], match[4]))
    return sorted(entries, key=lambda entry: entry.name)


def _within(entries: Iterable[_Entry], paths: Sequence[Path], root: Path) -> list[_Entry]:
    if not paths:
        return list(entries)
    absolute = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - keeps a link's own path
    wanted = [Path(os.path.realpath(path.parent)) / path.name for path in absolute]
    return [entry for entry in entries if any((root / entry.name).is_relative_to(place) for place in wanted)]


def _problem(entry: _Entry) -> str:
    if entry.status == "U":
        return "not merged"
    if entry.mode == _SUBMODULE:
        return "submodule: another repository"
    return name_problem(entry.name)


def _link_problem(entry: _Entry, data: bytes) -> str:
    """Return discovery's reason for skipping such a link, from its text only: no link is followed."""
    target = PurePosixPath(os.fsdecode(data))
    depth = 0
    for part in (*PurePosixPath(entry.name).parent.parts, *target.parts):
        depth += -1 if part == ".." else 0 if part == "." else 1
        if depth < 0:
            break
    if target.is_absolute() or depth < 0:
        return LINK_OUT
    if target.suffix and PurePosixPath(entry.name).suffix.lower() not in ("", target.suffix.lower()):
        return f"link that gives {printable_name(str(target))} another kind of name"
    return f"link to {printable_name(str(target))}, which is looked at itself"


def _content_problem(entry: _Entry, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        return too_large_reason(len(data), MAX_BYTES, data[:HEAD_BYTES])
    return unreadable_reason(data[:HEAD_BYTES], entry.name)


def _blobs(root: Path, entries: Sequence[_Entry]) -> list[bytes]:
    """Return the stored content of each entry, without running the repository's filters."""
    if not entries:
        return []
    asked = "".join(f"{entry.blob}\n" for entry in entries).encode("ascii")
    answer = memoryview(_git(root, "cat-file", "--batch", stdin=asked))
    found, at = [], 0
    for entry in entries:
        end = bytes(answer[at : at + 200]).index(b"\n") + at
        header = bytes(answer[at:end]).decode("ascii", "replace").split()
        if len(header) != 3 or header[1] != "blob":
            raise CorpusError(f"git does not hold {entry.name}", got=" ".join(header), expected="a blob")
        size = int(header[2])
        found.append(bytes(answer[end + 1 : end + 1 + size]))
        at = end + 2 + size
    return found


def _git(folder: Path, *arguments: str, stdin: bytes = b"", allowed: Sequence[int] = (0,)) -> bytes:
    try:
        done = run_git(folder, *arguments, variables=FOR_HOOKS, stdin=stdin)
    except FileNotFoundError:
        raise CorpusError("git is not installed", hint="audit paths instead of --staged") from None
    except subprocess.TimeoutExpired as error:
        raise CorpusError("git does not answer", got=f"nothing in {error.timeout:g} s") from None
    if done.returncode not in allowed:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:300]
        raise CorpusError("git refuses to show what is staged", got=said, hint="run it in a git repository")
    return done.stdout
