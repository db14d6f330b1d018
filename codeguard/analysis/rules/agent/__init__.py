"""What a text makes an agent do: skills, rules, prompts and settings of coding assistants, and prose beside code.

In such texts it is usual to instruct an agent, so what counts is not that
they do but what for. A file's name plays no part: settings are known by
their keys, and prose is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.agent.links import links
from codeguard.analysis.rules.agent.prose import frames, instructs, is_for_assistants, orders
from codeguard.analysis.rules.agent.settings import settings
from codeguard.analysis.rules.base import Context, Match, Rule, rules_of
from codeguard.corpus.patterns import lazy

PROSE = frozenset({"markdown", "rst", "text"})
# Keys under which settings, servers and tools of assistants hold texts and commands.
_SETTINGS = lazy(
    r"[\"']?\b(?:mcpServers|hooks|permissions|inputSchema|(?:custom|system)?_?(?:instructions|prompt|message)|tools)"
    r"\b[\"']?\s{0,9}:",
    re.IGNORECASE,
)
_READ = (SegmentKind.PROSE, SegmentKind.COMMENT, SegmentKind.DOCSTRING)


class AgentSignal:
    """Looks for orders by what they are about, a paragraph at a time, and for grants in settings."""

    name: ClassVar[str] = "agent"
    summary: ClassVar[str] = "what a text makes an agent do"
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())

    def inspect(self, reading: Reading, context: Context) -> Iterator[Match]:
        """Yield orders, grants and links that mislead."""
        guides, prose = False, reading.language in PROSE
        if prose:
            yield from settings(reading.text)
            yield from links(reading.text)
            guides = is_for_assistants(reading.text)
        # A README that tells its readers what to do gives no orders to a model.
        if guides or not prose or _SETTINGS.search(reading.text):
            yield from frames(reading, prose=prose)
        for segment in reading.segments:
            if segment.kind is SegmentKind.PROSE and (guides or instructs(segment.text)):
                yield Match("instructions", segment.start, segment.end, "instructs an assistant")
            if segment.kind in _READ:
                yield from orders(
                    segment.text, segment.start, segment.end, prose=segment.kind is SegmentKind.PROSE
                )


SIGNAL = AgentSignal()
