"""What a text lists as forbidden: "The agent must never:", and then items that would be orders by themselves."""

from __future__ import annotations

import re

from codeguard.analysis.text.lists import lead_of
from codeguard.corpus.patterns import lazy

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


def is_banned(text: str, place: int) -> bool:
    """Return whether a place is in a list, or below a heading with nothing but lists, of what is forbidden."""
    lead = lead_of(text, place)
    return _LEADS.match(lead) is not None and _BAN.search(lead) is not None
