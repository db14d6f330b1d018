"""The interface of the text defenses: documents and a query in, judgments with reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from codeguard.errors import CodeguardError
from codeguard.models import named, text_digest


class TextDefenseError(CodeguardError):
    """A text defense got input that it cannot use, or it could not finish."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its metadata.

    `label` is the class that its contributor claims (used by the label-flip defense). `source`
    names the contributor; documents of one source share a vote. `trusted` has to come from the
    caller's own records, never from the text. An empty `id` is replaced by the first 16 digits of
    the text's SHA-256.
    """

    text: str
    id: str = ""
    label: str = ""
    source: str = ""
    trusted: bool = False

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", text_digest(self.text)[:16])


@dataclass(frozen=True, slots=True)
class Judgment:
    """The decision of a defense about one document.

    `rule` is a stable identifier for programs, `reason` a line for people, and `scores` holds the
    figures behind the decision.
    """

    document: Document
    kept: bool
    rule: str
    reason: str
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the judgment as plain values, without the text."""
        return {
            "id": self.document.id,
            "label": self.document.label,
            **named(self, "kept rule reason"),
            "scores": {name: round(value, 6) for name, value in self.scores.items()},
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """A judgment for every document, in order; `notes` concern the batch as a whole.

    If the defense itself failed, `error` says why and everything is rejected. `failures` are the
    messages of failed calls of a language model; the judgments then rest on fewer answers.
    """

    judgments: tuple[Judgment, ...]
    notes: tuple[str, ...] = ()
    error: str = ""
    failures: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Document, ...]:
        """The documents that were accepted."""
        return tuple(judgment.document for judgment in self.judgments if judgment.kept)

    @property
    def rejected(self) -> tuple[Judgment, ...]:
        """The judgments of the documents that were rejected."""
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
    """A defense that accepts or rejects documents."""

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge every document, in order; a failure of the defense rejects all of them."""
        ...


def reject_all(documents: Sequence[Document], rule: str, reason: str, *, error: str = "") -> Selection:
    """Return a selection that rejects every document for the same reason."""
    judgments = tuple(Judgment(document, False, rule, reason) for document in documents)
    return Selection(judgments, error=error)


def no_words(document: Document) -> Judgment:
    """Return the rejection of a text without a word: it is blank, or signs and pictures alone."""
    return Judgment(document, False, "no_words", "the text has no word, so nothing can be said of it")
