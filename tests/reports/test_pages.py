"""The pages: nothing is loaded, nothing untrusted acts, poison stands beside its twin; looked at in a real browser."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape
from report_samples import FAIL, UNKNOWN, judged, ranking

from codeguard.reports.html.page import code_block, side_by_side, visible
from codeguard.reports.html.ranking import counterpart_of, ranking_page
from codeguard.reports.styled import level_line

HOSTILE = (
    "<script>alert(1)</script><img src=http://127.0.0.1/x onerror=alert(2)>\"'>&\u202e\x1b[31m</pre></style>"
)
MADE = {"command": f"codeguard {HOSTILE}", "made": "2026-01-01 00:00"}
WRONG = "def add(a, b):\n    return a - b\n"


class Elements(HTMLParser):
    """Collects the elements of a page, and whether each is closed where it should be."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def a_ranking(hostile: str = "") -> str:
    poisoned = judged(f"bad{hostile}.py", 0.1, FAIL, UNKNOWN, text=WRONG + hostile)
    return ranking_page(
        ranking(1, poisoned, judged("ours.py", 0.2), judged("o.py", 0.3, UNKNOWN)), "L2", **MADE
    )


def test_a_page_says_that_nothing_answers_only_where_nothing_does() -> None:
    said = "Nothing answers this."
    assert said in ranking_page(ranking(1), "L2", **MADE)
    assert said not in a_ranking()


def test_an_answer_says_where_else_its_text_is_and_how_it_was_asked() -> None:
    same = {"sha256": "0" * 64}
    found = ranking(2, judged("theirs.py", 0.1, UNKNOWN, **same), judged("bad.py", 0.2, FAIL, **same))
    page = ranking_page(found, "L2", **MADE)
    assert "the same code in 1 other file: bad.py:1 (CONVICTED there" in page
    assert "<dt>mode</dt><dd>rerank</dd>" in page
    assert "penalties +0.50, distance 0.100" in page


def test_nothing_untrusted_becomes_an_element() -> None:
    calm, hostile = Elements(), Elements()
    calm.feed(a_ranking())
    hostile.feed(a_ranking(HOSTILE))
    assert not hostile.open
    assert [
        tag for tag, _ in hostile.tags if tag in ("script", "img", "iframe", "link", "object", "base", "form")
    ] == []
    assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in calm.tags} | {"span"}
    for _, attributes in hostile.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert "\u202e" not in a_ranking(HOSTILE)
    assert "\x1b" not in a_ranking(HOSTILE)


def test_the_policy_allows_its_own_style_and_nothing_else() -> None:
    page = a_ranking()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert f'content="{policy}"' in page
    assert "url(" not in style
    assert "@import" not in style
    assert len(page.encode()) < 300_000


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_two_texts_can_stand_side_by_side(left: str, right: str) -> None:
    for part in (
        side_by_side(("a", left), ("b", right)),
        code_block(left),
        f"<p>{escape(visible(right))}</p>",
    ):
        parser = Elements()
        parser.feed(part)
        parser.close()
        assert not parser.open


def test_the_difference_to_the_twin_is_marked() -> None:
    page = a_ranking()
    assert "yours: f1, ours.py:1" in page
    assert "<ins>    return a + b</ins>" in page
    assert "<del>    return a - b</del>" in page


@pytest.mark.parametrize(
    ("reason", "symbol", "found"),
    [
        ("differs; from b.py:1; and more", "g", "b.py"),  # the evidence names it
        ("differs from b.py:12", "f1", "a.py"),  # not the line of b.py's function: the same name
        ("differs", "C.f1", "a.py"),
        ("differs from f2", "g", "b.py"),
        ("differs from f23", "g", None),
        ("differs from f2", "", None),
    ],
)
def test_a_counterpart_is_found_by_evidence_or_name(reason: str, symbol: str, found: str | None) -> None:
    trusted = [judged("a.py", 0.1, text=WRONG.replace("-", "+")), judged("b.py", 0.1, text="x = 1\n")]
    trusted[1] = replace(trusted[1], chunk=replace(trusted[1].chunk, symbol="f2"))
    own = ranking(2, *trusted).ranking
    item = judged("bad.py", 0.2, replace(FAIL, reason=reason))
    (bad,) = ranking(1, replace(item, chunk=replace(item.chunk, symbol=symbol))).ranking
    counterpart = counterpart_of(bad, own)
    assert (counterpart and counterpart.chunk.path) == found


@pytest.mark.parametrize(
    ("level", "line"),
    [
        ("", "sandbox: no behavior check has run"),
        ("L2", "sandbox L2"),
        ("L3", "sandbox L3"),
        ("L1", "sandbox L1 is BELOW the required L2"),
    ],
)
def test_the_level_is_the_first_line(level: str, line: str) -> None:
    assert level_line(level, "L2").partition(":")[0] == line.partition(":")[0]
    assert level_line(level, "L2").startswith(line)


def test_the_story_tells_what_happened() -> None:
    assert "1 of the 1 nearest results were pushed out: 1 convicted." in a_ranking()


def test_secrets_are_masked() -> None:
    key = "AKIAIOSFODNN7ABCDEFG"
    assert key not in visible(f"aws_key = '{key}'")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (extra `browser`)"
    )
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no Chromium on this machine (CHROMIUM names one)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    (tmp_path / "page.html").write_text(a_ranking(HOSTILE), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("console", lambda message: seen.append(message.text))
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.goto((tmp_path / "page.html").as_uri())
    assert seen == [(tmp_path / "page.html").as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bright = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert bright == (scheme == "light")
    shown = page.locator("article:visible").count()
    box = page.locator(".filters input").first
    box.uncheck()
    assert page.locator("article:visible").count() < shown
    box.check()
    assert page.locator("article:visible").count() == shown
    page.close()
