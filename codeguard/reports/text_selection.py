"""The decisions of a text defense, as lines or as a page."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import FinishedPage, escaped
from codeguard.reports.html.page import Page, folded, page_of, tag, text
from codeguard.text.model import Selection

EXCERPT = 60  # characters of a text that are shown


def selection_lines(selection: Selection) -> Iterator[str]:
    """Yield the notes, each rejected document with its reason and beginning, and the counts."""
    for note in selection.notes:
        yield f"note: {escaped(note)}"
    if selection.error:  # one reason for all of them, which the command says
        yield f"nothing was judged, so none of the {len(selection.judgments)} documents is kept"
        return
    for judgment in selection.rejected:
        yield f"rejected {escaped(judgment.document.id)}: {escaped(judgment.reason)}"
        yield f"    {escaped(_excerpt(judgment.document.text))}"
    yield f"{len(selection.kept)} kept, {len(selection.rejected)} rejected"


def _excerpt(passage: str) -> str:
    return mask_secrets(passage)[:EXCERPT]  # masked first: half a secret is not recognized as one


def selection_page(
    selection: Selection, schema: str, said: tuple[str, ...] = (), *, command: str, made: str
) -> FinishedPage:
    """Return a page with every decision, rejections first; markup in documents is escaped."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for item in selection.judgments:
        kind = "good" if item.kept else "bad"
        words = tag("kept" if item.kept else "rejected", kind)
        label = f" labelled <code>{text(item.document.label)}</code>" if item.document.label else ""
        parts[item.kept].append(
            f'<article class="{kind} f-{kind}"><p>{words} {text(item.document.id)}{label}</p>'
            f'<p><span class="faint">{text(item.rule)}</span> {text(item.reason)}</p>'
            f"<p>{text(_excerpt(item.document.text))}</p></article>\n"
        )
    body = "".join(parts[False])
    if parts[True]:
        body += folded(f"{len(parts[True])} kept", "".join(parts[True]))
    return page_of(
        Page(
            title="Text defense",
            story=f"{len(selection.kept)} documents kept, {len(selection.rejected)} rejected.",
            body=body,
            facts={"schema": schema},
            command=command,
            made=made,
            warnings=(*said, *selection.notes, *filter(None, (selection.error, *selection.failures))),
        )
    )
