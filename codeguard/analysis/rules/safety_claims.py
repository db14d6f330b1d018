"""Comments that claim safety, or the absence of effects, next to code that contradicts them.

Retrieved code is read together with its comments: "sanitized above" next to an injection keeps
readers and models from checking.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from codeguard.analysis import Reading, Segment, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, Match, Rule, rules_of
from codeguard.analysis.rules.insecure import SIGNAL as INSECURE
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse
from codeguard.models import Confidence, Severity

_CLAIM = lazy(
    r"\b(?:safe(?:ly)?|secure(?:ly)?|saniti[sz]e[ds]?|validated|escaped|constant[- ]time|timing[- ]safe|"
    r"trusted (?:input|source|data|caller|content)|no (?:\w+ )?injections?|injection[- ]proof|harmless|hardened|"
    r"vetted|audited|already (?:checked|verified|filtered|cleaned|quoted)|(?:not|never) (?:vulnerable|exploitable)|"
    r"cannot be (?:exploited|injected|abused)|parameteri[sz]ed|cryptographically (?:strong|secure)|tamper[- ]proof)\b",
    re.IGNORECASE,
)
_DENIED = lazy(
    r"\b(?:not|never|isn't|isnt|aren't|un|in|hardly|no longer|less|more|without being|must be|should be|needs? to be|"
    r"to be|needed to|required to|necessary to|for|make sure|ensure|if|unless|until|how|only)[ -]?(?:\w{1,12} ){0,2}$",
    re.IGNORECASE,
)
_OTHER_SAFETY = lazy(
    r"(?:thread|ascii|type|async|process|signal|memory|fail|exception|null|coroutine|fork|greenlet|reentr\w+|multiprocess\w*)"
    r"[- ]?(?:and[- ]\w+[- ])?$",
    re.IGNORECASE,
)
_OTHER_USE = lazy(
    r"^(?:[- ]?guard|[- ]?mode|[- ]?load|_|\(|\.\w| ?= ?| default| to (?:ignore|call|assume|skip|remove)| because)"
)
_BEHIND = lazy(r"\b(?:todo|fixme|xxx|warning|caution|danger|beware|insecure|unsafe|vulnerab)", re.IGNORECASE)
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
_TEMPORARY = lazy(
    r"te?mp", re.IGNORECASE
)  # objects that the function itself created are not covered by its promise
_LONGEST = 400_000
_TOO_LONG = f"claims of safety were not looked for beyond {_LONGEST:,} characters of a comment"
_LINES_ABOVE = 3
_LINES_AROUND = 8  # lines around a finding in which a comment in the same function refers to it
_ABOUT = frozenset(rule.id for rule in INSECURE.rules if rule.claimed_safe)


class SafetyClaimsSignal:
    """Claims of safety next to findings of the rules for insecure code."""

    name: ClassVar[str] = "safety_claims"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "comments that claim safety beside code that is not safe"
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        """Yield the claims in a Python file next to a finding about insecure code, or next to effects."""
        if reading.tree is None:
            return
        yield from reading.unread.apart("false-effect", _false_effects, reading)
        if not _CLAIM.search(reading.text):
            return
        found = [item for item in INSECURE.inspect(reading, context) if item.rule in _ABOUT]
        if not found:
            return
        stretches = [(*_stretch(reading, item), item) for item in found]
        for segment, words in _claims(reading):
            start, end, line = segment.start, segment.end, reading.line_of(segment.start)
            reach = (
                _LINES_AROUND if segment.kind is SegmentKind.COMMENT else reading.line_of(len(reading.text))
            )
            beside = [
                item
                for first, last, item in stretches
                if first <= line <= last
                and (line <= first + _LINES_ABOVE or abs(reading.line_of(item.start) - line) <= reach)
            ]
            if beside:
                yield _match(start, end, words, max(beside, key=lambda item: item.severity or Severity.INFO))


_NARROWED = lazy(
    r"\W{0,3}(?:outside|unless|except|beyond|other than|but|until|without|that is not|which is not)\b"
)


def _false_effects(reading: Reading) -> Iterator[Match]:
    """Yield descriptions that promise no changes, in functions that delete, move or send something."""
    if not _NO_EFFECT.search(reading.text):
        return
    effects = [
        (call.lineno, name)
        for call in reading.nodes_of(ast.Call)
        if _EFFECT.match(name := reading.names.called(call)) and not _TEMPORARY.search(unparse(call)[:300])
    ]
    for segment in reading.segments if effects else ():
        if segment.kind not in (SegmentKind.COMMENT, SegmentKind.DOCSTRING):
            continue
        text = segment.text[:_LONGEST]
        found = _NO_EFFECT.search(text)
        if found is not None and _NARROWED.match(text, found.end()):
            continue  # "never removes anything outside of the folder" is a weaker promise
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


def _match(start: int, end: int, words: str, beside: Match) -> Match:
    serious = (beside.severity or Severity.INFO) >= Severity.MEDIUM
    return Match(
        "false-claim",
        start,
        end,
        f"the comment says {words!r} beside {beside.rule}: {beside.reason}",
        Severity.HIGH if serious else Severity.LOW,
        Confidence.MEDIUM if serious else Confidence.LOW,
    )


def _claims(reading: Reading) -> Iterator[tuple[Segment, str]]:
    """Yield the comments and docstrings that claim safety, with the words."""
    for segment in reading.segments:
        if segment.kind not in (SegmentKind.COMMENT, SegmentKind.DOCSTRING):
            continue
        if len(segment.text) > _LONGEST:
            reading.unread.note(_TOO_LONG, reading.line_of(segment.start))
        words = safety_claim(segment)
        if words:
            yield segment, words


def safety_claim(segment: Segment) -> str:
    """Return the words in which a comment claims safety, or ""."""
    text = segment.text[:_LONGEST]
    if _BEHIND.search(text):
        return ""
    for match in _CLAIM.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        if (
            _DENIED.search(before)
            or _OTHER_SAFETY.search(before)
            or _OTHER_USE.match(text[match.end() : match.end() + 16])
            or _is_quoted(text, match)
        ):
            continue
        return match.group()
    return ""


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Return whether a word is in quotes or backticks of its own, as the name of something."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return before == after and before in ("`", "'", '"')


def _stretch(reading: Reading, item: Match) -> tuple[int, int]:
    """Return the lines in which a claim refers to a finding: its function and the lines right above."""
    line = reading.line_of(item.start)
    function = _function_at(reading, line)
    if function is None:
        return line - _LINES_ABOVE, line
    first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
    return first - _LINES_ABOVE, function.end_lineno or line


SIGNAL = SafetyClaimsSignal()
