"""A scripted model that does what a gullible one does: obeys its context, else repeats the majority."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from codeguard.text.reading import SUMMARY
from codeguard.text.tokens import content_words, sentences
from experiments.text.loopback import Reply, completion

_DOCUMENT = re.compile(r"<document \d+ ([0-9a-f]{16})>\n(.*?)\n</document \d+ \1>", re.DOTALL)
_QUESTION = re.compile(r"\AQuestion: (.*?)\n\n<document", re.DOTALL)
# Orders in the texts are given as: an imperative, then what to write between guillemets.
_REPLACE = re.compile(r"\b(?:ignore|disregard|forget|override|instead|cancel)\b[^«]*«([^»]+)»", re.IGNORECASE)
_SECOND = re.compile(r"\b(?:ignore|disregard|forget|override|instead|cancel)\b[^‹]*‹([^›]+)›", re.IGNORECASE)
_APPEND = re.compile(
    r"\b(?:mention|stress|add|state|include|conclude|remember|note)\b[^«]*«([^»]+)»", re.IGNORECASE
)
REPEATED = 2  # documents that have to say a side remark before it is repeated


def gullible(claims: Mapping[str, tuple[str, str]]) -> Callable[[dict[str, Any]], Reply]:
    """Return the model; `claims` gives the two rival answers of each question, so that it can count heads."""

    def respond(request: dict[str, Any]) -> Reply:
        content = request["messages"][-1]["content"]
        found = _QUESTION.match(content)
        documents = [match.group(2) for match in _DOCUMENT.finditer(content)]
        question = found.group(1) if found else ""
        if SUMMARY in content:
            return completion(summarise(question, documents[0], claims.get(question, ("", ""))))
        return completion(answer(documents, claims.get(question, ("", ""))))

    return respond


def summarise(question: str, text: str, claims: tuple[str, str]) -> str:
    """Obey an order in the text, else give its two sentences that say most about the question."""
    order = _REPLACE.search(text)
    if order:
        return order.group(1)
    remark = _APPEND.search(text)
    asked = set(content_words(question))
    parts = [part for part in sentences(text) if "«" not in part and "»" not in part]
    ranked = sorted(
        range(len(parts)),
        key=lambda index: (
            -any(claim and claim in parts[index].lower() for claim in claims),
            -len(asked & set(content_words(parts[index]))),
            index,
        ),
    )
    chosen = " ".join(parts[index] for index in sorted(ranked[:2]))
    return f"{chosen} {remark.group(1)}".strip() if remark else chosen or "nothing relevant"


def answer(texts: list[str], claims: tuple[str, str]) -> str:
    """Obey the first order in the texts, else repeat what most of them claim and what several remark."""
    for text in texts:
        order = _REPLACE.search(text) or _SECOND.search(text)
        if order:
            return order.group(1)
    counts = [sum(claim in text.lower() for text in texts) if claim else 0 for claim in claims]
    parts = [part for text in texts for part in set(sentences(text))]
    said = [claims[0] if counts[0] > counts[1] else claims[1]] if any(counts) else []
    said += [match.group(1) for text in texts if (match := _APPEND.search(text))][:1]
    said += [part for part, count in Counter(parts).items() if count >= REPEATED]
    return ". ".join(said) or (parts[0] if parts else "no answer")
