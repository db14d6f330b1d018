"""The pages about an index's content: the map, the findings, and single files."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from codeguard.escaping import FinishedPage
from codeguard.index.report import Trend
from codeguard.models import Trust
from codeguard.ranking.inventory import ChunkStanding, Flagged, KnownFile, Overview, standing
from codeguard.ranking.reranking import Ranked
from codeguard.reports.html.page import Page, code_block, folded, place, tag, text
from codeguard.reports.html.ranking import beside_twin, css_class, reasons, tags
from codeguard.reports.html.site.frame import PageFrame, accept_hint, file_id, file_link, site_page
from codeguard.reports.index import trend_lines
from codeguard.reports.ranking import ORIGIN, why
from codeguard.reports.styled import level_line

_HEADLINE = {
    ChunkStanding.HARMFUL: "would do harm",
    ChunkStanding.CONVICTED: "proven wrong",
    ChunkStanding.DEMOTED: "suspicious",
}
MOST_CELLS = 4_000  # files that the map shows
MOST_FILES = 200  # files with findings per page
MOST_FLAGGED = 20  # chunks per such file
MOST_CHUNKS = 300  # chunks on the page of a file
MOST_COMPARED = 20  # chunks shown next to their twins
LONGEST_PATH = 300  # characters in a label of the map
MOST_CHARACTERS = 150_000  # of a file's code
LARGEST = 4  # widths of a cell
_WORDS = {"bad": "harmful or wrong", "warning": "suspicious", "good": "your own", "other": "unknown"}
_MARKS = {"bad": "×", "warning": "!", "good": "✓", "other": ""}
_WRONG = (ChunkStanding.HARMFUL, ChunkStanding.CONVICTED)
_STANDINGS = {
    ChunkStanding.HARMFUL: "bad",
    ChunkStanding.CONVICTED: "bad",
    ChunkStanding.DEMOTED: "warning",
    ChunkStanding.ACCEPTED: "",
}


def overview_page(
    overview: Overview,
    facts: Mapping[str, str],
    frame: PageFrame,
    warnings: Sequence[str],
    trend: Trend | None = None,
) -> FinishedPage:
    """Return the map: every file as a cell, by folder, colored by what is known about it, below the last run's news."""
    files = overview.files
    counts = Counter(map(_kind, files))
    shown = files[:MOST_CELLS]
    body = "".join(f"<p>{text(line)}</p>\n" for line in trend_lines(trend))
    body += "".join(
        _folder(folder, list(members))
        for folder, members in groupby(shown, key=lambda item: item.path.rpartition("/")[0])
    )
    if len(files) > len(shown):
        body += f"<p>… and {len(files) - len(shown)} more files: codeguard ls lists all.</p>"
    return site_page(
        Page(
            title="Map of the index",
            story=_story(files),
            body=body or "<p>Nothing is indexed.</p>",
            facts={"files": f"{len(files):,}", **facts},
            command="codeguard status",
            made=frame.made,
            warnings=[*warnings, *_unread(overview)],
            filters={kind: f"{words} ({counts[kind]})" for kind, words in _WORDS.items()},
        ),
        frame,
        "/",
    )


