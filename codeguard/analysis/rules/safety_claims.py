"""Descriptions that promise the absence of effects, next to code that contradicts them.

Retrieved code is read together with its comments: "makes no changes" above a call that deletes keeps
readers and models from checking.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match, rules_of
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
    """Yield the promises in a Python file that an effect in the same function breaks."""
    if reading.tree is not None:
        yield from reading.unread.apart("false-effect", _false_effects, reading)


def _false_effects(reading: Reading) -> Iterator[Match]:
    """Yield descriptions that promise no changes, in functions that delete, move or send something."""
    if not _NO_EFFECT.search(reading.text):
        return
    effects = [
        (call.lineno, name)
        for call in reading.nodes_of(ast.Call)
        if _EFFECT.match(name := reading.names.called(call))
    ]
    for segment in reading.segments if effects else ():
        if segment.kind not in (SegmentKind.COMMENT, SegmentKind.DOCSTRING):
            continue
        text = segment.text[:_LONGEST]
        found = _NO_EFFECT.search(text)
        if found is None or _DENIED.search(text[max(0, found.start() - 40) : found.start()]):
            continue
        function = _function_at(reading, reading.line_of(segment.start))
        if function is None:
            continue
        done = [name for line, name in effects if function.lineno <= line <= (function.end_lineno or 0)]
        if done:
            yield Match(
                "false-effect", segment.start, segment.end, f"says {found.group()!r}, and calls {done[0]}"
            )


def _function_at(reading: Reading, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the innermost function around a line, or None."""
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [
        *reading.nodes_of(ast.FunctionDef),
        *reading.nodes_of(ast.AsyncFunctionDef),
    ]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno) if around else None


SIGNAL = FileSignal(
    "safety_claims",
    "descriptions that promise no effects beside code that has them",
    tuple(rules_of(__file__).values()),
    _inspect,
    intent=True,
)
