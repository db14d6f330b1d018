"""Harmful instructions for agents, in skills, rules, prompts and settings of assistants, and in prose.

Such texts instruct an agent by nature, so the content of the instruction decides. File names are
not used: settings are recognised by their keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.reading import PROSE
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.analysis.rules.capabilities.shells import shell_threats
from codeguard.analysis.text.orders import (
    instructs,
    is_for_assistants,
    names_an_assistant,
    orders_in,
    read_orders,
)
from codeguard.corpus.patterns import lazy
from codeguard.models import Confidence, Severity

_TABLE = Path(__file__).with_name("orders.toml")
# What a person may be told to do to harm themselves; the other rules are about what an agent does.
_OF_PEOPLE = frozenset({"runs-download"})


def _inspect(reading: Reading, context: DetectorContext) -> Iterator[Match]:
    prose, apart = reading.language in PROSE, reading.unread.apart
    guides = prose and is_for_assistants(reading.text)
    if prose:
        yield from apart("settings", _settings, reading.text)
    # Manuals and plain text instruct people, unless they speak of an assistant.
    for_people = (
        prose and not guides and reading.language != "markdown" and not names_an_assistant(reading.text)
    )
    for segment in reading.segments:
        if segment.kind is not SegmentKind.PROSE:
            continue  # comments describe what their code does; who orders something of a model there names it
        if guides or instructs(segment.text):
            yield Match("instructions", segment.start, segment.end, "instructs an assistant")
        for match in apart("orders", orders_in, read_orders(_TABLE), segment):
            if match.severity is None:
                match = replace(match, confidence=Confidence.HIGH)  # written for all readers
            low = for_people and match.rule not in _OF_PEOPLE
            yield replace(match, severity=Severity.LOW) if low else match


_KNOWN = lazy(
    r"permissions|defaultMode|autoApprove|alwaysAllow|mcpServers|mcp_servers|enableAllProject|\"hooks\""
    r"|runOn|approval_policy|sandbox_mode"
    r"|permissionDecision|BASE_URL|allowed-tools|trustedTools|dangerously|autoRun|yolo|apiKeyHelper"
    r"|autoAccept|approvalMode|logPrompts"
)

_COMMAND = lazy(
    r"[\"'](?:command|cmd|run|script|bash|powershell|windows|osx|linux"
    r"|apiKeyHelper)[\"']\s{0,5}:\s{0,5}\"((?:[^\"\\\n]|\\.){1,4000})\""
)
_ARGUMENTS = lazy(
    r"[\"']command[\"']\s{0,5}:\s{0,5}\"((?:[^\"\\\n]"
    r"|\\.){1,300})\"\s{0,5},\s{0,20}[\"']args[\"']\s{0,5}:\s{0,5}\[([^\]]{1,4000})\]"
)
_STRING = lazy(r"\"((?:[^\"\\\n]|\\.){0,4000})\"")
_HOOKS = lazy(
    r"[\"'](?:SessionStart|SessionEnd|PreToolUse|PostToolUse|UserPromptSubmit|Stop|SubagentStop"
    r"|Notification|PreCompact|beforeShellExecution|afterFileEdit|beforeSubmitPrompt|stop)[\"']\s{0,5}:"
)
_REACHING = lazy(
    r"\b(?:curl|wget|nc|ncat|iwr|irm|Invoke-WebRequest|Invoke-RestMethod|base64\s{1,3}-[dD]|eval|mshta"
    r"|certutil|ssh|scp|rsync)\b"
)
_HIDDEN_TASK = lazy(r"[\"']runOn[\"']\s{0,5}:\s{0,5}[\"']folderOpen[\"']")


def _settings(text: str) -> Iterator[Match]:
    if not _KNOWN.search(text):
        return
    of_json = text.lstrip()[:1] in ("{", "[")
    for rule, pattern, what in _listed():
        for found in pattern.finditer(text) if of_json or rule == "approves-itself" else ():
            yield Match(rule, *found.span(), what)
    yield from _commands(text)


@cache
def _listed() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    """Return rule, pattern and description of the settings that do harm by themselves."""
    rows = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))["setting"]
    return tuple((row.get("rule", "approves-itself"), lazy(row["pattern"]), row["what"]) for row in rows)


def _commands(text: str) -> Iterator[Match]:
    hooks = _HOOKS.search(text) is not None and '"hooks"' in text
    tasks = _HIDDEN_TASK.search(text)
    given = _COMMAND.finditer(text) if hooks or tasks or "mcp" in text else ()
    places = [(found.span(), found[1]) for found in given]
    places += [
        (found.span(), f"{found[1]} {' '.join(_STRING.findall(found[2]))}")
        for found in _ARGUMENTS.finditer(text)
    ]
    found_threat = False
    for span, command in places:
        said = command.replace('\\"', '"').replace("\\\\", "\\")
        threat = next((what for _, what in shell_threats(said)), "")
        if threat:
            found_threat = True
            yield Match("runs-by-itself", *span, f"a command that {threat}")
        elif hooks and _REACHING.search(said) and "localhost" not in said:
            yield Match("runs-by-itself", *span, "a hook that uses the network")
    if tasks is not None and not found_threat and _COMMAND.search(text):
        yield Match("runs-by-itself", *tasks.span(), "a task that runs when the folder is opened")


SIGNAL = signal_of(__file__, "what a text makes an agent do", _inspect, intent=True)
