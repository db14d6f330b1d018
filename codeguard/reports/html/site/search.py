"""An answer with and without the defense, side by side, and the reason for each missing result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from codeguard.escaping import FinishedPage
from codeguard.models import Trust
from codeguard.ranking.reranking import Ranked, Ranking, represented
from codeguard.reports.html.page import Page, code_block, folded, place, tag, text
from codeguard.reports.html.ranking import beside_twin, copies, css_class, reasons, story, tags
from codeguard.reports.html.site.frame import PageFrame, accept_form, file_link, site_page
from codeguard.reports.level import level_line
from codeguard.reports.ranking import FIRST_LINES, why


def search_page(ranking: Ranking, required_level: str, frame: PageFrame) -> FinishedPage:
    """Return the page of one defended answer."""
    candidates = [*ranking.ranking, *ranking.dropped]
    trusted = [item for item in candidates if item.trust is Trust.TRUSTED]
    now = {item.id: item for item in candidates}
    kept = represented(ranking.results)
    places = {
        member.id: number
        for number, item in enumerate(ranking.results, 1)
        for member in (item, *item.copies)
        if member.id in kept  # the same text, at the same place
    }
    before = [now.get(item.id, item) for item in ranking.baseline_results]
    gone = [item for item in before if item.id not in places]
    old_places = {item.id: number for number, item in enumerate(before, 1)}
    left = "".join(
        _short(item, number, _after(places.get(item.id), number)) for number, item in enumerate(before, 1)
    )
    right = "".join(
        _short(replace(now[item.id], copies=item.copies), number, _before(old_places.get(item.id), number))
        for number, item in enumerate(ranking.results, 1)
    )
    nothing = "<p>Nothing answers this.</p>"
    body = (
        f'<div class="columns"><section><h2>By similarity alone</h2>{left or nothing}</section>'
        f"<section><h2>With the defense</h2>{right or nothing}</section></div>"
    )
    if gone:
        body += f"<h2>Pushed out of the first {ranking.k}, and why</h2>"
        body += "".join(_explained(item, trusted, frame) for item in gone)
    mode = "" if ranking.mode == "rerank" else f" --mode {ranking.mode}"
    return site_page(
        Page(
            title=f"Search: {ranking.query}",
            story=story(ranking, gone),
            body=body,
            facts={
                "checked in": level_line(ranking.sandbox_level, required_level),
                "mode": ranking.mode,
                "candidates": str(len(candidates)),
            },
            command=f"codeguard query {shlex.quote(ranking.query)} -k {ranking.k}{mode}",
            made=frame.made,
            warnings=ranking.warnings,
            filters={"bad": "convicted", "warning": "suspicious", "good": "your own", "other": "others"},
        ),
        frame,
    )


def _after(number: int | None, old: int) -> str:
    if number is None:
        return tag("pushed out", "bad")
    return "" if number == old else f"now {number}"


def _before(number: int | None, new: int) -> str:
    if number is None:
        return tag("moved up", "good")
    return "" if number == new else f"was {number}"


def _name(item: Ranked) -> str:
    chunk = item.chunk
    name = text(chunk.symbol or f"({chunk.kind.value})")
    return f"{file_link(chunk.path, name, chunk.start_line)} {place(chunk.path, chunk.start_line, chunk.end_line)}"


def _short(item: Ranked, number: int, moved: str) -> str:
    lines = item.chunk.text.strip("\n").split("\n")
    shown = code_block("\n".join(lines[:FIRST_LINES]))
    rest = len(lines) - FIRST_LINES
    more = f'<p class="faint">… {rest} more line{"s" if rest > 1 else ""}</p>' if rest > 0 else ""
    kind = css_class(item)
    head = f"<h3>{number}. {_name(item)} {tags(item)} <span class='faint'>{moved}</span></h3>"
    return f'<article class="{kind} f-{kind}">{head}{copies(item)}{shown}{more}</article>\n'


def _explained(item: Ranked, trusted: Sequence[Ranked], frame: PageFrame) -> str:
    chunk, kind = item.chunk, css_class(item)
    standing = f"now place {item.rank} of all" if item.rank else "dropped"
    parts = [f"<h3>{_name(item)} {tags(item)} <span class='faint'>{standing}</span></h3>"]
    against = why(item) if kind in ("bad", "warning") else "others answer better"
    parts.append(f"<p>{text(against)}</p>{beside_twin(item, trusted)}")
    parts.append(folded(f"penalties {item.penalty:+.2f}, distance {item.distance:.3f}", reasons(item)))
    if item.convicted or item.demoted:
        parts.append(accept_form(frame, chunk.path, chunk.sha256))
    return f'<article class="{kind} f-{kind}">{"".join(parts)}</article>\n'
