"""Comments that say a thing is safe, beside code in which it is not.

Retrieved code is read together with its comments: "sanitized above" next to
an injection keeps a reader, and a model, from looking.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from codeguard.models import Confidence, Severity
from codeguard.reading import Reading, Segment, SegmentKind
from codeguard.reading.patterns import lazy
from codeguard.signals.base import Context, Rule, Sighting
from codeguard.signals.insecure import SIGNAL as INSECURE

_CLAIM = lazy(
    r"\b(?:safe(?:ly)?|secure(?:ly)?|saniti[sz]e[ds]?|validated|escaped|constant[- ]time|timing[- ]safe|"
    r"trusted (?:input|source|data|caller|content)|no (?:\w+ )?injections?|injection[- ]proof|harmless|hardened|"
    r"vetted|audited|already (?:checked|verified|filtered|cleaned|quoted)|(?:not|never) (?:vulnerable|exploitable)|"
    r"cannot be (?:exploited|injected|abused)|parameteri[sz]ed|cryptographically (?:strong|secure)|tamper[- ]proof)\b",
    re.IGNORECASE,
)
_DENIED = lazy(
    r"\b(?:not|never|isn't|isnt|aren't|un|in|hardly|no longer|less|more|without being|must be|should be|needs? to be|"
    r"to be|make sure|ensure|if|unless|until|how|only)[ -]?(?:\w{1,12} ){0,2}$",
    re.IGNORECASE,
)
_OTHER_SAFETY = lazy(
    r"(?:thread|type|async|process|signal|memory|fail|exception|null|coroutine|fork|greenlet|reentr\w+|multiprocess\w*)"
    r"[- ]?(?:and[- ]\w+[- ])?$",
    re.IGNORECASE,
)
_OTHER_USE = lazy(
    r"^(?:[- ]?guard|[- ]?mode|[- ]?load|_|\(|\.\w|=| default| to (?:ignore|call|assume|skip|remove)| because)"
)
_BEHIND = lazy(r"\b(?:todo|fixme|xxx|warning|caution|danger|beware|insecure|unsafe|vulnerab)", re.IGNORECASE)
_LONGEST = 400_000
_TOO_LONG = f"claims of safety were not looked for beyond {_LONGEST:,} characters of a comment"
_LINES_ABOVE = 3
_ABOUT = frozenset(
    {
        "sql-injection", "nosql-injection", "ldap-injection", "xpath-injection", "command-injection",
        "argument-injection", "code-injection", "eval-sandbox", "template-injection", "format-injection",
        "unsafe-reflection", "mass-assignment", "cross-site-scripting", "unescaped-markup", "header-injection",
        "log-injection", "server-side-request-forgery", "open-redirect", "path-traversal", "file-upload",
        "archive-traversal", "unsafe-deserialisation", "unpickled-file", "unsafe-yaml", "unsafe-model-file",
        "numpy-pickle", "xml-external-entity", "xml-entity-expansion", "weak-hash", "fast-password-hash",
        "constant-salt", "few-iterations", "weak-cipher", "ecb-mode", "constant-iv", "nonce-reuse", "short-key",
        "predictable-secret", "predictable-seed", "timing-comparison", "tls-not-verified", "hostname-not-verified",
        "old-tls", "ssh-host-key", "unverified-jwt", "insecure-temporary-file", "regex-injection", "download-and-run",
        "token-decides", "check-dropped", "member-of-text", "host-by-part", "unbounded-decompression", "kept-in-clear",
        "old-password-hash", "weak-connection", "short-secret", "object-without-owner", "unsigned-hook",
    }
)  # fmt: skip


class SafetyClaimsSignal:
    """Claims of safety next to what the insecure-code rules object to."""

    name: ClassVar[str] = "safety_claims"
    summary: ClassVar[str] = "comments that claim safety beside code that is not safe"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "false-claim",
            "A comment says that this is safe, and it is not",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "The comment keeps readers and models from looking at the code beside it. Mend the code, or drop "
            "the claim.",
            bad="def user(cursor, name):\n    # name is sanitized, no injection possible\n"
            '    cursor.execute("SELECT * FROM users WHERE name = \'" + name + "\'")',
            good="def user(cursor, name):\n    # no injection possible: the driver quotes the parameter\n"
            '    cursor.execute("SELECT * FROM users WHERE name = ?", (name,))',
            cwe=(1116,),
        ),
    )
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: Context) -> Iterable[Sighting]:
        """Yield the claims in a Python file that stand beside a finding about insecure code."""
        if reading.tree is None or not _CLAIM.search(reading.text):
            return
        found = [item for item in INSECURE.inspect(reading, context) if item.rule in _ABOUT]
        if not found:
            return
        stretches = [(*_stretch(reading, item), item) for item in found]
        for start, end, words in _claims(reading):
            line = reading.line_of(start)
            beside = [item for first, last, item in stretches if first <= line <= last]
            if beside:
                yield _sighting(
                    start, end, words, max(beside, key=lambda item: item.severity or Severity.INFO)
                )


def _sighting(start: int, end: int, words: str, beside: Sighting) -> Sighting:
    serious = (beside.severity or Severity.INFO) >= Severity.MEDIUM
    return Sighting(
        "false-claim",
        start,
        end,
        f"the comment says {words!r} beside {beside.rule}: {beside.reason}",
        Severity.HIGH if serious else Severity.MEDIUM,
        Confidence.MEDIUM if serious else Confidence.LOW,
    )


def _claims(reading: Reading) -> Iterator[tuple[int, int, str]]:
    """Yield where comments and docstrings claim safety, and in which words."""
    for segment in reading.segments:
        if segment.kind not in (SegmentKind.COMMENT, SegmentKind.DOCSTRING):
            continue
        if len(segment.text) > _LONGEST:
            reading.unread.note(_TOO_LONG, reading.line_of(segment.start))
        words = claim(segment)
        if words:
            yield segment.start, segment.end, words


def claim(segment: Segment) -> str:
    """Return the words with which a comment claims safety, empty where it claims none."""
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
    """Whether a word is the name of something, in quotes or backticks of its own."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return before == after and before in ("`", "'", '"')


def _stretch(reading: Reading, item: Sighting) -> tuple[int, int]:
    """Return the lines in which a claim would speak of a finding: its function with what stands right above."""
    line = reading.line_of(item.start)
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [
        *reading.nodes_of(ast.FunctionDef),
        *reading.nodes_of(ast.AsyncFunctionDef),
    ]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    if not around:
        return line - _LINES_ABOVE, line
    function = max(around, key=lambda node: node.lineno)
    first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
    return first - _LINES_ABOVE, function.end_lineno or line


SIGNAL = SafetyClaimsSignal()
