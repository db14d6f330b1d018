"""A ranking as a page: the results, and next to each piece of poison the trusted function it imitates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from codeguard.escaping import FinishedPage
from codeguard.models import Trust
from codeguard.ranking.reranking import ChunkStanding, Ranked, Ranking, represented
from codeguard.reports.html.page import Page, code_block, page_of, side_by_side
from codeguard.reports.ranking import MEANING, NOT_AS_INDEXED, ORIGIN, copies_line, why
from codeguard.reports.styled import kinds, level_line, unstyled

MOST_SHOWN = 100  # candidates with their code
Label = tuple[str, str]  # words and their class
WORDS = {
    "bad": "harmful or convicted",
    "warning": "demoted or changed",
    "good": "your own",
    "other": "unknown",
}
STANDINGS = {
    ChunkStanding.HARMFUL: "bad",
    ChunkStanding.CONVICTED: "bad",
    ChunkStanding.DEMOTED: "warning",
    ChunkStanding.ACCEPTED: "good",
}


def ranking_page(
    ranking: Ranking, required_level: str, *, command: str, made: str, **site: Any
) -> FinishedPage:
    """Return the page of one answer; `site` is the layout and the frame of a web site around it."""
    candidates = [*ranking.ranking, *ranking.dropped]
    trusted = [item for item in candidates if item.trust is Trust.TRUSTED]
    kept = represented(ranking.results)
    now = {item.id: item for item in candidates}
    before = [now[item.id] for item in ranking.baseline_results if item.id in now]
    gone = [item for item in before if item.id not in kept]
    gone.sort(key=lambda item: item.standing.place)
    facts = {
        **({"sandbox": str(ranking.budget)} if ranking.budget else {}),
        "checked in": level_line(ranking.sandbox_level, required_level),
        "mode": ranking.mode,
        "candidates": str(len(candidates)),
    }
    page = Page(
        title=f"Query: {ranking.query}",
        story=story(ranking, gone),
        facts=facts,
        command=command,
        made=made,
        warnings=ranking.warnings,
        filters=WORDS,
    )
    return page_of(
        page,
        "query.html",
        k=ranking.k,
        results=[replace(now[item.id], copies=item.copies) for item in ranking.results],
        gone=gone,
        rest=[item for item in candidates if item.id not in kept and item not in gone][:MOST_SHOWN],
        css_class=css_class,
        labels=labels,
        against=against,
        copies=lambda item: unstyled([copies_line(item)]),
        code_of=lambda item: beside_twin(item, trusted),
        **site,
    )


def counterpart_of(item: Ranked, trusted: Sequence[Ranked]) -> Ranked | None:
    """Return the trusted candidate that this one imitates, found by its evidence or its name."""
    if not item.chunk.symbol:  # what stands between functions imitates none
        return None
    compared = (part.reason for part in item.evidence if part.signal in ("behavior", "near_copy"))
    words = re.split(r"[\s;)]+", " ".join(compared))
    bare = item.chunk.symbol.rpartition(".")[2]
    named = [own for own in trusted if f"{own.chunk.path}:{own.chunk.start_line}" in words]
    named += [own for own in trusted if own.chunk.symbol.rpartition(".")[2] == bare]
    named += [own for own in trusted if own.chunk.symbol in words]
    return next(iter(named), None)


def story(ranking: Ranking, gone: Sequence[Ranked]) -> str:
    """Return a sentence about what the defense did; `gone` was pushed out of the first k."""
    if ranking.mode == "none":
        return f"{len(ranking.results)} results by similarity alone: nothing was checked."
    if not gone:
        return f"{len(ranking.results)} results; nothing that is near the question had to be pushed down."
    return f"{len(gone)} of the {ranking.k} nearest results were pushed out: {kinds(item.standing for item in gone)}."


def css_class(item: Ranked) -> str:
    """Return the class of a candidate: bad, good, warning or other."""
    if item.standing.is_wrong:
        return "bad"
    if item.trust is Trust.TRUSTED:
        return "good"
    return "warning" if item.demoted or item.trust is Trust.MODIFIED else "other"


def labels(item: Ranked) -> list[Label]:
    """Return the labels of a candidate: its origin, and what was found about it."""
    found = [ORIGIN[item.trust]]
    if item.on_disk in NOT_AS_INDEXED:
        found.append((NOT_AS_INDEXED[item.on_disk], "warning"))
    if item.standing:
        found.append((item.standing.value, STANDINGS[item.standing]))
    elif item.verdict in MEANING:
        words, style = MEANING[item.verdict]
        found.append((words, style if style in ("good", "warning") else ""))
    return found


def against(item: Ranked) -> str:
    """Return the strongest evidence against a candidate, "" if that is little or a person has accepted it."""
    doubted = item.penalty > 1 and item.standing is not ChunkStanding.ACCEPTED
    return why(item) if doubted or css_class(item) in ("bad", "warning") else ""


def beside_twin(item: Ranked, trusted: Sequence[Ranked]) -> Markup:
    """Return the code of a candidate, next to the code it imitates if it is suspicious."""
    chunk = item.chunk
    counterpart = counterpart_of(item, trusted) if against(item) else None
    if counterpart is None:
        return code_block(chunk.text)
    own = f"yours: {counterpart.chunk.symbol}, {counterpart.chunk.path}:{counterpart.chunk.start_line}"
    return side_by_side((own, counterpart.chunk.text), (f"this: {chunk.symbol}", chunk.text))
