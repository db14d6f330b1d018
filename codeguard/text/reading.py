"""What a reader is: it answers a query from texts and summarises them; an LLM, or sentences picked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of one or more texts.

    `log_probability` is the natural logarithm of the joint probability of
    the answer's tokens under the reader, `perplexity` the exponential of
    their mean negative logarithm; None where the reader does not tell.
    `error` is not empty where there is no reading: then `text` is empty.
    `failed` says that it was the call that failed and not the text that held
    nothing.
    """

    text: str
    log_probability: float | None = None
    perplexity: float | None = None
    error: str = ""
    failed: bool = False


@runtime_checkable
class Reader(Protocol):
    """Answers and summarises. A failed call is an error of that text, never an exception."""

    def answer(self, query: str, texts: Sequence[str]) -> Reading:
        """Answer the query from all the texts together."""
        ...

    def answer_each(self, query: str, texts: Sequence[str]) -> list[Reading]:
        """Answer the query from each text alone; the order is kept."""
        ...

    def summarise_each(self, query: str, texts: Sequence[str]) -> list[Reading]:
        """Say in two sentences what each text, alone, contributes to the query; the order is kept."""
        ...


def failures(readings: Sequence[Reading]) -> tuple[str, ...]:
    """Return one line for each different message of failed calls, with how many calls it concerns."""
    counts = Counter(reading.error for reading in readings if reading.failed)
    return tuple(
        f"{count} of {len(readings)} calls of the language model failed: {message}"
        for message, count in counts.items()
    )
