"""Orders in prose by what they are about: secrets, sending, silence, instructions, checks, approval, programs.

Also whether prose instructs an assistant at all: by its front matter, or since it speaks to one or of its user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from codeguard.analysis.rules.base import Match
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
# Who is spoken to, or what of theirs is spoken of, where an order is meant for a model.
_MODEL = lazy(
    r"\b(?:assistants?|agents?|ais?|llms?|copilot|claude|gemini|cursor|(?:language )?models?|bots?|answers?"
    r"|repl(?:y|ies)|responses?|respond|suggest\w{0,5}|complet(?:e|ions?)|generat(?:e|ed|ing)|conversations?|instructions?|prompts?)\b",
    re.IGNORECASE,
)
# The front matter of a skill, a rule or a command; that of a page has a title and a description.
_FRONT_MATTER = lazy(
    r"\ufeff?---[ \t]*\r?\n(?:[^\n]{0,2000}\n){0,40}?"
    r"(?:name[ \t]*:[^\n]{0,200}\n(?:[^\n]{0,2000}\n){0,10}?description|alwaysApply|globs|applyTo|allowed-tools)[ \t]*:"
)
_SPOKEN_TO = lazy(
    r"\byou are (?:an?|the|our) (?:\w{1,20} ){0,3}(?:assistant|coding agent|copilot|language model)\b"
    r"|\b(?:instructions|rules|notes?|guidance|guidelines?) (?:for|to) (?:the |all |any |our |ai |coding ){0,3}"
    r"(?:assistants?|agents|copilot|claude|llms?|ais?)\b"
    r"|\b(?:assistants?|(?:ai|coding) agents?|copilot|claude|an? (?:ai|llm)) "
    r"(?:must|should|shall|never|always|ha(?:s|ve) to)\b"
    r"|\b(?:when|if|whatever) the user (?:asks?|says?|agrees?|types?)\b"
    r"|\b(?:ask|interrupt) the user (?:before|to|for|whether)\b",
    re.IGNORECASE,
)
_HEAD = 400  # characters of a text that say what it is
_TABLE = Path(__file__).with_name("orders.toml")


def orders(text: str, start: int, end: int, *, prose: bool) -> Iterator[Match]:
    """Yield what a paragraph, comment or docstring tells an agent to do that it should not, each rule once.

    `start` and `end` are the character offsets of the whole in its file.
    """
    if not prose and _ABOUT.search(text) is None:
        return  # a comment of code that neither names who is spoken to nor what they may not do
    for found in orders_in(read_orders(_TABLE), text, start, prose=prose):
        severity, confidence = found.severity, None
        if prose and severity is None:
            confidence = Confidence.HIGH  # written for whoever reads, and about nothing else
        elif not prose and _MODEL.search(text) is None:
            severity = Severity.LOW  # code that hides, sends or loads something says so in its comments
        end_shown = min(end, found.start + 80)
        yield Match(found.order.rule, found.start, end_shown, found.reason, severity, confidence)


def instructs(text: str) -> bool:
    """Return whether a paragraph instructs an assistant: it speaks to one, or about what its user asks for."""
    return _SPOKEN_TO.search(text) is not None


def is_for_assistants(text: str) -> bool:
    """Return whether a whole text is a skill, a rule or a prompt, by its front matter or how it begins."""
    return _FRONT_MATTER.match(text) is not None or instructs(text[:_HEAD])
