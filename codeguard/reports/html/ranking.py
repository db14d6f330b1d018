"""A ranking as a page: the results, and next to each piece of poison the trusted function it imitates."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

from codeguard.escaping import FinishedPage
from codeguard.models import Trust
from codeguard.ranking.reranking import Ranked, Ranking, represented
from codeguard.ranking.scoring import by_urgency
from codeguard.reports.html.page import Page, code_block, folded, page_of, place, side_by_side, tag, text
from codeguard.reports.ranking import MEANING, NOT_AS_INDEXED, ORIGIN, copies_line, why
from codeguard.reports.styled import level_line, unstyled

ALIKE = 0.5  # least share of equal text for showing a trusted candidate next to one with a different name
MOST_SHOWN = 100  # candidates with their code
Link = Callable[[Ranked, str], str]


def ranking_page(ranking: Ranking, required_level: str, *, command: str, made: str) -> FinishedPage:
    """Return the page of one answer."""
    return page_of(page_of_ranking(ranking, required_level, command=command, made=made))


def page_of_ranking(
    ranking: Ranking, required_level: str, *, command: str, made: str, link: Link = lambda item, name: name
) -> Page:
    """Return the content of the page of one answer; `link` makes a link of the name of a candidate."""
    candidates = [*ranking.ranking, *ranking.dropped]
    trusted = [item for item in candidates if item.trust is Trust.TRUSTED]
    kept = represented(ranking.results)
    now = {item.id: item for item in candidates}
    before = [now[item.id] for item in ranking.baseline_results if item.id in now]
    gone = [item for item in before if item.id not in kept]
    results = [replace(now[item.id], copies=item.copies) for item in ranking.results]
    rest = [item for item in candidates if item.id not in kept and item not in gone][:MOST_SHOWN]
    body = "<h2>Answers</h2>" + "".join(
        article(item, trusted, link, number=number) for number, item in enumerate(results, 1)
    )
    if not results:
        body += "<p>Nothing answers this.</p>"
    if gone:
        body += f"<h2>Pushed out of the first {ranking.k} by the defense</h2>"
        body += "".join(article(item, trusted, link) for item in gone)
    if rest:
        others = "".join(article(item, trusted, link, brief=True) for item in rest)
        body += folded(f"{len(rest)} more candidates, in their order", others)
    facts = {
        **({"sandbox": str(ranking.budget)} if ranking.budget else {}),
        "checked in": level_line(ranking.sandbox_level, required_level),
        "mode": ranking.mode,
        "candidates": str(len(candidates)),
    }
    return Page(
        title=f"Query: {ranking.query}",
        story=story(ranking, gone),
        body=body,
        facts=facts,
        command=command,
        made=made,
        warnings=ranking.warnings,
        filters={"bad": "convicted", "warning": "suspicious", "good": "your own", "other": "others"},
    )


def counterpart_of(item: Ranked, trusted: Sequence[Ranked]) -> Ranked | None:
    """Return the trusted candidate that this one imitates, found by its evidence, its name, or its text."""
    reasons = " ".join(part.reason for part in item.evidence)
    for own in trusted:
        if f"{own.chunk.path}:{own.chunk.start_line}" in reasons.replace(")", " ").replace(";", " ").split():
            return own
    bare = item.chunk.symbol.rpartition(".")[2]
    for own in trusted:
        if bare and own.chunk.symbol.rpartition(".")[2] == bare:
            return own
    named = [own for own in trusted if own.chunk.symbol and own.chunk.symbol in reasons]
    if named:
        return named[0]
    best = max(trusted, key=lambda own: _alike(own, item), default=None)
    return best if best is not None and _alike(best, item) >= ALIKE else None


def _alike(own: Ranked, item: Ranked) -> float:
    first, second = own.chunk.text[:4000].split(), item.chunk.text[:4000].split()
    return difflib.SequenceMatcher(None, first, second).quick_ratio()


def story(ranking: Ranking, gone: Sequence[Ranked]) -> str:
    """Return a sentence about what the defense did; `gone` was pushed out of the first k."""
    if ranking.mode == "none":
        return f"{len(ranking.results)} results by similarity alone: nothing was checked."
    convicted = sum(item.convicted for item in gone)
    if not gone:
        return f"{len(ranking.results)} results; nothing that is near the question had to be pushed down."
    wrong = f"{convicted} of them proven wrong or harmful" if convicted else "none of them proven wrong"
    return f"{len(gone)} of the {ranking.k} nearest results were pushed out, {wrong}."


def css_class(item: Ranked) -> str:
    """Return the class of a candidate: bad, good, warning or other."""
    if item.convicted:
        return "bad"
    if item.trust is Trust.TRUSTED:
        return "good"
    return "warning" if item.demoted or item.penalty > 1 or item.trust is Trust.MODIFIED else "other"


def tags(item: Ranked) -> str:
    """Return the labels of a candidate: its origin, and what was found about it."""
    shown = [tag(ORIGIN[item.trust][0], ORIGIN[item.trust][1])]
    if item.on_disk in NOT_AS_INDEXED:
        shown.append(tag(NOT_AS_INDEXED[item.on_disk], "warning"))
    if item.convicted:
        shown.append(tag("convicted", "bad"))
    elif item.demoted:
        shown.append(tag("demoted", "warning"))
    elif item.verdict in MEANING:
        words, style = MEANING[item.verdict]
        shown.append(tag(words, style if style in ("good", "warning") else ""))
    return "".join(shown)


def article(
    item: Ranked, trusted: Sequence[Ranked], link: Link, *, number: int = 0, brief: bool = False
) -> str:
    """Return a candidate with its code, next to its trusted counterpart if it is suspicious."""
    chunk, kind = item.chunk, css_class(item)
    standing = f"place {item.rank}" if item.rank else "dropped"
    moved = f"{standing}, {item.baseline_rank} by similarity"
    name = link(item, text(chunk.symbol or f"({chunk.kind.value})"))
    head = f"{number}. {name}" if number else name
    parts = [f"<h3>{head} {place(chunk.path, chunk.start_line, chunk.end_line)} {tags(item)}"]
    parts.append(f'<span class="faint">{moved}</span></h3>')
    if (against := why(item)) and kind in ("bad", "warning"):
        parts.append(f"<p>{text(against)}</p>")
    parts.append(copies(item))
    shown = beside_twin(item, trusted)
    parts.append(folded("code", shown) if brief else shown)
    parts.append(folded(f"penalties {item.penalty:+.2f}, distance {item.distance:.3f}", reasons(item)))
    return f'<article class="{kind} f-{kind}">{"".join(parts)}</article>\n'


def copies(item: Ranked) -> str:
    """Return where else the same code is, and what is held against it there; "" if nowhere."""
    return f'<p class="faint">{text(unstyled([copies_line(item)]))}</p>' if item.copies else ""


def beside_twin(item: Ranked, trusted: Sequence[Ranked]) -> str:
    """Return the code of a candidate, next to the code it imitates if it is suspicious."""
    chunk = item.chunk
    counterpart = counterpart_of(item, trusted) if css_class(item) in ("bad", "warning") else None
    if counterpart is None:
        return code_block(chunk.text)
    own = f"yours: {counterpart.chunk.symbol}, {counterpart.chunk.path}:{counterpart.chunk.start_line}"
    return side_by_side((own, counterpart.chunk.text), (f"this: {chunk.symbol}", chunk.text))


def reasons(item: Ranked) -> str:
    """Return all evidence about a candidate with the penalties."""
    rows = (
        f"<li><b>{part.penalty:+.2f}</b> {text(part.signal)}: {text(part.reason)}</li>"
        for part in by_urgency(item.evidence)
    )
    return f'<ul class="reasons">{"".join(rows)}</ul>'
