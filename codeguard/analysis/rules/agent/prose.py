"""Harmful instructions in prose: about secrets, exfiltration, concealment, checks, approval, programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.base import Match
from codeguard.analysis.text.frames import ENOUGH, Block, frames_in, read_frames
from codeguard.analysis.text.orders import orders_in, read_orders
from codeguard.corpus.patterns import lazy
from codeguard.models import Confidence, Severity

_ABOUT = lazy(
    r"\b(?:users?|assistants?|agents?|ai|llms?|secrets?|credentials?|passwords?|tokens?|keys|phrases?"
    r"|environment|instructions?|guidelines?"
    r"|restrictions?|approv\w*|polic(?:y|ies)|rules|suggestions|conversation|transcript|skills?)\b|\.ssh"
    r"|\.env\b|\.aws|!\[|[^\x00-\x7f]{3}",
    re.IGNORECASE,
)
# Addressees, and things of theirs, in instructions meant for a model.
_MODEL = lazy(
    r"\b(?:assistants?|agents?|ais?|llms?|copilot|claude|gemini|cursor|(?:language )?models?|bots?|answers?"
    r"|repl(?:y|ies)|responses?|respond|suggest\w{0,5}|complet(?:e|ions?)|generat(?:e|ed|ing)|conversations?|instructions?|prompts?)\b",
    re.IGNORECASE,
)
_TABLE = Path(__file__).with_name("orders.toml")
_FRAMES = Path(__file__).with_name("frames.toml")
_SECTION = lazy(r"^#{1,6}[ \t]", re.MULTILINE)
_FENCE = lazy(r"^[ \t]{0,8}(?:```|~~~)[ \t]*(?P<language>[\w+-]{0,20})[^\n]{0,200}$", re.MULTILINE)
_WRITTEN = frozenset(
    {"yaml", "yml", "markdown", "md", "json", "toml"}
)  # prose, or what says as much as prose
_ADDRESSED = lazy(
    r"(?<![\w.])(?:assistants?|(?<!ssh[ -])(?<!user[ -])agents?|ais?|llms?|copilot|claude|gemini|codegen"
    r"|(?:language )?models?|bots?|ki|ia)\b(?!\.\w)"
    r"|sprachmodell|ассистент|модел|нейросет|助手|模型|智能体|アシスタント|エージェント|モデル",
    re.IGNORECASE,
)
_OF_USER = lazy(
    r"\b(?:the|your) user(?:'s)?\b(?! (?:account|directory|dir|folder|name|id|interface|guide|manual)\b)",
    re.IGNORECASE,
)
_SHOWN = 120


def orders(text: str, start: int, end: int, *, prose: bool) -> Iterator[Match]:
    """Yield the harmful instructions in a paragraph, comment or docstring, each rule once.

    `start` and `end` are its character offsets in the file.
    """
    if not prose and _ABOUT.search(text) is None:
        return  # a code comment that names neither an addressee nor a prohibition
    for found in orders_in(read_orders(_TABLE), text, start, prose=prose):
        severity, confidence = found.severity, None
        if prose and severity is None:
            confidence = Confidence.HIGH  # written for all readers
        elif not prose and _MODEL.search(text) is None:
            severity = Severity.LOW  # comments describe code that hides, sends or loads something
        end_shown = min(end, found.start + 80)
        yield Match(found.order.rule, found.start, end_shown, found.reason, severity, confidence)


# What a person may be told to do to harm themselves; the other rules are about what an agent does.
_OF_PEOPLE = frozenset({"runs-download"})


def names_an_assistant(text: str) -> bool:
    """Return whether a text names an assistant, an agent or a model anywhere, or speaks of its user."""
    return _ADDRESSED.search(text) is not None or _OF_USER.search(text) is not None


def for_people(match: Match) -> Match:
    """Return an instruction in a text that names no assistant, with low severity unless it may harm a person."""
    return match if match.rule in _OF_PEOPLE else replace(match, severity=Severity.LOW)


# Minimum total weight in a text that does not say that it is for assistants, and of each frame in it.
_FOR_ANYBODY, _STRONG = 4, 2
_SHORT = 4_000  # characters


# What strong frames of programs and settings need; most pages for people have none of it.
_STRONG_SIGN = lazy(
    r"\b(?:curl|wget|scp|rsync|nc|ncat|iwr|Invoke-\w{1,20}|twine|dig|nslookup)\s|(?i:insecure|trusted-host|\bGOPROXY|GONOSUM|sslverify"
    r"|verify\s?=|no-verify|reject_?unauthorized|--privileged|\b777\b|ignore-scripts|\baudit\s?=|strict-ssl|overrides|insteadOf"
    r"|credential\.helper|hooksPath|push --mirror|authorized_key|registry|index-url|--from\b|alg\s?=|csrf|permitall)"
)


def harmful_instructions(reading: Reading, *, prose: bool, addressed: bool) -> Iterator[Match]:
    """Yield the harmful instructions in sections of a text, or in code comments that name a model.

    `addressed` says whether the text is for assistants: otherwise it needs to say more.
    """
    table = read_frames(_FRAMES)
    enough, least = (ENOUGH, 1) if addressed else (_FOR_ANYBODY, _STRONG)
    # Of many clauses, some that are weak signs stand together by chance.
    together = ENOUGH if len(reading.text) <= _SHORT else _FOR_ANYBODY
    if prose:
        sections: Iterable[list[Block]] = _sections(reading.text)
    else:
        sections = (
            [Block(segment.text, segment.start, code=False)]
            for segment in reading.segments
            if segment.kind in (SegmentKind.COMMENT, SegmentKind.DOCSTRING)
            and _ADDRESSED.search(segment.text)
        )
    for blocks in sections:
        if not addressed and not any(_STRONG_SIGN.search(block.text) for block in blocks):
            continue
        last = blocks[-1].start + len(blocks[-1].text)
        for found in frames_in(table, blocks, enough, least, together):
            what = ", ".join(dict.fromkeys(frame.what for frame in found.frames))
            words = found.words if len(found.words) <= _SHOWN else f"{found.words[: _SHOWN - 1]}…"
            start = found.start if prose else blocks[0].start
            yield Match(
                found.frames[0].rule,
                start,
                min(last, start + 80),
                f"{what}: “{words}”",
                Severity.MEDIUM,
            )


def _sections(text: str) -> Iterator[list[Block]]:
    """Yield a text's sections, each as its blocks of prose and code."""
    blocks: list[Block] = []
    at, fence = 0, ""
    for found in _FENCE.finditer(text):
        yield from _parted(text, at, found.start(), fence, blocks)
        fence = "" if fence else (found["language"].lower() or "-")
        at = found.end()
    yield from _parted(text, at, len(text), fence, blocks)
    if blocks:
        yield blocks


def _parted(text: str, start: int, end: int, fence: str, blocks: list[Block]) -> Iterator[list[Block]]:
    """Add a range to the blocks of a section; at a heading, yield the blocks and start a new section."""
    if fence and fence not in _WRITTEN:
        blocks.append(Block(text[start:end], start, code=True))
        return
    for heading in _SECTION.finditer(text, start, end) if not fence else ():
        blocks.append(Block(text[start : heading.start()], start, code=False))
        yield blocks.copy()
        blocks.clear()
        start = heading.start()
    blocks.append(Block(text[start:end], start, code=False))
