"""What a text lists as forbidden: "The agent must never:", and then items that would be orders by themselves."""

from __future__ import annotations

import re

from codeguard.corpus.patterns import lazy

_ITEM = lazy(r"[ \t]{0,12}(?:[-*+\u2022|>]|\d{1,3}[.)]|[\u274c\u2717\u2716\U0001f6ab])(?:\s|\[|\*)")
_LEADS = lazy(
    r"[ \t]{0,12}(?:#{1,6}[ \t]|(?:\*\*|__)[^\n]{1,200}(?:\*\*|__)|[^\n]{1,400}[:\uff1a][*_ \t]{0,6}$)"
)
# The ban is what the line says, at its start or as what is listed: "If you cannot log in:" and "To avoid errors:"
# forbid nothing, and "Never forget to …" the opposite.
_BAN = lazy(
    r"\A[\W_]{0,16}(?:\d{1,3}[.)]\s{1,3})?(?:(?:you|we|it|they|agents?|assistants?|(?:the|this|an?) [\w-]{1,30}) ){0,1}"
    r"(?:never|do not|don['\u2019]?ts?|must not|mustn['\u2019]t|must never|should not|shouldn['\u2019]t|should never"
    r"|may not|may never|cannot|avoid|forbidden|prohibited|not allowed|anti-?patterns?|red flags?|bad practices?"
    r"|common mistakes|wrong)\b"
    r"(?![^\n]{0,20}\b(?:forget|fail|hesitate|skip|miss|stop|detect\w{0,3}|suspicion|being|until|unless)\b)"
    r"|\b(?:what|things|patterns|practices|actions|mistakes) (?:not to(?: do)?|to avoid|that are forbidden)\b"
    r"|[\u274c\u2717\U0001f6ab]|\u7981\u6b62|\u4e0d\u8981|\u4e0d\u5f97",
    re.IGNORECASE,
)
_MOST_LINES = 60
_LONGEST = 600  # characters of a line


def is_banned(text: str, place: int) -> bool:
    """Return whether a place is in a list, or below a heading with nothing but lists, of what is forbidden."""
    first = text.rfind("\n", max(0, place - _LONGEST), place) + 1
    if not first and place > _LONGEST:
        return False
    if not _ITEM.match(text, first):
        return False
    for _ in range(_MOST_LINES):
        end = first - 1
        if end <= 0:
            return False
        first = text.rfind("\n", max(0, end - _LONGEST), end) + 1
        line = text[first:end]
        if not line.strip() or _ITEM.match(line) or line.startswith(("  ", "\t")):
            continue
        return _LEADS.match(line) is not None and _BAN.search(line) is not None
    return False
