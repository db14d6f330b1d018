"""Descriptions that promise the absence of effects, next to code that contradicts them.

Retrieved code is read together with its comments: "makes no changes" above a call that deletes keeps
readers and models from checking.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.corpus.patterns import lazy

_DENIED = lazy(
    r"\b(?:not|never|isn't|isnt|aren't|un|in|hardly|no longer|less|more|without being|must be|should be|needs? to be|"
    r"to be|needed to|required to|necessary to|for|make sure|ensure|if|unless|until|how|only)[ -]?(?:\w{1,12} ){0,2}$",
    re.IGNORECASE,
)
_NO_EFFECT = lazy(
    r"\bread[- ]only(?:\s{0,3}[:\u2013\u2014]|\s-\s|,| (?:operation|function|call|helper|check|scan)\b)|"
    r"\b(?:no|without|free of) side[- ]effects?\b|\bside[- ]effect[- ]free\b|\bmakes? no changes?\b|"
    r"\b(?:does not|doesn't|never|will not|won't) (?:modif(?:y|ies)|changes?|writes?|deletes?|removes?|"
    r"touch(?:es)?|sends?|uploads?) (?:the |any |your |to )?"
    r"(?:disk|files?|file ?system|anything|originals?|data|network)\b|"
    r"\bnothing is (?:written|deleted|changed|modified|removed|sent|uploaded)\b",
    re.IGNORECASE,
)
_EFFECT = re.compile(
    r"os\.(?:remove|unlink|rmdir|removedirs|rename|renames|replace|truncate)$|shutil\.(?:rmtree|move)$|"
    r"pathlib\.[\w.]*\.(?:unlink|rmdir|rename|replace|write_text|write_bytes)$|"
    r"(?:requests|httpx)\.(?:post|put|patch|delete)$"
)
_LONGEST = 400_000


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    if reading.tree is None or not _NO_EFFECT.search(reading.text):
        return
    effects = [
        (reading.place(function), name)
        for call in reading.nodes_of(ast.Call)
        if _EFFECT.match(name := reading.names.called(call))
        and (function := reading.names.function_of(call)) is not None
    ]
    for segment in reading.segments if effects else ():
        text = segment.text[:_LONGEST]
        described = segment.kind in (SegmentKind.COMMENT, SegmentKind.DOCSTRING)
        found = _NO_EFFECT.search(text) if described else None
        if found is None or _DENIED.search(text[max(0, found.start() - 40) : found.start()]):
            continue
        done = [name for (start, end), name in effects if start <= segment.start < end]
        if done:
            reason = f"says {found.group()!r}, and calls {done[0]}"
            yield Match("false-effect", segment.start, segment.end, reason)


SIGNAL = signal_of(
    __file__, "descriptions that promise no effects beside code that has them", _inspect, intent=True
)
