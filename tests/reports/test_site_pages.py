"""The pages of the site, made from values: bounded, and nothing that was found is left out for what was not."""

from __future__ import annotations

import re

from report_samples import FAIL, UNKNOWN, judged, ranking

from codeguard.models import Evidence, Severity, Trust
from codeguard.ranking.inventory import KnownFile, Overview
from codeguard.ranking.reranking import Ranked
from codeguard.reports.html.ranking import ranking_page
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
HARM = Evidence("agent", "x", 2.5, "sends secrets", demotes=True, severity=Severity.HIGH)
ODD = Evidence("idle", "x", 1.5, "does nothing", demotes=True, severity=Severity.MEDIUM)
OWN = [judged(f"own{number}.py", 0.9) for number in range(3)]


def a_file(chunks: int) -> list[Ranked]:
    """Return the chunks of a file, in their order; the last one is convicted."""
    plain = [judged("x.py", 0.1, UNKNOWN, start=line) for line in range(1, chunks)]
    return [*plain, judged("x.py", 0.1, FAIL, start=chunks, text="def f():\n    return 'the end'\n")]


def test_what_was_found_is_shown_however_much_stands_before_it() -> None:
    page = file_page("x.py", a_file(MOST_CHUNKS + 60), (), "L2", "L3", FRAME)
    assert page.count("<article") == MOST_CHUNKS
    assert "the end" in page
    assert page.index(f'id="line-{MOST_CHUNKS + 60}"') < page.index('id="line-1"')
    assert "… and 60 more chunks" in page


def test_harm_is_first_and_as_red_as_what_is_convicted_on_every_page() -> None:
    given = {"a/1.py": ODD, "b/2.py": FAIL, "a/3.py": HARM}
    found = tuple(judged(path, 0.1, item) for path, item in given.items())
    files = Overview(tuple(KnownFile(item.chunk.path, 1, Trust.UNLISTED, (item,)) for item in found))
    for page in (
        file_page("x.py", found, (), "L2", "L3", FRAME),
        findings_page(Overview((KnownFile("x.py", 1, Trust.UNLISTED, found),)), FRAME, ()),
        ranking_page(ranking(3, *found, *OWN), "L2", command="", made=""),
    ):
        tags = re.findall(r'class="tag (bad|warning)">(\w+)<', page)
        assert tags[:3] == [("bad", "harmful"), ("bad", "convicted"), ("warning", "demoted")]
    page = overview_page(files, {}, FRAME, ())
    assert re.findall(r"<h3>(\S+)", page) == ["a", "b"]
    assert re.findall(r'">(.*py)</a>', page) == ["× 3.py", "! 1.py", "× 2.py"]


def test_pages_of_a_large_index_are_bounded() -> None:
    files = tuple(
        KnownFile(f"{'d' * 4000}/{number}.py", 1, Trust.UNLISTED) for number in range(MOST_CELLS + 1)
    )
    page = overview_page(Overview(files), {}, FRAME, ())
    assert page.count('<a class="cell') == MOST_CELLS
    assert "… and 1 more files" in page
    assert len(page) < 5_000_000
    found = tuple(a_file(1) * (MOST_FLAGGED + 5))
    page = findings_page(Overview((KnownFile("x.py", 1, Trust.UNLISTED, found),), left=3), FRAME, ())
    assert page.count("<li>") == MOST_FLAGGED + 1
    assert "… and 5 more" in page
    assert "what is known of 3 files is not read yet" in page
