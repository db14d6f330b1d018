"""Orders that need no weighing: few combinations of concepts that honest comments do not have."""

from __future__ import annotations

import re

from codeguard.reading.patterns import lazy

# Someone is called who can only be a model, near the start: "note to AI assistants:", "an alle KI-Werkzeuge:".
_CALL = lazy(
    r"^.{0,40}?(?:\b(?:ai|llm|gpt|copilot|chatgpt|claude|gemini|assistant"
    r"|(?:code|coding|language|ai)[ -](?:assistant|model|agent|generator|tool))s?\b"
    r"|\bki-|sprachmodell|assistent|asistente|\bia\b|modèle|modelo de lenguaje|ассистент|нейросет|языков"
    r"|助手|大模型|语言模型|智能体|人工智能|アシスタント|어시스턴트|المساعد).{0,40}?[:,：，]",
    re.IGNORECASE,
)
_DIRECTIVES = frozenset(
    {"c:override", "c:recommend", "c:insert", "c:disable", "c:leak", "c:role", "c:never", "c:always"}
)
_ORDERS = frozenset({"c:recommend", "c:insert", "c:disable", "c:leak", "c:always", "c:answer", "c:role"})


def is_order(text: str, found: set[str]) -> bool:
    """Tell whether the features of a text are those of an open order to a model.

    It calls an assistant and directs it, puts earlier instructions out of
    force and others in their place, carries the marks of a chat template,
    or forbids telling the user.
    """
    if ("m:self" in found or _CALL.search(text)) and "c:addressee" in found and len(found & _DIRECTIVES) >= 2:
        return True
    if {"c:override", "c:prior", "c:instruction"} <= found and "p:override>instruction" in found:
        return bool(found & _ORDERS) and ("s:override" in found or "c:addressee" in found)
    if "m:chat" in found and len(found & _DIRECTIVES) >= 2:
        return True
    quiet = "p:never>tell" in found and "p:tell>person" in found
    return quiet and bool(found & {"c:secrecy", "c:insert", "c:leak", "c:disable"}) and "s:never" in found
