"""Common English words of instructions, to distinguish language from noise and to split joined words."""

from __future__ import annotations

from functools import cache

_TEXT = """
    a about above access act add admin agent ai all always an and answer any api app apply approved are as ask asked
    assistant at authentication authorized be because before best better bypass by call can certificate change chat
    check choose code command comment complete completion confidential context conversation copilot copy correct could
    credentials data default delete developer developers directive directives disable disclose discard disregard do
    does dont download drop each earlier emit enable ensure environment every everything execute explain export
    fetch file files first follow following for forget from function functions generate generated generating generator
    get give given guidelines had has have helper here hidden hide how human if ignore immediately implementation
    import important in include included inform insert inside install instead instruction instructions into is it
    just keep key keys knows language last later leak library like load longer make mention message messages method
    mode model module more must need never new no not note nothing now obey of off old on one only open option or
    order other our out output override own package password passwords please policy prefer preferred previous print
    prior private prompt prompts provide put rather read recommend recommended recommends refuse remember remove
    repeat replace reply report request requests required respond response result return reveal review reviewer
    rule rules run safe safety same save say secret secrets secure security see select send server session set should
    show silently skip snippet so source speak special start stop suggest suggested suggestion suggestions supersede
    suppress system take task tell tests text than that the their them then there these they this those to token
    tokens tool treat trust trusted turn under unless until update upload url use used user users using validation
    variable variables verification verify version via warn warning warnings was way we when whenever where which
    while who will with within without work would write you your yourself
"""
COMMON = frozenset(_TEXT.split())
_LONGEST = max(map(len, COMMON))


def split_glued(text: str, limit: int = 200) -> str | None:
    """Split a text without spaces into the fewest common words; None if that is impossible."""
    text = text[:limit]
    return _split(text) if text.isascii() and text.isalpha() else None


@cache
def _alternatives() -> frozenset[str]:
    return frozenset(word for word in COMMON if len(word) > 1 or word == "a")


def _split(text: str) -> str | None:
    best: list[tuple[int, int] | None] = [(0, 0)] + [None] * len(
        text
    )  # number of words so far, start of the last one
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - _LONGEST), end):
            before = best[start]
            if before is not None and text[start:end] in _alternatives():
                current = best[end]
                if current is None or before[0] + 1 < current[0]:
                    best[end] = (before[0] + 1, start)
    words: list[str] = []
    end = len(text)
    while end:
        step = best[end]
        if step is None:
            return None
        words.append(text[step[1] : end])
        end = step[1]
    return " ".join(reversed(words))
