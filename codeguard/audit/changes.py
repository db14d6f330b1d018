"""What a change brings: the files of a commit or of the index that differ from before, on both sides.

They are read from git's objects, never from the working tree.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from codeguard.analysis import Reading
from codeguard.analysis.observations import Observation, bound_met, observe_match
from codeguard.analysis.rules import Match
from codeguard.analysis.rules.near_copy import lost_protections
from codeguard.audit.findings import CHANGE, Finding
from codeguard.audit.imported_files import Covered, ImportedFiles
from codeguard.audit.inspection import FUNCTIONS, Side, Source, finding_of, findings_of
from codeguard.audit.rules import OWN_RULES, REMOVED_CHECK
from codeguard.corpus.decoding import too_large_reason, unreadable_reason
from codeguard.corpus.discovery import (
    EXCLUDED,
    GIT,
    HEAD_BYTES,
    LARGEST_FILE,
    LINK_OUT,
    name_problem,
    printable_name,
)
from codeguard.corpus.git import LINK, SUBMODULE, Change, Entry, GitObjects
from codeguard.corpus.patterns import Exclusion
from codeguard.errors import CorpusError, ManifestError
from codeguard.models import Chunk, Skipped, SourceFile, as_json, rebuilt
from codeguard.trust.verified import in_scope
from codeguard.workers.processes import ONE, answered
from codeguard.workers.tasks import ItemBounds, Run, by_values

BOUNDS = ItemBounds(5.0)
ATTRIBUTES, ENCODED = ".gitattributes", b"working-tree-encoding"
WORD = re.compile(r"[^\W\d]\w*")


class ChangeSet:
    """The change from one commit to another, or to the index; to be closed.

    Args:
        folder: a folder in the working tree.
        since: what names a commit; the change begins where its history and that of the checked-out one part. None
            for the change from the checked-out commit to the index.
        paths: the change is limited to these, if there are any.
        exclude: patterns of names to leave out.

    Raises:
        CorpusError: the folder is in no working tree, git refuses, or there is no such commit or no common history.
    """

    def __init__(
        self, folder: Path, since: str | None, paths: Sequence[Path] = (), exclude: Sequence[str] = ()
    ) -> None:
        self._objects = objects = GitObjects(folder)
        try:
            self.base = parting(objects, since)
            self._head = None if since is None else objects.commit("HEAD")
            self.root = objects.top
            changes = _within(objects.changes(self.base, self._head), paths, self.root)
            exclusion = Exclusion(exclude)
            self.after = self._side([item.after for item in changes if item.after], changes, exclusion)
            self.before = self._side([item.before for item in changes if item.before], (), exclusion)
        except BaseException:
            objects.close()
            raise
        self._came_from = {
            item.after.name: item.before.name for item in changes if item.after and item.before
        }
        self._changed = {item.after.name for item in changes if item.after}
        self.gone = frozenset(item.before.name for item in changes if item.before) - {
            item.after.name for item in changes if item.after
        }

    def close(self) -> None:
        """Stop reading the objects."""
        self._objects.close()

    def own(self, names: Iterable[str]) -> dict[str, str]:
        """Return of files with one of these names before the change the names now, with those before."""
        before = frozenset(names)
        return {now: then for now, then in self._came_from.items() if then in before}

    def newly_caused(self, after: Sequence[Finding], before: Sequence[Finding]) -> list[Finding]:
        """Return the open findings that were not there before the change, and those that are overruled.

        A finding was there if its file had one of the same rule with the same lines, as often, as severe and as sure;
        or if the function that holds it was moved as it is from where it is no more.
        """
        there: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for item in before:
            there[item.rule, item.text_digest].append(item)

        def was_there(item: Finding, moved: bool) -> bool:
            rows = there[item.rule, item.text_digest]
            file = self._came_from.get(item.path, "" if item.path in self._changed else item.path)
            for place, row in enumerate(rows):
                same = row.digest == item.digest and item.symbol if moved else row.path == file
                if same and row.severity >= item.severity and row.confidence >= item.confidence:
                    del rows[place]
                    return True
            return False

        new = [item for item in after if item.open]
        for moved in (False, True):
            new = [item for item in new if not was_there(item, moved)]
        caused = set(map(id, new))
        return [item for item in after if not item.open or id(item) in caused]

    def names_below(self, paths: Iterable[Path]) -> frozenset[str]:
        """Return the names of the files that were below paths before the change.

        Raises ManifestError: a path is outside of the working tree.
        """
        places = []
        for path in paths:
            place = name_in(self.root, path)
            if place is None:
                raise ManifestError(
                    "what is trusted does not lie in the repository of the change",
                    got=str(path),
                    expected=f"a path below {self.root}",
                )
            places.append(place)
        return frozenset(name for name in self.tree_before if in_scope(name, places))

    def modules(self) -> list[tuple[str, str]]:
        """Return the changed files of Python by name, with the name before, "" if they are new."""
        changed = (source.name for source in self.after.sources)
        return [(name, self.came_from(name)) for name in changed if name.endswith(".py")]

    def came_from(self, name: str) -> str:
        """Return the name before the change of a file that it changes, "" if it is new."""
        return self._came_from.get(name, "")

    def naming(self, word: str) -> list[str]:
        """Return the names of the files of Python that hold a word and that the change leaves as they are."""
        names = self._objects.naming(word, self.base) if word else []
        return [name for name in names if name not in self._changed | self.gone and not name_problem(name)]

    def text(self, tree: Mapping[str, Entry], name: str) -> str:
        """Return the text of a file of the tree before or after the change, "" if it is none or there is none."""
        entry = tree.get(name)
        if entry is None or entry.mode in (LINK, SUBMODULE):
            return ""
        try:
            return self._objects.read(entry, LARGEST_FILE).decode("utf-8")
        except UnicodeDecodeError:  # it is read by itself
            return ""

    def write_before(self, names: Iterable[str], folder: Path) -> None:
        """Write regular files as they were before the change into an empty folder of our own."""
        tree = self.tree_before
        for entry in sorted((tree[name] for name in names), key=lambda entry: entry.name):
            parts = PurePosixPath(entry.name).parts
            if entry.mode in (LINK, SUBMODULE) or name_problem(entry.name) or {"..", GIT} & set(parts):
                continue
            place = folder.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self._objects.read(entry, LARGEST_FILE + 1))

    def files(self, tree: Mapping[str, Entry], executor: Executor, *covered: Covered) -> ImportedFiles:
        """Return the files of the tree before or after the change, for what imports them."""

        def has(path: str) -> bool:
            return path in tree and tree[path].mode not in (LINK, SUBMODULE)

        def read(path: str) -> bytes:
            data = self._objects.read(tree[path], LARGEST_FILE + 1)
            if len(data) > LARGEST_FILE:
                raise CorpusError(f"{path} is too large")
            return data

        return ImportedFiles(has, read, executor, *covered)

    @cached_property
    def tree_before(self) -> Mapping[str, Entry]:
        """What there was before the change, by name."""
        return self._objects.tree(self.base)

    @cached_property
    def tree_after(self) -> Mapping[str, Entry]:
        """What there is after the change, by name."""
        return self._objects.tree(self._head)

    def _side(self, entries: Sequence[Entry], changes: Iterable[Change], exclusion: Exclusion) -> Side:
        unmerged = {item.after.name for item in changes if item.unmerged and item.after}
        pairs = ((item.before, item.after) for item in changes)
        files = {now.name for then, now in pairs if then and now and then.mode != LINK}
        sources: list[Source] = []
        skipped: list[Skipped] = []
        taken = [entry for entry in entries if entry.name not in unmerged and entry.mode != SUBMODULE]
        sizes = dict(zip((entry.name for entry in taken), self._objects.sizes(taken), strict=True))
        for entry in sorted(entries, key=lambda entry: entry.name):
            reason = name_problem(entry.name)
            if not reason and exclusion.covers(entry.name):
                reason = EXCLUDED
            elif not reason and entry.name in unmerged:
                reason = "not merged"
            elif entry.mode == LINK and entry.name in files:
                reason = "link that gives a file of this name another text"
            elif not reason:
                reason = self._problem(entry, sizes.get(entry.name, 0))
            if reason:
                skipped.append(Skipped(printable_name(entry.name), reason))
            else:
                read = partial(self._objects.read, entry, LARGEST_FILE + 1)
                sources.append(Source(entry.name, sizes[entry.name], read))
        return Side(tuple(sources), tuple(skipped))

    def _problem(self, entry: Entry, size: int) -> str:
        if entry.mode == SUBMODULE:
            return "submodule: another repository"
        if entry.name.endswith(ATTRIBUTES) and ENCODED in self._objects.read(entry, LARGEST_FILE):
            return f"declares the encoding of files ({ENCODED.decode()}): another text is checked out"
        head = self._objects.read(entry, HEAD_BYTES)
        if entry.mode == LINK:
            return _link_problem(entry, head)
        if size > LARGEST_FILE:
            return too_large_reason(size, LARGEST_FILE, head)
        return unreadable_reason(head, entry.name)


def parting(objects: GitObjects, since: str | None) -> str:
    """Return the commit, or an empty tree, from which a change is judged; see `ChangeSet`."""
    head = objects.commit("HEAD")
    if since is None:
        return head or objects.empty_tree()
    start = objects.commit(since)
    fetch = "git fetch --unshallow, or fetch-depth: 0 of actions/checkout" if objects.shallow else "git fetch"
    if not head or not start:
        got = (printable_name(since) or "an empty name") if head else "no commit is checked out"
        raise CorpusError("no such commit here", got=got, expected="a branch, tag or commit", hint=fetch)
    base = objects.merge_base(start, head)
    if not base:
        raise CorpusError(
            f"the history here does not reach the commit where {printable_name(since)} and HEAD part",
            got="a shallow clone" if objects.shallow else "no common commit",
            expected="that commit and those after it",
            hint=fetch,
        )
    return base


def _within(changes: Iterable[Change], paths: Sequence[Path], root: Path) -> list[Change]:
    wanted = [place for path in paths if (place := name_in(root, path)) is not None]

    def lies_there(entry: Entry | None) -> bool:
        return entry is not None and in_scope(entry.name, wanted)

    return [item for item in changes if not paths or lies_there(item.after) or lies_there(item.before)]


def name_in(root: Path, path: Path) -> str | None:
    """Return the name that a path has below a folder, None if it is outside; no link below the folder is followed."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolving would follow links
    for folder in reversed((absolute, *absolute.parents)):
        if folder.resolve() == root:
            return absolute.relative_to(folder).as_posix()
    return None


