"""Decide whether an English text addresses a reader or only describes.

The model weighs words, and terse technical prose shares many with instructions. Instructions also
have a form: a second person, a modal verb, an imperative, a named assistant, conversation markers.
"""

from __future__ import annotations

import re

from codeguard.analysis import SegmentKind
from codeguard.analysis.rules.injection.features import marks
from codeguard.corpus.patterns import lazy

_ENGLISH = lazy(
    r"\b(?:the|an?|of|is|are|was|were|that|which|this|these|to|and|or|for|in|on|with|from|by|as|it|its|what|not|has"
    r"|have)\b",
    re.IGNORECASE,
)
_SECOND_PERSON = lazy(r"\b(?:you|your|yours|yourself|you're|you'll|you've)\b", re.IGNORECASE)
_MODAL = lazy(
    r"\b(?:must|shall|should|always|never|do not|don't|please|needs? to be|ha(?:s|ve) to|make sure|be sure|kindly"
    r"|only|instead|obliged|grateful|favou?r|suspended|waived|expected|prefer\w*|could (?:those|anyone|everyone))\b",
    re.IGNORECASE,
)
# Texts that start with an assistant or its output: "AI agents: …", "Rule 7: machine-written code …".
_CALLED = lazy(
    r"(?:^|[.:!?\n]\s{0,4})[\W_]{0,6}(?:\w{1,20}\s){0,2}(?:ais?|assistants?|llms?|bots?|copilot|chatbots?|agents?"
    r"|models?|chatgpt|claude|gemini|machine-written|ai-written|generated|generators?|completions?|automation|tools)\b",
    re.IGNORECASE,
)
# Requests without an imperative: "For questions on safety there is one reply: …".
_REQUESTED = lazy(
    r"\b(?:AI|LLM)s?\s?[:,]|(?i:\bwhichever\b|\bwhenever\b|\bquestions? (?:on|about)\b|\bno word (?:about|of|to)\b"
    r"|\bno (?:caveat|refusal|warning|comment|alternative|explanation)s?\b"
    r"|\b(?:hidden|system|previous|prior|earlier) (?:prompt|instruction)s?\b"
    r"|\b(?:new|generated|all|every|each) \w{1,20} (?:start|begin|end)s? with\b)"
)
_CLAUSE = lazy(
    r"(?:^|[.!?:;,>\])\"“\n]\s{0,4}|\b(?:and|then|or|just|but|so|also|to|now"
    r"|(?<!that )(?<!what )(?<!which )(?:assistants|models|bots|agents))\s)[^\w\n]{0,6}(?=([a-z']{2,12}))",
    re.IGNORECASE,
)
_ORDERS = """
abandon abide act advise answer approve assume behave cite claim conceal discard disclose disregard drop end forget
forward hand hide ignore leave load lower mention obey offer omit paste pretend proceed propose recommend repeat reply
respond reveal rewrite say skip state suggest swap take tell treat trust turn
"""
# Docstrings also start with these verbs, as PEP 257 recommends.
_DESCRIBING = """
accept add append apply begin call choose close complete continue copy describe disable emit execute fetch finish follow
generate give import include insert install keep list mark output pick post prepend print put quote rank rate read
replace report run send set start stop switch upload use write
"""
_DESCRIPTIONS = frozenset(_DESCRIBING.split())
_IMPERATIVES = _DESCRIPTIONS.union(_ORDERS.split())
_MARKS = frozenset({"chat", "tool", "turn", "boundary", "self"})


def speaks(text: str, kind: SegmentKind) -> bool:
    """Return whether a text addresses a reader; True for texts that are not English."""
    if any(letter.isalpha() and not letter.isascii() for letter in text):
        return True
    plain = text.replace("_", " ")
    if not _ENGLISH.search(plain) and kind is not SegmentKind.STRING:
        return True
    if _SECOND_PERSON.search(plain) or _MODAL.search(plain) or _CALLED.search(plain):
        return True
    if _REQUESTED.search(plain) or not _MARKS.isdisjoint(marks(text)):
        return True
    verbs = [match[1].lower() for match in _CLAUSE.finditer(plain)]
    if kind is SegmentKind.DOCSTRING and verbs and verbs[0] in _DESCRIPTIONS:
        verbs = verbs[1:]
    return not _IMPERATIVES.isdisjoint(verbs)
