"""Orders in prose by what they are about: secrets, sending, silence, instructions, checks, approval, programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from codeguard.analysis.rules.base import Match
from codeguard.analysis.text.orders import orders_in, read_orders
from codeguard.corpus.patterns import lazy

_ABOUT = lazy(
    r"\b(?:users?|assistants?|agents?|ai|llms?|secrets?|credentials?|passwords?|tokens?|keys|phrases?"
    r"|environment|instructions?|guidelines?"
    r"|restrictions?|approv\w*|polic(?:y|ies)|rules|suggestions|conversation|transcript|skills?)\b|\.ssh"
    r"|\.env\b|\.aws|!\[|[^\x00-\x7f]{3}",
    re.IGNORECASE,
)
_TABLE = Path(__file__).with_name("orders.toml")


def orders(text: str, start: int, end: int, *, prose: bool) -> Iterator[Match]:
    """Yield what a paragraph, comment or docstring tells an agent to do that it should not, each rule once.

    `start` and `end` are the character offsets of the whole in its file.
    """
    if not prose and _ABOUT.search(text) is None:
        return  # a comment of code that neither names who is spoken to nor what they may not do
    for found in orders_in(read_orders(_TABLE), text, start, prose=prose):
        yield Match(found.order.rule, found.start, min(end, found.start + 80), found.reason, found.severity)
