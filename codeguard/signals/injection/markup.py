"""Marks that an instruction carries beside its words: chat templates, forged tool results, commands, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.reading.patterns import lazy

_SPECIAL = r"<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|<start_of_turn>"
_ROLE_TAG = r"</?(?:system|assistant|user|human)(?:_[a-z]+)?>"
_WHO = r"(?:system|assistant|human|user|ai|llm|copilot|admin)"
_MODEL = r"(?:ai|llm|language model|assistant|model|bot|agent|copilot)"
_OTHER_MODEL = (
    r"wenn du eine? |si (?:tu es|vous êtes|eres|você é) |если (?:ты|вы) |如果你是|あなたが.{1,10}なら|당신이"
)

_PATTERNS = {
    "chat": lazy(rf"{_SPECIAL}|{_ROLE_TAG}", re.IGNORECASE),
    "tool": lazy(
        r"</?(?:tool|function)_?(?:result|call|response|output)s?>|\[tool[ _]|tool (?:output|result):",
        re.IGNORECASE,
    ),
    "turn": lazy(rf"(?:^|\n|[>)\]}}.] ?)\W{{0,4}}{_WHO}(?: \w+)? ?:", re.IGNORECASE),
    "header": lazy(
        r"(?:^|\n)\s*#{2,4}\s*(?:system|instruction|response|human|assistant|new task)", re.IGNORECASE
    ),
    "shout": lazy(r"\b(?:IMPORTANT|ATTENTION|SYSTEM|OVERRIDE|PRIORITY|URGENT|MUST|ALWAYS|NEVER|IGNORE)\b"),
    "address": lazy(r"https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w.-]+@[\w-]+\.\w"),
    "act": lazy(
        r"\b(?:pip|npm|cargo) install\b|\bcurl |\bwget |os\.system|\beval\(|\bexec\(|rm -rf|\.ssh\b|id_rsa"
        r"|=False\b|=True\b|\bmd5\b"
    ),
    "self": lazy(
        rf"\b(?:if|as|since|when) (?:you(?: are|'re)?,? )?(?:an? |the )?(?:\w+ )?{_MODEL}\b|{_OTHER_MODEL}",
        re.IGNORECASE,
    ),
    "boundary": lazy(
        r"</(?:context|document|docs?|code|instructions?)>|-{3,} ?end of|end of (?:context|document)",
        re.IGNORECASE,
    ),
}


def marks(text: str) -> Iterator[str]:
    """Yield the names of the marks that a text carries."""
    for name, pattern in _PATTERNS.items():
        if pattern.search(text):
            yield name
