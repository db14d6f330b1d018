"""What a change causes in files that it leaves as they are, because they import what it changed.

The engine reads one file at a time. So an importer is read behind the text of the changed module, once as that was
before the change and once as it is after it, and only what differs is new. One import away, in Python, bounded: an
importer has to name a function that the change touches, or one of the module that uses such a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice
from pathlib import PurePosixPath

from codeguard.audit.changes import WORD, ChangeSet, touched_names
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import Inspected, Side, Source
from codeguard.behavior.source.import_paths import INIT, file_of
from codeguard.errors import CorpusError

FLOWS = ("insecure", "capabilities")  # the signals that follow a value through functions
NAMED = 1_000  # files that hold the name of a changed module
MOST = 50  # pairs of a module and an importer
LARGEST = 1_000_000  # characters of all of them
# Every repetition is bounded, so that no text takes more than linear time.
_IMPORT = re.compile(
    r"^(?P<indent>[ \t]{0,80})(?:from[ \t]{1,9}(?P<dots>\.{0,9})(?P<of>[\w.]{0,200})[ \t]{1,9}import[ \t]{0,9}"
    r"(?P<names>\([^)]{0,4000}\)|[^\n;#(]{1,1000})|import[ \t]{1,9}(?P<module>[\w.]{1,200})"
    r"(?:[ \t]{1,9}as[ \t]{1,9}(?P<alias>\w{1,99}))?[ \t]{0,9}(?=[\n;#]|$))",
    re.MULTILINE,
)
_NAME = re.compile(r"(\w{1,99})(?:\s{1,9}as\s{1,9}(\w{1,99}))?")
Inspect = Callable[[Side, Sequence[str]], Sequence[Inspected]]


@dataclass(frozen=True, slots=True)
class Pair:
    """A file behind a module that it imports; `lines` is the number of those in front of its own."""

    module: str
    importer: str
    lines: int
    text: str

    def placed(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings about the whole text as findings about one of the two files."""
        for item in found:
            place, path = item.place, self.module
            if place.start_line > self.lines:
                start, end = place.start_line - self.lines, place.end_line - self.lines
                place, path = replace(place, start_line=start, end_line=end), self.importer
                item = replace(item, reason=f"{item.reason}, by what changed in {self.module}")
            if item.rule.startswith(FLOWS):
                yield replace(item, path=path, place=place)


def in_importers(
    change: ChangeSet, after: Iterable[Inspected], before: Iterable[Inspected], inspect: Inspect
) -> tuple[list[Finding], list[Finding], list[str]]:
    """Return findings after and before a change in changed modules and their importers, and what was left out.

    Args:
        change: the change.
        after: its files after the change, and `before` before it.
        inspect: examines the files of a side with the named signals.
    """
    there = {item.name: item.file for item in before}
    touched = {item.name: touched_names(item.file, there.get(change.came_from(item.name))) for item in after}
    try:
        named = [
            (now, then, name)
            for now, then in change.modules()
            if touched.get(now)
            for name in change.naming(_word(now))
        ]
        listed = list(islice(_pairs(change, named[:NAMED], touched), MOST + 1))
    except CorpusError as error:  # a partial clone lacks files that the change leaves as they are
        return [], [], [f"what imports the changed files is not read beside them: {error}"]
    sizes = accumulate(len(pair[0].text) for pair in listed)
    taken = [pair for pair, size in zip(listed, sizes, strict=True) if size <= LARGEST][:MOST]
    found = [list(_found([pair[place] for pair in taken], inspect)) for place in (0, 1)]
    if len(taken) == len(listed) and len(named) <= NAMED:
        return found[0], found[1], []
    return found[0], found[1], [f"of what imports the changed files only {len(taken)} are read beside them"]


def _found(pairs: Sequence[Pair], inspect: Inspect) -> Iterator[Finding]:
    sources = [
        Source(pair.importer, len(pair.text), partial(pair.text.encode, "utf-8", "surrogatepass"))
        for pair in pairs
    ]
    for pair, item in zip(pairs, inspect(Side(tuple(sources), ()), FLOWS), strict=True):
        yield from pair.placed(item.findings)


def _pairs(
    change: ChangeSet, named: Iterable[tuple[str, str, str]], touched: Mapping[str, Set[str]]
) -> Iterator[tuple[Pair, ...]]:
    """Yield each importer behind a changed module, after the change and before it."""
    for now, then, importer in named:
        text = change.text(change.tree_before, importer)
        if touched[now].isdisjoint(WORD.findall(text)):
            continue
        own = _own(text, importer, now, change.tree_after.__contains__)
        if own:
            yield tuple(
                Pair(now, importer, text.count("\n") + 1, f"{text}\n{own}")
                for text in (change.text(change.tree_after, now), change.text(change.tree_before, then))
            )


def _word(name: str) -> str:
    path = PurePosixPath(name)
    return path.parent.name if path.name == INIT else path.stem


def _own(text: str, path: str, module: str, has: Callable[[str], bool]) -> str:
    """Return a text in which a module's names are its own, on the same lines, "" if it does not import that."""
    qualifiers: set[str] = set()
    used: list[str] = []

    def is_meant(parts: Sequence[str], level: int) -> bool:
        return file_of([part for part in parts if part], level, path, has) == module

    def without(found: re.Match[str]) -> str:
        named = [(name, alias or name) for name, alias in _NAME.findall(found["names"] or "")]
        parts, level = (found["of"] or found["module"] or "").split("."), len(found["dots"] or "")
        modules = {alias for name, alias in named if is_meant([*parts, name], level)}
        if found["module"] and is_meant(parts, 0):
            modules.add(found["alias"] or found["module"])
        qualifiers.update(modules)
        if parts == ["__future__"]:  # it would not be the first statement
            instead = "pass"
        elif modules or is_meant(parts, level):
            used.append(found[0])
            renamed = [f"{alias} = {name}" for name, alias in named if alias != name and alias not in modules]
            instead = "; ".join(renamed) or "pass"
        else:
            return found[0]
        return found["indent"] + instead + "\n" * found[0].count("\n")

    text = _IMPORT.sub(without, text)
    if not used:
        return ""
    if not qualifiers:
        return text
    # What is left out in front becomes spaces behind, where they are no indentation: columns stay what they are.
    names = "|".join(map(re.escape, sorted(qualifiers)))
    return re.sub(rf"(?<![\w.])(?:{names})\.(\w+)", lambda found: found[1].ljust(len(found[0])), text)
