"""Instructions in prose, by tables of what is instructed and how it is worded; whether prose addresses an assistant.

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

from codeguard.analysis.rules.base import Match
from codeguard.analysis.text.segments import Segment
from codeguard.corpus.patterns import lazy, stored
from codeguard.models import Severity

WORDING = {
    name: lazy("|".join(forms), re.IGNORECASE)
    for name, forms in stored(Path(__file__).with_name("wording.toml")).items()
}
"""The rows of `wording.toml`."""
_HEAD = 400  # characters at the start of a text that identify it
SHORTEST = 16  # characters of a text that may be an instruction
LONGEST = 6_000  # characters of a paragraph to examine
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
    negated: bool = False  # the pattern itself contains the negation
    foreign: bool = False  # only in texts with words of another language than English


@cache
def read_orders(path: Path) -> tuple[Order, ...]:
    """Return the table in a TOML file.

    Patterns of `any` are searched in a paragraph as one line, ignoring case; `<NAME>` stands for a
    pattern in the table `names`. The other keys are as in `Order`.
    """
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    names: dict[str, str] = {}
    for name, pattern in table["names"].items():
        names[name] = _filled(pattern, names)
    made = []
    for row in table["order"]:
        pattern = lazy("|".join(_filled(one, names) for one in row.pop("any")), re.IGNORECASE)
        severity = Severity[row.pop("severity").upper()] if "severity" in row else None
        made.append(Order(**row, pattern=pattern, severity=severity))
    return tuple(made)


def _filled(pattern: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found[1], found[0]), pattern)


_NAME = re.compile(r"<([A-Z_]+)>")
_FOREIGN_LEAST = 3  # letters or words; English texts contain foreign names with one or two
_QUOTED = lazy(r"[\"“'`«][^\"”'`»]{0,60}$")


def orders_in(table: Sequence[Order], paragraph: Segment) -> Iterator[Match]:
    """Yield the instructions in a paragraph, each rule once, with their words as the reason."""
    if len(paragraph.text) >= SHORTEST:
        said: set[str] = set()
        for window in _windows(" ".join(paragraph.text[:LONGEST].split())):
            yield from _in_window(table, window, paragraph, said)


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


def _in_window(table: Sequence[Order], line: str, paragraph: Segment, said: set[str]) -> Iterator[Match]:
    foreign = len(list(islice(WORDING["foreign"].finditer(line), _FOREIGN_LEAST))) == _FOREIGN_LEAST
    low = line.lower()
    for order in table:
        if order.rule in said or (order.foreign and not foreign):
            continue
        if not any(word in low for word in order.needs):
            continue
        if order.also and not any(word in low for word in order.also):
            continue
        for found in order.pattern.finditer(line):
            before = line[max(0, found.start() - _BEFORE) : found.start()]
            taken_back = not order.negated and WORDING["taken_back"].search(before) is not None
            if not taken_back and not _quoted(before, line, found.end()):
                said.add(order.rule)
                words = found.group()
                # Its first words show where it stands in the text, which is several lines.
                at = re.search(r"\s+".join(map(re.escape, words.split()[:3])), paragraph.text)
                start = paragraph.start + (at.start() if at else 0)
                shown = words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"
                reason = f"{order.what}: “{shown}”"
                yield Match(order.rule, start, min(paragraph.end, start + 80), reason, order.severity)
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


def instructs(text: str) -> bool:
    """Return whether a paragraph addresses an assistant or refers to its user's requests."""
    return WORDING["spoken_to"].search(text) is not None


def is_for_assistants(text: str) -> bool:
    """Return whether a whole text is a skill, a rule or a prompt, by its front matter, title or first words."""
    known = ("front_matter", "title", "greeting")
    return any(WORDING[name].match(text) for name in known) or instructs(text[:_HEAD])


def names_an_assistant(text: str) -> bool:
    """Return whether a text names an assistant, an agent or a model anywhere, or speaks of its user."""
    return WORDING["named"].search(text) is not None