def findings_page(overview: Overview, frame: PageFrame, warnings: Sequence[str]) -> FinishedPage:
    """Return the decisions about chunks, by file, the most severe first, and what a person accepted."""
    found = sorted(
        (item for item in overview.files if item.flagged), key=lambda item: (_urgency(item), item.path)
    )
    counts = Counter(part.standing for item in found for part in item.flagged)
    body = "".join(_file_findings(item) for item in found[:MOST_FILES])
    if len(found) > MOST_FILES:
        body += f"<p>… and {len(found) - MOST_FILES} more files.</p>"
    return site_page(
        Page(
            title="Findings",
            story=_story(overview.files),
            body=body or "<p>Nothing was found.</p>",
            facts={name.value: str(counts[name]) for name in ChunkStanding},
            command="codeguard ls --convicted",
            made=frame.made,
            warnings=[*warnings, *_unread(overview)],
            filters={"bad": "with harmful or wrong", "warning": "with demoted", "other": "accepted"},
        ),
        frame,
        "/findings",
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
    counts = Counter(filter(None, map(standing, chunks)))
    named = [
        f"{counts[each]} {each}"
        for each in ChunkStanding
        if counts[each] and each is not ChunkStanding.ACCEPTED
    ]
    story = "Nothing in this file was found wrong."
    if named:
        story = f"{', '.join(named)} of {_count(len(chunks), 'chunk')}."
    elif chunks and all(item.trust is Trust.TRUSTED for item in chunks):
        story = "Your own code: the manifest lists it as it is."
    present = set(map(css_class, chunks))
    kinds = [kind for kind in _WORDS if kind in present]
    body = _chunks(chunks, trusted)
    if len(chunks) > MOST_CHUNKS:
        body.append(f"<p>… and {len(chunks) - MOST_CHUNKS} more chunks.</p>")
    return site_page(
        Page(
            title=path,
            story=story,
            body="".join(body),
            facts={"chunks": str(len(chunks)), "checked in": level_line(level, required_level)},
            command=f"codeguard ls {shlex.quote(path)}",
            made=frame.made,
            filters={kind: _WORDS[kind] for kind in kinds} if len(kinds) > 1 else None,
        ),
        frame,
    )


def _chunks(chunks: Sequence[Ranked], trusted: Sequence[Ranked]) -> list[str]:
    """Return the chunks that fit on a page, in their order; those with a decision take precedence."""
    left, made = MOST_CHARACTERS, []
    gravest = sorted(
        chunks, key=lambda item: list(ChunkStanding).index(standing(item) or ChunkStanding.ACCEPTED)
    )
    for number, item in enumerate(gravest[:MOST_CHUNKS]):
        left -= len(item.chunk.text)
        code = "<p class='faint'>The page is too long to show this code as well.</p>"
        if left >= 0:
            code = code_block(item.chunk.text)
            if standing(item) and number < MOST_COMPARED:
                code = beside_twin(item, trusted)
        made.append((item.chunk.span.start_byte, _chunk(item, code)))
    return [shown for _, shown in sorted(made)]


def _chunk(item: Ranked, code: str) -> str:
    chunk, kind, decided = item.chunk, css_class(item), standing(item)
    name = text(chunk.symbol or f"({chunk.kind.value})")
    label = tag("accepted", "good") if decided is ChunkStanding.ACCEPTED else ""
    parts = [f"<h3>{name} {place(chunk.path, chunk.start_line, chunk.end_line)} {tags(item)}{label}</h3>"]
    if (against := why(item)) and kind in ("bad", "warning"):
        parts.append(f"<p>{text(against)}</p>")
    parts.append(code if decided else folded("code", code))
    if item.evidence:
        parts.append(folded(f"penalties {item.penalty:+.2f}", reasons(item)))
    if decided is not None and decided is not ChunkStanding.ACCEPTED:
        parts.append(accept_hint(chunk.sha256))
    return f'<article id="line-{chunk.start_line}" class="{kind} f-{kind}">{"".join(parts)}</article>\n'


def _story(files: Sequence[KnownFile]) -> str:
    """Return the headline: harm first, then what is wrong, then what is suspicious."""
    counts = Counter(part.standing for item in files for part in item.flagged)
    own = sum(item.trust is Trust.TRUSTED for item in files)
    named = [
        f"{_count(counts[each], 'chunk')} {words}" if not place else f"{counts[each]} {words}"
        for place, (each, words) in enumerate(
            (each, words) for each, words in _HEADLINE.items() if counts[each]
        )
    ]
    found = ", ".join(named) or "nothing harmful, wrong or suspicious"
    is_own = "is your own" if own == 1 else "are your own"
    return f"{_count(len(files), 'file')}: {found}; {_count(own, 'file')} {is_own}."


def _unread(overview: Overview) -> list[str]:
    if overview.left:
        return [f"what is known of {overview.left} files is not read yet: load the page again"]
    waiting = sum(not item.complete for item in overview.files)
    return (
        [
            f"{waiting} files are not checked yet, or not by this version of codeguard: run codeguard index again"
        ]
        if waiting
        else []
    )


def _kind(item: KnownFile) -> str:
    if item.worst in _WRONG:
        return "bad"
    if item.worst is ChunkStanding.DEMOTED or item.trust is Trust.MODIFIED:
        return "warning"
    return "good" if item.trust is Trust.TRUSTED else "other"


def _urgency(item: KnownFile) -> tuple[int, int]:
    worst = item.worst
    return list(_WORDS).index(_kind(item)), list(ChunkStanding).index(worst) if worst else len(ChunkStanding)


def _folder(folder: str, members: Sequence[KnownFile]) -> str:
    counts = Counter(map(_kind, members))
    counted = ", ".join(f"{counts[kind]} {words}" for kind, words in _WORDS.items() if counts[kind])
    cells = "".join(map(_cell, sorted(members, key=lambda item: (_urgency(item), item.path))))
    title = text(folder or "(top)")
    head = f'<h3>{title} <span class="faint">{_count(len(members), "file")}: {counted}</span></h3>'
    return f'<section class="folder">{head}<div class="cells">{cells}</div></section>\n'


def _cell(item: KnownFile) -> str:
    kind = _kind(item)
    width = min(LARGEST, 1 + int(math.log2(1 + item.size / 1024) / 2))
    names = ", ".join(part.chunk.chunk.symbol for part in item.flagged if part.standing in _WRONG)
    about = text(
        f"{item.path[-LONGEST_PATH:]}: {_WORDS[kind]}{f' ({names[:200]})' if names else ''}"
    ).replace("\n", " ")
    return (
        f'<a class="cell {kind} f-{kind} w{width}" href="/file?id={file_id(item.path)}"'
        f' title="{about}" aria-label="{about}">{_MARKS[kind]}</a>'
    )


def _file_findings(item: KnownFile) -> str:
    kind = _kind(item)
    gravest = sorted(item.flagged, key=lambda part: list(ChunkStanding).index(part.standing))
    rows = "".join(map(_flagged, gravest[:MOST_FLAGGED]))
    if len(gravest) > MOST_FLAGGED:
        rows += f"<li>{file_link(item.path, f'… and {len(gravest) - MOST_FLAGGED} more')}</li>"
    head = f"<h3>{file_link(item.path, text(item.path))} {tag(*ORIGIN[item.trust])}</h3>"
    return f'<article class="{kind} f-{kind}">{head}<ul class="findings">{rows}</ul></article>\n'


def _flagged(item: Flagged) -> str:
    chunk = item.chunk.chunk
    name = file_link(chunk.path, text(chunk.symbol or f"({chunk.kind.value})"), chunk.start_line)
    label = tag(item.standing.value, _STANDINGS[item.standing])
    line = f"<span class='faint'>line {chunk.start_line}</span>"
    return f"<li>{label} {name} {line}<br>{text(_reason(item.chunk))}</li>"


def _reason(item: Ranked) -> str:
    """Return the decision and its reasons; for an acceptance who, when and why."""
    if standing(item) is ChunkStanding.ACCEPTED:
        return next(part.reason for part in item.evidence if part.id == "accepted")
    return why(item)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
