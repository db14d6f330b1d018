"""Instructions in prose, by tables of what is instructed and how it is worded.

A paragraph is read as one line. A forbidden action ("never send"), a quotation, or an example of
what to look for is not an instruction.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

SHORTEST = 16  # characters of a text that may be an instruction
LONGEST = 6_000  # characters of a paragraph to examine
MOST_LABELS = 20  # of a text
_LABEL = lazy(
    r"^\W{0,6}(?:to-?do|action (?:item|required)|next step|task|reminder|follow-?up|instruction|user|human|assistant"
    r"|(?:system|admin|developer|operator)(?:[ _-]?(?:message|prompt|note|override|update|alert|notice))?"
    r"|note to self)s?\b",
    re.IGNORECASE | re.MULTILINE,
)
_SHOWN = 120
_WINDOW, _OVERLAP = 700, 300  # characters
_BEFORE = 70  # characters in which an instruction is revoked


@dataclass(frozen=True, slots=True)
class Order:
    """One row of a table: the rule it supports, what is instructed, and the wording."""

    rule: str
    what: str
    pattern: re.Pattern[str]
    needs: Sequence[str]  # every text that matches contains one of these, in lower case
    also: Sequence[str] = ()  # and one of these
    severity: Severity | None = None
    prose: bool = False  # only in prose, not in code comments
    code: bool = False  # only in comments and docstrings, not in prose
    negated: bool = False  # the pattern itself contains the negation
    begins: bool = False  # in code only at the start of a clause: "you may pass credentials" describes
    foreign: bool = False  # only in texts with words of another language than English


@cache
def read_orders(path: Path) -> tuple[Order, ...]:
    """Return the table in a TOML file.

    Patterns of `any` are searched in a paragraph as one line, ignoring case; `<NAME>` stands for a
    pattern in the table `names`. The other keys are as in `Order`.
    """
    stored: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    names: dict[str, str] = {}
    for name, pattern in stored["names"].items():
        names[name] = _filled(pattern, names)
    made = []
    for row in stored["order"]:
        pattern = lazy("|".join(_filled(one, names) for one in row.pop("any")), re.IGNORECASE)
        severity = Severity[row.pop("severity").upper()] if "severity" in row else None
        made.append(Order(**row, pattern=pattern, severity=severity))
    return tuple(made)


def _filled(pattern: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found[1], found[0]), pattern)


_NAME = re.compile(r"<([A-Z_]+)>")
_FOREIGN = lazy(
    r"[\u00c0-\u024f\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7ff]|\b(?:nicht|benutzer|sende|schicke|utilisateur|envoie|usuario|envía|usuário|utente)\b",
    re.IGNORECASE,
)
_FOREIGN_LEAST = 3  # letters or words; English texts contain foreign names with one or two
_TAKEN_BACK = lazy(
    r"\b(?:never|do not|don't|does not|doesn't|must not|mustn't|should not|shouldn't|cannot|can't|not"
    r"|avoid|refuses? to|forbid\w{0,5}|prohibit\w{0,3}|flag|detect\w{0,3}|block\w{0,3}|prevent\w{0,3}|reject\w{0,3}"
    r"|warn\w{0,5}|look for|looks for|check(?:s|ing)? for|scan(?:s|ning)? for|such as|for example|e\.g\."
    r"|attempt\w{0,3}|attacks?|malicious|suspicious|injection|vulnerab\w{0,8}|example|no need to"
    r"|(?:anything|something|everything|whatever|code|scripts?|changes?|calls?|lines?|commits?) that"
    r"|instead of|rather than|anti-?patterns?|bad|wrong|risk\w{0,2}|unsafe|whether|red flags?|❌"
    r"|✗)\b[^.!?]{0,60}$|[❌✗🚫][^.!?\n]{0,60}$"
    # What the authors of a program or the program itself does is no order.
    r"|(?:^|[-*\u2022] )(?:added|fixed|changed|removed|improved|updated|renamed|deprecated|dropped|introduced)\b"
    r"[^.!?]{0,60}$|\b(?:functions?|methods?|class(?:es)?|options?|programs?|tools?|commands?) (?:that|which) $"
    r"|\b(?:we|i)(?: (?:can|could|will|would|may|might|do|just|simply|now|also|then|only)){0,3} $",
    re.IGNORECASE,
)
_QUOTED = lazy(r"[\"“'`«][^\"”'`»]{0,60}$")


@dataclass(frozen=True, slots=True)
class Ordered:
    """An instruction that was found: its row, its words, and the character offset of its start in the file."""

    order: Order
    words: str
    start: int

    @property
    def reason(self) -> str:
        """What is instructed, with the words."""
        shown = self.words if len(self.words) <= _SHOWN else f"{self.words[: _SHOWN - 1]}…"
        return f"{self.order.what}: “{shown}”"


def orders_in(table: Sequence[Order], text: str, start: int, *, prose: bool) -> Iterator[Ordered]:
    """Yield the instructions in a paragraph, comment or docstring, each rule once.

    `start` is its character offset in the file.
    """
    if len(text) < SHORTEST:
        return
    said: set[str] = set()
    for line in _lines(text[:LONGEST]):
        yield from _in_line(table, line, text, start, prose, said)


def _lines(text: str) -> Iterator[str]:
    """Yield a text as one line, in parts, and separately the text after a label at the start of a line."""
    yield from _windows(" ".join(text.split()))
    for label in islice(_LABEL.finditer(text), MOST_LABELS):
        if text[: label.start()].strip():
            yield " ".join(text[label.start() : label.start() + _WINDOW].split())


def _windows(line: str) -> Iterator[str]:
    """Yield a line in overlapping parts, in which patterns with gaps are fast."""
    for at in range(0, max(1, len(line) - _OVERLAP), _WINDOW - _OVERLAP):
        window = line[at : at + _WINDOW]
        if len(line) <= _WINDOW or may_speak(window):
            yield window


# Three words in a row, another script, or an image: entries of a lock file have none of these.
# Three words in a row; of the first its last letter is enough, so that a search does not begin at each of its letters.
_SPEAKS = lazy(
    r"[A-Za-z'\u2019][^\w\s]? [^\w\s]?[A-Za-z'\u2019]{1,20}[^\w\s]? [^\w\s]?[A-Za-z'\u2019]|[^\x00-\x7f]|!\["
)


def may_speak(text: str) -> bool:
    """Return whether a part of a long text may be a sentence, and not only keys, versions, addresses and digests."""
    return _SPEAKS.search(text) is not None


_BEGINS = lazy(
    r"(?:\A|[.!?:;,>\u2014\])*#-]\s*|\b(?:and|then|please|must|should|shall|always|now|first|also|just|you)\s)[\W_]*\Z",
    re.IGNORECASE,
)
_THIRD_PERSON = lazy(r"(?!always\b)[A-Za-z][a-z]{2,20}(?<!s)s\b")


def _in_line(
    table: Sequence[Order], line: str, text: str, start: int, prose: bool, said: set[str]
) -> Iterator[Ordered]:
    foreign = len(list(islice(_FOREIGN.finditer(line), _FOREIGN_LEAST))) == _FOREIGN_LEAST
    low = line.lower()
    for order in table:
        if order.rule in said or (order.code if prose else order.prose) or (order.foreign and not foreign):
            continue
        if not any(word in low for word in order.needs):
            continue
        if order.also and not any(word in low for word in order.also):
            continue
        for found in order.pattern.finditer(line):
            before = line[max(0, found.start() - _BEFORE) : found.start()]
            taken_back = not order.negated and _TAKEN_BACK.search(before) is not None
            # `Opens …` in a comment or docstring describes the code.
            described = not prose and _THIRD_PERSON.match(found.group()) is not None
            inside = order.begins and not prose and _BEGINS.search(before) is None
            shown = _quoted(before, line, found.end())
            if not taken_back and not described and not inside and not shown:
                said.add(order.rule)
                yield Ordered(order, found.group(), _place(text, found.group(), start))
                break


def _quoted(before: str, line: str, end: int) -> bool:
    opening = _QUOTED.search(before)
    if opening is None:
        return False
    mark = opening.group()[0]
    closing = {"“": "”", "«": "»"}.get(mark, mark)
    if mark in "'`\"" and before.count(mark) % 2 == 0:
        return False
    return closing in line[end : end + 80]


def _place(text: str, found: str, start: int) -> int:
    """Return the position of the first words of a match."""
    words = found.split()[:3]
    at = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return start + (at.start() if at else 0)
