"""The interface of readers, which answer a query from texts and summarise texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """An answer or a summary made from one or more texts.

    `log_probability` is the natural logarithm of the joint probability of the answer's tokens,
    `perplexity` the exponential of their mean negative log-probability; both are None if the reader
    does not report them. If there is no reading, `text` is empty and `error` gives the reason;
    `failed` is true if the reason is a failed call, not a text without an answer.
    """

    text: str
    log_probability: float | None = None
    perplexity: float | None = None
    error: str = ""
    failed: bool = False


@runtime_checkable
class Reader(Protocol):
    """Answers and summarises. A failed call is reported in the reading, never raised."""

    def answer(self, query: str, texts: Sequence[str]) -> ReaderAnswer:
        """Answer the query from all texts together."""
        ...

    def answer_each(self, query: str, texts: Sequence[str]) -> list[ReaderAnswer]:
        """Answer the query from each text alone, in order."""
        ...

    def summarise_each(self, query: str, texts: Sequence[str]) -> list[ReaderAnswer]:
        """Summarise in two sentences what each text alone says about the query, in order."""
        ...


def failures(readings: Sequence[ReaderAnswer]) -> tuple[str, ...]:
    """Return a line for each distinct message of failed calls, with the number of such calls."""
    counts = Counter(reading.error for reading in readings if reading.failed)
    return tuple(
        f"{count} of {len(readings)} calls of the language model failed: {message}"
        for message, count in counts.items()
    )
