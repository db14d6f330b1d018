"""The pages of `codeguard serve`: the content and answers of an index, as a web site on this machine.

There are no scripts; the only style sheet comes from the same server, and links name files by a digest, so that no
untrusted path or text gets into a URL.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, ClassVar

from markupsafe import Markup

from codeguard.escaping import FinishedPage
from codeguard.index.report import Trend
from codeguard.models import Trust
from codeguard.ranking.inventory import KnownFile, Overview
from codeguard.ranking.reranking import ChunkStanding, Ranked
from codeguard.reports.html.page import Page, code_block, hidden, page_of, style_sheet
from codeguard.reports.html.ranking import STANDINGS, WORDS, against, beside_twin, css_class, labels
from codeguard.reports.index import trend_lines
from codeguard.reports.ranking import ORIGIN, why
from codeguard.reports.styled import counted, kinds, level_line

LONGEST_QUESTION = 1_000  # characters
COUNTS = (5, 10, 20)
MODES = {"rerank": "convicted last", "drop": "convicted dropped"}
POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
MOST_CELLS = 4_000  # files that the map shows
MOST_FILES = 200  # files with findings per page
MOST_FLAGGED = 20  # chunks per such file
MOST_CHUNKS = 300  # chunks on the page of a file
MOST_COMPARED = 20  # chunks shown next to their twins
LONGEST_PATH = 300  # characters in a label of the map
LONGEST_NAMES = 200
MOST_CHARACTERS = 150_000  # of a file's code
MARKS = {"bad": "×", "warning": "!", "good": "✓", "other": ""}


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The frame of a page: when it was made, the last search, and its own address in the navigation."""

    made: str
    question: str = ""
    k: int = COUNTS[0]
    mode: str = "rerank"
    address: str = ""
    longest: ClassVar[int] = LONGEST_QUESTION
    modes: ClassVar[Mapping[str, str]] = MODES

    @property
    def counts(self) -> list[int]:
        """The numbers of results to choose from."""
        return sorted({*COUNTS, self.k})


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk on the page of its file; `code` is empty if the page is too long for it."""

    item: Ranked
    code: Markup | None


@cache
def site_style() -> str:
    """Return the one style sheet of the site."""
    return style_sheet("style.css") + style_sheet("site.css") + "".join(hidden(name, "") for name in WORDS)


def message_page(said: str, made: str, frame: PageFrame | None = None) -> FinishedPage:
    """Return a page with one message instead of an answer; without a frame for readers who may see nothing else."""
    command = "codeguard serve" if frame is None else "codeguard doctor"
    return page_of(Page("Not answered", said, {}, command, made), "site.html", frame=frame)


def overview_page(
    overview: Overview,
    facts: Mapping[str, str],
    frame: PageFrame,
    warnings: Sequence[str],
    trend: Trend | None = None,
) -> FinishedPage:
    """Return the map: every file as a cell, by folder, colored by what is known; above it what the last run changed."""
    files = overview.files
    shown = files[:MOST_CELLS]
    by_folder = groupby(sorted(shown, key=_folder), key=_folder)
    folders = [(name, sorted(found, key=_urgency)) for name, found in by_folder]
    page = Page(
        title="Map of the index",
        story=_story(files),
        facts={"files": f"{len(files):,}", **facts},
        command="codeguard status",
        made=frame.made,
        warnings=[*warnings, *_unread(overview)],
        filters={kind: f"{WORDS[kind]} ({count})" for kind, count in _kinds(files).items()},
    )
    return _page(
        page,
        "map.html",
        replace(frame, address="/"),
        trend=trend_lines(trend),
        folders=sorted(folders, key=lambda folder: _urgency(folder[1][0])[:2]),
        left=len(files) - len(shown),
        kinds=_kinds,
        cell=_cell,
        marks=MARKS,
        words=WORDS,
    )


def findings_page(overview: Overview, frame: PageFrame, warnings: Sequence[str]) -> FinishedPage:
    """Return the decisions about chunks, by file, the most severe first, and what a person accepted."""
    found = sorted((item for item in overview.files if item.flagged), key=_urgency)
    counts = Counter(part.standing for item in found for part in item.flagged)
    page = Page(
        title="Findings",
        story=_story(overview.files),
        facts={name.value: str(counts[name]) for name in STANDINGS},
        command="codeguard ls --convicted",
        made=frame.made,
        warnings=[*warnings, *_unread(overview)],
        filters={"bad": WORDS["bad"], "warning": "demoted", "other": "accepted"},
    )
    return _page(
        page,
        "findings.html",
        replace(frame, address="/findings"),
        files=found,
        most=MOST_FILES,
        most_flagged=MOST_FLAGGED,
        gravest=_gravest,
        kind_of=_kind,
        reason=_reason,
        standings=STANDINGS,
        origin=ORIGIN,
    )


def file_page(
    path: str,
    chunks: Sequence[Ranked],
    trusted: Sequence[Ranked],
    required_level: str,
    level: str,
    frame: PageFrame,
) -> FinishedPage:
    """Return the chunks of a file with the results about each, next to the trusted code they imitate."""
    story = f"{counted(len(chunks), 'chunk')}: {kinds(item.standing for item in chunks)}."
    if chunks and all(item.trust is Trust.TRUSTED for item in chunks):
        story = "Your own code: the manifest lists it as it is."
    present = set(map(css_class, chunks))
    filters = {kind: words for kind, words in WORDS.items() if kind in present}
    page = Page(
        title=path,
        story=story,
        facts={"chunks": str(len(chunks)), "checked in": level_line(level, required_level)},
        command=f"codeguard ls {shlex.quote(path)}",
        made=frame.made,
        filters=filters if len(filters) > 1 else None,
    )
    values = {"css_class": css_class, "labels": labels, "against": against}
    parts, left = _parts(chunks, trusted), len(chunks) - MOST_CHUNKS
    return _page(page, "file.html", frame, parts=parts, left=left, **values)


def _page(page: Page, template: str, frame: PageFrame, **values: Any) -> FinishedPage:
    return page_of(page, template, "site.html", frame=frame, **values)


def _parts(chunks: Sequence[Ranked], trusted: Sequence[Ranked]) -> list[Part]:
    """Return the chunks that fit on a page, the most urgent first, the others in their order."""
    left, made = MOST_CHARACTERS, []
    for number, item in enumerate(_gravest(chunks)[:MOST_CHUNKS]):
        left -= len(item.chunk.text)
        code = None
        if left >= 0:
            compared = item.standing and number < MOST_COMPARED
            code = beside_twin(item, trusted) if compared else code_block(item.chunk.text)
        made.append(Part(item, code))
    return made


def _gravest(chunks: Sequence[Ranked]) -> list[Ranked]:
    return sorted(chunks, key=lambda item: item.standing.place)


def _folder(item: KnownFile) -> str:
    return item.path.rpartition("/")[0]


def _story(files: Sequence[KnownFile]) -> str:
    """Return the headline: harm first, then what is convicted, then what is demoted."""
    own = sum(item.trust is Trust.TRUSTED for item in files)
    found = kinds(part.standing for item in files for part in item.flagged)
    return f"{counted(len(files), 'file')}, {own} of them your own; chunks: {found}."


def _unread(overview: Overview) -> list[str]:
    if overview.left:
        return [f"what is known of {overview.left} files is not read yet: load the page again"]
    waiting = sum(not item.complete for item in overview.files)
    said = "files are not checked yet, or not by this version of codeguard: run codeguard index again"
    return [f"{waiting} {said}"] if waiting else []


def _kind(item: KnownFile) -> str:
    if item.worst.is_wrong:
        return "bad"
    if item.worst is ChunkStanding.DEMOTED or item.trust is Trust.MODIFIED:
        return "warning"
    return "good" if item.trust is Trust.TRUSTED else "other"


def _kinds(files: Sequence[KnownFile]) -> dict[str, int]:
    """Return how many files are of each kind, in the order of the kinds."""
    counts = Counter(map(_kind, files))
    return {kind: counts[kind] for kind in WORDS}


def _urgency(item: KnownFile) -> tuple[int, int, str]:
    return list(WORDS).index(_kind(item)), item.worst.place, item.path


def _cell(item: KnownFile) -> tuple[str, str, str]:
    """Return a cell's kind, its file's name, and what is known of it."""
    kind = _kind(item)
    names = ", ".join(part.chunk.symbol for part in item.flagged if part.standing.is_wrong)
    about = f"{item.path[-LONGEST_PATH:]}: {WORDS[kind]}{f' ({names[:LONGEST_NAMES]})' if names else ''}"
    return kind, item.path.rpartition("/")[2], about.replace("\n", " ")


def _reason(item: Ranked) -> str:
    """Return the decision and its reasons; for an acceptance who, when and why."""
    if item.standing is ChunkStanding.ACCEPTED:
        return next(part.reason for part in item.evidence if part.id == "accepted")
    return why(item)