def _link_problem(entry: Entry, data: bytes) -> str:
    """Return discovery's reason for skipping such a link, from its text only: no link is followed."""
    target = PurePosixPath(os.fsdecode(data))
    place = os.path.normpath(PurePosixPath(entry.name).parent / target)
    if target.is_absolute() or place.split("/")[0] == "..":
        return LINK_OUT
    if target.suffix and PurePosixPath(entry.name).suffix.lower() not in ("", target.suffix.lower()):
        return f"link that gives {printable_name(str(target))} another kind of name"
    return f"link to {printable_name(str(target))}, which is looked at itself"


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A trusted file before and after a change."""

    before: SourceFile
    after: SourceFile

    def changed(self) -> list[tuple[Chunk, Chunk]]:
        """Return the functions that are on both sides with different text, before and after."""
        old: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in self.before.chunks:
            if chunk.kind in FUNCTIONS:
                old[chunk.symbol].append(chunk)
        return [
            (old[chunk.symbol][-1], chunk)
            for chunk in self.after.chunks
            if chunk.kind in FUNCTIONS
            and chunk.symbol in old
            and all(chunk.sha256 != other.sha256 for other in old[chunk.symbol])
        ]


def touched_names(now: SourceFile | None, then: SourceFile | None, *, around: bool = False) -> set[str]:
    """Return the names of the functions that a change adds or changes, and of those of the file that use them.

    With `around` also of those that use a word of changed text outside of functions, or of a function that is gone.
    """
    old, new = ({chunk.sha256: chunk for chunk in file.chunks} if file else {} for file in (then, now))
    changed = [chunk for key, chunk in new.items() if key not in old]
    changed += [chunk for key, chunk in old.items() if around and key not in new]
    users = [(chunk.symbol.rpartition(".")[2], set(WORD.findall(chunk.text))) for chunk in new.values()]
    names = {chunk.symbol.rpartition(".")[2] for chunk in changed} - {""}
    if around:
        names.update(*(WORD.findall(chunk.text) for chunk in changed if not chunk.symbol))
    while more := {name for name, words in users if name and name not in names and words & names}:
        names |= more
    return names


def removed_checks(files: Sequence[OwnFile], executor: Executor) -> list[Finding]:
    """Return a finding for each function that lost a check or a protection."""
    found: list[Finding] = []
    values = ((file, [as_json(file.before), as_json(file.after)]) for file in files)
    for file, answer in answered(executor, protections_task, values, ONE, BOUNDS):
        found += findings_of(file.after, [Observation.from_values(row) for row in answer.values])
        if answer.ended:
            found.append(finding_of(file.after, bound_met(answer.why)))
    return found


def protections_task() -> Run:
    """Find what a file's functions lost; an item is the file before and after."""
    rule = OWN_RULES[REMOVED_CHECK]

    def lost(sides: list[Any]) -> Iterator[object]:
        own = OwnFile(*map(rebuilt, sides))
        reading = Reading(own.after)
        starts = dict(zip(map(id, own.after.chunks), reading.chunk_starts, strict=True))
        for old, new in own.changed():
            for item in islice(lost_protections(old, new), 1):
                reason = f"{item.what}; before: {item.was or 'nothing'}; now: {item.now or 'nothing'}"
                place = starts[id(new)]
                match = Match(rule.id, place + item.start, place + item.end, reason)
                yield observe_match(reading, match, CHANGE, rule).to_values()

    return by_values(lost)
