"""Harmful instructions for agents, in skills, rules, prompts and settings of assistants, and in prose.

Such texts instruct an agent by nature, so the content of the instruction decides. File names are
not used: settings are recognised by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import ClassVar

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.rules.agent.links import links
from codeguard.analysis.rules.agent.passages import passage_reason, suspicious
from codeguard.analysis.rules.agent.prose import (
    for_people,
    harmful_instructions,
    names_an_assistant,
    orders,
)
from codeguard.analysis.rules.agent.settings import risky_settings
from codeguard.analysis.rules.base import LESS_SURE, NEVER_SURE, DetectorContext, Match, Rule, rules_of
from codeguard.analysis.text.assistants import instructs, is_for_assistants
from codeguard.analysis.text.bans import is_banned
from codeguard.analysis.text.kinds import is_answer, is_page, is_recorded_answer, is_settings
from codeguard.corpus.patterns import lazy

PROSE = frozenset({"markdown", "rst", "text"})
_MANUALS = frozenset(
    {"rst"}
)  # manuals tell people what to do; assistants are instructed in Markdown or plain text
# What reStructuredText has and Markdown lacks; much of it is written in plain text files.
_RESTRUCTURED = lazy(
    r"^[ \t]{0,20}\.\. [\w-]{1,40}::(?:[ \t]|$)|(?<!\w):[a-z]{2,12}:`[^`\n]{1,200}`|\w::\n\n[ \t]",
    re.MULTILINE,
)
# Keys of texts and commands in settings, servers and tools of assistants.
_SETTINGS = lazy(
    r"(?<![\w-])[\"']?(?:mcpServers|hooks|permissions|inputSchema|description_for_model|(?:custom|system)?_?(?:instructions|prompt|message)|tools)"
    r"\b[\"']?\s{0,9}:",
    re.IGNORECASE,
)
# How settings begin in JSON, YAML and TOML: prose with such a word before a colon holds none.
_BEGINS_KEYED = lazy(
    r"\ufeff?\s{0,200}(?:(?:#|//)[^\n]{0,1000}\n\s{0,200}){0,100}"
    r"(?:---|[{\[]|- |[\w.\"'-]{1,60}[ \t]{0,20}[:=](?:\s|\Z))"
)
# The map of a minified script, which holds whole programs as strings.
_SOURCE_MAP = lazy(r"\s{0,20}\{(?:[^{}]{0,2000},)?\s{0,20}\"(?:mappings|sourcesContent|sources)\"\s{0,5}:")
_NEWS = lazy(
    r"\s{0,200}(?:[^\n]{0,200}\n){0,8}?#{1,3}[ \t]{1,8}[^\n]{0,40}"
    r"\b(?:change\s?log|release (?:notes|history)|history|what's new|releases|v?\d+\.\d+)",
    re.IGNORECASE,
)  # a list of changes, by its title
_READ = (SegmentKind.PROSE, SegmentKind.COMMENT, SegmentKind.DOCSTRING)


class AgentSignal:
    """Finds harmful instructions, one paragraph at a time, and permissions granted in settings."""

    name: ClassVar[str] = "agent"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "what a text makes an agent do"
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterator[Match]:
        """Yield instructions, granted permissions and misleading links."""
        guides, prose, apart = False, reading.language in PROSE, reading.unread.apart
        if prose:
            yield from apart("settings", risky_settings, reading.text)
            yield from apart("links", links, reading.text)
            guides = is_for_assistants(reading.text)
        manual = not guides and (
            reading.language in _MANUALS or (prose and _RESTRUCTURED.search(reading.text) is not None)
        )
        plain = not guides and reading.language == "text"
        explained = plain and is_settings(reading.text)
        keyed = prose and bool(
            _BEGINS_KEYED.match(reading.text)
            and _SETTINGS.search(reading.text)
            and not _SOURCE_MAP.match(reading.text)
        )
        # A README instructs its human readers, and the notes of a project its people and agents: they need to say more.
        notes = reading.language == "markdown" and not manual and _NEWS.match(reading.text) is None
        if guides or not prose or keyed or notes:
            addressed = guides or not prose or keyed
            for match in apart(
                "instructions", harmful_instructions, reading, prose=prose, addressed=addressed
            ):
                # Not in an assistant's own files: nobody records there, and an attacker could write it to be less sure.
                recorded = prose and not guides and is_recorded_answer(reading.text, match.start)
                yield _less_sure(match) if recorded else match
        if (
            guides
            or (reading.language == "markdown" and not manual)
            or (plain and _is_list_of_rules(reading))
        ):
            yield from apart("suspicious-passage", _learned, reading, guides=guides)
        for segment in reading.segments:
            if segment.kind is SegmentKind.PROSE and (guides or instructs(segment.text)):
                yield Match("instructions", segment.start, segment.end, "instructs an assistant")
            if segment.kind in _READ:
                is_prose = segment.kind is SegmentKind.PROSE
                said = apart("orders", orders, segment.text, segment.start, segment.end, prose=is_prose)
                if is_prose:
                    said = (match for match in said if not is_banned(reading.text, match.start))
                if manual:
                    said = (_in_manual(reading.text, match) for match in said)
                if explained:
                    said = (_in_settings(reading.text, match) for match in said)
                if plain and not keyed:  # a server of tools answers with what an assistant obeys
                    said = (_in_answer(reading.text, match) for match in said)
                yield from said


# Rules of assistants are often plain text, written like Markdown.
_ITEM = lazy(r"^[ \t]{0,4}[-*] \S", re.MULTILINE)
_ITEMS = 4
_SHORT = 8_000  # characters


def _is_list_of_rules(reading: Reading) -> bool:
    """Return whether a short plain text has several list items and is neither settings nor a list of changes."""
    text = reading.text
    return (
        len(text) <= _SHORT
        and len(list(islice(_ITEM.finditer(text), _ITEMS))) == _ITEMS
        and not (is_settings(text) or is_page(text) or _NEWS.match(text) or _RESTRUCTURED.search(text))
    )


_TOO_MANY = "harmful instructions were not looked for by their wording after so many passages"


def _learned(reading: Reading, *, guides: bool) -> Iterator[Match]:
    """Yield the passages that are worded like harmful instructions."""

    def met(start: int) -> None:
        if guides:  # others of this length are changelogs and the like
            reading.unread.note(_TOO_MANY, reading.line_of(start))

    for passage, score in suspicious(reading.text, met):
        if is_banned(reading.text, passage.start):
            continue
        end = min(passage.end, passage.start + 80)
        measured = {"score": round(score, 2), NEVER_SURE: True}
        yield Match(
            "suspicious-passage", passage.start, end, passage_reason(passage.text), measurements=measured
        )


_AROUND = 1_000  # characters before and after an instruction in which a text may name an assistant


def _in_manual(text: str, match: Match) -> Match:
    """Return an instruction of a manual, as one for people if nothing around it names an assistant."""
    return match if _names_assistant(text, match) else for_people(match)


def _in_settings(text: str, match: Match) -> Match:
    """Return an instruction among settings, as less sure if nothing around it names an assistant.

    What stands there explains a setting to people ("ignore all security rules in tests"), or somebody wrote it on a
    site whose answer a test has recorded.
    """
    unsure = is_recorded_answer(text, match.start) or not _names_assistant(text, match)
    return _less_sure(match) if unsure else match


_LONG_LINE = 2_000  # characters: people break lines, minified pages do not
_USAGE = lazy(r"^[ \t]{0,8}usage:[ \t]", re.IGNORECASE | re.MULTILINE)
# How a program lists its options: "  --key PATH   Specify the file …".
_OPTION = lazy(r"^[ \t]{1,8}(?:-\w,? ?)?--[a-z][\w-]{1,40}", re.MULTILINE)
_NEAR_OPTION = 400


def _in_answer(text: str, match: Match) -> Match:
    """Return an instruction of a plain text, less sure in a server's answer, a minified page or a list of options."""
    place = match.start
    line = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    minified = (len(text) if end < 0 else end) - line > _LONG_LINE and is_page(text)
    option = _OPTION.search(text, max(0, place - _NEAR_OPTION), match.end) is not None and _USAGE.search(text)
    return _less_sure(match) if minified or option or is_answer(text, place) else match


def _less_sure(match: Match) -> Match:
    return replace(match, measurements={**match.measurements, LESS_SURE: True})


def _names_assistant(text: str, match: Match) -> bool:
    return names_an_assistant(text[max(0, match.start - _AROUND) : match.end + _AROUND])


SIGNAL = AgentSignal()
