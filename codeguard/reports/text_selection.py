"""The decisions of a text defense as lines."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.corpus.secrets import mask_secrets
from codeguard.escaping import escaped
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
