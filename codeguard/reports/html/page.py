"""The frame of all pages, their templates, and the parts that Python makes for them.

Whatever a template shows is masked and escaped by the environment; only `Markup` is left as it is, which the
functions below and the templates' own macros make.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from codeguard import __version__
from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage, escaped
from codeguard.models import text_digest
from codeguard.ranking.scoring import by_urgency
from codeguard.reports.styled import code, counted

HERE = Path(__file__).parent
COMPARED_LINES = 200  # of two texts shown side by side
LONGEST_LINE = 400  # characters; longer lines are cut, with a mark


@dataclass(frozen=True, slots=True)
class Page:
    """The frame of a page.

    `story` is a one-sentence summary. `filters` are classes of `article` with the names of their switches, shown
    above the body. `command` produced the page, at the time `made`.
    """

    title: str
    story: str
    facts: Mapping[str, str]
    command: str
    made: str
    warnings: Sequence[str] = ()
    filters: Mapping[str, str] | None = None


def page_of(
    page: Page, template: str = "page.html", layout: str = "page.html", **values: Any
) -> FinishedPage:
    """Return the page of a template.

    In the layout `page.html` it is one file, whose content security policy allows only its own style sheet.
    """
    # A switch that is off hides the articles of its class, without a script.
    style = style_sheet("style.css") + "".join(map(hidden, page.filters or ()))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    frame = {"layout": layout, "page": page, "style": Markup(style), "policy": Markup(policy)}
    return FinishedPage(environment().get_template(template).render(**frame, **values))


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(code=code_block, by_urgency=by_urgency, file_id=file_id, counted=counted)
    made.globals.update(version=__version__, frame=None)
    return made


def visible(value: Any) -> Any:
    """Return a value as a template shows it: secrets masked, invisible control characters escaped."""
    return value if isinstance(value, Markup) else escaped(mask_secrets(str(value)), keep="\n\t")


def hidden(name: str, element: str = "article") -> str:
    """Return the CSS rule that hides the articles of a switch that is off."""
    return f"body:has(#f-{name}:not(:checked)) {element}.f-{name}{{display:none}}\n"


def code_block(source: str) -> Markup:
    """Return a text of code, its words colored."""
    lines = (
        "".join(
            f'<span class="{part.style}">{escape(part.text)}</span>' if part.style else escape(part.text)
            for part in line
        )
        for line in code(_shortened(source))
    )
    shown = "\n".join(lines)
    return Markup(f"<pre>{shown}</pre>" if shown.strip() else "")


def side_by_side(left: tuple[str, str], right: tuple[str, str]) -> Markup:
    """Return two titled texts side by side, differing lines colored; at most `COMPARED_LINES` of each are shown."""
    ours, theirs = (_shortened(part).split("\n")[:COMPARED_LINES] for part in (left[1], right[1]))
    figures = [f"<figure><h4>{escape(visible(title))}</h4><pre>" for title in (left[0], right[0])]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for place, (lines, mark) in enumerate(((ours[a:b], "ins"), (theirs[c:d], "del"))):
            for line in (
                escape(visible(line)) for line in lines
            ):  # `ins` and `del` are blocks: no line break
                figures[place] += f"{line}\n" if kind == "equal" else f"<{mark}>{line or ' '}</{mark}>"
    return Markup(f'<div class="twins">{"".join(f"{figure}</pre></figure>" for figure in figures)}</div>')


def file_id(path: str) -> str:
    """Return the name of a file in URLs."""
    return text_digest(path)[:32]


def _shortened(source: str) -> str:
    lines = source.strip("\n").split("\n")
    return "\n".join(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …" for line in lines)


@cache
def style_sheet(name: str) -> str:
    """Return a style sheet of this package."""
    return HERE.joinpath(name).read_text(encoding="utf-8")
