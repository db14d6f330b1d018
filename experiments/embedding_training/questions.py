"""Questions about functions, each with the text that answers it: what was said beside code, and the code without it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from codeguard.index.lexical import in_words

LONGEST = 300  # characters of a question
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_ROLE = re.compile(r":\w+:`([^`]*)`")
_NO_SENTENCE = re.compile(r"Parameters|Args|Arguments|Returns|Raises|Example|Note|See|Copyright|@")
_NO_SUMMARY = re.compile(r"see |auto|deprecated|todo|copyright|@|\{@inherit|:", re.I)


class Kind(StrEnum):
    """What a question was made of."""

    SUMMARY = "first sentence of the documentation"
    NAMELESS = "the same, the function's name taken out of its text"
    SENTENCE = "a later sentence"
    COMMENT = "comment"
    MESSAGE = "message of an error"
    NAME = "name"
    LINES = "lines from the middle"
    MODULE = "first sentence about the module"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the text that answers it."""

    kind: Kind
    question: str
    answer: str


def questions(file: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions about a file of `functions`, the same ones every time."""
    chance = random.Random(file["path"])
    for function in file["functions"]:
        yield from _of_function(function, chance)
    summary, _ = _sentences(file["about"])
    if len(summary.split()) >= 4:
        function = chance.choice(file["functions"])
        yield Question(Kind.MODULE, summary, _text(function["symbol"], function["code"]))


def _of_function(function: Mapping[str, Any], chance: random.Random) -> Iterator[Question]:
    symbol, code, documentation = function["symbol"], function["code"], function["documentation"]
    name, at = symbol.rpartition(".")[2], function["documented_at"]
    whole = f'{code[:at]}"""{documentation}"""\n{code[at:]}' if documentation else code
    if documentation:
        summary, sentences = _sentences(documentation)
        if len(summary.split()) >= 3 and not _NO_SUMMARY.match(summary):
            yield Question(Kind.SUMMARY, summary, _text(symbol, code))
            if chance.random() < 0.3:  # a name may be all that a question shares with its answer
                yield Question(Kind.NAMELESS, summary, code.replace(name, "f"))
        for sentence in sentences[:1]:
            yield Question(Kind.SENTENCE, sentence, _text(symbol, code))
    for comment, start, end in function["comments"]:
        bare = chance.random() < 0.5 or not documentation
        left = code[:start] + code[end:] if bare else whole.replace(comment, "")
        yield Question(Kind.COMMENT, comment, _text(symbol, left))
    if function["message"] and chance.random() < 0.3:
        yield Question(Kind.MESSAGE, function["message"], _text(symbol, whole))
    if chance.random() < 0.15:
        yield Question(Kind.NAME, name, _text(symbol, whole))
    lines = code.splitlines(keepends=True)
    if len(lines) >= 6 and chance.random() < 0.15:
        middle = len(lines) // 2
        yield Question(Kind.LINES, "".join(lines[middle - 1 : middle + 2]), _text(symbol, whole))


def _text(symbol: str, code: str) -> str:
    words = in_words(symbol)
    return f"{words}\n{code}" if words else code


def _sentences(documentation: str) -> tuple[str, list[str]]:
    """Return the first sentence, and those of the next two that describe something."""
    plain = _ROLE.sub(r"\1", documentation).replace("``", "`").strip()
    first = _SENTENCE_END.split(" ".join(re.split(r"\n\s*\n", plain)[0].split()))[0]
    following = [item.strip() for item in _SENTENCE_END.split(" ".join(plain.split()))[1:3]]
    said = [
        item
        for item in following
        if 5 <= len(item.split()) <= 40 and re.match("[A-Z][a-z]", item) and not _NO_SENTENCE.match(item)
    ]
    return first[:LONGEST], [item[:LONGEST] for item in said]
