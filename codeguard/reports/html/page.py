"""The page template of all reports, and the parts that they share."""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codeguard import __version__
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage, escaped
from codeguard.reports.styled import code

COMPARED_LINES = 200  # of two texts shown side by side
LONGEST_LINE = 400  # characters; longer lines are cut, with a mark


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page.

    `story` is a one-sentence summary. `body` is HTML, made of the parts below. `filters` are classes of
    `article` with the names of their switches, shown above the body. `command` produced the page, at the time
    `made`.
    """

    title: str
    story: str
    body: str
    facts: Mapping[str, str]
    command: str
    made: str
    warnings: Sequence[str] = ()
    filters: Mapping[str, str] | None = None


def page_of(page: Page) -> FinishedPage:
    """Return the page as one file; its content security policy allows only its own style sheet."""
    # A switch that is off hides the articles of its class, without a script.
    style = style_sheet("style.css") + "".join(map(hidden, page.filters or ()))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = f"""<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<style>{style}</style>"""
    return document(page, head)


def hidden(name: str, element: str = "article") -> str:
    """Return the CSS rule that hides the articles of a switch that is off."""
    return f"body:has(#f-{name}:not(:checked)) {element}.f-{name}{{display:none}}\n"


def document(page: Page, head: str, top: str = "") -> FinishedPage:
    """Return a page with additional head lines, and HTML above its title."""
    filters = page.filters or {}
    facts = "".join(
        f"<div><dt>{text(key)}</dt><dd>{text(value)}</dd></div>" for key, value in page.facts.items()
    )
    warnings = "".join(f'<p class="warnings">{text(line)}</p>' for line in page.warnings)
    switches = "".join(
        f'<label><input type="checkbox" id="f-{name}" checked> {text(label)}</label>'
        for name, label in filters.items()
    )
    chooser = f'<fieldset class="filters"><legend>Show</legend>{switches}</fieldset>' if filters else ""
    return FinishedPage(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{head}
<title>{text(page.title)} · codeguard</title>
</head>
<body>
{top}<header>
<h1>{text(page.title)}</h1>
<p class="story">{text(page.story)}</p>
<dl class="facts">{facts}</dl>
{warnings}
</header>
<main>
{chooser}
{page.body}
</main>
<footer>{text(page.made)} · codeguard {text(__version__)} · <code>{text(page.command)}</code></footer>
</body>
</html>
""")


def text(value: str) -> str:
    """Return untrusted text for HTML: secrets masked, invisible control characters and markup escaped."""
    return html.escape(escaped(mask_secrets(value), keep="\n\t"))


def tag(words: str, kind: str = "") -> str:
    """Return a label; `kind` is good, bad, warning or nothing."""
    return f'<span class="tag {kind}">{text(words)}</span>'


def place(path: str, start: int, end: int = 0) -> str:
    """Return a location in a file."""
    lines = f"{start}-{end}" if end > start else str(start)
    return f'<span class="place">{text(path)}:{lines}</span>'


def code_block(source: str) -> str:
    """Return a text of code, its words colored."""
    lines = []
    for line in code(_shortened(source)):
        spans = (
            f'<span class="{part.style}">{html.escape(part.text)}</span>'
            if part.style
            else html.escape(part.text)
            for part in line
        )
        lines.append("".join(spans))
    shown = "\n".join(lines)
    return f"<pre>{shown}</pre>" if shown.strip() else ""


def folded(summary: str, inside: str) -> str:
    """Return content that is collapsed until the reader opens it."""
    return f"<details><summary>{text(summary)}</summary>{inside}</details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML cells."""
    top = "".join(f"<th>{text(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def side_by_side(left: tuple[str, str], right: tuple[str, str]) -> str:
    """Return two titled texts side by side, differing lines colored; at most `COMPARED_LINES` of each are shown."""
    ours, theirs = (_shortened(part).split("\n")[:COMPARED_LINES] for part in (left[1], right[1]))
    figures = [f"<figure><h4>{text(title)}</h4><pre>" for title in (left[0], right[0])]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for place, (lines, mark) in enumerate(((ours[a:b], "ins"), (theirs[c:d], "del"))):
            for line in map(text, lines):  # `ins` and `del` are blocks, which need no line break
                figures[place] += f"{line}\n" if kind == "equal" else f"<{mark}>{line or ' '}</{mark}>"
    return f'<div class="twins">{"".join(f"{figure}</pre></figure>" for figure in figures)}</div>'


def _shortened(source: str) -> str:
    lines = source.strip("\n").split("\n")
    return "\n".join(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …" for line in lines)


@cache
def style_sheet(name: str) -> str:
    """Return a style sheet of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
