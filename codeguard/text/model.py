"""The one interface of the text defenses: documents and a query in, kept and rejected with reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from codeguard.errors import CodeguardError
from codeguard.models import text_digest


class TextDefenseError(CodeguardError):
    """A text defense was given something it cannot work on, or could not finish."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text with what is known of it.

    `label` is the class that its contributor claims (label-flip defense
    only). `source` names who contributed it: documents of one source vote
    once. `trusted` has to come from the caller's own records, never from the
    text. An empty `id` becomes the first 16 digits of the text's sha256.
    """

    text: str
    id: str = ""
    label: str = ""
    source: str = ""
    trusted: bool = False
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", text_digest(self.text)[:16])


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a defense decided about one document.

    `rule` is a stable word for programs, `reason` one line for a person,
    `scores` the figures behind it.
    """

    document: Document
    kept: bool
    rule: str
    reason: str
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the judgment as plain values, the text itself left out."""
        return {
            "id": self.document.id,
            "label": self.document.label,
            "kept": self.kept,
            "rule": self.rule,
            "reason": self.reason,
            "scores": {name: round(value, 6) for name, value in self.scores.items()},
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """Every document with its judgment, in the order given; `notes` concern the batch as a whole.

    `error` is not empty where the defense itself failed: everything is then
    rejected, and this says why. `failures` are the messages of calls of a
    language model that failed: the judgments are then of less than was asked.
    """

    judgments: tuple[Judgment, ...]
    notes: tuple[str, ...] = ()
    error: str = ""
    failures: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Document, ...]:
        """The documents that passed."""
        return tuple(judgment.document for judgment in self.judgments if judgment.kept)

    @property
    def rejected(self) -> tuple[Judgment, ...]:
        """The judgments of the documents that did not pass."""
        return tuple(judgment for judgment in self.judgments if not judgment.kept)

    def to_json(self) -> dict[str, Any]:
        """Return the selection as plain values."""
        return {
            "kept": sum(judgment.kept for judgment in self.judgments),
            "rejected": len(self.rejected),
            "notes": list(self.notes),
            "error": self.error,
            "failures": list(self.failures),
            "judgments": [judgment.to_json() for judgment in self.judgments],
        }


@runtime_checkable
class TextDefense(Protocol):
    """Anything that sorts documents into kept and rejected."""

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge every document, in order; a failure of the defense rejects all of them."""
        ...


def reject_all(documents: Sequence[Document], rule: str, reason: str, *, error: str = "") -> Selection:
    """Return a selection that keeps nothing, for the one reason given."""
    judgments = tuple(Judgment(document, False, rule, reason) for document in documents)
    return Selection(judgments, error=error)
