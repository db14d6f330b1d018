"""Characters that make source look different from what is executed, in any language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from codeguard.analysis import Reading
from codeguard.analysis.reading import IN_PROSE
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match
from codeguard.analysis.rules.deceptive.bidi import bidi
from codeguard.analysis.rules.deceptive.invisible import SUSPICIOUS, controls, invisible, separators
from codeguard.analysis.rules.deceptive.names import deceptive_names
from codeguard.analysis.rules.deceptive.places import Places
from codeguard.analysis.rules.deceptive.rules import PUNCTUATION, RULES
from codeguard.corpus.patterns import lazy
from codeguard.models import Severity

_MOST = 1_000  # matches of each kind per file
_TOO_MANY = f"deceptive characters were not looked for after {_MOST:,} of one sort"


_LIKE = "c"  # the language whose comments and strings are most common
_CODE_LINE = lazy(
    r"[;{}]\s*$|^\s*(?:(?:pub |public |private |static |async |export |local )*(?:function|func|fn|fun"
    r"|def|class|struct|contract|interface"
    r"|module|package|import|use|using|pragma|void|int|uint\w*|let|var|val|const|sub|proc|begin|end"
    r"|select|insert|create)\b[^.]*$"
    r"|[\w.$@%&*]+\s*(?::=|=|\+=|<-)\s*\S|[\w.$:>-]+\([^)]*\)\s*;?\s*$|(?:mov|push|pop|call|jmp|ret|lea"
    r"|add|sub|xor|cmp)\b)"
)
_LOOKED_AT = 400  # lines


def _as_code(reading: Reading) -> Reading:
    """Return the reading of a text file with lines of code as that of a language with a lexer."""
    if reading.language != "text":
        return reading
    lines = [line for line in reading.text.split("\n")[:_LOOKED_AT] if line.strip()]
    if not lines or sum(_CODE_LINE.search(line) is not None for line in lines) * 2 < len(lines):
        return reading
    made = Reading(replace(reading.file, language=_LIKE, chunks=()))
    made.unread = reading.unread
    return made


def _inspect(reading: Reading, context: DetectorContext) -> Iterator[Match]:
    """Yield the deceptive characters of a file; returns early for plain ASCII."""
    plain = reading.text.isascii()
    if plain and SUSPICIOUS.search(reading.text) is None:
        return
    reading = _as_code(reading)
    places = Places(reading)
    apart = reading.unread.apart
    sorts = [apart("controls", controls, places)]
    if not plain:
        sorts += [apart("bidi", bidi, places), apart("invisible", invisible, places)]
        sorts += [
            apart("names", deceptive_names, reading, places),
            apart("separators", separators, places),
        ]
    for found in sorts:
        for match in islice(found, _MOST):
            # Formulas and output stand in examples, too, and nobody runs those unread.
            minor = match.rule == PUNCTUATION.id and IN_PROSE in reading.shared
            yield replace(match, severity=Severity.LOW) if minor else match
        more = next(found, None)
        if more is not None:
            reading.unread.note(_TOO_MANY, reading.line_of(more.start))


SIGNAL = FileSignal(
    "deceptive",
    "characters that show something other than what the machine reads",
    RULES,
    _inspect,
    intent=True,
)
