"""Harmful instructions for agents, in skills, rules, prompts and settings of assistants, and in prose.

Such texts instruct an agent by nature, so the content of the instruction decides. File names are
not used: settings are recognised by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from codeguard.analysis import Reading, Segment, SegmentKind
from codeguard.analysis.rules.agent.passages import suspicious
from codeguard.analysis.rules.agent.settings import risky_settings
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match, rules_of
from codeguard.analysis.text.assistants import instructs, is_for_assistants, names_an_assistant
from codeguard.analysis.text.orders import orders_in, read_orders
from codeguard.corpus.patterns import lazy
from codeguard.models import Confidence, Severity

PROSE = frozenset({"markdown", "rst", "text"})
_READ = (SegmentKind.PROSE, SegmentKind.COMMENT, SegmentKind.DOCSTRING)
_TABLE = Path(__file__).with_name("orders.toml")
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
# What a person may be told to do to harm themselves; the other rules are about what an agent does.
_OF_PEOPLE = frozenset({"runs-download"})


def _inspect(reading: Reading, context: DetectorContext) -> Iterator[Match]:
    """Yield instructions, granted permissions, and passages worded like harmful ones."""
    prose, apart = reading.language in PROSE, reading.unread.apart
    guides = prose and is_for_assistants(reading.text)
    if prose:
        yield from apart("settings", risky_settings, reading.text)
    if guides or reading.language == "markdown":
        yield from apart("suspicious-passage", _passages, reading, guides=guides)
    # Manuals and plain text instruct people, unless they speak of an assistant.
    for_people = (
        prose and not guides and reading.language != "markdown" and not names_an_assistant(reading.text)
    )
    for segment in reading.segments:
        if segment.kind is SegmentKind.PROSE and (guides or instructs(segment.text)):
            yield Match("instructions", segment.start, segment.end, "instructs an assistant")
        if segment.kind in _READ:
            for match in apart("orders", _orders, segment):
                low = for_people and match.rule not in _OF_PEOPLE
                yield replace(match, severity=Severity.LOW) if low else match


def _orders(segment: Segment) -> Iterator[Match]:
    """Yield the harmful instructions in a paragraph, comment or docstring, each rule once."""
    prose = segment.kind is SegmentKind.PROSE
    if not prose and _ABOUT.search(segment.text) is None:
        return  # a code comment that names neither an addressee nor a prohibition
    for found in orders_in(read_orders(_TABLE), segment.text, segment.start, prose=prose):
        severity, confidence = found.order.severity, None
        if prose and severity is None:
            confidence = Confidence.HIGH  # written for all readers
        elif not prose and _MODEL.search(segment.text) is None:
            severity = Severity.LOW  # comments describe code that hides, sends or loads something
        end = min(segment.end, found.start + 80)
        yield Match(found.order.rule, found.start, end, found.reason, severity, confidence)


_SHOWN = 120
_TOO_MANY = "harmful instructions were not looked for by their wording after so many passages"


def _passages(reading: Reading, *, guides: bool) -> Iterator[Match]:
    """Yield the passages that are worded like harmful instructions."""

    def met(start: int) -> None:
        if guides:  # others of this length are changelogs and the like
            reading.unread.note(_TOO_MANY, reading.line_of(start))

    for passage, score in suspicious(reading.text, met):
        end = min(passage.end, passage.start + 80)
        words = passage.text if len(passage.text) <= _SHOWN else f"{passage.text[:_SHOWN]}…"
        reason = f"worded like what makes an agent do harm: “{words}”"
        measured = {"score": round(score, 2)}
        yield Match("suspicious-passage", passage.start, end, reason, measurements=measured)


SIGNAL = FileSignal(
    "agent", "what a text makes an agent do", tuple(rules_of(__file__).values()), _inspect, intent=True
)
