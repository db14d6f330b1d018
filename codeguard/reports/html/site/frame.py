"""The frame of every page of the site, its forms, and pages that only show a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from codeguard.escaping import FinishedPage
from codeguard.models import text_digest
from codeguard.reports.html.page import Page, document, hidden, style_sheet, text

LONGEST_QUESTION = 1_000  # characters
COUNTS = (5, 10, 20)
MODES = {"rerank": "convicted last", "drop": "convicted dropped"}
SWITCHES = ("bad", "warning", "good", "other")
POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_PAGES = {"/": "Map", "/findings": "Findings"}


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The frame of a page: when it was made, and the last search."""

    made: str
    question: str = ""
    k: int = COUNTS[0]
    mode: str = "rerank"


@cache
def site_style() -> str:
    """Return the one style sheet of the site."""
    switches = "".join(hidden(name, "") for name in SWITCHES)
    return style_sheet("style.css") + style_sheet("site.css") + switches


def site_page(page: Page, frame: PageFrame, address: str = "") -> FinishedPage:
    """Return a page in its frame; `address` is its entry in the navigation."""
    links = "".join(
        f'<a href="{path}"{" aria-current=page" if path == address else ""}>{name}</a>'
        for path, name in _PAGES.items()
    )
    top = f'<nav><a class="name" href="/">codeguard</a>{links}{_search_form(frame)}</nav>\n'
    return document(page, _HEAD, top)


def message_page(story: str, made: str) -> FinishedPage:
    """Return a page with one message, for readers who may not be allowed to see anything else."""
    return document(Page("Not answered", story, "", {}, "codeguard serve", made), _HEAD)


_HEAD = '<meta name="referrer" content="same-origin">\n<link rel="stylesheet" href="/style.css">'


def _search_form(frame: PageFrame) -> str:
    counts = {str(count): f"{count} results" for count in sorted({*COUNTS, frame.k})}
    return (
        '<form action="/search" method="get" role="search">'
        f'<input type="search" name="q" aria-label="Search the index" required maxlength="{LONGEST_QUESTION}"'
        f' placeholder="what the code should do" value="{text(frame.question)}">'
        f"{_select('k', 'How many', counts, str(frame.k))}{_select('mode', 'Mode', MODES, frame.mode)}"
        "<button>Search</button></form>"
    )


def _select(name: str, label: str, choices: Mapping[str, str], chosen: str) -> str:
    options = "".join(
        f'<option value="{text(value)}"{" selected" if value == chosen else ""}>{text(words)}</option>'
        for value, words in choices.items()
    )
    return f'<select name="{name}" aria-label="{label}">{options}</select>'


def file_id(path: str) -> str:
    """Return the name of a file in URLs."""
    return text_digest(path)[:32]


def file_link(path: str, inside: str, line: int = 0) -> str:
    """Return a link to the page of a file; `inside` is HTML."""
    return f'<a href="/file?id={file_id(path)}{f"#line-{line}" if line else ""}">{inside}</a>'


def accept_hint(digest: str) -> str:
    """Return how to overrule what was found in a text; `digest` consists only of hexadecimal digits."""
    return f'<p class="faint">To overrule this: <code>codeguard accept {digest} --reason "why it is right"</code></p>'


def error_page(error: str, frame: PageFrame) -> FinishedPage:
    """Return what is shown instead of an answer."""
    return site_page(
        Page("Not answered", error, "", {}, "codeguard doctor", frame.made), replace(frame, question="")
    )
