"""The pages of the site, made from values: bounded, and nothing that was found is left out for what was not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import FAIL, UNKNOWN, judged, ranking

from codeguard.index.contents import Changes
from codeguard.models import Trust
from codeguard.ranking.inventory import ChunkStanding, Flagged, KnownFile, Overview
from codeguard.ranking.reranking import Ranked, rank
from codeguard.reports.html.site.corpus import (
    MOST_CELLS,
    MOST_CHUNKS,
    MOST_FLAGGED,
    file_page,
    findings_page,
    overview_page,
)
from codeguard.reports.html.site.frame import PageFrame
from codeguard.reports.html.site.search import FIRST_LINES, search_page
from codeguard.reports.html.site.trust import MOST_LISTED, TrustState, trust_page
from codeguard.trust.acceptances import Acceptance

FRAME = PageFrame("now")


def a_file(chunks: int) -> list[Ranked]:
    """Return the chunks of a file, in their order; the last one is convicted."""
    plain = [judged("x.py", 0.1, UNKNOWN, start=line) for line in range(1, chunks)]
    bad = judged("x.py", 0.1, FAIL, start=chunks, text="def f():\n    return 'the end'\n")
    placed = [
        replace(item, chunk=replace(item.chunk, span=item.chunk.span._replace(start_byte=number)))
        for number, item in enumerate((*plain, bad))
    ]
    return sorted(rank(placed)[0], key=lambda item: item.chunk.span.start_byte)


def test_what_was_found_is_shown_however_much_stands_before_it() -> None:
    page = file_page("x.py", a_file(MOST_CHUNKS + 60), (), "L2", "L3", FRAME)
    assert page.count("<article") == MOST_CHUNKS
    assert "the end" in page
    assert page.index('id="line-1"') < page.index(f'id="line-{MOST_CHUNKS + 60}"')
    assert "… and 60 more chunks" in page


def test_pages_of_a_large_index_are_bounded() -> None:
    files = tuple(
        KnownFile(f"{'d' * 4000}/{number}.py", 1, Trust.UNLISTED) for number in range(MOST_CELLS + 1)
    )
    page = overview_page(Overview(files), {}, FRAME, ())
    assert page.count('<a class="cell') == MOST_CELLS
    assert "… and 1 more files" in page
    assert len(page) < 5_000_000
    found = tuple(Flagged(a_file(1)[0], ChunkStanding.CONVICTED) for _ in range(MOST_FLAGGED + 5))
    page = findings_page(Overview((KnownFile("x.py", 1, Trust.UNLISTED, found),), left=3), FRAME, ())
    assert page.count("<li>") == MOST_FLAGGED + 1
    assert "… and 5 more" in page
    assert "what is known of 3 files is not read yet" in page


@pytest.mark.parametrize(("more", "said"), [(-1, ""), (0, ""), (1, "… 1 more line<"), (2, "… 2 more lines<")])
def test_a_search_shows_the_first_lines_and_counts_the_others(more: int, said: str) -> None:
    text = "".join(f"line{number}_\n" for number in range(FIRST_LINES + more))
    page = search_page(ranking(1, judged("a.py", 0.1, text=text)), "L2", FRAME)
    assert f"line{FIRST_LINES - 2}_" in page
    assert f"line{FIRST_LINES}_" not in page
    assert ("more line" in page) is bool(said)
    assert said in page


def test_a_search_shows_both_orders_and_what_was_pushed_out() -> None:
    items = (judged("bad.py", 0.1, FAIL, UNKNOWN), judged("ours.py", 0.2), judged("other.py", 0.3, UNKNOWN))
    before, _, after = search_page(ranking(2, *items), "L2", FRAME).partition("With the defense")
    assert "pushed out" in before
    assert "now 1" in before
    assert "was 2" in after
    assert "moved up" in after
    assert "Pushed out of the first 2, and why" in after
    assert "Pushed out" not in search_page(ranking(2, *items[1:]), "L2", FRAME)


def test_the_page_on_trust_lists_what_a_person_accepted_with_its_places_and_reason() -> None:
    known = Acceptance("a" * 64, "reviewed by hand", "Ada", "2026-01-02T03:04:05+00:00")
    gone = Acceptance("b" * 64, "no longer there", "Bob", "2026-01-03T03:04:05+00:00")
    state = TrustState(
        (), ("ada",), False, ("own.py",), ((known, (("x.py", 7),)), (gone, ())), 1, Changes((), (), ())
    )
    page = trust_page(state, FRAME, ())
    for part in (
        "x.py:7",
        "Ada",
        "2026-01-02",
        "reviewed by hand",
        "not in the index",
        "b" * 12,
        "no longer there",
    ):
        assert part in page
    assert "1 file is trusted, by a manifest signed by ada." in page
    assert "1 acceptances do not verify" in page
    many = trust_page(replace(state, accepted=((known, ()),) * (MOST_LISTED + 3)), FRAME, ())
    assert many.count("reviewed by hand") == MOST_LISTED
    assert "… and 3 more." in many
    assert "Nothing." in trust_page(replace(state, accepted=()), FRAME, ())
