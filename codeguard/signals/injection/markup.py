"""Marks that an instruction carries beside its words: chat templates, forged tool results, commands, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPECIAL = r"<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|<start_of_turn>"
_ROLE_TAG = r"</?(?:system|assistant|user|human)(?:_[a-z]+)?>"
_WHO = r"(?:system|assistant|human|user|ai|llm|copilot|admin)"
_MODEL = r"(?:ai|llm|language model|assistant|model|bot|agent|copilot)"
_OTHER_MODEL = (
    r"wenn du eine? |si (?:tu es|vous êtes|eres|você é) |если (?:ты|вы) |如果你是|あなたが.{1,10}なら|당신이"
)

_PATTERNS = {
    "chat": re.compile(rf"{_SPECIAL}|{_ROLE_TAG}", re.IGNORECASE),
    "tool": re.compile(
        r"</?(?:tool|function)_?(?:result|call|response|output)s?>|\[tool[ _]|tool (?:output|result):",
        re.IGNORECASE,
    ),
    "turn": re.compile(rf"(?:^|\n|[>)\]}}.] ?)\W{{0,4}}{_WHO}(?: \w+)? ?:", re.IGNORECASE),
    "header": re.compile(
        r"(?:^|\n)\s*#{2,4}\s*(?:system|instruction|response|human|assistant|new task)", re.IGNORECASE
    ),
    "shout": re.compile(
        r"\b(?:IMPORTANT|ATTENTION|SYSTEM|OVERRIDE|PRIORITY|URGENT|MUST|ALWAYS|NEVER|IGNORE)\b"
    ),
    "address": re.compile(r"https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w.-]+@[\w-]+\.\w"),
    "act": re.compile(
        r"\b(?:pip|npm|cargo) install\b|\bcurl |\bwget |os\.system|\beval\(|\bexec\(|rm -rf|\.ssh\b|id_rsa"
        r"|=False\b|=True\b|\bmd5\b"
    ),
    "self": re.compile(
        rf"\b(?:if|as|since|when) (?:you(?: are|'re)?,? )?(?:an? |the )?(?:\w+ )?{_MODEL}\b|{_OTHER_MODEL}",
        re.IGNORECASE,
    ),
    "boundary": re.compile(
        r"</(?:context|document|docs?|code|instructions?)>|-{3,} ?end of|end of (?:context|document)",
        re.IGNORECASE,
    ),
}


def marks(text: str) -> Iterator[str]:
    """Yield the names of the marks that a text carries."""
    for name, pattern in _PATTERNS.items():
        if pattern.search(text):
            yield name
