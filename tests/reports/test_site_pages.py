"""The pages of the site, made from values: bounded, and nothing that was found is left out for what was not."""

from __future__ import annotations

from dataclasses import replace

from report_samples import FAIL, UNKNOWN, judged

from codeguard.models import Trust
from codeguard.ranking.inventory import ChunkStanding, Flagged, KnownFile, Overview
from codeguard.ranking.reranking import Ranked, rank
from codeguard.reports.html.site import (
    MOST_CELLS,
    MOST_CHUNKS,
    MOST_FLAGGED,
    PageFrame,
    file_page,
    findings_page,
    overview_page,
)

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
