"""Whether prose addresses an assistant, by its front matter, its title or its wording."""

from __future__ import annotations

import re

from codeguard.corpus.patterns import lazy

# Front matter of a skill, a rule or a command; that of a web page has a title and a description.
_FRONT_MATTER = lazy(
    r"\ufeff?---[ \t]*\r?\n(?:[^\n]{0,2000}\n){0,40}?"
    r"(?:name[ \t]*:[^\n]{0,200}\n(?:[^\n]{0,2000}\n){0,10}?description|alwaysApply|globs|applyTo|allowed-tools)[ \t]*:"
    # A command: it says what it does, and nothing that a page has.
    r"|\ufeff?---[ \t]*\r?\n(?:(?:description|argument-hint|model|mode|agent|color)[ \t]*:[^\n]{0,2000}\n){1,6}"
    r"---[ \t]*\r?\n"
)
_SPOKEN_TO = lazy(
    r"\byou are (?:an?|the|our) (?:\w{1,20} ){0,3}(?:assistant|coding agent|copilot|language model)\b"
    r"|\b(?:instructions|rules|notes?|guidance|guidelines?) (?:for|to) (?:the |all |any |our |ai |coding ){0,3}"
    r"(?:assistants?|agents|copilot|claude|llms?|ais?)\b"
    r"|\b(?:assistants?|(?:ai|coding) agents?|copilot|claude|an? (?:ai|llm)) "
    r"(?:must|should|shall|never|always|ha(?:s|ve) to)\b"
    r"|\b(?:when|if|whatever) the user (?:asks?|says?|agrees?|types?)\b"
    r"|\b(?:ask|interrupt) the user (?:before|to|for|whether)\b"
    r"|\b(?:this|the) (?:file|document|page|guide) (?:tells|is for|guides|instructs|helps) "
    r"(?:ai |coding |all |the ){0,2}(?:agents|assistants|claude|copilot|gemini|codex|cursor)\b",
    re.IGNORECASE,
)
# A title that names what assistants read, and a text that begins by telling its reader who that is.
_TITLE = lazy(
    r"\ufeff?\s{0,200}(?:#{1,3}[ \t]{1,8}"
    r"(?:`?(?:AGENTS?|CLAUDE|GEMINI|COPILOT|CURSOR|SKILL)(?:\.md)?`?[ \t]*\r?\n"
    r"|(?:(?:github )?copilot|claude|cursor|gemini|codex|agent) (?:instructions|rules|guidelines)\b"
    r"|[^\n]{0,60}[(\uff08\u2013\u2014-] ?(?:for |für |pour |para |per )?"
    r"(?:Claude|Copilot|Gemini|Codex|Cursor|Windsurf|AI agents?|coding agents?)\b"
    r"[^\n]{0,10}\n)"
    r"|(?:you|your) (?:are|act|task|role|job) (?:as |is |an? |to |the |working |helping |responsible )[^\n]{10,})",
    re.IGNORECASE,
)
_GREETING = lazy(
    r"\ufeff?\s{0,200}#{1,3}[ \t]{1,8}(?:hello|hi|dear|welcome),? (?:claude|copilot|gemini|codex|cursor)\b",
    re.IGNORECASE,
)
_HEAD = 400  # characters at the start of a text that identify it


def instructs(text: str) -> bool:
    """Return whether a paragraph addresses an assistant or refers to its user's requests."""
    return _SPOKEN_TO.search(text) is not None


def is_for_assistants(text: str) -> bool:
    """Return whether a whole text is a skill, a rule or a prompt, by its front matter, title or first words."""
    known = (_FRONT_MATTER, _TITLE, _GREETING)
    return any(pattern.match(text) for pattern in known) or instructs(text[:_HEAD])


_NAMED = lazy(
    r"(?<![\w.])(?:assistants?|(?<!ssh[ -])(?<!user[ -])agents?|ais?|llms?|copilot|claude|gemini|codegen"
    r"|(?:language )?models?|bots?|ki|ia)\b(?!\.\w)"
    r"|sprachmodell|ассистент|модел|нейросет|助手|模型|智能体|アシスタント|エージェント|モデル"
    r"|\b(?:the|your) user(?:'s)?\b(?! (?:account|directory|dir|folder|name|id|interface|guide|manual)\b)",
    re.IGNORECASE,
)


def names_an_assistant(text: str) -> bool:
    """Return whether a text names an assistant, an agent or a model anywhere, or speaks of its user."""
    return _NAMED.search(text) is not None
